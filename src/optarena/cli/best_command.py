"""`optarena best`: the best found on each problem, with its parameters."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from optarena.cli._text import print_json, table
from optarena.store.results import open_store


class Format(StrEnum):
    table = "table"
    json = "json"


def command(
    store: Annotated[Path, typer.Argument(help="The store's directory.")],
    format: Annotated[Format, typer.Option("--format", help="table or json.")] = Format.table,
) -> None:
    """One row a problem, or an instance where several share an id."""
    rows = open_store(store).best()
    if format is Format.json:
        print_json(rows)
        return
    if not rows:
        print(f"store {store} has no value yet")
        return
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
            ", ".join(
                f"{name}={value:.6g}" if isinstance(value, float) else f"{name}={value}"
                for name, value in row["parameters"].items()
            ),
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
    print(table(headers, cells, right=("instance", "best", "optimum", "trial", "evaluation")))
