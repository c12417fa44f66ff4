"""Quantiles, extremes and their uncertainty, as pure functions of arrays (docs/scores.md 1.1 to 1.3).

>>> import numpy as np
>>> quantile_interval(np.arange(1.0, 21.0), 0.5)
(10.0, 6.0, 15.0)
>>> expected_minimum([3.0, 1.0, 2.0], 2)   # of the pairs (3, 1), (3, 2), (1, 2)
1.3333333333333333
"""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import numpy.typing as npt
from scipy import special

from optarena.errors import OptarenaError
from optarena.traces import Floats, Ints

NEGLIGIBLE = 1e-18
"""Weights are left out once all that remain together cannot change the result by more than this part of it."""
BLOCK = 1 << 13  # also below the size from which OpenBLAS shares a dot product between threads


def cumulative_best(values: npt.ArrayLike, key: npt.ArrayLike | None = None) -> Floats:
    """The best so far along the first axis: the cumulative minimum, or the value where `key` was least.

    With a key, the value is read at the *latest* place that ties the key's cumulative minimum; it may rise.
    See docs/scores.md 1.1.
    """
    x = np.asarray(values, dtype=float)
    k = x if key is None else np.asarray(key, dtype=float)
    if np.isnan(k).any():
        raise OptarenaError("the best so far is not defined where the key is nan: leave failures out or make them inf")
    if not len(x):
        return x.copy()
    place = np.arange(len(x)).reshape(-1, *[1] * (x.ndim - 1))
    latest = np.maximum.accumulate(np.where(k == np.minimum.accumulate(k, axis=0), place, 0), axis=0)
    return np.take_along_axis(x, latest, axis=0)


def order_statistics(x: npt.ArrayLike) -> Floats:
    """Sorted along the last axis, with -inf before the first and inf after the last: index k is the k-th smallest.

    See docs/scores.md 1.2.
    """
    x = np.asarray(x, dtype=float)
    if np.isnan(x).any():
        raise OptarenaError("a quantile of nan is not defined: leave failures out or make them inf")
    ends = np.full((*x.shape[:-1], 1), np.inf)
    return np.concatenate((-ends, np.sort(x, axis=-1), ends), axis=-1)


def quantile_index(n: npt.ArrayLike, q: npt.ArrayLike) -> Ints:
    """Which order statistic of n is the quantile q: ceil(nq) (docs/scores.md 1.2)."""
    return np.asarray(np.ceil(np.asarray(n) * np.asarray(q)), dtype=np.int64)


def interval_indices(n: npt.ArrayLike, q: npt.ArrayLike, alpha: float) -> tuple[Ints, Ints]:
    """Which order statistics of n enclose the quantile q at level alpha, whatever the distribution.

    binom.ppf(alpha/2, n, q) and binom.isf(alpha/2, n, q) + 1; the end is 0 or n + 1 where n is too small.
    See docs/scores.md 1.2.
    """
    n_, q_ = np.broadcast_arrays(np.asarray(n, dtype=float), np.asarray(q, dtype=float))
    return _binomial_quantile(alpha / 2, n_, q_), _binomial_quantile(alpha / 2, n_, q_, upper=True) + 1


def _binomial_quantile(tail: float, n: Floats, q: Floats, *, upper: bool = False) -> Ints:
    """The least k with P(X <= k) >= tail, or with P(X > k) <= tail. (`scipy.stats` takes a second to import.)"""

    whole = n.astype(np.int64)

    def reached(k: Floats) -> npt.NDArray[np.bool_]:
        if upper:
            return np.where(k >= n, True, special.bdtrc(np.maximum(k, 0), whole, q) <= tail) & (k >= 0)
        return np.where(k >= n, True, special.bdtr(np.maximum(k, 0), whole, q) >= tail) & (k >= 0)

    low, high = np.full(n.shape, -1.0), n.copy()  # bisection keeps: not reached at low, reached at high
    while (high - low > 1).any():
        middle = np.floor((low + high) / 2)
        yes = reached(middle)
        high, low = np.where(yes, middle, high), np.where(yes, low, middle)
    return high.astype(np.int64)


def quantile_interval(x: npt.ArrayLike, q: float, alpha: float = 0.05) -> tuple[float, float, float]:
    """The quantile q of a sample and its distribution-free interval: (estimate, lower, upper) (docs/scores.md 1.2)."""
    if not 0 < q < 1:
        raise OptarenaError(f"a quantile lies between 0 and 1, and {q} does not")
    ordered = order_statistics(np.ravel(x))
    n = len(ordered) - 2
    low, high = interval_indices(n, q, alpha)
    return float(ordered[quantile_index(n, q)]), float(ordered[low]), float(ordered[high])


def minimum_quantile_interval(x: npt.ArrayLike, q: float, m: int, alpha: float = 0.05) -> tuple[float, float, float]:
    """The quantile q of the minimum of m draws, from a sample of single draws: (estimate, lower, upper).

    See docs/scores.md 1.2.
    """
    return quantile_interval(x, float(minimum_level(q, m)), alpha)


def maximum_quantile_interval(x: npt.ArrayLike, q: float, m: int, alpha: float = 0.05) -> tuple[float, float, float]:
    """The quantile q of the maximum of m draws, from a sample of single draws: (estimate, lower, upper).

    See docs/scores.md 1.2.
    """
    return quantile_interval(x, float(q ** (1.0 / m)), alpha)


def minimum_level(q: float, m: npt.ArrayLike) -> Floats:
    """The quantile of single draws that is the quantile q of the minimum of m: 1 - (1-q)^(1/m) (docs/scores.md 1.2)."""
    return 1.0 - (1.0 - q) ** (1.0 / np.asarray(m, dtype=float))


@overload
def expected_minimum(x: npt.ArrayLike, m: int) -> float: ...
@overload
def expected_minimum(x: npt.ArrayLike, m: npt.NDArray[Any] | list[int]) -> Floats: ...
def expected_minimum(x: npt.ArrayLike, m: int | npt.NDArray[Any] | list[int]) -> float | Floats:
    """The mean of the least of m draws without replacement from the sample x; for one m, or for each of many.

    sum over k of C(n-k, m-1)/C(n, m) x_(k), summed by parts: x_(1) + sum over k of P_m(k) (x_(k+1) - x_(k)), where
    P_m(k) = C(n-k, m)/C(n, m) is the chance that the k smallest are all missed. Every term is positive and P follows
    from a product, so nothing overflows or cancels. NaN where m > n, where x is empty or has a NaN, and where an
    infinite value has no weight (0 * inf). See docs/scores.md 1.3.
    """
    ordered = np.sort(np.ravel(np.asarray(x, dtype=float)))
    wanted = np.atleast_1d(np.asarray(m, dtype=np.int64))
    if (wanted < 1).any():
        raise OptarenaError(f"the minimum of {wanted.min()} draws is not defined: m is at least 1")
    sizes, back = np.unique(wanted, return_inverse=True)
    out = _expected_minima(ordered, sizes)[back]
    return float(out[0]) if np.ndim(m) == 0 else out


def _expected_minima(ordered: Floats, sizes: Ints) -> Floats:
    """`expected_minimum` of a sorted sample for ascending m."""
    n = len(ordered)
    out = np.full(len(sizes), np.nan)
    if not n or np.isnan(ordered[-1]):
        return out
    if not np.isfinite(ordered[[0, -1]]).all():  # rare, and its weights are 0 or not: the plain sum says what it is
        with np.errstate(invalid="ignore"):
            return np.array([minimum_weights(n, m) @ ordered if m <= n else np.nan for m in sizes.tolist()])
    sizes = sizes[sizes <= n]
    if not len(sizes):
        return out
    out[: len(sizes)] = ordered[0]
    # P_m(k) <= (1 - k/n)^m <= exp(-km/n): beyond `keep` all terms together are negligible
    scale = max(abs(ordered[0]), np.finfo(float).tiny)
    with np.errstate(over="ignore"):
        spread = np.log1p(ordered[-1] / scale - ordered[0] / scale) - np.log(NEGLIGIBLE)
    keep = np.minimum(n - sizes, np.minimum(spread * n / sizes, n).astype(np.int64) + 1)
    gaps, k = np.diff(ordered), np.arange(1.0, n)
    first = int(sizes[0])
    missed: Floats = np.cumprod(
        (n + 1.0 - first - k) / (n + 1.0 - k), dtype=float
    )  # P_m(k) = P_m(k-1) (n-k+1-m)/(n-k+1)
    for start in range(0, int(keep[0]), BLOCK):  # a block at a time, so that it stays in the processor's cache
        p, kk, g = missed[start : start + BLOCK], k[start : start + BLOCK], gaps[start : start + BLOCK]
        m = first
        for i, (size, end) in enumerate(zip(sizes.tolist(), (keep - start).tolist(), strict=True)):
            if end <= 0:
                break
            if end < len(p):
                p, kk, g = p[:end], kk[:end], g[:end]
            while m < size:  # P_{m+1}(k) = P_m(k) (n-m-k)/(n-m)
                p *= 1.0 - kk * (1.0 / (n - m))
                m += 1
            out[i] += p @ g
    return out


def minimum_weights(n: int, m: int) -> Floats:
    """C(n-k, m-1)/C(n, m) for k = 1..n: the chance that the k-th smallest of n is the least of m draws.

    See docs/scores.md 1.3.
    """
    k = np.arange(1.0, n)
    return m / n * np.concatenate(([1.0], np.cumprod(np.maximum(n - m + 1 - k, 0.0) / (n - k))))


@overload
def expected_maximum(x: npt.ArrayLike, m: int) -> float: ...
@overload
def expected_maximum(x: npt.ArrayLike, m: npt.NDArray[Any] | list[int]) -> Floats: ...
def expected_maximum(x: npt.ArrayLike, m: int | npt.NDArray[Any] | list[int]) -> float | Floats:
    """The mean of the greatest of m draws without replacement from the sample x (docs/scores.md 1.3)."""
    return -expected_minimum(-np.asarray(x, dtype=float), m)


def t_interval(x: npt.ArrayLike, alpha: float = 0.05, axis: int = -1) -> float | Floats:
    """Half the width of the mean's t interval: t.ppf(1 - alpha/2, N-1) times the standard error; inf for N <= 1.

    See docs/scores.md 1.7.
    """
    x = np.asarray(x, dtype=float)
    if np.isnan(x).any():
        raise OptarenaError("a t interval of nan is not defined: leave failures out")
    n = x.shape[axis]
    if n <= 1:
        out = np.full(np.delete(x.shape, axis), np.inf)
    else:
        with np.errstate(invalid="ignore", over="ignore"):
            out = special.stdtrit(n - 1, 1 - alpha / 2) * np.std(x, axis=axis, ddof=1) / np.sqrt(n)
    return out if np.ndim(out) else float(out)
