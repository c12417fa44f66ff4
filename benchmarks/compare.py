"""Everything in `compare` for 20 optimizers, 100 problems and 30 trials, with 10,000 resamples.

python benchmarks/compare.py [OPTIMIZERS PROBLEMS TRIALS]
"""

from __future__ import annotations

import sys
import time

import numpy as np

from _measure import load
from optarena.comparison import compare_scores
from optarena.views._scores import Scores


def scores(optimizers: int, problems: int, trials: int) -> Scores:
    """Made-up scores: some optimizers are better, problems differ, trials are noisy."""
    rng = np.random.default_rng(0)
    good = np.linspace(0.2, 0.5, optimizers)
    of_problem = rng.normal(0, 0.05, (problems, optimizers))
    values = good + of_problem + rng.normal(0, 0.2, (trials, problems, optimizers))
    return Scores(
        "fixed-cost",
        "value",
        "made-up",
        [f"p{i}" for i in range(problems)],
        [f"optimizer {i}" for i in range(optimizers)],
        np.clip(np.moveaxis(values, 0, 2), 0, 1),
        [None] * problems,
    )


def main() -> None:
    sizes = [int(word) for word in sys.argv[1:4]] or [20, 100, 30]
    made = scores(*sizes)
    compare_scores(scores(3, 8, 3))  # what is imported once is not measured
    erts = np.random.default_rng(1).lognormal(5, 1, (sizes[1], 51, sizes[0]))
    began = time.process_time()
    comparison = compare_scores(made, others=[("another", made)], runtimes=(erts, "evaluations"))
    tables, sentences = comparison.tables, comparison.sentences
    spent = time.process_time() - began
    rows = sum(table.height for table in tables.values())
    decided = int(comparison.pairs.decided.sum())
    print(
        f"{sizes[0]} optimizers, {sizes[1]} problems, {sizes[2]} trials, {comparison.resamples:,} resamples: "
        f"{len(sentences)} sentences, {rows:,} rows, {decided} of {len(comparison.pairs.first)} pairs decided: "
        f"{spent:.1f} s CPU (to reach: 10) ({load()})"
    )


if __name__ == "__main__":
    main()
