"""The options by which score, compare, figure, report and export choose studies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optarena.errors import OptarenaError
from optarena.facade import Results, open_store

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


def chosen(store: Path, optimizer: list[str] | None, problem: list[str] | None, dimension: list[int] | None) -> Results:
    """The store, or the part of it that the options name."""
    results = open_store(store)
    if not (optimizer or problem or dimension):
        return results
    part = results.filter(optimizer=optimizer or None, problem=problem or None, dimension=dimension or None)
    if not part.studies.height:
        given = " ".join(
            f"--{name} {value}"
            for name, values in (("optimizer", optimizer), ("problem", problem), ("dimension", dimension))
            for value in values or []
        )
        file = "; -O names the file to write" if any(name.endswith(".html") for name in optimizer or []) else ""
        raise OptarenaError(
            f"no study of store {store} matches {given} (optarena status {store} --studies lists them{file})"
        )
    return part
