"""Estimates with their intervals: quantiles as order statistics, and means, along the last axis of arrays.

NaN means that nothing was measured, and is not counted.

>>> quantile(np.arange(1.0, 21.0), 0.5)[:3]
(array(10.), array(6.), array(15.))
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from optarena.errors import OptarenaError
from optarena.traces import Floats, Ints

ALPHA = 0.05


class Estimate(NamedTuple):
    """A figure, the ends of its interval, and how many values it was made of."""

    value: Floats
    lower: Floats
    upper: Floats
    n: Ints

    def part(self, index: Any) -> Estimate:
        """The same at some places."""
        return Estimate(self.value[index], self.lower[index], self.upper[index], self.n[index])


# ---- order statistics ------------------------------------------------------------------------------------------------


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


def quantile(x: Floats, q: float, alpha: float = ALPHA) -> Estimate:
    """The order statistic that is the quantile q, with its distribution-free interval (docs/scores.md 1.2)."""
    count = np.sum(~np.isnan(x), axis=-1)
    # what is missing sorts last, as +inf: the index count + 1 is the upper end, as it should be
    ordered = order_statistics(np.where(np.isnan(x), np.inf, x))
    sizes = np.arange(x.shape[-1] + 1)
    low, high = interval_indices(sizes, q, alpha)

    def take(index: Ints) -> Floats:
        out = np.take_along_axis(ordered, index[count][..., None], axis=-1)[..., 0]
        return np.where(count > 0, out, np.nan)

    return Estimate(take(quantile_index(sizes, q)), take(low), take(high), count)


def median(x: Floats) -> Estimate:
    """The quantile 1/2 with its distribution-free interval (docs/scores.md 1.2)."""
    return quantile(x, 0.5)


# ---- means -----------------------------------------------------------------------------------------------------------


def mean(x: Floats, *, scaled: bool = True, alpha: float = ALPHA) -> Estimate:
    """The mean with its t interval. `scaled`: squares neither overflow nor underflow, whatever the units.

    See docs/scores.md 1.7.
    """
    there = ~np.isnan(x)
    count = there.sum(axis=-1)
    n = np.maximum(count, 1)
    with np.errstate(over="ignore", invalid="ignore"):
        unit = np.max(np.where(there, np.abs(x), 0.0), axis=-1, initial=0.0) if scaled else np.ones(x.shape[:-1])
        unit = np.where((unit > 0) & np.isfinite(unit), unit, 1.0)
        value = np.sum(np.where(there, x / unit[..., None], 0.0), axis=-1) / n
        away = np.where(there, x / unit[..., None] - value[..., None], 0.0)
        spread = np.max(np.abs(away), axis=-1, initial=0.0) if scaled else np.ones(x.shape[:-1])
        spread = np.where((spread > 0) & np.isfinite(spread), spread, 1.0)
        deviation = np.sqrt(np.sum((away / spread[..., None]) ** 2, axis=-1) / np.maximum(count - 1, 1)) * spread * unit
        value = value * unit
        half = np.where(count > 1, t_half(deviation, n, alpha / 2), np.inf)
        value = np.where(count > 0, value, np.nan)
        return Estimate(value, value - half, value + half, count)


def t_half(deviation: Floats, n: npt.ArrayLike, tail: float) -> Floats:
    """Half the width of the t interval of a mean of n values with this standard deviation (docs/scores.md 1.7)."""
    n = np.asarray(n)
    return special.stdtrit(np.maximum(n - 1, 1), 1 - tail) * deviation / np.sqrt(n)


def normal_half(deviation: Floats, alpha: float = ALPHA) -> Floats:
    """Half the width of the normal interval of an estimate with this standard error (docs/scores.md 1.9)."""
    return np.asarray(special.ndtri(1 - alpha / 2) * deviation)


def effective_freedom(variance: Floats, squares: Floats) -> Floats:
    """Degrees of freedom of a sum of variances, by Welch and Satterthwaite (docs/scores.md 1.8, 5.3, 5.5).

    variance: the sum of the variances v of means; squares: the sum of v^2 divided by each one's degrees of freedom.
    """
    return variance**2 / squares


def half_of_mean(halves: Floats, counts: Ints) -> Floats:
    """Half the width of the interval of a mean over problems, from the half widths of each problem's own t interval.

    For a claim about just these problems: what varies is the trials. Degrees of freedom by Welch and Satterthwaite.
    See docs/scores.md 1.8.
    """
    there = ~np.isnan(halves)
    freedom = np.maximum(counts - 1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.where(there, halves / special.stdtrit(freedom, 1 - ALPHA / 2), 0.0)
        unit = np.max(errors, axis=-1, initial=0.0)
        unit = np.where((unit > 0) & np.isfinite(unit), unit, 1.0)  # so that squares do not underflow
        variances = (errors / unit[..., None]) ** 2
        total = variances.sum(axis=-1)
        effective = effective_freedom(total, np.sum(variances**2 / freedom, axis=-1))
        half = special.stdtrit(effective, 1 - ALPHA / 2) * np.sqrt(total) * unit / np.maximum(there.sum(axis=-1), 1)
    return np.where(np.isinf(total), np.inf, np.where(total == 0, 0.0, half))
