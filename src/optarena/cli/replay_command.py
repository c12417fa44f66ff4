"""`optarena replay`: run a study again, and prove that it is the same."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optarena._numbers import counted
from optarena._text import clean
from optarena.cli._terminal import say
from optarena.runner.again import replay


def command(
    store: Annotated[Path, typer.Argument(help="The store's directory.")],
    study: Annotated[str, typer.Argument(help="A study's id, or the beginning of it.")],
) -> None:
    """Exit 0 if every value is the same, 1 if not."""
    verdict = replay(store, study)
    if verdict.same:
        say(f"the same: {counted(verdict.compared, 'evaluation')} of study {verdict.study}, bit for bit")
    else:
        say(f"not the same after {counted(verdict.compared, 'evaluation')} of study {verdict.study}")
        say(f"first difference: {clean(verdict.difference)}")
    for fact in verdict.facts:
        say(f"changed: {clean(fact)}")
    if not verdict.same and not verdict.facts:
        say("nothing that was recorded beside has changed: the study is not repeatable")
    if not verdict.same:
        raise typer.Exit(1)
