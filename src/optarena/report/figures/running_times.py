"""The figures of the fixed-target view: expected running times, and what is made of them."""

from __future__ import annotations

from functools import partial

import polars as pl

from optarena.errors import OptarenaError
from optarena.report.figures._figure import Options, Shown
from optarena.report.figures._targets import APART, about, by_dimension
from optarena.report.material import Material
from optarena.views.fixed_target import ert_tables
from optarena.views.fixed_target import figure_tables as tables

ROWS = 12_000
"""Of the expected running times on the page, at most."""
STILL = "Filters by problem and dimension do not change"
"""On the page of a report, which has such filters."""
BARS = "Bars: 95 % intervals, from resampled runs. "
GUIDES = "Slanted lines: quadratic growth with the dimension; level: linear."


def ert(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing.running_times import ert

    view = material.must_reach()
    table, note = ert_tables.ert(view, material.functions, thin=options.page), ""
    if options.page and table.height > ROWS:
        each = table.group_by("function", maintain_order=True).len().filter(pl.col("len").cum_sum() <= ROWS)
        note = f"Expected running times of {each.height:,} functions are drawn: optarena figure has others."
        table = table.filter(pl.col("function").is_in(each["function"].implode()))
    reference = tables.reference_name(view)
    bands = "" if material.running else f"Bands: {view.frame['intervals']}. "
    several = not options.page and view.ert["dimension"].drop_nulls().n_unique() > 0
    shown = Shown(
        "ert",
        table,
        partial(ert, effort=tables.unit(view), word=tables.word(view), by="title" if several else "function"),
        "Expected running time by target",
        about(
            view,
            "ERT: all evaluations of all runs until they hit, divided by the number of hits; a line ends where no run "
            f"hits any more. {bands}Behind, pale: {reference}.",
        ),
        "Small line charts of the expected running time by target, one panel per function and dimension; "
        "the table below has its numbers.",
        head=f"expected running time with its 95 % interval; pale: {reference}",
        view=view,
        note=note,
        ranked=tables.ranked(view),
        panels="title" if several else "function",
    )
    if options.page:
        return [shown]
    return list(by_dimension(view, shown))


def ert_dimension(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing.running_times import ert_dimension

    view = material.must_reach()
    table, reference = ert_tables.ert_by_dimension(view), tables.reference_name(view)
    empty = "no function was solved to the same target in two dimensions: there is nothing to draw"
    shown = Shown(
        "ert by dimension",
        table,
        partial(ert_dimension, effort=tables.unit(view), dimensions=table["D"].unique().sort().to_list()),
        "Expected running time by dimension",
        about(
            view,
            "Expected running time by dimension, for each function to the hardest target that someone reached in most "
            f"dimensions, which its title names. {'' if material.running else BARS}Crosses: the greatest "
            f"budget, where no run reached it. {GUIDES} Behind, pale: {reference}."
            f"{f' {STILL} it.' if options.page else ''}",
        ),
        "Small line charts of the expected running time by dimension, one panel per function.",
        head=f"to the hardest target reached in most dimensions; ✕: not reached; pale: {reference}",
        empty="" if table.height else empty,
        view=view,
        id="ert-dimension",
        ranked=tables.ranked(view),
        panels="panel",
    )
    return [shown]


def scaling(material: Material, _: Options) -> list[Shown]:
    from optarena.report.drawing.running_times import scaling

    view = material.must_reach()
    table, reference = ert_tables.scaling(view), tables.reference_name(view)
    if not table.height:
        raise OptarenaError("no target is a power of ten, or no function has a dimension: there is nothing to draw")
    powers = table.sort("power", descending=True)["k"].unique(maintain_order=True).to_list()
    hardest = powers[-1]
    out = []
    for name in tables.ranked(view):
        mine = table.filter(pl.col("optimizer") == name)
        if not mine.height:
            continue
        dimensions = mine["D"].unique().sort().to_list()
        out.append(
            Shown(
                f"scaling {name}",
                mine,
                partial(scaling, effort=tables.unit(view), dimensions=dimensions, powers=powers),
                "Expected running time by dimension and target",
                about(
                    view,
                    f"{name}: expected running time by dimension, to the targets 10ᵏ. Crosses: the greatest budget, "
                    f"where not all runs reached {hardest}, with how many did. {GUIDES} Pale: {reference} to "
                    f"{hardest}.",
                ),
                "Small line charts of the expected running time by dimension, one panel per function.",
                head=f"✕: the greatest budget, where not all runs reached {hardest}; pale: {reference}",
                view=view,
                panels="panel",
                sheet=name,
            )
        )
    return out


def scatter(material: Material, _: Options) -> list[Shown]:
    return _scatter(material, many=False)


def scatter_functions(material: Material, _: Options) -> list[Shown]:
    return _scatter(material, many=True)


def _scatter(material: Material, *, many: bool) -> list[Shown]:
    """Of the two best, unless two are chosen."""
    from optarena.report.drawing.running_times import scatter

    view = material.must_reach()
    ranked = tables.ranked(view)
    if len(ranked) < 2:
        raise OptarenaError("a scatter plot needs two optimizers: choose two with --optimizer")
    first, second = ranked[:2]
    table = ert_tables.scatter(view, first, second)
    shown = Shown(
        "scatter",
        table,
        partial(scatter, first=first, second=second, effort=tables.unit(view), many=many),
        f"Expected running times of {first} and {second}",
        about(
            view,
            f"Expected running times to reach a target: {first} (x) and {second} (y), a point for every function, "
            "dimension and target. Below the diagonal the second is faster. On the edges: only one of them reached "
            "the target.",
        ),
        f"Scatter plot of the expected running times of {first} and {second}.",
        head="below the diagonal the second is faster; on the edges: only one reached the target",
        view=view,
        panels="panel" if many else "",
        empty="" if table.height else "neither optimizer reached a target: there is nothing to draw",
    )
    return [shown]


def loss_budget(material: Material, _: Options) -> list[Shown]:
    from optarena.report.drawing.running_times import failed_by_budget, loss_by_budget

    view = material.must_reach()
    table, reference = ert_tables.loss_by_budget(view), tables.reference_name(view)
    caption = about(
        view,
        f"Expected running time divided by that of {reference}, for the hardest target that the optimizer's is within "
        f"a budget for; the budget by it, where {reference} gets further within that: geometric mean over functions "
        "(line) and the middle half of them (band). Below: the part of the functions on which no run ever reached "
        f"what {reference} reaches within that budget.",
    )
    many = table["panel"].n_unique() > 1
    empty = "" if table.height else f"{reference} reached no target within the budgets: there is nothing to draw"
    shown = Shown(
        "loss by budget",
        table,
        partial(loss_by_budget, effort=tables.unit(view), reference=reference, many=many),
        "Loss of expected running time over budgets",
        caption,
        "Line charts of the loss of expected running time by budget, one panel per dimension.",
        head="geometric mean over functions, and the middle half of them; below: functions that failed",
        view=view,
        ranked=tables.ranked(view),
        empty=empty,
    )
    below = Shown(
        "failed by budget",
        table,
        partial(failed_by_budget, effort=tables.unit(view), many=many),
        "Functions that failed",
        caption,
        "Line charts of the part of functions that were never solved so far, one panel per dimension.",
        view=view,
        ranked=tables.ranked(view),
        empty=empty,
    )
    return [shown, below]


def contributions(material: Material, _: Options) -> list[Shown]:
    from optarena.report.drawing.running_times import contributions

    view = material.must_reach()
    table = ert_tables.contributions(view)
    ranked = tables.ranked(view)
    if len(ranked) < 2:
        raise OptarenaError("a best of one optimizer is that optimizer: contributions need two")
    shown = Shown(
        "contributions",
        table,
        partial(contributions, ranked=ranked),
        "The best of the store",
        about(
            view,
            "The virtual best solver takes, for each function and target, the optimizer with the least expected "
            "running time. Bars: the part of the targets on which each is that one (ties are shared); dark: the part "
            "that no other optimizer reached; numbers: how many times as long the best of the others takes on average.",
        ),
        "Bar chart of the part of the targets on which each optimizer is the fastest, one panel per dimension.",
        head="part of the targets on which it is fastest; dark: no other optimizer reached them; ×: slower without it",
        view=view,
        ranked=ranked,
        panels="panel",
        empty="" if (table["n"] > 0).any() else "no target was reached on what all ran: there is nothing to draw",
    )
    return [shown]


def profiles(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing.running_times import profiles

    view = material.must_reach()
    table = ert_tables.profiles(view)
    shown = Shown(
        "profiles",
        table,
        profiles,
        "Performance and data profiles",
        about(
            view,
            "Performance profiles: the fraction of targets whose ERT is within so many times the least of the store. "
            "Data profiles: the fraction of problems brought to a part of the way from the first value to the best, by "
            f"evaluations / (D + 1). All dimensions together.{f' {STILL} them.' if options.page else ''}",
        ),
        "Small line charts of performance and data profiles, one line per optimizer.",
        view=view,
        ranked=tables.ranked(view),
        empty="" if table.height else APART,
    )
    return [shown]


def loss(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing.running_times import loss

    view = material.must_reach()
    table, reference = ert_tables.loss(view, material.dimensions), tables.loss_reference(view)
    many = not options.page and len(material.dimensions) > 1
    if many:
        of = pl.col("scope").cast(pl.Int64, strict=False)
        table = table.with_columns(place=of, panel=pl.format("{}-D", "scope")).drop_nulls("place").sort("place")
    known = table["median"].is_not_null().any()
    shown = Shown(
        "loss",
        table,
        partial(loss, reference=reference, many=many),
        "Loss of expected running time",
        about(
            view,
            f"How many times the expected running time of {reference}: median, half (thick) and 80 % (thin) of the "
            "targets that one of its runs reached; beside it, how many of the reference's targets these are.",
        ),
        "Dot plot of the loss of expected running time; the first table of this section has the medians.",
        head="median, half and 80 % of the targets; per cent: how many of the targets were reached",
        empty="" if known else "no optimizer reached a target: there is no loss to draw",
        view=view,
        by=("optimizer",),
        margin=30,
        ranked=tables.ranked(view),
    )
    return [shown]
