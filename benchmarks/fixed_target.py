"""The fixed-target view: hits of 100,000 runs and 51 targets, and exact restart distributions of 72 problems.

python benchmarks/fixed_target.py [RUNS]
"""

from __future__ import annotations

import sys

import numpy as np

from _measure import cpu, load
from optarena.views.fixed_target import ert, first_hits, restart_ecdf

TARGETS = 10.0 ** (np.arange(10, -41, -1) / 5)
IMPROVEMENTS, PROBLEMS, REPEATS = 30, 72, 15


def runs(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Made-up improvements: precisions that fall, at evaluations that grow."""
    falls = rng.exponential(0.7, (count, IMPROVEMENTS)).cumsum(axis=1)
    gaps = 1 + rng.geometric(0.05, (count, IMPROVEMENTS)).cumsum(axis=1)
    return (1e3 * 10.0**-falls).ravel(), gaps.ravel().astype(float), np.arange(count + 1) * IMPROVEMENTS


def table(values: np.ndarray, effort: np.ndarray, offsets: np.ndarray, spent: np.ndarray) -> None:
    hits = first_hits(values, effort, offsets, TARGETS)
    for part in np.split(np.arange(len(spent)), len(spent) // REPEATS):
        ert(hits[part], spent[part])


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    count -= count % REPEATS
    rng = np.random.default_rng(0)
    values, effort, offsets = runs(count, rng)
    spent = np.full(count, effort.max())
    seconds = cpu(lambda: table(values, effort, offsets, spent))
    print(f"hits and ERTs of {count:,} runs x {len(TARGETS)} targets: {seconds:.2f} s CPU (to reach: 1; {load()})")
    hits = first_hits(*runs(PROBLEMS * REPEATS, rng), TARGETS).reshape(PROBLEMS, REPEATS, -1)
    x = 10.0 ** (np.arange(0, 61) / 10)

    def restarts() -> None:
        for problem in hits:
            for column in problem.T:
                restart_ecdf(column, np.full(REPEATS, 600.0), x)

    seconds = cpu(restarts)
    print(f"exact restart ECDFs of {PROBLEMS} problems x {len(TARGETS)} targets: {seconds:.2f} s CPU (to reach: 1)")


if __name__ == "__main__":
    main()
