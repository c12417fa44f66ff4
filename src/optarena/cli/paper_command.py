"""`optarena paper`: the figures and tables of a paper, with a LaTeX file that includes them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from optarena._numbers import counted
from optarena._text import clean
from optarena.cli._choose import Dimensions, Machines, Optimizers, Problems, chosen
from optarena.cli._terminal import say
from optarena.cli._view_options import with_view_options
from optarena.errors import one_of
from optarena.report.paper import write_paper

KINDS = ("coco",)


@with_view_options
def command(
    kind: Annotated[str, typer.Argument(help="Which kind of paper: coco.")],
    store: Annotated[Path, typer.Argument(help="The store's directory.")],
    output: Annotated[Path, typer.Option("-O", "--output", help="The directory to write.")] = Path("paper"),
    *,
    options: dict[str, Any],
    optimizer: Optimizers = None,
    problem: Problems = None,
    dimension: Dimensions = None,
    machine: Machines = None,
) -> None:
    """Write a workshop paper's figures and tables, and print where its LaTeX file is."""
    one_of("paper", kind, KINDS)
    written = write_paper(chosen(store, optimizer, problem, dimension, machine), output, **options)
    figures, tables = (sum(path.parent.name == name for path in written) for name in ("figures", "tables"))
    what = f"{counted(figures, 'figure')}, {counted(tables, 'table')}"
    say(f"{clean(written[0])} ({what}; compile it there with pdflatex paper.tex)")
