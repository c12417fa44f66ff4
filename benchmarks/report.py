"""The report of a store with 600 studies: CPU of the whole command, and the size of the file.

    python benchmarks/report.py [STUDIES]

Vega's JavaScript is made once and kept in the user's cache; both costs are shown.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import optarena as oa
from _measure import cpu_of_command, load
from optarena.runner.local import run


def main() -> None:
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    trials = max(1, studies // 120)
    experiment = oa.Experiment(
        ["RandomSearch", "QuasiRandom", "Scipy-Powell", "Scipy-NelderMead"],
        "bbob/f{1..10}/d{2,5,10}/i1",
        "50*D",
        trials=trials,
    )
    with tempfile.TemporaryDirectory() as directory:
        os.environ["XDG_CACHE_HOME"] = directory
        store = Path(directory) / "store"
        run(experiment, store)
        file = Path(directory) / "report.html"
        command = [sys.executable, "-c", "from optarena.cli import main; raise SystemExit(main())"]
        command += ["report", str(store), "-O", str(file)]
        first = cpu_of_command(command)
        later = min(cpu_of_command(command) for _ in range(3))
        rows = oa.open(store).studies
        print(f"report of {rows.height:,} studies, {rows['evaluations'].sum():,} evaluations ({load()})")
        print(f"  first time: {first:.1f} s CPU, later: {later:.1f} s CPU (to reach: 5)")
        print(f"  file: {file.stat().st_size / 1e6:.2f} MB (to reach: 2.5)")


if __name__ == "__main__":
    main()
