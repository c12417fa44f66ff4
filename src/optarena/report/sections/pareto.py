"""The section of the pareto view: who has the best fronts, fronts themselves, attainment, every indicator."""

from __future__ import annotations

import polars as pl

from optarena._numbers import counted, fixed, interval, significant
from optarena.report.boards.pareto import board
from optarena.report.figures import is_log
from optarena.report.material import Material
from optarena.report.sections._section import Content, look_of, spec_of
from optarena.report.tables import Column, Drawing, Table
from optarena.views.pareto import Pareto
from optarena.views.pareto import figure_tables as fronts

PANELS = 9
"""Problems whose fronts and curves are drawn on the page."""
FILTERS = "Filters by problem and dimension do not change it."


def has_fronts(material: Material) -> str:
    """Why a store has no such section; '-' where every study has one objective, so that nobody asks for it."""
    begun = material.results.studies.filter(pl.col("status") != "missing")
    return material.why_no("pareto") if begun["sense"].is_null().any() else "-"


def pareto_section(material: Material) -> Content:
    view: Pareto = material.must("pareto")
    out = Content()
    out.words = [*_words(view), *(f"{note[:1].upper()}{note[1:]}." for note in view.notes[:8])]
    if len(view.notes) > 8:
        out.words.append(f"And {len(view.notes) - 8} more notes: optarena score --view pareto --format json has all.")
    if len(view.problems) > PANELS:
        out.words.append(f"Fronts and curves of {PANELS} problems are drawn: optarena figure has others.")
    comment = [f"fronts at the end, frame {view.frame['hash']}"]
    out.blocks.append(board(view).table("fronts-board", "Fronts at the end", comment=comment))
    _curves(material, view, out)
    _fronts(material, view, out)
    _attainment(material, view, out)
    _indicators(material, view, out)
    out.blocks.append(_references(view))
    return out


def _words(view: Pareto) -> list[str]:
    found = view.leaderboard()
    if not found.height or not found["mean"][0]:
        return ["No front has a hypervolume."]
    first = found.row(0, named=True)
    text = (
        f"On {counted(first['n'], 'problem')} {first['optimizer']} has the largest hypervolume at the end, "
        f"{fixed(first['mean'], 4)} {interval(first['mean_lb'], first['mean_ub'])} of the reference set's, and is the "
        f"best on {first['best_on']}."
    )
    return [text, "A ranking by spread alone means nothing: look at hypervolume and IGD+."]


def _curves(material: Material, view: Pareto, out: Content) -> None:
    from optarena.report.figures.pareto import hypervolume

    table = fronts.hypervolume(view, fronts.problems(view, range(2, 1000))[:PANELS])
    if not table.height:
        return
    axis = view.frame["axis"]
    log = is_log(axis, float(table["effort"].max() or 0))  # type: ignore[arg-type]
    out.datasets["hypervolume"] = table
    out.blocks.append(
        Drawing(
            "hypervolume",
            "Hypervolume over effort",
            f"Mean hypervolume of the front so far, as a part of the reference set's, with 95 % bands. {FILTERS}",
            f"Line charts of the hypervolume by {axis}, a line an optimizer; the table above has the ends.",
            spec_of(hypervolume("hypervolume", look_of(material), effort=axis, log=log)),
            "hypervolume",
        )
    )


def _fronts(material: Material, view: Pareto, out: Content) -> None:
    from optarena.report.figures.pareto import fronts as draw
    from optarena.report.figures.pareto import parallel

    few = fronts.problems(view, range(2, 4))[:PANELS]
    table = fronts.fronts(view, few)
    if table.height:
        out.datasets["fronts"] = table
        out.blocks.append(
            Drawing(
                "fronts",
                "Fronts",
                "The front of each optimizer's trial with the median hypervolume; pale, behind: the reference set. "
                f"{FILTERS}",
                "Scatter plots of fronts, a panel a problem and pair of objectives.",
                spec_of(draw("fronts", look_of(material))),
                "fronts",
            )
        )
    many = fronts.problems(view, range(4, 1000))[:PANELS]
    table = fronts.parallel(view, many)
    if table.height:
        out.datasets["many objectives"] = table
        out.blocks.append(
            Drawing(
                "fronts-parallel",
                "Fronts of many objectives",
                f"A line a point of the front, an axis an objective; 0 is the ideal, 1 the nadir. {FILTERS}",
                "Parallel coordinates of fronts, a panel a problem.",
                spec_of(parallel("many objectives", look_of(material))),
                "many objectives",
            )
        )


def _attainment(material: Material, view: Pareto, out: Content) -> None:
    from optarena.report.figures.pareto import attainment, attainment_difference

    names = fronts.problems(view, range(2, 3))[:PANELS]
    table = fronts.attainment(view, names)
    if not table.height:
        return
    out.datasets["attainment"] = table
    out.blocks.append(
        Drawing(
            "attainment",
            "Attainment surfaces",
            f"What half of the runs attain (thick), the best run (thin) and all runs (dashed). {FILTERS}",
            "Line charts of attainment surfaces, a panel a problem.",
            spec_of(attainment("attainment", look_of(material))),
            "attainment",
        )
    )
    table = fronts.attainment_differences(view, names)
    if table.height:
        out.datasets["attainment differences"] = table
        out.blocks.append(
            Drawing(
                "attainment-difference",
                "Differences of attainment",
                "Where the best optimizer of a problem attains more often than the next (blue), and where less (red). "
                f"{FILTERS}",
                "Maps of the difference of the part of runs that attain a place, a panel a problem.",
                spec_of(attainment_difference("attainment differences", look_of(material))),
                "attainment differences",
            )
        )


def _indicators(material: Material, view: Pareto, out: Content) -> None:
    from optarena.report.figures.pareto import indicators

    table = fronts.indicators(view)
    if table.height:
        out.datasets["indicators"] = table
        out.blocks.append(
            Drawing(
                "indicators",
                "Every indicator on every problem",
                f"Means over trials at the end. Bright: the best of the problem, dark: the worst. {FILTERS}",
                "Heat maps of indicators, a row a problem, a column an optimizer.",
                spec_of(indicators("indicators", look_of(material))),
                "indicators",
            )
        )


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
