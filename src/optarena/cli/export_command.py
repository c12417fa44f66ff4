"""`optarena export`: a store in a format that others read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optarena._numbers import counted
from optarena._text import clean
from optarena.cli._choose import Dimensions, Machines, Optimizers, Problems, chosen, file_and_optimizers
from optarena.cli._terminal import say
from optarena.errors import OptarenaError
from optarena.formats import export_counted


def command(
    format: Annotated[str, typer.Argument(help="The format: csv, parquet, bayesmark, … (optarena list formats).")],
    store: Annotated[Path, typer.Argument(help="The store's directory.")],
    output: Annotated[Path | None, typer.Option("-O", "--output", help="A file, or a directory to put it in.")] = None,
    optimizer: Optimizers = None,
    problem: Problems = None,
    dimension: Dimensions = None,
    machine: Machines = None,
    spreadsheet: Annotated[
        bool,
        typer.Option("--spreadsheet", help="csv: mark texts that a spreadsheet would take for formulas (= + - @)."),
    ] = False,
) -> None:
    """Every evaluation that was kept, with parameters, metrics and statuses."""
    output, optimizer = file_and_optimizers(output, optimizer, (".csv", ".gz", ".zst", ".parquet"))
    if output is None:
        raise OptarenaError(f"give a file or directory to write: optarena export {format} {store} -O OUTPUT")
    results = chosen(store, optimizer, problem, dimension, machine)
    exported = export_counted(format, results, output, spreadsheet=spreadsheet)
    begun = results.studies.head(len(results.chosen))
    size = f"{counted(begun.height, 'study')}, {counted(int(begun['evaluations'].sum()), 'evaluation')}"
    if exported.rows is not None:
        size += f", {counted(exported.rows, 'row')}"
    say(f"{clean(exported.path)}: {'what it can hold of ' if exported.left_out else ''}{size}")
    for text in exported.left_out:
        say(f"left out: {clean(text)}")
