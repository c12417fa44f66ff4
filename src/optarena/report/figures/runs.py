"""The figures of the studies themselves, which need no score."""

from __future__ import annotations

from functools import partial

import polars as pl

from optarena._text import visible
from optarena.report import words
from optarena.report.figures._figure import PANELS, Options, Shown, few, is_log, last_effort, of_scope
from optarena.report.material import Material
from optarena.report.scales import scales_of


def convergence(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing._style import COUNTED
    from optarena.report.drawing.runs import MEASURES, STATISTICS, convergence

    axis = options.axis or "evaluations"
    table = material.convergence(axis)
    ways = scales_of(table)
    how = STATISTICS[options.statistic][3]
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
            "Convergence",
            f"The best value so far, {how}.",
            f"Line chart of the best value so far on {name}, one line per optimizer.",
            head=how,
            legend=table,
        )
        for name in few(known, "one objective and a value", options, PANELS)
    ]


def parallel(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing.runs import parallel

    table = material.best_points
    there = set(table["problem"])
    known = [name for name in material.problems["problem"] if name in there]
    return [
        Shown(
            f"best points {name}",
            table.filter(pl.col("problem") == name),
            partial(parallel, title=visible(name)),
            "Best points",
            "One line per trial, one axis per parameter: where in its range the best point lies.",
            f"Parallel coordinates of the best points on {name}: one line per trial, one axis per parameter.",
            head="the best point of every trial: one line per trial, one axis per parameter",
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
        "Seconds an evaluation",
        "What an evaluation costs in each phase: median over studies, and quartiles, on a logarithmic axis.",
        "Dot plot of seconds an evaluation, by optimizer and phase. " + words.describe_times(table),
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
