"""`optarena score`: a view of a store as a table, JSON, CSV, LaTeX or HTML."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from optarena.cli._choose import Dimensions, Machines, Optimizers, Problems, chosen
from optarena.cli._terminal import Wide, print_json, terminal_width
from optarena.cli._view_options import ViewName, with_view_options
from optarena.errors import OptarenaError
from optarena.report import boards
from optarena.views import score
from optarena.views._answering import chosen as views_for
from optarena.views._options import dashed, options_of, view_named


class Format(StrEnum):
    table = "table"
    json = "json"
    csv = "csv"
    latex = "latex"
    html = "html"


@with_view_options
def command(
    store: Annotated[Path, typer.Argument(help="The store's directory.")],
    *,
    view: ViewName = None,
    options: dict[str, Any],
    save_frame: Annotated[Path | None, typer.Option("--save-frame", help="Write the frame to this file.")] = None,
    optimizer: Optimizers = None,
    problem: Problems = None,
    dimension: Dimensions = None,
    machine: Machines = None,
    format: Annotated[Format, typer.Option("--format", help="table, json, csv, latex or html.")] = Format.table,
    which: Annotated[str | None, typer.Option("--table", help="Which table as CSV; the first by default.")] = None,
    wide: Wide = False,
) -> None:
    """A frame names what the scores were measured against; what could not be scored is named too.

    Without --view: solver runs by anytime, several objectives by pareto, else fixed-cost where random search was run,
    else fixed-target. A store with several kinds of studies is scored by each in turn.
    """
    results = chosen(store, optimizer, problem, dimension, machine)
    names = views_for(results, options) if view is None else [view_named(view)]
    if len(names) > 1 and (save_frame is not None or format is Format.csv):
        kinds = " or ".join(map(dashed, names))
        raise OptarenaError(f"the store has several kinds of studies: name the view too, with --view {kinds}")
    views = [score(results, name, **options_of(name, options)) for name in names]
    if save_frame is not None:
        views[0].save_frame(save_frame)
    if format is Format.json:
        every = [scored.to_data() for scored in views]
        print_json(every[0] if len(every) == 1 else {"views": every})
    elif format is Format.csv:
        from optarena.formats.csv import for_people

        print(for_people(views[0].table(which or boards.TABLES[dashed(names[0])])), end="")
    elif format is Format.latex:
        print("\n".join(scored.to_latex() for scored in views), end="")
    elif format is Format.html:
        print(boards.html(views), end="")
    else:
        print("\n\n".join(boards.text(scored, terminal_width(wide=wide)) for scored in views))
