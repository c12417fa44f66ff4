"""`optarena try`: which optimizer for my problem? Runs a panel until decided, answers, and writes the report."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn

import typer

from optarena._files import must_be_writable
from optarena._text import clean
from optarena.cli._terminal import say_command
from optarena.errors import NotInstalled, OptarenaError, WorkError
from optarena.experiment import Use
from optarena.optimizer import OPTIMIZERS
from optarena.problem import SUITES
from optarena.settings import read_call
from optarena.trying import Recommendation, try_optimizers
from optarena.trying.naming import report_of
from optarena.trying.recommendation import on_screen
from optarena.trying.watching import Watching


def command(
    problem: Annotated[
        str,
        typer.Argument(
            metavar="PROBLEM",
            help="mine.py:loss (a function with a space), mine.toml (a program), or an id such as functions/branin/d2.",
        ),
    ],
    budget: Annotated[
        str | None,
        typer.Option(
            "-n",
            "--budget",
            metavar="EVALUATIONS",
            help="Evaluations of each run: a number, or '20*D' [that, but 50 to 200; 50 if one takes over a second].",
        ),
    ] = None,
    optimizer: Annotated[
        list[str] | None,
        typer.Option(
            "-o",
            "--optimizer",
            help="A name or my.py:MyOptimizer, perhaps with settings; repeat [a panel that fits, docs/try.md].",
        ),
    ] = None,
    trials: Annotated[
        int | None, typer.Option("-r", "--trials", help="At most N trials of each [20, or 10 if they are slow].")
    ] = None,
    store: Annotated[Path | None, typer.Option("--store", help="Directory for the results [mine-results].")] = None,
    output: Annotated[
        Path | None, typer.Option("-O", "--output", help="The report to write [mine-loss-report.html].")
    ] = None,
    seed: Annotated[
        str | None,
        typer.Option("--seed", metavar="SEED", help="A number such as 42 that makes the runs repeatable [drawn]."),
    ] = None,
    workers: Annotated[int | None, typer.Option("--workers", help="Processes; 0 runs in this one [all cores].")] = None,
) -> None:
    """Run a panel of optimizers on one problem until it is decided which to use, and answer."""
    signal.signal(signal.SIGTERM, _interrupt)
    given = SUITES.reference(problem).absolute
    chosen = None if optimizer is None else [_optimizer(text) for text in optimizer]
    path = output or Path(report_of(given))
    must_be_writable(path)
    watching = Watching()
    try:
        found = try_optimizers(
            given,
            budget,
            optimizers=chosen,
            max_trials=trials,
            seed=seed,
            store=store,
            workers=workers,
            progress=watching,
        )
    except KeyboardInterrupt:
        watching.__exit__()
        _so_far(watching)
        raise typer.Exit(130) from None
    print(found)
    written = True
    try:
        print(on_screen(f"Full report: {clean(found.report(path))}"))
    except NotInstalled as error:
        print(on_screen(f"No report: {error}"))
    except WorkError as error:  # the answer is there, and so are its studies
        written = False
        print(on_screen(f"No report: {error}."))
        say_command("Write it elsewhere:", ["optarena", "report", str(found.results.path), "-O", "FILE"])
    if not found.decided:
        say_command("Go on:", _again(["-r", str(2 * found.race.rounds)]))
    if not written:
        raise typer.Exit(1)


def _so_far(watching: Watching) -> None:
    """What is known when it is interrupted."""
    if watching.place is not None:
        try:
            found = Recommendation.of_store(watching.place, watching.problem)
            print(on_screen(f"After {found.race.rounds} of at most {watching.rounds} rounds:"))
            print(found)
        except OptarenaError:  # not one round is finished
            pass
    say_command("interrupted; what was evaluated is kept. Continue:", _again([]), file=sys.stderr)


def _again(more: list[str]) -> list[str]:
    """The command that continues, with these options instead of what they replace."""
    words = list(sys.argv[1:])
    for option in more[::2]:
        while option in words:
            at = words.index(option)
            del words[at : at + 2]
    return ["optarena", *words, *more]


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _optimizer(text: str) -> Use:
    """The optimizer that a flag names, perhaps with settings: CMA-ES(popsize=8)."""
    if Path(text).suffix.lower() in (".html", ".htm"):
        raise OptarenaError(f"-o names an optimizer; the report's file is given by -O {text}")
    name, settings = read_call(text)
    return Use(OPTIMIZERS.reference(name).absolute, settings)
