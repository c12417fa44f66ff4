"""Every figure by its name: its table, drawing, title, caption and alternative text are declared once.

`optarena figure`, views in notebooks and the page take them from here.

>>> chart = optarena.open("results").fixed_cost().figure()            # doctest: +SKIP
>>> figure("convergence", results, axis="seconds").save("fig.pdf")    # doctest: +SKIP
>>> figure_tables("ecdf", results)["ecdf"]                            # doctest: +SKIP
"""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from optarena._memory import no_collection
from optarena.dataset import Dataset
from optarena.errors import OptarenaError, nearest
from optarena.report.drawing import _vega as vl
from optarena.report.figures._figure import Figure, Options, Shown, is_log
from optarena.report.material import Material, framed
from optarena.views._options import OPTIONS, dashed, view_named
from optarena.views._view import View

__all__ = ["FIGURES", "Figure", "Options", "Shown", "chart", "figure", "figure_of_view", "figure_tables", "is_log"]

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
        Figure("ecdf", "ECDFs of runtimes with restarts and of precision; the reference behind", "fixed-target"),
        Figure(
            "cuts", "every run on one problem, cut at an effort and at a target: two ways to measure", "fixed-target"
        ),
        Figure("transition", "runs that reach 10, 0.1, 1e-4, 1e-8; beside it, how far the others are", "fixed-target"),
        Figure("ecdf-groups", "ECDFs of runtimes, one panel per group of functions and dimension", "fixed-target"),
        Figure("ert", "expected running times against the target, one panel per function", "fixed-target"),
        Figure(
            "ert-dimension",
            "expected running times against the dimension, one panel per function",
            "fixed-target",
        ),
        Figure("profiles", "performance and data profiles", "fixed-target"),
        Figure("loss", "expected running times relative to the reference's", "fixed-target"),
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
    from optarena.report.drawing._altair import altair_chart

    return altair_chart(chart(name, results, **options))


@no_collection()
def chart(name: str, results: Dataset | Material, **options: Any) -> vl.Chart:
    """The same without Altair, which takes long to import: what a file or a page is made from."""
    from optarena.report.drawing._style import Look, finished, legend_columns

    material, asked, parts = _parts(name, results, options)

    def look(table: pl.DataFrame) -> Look:
        present = tuple(sorted(table["optimizer"].unique().to_list()))
        return Look(material.colours, asked.width, asked.height, present)

    note = "" if parts[0].view is None else framed(parts[0].view)
    charts = [one.draw(one.table, look(one.table if one.legend is None else one.legend)) for one in parts]
    drawn = _arranged(charts, FIGURES[name].arrange)
    if parts[0].head:
        drawn = drawn.having(title=vl.title(parts[0].head, fontWeight="normal", fontSize=12))
    return finished(drawn, legend_columns(look(material.results.studies), asked.width or 480), note)


def figure_tables(name: str, results: Dataset | Material, **options: Any) -> dict[str, pl.DataFrame]:
    """The tables that a figure draws, by name: most figures have one, some have one per panel."""
    return {one.name: one.table for one in _parts(name, results, options)[2]}


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
    return Material(results, {name: given})


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
