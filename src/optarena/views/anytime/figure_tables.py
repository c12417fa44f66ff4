"""Tidy tables that the figures of the anytime view draw: curves, gaps over effort, how many are solved by when."""

from __future__ import annotations

import numpy as np
import polars as pl

from optarena.stats.estimates import mean
from optarena.traces import Bools, Floats, Ints, latest
from optarena.views.anytime.scores import primal_gaps
from optarena.views.anytime.scoring import Scored
from optarena.views.anytime.tables import STORE
from optarena.views.anytime.view import Anytime
from optarena.views.coverage import common

__all__ = [
    "STORE",
    "boxed",
    "boxes",
    "cactus",
    "cells",
    "curves",
    "effort_of_gaps",
    "floor_of_gaps",
    "gaps",
    "objectives",
    "solved",
]

POINTS = 60
OUTLIER, DRAWN = 10.0, 3.0
"""Where the box is more than OUTLIER times as high as a typical first value, DRAWN times that height is drawn of it."""


def scored(view: Anytime) -> Scored:
    assert view.scored is not None, "a view made from a store keeps its curves"
    return view.scored


def solved(view: Anytime) -> list[str]:
    """The instances that somebody solved, whose curves can be drawn."""
    return view.table("bounds").filter(pl.col("best").is_not_null())["problem"].to_list()


def curves(view: Anytime, instances: list[str]) -> pl.DataFrame:
    """The envelope of a typical trial of each optimizer (that of the median area score) on each instance.

    Each begins at the worst value where the horizon begins and goes on to its end: the area under it is what is scored.
    `box_*`: between what the scores of the instance lie, as far as it is drawn: one awful first value, `worst`, must
    not hide the others. `proof`: the value where its proof came; `bound`: what the run
    knew that nothing is better than, in rows of their own. Efforts are positive: time is drawn logarithmically.
    """
    of = scored(view)
    runs, bounds = of.runs, of.bounds
    parts = []
    for i in (runs.instances.index(name) for name in instances):
        here = np.flatnonzero((runs.instance == i) & (of.solutions > 0))
        left = _left(of, i, here)
        top = _top(of, i, here)
        for c in np.unique(runs.optimizer[here]).tolist():
            mine = here[runs.optimizer[here] == c]
            order = np.argsort(np.where(np.isnan(of.area[mine]), of.objective[mine], of.area[mine]), kind="stable")
            run = mine[order[(len(mine) - 1) // 2]]
            rows = slice(runs.offsets[run], runs.offsets[run + 1])
            last = max(bounds.end[i], of.last_time[run])
            proof = [min(max(runs.end[run], of.last_time[run]), last)] if runs.proved[run] else []
            times = np.concatenate(([bounds.start[i]], runs.times[rows], proof, [last]))
            values = np.concatenate(([bounds.worst[i]], runs.values[rows], [of.last_value[run]] * (len(proof) + 1)))
            values = np.minimum(values, top)
            solution = np.zeros(len(times), dtype=bool)
            solution[1 : 1 + int(of.solutions[run])] = runs.values[rows] <= top
            proved = np.zeros(len(times), dtype=bool)
            proved[-2] = bool(proof)
            parts.append(_curve(view, i, c, np.maximum(times, left), values, solution, proved, left, top))
            mine = runs.bound_run == run
            known = np.maximum.accumulate(runs.bound_values[mine])
            if len(known):  # those that are further away than the box is high are drawn at its foot
                at = np.append(np.clip(runs.bound_times[mine], left, last), proof[0] if proof else last)
                floor = bounds.best[i] - max(top - bounds.best[i], 1e-9)
                known = np.maximum(np.append(known, known[-1]), floor)
                none = np.zeros(len(at), dtype=bool)
                table = _curve(view, i, c, at, known, none, none, left, top)
                parts.append(table.with_columns(bound="value", value=pl.lit(None, pl.Float64)))
    if not parts:
        return pl.DataFrame(schema=CURVE)
    return pl.concat(parts)


CURVE = {
    **dict.fromkeys(("optimizer", "problem"), pl.String),
    **dict.fromkeys(
        ("effort", "value", "found", "proof", "bound", "box_best", "box_worst", "box_start", "box_end", "worst"),
        pl.Float64,
    ),
    "place": pl.Int64,
}


def _left(of: Scored, i: int, here: Ints) -> float:
    """Where a logarithmic axis begins: half of the first solution's time, or where the horizon begins."""
    runs, bounds = of.runs, of.bounds
    times = runs.times[np.isin(runs.run, here)]
    if bounds.start[i] > 0:
        return float(bounds.start[i])
    positive = times[times > 0]
    return float(positive.min() / 2 if len(positive) else max(bounds.end[i], 1e-9) / 1000)


def _top(of: Scored, i: int, here: Ints) -> float:
    """Up to where a box is drawn: to the worst value, unless that is far worse than most first values."""
    best, worst = float(of.bounds.best[i]), float(of.bounds.worst[i])
    typical = float(np.median(of.runs.values[of.runs.offsets[here]])) - best
    return best + DRAWN * typical if 0 < OUTLIER * typical < worst - best else worst


def _curve(
    view: Anytime, i: int, c: int, times: Floats, values: Floats, found: Bools, proved: Bools, left: float, top: float
) -> pl.DataFrame:
    of = scored(view)
    sign = of.runs.sign[i]
    box = {
        "box_best": of.bounds.best[i] * sign,
        "box_worst": top * sign,
        "worst": of.bounds.worst[i] * sign,
        "box_start": max(of.bounds.start[i], left),
        "box_end": of.bounds.end[i],
    }
    return pl.DataFrame(
        {
            "optimizer": [of.runs.optimizers[c]] * len(times),
            "problem": [of.runs.instances[i]] * len(times),
            "effort": times,
            "value": values * sign,
            "found": pl.Series(np.where(found, values * sign, np.nan)).fill_nan(None),
            "proof": pl.Series(np.where(proved, values * sign, np.nan)).fill_nan(None),
            "bound": pl.Series([None] * len(times), dtype=pl.Float64),
            **{name: np.full(len(times), value) for name, value in box.items()},
            "place": np.full(len(times), i),
        },
        schema=CURVE,
    )


def cells(view: Anytime) -> pl.DataFrame:
    """Area and objective score of each optimizer on each instance."""
    return view.instance.filter(pl.col("area_score").is_not_null()).select(
        "problem", "status", "trials", "optimizer", score="area_score", objective="objective_score"
    )


def objectives(view: Anytime) -> pl.DataFrame:
    """The objective score of each optimizer on each instance."""
    return view.instance.filter(pl.col("objective_score").is_not_null()).select(
        "problem", "trials", "optimizer", score="objective_score"
    )


def boxed(view: Anytime) -> list[tuple[str, str]]:
    """The scores whose box plots there are: columns of the table `runs`, and their names."""
    if view.original is None:
        return [("objective_score", "objective score"), ("area_score", "area score")]
    return [("objective_score", "objective score"), ("autc_score", "area by time"), ("audc_score", "area by decisions")]


def boxes(view: Anytime, score: str) -> pl.DataFrame:
    """One row per run: its score, on what."""
    table = view.table("runs").filter(pl.col(score).is_not_null())
    return table.select("optimizer", "problem", "trial", score=score)


def gaps(view: Anytime, points: int = POINTS) -> pl.DataFrame:
    """The mean primal gap over instances by effort: in parts of the horizon, where that differs between instances."""
    of = scored(view)
    runs, bounds = of.runs, of.bounds
    usable = np.flatnonzero(~np.isnan(bounds.best) & (bounds.end > bounds.start) & common(runs.has))
    if not len(usable):
        return pl.DataFrame()
    width = bounds.end - bounds.start
    same = bool(len(np.unique(bounds.end[usable])) == 1 and len(np.unique(bounds.start[usable])) == 1)
    share = np.geomspace(1e-3, 1, points)
    run = runs.run
    with np.errstate(invalid="ignore", divide="ignore"):
        at = (runs.times - bounds.start[runs.instance[run]]) / width[runs.instance[run]]
    gap = np.append(primal_gaps(runs.values, bounds.anchor[runs.instance[run]]), 1.0)
    now = gap[latest(at, runs.offsets, np.arange(len(runs))[:, None], share)]
    names = runs.optimizers
    cell = runs.optimizer * len(runs.instances) + runs.instance
    total = np.zeros((len(names) * len(runs.instances), len(share)))
    np.add.at(total, cell, now)
    count = np.bincount(cell, minlength=len(total))[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        each = np.where(count > 0, total / count, np.nan).reshape(len(names), len(runs.instances), -1)[:, usable]
    figure = mean(np.swapaxes(each, 1, 2))
    effort = bounds.start[usable[0]] + share * width[usable[0]] if same else share
    table = pl.DataFrame(
        {
            "optimizer": pl.Series(names).gather(np.repeat(np.arange(len(names)), len(share))),
            "effort": np.tile(effort, len(names)),
            "gap": figure.value.ravel(),
            "lower": np.clip(figure.lower, 0, 1).ravel(),
            "upper": np.clip(figure.upper, 0, 1).ravel(),
            "n": figure.n.ravel(),
        }
    ).filter(pl.col("n") > 0)
    many = max(1, len(names))
    turn = pl.int_range(pl.len()).over("optimizer") % 10 == (pl.col("optimizer").rank("dense") - 1) * 10 // many
    return table.with_columns(mark=turn).with_columns(shown=pl.col("gap").clip(lower_bound=floor_of_gaps(table)))


def floor_of_gaps(table: pl.DataFrame) -> float:
    """The power of ten at the foot of the logarithmic axis of gaps: below the least that is not 0, at most 0.01."""
    least = table.filter(pl.col("gap") > 0)["gap"].min() if table.height else None
    return float(min(1e-2, 10.0 ** np.floor(np.log10(max(float(least), 1e-8))))) if least else 1e-2  # type: ignore[arg-type]


def effort_of_gaps(view: Anytime) -> str:
    """What the axis of `gaps` counts."""
    bounds = scored(view).bounds
    usable = ~np.isnan(bounds.best)
    same = len(np.unique(bounds.end[usable])) == 1 and len(np.unique(bounds.start[usable])) == 1
    return str(view.frame["axis"]) if same else f"part of the horizon ({view.frame['axis']})"


def cactus(view: Anytime, by: str = "solved") -> pl.DataFrame:
    """How many instances each optimizer has solved (or `proved`) by when; several trials of an instance share its one.

    Without any, the table is empty.
    """
    when = f"{by}_effort"
    table = view.table("runs").filter(~pl.col("problem").is_in(view.coverage["left_out"]))
    table = table.with_columns(solved_effort=when)
    if not table.height or (by == "proved" and not table["proved"].any()):
        return pl.DataFrame(schema={"optimizer": pl.String, "effort": pl.Float64, "count": pl.Float64})
    weight = 1 / pl.len().over("optimizer", "problem")
    done = (
        table.with_columns(weight=weight)
        .filter(pl.col(by))
        .sort("optimizer", "solved_effort")
        .with_columns(count=pl.col("weight").cum_sum().over("optimizer"))
    )
    names = table.select("optimizer").unique(maintain_order=True)
    last = names.join(done.group_by("optimizer").agg(pl.col("count").last()), on="optimizer", how="left")
    last = last.with_columns(
        pl.col("count").fill_null(0.0), solved_effort=pl.lit(float(np.nanmax(scored(view).runs.budget)))
    )
    # on a logarithmic axis: all begin at the same place, before the first is solved
    positive = done.filter(pl.col("solved_effort") > 0)["solved_effort"]
    begin = float(min(positive.min() or 1.0, last["solved_effort"].min() or 1.0)) / 2  # type: ignore[arg-type]
    zero = names.with_columns(solved_effort=pl.lit(begin), count=pl.lit(0.0))
    columns = ["optimizer", "solved_effort", "count"]
    return (
        pl.concat([zero.select(columns), done.select(columns), last.select(columns)])
        .rename({"solved_effort": "effort"})
        .with_columns(pl.col("effort").clip(lower_bound=begin))
        .sort("optimizer", "effort", "count")
    )
