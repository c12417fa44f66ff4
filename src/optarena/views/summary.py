"""Summaries of cubes with their intervals: over trials and over problems, for all views.

The estimates themselves are in `optarena.stats.estimates`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from optarena.stats.estimates import Estimate, half_of_mean, mean
from optarena.traces import Floats, Ints
from optarena.views.selection import Selection

OVER = ("problems", "trials")
"""Whether an interval is for similar problems, or for new trials on exactly these (docs/scores.md 1.8)."""

# ---- over trials -----------------------------------------------------------------------------------------------------


def by_trials(selection: Selection) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Studies that repeat each other: places of problems, of optimizers, and (pairs, trials) of studies.

    The pairs of problem and optimizer that have as many trials come together: they make one array.
    """
    width = len(selection.optimizers)
    pair = selection.problem * width + selection.optimizer
    order = np.argsort(pair, kind="stable")
    pairs, first, counts = np.unique(pair[order], return_index=True, return_counts=True)
    for trials in np.unique(counts).tolist():
        chosen = np.flatnonzero(counts == trials)
        p, o = np.divmod(pairs[chosen], width)
        yield p, o, order[first[chosen][:, None] + np.arange(trials)]


def empty_estimate(shape: tuple[int, ...]) -> Estimate:
    """An estimate that is still unknown."""
    value, lower, upper = (np.full(shape, np.nan) for _ in range(3))
    return Estimate(value, lower, upper, np.zeros(shape, dtype=np.int64))


def put(into: Estimate, p: Ints, o: Ints, estimate: Estimate) -> None:
    """Write the estimates of some pairs of problem and optimizer."""
    for target, values in zip(into, estimate, strict=True):
        target[p, o] = values


def possible(column: str, low: float, high: float) -> pl.Expr:
    """An end of an interval as it is shown: never outside the possible range; null where it is infinite."""
    return pl.when(pl.col(column).is_finite()).then(pl.col(column).clip(low, high))


# ---- over problems ---------------------------------------------------------------------------------------------------


def standing(last: Floats, grid: Floats) -> Ints:
    """[problems, iterations]: the iteration that counts: a problem whose budget has ended keeps its last one."""
    index = np.searchsorted(grid, last * (1 + 1e-12), side="right") - 1
    return np.minimum(np.arange(len(grid))[None, :], np.maximum(index, 0)[:, None])


def over_problems(figures: Any, at: Ints) -> Any:
    """[optimizers, iterations, problems] of [problems, optimizers, iterations], each problem where it stands."""
    return np.ascontiguousarray(np.moveaxis(np.take_along_axis(figures, at[:, None, :], axis=2), 0, -1))


def mean_over_problems(estimate: Estimate, at: Ints, over: str) -> Estimate:
    """[optimizers, iterations]: the mean over problems of estimates [problems, optimizers, iterations].

    over: one of `OVER`.
    """
    values = over_problems(estimate.value, at)
    out = mean(values)
    if over == "problems":
        return out
    with np.errstate(invalid="ignore"):
        halves = np.where(np.isnan(values), np.nan, over_problems(estimate.upper - estimate.value, at))
    half = half_of_mean(halves, over_problems(estimate.n, at))
    return Estimate(out.value, out.value - half, out.value + half, out.n)
