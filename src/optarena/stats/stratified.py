"""Two optimizers on several fixed problems, trial against trial within each: for claims about just these problems.

The strata are the problems. Nothing is said of other problems; `pairs.wilcoxon` over problems does that.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import special

from optarena.stats._result import LEVEL, level_of
from optarena.stats.estimates import effective_freedom
from optarena.traces import Floats, Ints

LARGEST_EXACT = 20_000
"""The sum over problems of n m up to which the null distribution is computed, where there are no ties."""


def stratified_mann_whitney(below: Floats, m: Ints, n: Ints, ties: Floats) -> tuple[Floats, bool]:
    """p-values (pairs,) of Mann-Whitney statistics summed over problems, each problem counting the same.

    below (pairs, problems): A12 of a pair on a problem; m, n (pairs, problems): trials of the two; ties: the sum of
    t^3 - t over groups of t equal values. Exact, the second result, where all problems have as many trials and there
    are no ties; else normal, corrected for ties. Assumes independent trials and, under the null, the same distribution
    of both on each problem. See docs/scores.md 5.4.
    """
    problems = below.shape[1]
    same = bool(np.all(m == m[0, 0]) and np.all(n == n[0, 0]))
    if same and not ties.any() and int(m[0, 0]) * int(n[0, 0]) * problems <= LARGEST_EXACT:
        upto = rank_sum_distribution(int(m[0, 0]), int(n[0, 0]), problems)
        u = np.rint(np.sum(below, axis=1) * m[0, 0] * n[0, 0]).astype(np.int64)
        low = np.minimum(u, len(upto) - 1 - u)
        return np.minimum(1.0, 2 * upto[low]), True
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.sum(below - 0.5, axis=1) / np.sqrt(np.sum(a12_variance(m, n, ties), axis=1))
    return np.minimum(1.0, 2 * special.ndtr(-np.abs(np.nan_to_num(z)))), False


def a12_variance(m: npt.ArrayLike, n: npt.ArrayLike, ties: npt.ArrayLike) -> Floats:
    """The variance of A12 of m and n trials from one distribution; ties: see `ranks.tie_sums` (docs/scores.md 5.4)."""
    m, n = np.asarray(m, dtype=float), np.asarray(n, dtype=float)
    total = m + n
    with np.errstate(divide="ignore", invalid="ignore"):
        return (total + 1 - np.where(total > 1, ties / (total * (total - 1)), 0.0)) / (12.0 * m * n)


def stratified_differences(
    mean: Floats, variance: Floats, trials: Ints, level: float = LEVEL
) -> tuple[Floats, Floats, Floats]:
    """(optimizers, optimizers): mean differences over fixed problems with t intervals by Welch and Satterthwaite.

    mean, variance, trials: (problems, optimizers). One trial on a problem: its noise is unknown, and the ends infinite.
    See docs/scores.md 5.5.
    """
    problems = len(mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(trials > 1, variance / trials, np.inf)
        freedom = np.where(trials > 1, error**2 / np.maximum(trials - 1, 1), np.inf)
        total = error.sum(axis=0)[:, None] + error.sum(axis=0)[None, :]
        degrees = effective_freedom(total, freedom.sum(axis=0)[:, None] + freedom.sum(axis=0)[None, :])
        quantile = special.stdtrit(np.nan_to_num(degrees, nan=1.0, posinf=1e9), 0.5 + level_of(level) / 2)
        half = np.where(total == 0, 0.0, quantile * np.sqrt(total) / problems)
    value = mean.mean(axis=0)[:, None] - mean.mean(axis=0)[None, :]
    half[np.isnan(half)] = np.inf
    return value, value - half, value + half


@lru_cache(maxsize=32)
def rank_sum_distribution(m: int, n: int, problems: int = 1) -> Floats:
    """P(U <= u) of the sum over problems of Mann-Whitney's U, all orders equally likely (docs/scores.md 5.4)."""
    one = np.zeros(m * n + 1)
    one[0] = 1.0
    for i in range(1, m + 1):  # the Gaussian binomial: times (1 - q^(n+i)) / (1 - q^i), scaled to stay small
        up = one.copy()
        up[n + i :] -= one[: len(one) - n - i] if n + i < len(one) else 0.0
        for start in range(i):
            up[start::i] = np.cumsum(up[start::i])
        one = up * i / (n + i)
    out, power, left = np.array([1.0]), one, problems
    while left:
        if left & 1:
            out = np.convolve(out, power)
        left >>= 1
        if left:
            power = np.convolve(power, power)
    return np.cumsum(np.clip(out, 0.0, None))
