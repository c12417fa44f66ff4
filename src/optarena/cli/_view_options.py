"""The options of views on the command line: each declared once, for score, compare, figure and report.

Which view has which option is declared in `optarena.views._options`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from optarena.errors import OptarenaError


class Over(StrEnum):
    problems = "problems"
    trials = "trials"


class Horizon(StrEnum):
    budget = "budget"
    box = "box"


def given(
    mode: Annotated[
        str | None,
        typer.Option(
            "--mode",
            help="exact, or exactly as another tool: bayesmark (fixed-cost), coco (fixed-target), aries (anytime).",
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            help="fixed-cost: a hidden metric, or value for the objective; compare, fixed-target: area, aocc, …; "
            "compare, pareto: an indicator.",
        ),
    ] = None,
    targets: Annotated[
        str | None,
        typer.Option("--targets", help="fixed-target: 1e1,1e-1,… or relative:1,0.1,… or runlength:0.5,1.2,3,10,50."),
    ] = None,
    indicator: Annotated[
        str | None,
        typer.Option("--indicator", help="fixed-target: runtimes to hypervolume_ratio, igd_plus, … of fronts."),
    ] = None,
    budget: Annotated[
        float | None, typer.Option("--budget", help="fixed-target: cut runs off after this effort per dimension.")
    ] = None,
    axis: Annotated[
        str | None,
        typer.Option("--axis", help="batches, evaluations, seconds, cost.tokens, or another effort of the store."),
    ] = None,
    horizon: Annotated[
        Horizon | None,
        typer.Option("--horizon", help="anytime: from 0 to the budget, or from the first to the last solution of all."),
    ] = None,
    gap: Annotated[
        float | None, typer.Option("--gap", help="anytime: an instance is solved at this primal gap; 0 by default.")
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option("--tolerance", help="anytime: a solution counts if it is better by more than this; 0 by default."),
    ] = None,
    over: Annotated[
        Over | None,
        typer.Option(
            "--over", help="Intervals and claims for similar problems, or for new trials on exactly these problems."
        ),
    ] = None,
    frame: Annotated[
        Path | None, typer.Option("--frame", help="Score against a saved frame, or a baseline of Bayesmark.")
    ] = None,
    bootstrap: Annotated[
        int | None,
        typer.Option(
            "--bootstrap", help="Resamples for intervals (fixed-cost: adds the uncertainty of random search)."
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, help="fixed-cost, fixed-target: seed of these resamples [0]."),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option("--reference", help="pareto: true, crowding, bdom-count or cdom; true where known by default."),
    ] = None,
    size: Annotated[int | None, typer.Option("--size", help="pareto: the number of points of a reference set.")] = None,
    epsilon: Annotated[
        str | None,
        typer.Option("--epsilon", help="pareto: parameters within it are the same; 0.01, or rate=0.01,depth=1."),
    ] = None,
    reference_point: Annotated[
        float | None, typer.Option("--reference-point", help="pareto: of hypervolumes; the ideal is 0, the nadir 1.")
    ] = None,
) -> dict[str, Any]:
    """The options that were given, as keyword arguments of a view."""
    values = {name: value for name, value in locals().items() if value is not None}
    if epsilon is not None:
        values["epsilon"] = _epsilon(epsilon)
    return {name: value.value if isinstance(value, StrEnum) else value for name, value in values.items()}


ViewName = Annotated[str | None, typer.Option("--view", help="fixed-cost, fixed-target, pareto or anytime.")]


def with_view_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command with all options of views, which it gets as the dict `options`: only those that were given.

    An option that the command has itself, such as the seed of compare, stays its own.
    """
    own, every = (inspect.signature(one, eval_str=True).parameters for one in (command, given))
    added = {name: one for name, one in every.items() if name not in own}
    named = [one for name, mine in own.items() for one in (added.values() if name == "options" else (mine,))]
    parameters = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in named]

    @functools.wraps(command)
    def wrapped(**arguments: Any) -> None:
        command(options=given(**{name: arguments.pop(name) for name in added}), **arguments)

    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {one.name: one.annotation for one in parameters}
    return wrapped


def _epsilon(text: str) -> float | dict[str, float]:
    """`0.01`, or `rate=0.01,depth=1`."""
    try:
        if "=" not in text:
            return float(text)
        pairs = (part.rpartition("=") for part in text.split(",") if part.strip())
        return {name.strip(): float(value) for name, _, value in pairs}
    except ValueError:
        raise OptarenaError(f"--epsilon is a number, or name=number,name=number; got {text!r}") from None
