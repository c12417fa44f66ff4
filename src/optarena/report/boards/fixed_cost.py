"""The leaderboard of the fixed-cost view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optarena._text import clean
from optarena.report.boards._board import FAILED, Board, Paper, with_failed
from optarena.report.tables import Column
from optarena.views.fixed_cost import FixedCost

SCALE = "0 = best known value, 1 = random search with the same budget"
"""The one scale of scores."""


def columns(view: FixedCost) -> list[Column]:
    return [
        Column("optimizer", "optimizer", field="optimizer"),
        Column("score", "number", 2, f"mean over problems: {SCALE}", field="score", better="lower", bold="latex page"),
        Column("95 % interval", "interval", 2, view.intervals, field=("score_lb", "score_ub")),
        FAILED[0],
        *(
            [
                Column(
                    "Bayesmark score", "number", 1, "100 × (1 − mean): its leaderboard, where 100 is the best known",
                    field="bayesmark_score", better="higher", bold="latex page",
                )
            ]
            if view.mode == "bayesmark"
            else []
        ),
        Column(
            "median normed", "number", 2, "the same of the median over trials",
            field="median", better="lower", minor=True,
        ),
        Column(
            "best on", "of", None, "problems on which its mean is the least",
            field=("best_on", "n"), better="higher", minor=True,
        ),
        FAILED[1],
    ]  # fmt: skip


def board(view: FixedCost, metric: str) -> Board:
    return Board(columns(view), with_failed(view, view.leaderboard(metric).rows(named=True)))


def scoped(views: Mapping[str, FixedCost], metric: str) -> tuple[Board, list[str]]:
    """The leaderboards of several parts of a store in one, and of which part each row is."""
    rows: list[Mapping[str, Any]] = []
    scopes: list[str] = []
    for scope, view in views.items():
        mine = with_failed(view, view.leaderboard(metric).rows(named=True))
        rows += mine
        scopes += [scope] * len(mine)
    return Board(columns(next(iter(views.values()))), rows, scopes), scopes


def title(view: FixedCost, metric: str) -> str:
    """What a table shows, in a line."""
    what = "" if metric == "value" else f" · {metric}, hidden from the optimizers"
    return f"fixed cost {view.ending(metric)}, mean over problems{what}; score: {SCALE}"


def text(view: FixedCost, width: int | None = None) -> str:
    return "\n".join(f"{clean(title(view, name))}\n{board(view, name).text(width)}\n" for name in view.metrics)


def papers(view: FixedCost) -> list[Paper]:
    return [Paper.of(view, board(view, name), title(view, name)) for name in view.metrics]
