"""`optarena import`: data of other tools, or of a spreadsheet, as studies of a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optarena._numbers import counted
from optarena._text import clean
from optarena.cli._conflicts import name_conflicts
from optarena.cli._terminal import say
from optarena.facade import open_store
from optarena.formats import import_files
from optarena.formats.admission import Imported
from optarena.formats.tidy import SHOWN


def command(
    format: Annotated[str, typer.Argument(help="What the files are: csv, coco, bayesmark, … (optarena list formats).")],
    paths: Annotated[list[Path], typer.Argument(help="The files, folders or archives.")],
    store: Annotated[Path, typer.Option("--store", help="The store that receives them; it may exist.")] = Path(
        "results"
    ),
) -> None:
    """All files are checked first; a mistake is named by its place, and then nothing is imported.

    Of a folder (coco, iohprofiler) what cannot be read is named and left out.
    """
    for done in import_files(format, paths, store):
        say(f"{clean(done.name)}: {_counts(done)}{_already(done)}")
        for text in done.notices[:SHOWN]:
            say(f"  {clean(text)}")
        if len(done.notices) > SHOWN:
            say(f"  … and {len(done.notices) - SHOWN:,} more")
    frame = open_store(store).studies
    name = clean(store)
    say(f"{name} has {counted(frame.height, 'study')}   ·   look: optarena status {name}")
    name_conflicts(frame)


def _counts(done: Imported) -> str:
    """A run makes evaluations, of which all or the improvements are kept as rows."""
    made, kept = counted(done.evaluations, "evaluation"), counted(done.rows, "row")
    return f"{counted(done.studies, 'run')}, {made}, {kept}"


def _already(done: Imported) -> str:
    """Which of the runs exist already, and where."""
    if not done.present:
        return ""
    where = " and ".join(f"{counted(n, 'run')} already in {clean(place)}" for place, n in done.present.items())
    return f"; {'not added' if done.new else 'nothing added'}: {where}"
