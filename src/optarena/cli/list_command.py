"""`optarena list`: what can be named in an experiment."""

from __future__ import annotations

import sys
from enum import StrEnum
from itertools import islice
from typing import Annotated

import typer

from optarena._text import clean, table
from optarena.errors import OptarenaError, describe
from optarena.formats import FORMATS
from optarena.optimizer import OPTIMIZERS
from optarena.problem import SUITES, get_suite, select
from optarena.registry import Entry
from optarena.solver import SOLVERS


class Kind(StrEnum):
    optimizers = "optimizers"
    problems = "problems"
    solvers = "solvers"
    formats = "formats"


def command(
    kind: Annotated[Kind, typer.Argument(help="optimizers, solvers, problems or formats.")],
    pattern: Annotated[str | None, typer.Argument(help="For problems: list the ids that this selects.")] = None,
) -> None:
    """Names, and what is behind them."""
    if kind is not Kind.problems and pattern is not None:
        raise OptarenaError(f"list {kind} takes no pattern")
    if kind is Kind.formats:
        cells = [[f.name, "yes" if f.reads else "", "yes" if f.writes else "", f.what] for f in FORMATS.entries()]
        print(table(["format", "import", "export", "what"], cells))
    elif kind is Kind.optimizers:
        headers = ["optimizer", "library", "installed", "capabilities", "licence", "maintained"]
        print(table(headers, [_optimizer(entry) for entry in OPTIMIZERS.entries()]))
    elif kind is Kind.solvers:
        headers = ["solver", "library", "installed", "takes", "settings", "licence"]
        print(table(headers, [_solver(entry) for entry in SOLVERS.entries()]))
    elif pattern is not None:
        notices: list[str] = []
        for id in select(pattern, notices=notices):
            print(clean(id))
        for notice in notices:
            print(clean(notice), file=sys.stderr)
    else:
        rows = []
        for name in SUITES.names():
            suite = get_suite(name)
            rows.append([name, sum(1 for _ in suite.ids()), ", ".join(islice(suite.ids(), 2)) + ", …", suite.summary])
        print(table(["suite", "problems", "ids", "what"], rows, right=("problems",)))
        print("optarena list problems PATTERN lists ids, such as 'functions/*/d2'")


def _optimizer(entry: Entry) -> list[str]:
    installed = "yes" if entry.installed else entry.install
    return [entry.name, entry.library, installed, _capabilities(entry), entry.licence, entry.maintained]


def _solver(entry: Entry) -> list[str]:
    try:
        cls = entry.load()
        takes, settings = ", ".join(cls.takes), ", ".join(cls.settings)
    except Exception as error:  # a plug-in may fail in any way
        takes, settings = f"does not load: {describe(error)}", ""
    return [entry.name, entry.library, "yes" if entry.installed else entry.install, takes, settings, entry.licence]


def _capabilities(entry: Entry) -> str:
    try:
        can = entry.load().capabilities
    except Exception as error:  # a plug-in may fail in any way
        return f"does not load: {describe(error)}"
    words = {
        "batch": can.batch,
        "unsuggested points": can.unsuggested,
        "mixed spaces": can.mixed,
        "several objectives": can.several_objectives and can.one_objective,
        "several objectives only": not can.one_objective,
        "constraints": can.constraints,
        "uses the budget": can.uses_budget,
    }
    return ", ".join(word for word, yes in words.items() if yes)
