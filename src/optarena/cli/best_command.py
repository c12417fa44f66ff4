"""`optarena best`: the best found on each problem, with its parameters."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer

from optarena._numbers import counted
from optarena._text import WIDEST, clean, shortened, table
from optarena._widths import cells as cells_of
from optarena._widths import wrapped
from optarena.cli._terminal import Wide, print_json, say, terminal_width
from optarena.dataset import Dataset
from optarena.facade import open_store
from optarena.views.anytime.claims import audit
from optarena.views.pareto.best import best_points
from optarena.views.selection import Candidates

MOST_OF_A_SOLUTION = 200
"""Characters of a solver's solution that the table has; --format json has all."""
LINES = 2
"""Of parameters below a row."""
SHOWN = 10
"""How many points of a front the table has at most, and how many names a line."""


class Format(StrEnum):
    table = "table"
    json = "json"


def command(
    store: Annotated[Path, typer.Argument(help="The store's directory.")],
    format: Annotated[Format, typer.Option("--format", help="table or json.")] = Format.table,
    wide: Wide = False,
) -> None:
    """One row per problem, or per instance where several share an id; of several objectives what nothing dominates."""
    results = open_store(store)
    rows, left = _believed(results)
    points = best_points(results)
    if format is Format.json:
        print_json([*rows, *points])
        return
    width = terminal_width(wide=wide)
    for what in left:
        say(f"left out: {what} (optarena score --view anytime)")
    if not rows and not points:
        say(f"store {clean(store)} has no value yet")
        return
    texts = [_bests(rows, width)] if rows else []
    for problem in dict.fromkeys(point["problem"] for point in points):
        texts.append(_front(problem, [point for point in points if point["problem"] == problem], width))
    print("\n\n".join(texts))


def _believed(results: Dataset) -> tuple[list[dict[str, Any]], list[str]]:
    """The best of each problem without unverified values of runs that are wrong or that others contradict, and what was
    left out (docs/scores.md 4.10)."""
    begun = results.select(np.arange(len(results.chosen)))
    checked = audit(Candidates(begun))
    verified = checked.reported.best == checked.reported.checked
    wrong, disputed = checked.wrong & ~verified, checked.disputed & ~verified
    if not (wrong | disputed).any():
        return results.best(), []
    names = begun.studies.filter(pl.Series(wrong))["optimizer"].unique(maintain_order=True).to_list()
    open_ = begun.studies.filter(pl.Series(disputed))["problem"].unique(maintain_order=True).to_list()
    said = [f"{clean(name)}, which claims what cannot be true" for name in names]
    said += [f"{clean(name)}, about which claims contradict each other, none of them verified" for name in open_]
    return begun.select(np.flatnonzero(~(wrong | disputed))).best(), said


def _bests(rows: list[dict[str, Any]], width: int | None) -> str:
    problems = [row["problem"] for row in rows]
    several = len(set(problems)) < len(problems)
    cells = [
        [
            row["problem"],
            *([row["instance"]] if several else []),
            row["best"],
            row["optimum"],
            row["optimizer"],
            row["trial"],
            row["best_evaluation"],
            _parameters(row),
        ]
        for row in rows
    ]
    headers = [
        "problem",
        *(["instance"] if several else []),
        "best",
        "optimum",
        "optimizer",
        "trial",
        "evaluation",
        "parameters",
    ]
    right = ("instance", "best", "optimum", "trial", "evaluation")
    return _with_parameters(headers, cells, right, ("evaluation", "trial", "optimum"), width)


def _front(problem: str, points: list[dict[str, Any]], width: int | None) -> str:
    """Some points of a front, from one end to the other along its first objective."""
    places = sorted({round(i * (len(points) - 1) / (SHOWN - 1)) for i in range(SHOWN)})
    names = list(points[0]["values"])
    cells = [
        [*point["values"].values(), point["optimizer"], point["trial"], point["evaluation"], _parameters(point)]
        for point in (points[i] for i in places)
    ]
    said = f"{clean(problem)}: {counted(len(points), 'point')} that nothing dominates"
    if len(places) < len(points):
        said += f", {len(places)} of them shown (--format json shows all)"
    headers = [*names, "optimizer", "trial", "evaluation", "parameters"]
    shown = _with_parameters(headers, cells, (*names, "trial", "evaluation"), ("evaluation", "trial"), width)
    return f"{wrapped(said, width)}\n{shown}"


def _with_parameters(
    headers: list[str], cells: list[list[Any]], right: Sequence[str], drop: Sequence[str], width: int | None
) -> str:
    """A table whose last column has the parameters: where it is too wide, they stand below each row."""
    whole = table(headers, cells, right=right, whole=("parameters",))
    if width is None or max(map(cells_of, whole.splitlines())) <= width:
        return whole
    lines = table(headers[:-1], [row[:-1] for row in cells], right=right, drop=drop, width=width).splitlines()
    tail = next((i for i, line in enumerate(lines) if line.startswith("  (no room")), len(lines))
    out = lines[: tail - len(cells)]
    cut = False
    for line, row in zip(lines[tail - len(cells) : tail], cells, strict=True):
        below = wrapped(f"    {row[-1]}", width, hanging="    ").splitlines()
        if len(below) > LINES:
            below, cut = [*below[: LINES - 1], shortened(below[LINES - 1], width - 2) + " …"], True
        out += [line, *below]
    return "\n".join([*out, *lines[tail:], *(["  (…: --wide shows all parameters)"] if cut else [])])


def _parameters(row: dict[str, Any]) -> str:
    if "solution" in row:
        return clean(json.dumps(row["solution"]), MOST_OF_A_SOLUTION)
    return ", ".join(f"{clean(name, WIDEST)}={clean(value, WIDEST)}" for name, value in row["parameters"].items())
