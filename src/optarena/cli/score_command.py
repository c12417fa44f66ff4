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
from optarena.cli._text import clean, counted, print_json, table
from optarena.errors import OptarenaError
from optarena.report.latex import latex_table
from optarena.views.fixed_cost import FixedCost, fixed_cost

SHOWN = 5


class ViewName(StrEnum):
    fixed_cost = "fixed-cost"


VIEWS = {ViewName.fixed_cost: fixed_cost}


class Mode(StrEnum):
    exact = "exact"
    bayesmark = "bayesmark"


class Over(StrEnum):
    problems = "problems"
    trials = "trials"


class Format(StrEnum):
    table = "table"
    json = "json"
    csv = "csv"
    latex = "latex"


def command(
    store: Annotated[Path, typer.Argument(help="The store's directory.")],
    view: Annotated[ViewName, typer.Option("--view", help="The way to score.")] = ViewName.fixed_cost,
    mode: Annotated[Mode, typer.Option("--mode", help="exact, or bayesmark for its very numbers.")] = Mode.exact,
    metric: Annotated[
        str | None, typer.Option("--metric", help="A hidden metric, or value for the objective; all by default.")
    ] = None,
    axis: Annotated[
        str | None, typer.Option("--axis", help="batches, evaluations, seconds, or another effort of the store.")
    ] = None,
    over: Annotated[
        Over, typer.Option("--over", help="Intervals for new problems of the same kind, or for new trials on these.")
    ] = Over.problems,
    frame: Annotated[
        Path | None, typer.Option("--frame", help="Score against a saved frame or a baseline of Bayesmark.")
    ] = None,
    save_frame: Annotated[Path | None, typer.Option("--save-frame", help="Write the frame to this file.")] = None,
    bootstrap: Annotated[
        int, typer.Option("--bootstrap", help="Resamplings of random search that widen the intervals.")
    ] = 0,
    optimizer: Optimizers = None,
    problem: Problems = None,
    dimension: Dimensions = None,
    format: Annotated[Format, typer.Option("--format", help="table, json, csv or latex.")] = Format.table,
    which: Annotated[
        str, typer.Option("--table", help="Which table as CSV: problem, summary or baseline.")
    ] = "summary",
) -> None:
    """A frame names what the scores were measured against; what could not be scored is named too."""
    results = chosen(store, optimizer, problem, dimension)
    scored = VIEWS[view](
        results,
        mode=mode.value,
        metric=metric,
        axis=axis,
        over=over.value,
        frame=frame,
        bootstrap=bootstrap,
    )
    if save_frame is not None:
        assert scored.pinned is not None
        try:
            write_whole(save_frame, msgspec.json.encode(strict(scored.pinned.to_data())))
        except OSError as error:
            raise OptarenaError(f"cannot write the frame {save_frame}: {error.strerror or error}") from None
    if format is Format.json:
        print_json(scored.to_data())
    elif format is Format.csv:
        print(scored.table(which).write_csv(), end="")
    elif format is Format.latex:
        print("\n".join(_latex(scored, name) for name in scored.metrics), end="")
    else:
        for name in scored.metrics:
            print(title(scored, name))
            print(board(scored, name) + "\n")
        print(footnotes(scored))


def title(scored: FixedCost, metric: str) -> str:
    """What a table shows, in a line."""
    last = scored.leaderboard(metric)
    end = f"{last['effort'][0]:g} {_units(scored)}" if last.height else "nothing"
    what = "" if metric == "value" else f" · {clean(metric)}, hidden from the optimizers"
    return f"fixed cost after {end}, normalised (0 best known, 1 random search), mean over problems{what}"


def _units(scored: FixedCost) -> str:
    if scored.frame["axis"] != "batches" or scored.frame["batch"] is None:
        return str(scored.frame["axis"])
    return "evaluations" if scored.frame["batch"] == 1 else f"batches of {scored.frame['batch']} evaluations"


def board(scored: FixedCost, metric: str) -> str:
    """The leaderboard, lined up."""
    rows = [
        [
            row["optimizer"],
            _fixed(row["score"], 1),
            _fixed(row["mean_normed"], 2),
            f"[{_fixed(row['mean_normed_lb'], 2)}, {_fixed(row['mean_normed_ub'], 2)}]",
            _fixed(row["median"], 2),
            f"{row['best_on']} of {row['n']}",
        ]
        for row in scored.leaderboard(metric).iter_rows(named=True)
    ]
    headers = ["optimizer", "score", "mean normed", "95 % interval", "median normed", "best on"]
    return table(headers, rows, right=headers[1:])


def footnotes(scored: FixedCost) -> str:
    """What a reader should know, what was left out, and the frame."""
    lines = [f"note: {clean(note)}" for note in scored.notes[:SHOWN]]
    if len(scored.notes) > SHOWN:
        lines.append(f"note: … and {len(scored.notes) - SHOWN} more (--format json has all)")
    reasons: dict[str, list[dict[str, Any]]] = {}
    for item in scored.excluded:
        reasons.setdefault(item["reason"], []).append(item)
    for reason, items in list(reasons.items())[:SHOWN]:
        noun = "study" if items[0]["trial"] is not None else "problem"
        first = " ".join(clean(items[0][key]) for key in ("optimizer", "problem") if items[0][key])
        more = f" and {len(items) - 1} more" if len(items) > 1 else ""
        lines.append(f"excluded: {counted(len(items), noun)}: {clean(reason)} ({first}{more})")
    frame = scored.frame
    source = f"{frame['random_evaluations']:,} random evaluations" if frame["random_evaluations"] else frame["source"]
    state = ", provisional: a run goes on" if frame["provisional"] else ""
    lines.append(f"frame {frame['hash'][:12]} ({source}, {frame['intervals']}{state}), mode {scored.mode}")
    return "\n".join(lines)


def _fixed(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _latex(scored: FixedCost, metric: str) -> str:
    rows = scored.leaderboard(metric).rows(named=True)
    cells = [
        [
            row["optimizer"],
            row["score"],
            row["mean_normed"],
            (row["mean_normed_lb"], row["mean_normed_ub"]),
            row["median"],
            row["best_on"],
        ]
        for row in rows
    ]
    best = {0, *(i for i, row in enumerate(rows) if row["mean"] == rows[0]["mean"])} if rows else set()
    headers = ["optimizer", "score", "mean normed", "95% interval", "median normed", "best on"]
    return latex_table(
        headers,
        cells,
        bold={(i, 1) for i in best},
        comment=[title(scored, metric), f"frame {scored.frame['hash']}, mode {scored.mode}"],
    )
