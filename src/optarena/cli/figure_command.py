"""`optarena figure`: one figure of a store, for a paper, a slide or a page."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from optarena._text import clean, table
from optarena.cli._choose import Dimensions, Machines, Optimizers, Problems, chosen, file_and_optimizers
from optarena.cli._terminal import Wide, say, terminal_width
from optarena.cli._view_options import with_view_options
from optarena.errors import OptarenaError
from optarena.report.figures import COMPARISON, FIGURES, Figure, sheets
from optarena.report.library import vl_convert
from optarena.report.output import save
from optarena.views._options import OPTIONS, dashed


class Paper(StrEnum):
    column = "column"
    page = "page"


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
    wide: Wide = False,
    view: Annotated[
        str | None, typer.Option("--view", help="Of figures that compare: the view that is compared.")
    ] = None,
    options: dict[str, Any],
    statistic: Annotated[
        Statistic, typer.Option("--statistic", help="convergence: median with quartiles, or mean with 95 % interval.")
    ] = Statistic.median,
    background: Annotated[
        str | None,
        typer.Option("--background", help="ECDFs: best-2009, best-of-store, none, or an optimizer to draw behind."),
    ] = None,
    bands: Annotated[
        bool | None, typer.Option("--bands", help="ecdf: 95 % bands, functions resampled.", show_default=False)
    ] = None,
    paper: Annotated[
        Paper | None, typer.Option("--paper", help="As wide as a column or a page of a paper, in small letters.")
    ] = None,
    width: Annotated[
        int | None, typer.Option("--width", min=50, help="Width of the drawing, or of a panel, in points.")
    ] = None,
    height: Annotated[int | None, typer.Option("--height", min=50, help="Height of the same.")] = None,
    optimizer: Optimizers = None,
    problem: Problems = None,
    dimension: Dimensions = None,
    machine: Machines = None,
) -> None:
    """Draw the figure and print the path of its file."""
    if every:
        print(listing(terminal_width(wide=wide)))
        return
    if name is None or store is None:
        raise OptarenaError(
            "give a figure's name and a store: optarena figure NAME STORE -O fig.pdf (--list shows all)"
        )
    output, optimizer = file_and_optimizers(output, optimizer, (".pdf", ".svg", ".png", ".html", ".json"))
    if output is None:
        raise OptarenaError(f"give a file to write: optarena figure {name} {store} -O {name}.pdf")
    vl_convert()  # before it is worked for
    results = chosen(store, optimizer, problem, dimension, machine)
    if paper is not None and width is not None:
        raise OptarenaError("--paper gives the width: leave out --width")
    drawn = sheets(
        name,
        results,
        paper=None if paper is None else paper.value,
        view=view,
        statistic=statistic.value,
        background=background,
        bands=bands,
        width=width,
        height=height,
        **options,
    )
    for i, sheet in enumerate(drawn):
        path = output if not i else output.with_stem(f"{output.stem}-{i + 1}")
        print(clean(save(sheet.chart, path, svg=sheet.svg)))
    if paper is not None:  # on paper words stand below a figure, not in it
        for sheet in drawn:
            say(f"\n{clean(sheet.caption)}")


def listing(width: int | None) -> str:
    """The figures, what each shows and may be asked for."""
    rows = [[one.name, one.text, _options(one)] for one in FIGURES.values()]
    return table(["figure", "shows", "options"], rows, fold=("shows", "options"), width=width)


def _options(one: Figure) -> str:
    own = [f"--{option}" for option in one.options if option not in OPTIONS.get(one.view.replace("-", "_"), ())]
    if one.view == COMPARISON:
        own.append("those of the compared view")
    elif one.view:
        own.append(f"those of the {dashed(one.view)} view")
    return ", ".join(own)
