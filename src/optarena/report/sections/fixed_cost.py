"""The section of the fixed-cost view."""

from __future__ import annotations

from typing import Any

import polars as pl

from optarena.report import words
from optarena.report.boards import fixed_cost
from optarena.report.figures.fixed_cost import hidden
from optarena.report.material import ALL, Material
from optarena.report.sections._section import Content, add_figure, notes_of, so_far
from optarena.report.sections.overview import shown_first
from optarena.report.tables import Column, Table
from optarena.views.fixed_cost import FixedCost


def _add_board(material: Material, metric: str, out: Content, *, first: bool) -> None:
    """The leaderboard of a metric with its figures; a figure without any defined score is left out."""
    out.blocks.append(_leaderboard(material, metric))
    if not first or shown_first(material) != "normalised":  # else it is on the first screen
        add_figure(material, "normalised", out, metric=metric)
    add_figure(material, "final", out, metric=metric)


def _leaderboard(material: Material, metric: str) -> Table:
    view, views = material.must_score(), material.scored(metric)
    board, scopes = fixed_cost.scoped(views, metric)
    board = board.so_far() if material.running else board
    known = material.running or any(words.known(row["mean_normed_lb"], row["mean_normed_ub"]) for row in board.rows)
    undefined = all(row["mean_normed"] is None for row in board.rows)
    return board.table(
        f"leaderboard-{view.metrics.index(metric)}",
        f"Leaderboard {view.ending(metric)}{hidden(metric)}",
        scopes=scopes,
        note="" if known else UNDEFINED if undefined else NO_INTERVAL,
        comment=_comment(view, metric),
        titles={scope: f"Leaderboard {one.ending(metric)}{hidden(metric)}" for scope, one in views.items()},
        comments={scope: _comment(one, metric, scope) for scope, one in views.items() if scope != ALL},
    )


UNDEFINED = "Random search itself is next to the best value, so nothing can be divided by its mean: see the notes."
NO_INTERVAL = "One problem or one trial gives no interval: run more trials (-r) or more problems."


def _comment(view: FixedCost, metric: str, scope: str = ALL) -> list[str]:
    where = "" if scope == ALL else f", dimension {scope}"
    return [
        f"fixed cost {view.ending(metric)}, {metric}{where}",
        f"frame {view.frame['hash']}, mode {view.mode}",
    ]


def fixed_cost_section(material: Material) -> Content:
    view, out = material.must_score(), Content()
    out.words = [*so_far(material), *notes_of(view, "optarena score")]
    for i, metric in enumerate(view.metrics):
        _add_board(material, metric, out, first=i == 0)
        add_figure(material, "heatmap", out, metric=metric)
        out.blocks.append(_by_problem(metric, material.by_problem(metric), i, running=material.running))
    return out


def _by_problem(metric: str, table: pl.DataFrame, i: int, *, running: bool) -> Table:
    least = table.group_by("problem").agg(least=pl.col("score").min())
    table = table.join(least, on="problem", how="left", maintain_order="left")
    found = table.select((pl.col("median_lb").is_finite() & pl.col("median_ub").is_finite()).any()).item()
    known = found and not running
    rows: list[list[Any]] = []
    bold: set[tuple[int, int]] = set()
    for row in table.iter_rows(named=True):
        if row["score"] is not None and row["score"] == row["least"]:
            bold.add((len(rows), 2))
        ends = [(row["median_lb"], row["median_ub"])] if known else []
        scored = [row["score"], *([] if running else [(row["lower"], row["upper"])])]
        rows.append([row["problem"], row["optimizer"], *scored, row["median"], *ends, row["n"]])
    columns = [
        Column("problem", "problem"),
        Column("optimizer", "optimizer"),
        Column(
            "score",
            "number",
            3,
            "mean over trials; its mean over problems is the score of the leaderboard",
        ),
        *([] if running else [Column("95 % interval", "interval", 3)]),
        Column("median value", "number", None, "median over trials of the best value found"),
        *([Column("interval of the median", "interval", None, "95 %, distribution-free")] if known else []),
        Column("trials", "number", 0),
    ]
    note = "" if known or running else "Six trials or more would give an interval of the median."
    return Table(f"by-problem-{i}", "Scores by problem" + hidden(metric), columns, rows, bold=bold, note=note)
