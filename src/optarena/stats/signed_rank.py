"""Wilcoxon's signed-rank test of many paired samples at once, with the p-values of SciPy's `auto` (docs/scores.md 5.4).

`pairs.wilcoxon` is the test of one sample; comparisons, simulations and leaving one problem out test many.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from optarena.errors import OptarenaError
from optarena.stats.ranks import ranks_of
from optarena.traces import Floats, Ints

EXACT = 50
ALL_SIGNS = 13
CHUNK = 4_000_000


class SignedRanks(NamedTuple):
    """All arrays are (samples,)."""

    statistic: Floats
    """The lesser of the two rank sums."""
    p: Floats
    sign: Floats
    """-1, 0, 1: on which side the rank sum is larger."""
    n: Ints
    """Differences that are not 0."""


def signed_rank_p(d: npt.ArrayLike) -> tuple[Floats, Floats]:
    """p-values and signs (-1, 0, 1: on which side the rank sum is larger) of differences (samples, pairs).

    See docs/scores.md 5.4.
    """
    found = signed_ranks(np.atleast_2d(np.asarray(d, dtype=float)))
    return found.p, found.sign


def signed_ranks(d: Floats, *, exact: bool = True) -> SignedRanks:
    """The test of differences (samples, pairs), two-sided; differences of 0 are left out (docs/scores.md 5.4).

    exact: up to 50 pairs without ties or zeros by the exact distribution, up to 13 pairs with them by all signs; else,
    and with False, normal with tie correction.
    """
    if np.isnan(d).any():
        raise OptarenaError("a difference is NaN: leave out the pairs that lack a value")
    n = d.shape[-1]
    size = np.abs(d)
    zeros = np.sum(size == 0, axis=-1)
    ranks = np.where(size == 0, 0.0, ranks_of(size, axis=-1) - zeros[:, None])
    used = n - zeros
    plus = np.sum(np.where(d > 0, ranks, 0.0), axis=-1)
    total = used * (used + 1) / 2
    lesser = np.minimum(plus, total - plus)
    square = np.sum(ranks**2, axis=-1)
    p = _normal(plus, total, square)
    if exact and n <= EXACT:
        tied = ~np.isclose(square, used * (used + 1) * (2 * used + 1) / 6, rtol=0, atol=1e-6) | (zeros > 0)
        if not tied.all():
            p[~tied] = np.minimum(1.0, 2 * _distribution(n)[np.rint(lesser[~tied]).astype(np.int64)])
        if n <= ALL_SIGNS and tied.any():
            p[tied] = _by_all_signs(ranks[tied], lesser[tied])
    return SignedRanks(lesser, np.where(used > 0, p, 1.0), np.sign(plus - (total - plus)), used)


def _by_all_signs(ranks: Floats, lesser: Floats) -> Floats:
    """(samples,): two-sided p-values of rank sums among those of all 2^n signs of the ranks (samples, n)."""
    n = ranks.shape[1]
    signs = (np.arange(2**n)[None, :] >> np.arange(n)[:, None]) & 1
    block = max(1, CHUNK // 2**n)
    parts = (slice(start, start + block) for start in range(0, len(ranks), block))
    found = [np.mean(ranks[part] @ signs <= lesser[part, None] + 1e-9, axis=1) for part in parts]
    return np.minimum(1.0, 2 * np.concatenate(found))


def least_p(n: int) -> float:
    """The least p-value that n pairs can give: 2 / 2^n."""
    return min(1.0, 2.0 ** (1 - n))


def _normal(plus: Floats, total: Floats, square: Floats) -> Floats:
    """Two-sided. The variance of the rank sum under random signs is a quarter of the sum of the squared ranks."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (plus - total / 2) / np.sqrt(square / 4)
    return np.minimum(1.0, 2 * special.ndtr(-np.abs(np.nan_to_num(z))))


@lru_cache(maxsize=64)
def _distribution(n: int) -> Floats:
    """P(W <= w) for w = 0 … n(n+1)/2, all signs equally likely."""
    counts = np.zeros(n * (n + 1) // 2 + 1)
    counts[0] = 1.0
    for rank in range(1, n + 1):
        shifted = np.zeros_like(counts)
        shifted[rank:] = counts[:-rank]
        counts = (counts + shifted) / 2
    return np.cumsum(counts)
