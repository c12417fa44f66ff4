"""`optarena report`: everything on one page that works offline and can be mailed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from optarena._text import clean
from optarena.cli._choose import Dimensions, Machines, Optimizers, Problems, chosen, file_and_optimizers
from optarena.cli._terminal import say
from optarena.cli._view_options import with_view_options
from optarena.report.page import write_report
from optarena.views._options import options_by_view, view_named


@with_view_options
def command(
    store: Annotated[Path, typer.Argument(help="The store's directory.")],
    output: Annotated[Path | None, typer.Option("-O", "--output", help="The HTML file to write [report.html].")] = None,
    *,
    view: Annotated[
        str | None,
        typer.Option("--view", help="The view that the options below are for; by default every view that has them."),
    ] = None,
    options: dict[str, Any],
    optimizer: Optimizers = None,
    problem: Problems = None,
    dimension: Dimensions = None,
    machine: Machines = None,
) -> None:
    """Write the report and print its path."""
    by_view = options_by_view(options, None if view is None else view_named(view))
    output, optimizer = file_and_optimizers(output, optimizer, (".html", ".htm"))
    path = write_report(chosen(store, optimizer, problem, dimension, machine), output or Path("report.html"), by_view)
    say(f"{clean(path)} ({path.stat().st_size / 1e6:.1f} MB; opens offline in any browser)")
