"""`optarena export`: a store in a format that others read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optarena.cli._choose import Dimensions, OptimizersLong, Problems, chosen
from optarena.cli._text import clean, counted
from optarena.formats import export


def command(
    format: Annotated[str, typer.Argument(help="The format: csv, parquet, bayesmark, … (optarena list formats).")],
    store: Annotated[Path, typer.Argument(help="The store's directory.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="A file, or a directory to put it in.")],
    optimizer: OptimizersLong = None,
    problem: Problems = None,
    dimension: Dimensions = None,
) -> None:
    """Every evaluation, with parameters, metrics and statuses."""
    results = chosen(store, optimizer, problem, dimension)
    notices: list[str] = []
    path = export(format, results, output, notices)
    traces = results.traces()
    size = f"{counted(len(traces), 'study')}, {counted(int(traces.offsets[-1]), 'evaluation')}"
    print(f"{path}: {'what it can hold of ' if notices else ''}{size}")
    for notice in notices:
        print(f"left out: {clean(notice)}")
