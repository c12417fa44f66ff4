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

from optarena.errors import OptarenaError
from optarena.stats.estimates import mean, quantile
from optarena.traces import Floats, Ints, at_best

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
    columns = x.reshape(len(x), -1)
    offsets = len(x) * np.arange(columns.shape[1] + 1)
    return (
        at_best(columns.T.ravel(), k.reshape(columns.shape).T.ravel(), offsets).reshape(-1, len(x)).T.reshape(x.shape)
    )


def quantile_interval(x: npt.ArrayLike, q: float, alpha: float = 0.05) -> tuple[float, float, float]:
    """The quantile q of a sample and its distribution-free interval: (estimate, lower, upper) (docs/scores.md 1.2)."""
    if not 0 < q < 1:
        raise OptarenaError(f"a quantile lies between 0 and 1; got {q}")
    values = np.ravel(np.asarray(x, dtype=float))
    if np.isnan(values).any():
        raise OptarenaError("a quantile of nan is not defined: leave failures out or make them inf")
    if not len(values):  # the order statistics of nothing are its two ends
        return -np.inf, -np.inf, np.inf
    found = quantile(values, q, alpha)
    return float(found.value), float(found.lower), float(found.upper)


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
    found = mean(np.moveaxis(x, axis, -1), scaled=False, alpha=alpha)
    with np.errstate(invalid="ignore"):
        half = np.where(found.n > 1, found.upper - found.value, np.inf)
    return half if np.ndim(half) else float(half)
