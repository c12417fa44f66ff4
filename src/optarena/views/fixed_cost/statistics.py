"""Means, medians and their intervals along the last axis of arrays where NaN means "not there"."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from optarena.traces import Floats
from optarena.views.fixed_cost.order_statistics import interval_indices, quantile_index

ALPHA = 0.05


class Estimate(NamedTuple):
    """A figure, the ends of its interval, and how many values it was made of."""

    value: Floats
    lower: Floats
    upper: Floats
    n: npt.NDArray[np.int64]


def median(x: Floats) -> Estimate:
    """The quantile 1/2 with its distribution-free interval (docs/scores.md 1.2)."""
    count = np.sum(~np.isnan(x), axis=-1)
    ends = np.full((*x.shape[:-1], 1), np.inf)
    # NaN sorts last and is then +inf: the index count + 1 is the upper end, as it should be
    ordered = np.concatenate(
        (-ends, np.nan_to_num(np.sort(x, axis=-1), nan=np.inf, posinf=np.inf, neginf=-np.inf), ends), -1
    )
    sizes = np.arange(x.shape[-1] + 1)
    low, high = interval_indices(sizes, 0.5, ALPHA)

    def take(index: npt.NDArray[np.int64]) -> Floats:
        out = np.take_along_axis(ordered, index[count][..., None], axis=-1)[..., 0]
        return np.where(count > 0, out, np.nan)

    return Estimate(take(quantile_index(sizes, 0.5)), take(low), take(high), count)


def mean(x: Floats, *, scaled: bool = True) -> Estimate:
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
        half = np.where(
            count > 1, special.stdtrit(np.maximum(count - 1, 1), 1 - ALPHA / 2) * deviation / np.sqrt(n), np.inf
        )
        value = np.where(count > 0, value, np.nan)
        return Estimate(value, value - half, value + half, count)


def mean_of_means(halves: Floats, counts: npt.NDArray[np.int64]) -> Floats:
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
        effective = total**2 / np.sum(variances**2 / freedom, axis=-1)
        half = special.stdtrit(effective, 1 - ALPHA / 2) * np.sqrt(total) * unit / np.maximum(there.sum(axis=-1), 1)
    return np.where(np.isinf(total), np.inf, np.where(total == 0, 0.0, half))
