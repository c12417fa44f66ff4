"""Tidy tables that figures draw and that no view has: convergence, times, failures, progress.

All are made of `Dataset`, for all studies at once. Scores live in the views; nothing is drawn here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl

from optarena._text import mailable
from optarena.dataset import Dataset
from optarena.errors import OptarenaError
from optarena.stats.estimates import mean as mean_estimate
from optarena.stats.estimates import quantile_index
from optarena.status import SUCCEEDED, UNSUCCESSFUL
from optarena.traces import Floats, Ints
from optarena.views.fixed_cost.curves import Curves, curves

POINTS = 100
"""Of a curve, at most: more is not seen on a screen."""
FLOOR = 1e-12
"""A distance to the optimum below this is drawn at the foot of a logarithmic axis."""
PHASES = ("suggest", "evaluate", "observe")


def problems(results: Dataset) -> pl.DataFrame:
    """A row a problem, by name: its suite, function, dimension, sense, optimum, and the number of its studies."""
    frame = results.studies
    return (
        frame.group_by("problem")
        .agg(
            *(pl.col(name).drop_nulls().first() for name in ("suite", "function", "dimension", "sense", "optimum")),
            studies=pl.len(),
        )
        .sort(by_name(frame))
    )


def by_name(frame: pl.DataFrame) -> pl.Expr:
    """To sort by problem as a person would: f2 before f10."""
    return pl.col("problem").cast(pl.Enum(natural(frame["problem"].drop_nulls())))


def natural(names: Iterable[str]) -> list[str]:
    """Different names in the order of a person: f2 before f10."""

    def key(name: str) -> list[tuple[bool, int | str]]:
        return [(part.isdecimal(), int(part) if part.isdecimal() else part) for part in _DIGITS.split(name)]

    return sorted(set(names), key=key)


_DIGITS = re.compile(r"([0-9]{1,18})")


# ---- convergence -----------------------------------------------------------------------------------------------------


def convergence(results: Dataset, axis: str = "evaluations", points: int = POINTS) -> pl.DataFrame:
    """The best value so far of each optimizer on each problem: median with quartiles, mean with its 95 % t interval.

    `measure` is `gap`, the distance to the optimum, where that is known, else `value`, as the problem returned it.
    A figure that is not finite yet (nothing feasible was found in a trial) is null.
    """
    every = curves(results, "exact", axis)
    grid = _grid(every, points)
    best = every.best(grid, None)  # (studies, points), minimised; NaN beyond a study's end
    key = every.problem * len(every.optimizers) + every.optimizer
    group, row = np.unique(key, return_inverse=True)
    size = np.bincount(row)
    order = np.argsort(row, kind="stable")
    place = np.empty(len(row), dtype=np.int64)
    place[order] = np.arange(len(row)) - np.repeat(np.cumsum(size) - size, size)
    cube = np.full((len(group), len(grid), int(size.max())), np.nan)
    cube[row, :, place] = best
    with np.errstate(invalid="ignore"):
        average = mean_estimate(cube)
    low, middle, high = _quartiles(cube)
    known = average.n > 0
    g, t = np.nonzero(known)
    p, o = group[g] // len(every.optimizers), group[g] % len(every.optimizers)
    optimum = _optima(results, every)
    gap = ~np.isnan(optimum[p])
    shift, sign = np.where(gap, optimum[p], 0.0), np.where(gap, 1.0, every.sign[p])
    down = sign < 0

    def pair(lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
        a, b = (lower[g, t] - shift) * sign, (upper[g, t] - shift) * sign
        return np.where(down, b, a), np.where(down, a, b)

    mean_ends, quartiles = pair(average.lower, average.upper), pair(low, high)
    figures = {
        "median": (middle[g, t] - shift) * sign,
        "q1": quartiles[0],
        "q3": quartiles[1],
        "mean": (average.value[g, t] - shift) * sign,
        "mean_lb": mean_ends[0],
        "mean_ub": mean_ends[1],
    }
    return pl.DataFrame(
        {
            "optimizer": pl.Series(every.optimizers, dtype=pl.String).gather(o),
            "problem": pl.Series(every.problems, dtype=pl.String).gather(p),
            "measure": pl.Series(["value", "gap"]).gather(gap.astype(np.int64)),
            "effort": grid[t],
            **{name: pl.Series(np.where(np.isfinite(column), column, np.nan)) for name, column in figures.items()},
            "n": average.n[g, t],
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
    """At most so many places on the axis, each study's own end among them where these are few."""
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


def _quartiles(cube: Floats) -> tuple[Floats, Floats, Floats]:
    """The quantiles 1/4, 1/2 and 3/4 along the last axis as order statistics (docs/scores.md 1.2), NaN not counted."""
    count = np.sum(~np.isnan(cube), axis=-1)
    ordered = np.sort(cube, axis=-1)  # NaN comes last

    def take(q: float) -> Floats:
        at: Ints = np.maximum(quantile_index(count, q) - 1, 0)
        return np.take_along_axis(ordered, at[..., None], axis=-1)[..., 0]

    return take(0.25), take(0.5), take(0.75)


def _optima(results: Dataset, every: Curves) -> Floats:
    """(problems,): the optimum, minimised, NaN where it is not known."""
    known = dict(problems(results).select("problem", "optimum").iter_rows())
    out = np.array([np.nan if known.get(name) is None else known[name] for name in every.problems], dtype=float)
    return out * every.sign


def scales(table: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """How each problem's values are best drawn: `log` or not, and the `floor` of a logarithmic axis."""
    parts = table.group_by("problem", maintain_order=True).agg(
        pl.col("measure").first(),
        low=pl.min_horizontal(*(pl.col(name).filter(pl.col(name) > 0).min() for name in ("median", "mean"))),
        least=pl.min_horizontal("median", "mean", "q1").min(),
        most=pl.max_horizontal("median", "mean").max(),
    )
    out = {}
    for row in parts.iter_rows(named=True):
        low, most = row["low"], row["most"]
        gap = row["measure"] == "gap"
        positive = low is not None and (gap or row["least"] > 0)
        log = bool(positive and most > 0 and (gap or most / low > 100))
        floor = max(low, FLOOR) if log else None
        out[row["problem"]] = {
            "measure": row["measure"],
            "log": log,
            "floor": None if floor is None else _rounded_down(floor),
        }
    return out


def _rounded_down(value: float) -> float:
    """The next lower 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(step for step in (5 * power, 2 * power, power) if step <= value * (1 + 1e-9))


# ---- time, failures, progress ----------------------------------------------------------------------------------------


def times(results: Dataset, *, by_dimension: bool = False) -> pl.DataFrame:
    """Seconds that an evaluation costs in each phase: median and quartiles over studies, of the studies' means."""
    keys = ["optimizer", "dimension"] if by_dimension else ["optimizer"]
    frame = results.studies.filter(pl.col("evaluations") > 0)
    each = frame.select(*keys, *((pl.col(f"{phase}_seconds") / pl.col("evaluations")).alias(phase) for phase in PHASES))
    long = each.unpivot(PHASES, index=keys, variable_name="phase", value_name="seconds").filter(pl.col("seconds") > 0)
    order = pl.Enum(PHASES)
    return (
        long.group_by(*keys, "phase")
        .agg(
            median=order_statistic("seconds", 0.5),
            q1=order_statistic("seconds", 0.25),
            q3=order_statistic("seconds", 0.75),
            n=pl.len(),
        )
        .sort(*keys, pl.col("phase").cast(order))
    )


def order_statistic(column: str, q: float) -> pl.Expr:
    """The quantile of a group as the curves and the views have it: the ceil(nq)-th of the sorted values.

    See docs/scores.md 1.2.
    """
    at = (pl.len() * q).ceil().cast(pl.Int64) - 1
    return pl.col(column).sort().get(at)


def failures(results: Dataset) -> pl.DataFrame:
    """How many evaluations failed, by optimizer, problem and kind, with one of the messages."""
    table = (
        results.failures()
        .group_by("optimizer", "problem", pl.col("status").alias("kind"))
        .agg(count=pl.len(), message=pl.col("message").first())
        .sort("optimizer", "problem", "kind")
    )
    told = [mailable(text, results.hosts) for text in table["message"]]
    return table.with_columns(message=pl.Series(told, dtype=pl.String))


def progress(results: Dataset) -> pl.DataFrame:
    """How far each optimizer came on each problem: `state` in a word, `label` in numbers."""
    status = pl.col("status")
    table = (
        results.studies.group_by("optimizer", "problem")
        .agg(
            studies=pl.len(),
            ended=status.is_in(SUCCEEDED).sum(),
            failed=status.is_in(UNSUCCESSFUL).sum(),
            running=(status == "running").sum(),
            evaluations=pl.col("evaluations").sum(),
        )
        .sort(by_name(results.studies), "optimizer")
    )
    state = (
        pl.when(pl.col("failed") > 0)
        .then(pl.lit("some failed"))
        .when(pl.col("running") > 0)
        .then(pl.lit("running"))
        .when(pl.col("ended") < pl.col("studies"))
        .then(pl.lit("incomplete"))
        .otherwise(pl.lit("done"))
    )
    label = (
        pl.when(pl.col("ended") == pl.col("studies"))
        .then(pl.col("studies").cast(pl.String))
        .otherwise(pl.format("{}/{}", "ended", "studies"))
    )
    return table.with_columns(state=state, label=label)
