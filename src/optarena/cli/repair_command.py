"""`optarena repair`: move what is damaged aside."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optarena._numbers import counted
from optarena._text import clean
from optarena.cli._terminal import say
from optarena.store import Store
from optarena.store.repairing import ASIDE, repair


def command(store: Annotated[Path, typer.Argument(help="The store's directory.")]) -> None:
    """Keep what is good of damaged files, and the files themselves in damaged/; nothing is deleted."""
    done = repair(Store(store))
    if not done.moved and not done.left:
        say("nothing to repair: no damage was found")
        return
    for file in done.moved:
        kept = f"; its {counted(done.kept[file], 'good line')} stay" if file in done.kept else ""
        say(f"{clean(file)} is now in {ASIDE}/{kept}")
    for file, reason in done.left:
        say(f"left unchanged: {clean(file)}: {clean(reason)}")
    if done.moved:
        say("the same 'optarena run …' as before makes the missing data again")
    if done.left:
        raise typer.Exit(1)
