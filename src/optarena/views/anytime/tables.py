"""The tables of the anytime view, and how much its scores depend on who takes part."""

from __future__ import annotations

import numpy as np
import polars as pl

from optarena._numbers import counted
from optarena.stats.estimates import mean
from optarena.status import PROVEN, WRONG
from optarena.traces import Floats
from optarena.views.anytime.scores import borda_points
from optarena.views.anytime.scoring import Bounds, Scored, bounds_of, relative
from optarena.views.coverage import common
from optarena.views.fixed_target.profiles import penalised, shifted_geometric_mean

DISPUTED = "disputed"
ROUNDING = 1e-9
"""Up to which two means of scores, which lie between 0 and 1, are the same."""


def make(scored: Scored) -> dict[str, pl.DataFrame]:
    """`instance`, `summary`, `runs`, `bounds`, `virtual_best`, `contradictions`."""
    each = _runs(scored)
    instance = _instances(scored, each)
    return {
        "instance": instance,
        "summary": _summary(scored, instance),
        "runs": each,
        "bounds": _bounds(scored),
        "virtual_best": _virtual_best(scored, instance),
        "contradictions": scored.runs.contradictions,
    }


def _runs(scored: Scored) -> pl.DataFrame:
    """One row per run."""
    runs, i = scored.runs, scored.runs.instance
    some = scored.solutions > 0
    valued = np.where(runs.no_value[i], np.nan, 1.0)
    status = [_ended(*each) for each in zip(runs.status, runs.proved, some, runs.disputed[i], strict=True)]
    return pl.DataFrame(
        {
            "optimizer": pl.Series(runs.optimizers, dtype=pl.String).gather(runs.optimizer),
            "problem": pl.Series(runs.instances, dtype=pl.String).gather(i),
            "trial": runs.trial,
            "status": status,
            "solutions": scored.solutions,
            "unsolved": ~some,
            "solved": scored.solved,
            "proved": runs.proved & some,
            "wrong": runs.wrong,
            "best": _number(scored.last_value * runs.sign[i] * valued),
            "first": _number(scored.first_value * runs.sign[i] * valued),
            "first_effort": _number(scored.first_time),
            "best_effort": _number(scored.last_time),
            "solved_effort": _number(scored.solved_at),
            "proved_effort": _number(np.where(runs.proved & some, np.fmax(runs.end, scored.last_time), np.nan)),
            "objective_score": _number(scored.objective),
            "area_score": _number(scored.area),
            "primal_gap": _number(scored.gap),
            "primal_integral": _number(scored.integral),
            "par2": _number(_penalised(scored, 2)),
            "par10": _number(_penalised(scored, 10)),
            "borda": _number(_borda(scored)),
        }
    )


def _ended(status: str, proved: bool, solved: bool, disputed: bool) -> str:
    """How a run ended, in a word; of an instance that claims contradict nothing is scored (docs/scores.md 4.10)."""
    if disputed:
        return status if status == WRONG else DISPUTED
    if proved and solved:
        return status if status in PROVEN else "optimal"
    return status if solved or status not in ("done", "optimal") else "no solution"


def _instances(scored: Scored, each: pl.DataFrame) -> pl.DataFrame:
    """One row per optimizer and instance: means over its trials."""
    means = ("objective_score", "area_score", "primal_gap", "primal_integral", "par2", "par10", "borda")
    return (
        each.group_by("optimizer", "problem", maintain_order=True)
        .agg(
            pl.len().alias("trials"),
            pl.col("status").unique(maintain_order=True).str.join(", "),
            pl.col("unsolved", "solved", "proved", "wrong").sum(),
            pl.col("best").get(pl.col("objective_score").arg_min()),
            *(pl.col(name).mean() for name in means),
        )
        .sort(
            pl.col("problem").cast(pl.Enum(scored.runs.instances)),
            pl.col("optimizer").cast(pl.Enum(scored.runs.optimizers)),
        )
        .select(
            "optimizer", "problem", "objective_score", "area_score", "primal_gap", "primal_integral", "status",
            "best", "trials", "solved", "proved", "unsolved", "wrong", "par2", "par10", "borda",
        )
    )  # fmt: skip


def _summary(scored: Scored, instance: pl.DataFrame) -> pl.DataFrame:
    """One row per optimizer: means over instances with their intervals, best area first (docs/scores.md 4.7)."""
    runs = scored.runs
    alike = common(runs.has)  # like is compared with like (docs/scores.md 0.4)
    instance = instance.filter(pl.col("problem").is_in([runs.instances[i] for i in np.flatnonzero(alike).tolist()]))
    names, outcomes = runs.optimizers, ("solved", "proved", "unsolved", "wrong")
    averaged = ("objective_score", "area_score", "primal_gap", "primal_integral")
    # instances count the same, however many trials they have
    times = _penalised(scored, 1)
    cell = runs.optimizer * len(runs.instances) + runs.instance
    with np.errstate(divide="ignore"):
        weights = 1 / np.bincount(cell[~np.isnan(times)], minlength=int(cell.max()) + 1)[cell]
    rows = []
    for o, name in enumerate(names):
        part = instance.filter(pl.col("optimizer") == name)
        row: dict[str, object] = {"optimizer": name, "instances": part.height}
        for column in averaged:
            figure = mean(part[column].fill_null(np.nan).to_numpy().astype(float)[None, :])
            value, lower, upper = (float(x[0]) for x in figure[:3])
            row |= {column: value, f"{column}_lb": lower, f"{column}_ub": upper}
        row |= {column: float((part[column] / part["trials"]).sum()) for column in outcomes}
        row |= {column: part[column].mean() for column in ("par2", "par10")}
        mine = (runs.optimizer == o) & ~np.isnan(times) & alike[runs.instance]
        some = mine.any()
        row["shifted_geometric_mean"] = shifted_geometric_mean(times[mine], weights=weights[mine]) if some else None
        row["borda"] = part["borda"].sum()
        row["n"] = int(part["objective_score"].is_not_null().sum())
        rows.append(row)
    table = pl.DataFrame(rows).with_columns(pl.selectors.float().fill_nan(None))
    return table.sort("area_score", "objective_score", "optimizer", nulls_last=True)


VIRTUAL = "(virtual best)"


def _virtual_best(scored: Scored, instance: pl.DataFrame) -> pl.DataFrame:
    """The virtual best solver, which takes the best optimizer on each instance, and what each contributes to it.

    See docs/scores.md 4.13. Instances that all optimizers ran; without several optimizers nothing can be left out.
    """
    runs = scored.runs
    names, alike = runs.optimizers, [runs.instances[i] for i in np.flatnonzero(common(runs.has)).tolist()]
    part = instance.filter(pl.col("problem").is_in(alike))
    place = {name: i for i, name in enumerate(alike)}
    columns: dict[str, Floats] = {}
    cubes = {}
    for score in ("area_score", "par10"):
        cube = np.full((len(alike), len(names)), np.nan)
        for row in part.select("problem", "optimizer", score).iter_rows():
            cube[place[row[0]], names.index(row[1])] = np.nan if row[2] is None else row[2]
        cube = cubes[score] = cube[~np.isnan(cube).any(axis=1)]  # an instance without the score tells nothing
        total = _mean_of_least(cube)
        without = np.array([_mean_of_least(np.delete(cube, o, axis=1)) for o in range(len(names))])
        columns[score] = np.append(cube.mean(axis=0) if len(cube) else np.full(len(names), np.nan), total)
        columns[f"{score}_contribution"] = np.append(without - total, np.nan)
    area = cubes["area_score"]
    least = area == area.min(axis=1, keepdims=True) if area.size else np.zeros(area.shape, dtype=bool)
    first = (least / np.maximum(least.sum(axis=1, keepdims=True), 1)).sum(axis=0)
    solved = np.zeros((len(alike), len(names)), dtype=bool)
    for row in part.filter(pl.col("solved") > 0).select("problem", "optimizer").iter_rows():
        solved[place[row[0]], names.index(row[1])] = True
    only = (solved & (solved.sum(axis=1, keepdims=True) == 1)).sum(axis=0).astype(float)
    table = pl.DataFrame(
        {
            "optimizer": [*names, VIRTUAL],
            **{name: _number(values) for name, values in columns.items()},
            "first": _number(np.append(first, float(len(area)))),
            "solved": _number(np.append(solved.sum(axis=0), solved.any(axis=1).sum()).astype(float)),
            "only": _number(np.append(only, np.nan)),
        }
    )
    return table.sort("par10_contribution", "area_score_contribution", descending=True, nulls_last=True)


def _mean_of_least(cube: Floats) -> float:
    """The mean over instances of the least score of any optimizer; NaN where there is none."""
    return float(cube.min(axis=1).mean()) if cube.size else np.nan


def _penalised(scored: Scored, k: float) -> Floats:
    """(runs,): its time to solve the instance, k budgets without; NaN where no budget is known (docs/scores.md 4.7)."""
    runs = scored.runs
    # none declared, and nobody spent anything: not known; disputed: nobody's time counts
    budget = np.where((runs.budget > 0) & ~runs.disputed, runs.budget, np.nan)
    return penalised(np.where(scored.solved, scored.solved_at, np.inf), budget[runs.instance], k)


def _borda(scored: Scored) -> Floats:
    """(runs,): points against all other optimizers on the same instance, averaged over pairs of trials."""
    runs = scored.runs
    times = runs.cube(scored.last_time)  # inf where nothing was found
    values = runs.cube(np.where(scored.solutions > 0, scored.last_value, 0.0))
    proved = runs.cube(runs.proved.astype(float)) == 1
    points = borda_points(times, values, proved, runs.cube(runs.end))
    return np.where(np.isnan(scored.bounds.best[runs.instance]), np.nan, points[runs.instance, runs.optimizer])


def _bounds(scored: Scored) -> pl.DataFrame:
    """One row per instance: between what its scores lie, and who set the worst value."""
    runs, bounds = scored.runs, scored.bounds
    first = np.where(scored.solutions > 0, scored.first_value, -np.inf)
    owners = [""] * len(runs.instances)
    valued = np.where(runs.no_value, np.nan, 1.0)
    for i in np.argsort(runs.optimizer, kind="stable")[::-1].tolist():  # the first of equals is kept
        if first[i] == bounds.worst[runs.instance[i]]:
            owners[runs.instance[i]] = runs.optimizers[runs.optimizer[i]]
    return pl.DataFrame(
        {
            "problem": runs.instances,
            "sense": ["max" if sign < 0 else "min" for sign in runs.sign],
            "decided": pl.Series(runs.decided, dtype=pl.String),
            "best": _number(bounds.best * runs.sign * valued),
            "worst": _number(bounds.worst * runs.sign * valued),
            "worst_of": pl.Series(["" if word else name for word, name in zip(runs.decided, owners, strict=True)]),
            "best_known": _number(runs.best_known * runs.sign),
            "anchor": _number(bounds.anchor * runs.sign * valued),
            "anchor_from": pl.Series(anchors(scored), dtype=pl.String),
            "start": _number(bounds.start),
            "end": _number(bounds.end),
        }
    )


STORE = "the best of the store"


def anchors(scored: Scored) -> list[str]:
    """(instances,): what tells that nothing is better than the anchor; empty where there is no anchor.

    A proof of a run, a known optimum or best value, or nothing but the other runs of the store (docs/scores.md 4.7).
    """
    runs, anchor = scored.runs, scored.bounds.anchor
    proof = np.zeros(len(anchor), dtype=bool)
    proof[runs.instance[runs.proved & (scored.solutions > 0)]] = True  # else it would be a contradiction
    known = (runs.best_known <= anchor) | ~np.isnan(anchor) & np.isnan(scored.bounds.best)
    words = np.where(proof, "a proof", np.where(known, "known", STORE))
    return ["" if np.isnan(a) else str(word) for a, word in zip(anchor, words, strict=True)]


def gaps(scored: Scored) -> list[str]:
    """What is not in averages, and what "solved" means."""
    runs = scored.runs
    notes = []
    only = np.array([word == STORE for word in anchors(scored)], dtype=bool)
    if only.any():
        which = "each instance" if only.all() else f"{counted(int(only.sum()), 'instance')} of {len(only)}"
        notes.append(
            f"no optimum is known or proved for {which}: there 'solved' only means as good as the best of this store"
        )
    unsolved = ~scored.solved & ~runs.disputed[runs.instance]
    unknown = len(np.unique(runs.instance[unsolved & ~(runs.budget > 0)[runs.instance]]))
    if unknown:
        without = f"no budget is known for {counted(unknown, 'instance')}"
        notes.append(f"{without}: runs without a solution are not in PAR-k and similar scores")
    return notes


def sensitive(scored: Scored, horizon: str) -> list[str]:
    """Which optimizers change the order of two others by taking part: best and worst depend on all.

    See docs/scores.md 4.9.
    """
    runs = scored.runs
    names = runs.optimizers
    if len(names) < 3:
        return []
    notes = []
    for c, name in enumerate(names):
        bounds = bounds_of(runs, horizon, without=c)
        objective, area = _without(scored, bounds)
        for word, full, part in (("objective", scored.objective, objective), ("area", scored.area, area)):
            before, after = _means(scored, full), _means(scored, part)
            others = [o for o in range(len(names)) if o != c]
            swapped = [
                (a, b)
                for k, a in enumerate(others)
                for b in others[k + 1 :]
                if _order(before[a] - before[b]) * _order(after[a] - after[b]) < 0
            ]
            if swapped:
                pairs = ", ".join(f"{names[a]} and {names[b]}" for a, b in swapped[:3])
                more = f" and {len(swapped) - 3} more pairs" if len(swapped) > 3 else ""
                notes.append(f"without {name} the order of {pairs}{more} by {word} score is reversed")
    return notes


def _order(difference: float) -> int:
    """Its sign; what rounding leaves of two equal means is none."""
    return 0 if not abs(difference) > ROUNDING else 1 if difference > 0 else -1


def _without(scored: Scored, bounds: Bounds) -> tuple[Floats, Floats]:
    """Objective and area score of all runs between other bounds, from what is known of each: no event is read again."""
    i, some = scored.runs.instance, scored.solutions > 0
    with np.errstate(invalid="ignore"):
        begin = np.clip(scored.first_time, bounds.start[i], bounds.end[i])
        wait = np.where(some, begin, bounds.end[i]) - bounds.start[i]
        # the integral of value - best over the new horizon, above the new best
        rest = scored.bounds.end[i] - bounds.end[i]
        over = scored.over_best - (scored.last_value - scored.bounds.best[i]) * rest
        over -= (bounds.best - scored.bounds.best)[i] * (bounds.end[i] - begin)
    return relative(scored.last_value, wait, np.where(some, over, 0.0), bounds, i)


def _means(scored: Scored, values: Floats) -> Floats:
    """(optimizers,): the mean over instances of the mean over trials."""
    each = mean(scored.runs.cube(values)).value[common(scored.runs.has)]
    return mean(each.T).value


def _number(values: Floats) -> pl.Series:
    """Absent where undefined or not there."""
    return pl.Series(np.where(np.isfinite(values), values, np.nan)).fill_nan(None)
