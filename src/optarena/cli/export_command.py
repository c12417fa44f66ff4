"""`optarena export`: a store in a format that others read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optarena.cli._text import clean, counted
from optarena.formats import export
from optarena.store.results import open_store


def command(
    format: Annotated[str, typer.Argument(help="The format: csv, parquet, bayesmark, … (optarena list formats).")],
    store: Annotated[Path, typer.Argument(help="The store's directory.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="A file, or a directory to put it in.")],
    optimizer: Annotated[
        list[str] | None, typer.Option("--optimizer", help="Only these; globs, repeat for more.")
    ] = None,
    problem: Annotated[list[str] | None, typer.Option("--problem", help="Only these; globs, repeat for more.")] = None,
    dimension: Annotated[list[int] | None, typer.Option("--dimension", help="Only these; repeat for more.")] = None,
) -> None:
    """Every evaluation, with parameters, metrics and statuses."""
    results = open_store(store).filter(optimizer or None, problem or None, dimension=dimension or None)
    notices: list[str] = []
    path = export(format, results, output, notices)
    traces = results.traces()
    print(f"{path}: {counted(len(traces), 'study')}, {counted(int(traces.offsets[-1]), 'evaluation')}")
    for notice in notices:
        print(f"left out: {clean(notice)}")
