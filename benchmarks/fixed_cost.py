"""The fixed-cost view: all tables of 10,000 studies of 200 evaluations, and the expected minimum of a million draws.

python benchmarks/fixed_cost.py [STUDIES]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import optarena as oa
from _measure import cpu, load
from optarena.store import Store
from optarena.store.compaction import compact
from optarena.views.fixed_cost import expected_minimum

EVALUATIONS, PROBLEMS, OPTIMIZERS = 200, 40, 10


def experiment(studies: int) -> pl.DataFrame:
    """Made-up values: what is measured is the scoring."""
    trials = studies // (PROBLEMS * OPTIMIZERS)
    rng = np.random.default_rng(0)
    names = ["RandomSearch", *(f"optimizer {i}" for i in range(1, OPTIMIZERS))]
    index = np.arange(PROBLEMS * OPTIMIZERS * trials * EVALUATIONS)
    study, evaluation = np.divmod(index, EVALUATIONS)
    pair, trial = np.divmod(study, trials)
    problem, optimizer = np.divmod(pair, OPTIMIZERS)
    return pl.DataFrame(
        {
            "problem": pl.Series([f"p{i}" for i in range(PROBLEMS)]).gather(problem),
            "optimizer": pl.Series(names).gather(optimizer),
            "trial": trial,
            "evaluation": evaluation + 1,
            "value": rng.exponential(size=len(index)) / (1 + optimizer * evaluation / EVALUATIONS),
            "metric.hidden": rng.normal(size=len(index)),
        }
    )


def main() -> None:
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory) / "store"
        oa.from_frame(experiment(studies), place)
        compact(Store(place))
        results = oa.open(place)
        results.studies  # noqa: B018 (opening is not what is measured)
        print(f"{results.studies.height:,} studies of {EVALUATIONS} evaluations ({load()})")
        for name, options in {
            "the objective": {"metric": "value"},
            "the objective, Bayesmark's mode": {"metric": "value", "mode": "bayesmark"},
            "a hidden metric": {"metric": "hidden"},
        }.items():
            view = results.fixed_cost(**options)
            rows = sum(table.height for table in view.tables.values())
            seconds = cpu(lambda options=options: results.fixed_cost(**options))
            print(f"  all tables of {name}, every iteration, {rows:,} rows: {seconds:.2f} s CPU (to reach: 2)")
    x = np.random.default_rng(0).normal(size=1_000_000)
    began = time.process_time()
    out = expected_minimum(x, np.arange(1, 10_001))
    spent = time.process_time() - began
    assert np.isfinite(out).all()
    print(f"expected minimum of 1e6 draws for every m up to 1e4: {spent:.2f} s CPU (to reach: 2)")


if __name__ == "__main__":
    main()
