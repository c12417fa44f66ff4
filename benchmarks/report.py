"""What people wait for when they look at results: score, figure and report, each as CPU of the whole command.

    python benchmarks/report.py [STUDIES]

`score` and `figure` are of the store of `optarena demo`, `report` of one with 600 studies. Caches are warm, as in an
installed package: bytecode is written and read, whatever the environment says. Vega's JavaScript is made once and kept
in the user's cache; both costs of the report are shown.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import optarena as oa
from _measure import cpu_of_command, load
from optarena.runner.local import run

PROGRAM = [sys.executable, "-c", "from optarena.cli import main; raise SystemExit(main())"]
REPEATS = 5


def least(*arguments: str) -> float:
    """CPU seconds of a command of optarena: the least of several calls, after one that fills the caches."""
    cpu_of_command([*PROGRAM, *arguments])
    return min(cpu_of_command([*PROGRAM, *arguments]) for _ in range(REPEATS))


def demo(directory: Path) -> None:
    store = str(directory / "demo")
    cpu_of_command([*PROGRAM, "demo", "--store", store])
    print(f"the store of optarena demo ({load()})")
    print(f"  score: {least('score', store):.2f} s CPU (to reach: 0.5)")
    file = str(directory / "figure.svg")
    print(f"  figure: {least('figure', 'normalised', store, '-O', file):.2f} s CPU (to reach: 1.5)")


def report(directory: Path, studies: int) -> None:
    store, file = directory / "store", directory / "report.html"
    experiment = oa.Experiment(
        ["RandomSearch", "QuasiRandom", "Scipy-Powell", "Scipy-NelderMead"],
        "bbob/f{1..10}/d{2,5,10}/i1",
        "50*D",
        trials=max(1, studies // 120),
    )
    run(experiment, store)
    os.environ["XDG_CACHE_HOME"] = str(directory / "cache")  # without Vega's JavaScript, which `demo` has made
    first = cpu_of_command([*PROGRAM, "report", str(store), "-O", str(file)])
    later = least("report", str(store), "-O", str(file))
    rows = oa.open(store).studies
    print(f"report of {rows.height:,} studies, {rows['evaluations'].sum():,} evaluations ({load()})")
    print(f"  first time: {first:.1f} s CPU, later: {later:.2f} s CPU (to reach: 2)")
    print(f"  file: {file.stat().st_size / 1e6:.2f} MB (to reach: 2.5)")


def main() -> None:
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as directory:
        os.environ["XDG_CACHE_HOME"] = directory
        demo(Path(directory))
        report(Path(directory), studies)


if __name__ == "__main__":
    main()
