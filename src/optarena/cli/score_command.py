"""`optarena score`: a view of a store as a table, JSON, CSV or LaTeX."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from optarena.cli._choose import Dimensions, Optimizers, Problems, chosen
from optarena.cli._terminal import print_json, terminal_width
from optarena.cli._view_options import ViewName, with_view_options
from optarena.report import boards
from optarena.views import score
from optarena.views._options import dashed, options_of, view_named


class Format(StrEnum):
    table = "table"
    json = "json"
    csv = "csv"
    latex = "latex"


@with_view_options
def command(
    store: Annotated[Path, typer.Argument(help="The store's directory.")],
    *,
    view: ViewName = "fixed-cost",
    options: dict[str, Any],
    save_frame: Annotated[Path | None, typer.Option("--save-frame", help="Write the frame to this file.")] = None,
    optimizer: Optimizers = None,
    problem: Problems = None,
    dimension: Dimensions = None,
    format: Annotated[Format, typer.Option("--format", help="table, json, csv or latex.")] = Format.table,
    which: Annotated[str | None, typer.Option("--table", help="Which table as CSV; the first by default.")] = None,
) -> None:
    """A frame names what the scores were measured against; what could not be scored is named too."""
    name = view_named(view or "fixed-cost")
    scored = score(chosen(store, optimizer, problem, dimension), name, **options_of(name, options))
    if save_frame is not None:
        scored.save_frame(save_frame)
    if format is Format.json:
        print_json(scored.to_data())
    elif format is Format.csv:
        from optarena.formats.csv import for_people

        print(for_people(scored.table(which or boards.TABLES[dashed(name)])), end="")
    elif format is Format.latex:
        print(scored.to_latex(), end="")
    else:
        print(boards.text(scored, terminal_width()))
