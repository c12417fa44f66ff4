"""`optarena verify`: is every byte of a store as it was written?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optarena.cli._text import clean, counted
from optarena.store import Store
from optarena.store.repairing import verify


def command(store: Annotated[Path, typer.Argument(help="The store's directory.")]) -> None:
    """Read all of it again; exit 1 if something is damaged."""
    found = verify(Store(store))
    files = [
        counted(n, what) for n, what in ((found.journals, "journal"), (found.shards, "shard"), (found.runs, "run file"))
    ]
    print(f"store {store}: {', '.join(files)}, {found.size / 1e6:,.1f} MB")
    if not found.damage:
        print("everything is as it was written")
        return
    print(f"{counted(len(found.damage), 'place')} damaged; what stood there counts as missing")
    for item in found.damage:
        print(f"  {clean(item.text)}")
    print(f"'optarena repair {store}' moves it aside, and the run's own command makes it again")
    raise typer.Exit(1)
