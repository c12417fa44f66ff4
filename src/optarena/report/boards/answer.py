"""The board of an answer: the leaderboard with the matrix of who beats whom, for the page's first screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optarena._numbers import number, significant
from optarena._text import visible
from optarena.comparison import Comparison
from optarena.comparison.words import short_names
from optarena.report.boards._board import Board
from optarena.report.tables import Column

MATRIX = 5
"""Columns of the matrix on the first screen; the figure `pairwise` has all of them."""


def scoped(answers: Mapping[str, Comparison]) -> tuple[Board, list[str]]:
    """The answers to several parts of a store in one board, and of which part each row is."""
    first = next(iter(answers.values()))
    against = first.answer.order[:MATRIX]
    rows: list[dict[str, Any]] = []
    scopes: list[str] = []
    for scope, made in answers.items():
        rows += [_row(made, name, against) for name in made.answer.order]
        scopes += [scope] * len(made.answer.order)
    return Board(columns(first, against), rows, scopes), scopes


def columns(made: Comparison, against: list[str]) -> list[Column]:
    found = made.answer
    four = _four
    out = [Column("optimizer", "optimizer", field="optimizer")]
    if found.values:
        out += [
            Column("median", "number", None, "of the best values of all trials", field="median", show=four),
            Column("best", "number", None, "of all trials", field="best", show=four),
        ]
    out += [
        Column("score", "number", None, found.scale, field="score", show=number, better="lower", bold="latex page"),
        Column("95 %", "interval", None, f"95 % over {found.scope}", field=("lower", "upper"), show=number),
    ]
    if any(count["studies"] for count in found.failed.values()):
        out.append(Column("failed", field="failed", help="studies that failed; without any value they count as losses"))
    every = "95 % for all pairs together" if len(found.pairs) > 1 else "95 %"
    help = f"P(row beats {{}}): ▲ better, ▼ worse, ≈ equivalent, ? undecided ({every})"
    return [
        *out,
        *(
            Column(head, "against", help=help.format(visible(name)), field=f"against {i}")
            for i, (name, head) in enumerate(zip(against, short_names(against), strict=True))
        ),
    ]


def _row(made: Comparison, name: str, against: list[str]) -> dict[str, Any]:
    found = made.answer
    value, lower, upper = found.score[name]
    count = found.failed.get(name, {"studies": 0, "of": 0})
    cells = {f"against {i}": found.cell(name, other) for i, other in enumerate(against)}
    return {
        "optimizer": name,
        **{key: found.values.get(name, {}).get(key) for key in ("median", "best")},
        "score": value,
        "lower": lower,
        "upper": upper,
        "failed": f"{count['studies']:,} of {count['of']:,}" if count["studies"] else "–",
        **cells,
    }


def _four(value: float) -> str:
    return significant(value, 4)
