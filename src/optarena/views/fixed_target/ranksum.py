"""COCO's rank-sum test of two algorithms on one problem and target (docs/scores.md 2.13)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from optarena.traces import Floats
from optarena.views.fixed_target.runtimes import ert

Two = tuple[Floats, Floats]


def rank_sum_test(
    hits: tuple[npt.ArrayLike, npt.ArrayLike],
    budgets: tuple[npt.ArrayLike, npt.ArrayLike],
    precisions: tuple[npt.ArrayLike, npt.ArrayLike],
) -> tuple[float, float]:
    """z > 0 where the first is better, and the two-sided p.

    hits: evaluations to the target, inf for failures; budgets: what each run spent; precisions: each run's best
    f - f_opt at the smallest budget of a failure of both. A run scores 1/evaluations if it hits
    by then, else minus its precision. The approximation is normal and without correction for ties; p = 1 where the
    better one, by the sign of z, has the greater ERT or did not spend less on average. See docs/scores.md 2.13.
    """
    times, spent, reached = (
        (np.asarray(one, dtype=float), np.asarray(two, dtype=float)) for one, two in (hits, budgets, precisions)
    )
    z, p = rank_sum_tests(times, spent, reached)
    return float(z), float(p)


def rank_sum_tests(hits: Two, budgets: Two, precisions: Two) -> tuple[Floats, Floats]:
    """`rank_sum_test` of many problems and targets at once: hits and precisions have the runs first, then any axes.

    budgets: (runs,), or with more of these axes. See docs/scores.md 2.13.
    """
    from scipy.special import erfc  # slow to import, and only this test needs them

    from optarena.stats.ranks import ranks_of

    end = common_end(hits, budgets)
    # an indicator may be negative: no run that missed the target scores better than one that hit it
    passed = np.minimum.reduce([df.min(axis=0, initial=0.0) for df in precisions])
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = [
            np.where(np.isfinite(t) & (t <= end), 1.0 / t, passed - df) for t, df in zip(hits, precisions, strict=True)
        ]
    n, m = len(scores[0]), len(scores[1])
    ranks = ranks_of(np.concatenate(scores), axis=0)
    z = (ranks[:n].sum(axis=0) - n * (n + m + 1) / 2) / np.sqrt(n * m * (n + m + 1) / 12)
    p = erfc(np.abs(z) / np.sqrt(2))
    one, two = (np.asarray(ert(t, b)) for t, b in zip(hits, budgets, strict=True))
    first, second = (_average(t, b) for t, b in zip(hits, budgets, strict=True))
    kept = np.where(z > 0, (one <= two) & (first < second), (two <= one) & (second < first))
    return z, np.where(kept, p, 1.0)


def _average(hits: Floats, budgets: Floats) -> Floats:
    """What a run spends on average, to its hit or in all; axes as in `rank_sum_tests`."""
    spent = budgets.reshape(*budgets.shape, *[1] * (hits.ndim - budgets.ndim))
    return np.where(np.isfinite(hits), hits, spent).mean(axis=0)


def common_end(hits: Sequence[Floats], budgets: Sequence[Floats]) -> Floats:
    """The smallest budget of a failure of either algorithm; inf where no run failed (docs/scores.md 2.13)."""
    least = [
        np.where(np.isfinite(t), np.inf, b.reshape(*b.shape, *[1] * (t.ndim - b.ndim))).min(axis=0, initial=np.inf)
        for t, b in zip(hits, budgets, strict=True)
    ]
    return np.minimum(*least)
