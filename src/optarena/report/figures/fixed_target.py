"""The figures of the fixed-target view: distributions of runtimes and precisions. Others are in `running_times`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import polars as pl

from optarena.report.figures._figure import Options, Shown
from optarena.report.figures._targets import APART, about, by_dimension
from optarena.report.figures.running_times import (
    contributions,
    ert,
    ert_dimension,
    loss,
    loss_budget,
    profiles,
    scaling,
    scatter,
    scatter_functions,
)
from optarena.report.material import Material
from optarena.views.fixed_target import FixedTarget
from optarena.views.fixed_target import figure_tables as tables

__all__ = [
    "contributions",
    "cuts",
    "ecdf",
    "ecdf_functions",
    "ecdf_groups",
    "ert",
    "ert_dimension",
    "loss",
    "loss_budget",
    "precision",
    "profiles",
    "run_lengths",
    "scaling",
    "scatter",
    "scatter_functions",
    "transition",
]

POINTS, WIDE, MANY = 30, 120, 300
"""Of a curve in a small panel of the page, in a large one, and in one of many panels on paper."""
LABELS = 12
"""So many optimizers have labels beside their curves; more have a legend."""


class _Behind:
    """What is drawn behind ECDFs: a pale line of runtimes, or a dashed one of expected running times."""

    def __init__(self, view: FixedTarget, options: Options) -> None:
        self.name = tables.background_name(view, options.background)
        self.words = tables.background_words(self.name)
        self.dashed = self.name == "best-2009"
        self.optimizer = self.name if tables.is_optimizer(self.name) else ""

    @property
    def head(self) -> str:
        return "" if not self.words else f"; {'dashed' if self.dashed else 'pale'}: {self.words}"

    @property
    def caption(self) -> str:
        if self.dashed:
            return (
                "The dashed line is the fraction of targets whose expected running time by best 2009 is within x: it "
                "mostly lies below the ECDF of its runtimes, which are not published."
            )
        return f"The pale line behind: {self.words}, with restarts." if self.words else ""


def ecdf(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing.fixed_target import ecdf

    view, behind = material.must_reach(), _Behind(material.must_reach(), options)
    unit, ranked = tables.unit(view), tables.ranked(view)
    many = len(tables.dimensions_of(view)) > 1
    points = WIDE if options.page else MANY if many else None
    curves = tables.ecdf(view, points, options.background, bands=options.bands)
    labelled = not options.page and not many and len(ranked) <= LABELS
    band = "Bands: 95 %, functions resampled." if options.bands else ""
    shown = Shown(
        "ecdf",
        curves,
        partial(
            ecdf,
            effort=unit,
            many=many,
            dashed=behind.dashed,
            bands=options.bands,
            ends=tables.ends(curves, behind.words) if labelled else None,
        ),
        "ECDF of runtimes",
        about(
            view,
            f"Fraction of targets reached over all functions by {unit}, with simulated restarts. Marks: where budgets "
            f"end (the median run); beyond, nobody ran. {band} {behind.caption}",
        ),
        f"Line chart of the fraction of targets reached by {unit}, one line per optimizer; the ends are in the table.",
        head=f"marks: budgets end{behind.head}",
        view=view,
        legend=view.ecdf.filter(pl.col("optimizer") != behind.optimizer),
        ranked=ranked,
        panels="panel" if many else "",
        empty="" if curves.height else APART,
    )
    return [shown]


def ecdf_groups(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing.fixed_target import ecdf_groups

    view, behind = material.must_reach(), _Behind(material.must_reach(), options)
    table = tables.ecdf_groups(view, POINTS if options.page else MANY, options.background)
    matrix = not options.page and min(table["group"].n_unique(), table["dimension"].n_unique()) > 1
    shown = Shown(
        "ecdf groups",
        table,
        partial(ecdf_groups, effort=tables.unit(view), dashed=behind.dashed),
        "ECDFs of runtimes by group and dimension",
        about(
            view,
            "Fraction of targets reached, with simulated restarts, for each group of functions and dimension. Marks: "
            f"where budgets end. {behind.caption}",
        ),
        "Small line charts of the fraction of targets reached, one panel per group of functions and dimension.",
        head=f"marks: budgets end{behind.head}",
        view=view,
        id="ecdf-groups",
        ranked=tables.ranked(view),
        panels="" if matrix else "panel",
        empty="it is the ECDF of all" if options.page and table["panel"].n_unique() < 2 else "",
    )
    return [shown]


def ecdf_functions(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing.fixed_target import ecdf_functions

    view, behind = material.must_reach(), _Behind(material.must_reach(), options)
    table = tables.ecdf_functions(view, POINTS if options.page else MANY // 3, options.background)
    shown = Shown(
        "ecdf functions",
        table,
        partial(ecdf_functions, effort=tables.unit(view), dashed=behind.dashed),
        "ECDFs of runtimes by function",
        "Fraction of targets reached, with simulated restarts, for each function. Marks: where budgets end. "
        + behind.caption,
        "Small line charts of the fraction of targets reached, one panel per function.",
        head=f"marks: budgets end{behind.head}",
        view=view,
        id="ecdf-functions",
        ranked=tables.ranked(view),
        panels="panel",
    )
    return [shown] if options.page else list(by_dimension(view, shown))


def precision(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing.fixed_target import precision

    view = material.must_reach()
    table = tables.precision(view, POINTS if options.page else None)
    shown = Shown(
        "precision",
        table,
        partial(precision, word=tables.word(view), many=table["panel"].n_unique() > 1),
        "ECDF of precision",
        about(
            view,
            "Fraction of runs that are as precise: thick at their end, thin after D, 10 D, 100 D, … before it.",
        ),
        "Line chart of the fraction of runs by precision, one line per optimizer and budget.",
        head="thick: at the end of runs; thin: after D, 10 D, 100 D, … before it",
        view=view,
        ranked=tables.ranked(view),
        panels="panel" if table["panel"].n_unique() > 1 else "",
        empty="" if table.height else APART,
    )
    return [shown]


def cuts(material: Material, _: Options) -> list[Shown]:
    from optarena.report.drawing.fixed_target import cuts

    view = material.must_reach()
    name, table = tables.cuts(view)
    note = "vertical cut: how good after a given effort (fixed cost); horizontal: how long to a target (fixed target)"
    shown = Shown(
        "cuts",
        table,
        partial(cuts, effort=tables.unit(view), word=tables.word(view)),
        "Fixed cost and fixed target",
        about(view, f"Every run on {name}. {note[:1].upper()}{note[1:]}."),
        f"Line chart of the precision of every run on {name}, cut at one effort and at one target.",
        head=f"{name}; {note}",
        view=view,
        ranked=tables.ranked(view),
        empty="" if table.height else APART,
    )
    return [shown]


CONTINUES = "The right panel continues the left one: a curve ends at its success probability, and goes on there"


def transition(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing.fixed_target import transition

    view, behind = material.must_reach(), _Behind(material.must_reach(), options)
    parts = [part.filter(pl.col("optimizer").is_not_null()) for part in tables.transition(view, "none")]
    return _two_panels(view, behind, parts, partial(transition, single=False), "", tables.ranked(view))


def run_lengths(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing.fixed_target import transition

    view, behind = material.must_reach(), _Behind(material.must_reach(), options)
    parts = tables.transition(view, options.background)
    out = []
    for name in tables.ranked(view):
        whose = (pl.col("optimizer") == name) | pl.col("optimizer").is_null()
        mine = [part.filter(whose) for part in parts]
        if name != behind.optimizer:
            out += _two_panels(view, behind, mine, partial(transition, single=True), name, [name])
    return out


def _two_panels(
    view: FixedTarget,
    behind: _Behind,
    parts: list[pl.DataFrame],
    draw: Callable[..., object],
    name: str,
    ranked: list[str],
) -> list[Shown]:
    """Runs that reach targets, and beside it how far the others are; rows without an optimizer are behind."""
    reach, miss = parts
    back = behind.head if name else ""
    left = Shown(
        f"transition {name}".strip(),
        reach,
        partial(draw, title=tables.unit(view), side=False, dashed=behind.dashed),
        "Runs that reach a target",
        about(
            view,
            f"{f'{name}: f' if name else 'F'}raction of runs that reach the precision 10ᵏ by an effort, without "
            f"restarts, for k = 1, -1, -4, -8 (left), and of those whose distance to the optimum at their end is at "
            f"most so many times 10ᵏ (right). {CONTINUES}.{f' Behind, {back[2:]}.' if back else ''}",
        ),
        "Line chart of the fraction of runs that reached each of four targets, by effort.",
        head=f"{CONTINUES}{back}",
        view=view,
        empty="" if reach.height else APART,
        sheet=name,
        ranked=ranked,
    )
    right = Shown(
        f"transition beyond {name}".strip(),
        miss,
        partial(draw, title="Δf / 10ᵏ at the end", side=True, dashed=behind.dashed),
        "How far the others are",
        left.caption,
        "Line chart of the fraction of runs by their final distance, as a multiple of each target.",
        view=view,
        empty="" if miss.height else APART,
        sheet=name,
        ranked=ranked,
    )
    return [left, right]
