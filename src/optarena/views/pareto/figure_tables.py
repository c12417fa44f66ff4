"""Tidy tables that the figures of the pareto view draw: fronts, hypervolume over effort, attainment, indicators.

Scores live in the view; nothing is drawn here.
"""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl

from optarena._order import natural
from optarena.traces import Bools, Floats
from optarena.views.pareto.attainment import attained, surface
from optarena.views.pareto.domination import non_dominated
from optarena.views.pareto.frame import Reference
from optarena.views.pareto.measures import GREATER
from optarena.views.pareto.view import INSTEAD, Pareto

POINTS = 200
"""Of a front in a panel, at most; more are not seen."""
LINES = 60
"""Of a front in parallel coordinates."""
CELLS = 120
"""Of a map of differences, along each axis."""
MARGIN = 0.06
TITLES = {
    "hypervolume_ratio": "hypervolume",
    "igd_plus": "IGD+",
    "igd": "IGD",
    "gd": "GD",
    "additive_epsilon": "epsilon",
    "r2": "R2",
    "spread": "spread (two objectives)",
    "generalised_spread": "generalised spread",
}
BETTER = {"min": "less is better", "max": "more is better"}
FAR = 2.0
"""Where the ideal is 0 and the nadir 1: points up to here are drawn, however good the others are."""
TYPICAL = 3.0
"""Points further from the ideal than so many times a typical point are not drawn: an outlier must not hide a front."""


def problems(view: Pareto, objectives: range) -> list[str]:
    """The scored problems with so many objectives, by name."""
    assert view.pinned is not None
    return natural(name for name in view.problems if len(view.pinned.problems[name].senses) in objectives)


def typical(view: Pareto, problem: str) -> dict[str, int]:
    """Of each optimizer the trial whose hypervolume is the median of its trials', the lower of two; where no front of
    the problem has any, the trial with the median IGD+, the lower of two."""
    table = view.table("studies").filter(pl.col("problem") == problem, pl.col("non_dominated") > 0)
    out = {}
    for (optimizer,), part in table.group_by(["optimizer"], maintain_order=True):
        by = INSTEAD if problem in view.flat_problems else "hypervolume"
        out[str(optimizer)] = part.sort(by, "trial")["trial"][(part.height - 1) // 2]
    return out


def fronts(view: Pareto, names: list[str]) -> pl.DataFrame:
    """The front of each optimizer's typical trial and the reference set, one panel per problem and pair of objectives.

    Without rows, here as below, where no study found a feasible point.
    """
    rows = []
    for place, name in enumerate(names):
        assert view.pinned is not None
        one = view.pinned.problems[name]
        chosen = typical(view, name)
        if not chosen:
            continue
        table = view.fronts(name)
        sets: list[tuple[str, str, Floats]] = []
        for optimizer, trial in chosen.items():
            mine = table.filter(pl.col("optimizer") == optimizer, pl.col("trial") == trial)
            sets.append((optimizer, "front", mine.select(pl.selectors.float()).to_numpy()))
            # each optimizer's rows hold the reference set, so that it is there whoever is shown
            sets.append((optimizer, "reference", np.array(one.reference_set)))
        for i, j in itertools.combinations(range(len(one.senses)), 2):
            found = [points[:, [i, j]] for _, kind, points in sets if kind == "front"]
            far = drawn_to(one, found, (i, j))
            outside = sum(int((~is_near(one, points, (i, j), far)).sum()) for points in found)
            panel = f"{name}: {axes_of(one, i, j)}{f', {outside} outside' if outside else ''}"
            for optimizer, kind, points in sets:
                kept = _thinned(points)[:, [i, j]]
                kept = kept[is_near(one, kept, (i, j), far)]
                line = pl.DataFrame({"x": kept[:, 0], "y": kept[:, 1]})
                rows.append(_set(panel, place, optimizer).with_columns(kind=pl.lit(kind)).join(line, how="cross"))
    if not rows:
        return pl.DataFrame()
    # the reference set lies behind: drawn first
    return pl.concat(rows).sort("place", "panel", "kind", descending=[False, False, True], maintain_order=True)


def axes_of(one: Reference, i: int, j: int) -> str:
    """What a panel draws, with the direction that is better: `completion ↑ by cost ↓`."""
    arrows = {"min": "↓", "max": "↑"}
    first, second = (f"{one.objectives[k]} {arrows[one.senses[k]]}" for k in (i, j))
    return f"{second} by {first}"


def drawn_to(one: Reference, found: list[Floats], which: tuple[int, int]) -> Floats:
    """(2,): how far a panel reaches, where the ideal is 0 and the nadir 1. found: the points of each optimizer, in
    their own senses; each optimizer counts the same, however many points it has."""
    sets = [_scaled(one, points, which) for points in found if len(points)]
    weights = np.concatenate([np.full(len(points), 1 / len(points)) for points in sets])
    every = np.concatenate(sets)
    out = np.full(2, FAR)
    for k in range(2):
        order = np.argsort(every[:, k], kind="stable")
        middle = np.searchsorted(np.cumsum(weights[order]), len(sets) / 2 - 1e-9)
        out[k] = max(FAR, TYPICAL * every[order[middle], k])
    return out


def is_near(one: Reference, points: Floats, which: tuple[int, int], far: Floats) -> Bools:
    """Which points, in their own senses, a panel reaches."""
    return np.asarray((_scaled(one, points, which) <= far).all(axis=1))


def _scaled(one: Reference, points: Floats, which: tuple[int, int]) -> Floats:
    """Two objectives, in their own senses, with the ideal at 0 and the nadir at 1."""
    low, high = (np.array(bound)[list(which)] for bound in (one.ideal, one.nadir))
    return np.asarray((points - low) / (high - low))


def _set(panel: str, place: int, optimizer: str) -> pl.DataFrame:
    return pl.DataFrame({"panel": [panel], "place": [place], "optimizer": [optimizer]})


def _thinned(points: Floats, most: int = POINTS) -> Floats:
    """At most so many points from all over the front, sorted by the first objective."""
    ordered = points[np.lexsort(points.T[::-1])]
    return ordered[np.unique(np.linspace(0, len(ordered) - 1, min(len(ordered), most)).round().astype(int))]


def parallel(view: Pareto, names: list[str]) -> pl.DataFrame:
    """Many objectives: one line per point of the typical front, one axis per objective; 0 the ideal, 1 the nadir."""
    assert view.pinned is not None
    rows = []
    for place, name in enumerate(names):
        one = view.pinned.problems[name]
        table = view.fronts(name)
        for optimizer, trial in typical(view, name).items():
            mine = table.filter(pl.col("optimizer") == optimizer, pl.col("trial") == trial)
            points = _thinned(one.normalised(mine.select(pl.selectors.float()).to_numpy() * one.signs), LINES)
            for k, point in enumerate(points.tolist()):
                for objective, value in zip(one.objectives, point, strict=True):
                    rows.append((name, place, optimizer, f"{optimizer} {k}", objective, value))
    columns = ("panel", "place", "optimizer", "point", "objective", "value")
    return pl.DataFrame(rows, schema=columns, orient="row")


def hypervolume(view: Pareto, names: list[str]) -> pl.DataFrame:
    """The hypervolume over effort as a part of the reference set's: over all problems, and one panel per problem."""
    table = view.anytime.filter(pl.col("indicator") == "hypervolume_ratio")
    order = ["all problems", *names] if len(names) > 1 else names
    panel = pl.col("problem").fill_null("all problems")
    most = pl.max_horizontal(pl.lit(1.0), pl.col("mean").max())  # a ratio passes 1 where a front beats the reference
    return (
        table.select(
            "optimizer",
            "effort",
            panel=panel,
            value="mean",
            lower=pl.when(pl.col("mean_lb").is_finite()).then(pl.col("mean_lb").clip(0.0)),
            upper=pl.when(pl.col("mean_ub").is_finite()).then(pl.min_horizontal("mean_ub", most)),
            n="n",
        )
        .filter(pl.col("panel").is_in(order))
        .with_columns(place=pl.col("panel").replace_strict(order, list(range(len(order))), return_dtype=pl.Int64))
        .sort("place", "optimizer", "effort")
    )


def attainment(view: Pareto, names: list[str]) -> pl.DataFrame:
    """Attainment surfaces as lines with their corners: best, median and worst of the runs.

    Of three objectives, one panel for each two of them: what is attained in these two, whatever the third is.
    """
    assert view.pinned is not None
    parts = []
    for place, name in enumerate(names):
        one = view.pinned.problems[name]
        runs = {optimizer: _runs(view, name, optimizer) for optimizer in view.optimizers}
        if not any(len(front) for fronts in runs.values() for front in fronts):
            continue
        for i, j in itertools.combinations(range(len(one.senses)), 2):
            flat = {name: [_projected(front, i, j) for front in fronts] for name, fronts in runs.items()}
            found = [np.concatenate(fronts) * one.signs[[i, j]] for fronts in flat.values() if fronts]
            far = drawn_to(one, found, (i, j))
            seen = np.concatenate([points[is_near(one, points, (i, j), far)] for points in found])
            end = (seen * one.signs[[i, j]]).max(axis=0) * one.signs[[i, j]]
            for optimizer, fronts in flat.items():
                if not any(len(front) for front in fronts):
                    continue
                for level, count in (("best", 1), ("median", (len(fronts) + 1) // 2), ("worst", len(fronts))):
                    points = surface(fronts, count) * one.signs[[i, j]] + 0.0
                    points = points[is_near(one, points, (i, j), far)]
                    x, y = _corners(_thinned(points), one.senses[i] == "max", end)
                    line = pl.DataFrame({"x": x, "y": y, "step": np.arange(len(x))})
                    named = _set(f"{name}: {axes_of(one, i, j)}", place, optimizer).with_columns(level=pl.lit(level))
                    parts.append(named.join(line, how="cross"))
    return pl.concat(parts) if parts else pl.DataFrame()


def _projected(front: Floats, i: int, j: int) -> Floats:
    """What is not dominated in two of the objectives."""
    two = front[:, [i, j]]
    return two[non_dominated(two)]


def axis_titles(view: Pareto, names: list[str]) -> tuple[str, str]:
    """Titles of both axes: the objective and the direction that is better, as far as all panels share them."""
    assert view.pinned is not None
    drawn = [
        [(one.objectives[k], BETTER[one.senses[k]]) for k in pair]
        for one in (view.pinned.problems[name] for name in names)
        for pair in itertools.combinations(range(len(one.senses)), 2)
    ]
    return _shared({x for x, _ in drawn}), _shared({y for _, y in drawn})


def _shared(axes: set[tuple[str, str]]) -> str:
    if len(axes) == 1:
        name, better = next(iter(axes))
        return f"{name} ({better})"
    ways = {better for _, better in axes}
    return ways.pop() if len(ways) == 1 else "better: ↓ less, ↑ more"


def _corners(points: Floats, maximised: bool, end: Floats) -> tuple[Floats, Floats]:
    """A staircase as a line: between two points the corner that neither improves on, and from its last points straight
    on to the end of the panel."""
    if not len(points):
        return points[:, 0], points[:, 1]
    x, y = np.repeat(points[:, 0], 2), np.repeat(points[:, 1], 2)
    if maximised:  # the points rise with x towards what is better: the surface begins where x is worst
        return np.concatenate((end[:1], x)), np.concatenate((y, end[1:]))
    return np.concatenate((x, end[:1])), np.concatenate((end[1:], y))


def attainment_differences(view: Pareto, names: list[str]) -> pl.DataFrame:
    """Where the best optimizer of each problem attains more often than the next, and where less: rectangles."""
    assert view.pinned is not None
    assert view.studies is not None
    parts = []
    for place, name in enumerate(names):
        one = view.pinned.problems[name]
        flat = name in view.flat_problems
        board = view.problem.filter(
            pl.col("problem") == name, pl.col("indicator") == (INSTEAD if flat else "hypervolume_ratio")
        )
        board = board.sort("mean", "optimizer", descending=[not flat, False], nulls_last=True)
        pair = board["optimizer"].head(2).to_list()
        sides = [_runs(view, name, optimizer) for optimizer in pair]
        if len(pair) < 2 or not all(any(len(front) for front in side) for side in sides):
            continue
        boxes = _difference(*sides)
        near, far = boxes[:, :2] * one.signs, boxes[:, 2:4] * one.signs
        table = pl.DataFrame(
            {"x": near[:, 0], "y": near[:, 1], "x2": far[:, 0], "y2": far[:, 1], "difference": boxes[:, 4]}
        )
        parts.append(
            _set(f"{name}: {pair[0]} − {pair[1]}", place, pair[0])
            .with_columns(other=pl.lit(pair[1]))
            .join(table, how="cross")
        )
    return pl.concat(parts) if parts else pl.DataFrame()


def _difference(first: list[Floats], second: list[Floats]) -> Floats:
    """Rectangles (left, bottom, right, top, difference) of a raster as fine as a screen shows, where it is not 0."""
    every = np.concatenate([*first, *second])
    low, high = every.min(axis=0), every.max(axis=0)
    high = high + MARGIN * np.where(high > low, high - low, 1.0)
    edges = np.linspace(low, high, CELLS + 1)
    centres = (edges[1:] + edges[:-1]) / 2
    apart = attained(first, centres) - attained(second, centres)
    out = []
    for i, column in enumerate(apart):  # cells one above the other that are equal make one rectangle
        starts = np.flatnonzero(np.append(True, column[1:] != column[:-1]))
        for a, b in zip(starts.tolist(), [*starts[1:].tolist(), CELLS], strict=True):
            if column[a] != 0:
                out.append((edges[i, 0], edges[a, 1], edges[i + 1, 0], edges[b, 1], column[a]))
    return np.array(out).reshape(-1, 5)


def _runs(view: Pareto, problem: str, optimizer: str) -> list[Floats]:
    """The minimised front of every trial, also where it is empty."""
    assert view.studies is not None
    every = view.studies
    mine = np.flatnonzero(every.problem == every.problems.index(problem)).tolist()
    mine = [i for i in mine if every.optimizers[every.optimizer[i]] == optimizer]
    return [every.points(i, every.final[i]) for i in mine]


def indicators(view: Pareto) -> pl.DataFrame:
    """Every indicator: `part` is 0 for the best on the problem and 1 for the worst; null where no front has a
    hypervolume, which makes nobody the best."""
    kept = list(TITLES)
    table = view.problem.filter(pl.col("indicator").is_in(kept), pl.col("mean").is_finite())
    loss = pl.when(pl.col("indicator").is_in(GREATER)).then(-pl.col("mean")).otherwise("mean")
    table = table.with_columns(loss=loss)
    keys = ["problem", "indicator"]
    least, most = pl.col("loss").min().over(keys), pl.col("loss").max().over(keys)
    order = natural(view.problems)
    return table.select(
        "optimizer",
        name="problem",
        panel=pl.col("indicator").replace_strict(TITLES),
        place=pl.col("indicator").replace_strict(kept, list(range(len(kept))), return_dtype=pl.Int64),
        value="mean",
        lower="mean_lb",
        upper="mean_ub",
        part=pl.when(most > least)
        .then((pl.col("loss") - least) / (most - least))
        .when(~pl.col("indicator").is_in(GREATER) | (most < 0))
        .then(0.0),
        n="n",
    ).sort("place", pl.col("name").cast(pl.Enum(order)), "optimizer")
