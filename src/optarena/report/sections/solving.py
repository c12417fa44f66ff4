"""The section of the anytime view: who finds good solutions early, who finishes best."""

from __future__ import annotations

from typing import Any

import polars as pl

from optarena._numbers import counted, fixed, interval
from optarena.report.boards.anytime import board
from optarena.report.material import Material
from optarena.report.sections._section import Content, Pair, look_of, spec_of
from optarena.report.tables import Column, Drawing, Table
from optarena.views.anytime import Anytime
from optarena.views.anytime import figure_tables as curves

CURVES = 12
"""Instances whose curves are drawn on the page."""


def worth_showing(material: Material) -> str:
    """Why a store has no such section; '-' where its runs were not bounded by time, so that nobody asks for it."""
    if not material.results.studies["budget_seconds"].is_not_null().any():
        return "-"
    return material.why_no("anytime")


def anytime_section(material: Material) -> Content:
    view: Anytime = material.must("anytime")
    out = Content()
    out.words = [*_words(view), *(f"{note[:1].upper()}{note[1:]}." for note in view.notes[:8])]
    if len(view.notes) > 8:
        out.words.append(f"And {len(view.notes) - 8} more notes: optarena score --view anytime --format json has all.")
    comment = [f"anytime by {view.frame['axis']}, {view.frame['horizon']}"]
    comment.append(f"frame {view.frame['hash']}, mode {view.mode}")
    out.blocks.append(board(view).table("anytime", "Configurations", comment=comment))
    _figures(material, view, out)
    out.blocks.append(_instances(view))
    return out


def _words(view: Anytime) -> list[str]:
    table = view.summary.filter(pl.col("area_score").is_not_null())
    if not table.height:
        return ["No configuration found a solution."]
    early = table.row(0, named=True)
    late = table.sort("objective_score", nulls_last=True).row(0, named=True)
    unit = view.frame["axis"]
    text = (
        f"Over {counted(early['n'], 'instance')} the least area under the curve is that of {early['configuration']} "
        f"({fixed(early['area_score'], 3)} {interval(early['area_score_lb'], early['area_score_ub'])})"
    )
    end = fixed(late["objective_score"], 3)
    if late["configuration"] == early["configuration"]:
        return [f"{text}, which also ends best (objective score {end}). Effort: {unit}."]
    return [f"{text}; {late['configuration']} ends best (objective score {end}). Effort: {unit}."]


def _figures(material: Material, view: Anytime, out: Content) -> None:
    from optarena.report.figures.solving import area_map, cactus, curve, gap

    look, unit = look_of(material), view.frame["axis"]
    steps = curves.curves(view, curves.solved(view)[:CURVES])
    drawings = []
    for i, problem in enumerate(steps["problem"].unique(maintain_order=True)):
        name = f"curves {problem}"
        out.datasets[name] = steps.filter(pl.col("problem") == problem).drop("place")
        drawings.append(
            Drawing(
                f"curves-{i}",
                f"Curves on {problem}",
                "Steps: the best value so far of a typical trial (that of the median area score). The area between a "
                "step and the best value of all is scored, as a part of the dashed box.",
                f"Step chart of the best value so far by {unit} on {problem}, a line a configuration.",
                spec_of(curve(name, look, effort=unit)),
                name,
                problem=problem,
            )
        )
    for one, *other in (drawings[k : k + 2] for k in range(0, len(drawings), 2)):
        out.blocks.append(Pair((one, other[0])) if other else one)
    left = len(curves.solved(view)) - len(drawings)
    if left > 0:
        out.words.append(f"Curves of {left} more instances: optarena figure curves --problem NAME.")
    out.datasets["area"] = curves.cells(view)
    out.blocks.append(
        Drawing(
            "area",
            "Area score by instance",
            "0: the best value of all at once; 1: no solution, or the worst first value until the end.",
            "Heat map with a row an instance and a column a configuration; the table below has its numbers.",
            spec_of(area_map("area", look)),
            "area",
            by=("problem",),
            widest=90 * max(3, len(look.colours.names)) + 260,
        )
    )
    whole = "Of all instances: filters by problem do not change it."
    gaps = curves.gaps(view)
    if gaps.height:
        out.datasets["gaps"] = gaps
        text = f"Mean primal gap over instances by effort, with its 95 % band. {whole}"
        alt = "Line chart of the mean primal gap, a line a configuration."
        spec = spec_of(gap("gaps", look, effort=curves.effort_of_gaps(view)))
        out.blocks.append(Drawing("gaps", "Gap over effort", text, alt, spec, "gaps"))
    out.datasets["cactus"] = curves.cactus(view)
    text = f"How many instances were solved by when. {whole}"
    alt = "Step chart of the number of instances solved, a line a configuration."
    out.blocks.append(
        Drawing("cactus", "Instances solved", text, alt, spec_of(cactus("cactus", look, effort=unit)), "cactus")
    )


def _instances(view: Anytime) -> Table:
    least = view.instance.group_by("problem").agg(least=pl.col("area_score").min())
    table = view.instance.join(least, on="problem", how="left", maintain_order="left")
    bounds = {row["problem"]: row for row in view.table("bounds").iter_rows(named=True)}
    rows: list[list[Any]] = []
    bold = set()
    for i, row in enumerate(table.iter_rows(named=True)):
        if row["area_score"] is not None and row["area_score"] == row["least"]:
            bold.add((i, 3))
        rows.append(
            [
                *(row["problem"], row["configuration"], row["best"], row["area_score"], row["objective_score"]),
                *(row["primal_gap"], row["primal_integral"], row["status"], bounds[row["problem"]]["worst_of"]),
            ]
        )
    columns = [
        Column("instance", "problem"),
        Column("configuration", "optimizer"),
        Column("best", "number", None, "the best value that it found"),
        Column("area", "number", 3),
        Column("objective", "number", 3),
        Column("gap", "number", 4),
        Column("primal integral", "number"),
        Column("status", "text", None, "how its runs ended"),
        Column("worst first value by", "text", None, "who set the upper end of the box"),
    ]
    comment = [f"anytime by {view.frame['axis']}", f"frame {view.frame['hash']}, mode {view.mode}"]
    return Table("anytime-instances", "Instance by instance", columns, rows, bold=bold, comment=comment)
