"""`optarena compact`: put journals that are at rest into shards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optarena._numbers import counted
from optarena._text import clean
from optarena.cli._terminal import say
from optarena.store import Store
from optarena.store.compaction import compact


def command(store: Annotated[Path, typer.Argument(help="The store's directory.")]) -> None:
    """Smaller and quicker to open; nothing is lost."""
    done = compact(Store(store))
    if not done.journals:
        say("nothing to compact")
    else:
        where = f"shards/{done.shards[0]}" if len(done.shards) == 1 else counted(len(done.shards), "shard")
        are = "is" if done.journals == 1 else "are"
        say(f"{counted(done.journals, 'journal')} with {counted(done.rows, 'row')} {are} now {where}")
    for name, reason in done.left:
        say(f"left unchanged: journal/{clean(name)}: {clean(reason)}")
