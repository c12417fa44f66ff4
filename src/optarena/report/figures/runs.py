"""The figures of the studies themselves, which need no score."""

from __future__ import annotations

from functools import partial

import polars as pl

from optarena._text import visible
from optarena.report import words
from optarena.report.figures._figure import PANELS, Options, Shown, few, is_log, last_effort, of_scope
from optarena.report.material import Material
from optarena.report.scales import scales_of
from optarena.views.selection import COUNTED

CONVERGENCE, BEST_POINTS = "Convergence", "Best points"
"""Titles of the two figures that each problem has on the page."""
PARALLEL = (
    "Where in its range the best point lies: one line per trial (of more than eight optimizers, per best trial).",
    "Parallel coordinates of the best point of every trial on @problem: one line per trial, one axis per parameter.",
)
"""Caption and alternative text of best points."""


def convergence(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing.runs import MEASURES, STATISTICS, convergence

    axis = options.axis or "evaluations"
    table = material.convergence(axis)
    ways = scales_of(table)
    known = [name for name in material.problems["problem"] if name in ways]
    return [
        Shown(
            f"convergence {name}",
            table.filter(pl.col("problem") == name),
            partial(
                convergence,
                statistic=options.statistic,
                effort=axis,
                measure=MEASURES[ways[name]["measure"]],
                log=ways[name]["log"],
                floor=ways[name]["floor"],
                log_effort=is_log(axis, last_effort(table)),
                counted=axis in COUNTED,
                title=visible(name),
            ),
            CONVERGENCE,
            caption,
            alt.replace("@problem", name),
            head=STATISTICS[options.statistic][3],
            legend=table,
        )
        for name in few(known, "one objective and a value", options, PANELS)
        for caption, alt in [convergence_words(ways[name]["measure"], options.statistic, axis, log=ways[name]["log"])]
    ]


def convergence_words(measure: str, statistic: str, axis: str, *, log: bool) -> tuple[str, str]:
    """Caption and alternative text of convergence curves; `@problem` stands for the problem's name."""
    from optarena.report.drawing.runs import MEASURES, STATISTICS

    what, how = MEASURES[measure], STATISTICS[statistic][3]
    bottom = " The axis is logarithmic: values too small for it are drawn at the bottom." if log else ""
    chart = f"Line chart of the {what} on @problem by {axis}, one line per optimizer; the table below has final values."
    return f"{what.capitalize()} by {axis}: {how}.{bottom}", chart


def parallel(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing._style import FEW_LINES
    from optarena.report.drawing.runs import parallel

    table = material.best_points
    every = table["optimizer"].n_unique() <= FEW_LINES
    lines = "every trial: one line per trial" if every else "the best trial of each optimizer: one line per optimizer"
    there = set(table["problem"])
    known = [name for name in material.problems["problem"] if name in there]
    return [
        Shown(
            f"best points {name}",
            table.filter(pl.col("problem") == name),
            partial(parallel, title=visible(name)),
            BEST_POINTS,
            PARALLEL[0],
            PARALLEL[1].replace("@problem", name),
            head=f"the best point of {lines}, one axis per parameter",
            legend=table,
        )
        for name in few(known, "a best point of two parameters or more", options, PANELS)
    ]


def time(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing.runs import time

    table = of_scope(material.times, options)
    shown = Shown(
        "times",
        table if options.page else table.drop("scope"),
        time,
        "Seconds per evaluation",
        "What an evaluation costs in each phase: median over studies, and quartiles, on a logarithmic axis.",
        "Dot plot of seconds per evaluation, by optimizer and phase. " + words.describe_times(table),
        empty="" if table.height else "no study recorded what its evaluations cost",
        id="phases",
        by=("optimizer", "phase"),
    )
    return [shown]


def failures(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing.runs import failures

    table = material.failures
    shown = Shown(
        "failures",
        table.drop("message") if options.page else table,
        failures,
        "Failed evaluations by kind",
        "error: it raised an exception; nan: it returned no number; timed out; crashed: its process died.",
        "Bar chart of failed evaluations by optimizer and kind; the table below has its numbers.",
        empty="" if table.height else "no evaluation failed: there is nothing to draw",
        id="failure-kinds",
        by=("optimizer", "kind"),
    )
    return [shown]


def progress(material: Material, _: Options) -> list[Shown]:
    from optarena.report.drawing.runs import progress

    states = {state: part.height for (state,), part in material.progress.group_by("state")}
    told = "; ".join(f"{count} pairs {state}" for state, count in sorted(states.items()))
    shown = Shown(
        "progress",
        material.progress,
        progress,
        "Progress",
        "The number of studies of each optimizer on each problem; 3/5: three of five ended.",
        f"Matrix with one row per problem and one column per optimizer: {told}.",
        by=("problem",),
        widest=90 * max(3, len(material.colours.names)) + 260,
    )
    return [shown]
