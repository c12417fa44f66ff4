"""The figures of the fixed-target view."""

from __future__ import annotations

from functools import partial

import polars as pl

from optarena.report.figures._figure import Options, Shown, fit
from optarena.report.material import Material
from optarena.views.fixed_target import FixedTarget
from optarena.views.fixed_target import figure_tables as tables

POINTS, WIDE = 30, 120
"""Of a curve in a small panel of the page, and in a large one."""
ROWS = 12_000
"""Of the expected running times on the page, at most."""
APART = "no function was run by all optimizers in one dimension: there is nothing to pool"
STILL = "Filters by problem and dimension do not change"


def _behind(view: FixedTarget) -> str:
    return f"dots: budgets end; pale line: the ERTs of {tables.reference_name(view)}"


def _pale(view: FixedTarget) -> str:
    reference = tables.reference_name(view)
    return f"The pale line behind: the fraction of targets whose expected running time by {reference} is within x."


def _dimensions(material: Material, options: Options) -> list[int]:
    return material.dimensions if options.page else []


def ecdf(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing.fixed_target import ecdf, precision

    view = material.must_reach()
    unit = tables.unit(view)
    curves = tables.ecdf(view, _dimensions(material, options), WIDE if options.page else None)
    ends = tables.precision(view)
    left = Shown(
        "ecdf",
        curves,
        partial(ecdf, effort=unit),
        "ECDF of runtimes",
        "Fraction of targets reached, with simulated restarts. Dots: where budgets end; beyond, nobody ran. "
        + _pale(view),
        f"Line chart of the fraction of targets reached by {unit}, one line per optimizer; the ends are in the table.",
        head=f"{_behind(view)}; right: thick at the end, thin before",
        view=view,
        legend=view.ecdf,
        empty="" if curves.height else APART,
    )
    right = Shown(
        "precision",
        ends,
        partial(precision, word=tables.word(view)),
        "ECDF of precision",
        "Fraction of runs that are as precise: thick at their end, thin after D, 10 D, 100 D, … before it. "
        f"Of all problems: {STILL[:1].lower()}{STILL[1:]} it.",
        "Line chart of the fraction of runs by precision, one line per optimizer and budget.",
        view=view,
        legend=view.ecdf,
        empty="" if ends.height else APART,
    )
    return [left, right]


def cuts(material: Material, options: Options) -> list[Shown]:  # noqa: ARG001
    from optarena.report.drawing.fixed_target import cuts

    view = material.must_reach()
    name, table = tables.cuts(view)
    note = "vertical cut: how good after so much effort (fixed cost); horizontal: how long to a target (fixed target)"
    shown = Shown(
        "cuts",
        table,
        partial(cuts, effort=tables.unit(view), word=tables.word(view)),
        "Fixed cost and fixed target",
        f"Every run on {name}. {note[:1].upper()}{note[1:]}.",
        f"Line chart of the precision of every run on {name}, cut at one effort and at one target.",
        head=f"{name}; {note}",
        view=view,
        empty="" if table.height else APART,
    )
    return [shown]


def transition(material: Material, options: Options) -> list[Shown]:  # noqa: ARG001
    from optarena.report.drawing.fixed_target import transition

    view = material.must_reach()
    reach, miss = tables.transition(view)
    note = (
        "The right panel continues the left one: where a curve ends there, at its success probability, it begins here."
    )
    left = Shown(
        "transition",
        reach,
        partial(transition, title=tables.unit(view), side=False),
        "Runs that reach a target",
        f"Fraction of runs that reach 10ᵏ by an effort, without restarts, for k = 1, -1, -4, -8. {note}",
        "Line chart of the fraction of runs that reached each of four targets, by effort.",
        head=note,
        view=view,
        empty="" if reach.height else APART,
    )
    right = Shown(
        "transition beyond",
        miss,
        partial(transition, title="Δf / 10ᵏ at the end", side=True),
        "How far the others are",
        "Fraction of runs whose distance to the optimum at their end is at most so many times 10ᵏ.",
        "Line chart of the fraction of runs by their final distance, as a multiple of each target.",
        view=view,
        empty="" if miss.height else APART,
    )
    return [left, right]


def ecdf_groups(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing.fixed_target import ecdf_groups

    view = material.must_reach()
    table = tables.ecdf_groups(view, POINTS if options.page else None)
    if min(table["group"].n_unique(), table["dimension"].n_unique()) < 2:
        fit(table, options)
    shown = Shown(
        "ecdf groups",
        table,
        partial(ecdf_groups, effort=tables.unit(view)),
        "ECDFs of runtimes by group and dimension",
        f"As above, for each group of functions and dimension. {_pale(view)}",
        "Small line charts of the fraction of targets reached, one panel per group of functions and dimension.",
        head=_behind(view),
        view=view,
        id="ecdf-groups",
        empty="it is the ECDF of all" if options.page and table["panel"].n_unique() < 2 else "",
    )
    return [shown]


def ert(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing.fixed_target import ert

    view = material.must_reach()
    table, note = tables.ert(view, material.functions, thin=options.page), ""
    fit(table, options, "function")
    if options.page and table.height > ROWS:
        each = table.group_by("function", maintain_order=True).len().filter(pl.col("len").cum_sum() <= ROWS)
        note = f"Expected running times of {each.height:,} functions are drawn: optarena figure has others."
        table = table.filter(pl.col("function").is_in(each["function"].implode()))
    reference = tables.reference_name(view)
    shown = Shown(
        "ert",
        table,
        partial(ert, effort=tables.unit(view), word=tables.word(view)),
        "Expected running time by target",
        "ERT: all evaluations of all runs until they hit, divided by the number of hits; a line ends where no run "
        f"hits any more. Bands: {view.frame['intervals']}. Behind, pale: {reference}.",
        "Small line charts of the expected running time by target, one panel per function and dimension; "
        "the table below has its numbers.",
        head=f"expected running time with its 95 % interval; pale: {reference}",
        view=view,
        note=note,
    )
    return [shown]


def ert_dimension(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing.fixed_target import ert_dimension

    view = material.must_reach()
    table, reference = tables.ert_by_dimension(view), tables.reference_name(view)
    fit(table, options)
    empty = "no function was solved to the same target in two dimensions: there is nothing to draw"
    shown = Shown(
        "ert by dimension",
        table,
        partial(ert_dimension, effort=tables.unit(view), dimensions=table["D"].unique().sort().to_list()),
        "Expected running time by dimension",
        "For each function to the hardest target that someone reached in most dimensions, which its title "
        f"names. {STILL} it. Behind, pale: {reference}.",
        "Small line charts of the expected running time by dimension, one panel per function.",
        head=f"to the hardest target reached in most dimensions; pale: {reference}",
        empty="" if table.height else empty,
        view=view,
        id="ert-dimension",
    )
    return [shown]


def profiles(material: Material, _: Options) -> list[Shown]:
    from optarena.report.drawing.fixed_target import profiles

    view = material.must_reach()
    table = tables.profiles(view)
    shown = Shown(
        "profiles",
        table,
        profiles,
        "Performance and data profiles",
        "Performance: the fraction of targets whose ERT is within so many times the least of the store. Data: the "
        "fraction of problems brought to a part of the way from the first value to the best, by evaluations / "
        f"(D + 1). {STILL} them.",
        "Small line charts of performance and data profiles, one line per optimizer.",
        view=view,
        empty="" if table.height else APART,
    )
    return [shown]


def loss(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing.fixed_target import loss

    view = material.must_reach()
    table, reference = tables.loss(view, _dimensions(material, options)), tables.loss_reference(view)
    known = table["median"].is_not_null().any()
    shown = Shown(
        "loss",
        table,
        partial(loss, reference=reference),
        "Loss of expected running time",
        f"How many times the expected running time of {reference}: median, half (thick) and 80 % (thin) of the "
        "targets that one of its runs reached; beside it, how many of the reference's targets these are.",
        "Dot plot of the loss of expected running time; the first table of this section has the medians.",
        head="median, half and 80 % of the targets; per cent: how many of the targets were reached",
        empty="" if known else "no optimizer reached a target: there is no loss to draw",
        view=view,
        by=("optimizer",),
        margin=30,
    )
    return [shown]
