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

from optarena.dataset import Dataset
from optarena.errors import OptarenaError, nearest
from optarena.report.figures import anytime, comparison, fixed_cost, fixed_target, pareto, runs
from optarena.report.figures._figure import Figure, Options, Shown, is_log
from optarena.report.material import Material, framed
from optarena.views._view import View

__all__ = ["FIGURES", "Figure", "Options", "Shown", "figure", "figure_of_view", "figure_tables", "is_log"]

FIGURES: dict[str, Figure] = {
    one.name: one
    for one in (
        *fixed_cost.FIGURES,
        *comparison.FIGURES,
        *fixed_target.FIGURES,
        *pareto.FIGURES,
        *anytime.FIGURES,
        *runs.FIGURES,
    )
}


def figures_of_view(name: str) -> tuple[str, ...]:
    """The names of a view's figures, the most telling first."""
    return tuple(one.name for one in FIGURES.values() if one.view == name)


def figure(name: str, results: Dataset | Material, **options: Any) -> Any:
    """An Altair chart by its name; `FIGURES` lists them, with the options that each takes."""
    from optarena.report.drawing._style import Look, finished, legend_columns

    material, asked, parts = _parts(name, results, options)

    def look(table: pl.DataFrame) -> Look:
        present = tuple(sorted(table["optimizer"].unique().to_list()))
        return Look(material.colours, asked.width, asked.height, present)

    charts = [one.draw(one.table, look(one.table if one.legend is None else one.legend)) for one in parts]
    chart = _arranged(charts, FIGURES[name].arrange)
    if parts[0].head:
        chart = _titled(chart, parts[0].head)
    note = "" if parts[0].view is None else framed(parts[0].view)
    return finished(chart, legend_columns(look(material.results.studies), asked.width or 480), note)


def figure_tables(name: str, results: Dataset | Material, **options: Any) -> dict[str, pl.DataFrame]:
    """The tables that a figure draws, by name: most figures have one, some have one per panel."""
    return {one.name: one.table for one in _parts(name, results, options)[2]}


def _parts(name: str, results: Dataset | Material, options: dict[str, Any]) -> tuple[Material, Options, list[Shown]]:
    """The parts of a figure of its own; where there is nothing to draw, the sentence that says why."""
    if name not in FIGURES:
        raise OptarenaError(f"no figure {name!r}.{nearest(name, FIGURES)} (optarena figure --list shows all)")
    known, asked = FIGURES[name], Options(**options)
    if asked.statistic not in ("median", "mean"):
        raise OptarenaError(f"statistic must be median or mean; got {asked.statistic!r}")
    for option in ("axis", "metric"):
        if getattr(asked, option) is not None and option not in known.options:
            raise OptarenaError(f"the figure {name} has no {option} to choose")
    if asked.statistic != "median" and "statistic" not in known.options:
        raise OptarenaError(f"the figure {name} has no statistic to choose")
    material = results if isinstance(results, Material) else Material(results)
    if not material.results.studies.height:
        raise OptarenaError(f"store {material.results.path} is empty: there is nothing to draw")
    parts = known.make(material, asked)
    there = [one for one in parts if not one.empty]
    if not there:
        raise OptarenaError(parts[0].empty)
    return material, asked, there


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


def _arranged(charts: list[Any], way: str) -> Any:
    import altair as alt

    if way == "panels":
        columns = min(3, math.ceil(math.sqrt(len(charts))))
        return alt.concat(*charts, columns=columns, spacing=28).resolve_scale(color="shared")
    if len(charts) == 1:
        return charts[0]
    return alt.hconcat(*charts, spacing=30) if way == "beside" else alt.vconcat(*charts)


def _titled(chart: Any, text: str) -> Any:
    import altair as alt

    return chart.properties(title=alt.Title(text, fontWeight="normal", fontSize=12))
