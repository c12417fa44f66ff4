"""`optarena figure`: one figure of a store, for a paper, a slide or a page."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from optarena._text import clean, table
from optarena.cli._choose import Dimensions, Optimizers, Problems, chosen
from optarena.cli._view_options import with_view_options
from optarena.errors import OptarenaError
from optarena.report.figures import COMPARISON, FIGURES, Figure, chart
from optarena.report.output import save
from optarena.views._options import OPTIONS, dashed


class Statistic(StrEnum):
    median = "median"
    mean = "mean"


@with_view_options
def command(
    name: Annotated[str | None, typer.Argument(help="Which figure; --list shows all.")] = None,
    store: Annotated[Path | None, typer.Argument(help="The store's directory.")] = None,
    *,
    output: Annotated[
        Path | None, typer.Option("-O", "--output", help="The file: .pdf, .svg, .png, .html or .json.")
    ] = None,
    every: Annotated[bool, typer.Option("--list", help="List the figures and their options.")] = False,
    view: Annotated[
        str | None, typer.Option("--view", help="Of figures that compare: the view that is compared.")
    ] = None,
    options: dict[str, Any],
    statistic: Annotated[
        Statistic, typer.Option("--statistic", help="convergence: median with quartiles, or mean with 95 % interval.")
    ] = Statistic.median,
    width: Annotated[
        int | None, typer.Option("--width", min=50, help="Width of the drawing, or of a panel, in points.")
    ] = None,
    height: Annotated[int | None, typer.Option("--height", min=50, help="Height of the same.")] = None,
    optimizer: Optimizers = None,
    problem: Problems = None,
    dimension: Dimensions = None,
) -> None:
    """Draw the figure and print the path of its file."""
    if every:
        rows = [[one.name, one.text, _options(one)] for one in FIGURES.values()]
        print(table(["figure", "shows", "options"], rows))
        return
    if name is None or store is None:
        raise OptarenaError(
            "give a figure's name and a store: optarena figure NAME STORE -O fig.pdf (--list shows all)"
        )
    if output is None:
        raise OptarenaError(f"give a file to write: optarena figure {name} {store} -O {name}.pdf")
    results = chosen(store, optimizer, problem, dimension)
    drawn = chart(name, results, view=view, statistic=statistic.value, width=width, height=height, **options)
    print(clean(save(drawn, output)))


def _options(one: Figure) -> str:
    own = [f"--{option}" for option in one.options if option not in OPTIONS.get(one.view.replace("-", "_"), ())]
    if one.view == COMPARISON:
        own.append("those of compare")
    elif one.view:
        own.append(f"those of the {dashed(one.view)} view")
    return ", ".join(own)
