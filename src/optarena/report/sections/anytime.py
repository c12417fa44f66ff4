"""The section of the anytime view: who finds good solutions early, who finishes best."""

from __future__ import annotations

from typing import Any

import polars as pl

from optarena._numbers import counted, fixed, interval
from optarena.report.boards.anytime import board, contradictions, virtual
from optarena.report.material import Material
from optarena.report.sections._section import Content, add_figure, notes_of, so_far
from optarena.report.tables import Column, Table
from optarena.views.anytime import Anytime

ALL_OF_THEM = 1000
"""Contradictions that the page lists at most."""


def worth_showing(material: Material) -> str:
    """Why a store has no such section; '-' where its runs were not bounded by time, so that nobody asks for it."""
    if not material.results.studies["budget_seconds"].is_not_null().any():
        return "-"
    return material.why_no("anytime")


def anytime_section(material: Material) -> Content:
    view: Anytime = material.must("anytime")
    out = Content()
    out.words = [*so_far(material), *_words(view, material.running), *notes_of(view, "optarena score --view anytime")]
    comment = [f"anytime by {view.frame['axis']}, {view.frame['horizon']}"]
    comment.append(f"frame {view.frame['hash']}, mode {view.mode}")
    configurations = board(view).so_far() if material.running else board(view)
    out.blocks.append(configurations.table("anytime", "Configurations", comment=comment))
    if view.original is not None:
        for name in ("boxes", "objective"):
            add_figure(material, name, out)
        return out
    if view.table("contradictions").height:
        claims = contradictions(view, ALL_OF_THEM)
        out.blocks.append(claims.table("anytime-claims", "Claims that cannot both be true", comment=comment))
    for name in ("curves", "area", "objective", "boxes", "gap", "cactus"):
        add_figure(material, name, out)
    if view.summary.height > 1:
        out.blocks.append(
            virtual(view).table("virtual-best", "Contributions to the virtual best solver", comment=comment)
        )
    out.blocks.append(_instances(view))
    return out


def _words(view: Anytime, running: bool) -> list[str]:
    if view.original is not None:
        return ["The numbers of aries-bench itself."]
    table = view.summary.filter(pl.col("area_score").is_not_null())
    if not table.height:
        return ["No optimizer found a solution."]
    early = table.row(0, named=True)
    late = table.sort("objective_score", nulls_last=True).row(0, named=True)
    unit = view.frame["axis"]
    ends = "" if running else f" {interval(early['area_score_lb'], early['area_score_ub'])}"
    first = f"Over {counted(early['n'], 'instance')} the least area under the curve"
    text = (
        f"{first} {'so far ' if running else ''}is that of {early['optimizer']} ({fixed(early['area_score'], 3)}{ends})"
    )
    end = fixed(late["objective_score"], 3)
    if late["optimizer"] == early["optimizer"]:
        return [f"{text}, which also ends best (objective score {end}). Effort: {unit}."]
    return [f"{text}; {late['optimizer']} ends best (objective score {end}). Effort: {unit}."]


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
                *(row["problem"], row["optimizer"], row["best"], row["area_score"], row["objective_score"]),
                *(row["primal_gap"], row["primal_integral"], row["status"], bounds[row["problem"]]["worst_of"]),
            ]
        )
    columns = [
        Column("instance", "problem"),
        Column("optimizer", "optimizer"),
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
