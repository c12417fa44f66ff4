"""COCO's rank-sum test of two algorithms on one problem and target (docs/scores.md 2.13)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from optarena.stats.ranks import ranks_of
from optarena.traces import Floats


def rank_sum_test(
    hits: tuple[npt.ArrayLike, npt.ArrayLike],
    budgets: tuple[npt.ArrayLike, npt.ArrayLike],
    precisions: tuple[npt.ArrayLike, npt.ArrayLike],
) -> tuple[float, float]:
    """z > 0 where the first is better, and the two-sided p.

    hits: evaluations to the target, inf for failures; budgets: what each run spent; precisions: each run's best
    f - f_opt at the smallest budget of a failure of both. A run scores 1/evaluations if it hits
    by then, else minus its precision. The approximation is normal and without correction for ties; p = 1 if neither
    succeeded or if the average evaluations contradict the sign of z.
    """
    times = [np.asarray(part, dtype=float) for part in hits]
    spent = [np.asarray(part, dtype=float) for part in budgets]
    end = common_end(times, spent)
    scores = []
    for t, df in zip(times, precisions, strict=True):
        within = np.isfinite(t) & (t <= end)
        with np.errstate(divide="ignore"):
            scores.append(np.where(within, 1.0 / t, -np.asarray(df, dtype=float)))
    n, m = len(scores[0]), len(scores[1])
    ranks = ranks_of(np.concatenate(scores))
    z = (ranks[:n].sum() - n * (n + m + 1) / 2) / math.sqrt(n * m * (n + m + 1) / 12)
    p = math.erfc(abs(z) / math.sqrt(2))
    if not any(np.isfinite(t).any() for t in times):
        return z, 1.0
    average = [_ert(t, b) for t, b in zip(times, spent, strict=True)]
    if (z > 0 and average[0] > average[1]) or (z < 0 and average[0] < average[1]):
        p = 1.0
    return z, p


def common_end(times: list[Floats], spent: list[Floats]) -> float:
    """The smallest budget of a failure of either algorithm; inf where nobody failed."""
    failed = [b[~np.isfinite(t)] for t, b in zip(times, spent, strict=True)]
    return float(np.min(np.concatenate(failed), initial=np.inf))


def _ert(times: Floats, spent: Floats) -> float:
    hit = np.isfinite(times)
    return float(np.where(hit, times, spent).sum() / hit.sum()) if hit.any() else math.inf
