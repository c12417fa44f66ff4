"""`optarena figure`: one figure of a store, for a paper, a slide or a page."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from optarena._text import clean, table
from optarena.cli._choose import Dimensions, OptimizersLong, Problems, chosen
from optarena.errors import OptarenaError
from optarena.report.figures import FIGURES, figure
from optarena.report.output import save


class Statistic(StrEnum):
    median = "median"
    mean = "mean"


def command(
    name: Annotated[str | None, typer.Argument(help="Which figure; --list shows all.")] = None,
    store: Annotated[Path | None, typer.Argument(help="The store's directory.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The file: .pdf, .svg, .png, .html or .json.")
    ] = None,
    every: Annotated[bool, typer.Option("--list", help="List the figures and their options.")] = False,
    axis: Annotated[
        str | None, typer.Option("--axis", help="convergence: evaluations, batches, seconds, or another effort.")
    ] = None,
    statistic: Annotated[
        Statistic, typer.Option("--statistic", help="convergence: median with quartiles, or mean with 95 % interval.")
    ] = Statistic.median,
    metric: Annotated[str | None, typer.Option("--metric", help="Of scores: a hidden metric.")] = None,
    width: Annotated[
        int | None, typer.Option("--width", min=50, help="Of the drawing, or of a panel, in points.")
    ] = None,
    height: Annotated[int | None, typer.Option("--height", min=50, help="Likewise.")] = None,
    optimizer: OptimizersLong = None,
    problem: Problems = None,
    dimension: Dimensions = None,
) -> None:
    """Draw it and say where it is."""
    if every:
        rows = [[one.name, one.text, ", ".join(f"--{option}" for option in one.options)] for one in FIGURES.values()]
        print(table(["figure", "shows", "its own options"], rows))
        return
    if name is None or store is None:
        raise OptarenaError(
            "give a figure's name and a store: optarena figure NAME STORE -o fig.pdf (--list shows all)"
        )
    if output is None:
        raise OptarenaError(f"give a file to write: optarena figure {name} {store} -o {name}.pdf")
    results = chosen(store, optimizer, problem, dimension)
    chart = figure(name, results, axis=axis, statistic=statistic.value, metric=metric, width=width, height=height)
    print(clean(save(chart, output)))
