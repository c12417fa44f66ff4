"""The best value so far of each optimizer on each problem, on a grid of efforts: what convergence curves show."""

from __future__ import annotations

import numpy as np
import polars as pl

from optarena.dataset import Dataset
from optarena.dataset.tables import problems
from optarena.errors import OptarenaError
from optarena.stats.estimates import mean, quantile
from optarena.traces import Bools, Floats
from optarena.views.fixed_cost.curves import Curves, curves
from optarena.views.summary import by_trials, empty_estimate, put

POINTS = 100
"""Of a curve, at most: more is not seen on a screen."""


def convergence(results: Dataset, axis: str = "evaluations", points: int = POINTS) -> pl.DataFrame:
    """The best value so far of each optimizer on each problem: median with quartiles, mean with its 95 % t interval.

    `measure` is `gap`, the distance to the optimum, where that is known, else `value`, as the problem returned it.
    A figure that is not finite yet (nothing feasible was found in a trial) is null. A trial that ended keeps its best,
    as long as another of the same optimizer goes on: no curve rises. points: of each curve, at most; its ends are kept,
    and where it falls most.
    """
    every = curves(results, "exact", axis)
    grid = _grid(every, max(points, POINTS))
    best = every.best(grid, None)  # (studies, points), minimised; NaN beyond a study's end
    shape = (len(every.problems), len(every.optimizers), len(grid))
    average, *quartiles = (empty_estimate(shape) for _ in range(4))
    for p, o, studies in by_trials(every):
        x = best[studies].transpose(0, 2, 1)  # [pairs, points, trials]
        x = np.where(np.isnan(x).all(axis=2, keepdims=True), np.nan, np.fmin.accumulate(x, axis=1))
        put(average, p, o, mean(x))
        for figure, q in zip(quartiles, (0.25, 0.5, 0.75), strict=True):
            put(figure, p, o, quantile(x, q))
    there = average.n > 0
    optimum = _optima(results, every)
    if len(grid) > points:
        there &= _telling(quartiles[1].value - np.nan_to_num(optimum)[:, None, None], there, points)
    p, o, t = np.nonzero(there)
    gap = ~np.isnan(optimum[p])
    shift, sign = np.where(gap, optimum[p], 0.0), np.where(gap, 1.0, every.sign[p])
    down = sign < 0

    def pair(lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
        a, b = (lower[p, o, t] - shift) * sign, (upper[p, o, t] - shift) * sign
        return np.where(down, b, a), np.where(down, a, b)

    low, middle, high = (figure.value for figure in quartiles)
    q1, q3 = pair(low, high)
    mean_lb, mean_ub = pair(average.lower, average.upper)
    figures = {
        "median": (middle[p, o, t] - shift) * sign,
        "q1": q1,
        "q3": q3,
        "mean": (average.value[p, o, t] - shift) * sign,
        "mean_lb": mean_lb,
        "mean_ub": mean_ub,
    }
    return pl.DataFrame(
        {
            "optimizer": pl.Series(every.optimizers, dtype=pl.String).gather(o),
            "problem": pl.Series(every.problems, dtype=pl.String).gather(p),
            "measure": pl.Series(["value", "gap"]).gather(gap.astype(np.int64)),
            "effort": grid[t],
            **{name: pl.Series(np.where(np.isfinite(column), column, np.nan)) for name, column in figures.items()},
            "n": average.n[p, o, t],
        },
        schema=CONVERGENCE,
    ).with_columns(pl.selectors.float().fill_nan(None))


CONVERGENCE = {
    "optimizer": pl.String,
    "problem": pl.String,
    "measure": pl.String,
    "effort": pl.Float64,
    **dict.fromkeys(("median", "q1", "q3", "mean", "mean_lb", "mean_ub"), pl.Float64),
    "n": pl.Int64,
}


def _grid(every: Curves, points: int) -> Floats:
    """At most `points` places on the axis, each study's own end among them where these are few."""
    ends = np.where(np.isinf(every.end), every.last, every.end)
    last = float(ends.max())
    if every.counted:
        if last <= points:
            return np.arange(1.0, last + 1)
        few = np.unique(ends)
        if len(few) > points // 2:
            few = np.array([last])
        return np.unique(np.concatenate((np.round(np.geomspace(1, last, points - len(few))), few)))
    if not last > 0:
        raise OptarenaError(f"every study ends at 0 on the axis {every.axis!r}")
    positive = ends[ends > 0]
    return np.geomspace(min(last / 1000, float(positive.min()) / 10), last, min(points, 50))


def _telling(curves: Floats, there: Bools, points: int) -> Bools:
    """(problems, optimizers, grid): so many points of each curve, evenly along its length as it is drawn: its ends,
    and more where it falls. curves: distances to the optimum, where it is known."""
    with np.errstate(invalid="ignore", divide="ignore"):
        y = np.where(curves > 0, np.log10(np.abs(curves)), np.nan)
        fall = np.abs(np.nan_to_num(np.diff(y, axis=2, prepend=y[..., :1]), posinf=0.0, neginf=0.0))
    whole = fall.sum(axis=2, keepdims=True)
    step = np.where(whole > 0, fall / np.where(whole > 0, whole, 1.0), 0.0) + 1.0 / there.sum(
        axis=2, keepdims=True
    ).clip(1)
    length = np.cumsum(np.where(there, step, 0.0), axis=2)
    first = np.argmax(there, axis=2)
    last = there.shape[2] - 1 - np.argmax(there[..., ::-1], axis=2)
    begin, end = (np.take_along_axis(length, at[..., None], axis=2) for at in (first, last))
    out = np.zeros(there.shape, dtype=bool)
    for part in np.linspace(0.0, 1.0, points).tolist():
        at = np.argmax((length >= begin + part * (end - begin) - 1e-12) & there, axis=2)
        np.put_along_axis(out, at[..., None], True, axis=2)
    return out


def _optima(results: Dataset, every: Curves) -> Floats:
    """(problems,): the optimum, minimised, NaN where it is not known."""
    known = dict(problems(results).select("problem", "optimum").iter_rows())
    out = np.array([np.nan if known.get(name) is None else known[name] for name in every.problems], dtype=float)
    return out * every.sign
