"""`optarena list`: what can be named in an experiment."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any

import typer

from optarena._text import clean, table
from optarena.cli._terminal import Wide, say, terminal_width
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
    figures = "figures"


def command(
    kind: Annotated[Kind, typer.Argument(help="optimizers, solvers, problems, formats or figures.")],
    pattern: Annotated[str | None, typer.Argument(help="For problems: list the ids that this selects.")] = None,
    wide: Wide = False,
) -> None:
    """Names, and what is behind them."""
    width = terminal_width(wide=wide)
    if kind is not Kind.problems and pattern is not None:
        raise OptarenaError(f"list {kind} takes no pattern")
    if kind is Kind.formats:
        cells = [[f.name, "yes" if f.reads else "", "yes" if f.writes else "", f.what] for f in FORMATS.entries()]
        print(table(["format", "import", "export", "what"], cells, fold=("what",), width=width))
    elif kind is Kind.figures:
        from optarena.cli.figure_command import listing  # the other kinds need no figures

        print(listing(width))
    elif kind is Kind.optimizers:
        headers = ["optimizer", "library", "installed", "capabilities", "licence", "maintained"]
        drop = ("maintained", "licence", "library")
        rows = [_optimizer(entry) for entry in OPTIMIZERS.entries()]
        print(table(headers, rows, fold=("capabilities",), width=width, drop=drop))
        _say_missing(OPTIMIZERS.entries())
    elif kind is Kind.solvers:
        headers = ["solver", "library", "installed", "takes", "settings", "licence"]
        rows = [_solver(entry) for entry in SOLVERS.entries()]
        print(table(headers, rows, fold=("takes", "settings"), width=width, drop=("licence", "library")))
        _say_missing(SOLVERS.entries())
    elif pattern is not None:
        notices: list[str] = []
        for id in select(pattern, notices=notices):
            print(clean(id))
        for notice in notices:
            print(clean(notice), file=sys.stderr)
    else:
        suites: list[list[Any]] = []
        for name in SUITES.names():
            suite = get_suite(name)
            suites.append([name, sum(1 for _ in suite.ids()), next(iter(suite.ids()), ""), suite.summary])
        print(table(["suite", "problems", "such as", "what"], suites, right=("problems",), fold=("what",), width=width))
        say("optarena list problems PATTERN lists ids, such as 'functions/*/d2'")


def _optimizer(entry: Entry) -> list[str]:
    return [entry.name, entry.library, _installed(entry), _capabilities(entry), entry.licence, entry.maintained]


def _solver(entry: Entry) -> list[str]:
    try:
        cls = entry.load()
        takes, settings = ", ".join(cls.takes), ", ".join(cls.settings)
    except Exception as error:  # a plug-in may fail in any way
        takes, settings = f"does not load: {describe(error)}", ""
    return [entry.name, entry.library, _installed(entry), takes, settings, entry.licence]


def _installed(entry: Entry) -> str:
    """yes, or what it needs: an extra in brackets, or a program."""
    return "yes" if entry.installed else f"needs {entry.program or f'[{entry.extra}]'}"


def _say_missing(entries: Iterable[Entry]) -> None:
    """How to get what is not installed: the command of each kind once."""
    missing = [entry for entry in entries if not entry.installed]
    if any(not entry.program for entry in missing):
        say("an extra in brackets is installed with pip, such as: " + next(e.install for e in missing if not e.program))
    for text in dict.fromkeys(entry.install for entry in missing if entry.program):
        say(text)


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
