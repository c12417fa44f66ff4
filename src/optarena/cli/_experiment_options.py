"""The options that make an experiment on the command line: each declared once, for run and jobs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from optarena.errors import OptarenaError
from optarena.experiment import Experiment, Use
from optarena.optimizer import OPTIMIZERS
from optarena.problem import SUITES
from optarena.settings import read_call
from optarena.solver import SOLVERS, is_solver


def experiment_of(
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
            "-s",
            "--solver",
            help="A solver's name, my.py:MySolver, or program.toml (docs/solvers.md), perhaps with settings:"
            " 'CP-SAT(linearization=2)'; repeat.",
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
        int | None, typer.Option("--max-trials", help="With --until-decided: at most N trials of each [100].")
    ] = None,
    max_evaluations: Annotated[
        int | None,
        typer.Option("--max-evaluations", help="With --until-decided: at most N evaluations in all."),
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
    seed: Annotated[
        str | None,
        typer.Option("--seed", metavar="SEED", help="A number such as 42, or the root that a run printed."),
    ] = None,
    isolated: Annotated[
        bool,
        typer.Option(
            "--isolated", help="Each optimizer's library in an environment of its own (docs/environments.md)."
        ),
    ] = False,
    evaluation_limit: Annotated[
        float | None, typer.Option("--evaluation-limit", metavar="SECONDS", help="Hard limit on one evaluation.")
    ] = None,
    study_limit: Annotated[
        float | None, typer.Option("--study-limit", metavar="SECONDS", help="Hard limit on one study.")
    ] = None,
    memory_limit: Annotated[
        float | None, typer.Option("--memory-limit", metavar="MB", help="Hard limit on a worker's memory.")
    ] = None,
) -> Experiment:
    """The experiment of a file and flags."""
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
        "isolated": isolated or None,
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
        return Experiment.from_data(given)
    return Experiment.load(file, **given)


def with_experiment_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command with all options of an experiment, which it gets as `experiment`; `words` are those that were given."""
    own, added = (inspect.signature(one, eval_str=True).parameters for one in (command, experiment_of))
    mine = [one for name, one in own.items() if name not in ("experiment", "words")]
    parameters = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in (*added.values(), *mine)]

    @functools.wraps(command)
    def wrapped(**arguments: Any) -> None:
        values = {name: arguments.pop(name) for name in added}
        if "sbatch" in own and str(values["file"] or "").startswith("-"):  # after --, where no file was given
            arguments["sbatch"] = [str(values["file"]), *(arguments["sbatch"] or ())]
            values["file"] = None
        told = {"words": _words(added, values)} if "words" in own else {}
        command(experiment=experiment_of(**values), **told, **arguments)

    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {one.name: one.annotation for one in parameters}
    return wrapped


def _words(parameters: Mapping[str, inspect.Parameter], values: Mapping[str, Any]) -> list[str]:
    """The options that were given, as words of a command line; without the seed."""
    out = []
    for name, value in values.items():
        if name == "seed" or value is None or value is False:
            continue
        (option,) = parameters[name].annotation.__metadata__
        for item in value if isinstance(value, list) else [value]:
            # where an option has only one name, Typer keeps it as the default until the command is made
            flag = [] if name == "file" else [[option.default, *option.param_decls][-1]]
            out += [*flag, *([] if item is True else [str(item)])]
    return out


def _optimizer(text: str) -> Use:
    """The optimizer that a flag names, perhaps with settings: CMA-ES(popsize=8)."""
    name, settings = read_call(text)
    return Use(OPTIMIZERS.reference(name).absolute, settings)


def _solver(text: str) -> Use:
    """The solver that a flag names, perhaps with settings: CP-SAT(linearization=2)."""
    name, settings = read_call(text)
    if not is_solver(name):
        if SOLVERS.reference(name).describes("optimizer"):
            raise OptarenaError(f"{name} describes an optimizer, not a solver: -o {name}")
        SOLVERS.entry(name)
    return Use(SOLVERS.reference(name).absolute, settings)
