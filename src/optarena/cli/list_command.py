"""`optarena list`: what can be named in an experiment."""

from __future__ import annotations

from enum import StrEnum
from itertools import islice
from typing import Annotated

import typer

from optarena.cli._text import table
from optarena.errors import OptarenaError
from optarena.optimizer import entries, get_optimizer
from optarena.problem import get_suite, select, suite_names


class Kind(StrEnum):
    optimizers = "optimizers"
    problems = "problems"


def command(
    kind: Annotated[Kind, typer.Argument(help="optimizers or problems.")],
    pattern: Annotated[str | None, typer.Argument(help="For problems: list the ids that this selects.")] = None,
) -> None:
    """Names, and what is behind them."""
    if kind is Kind.optimizers:
        if pattern is not None:
            raise OptarenaError("list optimizers takes no pattern")
        print(
            table(
                ["optimizer", "library", "capabilities"],
                [[e.name, e.library, _capabilities(e.name)] for e in entries()],
            )
        )
    elif pattern is not None:
        for id in select(pattern):
            print(id)
    else:
        rows = []
        for name in suite_names():
            suite = get_suite(name)
            rows.append([name, sum(1 for _ in suite.ids()), ", ".join(islice(suite.ids(), 2)) + ", …", suite.summary])
        print(table(["suite", "problems", "ids", "what"], rows, right=("problems",)))
        print("optarena list problems PATTERN lists ids, as 'functions/*/d2'")


def _capabilities(name: str) -> str:
    try:
        can = get_optimizer(name).capabilities
    except OptarenaError as error:
        return str(error)
    words = {
        "batch": can.batch,
        "unsuggested points": can.unsuggested,
        "mixed spaces": can.mixed,
        "several objectives": can.several_objectives,
        "constraints": can.constraints,
    }
    return ", ".join(word for word, yes in words.items() if yes)
