"""Studies whose rows contradict each other, as import and merge name them."""

from __future__ import annotations

import polars as pl
import typer

from optarena._numbers import counted
from optarena._text import table
from optarena.cli._terminal import say, terminal_width


def name_conflicts(studies: pl.DataFrame) -> None:
    """Name them and exit with 1, if there are any."""
    bad = studies.filter(pl.col("conflicts") > 0)
    if not bad.height:
        return
    say(f"{counted(bad.height, 'study')} with rows that contradict each other (the first that was written counts)")
    names = ["study", "problem", "optimizer", "trial", "conflicts"]
    print(table(names, bad.select(names).rows(), right=("trial", "conflicts"), width=terminal_width(), drop=("study",)))
    raise typer.Exit(1)
