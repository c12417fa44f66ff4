"""The section of the pareto view: who has the best fronts, fronts themselves, attainment, every indicator."""

from __future__ import annotations

import polars as pl

from optarena._numbers import counted, fixed, interval, significant
from optarena.report.boards.pareto import board
from optarena.report.figures.pareto import PANELS
from optarena.report.material import Material
from optarena.report.sections._section import Content, add_figure, notes_of, so_far
from optarena.report.tables import Column, Table
from optarena.views.pareto import Pareto


def has_fronts(material: Material) -> str:
    """Why a store has no such section; '-' where every study has one objective, so that nobody asks for it."""
    begun = material.results.studies.filter(pl.col("status") != "missing")
    return material.why_no("pareto") if begun["sense"].is_null().any() else "-"


def pareto_section(material: Material) -> Content:
    view: Pareto = material.must("pareto")
    out = Content()
    out.words = [*so_far(material), *_words(view, material.running), *notes_of(view, "optarena score --view pareto")]
    if len(view.problems) > PANELS:
        out.words.append(f"Fronts and curves of {PANELS} problems are drawn: optarena figure has others.")
    comment = [f"fronts at the end, frame {view.frame['hash']}"]
    fronts = board(view).so_far() if material.running else board(view)
    out.blocks.append(fronts.table("fronts-board", "Fronts at the end", comment=comment))
    for name in ("hypervolume", "fronts", "attainment", "attainment-difference", "indicators"):
        add_figure(material, name, out)
    out.blocks.append(_references(view))
    return out


def _words(view: Pareto, running: bool) -> list[str]:
    found = view.leaderboard()
    if not found.height or not found["mean"][0]:
        return ["No front has a hypervolume."]
    first = found.row(0, named=True)
    when = "so far" if running else "at the end"
    ends = "" if running else f" {interval(first['mean_lb'], first['mean_ub'])}"
    text = (
        f"On {counted(first['n'], 'problem')} {first['optimizer']} has the largest hypervolume {when}, "
        f"{fixed(first['mean'], 4)}{ends} of the reference set's, and is the best on {first['best_on']}."
    )
    return [text, "A ranking by spread alone means nothing: look at hypervolume and IGD+."]


def _references(view: Pareto) -> Table:
    rows = []
    for name, one in view.frame["problems"].items():
        if name in view.frame["hypervolume"]:
            senses = ", ".join(f"{a} {b}" for a, b in zip(one["senses"], one["objectives"], strict=True))
            texts = [", ".join(map(significant, one[key])) for key in ("ideal", "nadir", "reference_point")]
            counts = (len(one["reference_set"]), one["dominated"])
            volume = view.frame["hypervolume"][name]
            rows.append([name, senses, one["source"], *counts, *texts, one["bounds"], volume])
    columns = [
        Column("problem"),
        Column("objectives"),
        Column("reference set"),
        Column("points", "number"),
        Column("dominated", "number", None, "of the reference set; indicators are computed without them"),
        Column("ideal"),
        Column("nadir"),
        Column("reference point"),
        Column("ideal and nadir"),
        Column("hypervolume", "number", 4, "of the reference set"),
    ]
    return Table("references", "What fronts are measured against", columns, rows)
