"""`optarena merge`: several stores in one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from optarena._numbers import counted
from optarena._text import clean
from optarena.cli._terminal import say
from optarena.errors import OptarenaError
from optarena.facade import open_store
from optarena.store import Store
from optarena.store.merging import merge


def command(
    stores: Annotated[list[Path], typer.Argument(help="The stores to merge.")],
    output: Annotated[
        Path | None, typer.Option("-O", "--output", help="The store that receives them; it may exist.")
    ] = None,
    old: Annotated[Path | None, typer.Option("-o", hidden=True)] = None,
) -> None:
    """Equal rows collapse; where rows contradict each other, nothing is merged."""
    if old is not None and output is None:
        say(f"optarena: -o names optimizers, -O what is written; taken as -O {clean(old)}", file=sys.stderr)
        output = old
    if output is None:
        raise OptarenaError(f"give the store that receives them: optarena merge {stores[0]} … -O STORE")
    merge([Store(path) for path in stores], Store(output))
    results = open_store(output)
    frame = results.studies
    say(f"{clean(output)} has {counted(frame.height, 'study')}, {frame['evaluations'].sum():,} evaluations")
    for note in results.notes():
        say(f"note: {clean(note)}")
