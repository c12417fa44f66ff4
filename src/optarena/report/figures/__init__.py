"""Every figure by its name: its table, drawing, title, caption and alternative text are declared once.

`optarena figure`, views in notebooks and the page take them from here.

>>> chart = optarena.open("results").fixed_cost().figure()            # doctest: +SKIP
>>> figure("convergence", results, axis="seconds").save("fig.pdf")    # doctest: +SKIP
>>> figure_tables("ecdf", results)["ecdf"]                            # doctest: +SKIP
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from optarena._memory import no_collection
from optarena._text import visible
from optarena.dataset import Dataset
from optarena.errors import OptarenaError, nearest, one_of
from optarena.report.drawing import _vega as vl
from optarena.report.figures._figure import Figure, Options, Shown, in_sheets, is_log
from optarena.report.library import altair
from optarena.report.material import Material, framed
from optarena.report.svg import PAPERS, fitted
from optarena.views._options import OPTIONS, dashed, view_named
from optarena.views._view import View

__all__ = [
    "FIGURES",
    "Figure",
    "Options",
    "Sheet",
    "Shown",
    "chart",
    "figure",
    "figure_of_view",
    "figure_tables",
    "is_log",
    "sheets",
]

COMPARISON = "comparison"

FIGURES: dict[str, Figure] = {
    one.name: one
    for one in (
        Figure(
            "normalised",
            "the normalised score over iterations, with 95 % bands",
            "fixed-cost",
            ("metric",),
        ),
        Figure("median", "Bayesmark's median score over iterations, with 95 % bands", "fixed-cost", ("metric",)),
        Figure("mean", "Bayesmark's mean score over iterations, with 95 % bands", "fixed-cost", ("metric",)),
        Figure("final", "the normalised score at the end, with 95 % intervals", "fixed-cost", ("metric",)),
        Figure("heatmap", "the normalised score at the end on every problem", "fixed-cost", ("metric",)),
        Figure(
            "critical-difference",
            "average ranks, with bars that join optimizers that no test separates",
            COMPARISON,
        ),
        Figure("pairwise", "the probability that one optimizer does better than another, all pairs", COMPARISON),
        Figure("effects", "the same with 95 % intervals, one row per pair", COMPARISON),
        Figure("scott-knott", "medians and quartiles of the scores, in Scott-Knott groups", COMPARISON),
        Figure(
            "ecdf",
            "ECDFs of runtimes with restarts over all functions, one panel per dimension",
            "fixed-target",
            ("background", "bands"),
        ),
        Figure(
            "ecdf-groups",
            "the same, one panel per group of functions and dimension",
            "fixed-target",
            ("background",),
        ),
        Figure("ecdf-functions", "the same, one panel per function", "fixed-target", ("background",)),
        Figure("precision", "how precise runs are at their end and before, one panel per dimension", "fixed-target"),
        Figure(
            "run-lengths",
            "each optimizer: runs that reach 10, 0.1, 1e-4, 1e-8, and beyond",
            "fixed-target",
            ("background",),
        ),
        Figure(
            "transition",
            "all optimizers: runs that reach 10, 0.1, 1e-4, 1e-8, and how far the others are",
            "fixed-target",
        ),
        Figure(
            "cuts", "every run on one problem, cut at an effort and at a target: two ways to measure", "fixed-target"
        ),
        Figure("ert", "expected running times against the target, one panel per function", "fixed-target"),
        Figure(
            "ert-dimension",
            "expected running times against the dimension to one target, one panel per function",
            "fixed-target",
        ),
        Figure("scaling", "each optimizer: expected running times against the dimension, many targets", "fixed-target"),
        Figure("scatter", "expected running times of two optimizers, all functions and targets", "fixed-target"),
        Figure("scatter-functions", "the same, one panel per function", "fixed-target"),
        Figure("loss", "expected running times relative to the reference's", "fixed-target"),
        Figure("loss-budget", "the same over budgets, one panel per dimension", "fixed-target", (), "below"),
        Figure("contributions", "what each optimizer gives the best of the store", "fixed-target"),
        Figure("profiles", "performance and data profiles", "fixed-target"),
        Figure(
            "fronts",
            "fronts of typical trials with the reference set, one panel per problem",
            "pareto",
            arrange="below",
        ),
        Figure("hypervolume", "the hypervolume of fronts over effort, with 95 % bands", "pareto"),
        Figure("attainment", "attainment surfaces of two objectives, one panel per problem", "pareto"),
        Figure(
            "attainment-difference",
            "where one optimizer attains more often than the next, one panel per problem",
            "pareto",
        ),
        Figure("indicators", "every indicator of fronts on every problem", "pareto"),
        Figure(
            "curves",
            "the best value so far of each optimizer in its box, one panel per instance",
            "anytime",
            arrange="panels",
        ),
        Figure("area", "the area score of each optimizer on every instance", "anytime"),
        Figure("objective", "the objective score of each optimizer on every instance", "anytime"),
        Figure("boxes", "objective and area scores of all runs: medians, quartiles, every run", "anytime"),
        Figure("gap", "the mean primal gap over effort, both logarithmic", "anytime"),
        Figure("cactus", "how many instances each optimizer has solved by when", "anytime"),
        Figure(
            "convergence",
            "the best value so far, one panel per problem",
            "",
            ("axis", "statistic"),
            "panels",
        ),
        Figure(
            "parallel",
            "the parameters of the best point of every trial, one panel per problem",
            "",
            arrange="panels",
        ),
        Figure("time", "seconds per evaluation: suggesting, evaluating, observing", ""),
        Figure("failures", "failed evaluations by kind", ""),
        Figure("progress", "how many studies of each optimizer have ended on each problem", ""),
    )
}


def figures_of_view(name: str) -> tuple[str, ...]:
    """The names of a view's figures, the most telling first."""
    return tuple(one.name for one in FIGURES.values() if one.view == name)


def figure(name: str, results: Dataset | Material, **options: Any) -> Any:
    """An Altair chart by its name; `FIGURES` lists them, with the options that each takes."""
    altair()
    from optarena.report.drawing._altair import altair_chart

    return altair_chart(chart(name, results, **options))


def chart(name: str, results: Dataset | Material, *, sheet: int = 1, **options: Any) -> vl.Chart:
    """The same without Altair, which takes long to import: what a file or a page is made from."""
    found = sheets(name, results, **options)
    if not 0 < sheet <= len(found):
        raise OptarenaError(f"the figure {name} has {len(found)} sheet{'s' * (len(found) > 1)}; got sheet {sheet}")
    return found[sheet - 1].chart


@no_collection()
def sheets(name: str, results: Dataset | Material, *, paper: str | None = None, **options: Any) -> list[Sheet]:
    """A figure with many panels has several sheets. paper: `column` or `page`, the width that each fills."""
    if paper is not None:
        one_of("paper", paper, PAPERS)
    material, asked, parts = _parts(name, results, options)
    found = in_sheets(parts, FIGURES[name].arrange)
    out: list[Sheet] = []
    for i, (shown, mine) in enumerate(found.items()):
        named = shown if len(found) > 1 else ""
        guess = out[-1].panel if out else None
        out.append(_sheet(FIGURES[name], material, asked, mine, named, (i + 1, len(found)), paper, guess))
    return out


@dataclass(frozen=True)
class Sheet:
    """A chart, what it shows of a figure that has several, and its caption.

    `svg`, `panel`: how it was drawn for a paper, and the width of its panels.
    """

    chart: vl.Chart
    svg: str
    panel: int | None
    name: str
    caption: str


def _sheet(
    known: Figure,
    material: Material,
    asked: Options,
    parts: list[Shown],
    shown: str,
    number: tuple[int, int],
    paper: str | None,
    guess: int | None,
) -> Sheet:
    """Drawn as wide as asked, or so wide that it fills a column or a page. guess: how wide panels may be then."""
    from optarena.report.drawing._style import Look, finished, font_of, legend_columns

    note = "" if parts[0].view is None else framed(parts[0].view)
    shown, head = visible(shown), visible(parts[0].head)
    if number[1] > 1:
        head = ", ".join(part for part in (f"{shown} (sheet {number[0]} of {number[1]})", head) if part)

    present = [_present(one, material) for one in parts]

    def drawn(width: int | None) -> vl.Chart:
        looks = [
            Look(material.colours, width, asked.height, names, paper=paper is not None, wide=paper == "page")
            for names in present
        ]
        charts = [one.draw(one.table, look) for one, look in zip(parts, looks, strict=True)]
        whole = _arranged(charts, known.arrange)
        if "title" in whole.spec:  # that of an axis which panels share
            whole = vl.together("hconcat", [whole])
        if head and paper is None:
            whole = whole.having(title=vl.title(head, fontWeight="normal", fontSize=12, font=font_of(head)))
        columns = legend_columns(looks[0], PAPERS[paper] if paper else width or 480)
        return finished(whole, columns, "" if paper else note, paper=paper is not None)

    about = [*dict.fromkeys(part.caption for part in parts), *([f"Here: {shown}."] if shown else [])]
    caption = " ".join([*about, *([f"{note[:1].upper()}{note[1:]}."] if note else [])])
    if paper is None:
        return Sheet(drawn(asked.width), "", None, shown, caption)
    return Sheet(*fitted(drawn, PAPERS[paper], guess), shown, caption)


def _present(one: Shown, material: Material) -> tuple[str, ...]:
    """The optimizers that it shows, ranked."""
    legend = one.table if one.legend is None else one.legend
    there = set(legend["optimizer"].drop_nulls().unique()) if "optimizer" in legend.columns else set()
    ranked = _ranked(one) or material.ranking
    return tuple(name for name in dict.fromkeys([*ranked, *sorted(there)]) if name in there)


def _ranked(one: Shown) -> Sequence[str]:
    """The optimizers from the best to the worst: as the figure says, else as the leaderboard of its view does."""
    leaders = getattr(one.view, "leaderboard", None)
    return one.ranked if one.ranked or leaders is None else leaders()["optimizer"].to_list()


def figure_tables(name: str, results: Dataset | Material, **options: Any) -> dict[str, pl.DataFrame]:
    """The tables that a figure draws on all its sheets, by name: most figures have one, some have one per panel."""
    tables: dict[str, list[pl.DataFrame]] = {}
    for one in _parts(name, results, options)[2]:
        tables.setdefault(one.name, []).append(one.table)
    return {known: pl.concat(parts) for known, parts in tables.items()}


def _parts(name: str, results: Dataset | Material, options: dict[str, Any]) -> tuple[Material, Options, list[Shown]]:
    """The parts of a figure of its own; where there is nothing to draw, the sentence that says why."""
    if name not in FIGURES:
        raise OptarenaError(f"no figure {name!r}.{nearest(name, FIGURES)} (optarena figure --list shows all)")
    known = FIGURES[name]
    given = {option: value for option, value in options.items() if value is not None}
    own = {option: given.pop(option) for option in ("width", "height", "statistic", "page") if option in given}
    asked = Options(**own, **{option: given.pop(option) for option in known.options if option in given})
    if asked.statistic not in ("median", "mean"):
        raise OptarenaError(f"statistic must be median or mean; got {asked.statistic!r}")
    if asked.statistic != "median" and "statistic" not in known.options:
        raise OptarenaError(f"the figure {name} has no statistic to choose")
    material = _material(results, known, given)
    if not material.results.studies.height:
        raise OptarenaError(f"store {material.results.path} is empty: there is nothing to draw")
    parts = known.make(material, asked)
    there = [one for one in parts if not one.empty]
    if not there:
        raise OptarenaError(parts[0].empty)
    return material, asked, there


def _material(results: Dataset | Material, known: Figure, given: dict[str, Any]) -> Material:
    """What the figure draws; given: options of its view, or of the comparison that it draws."""
    if isinstance(results, Material):
        for option in given:
            raise OptarenaError(f"the view is already scored: give {option} to the view, not to its figure")
        return results
    if known.view == COMPARISON:
        return Material(results, comparing=given)
    name = known.view.replace("-", "_")
    if name not in OPTIONS:
        for option in given:
            raise OptarenaError(f"the figure {known.name} has no {option} to choose")
        return Material(results)
    view = given.pop("view", None)
    if view is not None and view_named(view) != name:
        raise OptarenaError(f"the figure {known.name} draws the {known.view} view, not the {dashed(view)} view")
    return Material.fine(results, {name: given})


def figure_of_view(view: View, name: str | None = None, **options: Any) -> Any:
    """A chart of a view as it was scored; the first of its `figures` unless one is named."""
    return figure(*_of_view(view, name), **options)


def tables_of_view(view: View, name: str | None = None, **options: Any) -> dict[str, pl.DataFrame]:
    """The tables that such a chart draws."""
    return figure_tables(*_of_view(view, name), **options)


def _of_view(view: View, name: str | None) -> tuple[str, Material]:
    if not view.figures:
        raise OptarenaError(f"the {view.name} view has no figure of its own (optarena figure --list shows all)")
    chosen = name or view.figures[0]
    if chosen not in view.figures:
        known = ", ".join(view.figures)
        raise OptarenaError(f"no figure {chosen!r}.{nearest(chosen, view.figures)} (the {view.name} view has {known})")
    if view.results is None:
        raise OptarenaError("this view was not made from a store: there is nothing to draw")
    views: Any = {view.name.replace("-", "_"): view}  # drawn as it was scored, not scored again
    return chosen, Material(view.results, **views)


def _arranged(charts: list[vl.Chart], way: str) -> vl.Chart:
    if way == "panels":
        columns = min(3, math.ceil(math.sqrt(len(charts))))
        return vl.together("concat", charts, columns=columns, spacing=28, resolve={"scale": {"color": "shared"}})
    if len(charts) == 1:
        return charts[0]
    return vl.together("hconcat", charts, spacing=30) if way == "beside" else vl.together("vconcat", charts)
