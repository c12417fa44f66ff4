"""The figures of the pareto view."""

from __future__ import annotations

from functools import partial

from optarena.errors import OptarenaError
from optarena.report.figures._figure import Options, Shown, few, is_log, last_effort
from optarena.report.material import Material
from optarena.views.pareto import Pareto
from optarena.views.pareto import figure_tables as tables

PANELS = 9
"""Problems whose fronts and curves are drawn on the page."""
STILL = "Filters by problem and dimension do not change it."
NO_FRONT = "no study found a feasible point: there is no front to draw"


OUTSIDE = (
    "A panel reaches three times as far from the ideal as a typical point, or to twice the distance of the nadir;"
    " what lies outside is not drawn."
)


def _flat(view: Pareto) -> str:
    """What a caption says where no front of a problem has any hypervolume."""
    names = view.flat_problems
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f" On {names[0]}{more} no front has any hypervolume: IGD+ ranks them." if names else ""


def _head(view: Pareto) -> str:
    return "; by IGD+ where no front has a hypervolume" if view.flat_problems else ""


def _view(material: Material) -> Pareto:
    view: Pareto = material.must("pareto")
    return view


def fronts(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing.pareto import FARTHEST, fronts, parallel

    view = _view(material)
    two, many = tables.problems(view, range(2, 4)), tables.problems(view, range(4, 1000))
    if not options.page:
        few([*two, *many], "a front", options, PANELS)
    two, many = (names[:PANELS] if options.page else names for names in (two, many))
    table, lines = tables.fronts(view, two), tables.parallel(view, many)
    if not options.page and not table.height and not lines.height:
        raise OptarenaError(NO_FRONT)
    legend = view.table("studies")
    flat = Shown(
        "fronts",
        table,
        partial(fronts, titles=tables.axis_titles(view, two)),
        "Fronts",
        f"The front of each optimizer's trial with the median hypervolume; pale, behind: the reference set. {OUTSIDE}"
        f"{_flat(view)} {STILL}",
        "Scatter plots of fronts, one panel per problem and pair of objectives.",
        head=f"the front of the trial with the median hypervolume; behind: the reference set{_head(view)}",
        panels="panel",
        empty="" if table.height else NO_FRONT,
        view=view,
        legend=legend,
    )
    wide = Shown(
        "many objectives",
        lines,
        parallel,
        "Fronts of many objectives",
        "One line per point of the front, one axis per objective; 0 is the ideal, 1 the nadir; "
        f"what lies beyond {FARTHEST} is drawn there. {STILL}",
        "Parallel coordinates of fronts, one panel per problem.",
        head=flat.head,
        empty="" if lines.height else NO_FRONT,
        view=view,
        legend=legend,
        id="fronts-parallel",
    )
    return [flat, wide]


def hypervolume(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing.pareto import hypervolume

    view = _view(material)
    names = tables.problems(view, range(2, 1000))
    table = tables.hypervolume(view, names[:PANELS] if options.page else names)
    axis = view.frame["axis"]
    shown = Shown(
        "hypervolume",
        table,
        partial(hypervolume, effort=axis, log=is_log(axis, last_effort(table))),
        "Hypervolume over effort",
        "Mean hypervolume of the front so far, as a part of the reference set's"
        f"{'' if material.running else ', with 95 % bands'}.{_flat(view)} {STILL}",
        f"Line charts of the hypervolume by {axis}, one line per optimizer; the table above has the ends.",
        head="mean hypervolume of the front so far, as a part of the reference set's; bands: 95 %"
        + "; a line at 0: no front has any" * bool(view.flat_problems),
        panels="panel",
        empty="" if table.height or not options.page else NO_FRONT,
        view=view,
    )
    return [shown]


def attainment(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing.pareto import attainment

    view = _view(material)
    names = few(tables.problems(view, range(2, 4)), "two or three objectives", options, PANELS)
    table = tables.attainment(view, names)
    shown = Shown(
        "attainment",
        table,
        partial(attainment, titles=tables.axis_titles(view, names)),
        "Attainment surfaces",
        "What half of the runs attain (thick), the best run (thin) and all runs (dashed). Of three objectives, a panel"
        f" for each two: what is attained in these, whatever the third is. {OUTSIDE} {STILL}",
        "Line charts of attainment surfaces, one panel per problem.",
        head="attained by half of the runs (thick), by the best (thin), by all (dashed)",
        empty="" if table.height else NO_FRONT,
        view=view,
    )
    return [shown]


def attainment_difference(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing.pareto import attainment_difference

    view = _view(material)
    names = few(tables.problems(view, range(2, 3)), "two objectives", options, PANELS)
    table = tables.attainment_differences(view, names)
    empty = "no problem has fronts of two optimizers that differ: there is no difference to draw"
    shown = Shown(
        "attainment differences",
        table,
        partial(attainment_difference, titles=tables.axis_titles(view, names)),
        "Differences of attainment",
        "Where the best optimizer of a problem attains more often than the next (blue), and where less (red)."
        f"{_flat(view)} {STILL}",
        "Maps of the difference of the part of runs that attain a place, one panel per problem.",
        head=f"the best two optimizers of each problem{_head(view)}",
        empty="" if table.height else empty,
        view=view,
        id="attainment-difference",
    )
    return [shown]


def indicators(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing.pareto import indicators

    view = _view(material)
    table = tables.indicators(view)
    shown = Shown(
        "indicators",
        table,
        indicators,
        "Every indicator on every problem",
        "Means over trials at the end. Bright: the best of the problem, dark: the worst. Spreads say nothing of how"
        f" near a front is.{_flat(view)} {STILL}",
        "Heat maps of indicators, one row per problem, one column per optimizer.",
        empty="" if table.height or not options.page else NO_FRONT,
        view=view,
    )
    return [shown]
