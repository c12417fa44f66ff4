"""The section of problems: the curves and best points of each, drawn when it is opened."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import polars as pl

from optarena.dataset.facts import different_cards
from optarena.dataset.tables import ends
from optarena.errors import NotInstalled, OptarenaError
from optarena.report.figures import is_log
from optarena.report.figures.runs import BEST_POINTS, CONVERGENCE, PARALLEL, convergence_words
from optarena.report.material import Material
from optarena.report.scales import FLOOR, scales_of
from optarena.report.sections._section import Content, look_of, spec_of
from optarena.report.tables import Column, Table, plain
from optarena.views.convergence import POINTS
from optarena.views.importance import importance
from optarena.views.selection import COUNTED

CURVES = 2400
"""Curves on the page, at most; and points of all of them together."""
CURVE_POINTS = 24_000
MOST_OWN, MOST_READ = 3, 200_000
"""Problems of one's own whose parameters are weighed, and evaluations of the store up to which they are."""


def problems_section(material: Material) -> Content:
    """Each problem's convergence and best points; the page makes a part of it when it is opened."""
    from optarena.report.drawing.runs import MEASURES, STATISTICS, convergence, parallel

    out, look = Content(), look_of(material)
    names, shown = material.problems["problem"].to_list(), shown_problems(material)
    if len(shown) < len(names):
        out.words.append(
            f"Curves of {len(shown):,} of {len(names):,} problems are here, so that the page stays small: "
            "optarena report --problem … shows others."
        )
    points = points_of(material)
    axes: dict[str, dict[str, Any]] = {}
    scales: dict[str, dict[str, Any]] = {}
    for axis in _axes(material):
        try:
            table = material.convergence(axis, points)
        except OptarenaError:  # the studies do not share this axis
            continue
        if not table.height:
            continue
        scales = scales or scales_of(table)
        last = float(table["effort"].max() or 0)  # type: ignore[arg-type]
        axes[axis] = {"dataset": f"convergence {axis}", "log": is_log(axis, last), "counted": axis in COUNTED}
        out.datasets[f"convergence {axis}"] = shared(material, table).drop("measure")
    clocks = material.results.clocks
    out.words += [f"{text[0].upper()}{text[1:]}." for text in (clocks.note, clocks.refusal) if text]
    # the page puts each problem's words, the statistic and the kind of the axis of effort in: to draw one takes long
    specs = {
        "log" if log else "linear": spec_of(
            convergence("rows", look, statistic="median", effort="@effort", measure="@measure", log=log, floor=1.0)
        )
        for log in {bool(way["log"]) for way in scales.values()}
    }
    weighed, words = _importance(material)
    out.words += words
    best = material.best_points
    if best.height:
        out.datasets["best points"] = best.filter(pl.col("problem").is_in(shown))
        specs["parallel"] = spec_of(parallel("rows", look))
    out.blocks.append(
        {
            "kind": "problems",
            "axes": axes,
            # the mean has an interval, which does not hold while a run goes on
            "statistics": {k: fields[:3] for k, fields in STATISTICS.items() if k == "median" or not material.running},
            "titles": {"convergence": CONVERGENCE, "parallel": BEST_POINTS},
            "words": _words(scales, axes),
            "measures": MEASURES,
            "scales": {plain(name): way for name, way in scales.items()},
            "specs": specs,
            "floor": FLOOR,
            "shown": [plain(name) for name in shown],
            "parallel": "best points" if best.height else None,
            "table": _ends(material).to_data(),
            "absent": _without(material),
        }
    )
    out.blocks += [weighed] if weighed is not None else []
    return out


def _importance(material: Material) -> tuple[Table | None, list[str]]:
    """Which parameters matter on problems of one's own, and where nobody can know (docs/scores.md 7)."""
    results = material.results
    own = dict.fromkeys(
        card.id
        for card in different_cards(results)
        if not card.imported and len(card.space) > 1 and len(card.objectives) == 1 and not card.suite
    )
    if not own or results.studies["evaluations"].sum() > MOST_READ:
        return None, []
    rows: list[list[Any]] = []
    words = []
    for name in list(own)[:MOST_OWN]:
        try:
            found = importance(results, name)
        except NotInstalled as error:
            return None, [f"{str(error)[0].upper()}{str(error)[1:]}."]
        rows += [[name, *row] for row in found.table.iter_rows()]
        if found.note:
            words.append(f"It is unknown which parameters of {name} matter: {found.note}.")
    columns = [
        Column("problem", "problem"),
        Column("parameter"),
        Column("importance", "number", 2, "share of what all parameters explain, by shuffling each in turn"),
        Column("spread", "number", 2, "standard deviation over shufflings"),
    ]
    note = "About where the optimizers looked: mostly where values are good."
    return Table("importance", "Which parameters matter", columns, rows, note=note) if rows else None, words


def _words(scales: dict[str, dict[str, Any]], axes: Collection[str]) -> dict[str, Any]:
    """Caption and alternative text of `parallel` and of every kind of curve, by axis and statistic."""
    from optarena.report.drawing.runs import STATISTICS

    kinds = dict.fromkeys((way["measure"], bool(way["log"])) for way in scales.values())
    curves = {
        f"{measure} {'log' if log else 'linear'}": {
            axis: {name: convergence_words(measure, name, axis, log=log) for name in STATISTICS} for axis in axes
        }
        for measure, log in kinds
    }
    return {"convergence": curves, "parallel": PARALLEL}


def shown_problems(material: Material) -> list[str]:
    """The problems whose curves the page holds: all, unless there are very many."""
    names = material.problems["problem"].to_list()
    most = max(1, CURVES // max(1, len(material.colours.names)))
    return names[:most]


def points_of(material: Material) -> int:
    """How many points a curve has, so that all together stay few."""
    return max(12, min(POINTS, CURVE_POINTS // max(1, material.progress.height)))


def shared(material: Material, table: pl.DataFrame) -> pl.DataFrame:
    """The part of the curves that the page holds."""
    return table.filter(pl.col("problem").is_in(shown_problems(material)))


def _axes(material: Material) -> list[str]:
    one_by_one = (material.results.studies["batch"].drop_nulls() <= 1).all()
    return [axis for axis in material.results.axes if axis != "batches" or not one_by_one]


def _without(material: Material) -> dict[str, str]:
    """Why a problem has no best value, where it has none."""
    table = material.results.studies.group_by("problem").agg(
        one=pl.col("sense").is_not_null().any(), begun=(pl.col("evaluations") > 0).any()
    )
    return {
        plain(name): "no study of it has made an evaluation" if not begun else "it has several objectives: see Pareto"
        for name, one, begun in table.sort("problem").iter_rows()
        if not (one and begun)
    }


def _ends(material: Material) -> Table:
    """What every optimizer found on every problem, from the studies themselves."""
    table = ends(material.results)
    rows = [
        [
            row["problem"],
            row["optimizer"],
            row["median"],
            (row["q1"], row["q3"]),
            row["best"],
            row["n"],
            row["evaluations"],
            row["failures"],
        ]
        for row in table.iter_rows(named=True)
    ]
    columns = [
        Column("problem", "problem"),
        Column("optimizer", "optimizer"),
        Column("median", "number", None, "over trials, of the best value found, in the problem's own sense"),
        Column("quartiles", "interval"),
        Column("best", "number"),
        Column("trials", "number", 0),
        Column("evaluations", "number", 0, "median over trials"),
        Column("failed evaluations", "number", 0),
    ]
    return Table("ends", "What was found", columns, rows)
