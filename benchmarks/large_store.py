"""A store of millions of evaluations: how much memory and CPU it takes to read, score, compare and report it.

    $ python benchmarks/large_store.py                                   # 20 million evaluations, compacted
    $ python benchmarks/large_store.py --evaluations 50e6
    $ python benchmarks/large_store.py --evaluations 2e6 --journals --store big --make-only

The store is made in less than a minute, as nothing is evaluated: real studies of five optimizers on bbob in 5-D, whose
values fall as an optimizer's would, so that improvements grow with the logarithm of the evaluations. Each command runs
in a process of its own; figures are its peak resident memory and its CPU time, in all and per evaluation.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

import optarena as oa
from _measure import load
from optarena._process import host
from optarena.experiment import Plan, Study
from optarena.runner.attempt import begin
from optarena.runner.environment import environment
from optarena.runner.past import Past
from optarena.store import Store
from optarena.store.journal import Journal
from optarena.store.records import FORMAT_VERSION, End, Header, ProblemCard, Rows, Start
from optarena.store.shards import write_shard

ROOT = uuid.UUID(int=19)
OPTIMIZERS = ["RandomSearch", "QuasiRandom", "SimulatedAnnealing", "Scipy-NelderMead", "Scipy-DifferentialEvolution"]
RATES = dict(zip(OPTIMIZERS, (0.0, 0.1, 0.6, 1.5, 1.0), strict=True))
"""By which power of the evaluations an optimizer comes closer to the optimum."""
PROBLEMS = "bbob/f{1..20}/d5/i{1..5}"
SHARD_EVALUATIONS = 400_000
JOURNALS = 4
COMMANDS = [
    ["status"],
    ["score", "--view", "fixed-cost"],
    ["score", "--view", "fixed-target"],
    ["compare"],
    ["report", "--output", "report.html"],
]
PROGRAM = [sys.executable, "-m", "optarena"]
MEASURE = """
import os, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(done.returncode, used.ru_maxrss, used.ru_utime + used.ru_stime)
"""


class Lines:
    """Takes the lines that a journal would, for a shard."""

    def __init__(self) -> None:
        self.records: list[Any] = [Header(FORMAT_VERSION, "0", host(), 1, time.time(), environment(), 1)]
        self._cards: set[str] = set()
        self._studies = 0

    def start(self, start: Start, card: ProblemCard) -> int:
        if card.hash not in self._cards:
            self.records.append(card)
            self._cards.add(card.hash)
        start.s = self._studies
        self._studies += 1
        self.records.append(start)
        return start.s


def trace(plan: Plan, study: Study, n: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Points, values and costs of one study."""
    optimum = plan.problems[study.problem].known.optimum or 0.0
    k = np.arange(1, n + 1)
    distance = 100.0 * np.exp(rng.normal(size=n)) * k ** -RATES[study.optimizer.label]
    x = rng.uniform(-5.0, 5.0, (n, 5))
    w = np.zeros((n, 6), dtype=np.int64)
    for phase, mean in ((0, 9_000), (2, 4_000), (4, 5_000)):
        w[:, phase] = w[:, phase + 1] = rng.normal(mean, mean / 20, n)
    return x, optimum + distance, w


def planned(evaluations: int, studies: int) -> tuple[Plan, int]:
    """A plan of about so many studies, and how many evaluations each makes."""
    trials = max(1, round(studies / 500))
    each = max(1, round(evaluations / (500 * trials)))
    return oa.Experiment(OPTIMIZERS, PROBLEMS, each, trials=trials).plan(ROOT), each


def begun(plan: Plan, study: Study, journal: Any) -> int:
    cls = plan.classes[study.optimizer.label]
    return begin(study, plan.problems[study.problem], cls, journal, None, Past()).s


def write_shards(store: Store, plan: Plan, each: int) -> None:
    encode = msgspec.json.Encoder().encode
    rng = np.random.default_rng(1)
    for part in parts(plan.studies, max(1, SHARD_EVALUATIONS // each)):
        lines, traces = Lines(), []
        for study in part:
            s = begun(plan, study, lines)
            x, y, w = trace(plan, study, each, rng)
            traces.append({"s": s, "n": each, "y": y, "x": x.ravel(), "w": w.ravel()})
            lines.records.append(End(s, "done", each, time.time(), [0] * 6))
        write_shard(store, [encode(record) for record in lines.records], traces)


def write_journals(store: Store, plan: Plan, each: int) -> None:
    rng = np.random.default_rng(1)
    for part in parts(plan.studies, -(-len(plan.studies) // JOURNALS)):
        journal = Journal(store.journals, environment())
        for study in part:
            s = begun(plan, study, journal)
            rows = (array.tolist() for array in trace(plan, study, each, rng))
            for k, (x, y, w) in enumerate(zip(*rows, strict=True), start=1):
                journal.write(Rows(s, k, [[y]], w, x=[x]))
            journal.end(End(s, "done", each, time.time(), [0] * 6))
        journal.close()


def parts(studies: list[Study], size: int) -> Iterator[list[Study]]:
    return (studies[at : at + size] for at in range(0, len(studies), size))


def make(path: Path, evaluations: int, studies: int, journals: bool) -> int:
    """Make the store; how many evaluations it has."""
    plan, each = planned(evaluations, studies)
    store = Store(path)
    store.create()
    run = store.begin_run(plan, [study.id for study in plan.studies])
    (write_journals if journals else write_shards)(store, plan, each)
    store.end_run(run, "done")
    return each * len(plan.studies)


def measured(command: list[str], cwd: Path) -> tuple[float, float]:
    """Peak resident megabytes and CPU seconds of one command."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *command], cwd=cwd, stdout=subprocess.PIPE, text=True, check=True
    )
    code, kilobytes, seconds = done.stdout.split()
    if code != "0":
        raise SystemExit(f"{' '.join(command)}: exit code {code}")
    return int(kilobytes) / 1e3, float(seconds)


def measure(store: Path, evaluations: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        for command in COMMANDS:
            name, *options = command
            megabytes, seconds = measured([*PROGRAM, name, str(store.resolve()), *options], Path(directory))
            each = seconds / evaluations * 1e6
            print(f"  {' '.join(command[:3]):28} {megabytes:8,.0f} MB {seconds:8.1f} s CPU {each:6.2f} us", flush=True)


def size(path: Path) -> float:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description="Memory and CPU that a store of millions of evaluations takes.")
    parser.add_argument("--evaluations", type=float, default=20e6)
    parser.add_argument("--studies", type=int, default=10_000, help="about so many: a multiple of 500")
    parser.add_argument("--journals", action="store_true", help="do not compact")
    parser.add_argument("--store", type=Path, help="where to make it, or, if it exists, what to measure")
    parser.add_argument("--make-only", action="store_true", help="measure nothing")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        path = given.store or Path(directory) / "store"
        if path.exists():
            evaluations = int(oa.open(path).studies["evaluations"].sum())
        else:
            began = time.perf_counter()
            evaluations = make(path, int(given.evaluations), given.studies, given.journals)
            print(f"made in {time.perf_counter() - began:.0f} s")
        print(f"{evaluations:,} evaluations, {size(path):,.0f} MB on disk ({load()})", flush=True)
        if not given.make_only:
            measure(path, evaluations)


if __name__ == "__main__":
    main()
