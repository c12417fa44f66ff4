"""The leaderboard of the fixed-cost view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optarena._text import clean
from optarena.report.boards._board import Board
from optarena.report.tables import Column
from optarena.views.fixed_cost import FixedCost


def columns(view: FixedCost) -> list[Column]:
    return [
        Column("optimizer", "optimizer", field="optimizer"),
        Column(
            "score", "number", 1, "100 × (1 − mean): 100 is the best known; Bayesmark's leaderboard",
            field="score", better="higher", bold="latex page",
        ),
        Column(
            "mean normed", "number", 2, "mean over problems; 0 is the best known, 1 random search at the same effort",
            field="mean_normed", better="lower",
        ),
        Column(
            "95 % interval", "interval", 2, view.frame["intervals"], field=("mean_normed_lb", "mean_normed_ub")
        ),
        Column(
            "median normed", "number", 2, "the same of the median over trials",
            field="median", better="lower", minor=True,
        ),
        Column(
            "best on", "of", None, "problems on which its mean is the least",
            field=("best_on", "n"), better="higher", minor=True,
        ),
    ]  # fmt: skip


def board(view: FixedCost, metric: str) -> Board:
    return Board(columns(view), view.leaderboard(metric).rows(named=True))


def scoped(views: Mapping[str, FixedCost], metric: str) -> tuple[Board, list[str]]:
    """The leaderboards of several parts of a store in one, and of which part each row is."""
    rows: list[dict[str, Any]] = []
    scopes: list[str] = []
    for scope, view in views.items():
        mine = view.leaderboard(metric).rows(named=True)
        rows += mine
        scopes += [scope] * len(mine)
    return Board(columns(next(iter(views.values()))), rows, scopes), scopes


def title(view: FixedCost, metric: str) -> str:
    """What a table shows, in a line."""
    what = "" if metric == "value" else f" · {metric}, hidden from the optimizers"
    return f"fixed cost {view.ending(metric)}, normalised (0 best known, 1 random search), mean over problems{what}"


def text(view: FixedCost, width: int | None = None) -> str:
    return "\n".join(f"{clean(title(view, name))}\n{board(view, name).text(width)}\n" for name in view.metrics)


def latex(view: FixedCost) -> str:
    frame = f"frame {view.frame['hash']}, mode {view.mode}"
    return "\n".join(board(view, name).latex([title(view, name), frame]) for name in view.metrics)
