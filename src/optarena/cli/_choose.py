"""The options by which score, compare, figure, report and export choose studies."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from optarena._text import clean
from optarena.cli._terminal import say
from optarena.errors import OptarenaError
from optarena.facade import Results, open_store
from optarena.formats import read_files

Optimizers = Annotated[
    list[str] | None,
    typer.Option("--optimizer", "-o", help="Only these optimizers (globs and braces; repeat the option)."),
]
Problems = Annotated[
    list[str] | None, typer.Option("--problem", "-p", help="Only these problems (globs and braces; repeat the option).")
]
Dimensions = Annotated[
    list[int] | None, typer.Option("--dimension", "-d", help="Only these dimensions (repeat the option).")
]
Machines = Annotated[
    list[str] | None,
    typer.Option("--machine", help="Only studies that ran on these machines (globs; repeat the option)."),
]


def file_and_optimizers(
    output: Path | None, optimizer: list[str] | None, suffixes: tuple[str, ...]
) -> tuple[Path | None, list[str] | None]:
    """The file to write and the optimizers. `-o FILE`, as it was once, still works where no -O is given: nobody's name
    ends like a file that this command writes."""
    files = [name for name in optimizer or [] if name.lower().endswith(suffixes)]
    if output is not None or len(files) != 1:
        return output, optimizer
    say(f"optarena: -o names optimizers, -O names the file; taken as -O {clean(files[0])}", file=sys.stderr)
    return Path(files[0]), [name for name in optimizer or [] if name != files[0]]


def chosen(
    store: Path,
    optimizer: list[str] | None,
    problem: list[str] | None,
    dimension: list[int] | None,
    machine: list[str] | None,
) -> Results:
    """The store, or the part of it that the options name."""
    if store.is_file() and store.suffix == ".csv":
        read_files("csv", store)  # a mistake in it is named first
    results = open_store(store)
    if not (optimizer or problem or dimension or machine):
        return results
    options = {"optimizer": optimizer, "problem": problem, "dimension": dimension, "machine": machine}
    part = results.filter(**{name: values or None for name, values in options.items()})  # type: ignore[arg-type]
    if not part.studies.height:
        given = " ".join(f"--{name} {value}" for name, values in options.items() for value in values or [])
        raise OptarenaError(f"no study of store {store} matches {given} (optarena status {store} --studies lists them)")
    return part
