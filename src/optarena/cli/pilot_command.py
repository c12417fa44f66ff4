"""`optarena pilot`: do a part of a run that was announced in a store."""

from __future__ import annotations

import signal
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn

import typer

from optarena._numbers import counted
from optarena._process import host
from optarena._text import clean
from optarena.errors import OptarenaError
from optarena.runner.pilot import pilot

HOW = {
    "done": "the run is done",
    "stopped": "stopped; other pilots continue; run the same command to continue here",
    "idle": "nothing was left to claim for ten minutes; other pilots have the rest",
    "over": "nothing to do: the run is over",
}


def command(
    store: Annotated[Path, typer.Argument(help="The store's directory.")],
    run: Annotated[str, typer.Argument(help="The run, as it was announced.")],
    number: Annotated[int, typer.Option("--number", help="Which pilot of the run this is, from 1 on.")] = 1,
    workers: Annotated[int | None, typer.Option("--workers", help="Processes [all cores that it may use].")] = None,
    parent: Annotated[int | None, typer.Option("--parent", hidden=True)] = None,
) -> None:
    """Claim chunks of the run's studies and run them, until all are done."""
    if number < 1 or (workers is not None and workers < 1):
        raise OptarenaError("--number and --workers: expected whole numbers of at least 1")
    signal.signal(signal.SIGTERM, _interrupt)
    flight = pilot(store, run, number=number, workers=workers, parent=parent)
    print(f"pilot {number} on {clean(host())}: {counted(flight.studies, 'study')}; {HOW[flight.how]}")


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
