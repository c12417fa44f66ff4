"""Ten thousand studies of 200 evaluations: run on all cores, compact, open. What a study costs, and what opening costs.

    python benchmarks/many_studies.py [STUDIES]

The cost of a study is all CPU of the run (supervisor and workers) less that of the same evaluations made in one loop.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import optarena as oa
from _measure import load, study
from optarena.runner import compacting
from optarena.runner.local import run
from optarena.store import Store
from optarena.store.compaction import compact

EVALUATIONS = 200


def cpu_of_all() -> float:
    return sum(
        getattr(resource.getrusage(who), part)
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        for part in ("ru_utime", "ru_stime")
    )


def cpu(call) -> float:
    began = cpu_of_all()
    call()
    return cpu_of_all() - began


def main() -> None:
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    compacting.SHARD_BYTES = 10**12  # the run leaves journals, which are measured first
    trials = studies // 100
    experiment = oa.Experiment(["RandomSearch"], "bbob/f{1..4}/d5/i{1..25}", EVALUATIONS, trials=trials)
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory) / "store"
        small = oa.Experiment(["RandomSearch"], "bbob/f{1..4}/d5/i{1..25}", EVALUATIONS, trials=1)
        start_up = cpu(lambda: run(small, Path(directory) / "small"))
        whole = cpu(lambda: run(experiment, place))
        bare = cpu(study("RandomSearch", "bbob/f1/d5/i1", EVALUATIONS * 1000)) / 1000
        each = (whole - start_up) / (studies - 100) - bare
        print(f"{studies:,} studies of {EVALUATIONS} evaluations on {os.cpu_count()} cores ({load()})")
        print(f"  run: {whole:.1f} s CPU; beyond its evaluations a study costs {each * 1e3:.2f} ms (to reach: 1.5)")
        print("  (start to end, next to nothing to evaluate: benchopt 8 ms, carps 850 ms, Bayesmark 1,500 ms)")
        before = cpu(lambda: oa.open(place).traces().best_so_far())
        print(f"  open all best-so-far traces from journals: {before:.2f} s CPU")
        spent = cpu(lambda: compact(Store(place)))
        each = spent / (studies * EVALUATIONS)
        print(f"  compact: {spent:.1f} s CPU, {each * 1e6:.2f} us per evaluation (to reach: 1.5)")
        after = min(cpu(lambda: oa.open(place).traces().best_so_far()) for _ in range(3))
        print(f"  the same from the shard: {after:.2f} s CPU (to reach: 1)")
        began = time.perf_counter()
        table = oa.open(place).studies
        print(f"  with the table of {table.height:,} studies: {time.perf_counter() - began:.2f} s")


if __name__ == "__main__":
    main()
