"""`optarena cancel`: stop the pilots of a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optarena._numbers import counted
from optarena._text import clean
from optarena.runner.ending import stop
from optarena.runner.slurm_pilots import cancel


def command(store: Annotated[Path, typer.Argument(help="The store's directory.")]) -> None:
    """Pilots end in order within seconds; `optarena run` again adds what is missing."""
    stopped = stop(store)
    cancel(store, stopped)
    if not stopped:
        print(f"no run of {clean(store)} waits for pilots or has any")
    for run in stopped:
        print(f"run {run.id} is cancelled: its {counted(run.pilots, 'pilot')} stop, what was evaluated is kept")
