"""`optarena score`: a view of a store as a table, JSON, CSV or LaTeX."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from optarena._files import write_whole
from optarena._json import strict
from optarena.cli._choose import Dimensions, Optimizers, Problems, chosen
from optarena.cli._terminal import print_json, terminal_width
from optarena.errors import OptarenaError
from optarena.facade import Results
from optarena.formats.csv import for_people
from optarena.report import boards
from optarena.views._view import View


class ViewName(StrEnum):
    fixed_cost = "fixed-cost"
    fixed_target = "fixed-target"
    pareto = "pareto"
    anytime = "anytime"


OPTIONS = {
    ViewName.fixed_cost: ("mode", "metric", "axis", "over", "bootstrap", "frame"),
    ViewName.fixed_target: ("mode", "targets", "budget", "axis", "bootstrap", "frame", "indicator"),
    ViewName.pareto: ("axis", "over", "reference", "size", "epsilon", "reference_point", "frame"),
    ViewName.anytime: ("axis", "horizon", "gap", "frame"),
}
"""What may be asked of each view; it is the method of `Results` of that name."""
RUNTIMES = ("targets", "budget", "bootstrap")
"""Of the fixed-target view of an indicator; the others are the pareto view's, whose frame it has."""
_FRONTS = tuple(name for name in OPTIONS[ViewName.pareto] if name != "over")


class Over(StrEnum):
    problems = "problems"
    trials = "trials"


class Horizon(StrEnum):
    budget = "budget"
    box = "box"


class Format(StrEnum):
    table = "table"
    json = "json"
    csv = "csv"
    latex = "latex"


def command(
    store: Annotated[Path, typer.Argument(help="The store's directory.")],
    view: Annotated[ViewName, typer.Option("--view", help="The way to score.")] = ViewName.fixed_cost,
    mode: Annotated[
        str | None,
        typer.Option("--mode", help="exact, or a peer's very numbers: bayesmark (fixed-cost), coco (fixed-target)."),
    ] = None,
    metric: Annotated[
        str | None, typer.Option("--metric", help="fixed-cost: a hidden metric, or value for the objective; else all.")
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
        float | None, typer.Option("--budget", help="fixed-target: cut runs off after so much effort per dimension.")
    ] = None,
    axis: Annotated[
        str | None, typer.Option("--axis", help="batches, evaluations, seconds, or another effort of the store.")
    ] = None,
    horizon: Annotated[
        Horizon | None,
        typer.Option("--horizon", help="anytime: from 0 to the budget, or from the first to the last solution of all."),
    ] = None,
    gap: Annotated[
        float | None, typer.Option("--gap", help="anytime: up to which primal gap an instance is solved; 0 by default.")
    ] = None,
    over: Annotated[
        Over | None,
        typer.Option(
            "--over", help="fixed-cost, pareto: intervals for new problems of the kind, or for new trials on these."
        ),
    ] = None,
    frame: Annotated[
        Path | None, typer.Option("--frame", help="Score against a saved frame, or a baseline of Bayesmark.")
    ] = None,
    save_frame: Annotated[Path | None, typer.Option("--save-frame", help="Write the frame to this file.")] = None,
    bootstrap: Annotated[
        int | None, typer.Option("--bootstrap", help="Resamplings for intervals (fixed-cost: of random search, added).")
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option("--reference", help="pareto: true, crowding, bdom-count or cdom; true where known by default."),
    ] = None,
    size: Annotated[int | None, typer.Option("--size", help="pareto: how many points a reference set has.")] = None,
    epsilon: Annotated[
        str | None,
        typer.Option("--epsilon", help="pareto: parameters within it are the same; 0.01, or rate=0.01,depth=1."),
    ] = None,
    reference_point: Annotated[
        float | None, typer.Option("--reference-point", help="pareto: of hypervolumes; the ideal is 0, the nadir 1.")
    ] = None,
    optimizer: Optimizers = None,
    problem: Problems = None,
    dimension: Dimensions = None,
    format: Annotated[Format, typer.Option("--format", help="table, json, csv or latex.")] = Format.table,
    which: Annotated[str | None, typer.Option("--table", help="Which table as CSV; the first by default.")] = None,
) -> None:
    """A frame names what the scores were measured against; what could not be scored is named too."""
    given = {
        "mode": mode,
        "metric": metric,
        "targets": targets,
        "indicator": indicator,
        "budget": budget,
        "axis": axis,
        "horizon": None if horizon is None else horizon.value,
        "gap": gap,
        "over": None if over is None else over.value,
        "bootstrap": bootstrap,
        "frame": frame,
        "reference": reference,
        "size": size,
        "epsilon": None if epsilon is None else _epsilon(epsilon),
        "reference_point": reference_point,
    }
    scored = _score(chosen(store, optimizer, problem, dimension), view, given)
    if save_frame is not None:
        pinned = scored.pinned if isinstance(scored.pinned, dict) else scored.pinned.to_data()
        write_whole(save_frame, msgspec.json.encode(strict(pinned)))
    if format is Format.json:
        print_json(scored.to_data())
    elif format is Format.csv:
        print(for_people(scored.table(which or boards.TABLES[view.value])), end="")
    elif format is Format.latex:
        print(scored.to_latex(), end="")
    else:
        print(boards.text(scored, terminal_width()))


def _score(results: Results, view: ViewName, given: dict[str, Any]) -> Any:
    """The view with the options that were given; one that it has not is named."""
    options = {name: value for name, value in given.items() if value is not None}
    known, of = OPTIONS[view], f"the {view.value} view"
    if view is ViewName.fixed_target and "indicator" in options:
        known, of = (*RUNTIMES, "indicator", *_FRONTS), "runtimes to an indicator"
    for name in options:
        if name not in known:
            raise OptarenaError(f"--{name.replace('_', '-')} is not an option of {of}")
    if "indicator" in options:
        fronts = results.pareto(**{name: value for name, value in options.items() if name in _FRONTS})
        wanted = {name: value for name, value in options.items() if name in RUNTIMES}
        return fronts.runtimes(options["indicator"], **wanted)
    scored: View = getattr(results, view.name)(**options)
    return scored


def _epsilon(text: str) -> float | dict[str, float]:
    """`0.01`, or `rate=0.01,depth=1`."""
    try:
        if "=" not in text:
            return float(text)
        pairs = (part.rpartition("=") for part in text.split(",") if part.strip())
        return {name.strip(): float(value) for name, _, value in pairs}
    except ValueError:
        raise OptarenaError(f"--epsilon is a number, or name=number,name=number; got {text!r}") from None
