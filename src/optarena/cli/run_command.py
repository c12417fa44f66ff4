"""`optarena run`: make an experiment of a file and flags, run what its store lacks, say how to go on."""

from __future__ import annotations

import shlex
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer

from optarena._text import clean
from optarena.cli._progress import RunProgress
from optarena.cli._terminal import say, say_command
from optarena.errors import OptarenaError
from optarena.experiment import Experiment, Use
from optarena.facade import execute
from optarena.optimizer import OPTIMIZERS
from optarena.problem import SUITES
from optarena.settings import read_call
from optarena.solver import SOLVERS, is_solver


def command(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="EXPERIMENT.toml", help="The experiment; flags replace its fields."),
    ] = None,
    optimizer: Annotated[
        list[str] | None,
        typer.Option(
            "-o",
            "--optimizer",
            help="A name, my.py:MyOptimizer, my.toml (a program, docs/protocol.md), or a wrapper for Bayesmark"
            " (folder:Name, folder/), perhaps with settings: 'CMA-ES(popsize=8)'; repeat.",
        ),
    ] = None,
    solver: Annotated[
        list[str] | None,
        typer.Option(
            "-s", "--solver", help="A solver's name, my.py:MySolver, or program.toml (docs/solvers.md); repeat."
        ),
    ] = None,
    problem: Annotated[
        list[str] | None,
        typer.Option(
            "-p",
            "--problem",
            help="An id or pattern, such as 'bbob/f{1..24}/d5/*', or my.py:problem, or my.toml; repeat for more.",
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            "-n",
            "--budget",
            metavar="EVALUATIONS",
            help="Evaluations per study: a number, or an expression such as '100*D'.",
        ),
    ] = None,
    trials: Annotated[int | None, typer.Option("-r", "--trials", help="Repetitions of each pairing [1].")] = None,
    until_decided: Annotated[
        bool,
        typer.Option(
            "--until-decided",
            help="Add trials, round by round, until it is clear which optimizer is better (docs/race.md).",
        ),
    ] = False,
    max_trials: Annotated[
        int | None, typer.Option("--max-trials", help="With --until-decided: at most so many trials of each [100].")
    ] = None,
    max_evaluations: Annotated[
        int | None,
        typer.Option("--max-evaluations", help="With --until-decided: at most so many evaluations in all."),
    ] = None,
    leader_only: Annotated[
        bool, typer.Option("--leader-only", help="With --until-decided: stop when the best one is known.")
    ] = False,
    view: Annotated[
        str | None,
        typer.Option("--view", help="With --until-decided: whose score of a trial decides [the one that answers]."),
    ] = None,
    batch: Annotated[int | None, typer.Option("--batch", help="Points suggested at a time [1].")] = None,
    seconds: Annotated[float | None, typer.Option("--seconds", help="Seconds a study may spend.")] = None,
    target: Annotated[
        float | None, typer.Option("--target", help="Stop a study when f - optimum reaches this.")
    ] = None,
    record: Annotated[
        str | None, typer.Option("--record", help="'all' evaluations or 'improvements' only [all].")
    ] = None,
    store: Annotated[Path, typer.Option("--store", help="Directory for the results.")] = Path("results"),
    seed: Annotated[
        str | None,
        typer.Option("--seed", metavar="SEED", help="A number such as 42, or the root that a run printed."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", help="Processes; 0 runs in this one, without hard limits [all cores].")
    ] = None,
    kernels: Annotated[
        str,
        typer.Option(
            "--kernels",
            help="'pinned': the same bits on every x86-64 CPU with AVX2; 'native': what this CPU offers.",
        ),
    ] = "pinned",
    evaluation_limit: Annotated[
        float | None, typer.Option("--evaluation-limit", metavar="SECONDS", help="Hard limit on one evaluation.")
    ] = None,
    study_limit: Annotated[
        float | None, typer.Option("--study-limit", metavar="SECONDS", help="Hard limit on one study.")
    ] = None,
    memory_limit: Annotated[
        float | None, typer.Option("--memory-limit", metavar="MB", help="Hard limit on a worker's memory.")
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Run failed and timed-out studies again.")] = False,
    new: Annotated[bool, typer.Option("--new", help="Start again under a new root; old studies are kept.")] = False,
) -> None:
    """Make the experiment and run it."""
    # a file that a flag names is looked up in the current directory, whatever the experiment's file says
    flags: dict[str, Any] = {
        "optimizers": [_optimizer(text) for text in optimizer or ()] + [_solver(name) for name in solver or ()],
        "problems": [SUITES.reference(name).absolute for name in problem or ()],
        "budget": budget,
        "trials": trials,
        "until_decided": until_decided or None,
        "max_trials": max_trials,
        "max_evaluations": max_evaluations,
        "leader_only": leader_only or None,
        "view": view,
        "batch": batch,
        "seconds": seconds,
        "target": target,
        "record": record,
        "seed": seed,
    }
    limits = {"evaluation": evaluation_limit, "study": study_limit, "memory": memory_limit}
    flags["limits"] = {key: value for key, value in limits.items() if value is not None} or None
    given = {key: value for key, value in flags.items() if value is not None and value != []}
    if file is None:
        for key, flag in (("optimizers", "-o OPTIMIZER or -s SOLVER"), ("problems", "-p PROBLEM")):
            if key not in given:
                raise OptarenaError(f"nothing to run: give an EXPERIMENT.toml, or {flag} (optarena run --help)")
        if "budget" not in given and "seconds" not in given:
            raise OptarenaError("no budget: give evaluations with -n (a number, or '100*D'), or --seconds")
        experiment = Experiment.from_data(given)
    else:
        experiment = Experiment.load(file, **given)
    signal.signal(signal.SIGTERM, _interrupt)
    with RunProgress(str(store)) as progress:
        try:
            race = execute(experiment, store, workers=workers, retry=retry, new=new, kernels=kernels, progress=progress)
        except KeyboardInterrupt:
            progress.__exit__()
            again = ["optarena", *[word for word in sys.argv[1:] if word != "--new"]]
            say_command("interrupted; what was evaluated is kept. Continue:", again, file=sys.stderr)
            raise typer.Exit(130) from None
    say(progress.summary())
    if race is not None:
        say("\n".join(clean(sentence) for sentence in race.sentences))
    place = clean(shlex.quote(str(store)))
    say(f"look: optarena compare {place}   ·   optarena report {place}")
    if progress.failed:
        raise typer.Exit(1)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _optimizer(text: str) -> Use:
    """The optimizer that a flag names, perhaps with settings: CMA-ES(popsize=8)."""
    name, settings = read_call(text)
    return Use(OPTIMIZERS.reference(name).absolute, settings)


def _solver(name: str) -> str:
    if not is_solver(name):
        if SOLVERS.reference(name).describes("optimizer"):
            raise OptarenaError(f"{name} describes an optimizer, not a solver: -o {name}")
        SOLVERS.entry(name)
    return SOLVERS.reference(name).absolute
