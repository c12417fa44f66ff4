"""`optarena merge`: several stores in one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optarena._numbers import counted
from optarena._text import clean
from optarena.cli._terminal import say
from optarena.facade import open_store
from optarena.store import Store
from optarena.store.merging import merge


def command(
    stores: Annotated[list[Path], typer.Argument(help="The stores to merge.")],
    output: Annotated[Path, typer.Option("-O", "--output", help="The store that receives them; it may exist.")],
) -> None:
    """Equal rows collapse; where rows contradict each other, nothing is merged."""
    merge([Store(path) for path in stores], Store(output))
    results = open_store(output)
    frame = results.studies
    say(f"{clean(output)} has {counted(frame.height, 'study')}, {frame['evaluations'].sum():,} evaluations")
    for note in results.notes():
        say(f"note: {clean(note)}")
