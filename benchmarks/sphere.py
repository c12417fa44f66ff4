"""Does every optimizer beat random search on the sphere in 5 dimensions, with 200 evaluations one by one?

    python benchmarks/sphere.py                      every optimizer for one objective that is installed
    python benchmarks/sphere.py CMA-ES PySOT         some of them
    python benchmarks/sphere.py --store results      keeps the results: stopped, the same command goes on

A test of the adapters, not of the methods. Each has its library's own settings, which the tests cannot afford of those
that take long for a point. Random search: the median of nine studies.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import polars as pl

import optarena as oa
from _measure import load
from optarena.optimizer import OPTIMIZERS

PROBLEM, EVALUATIONS, TRIALS = "functions/sphere/d5", 200, 9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="OPTIMIZER", help="all that are installed where none is named")
    parser.add_argument("--store", type=Path, help="directory of the results (one that is removed at the end)")
    parser.add_argument("--workers", type=int, help="processes (one a core)")
    given = parser.parse_args()
    names = given.names or [
        entry.name for entry in OPTIMIZERS.entries() if entry.installed and entry.load().capabilities.one_objective
    ]
    with tempfile.TemporaryDirectory() as folder:
        store = given.store or Path(folder) / "results"
        oa.Experiment("RandomSearch", PROBLEM, EVALUATIONS, trials=TRIALS).run(store, workers=given.workers)
        show(oa.Experiment(names, PROBLEM, EVALUATIONS).run(store, workers=given.workers).studies, names)


def show(studies: pl.DataFrame, names: list[str]) -> None:
    random = studies.filter(pl.col("optimizer") == "RandomSearch")["best"].median()
    print(f"the best of {EVALUATIONS} evaluations of {PROBLEM}; random search {random:.3g} ({load()})")
    print(f"{'optimizer':28s} {'best':>9s} {'of random':>9s} {'evaluations':>11s}")
    for row in studies.filter(pl.col("optimizer").is_in(names)).sort("best").iter_rows(named=True):
        if row["optimizer"] != "RandomSearch":
            note = "" if row["best"] < random else "  not better"
            print(
                f"{row['optimizer']:28s} {row['best']:9.2g} {row['best'] / random:9.2%} {row['evaluations']:11d}{note}"
            )


if __name__ == "__main__":
    main()
