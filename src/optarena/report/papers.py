"""Views for papers: the tables that `--format latex` prints and `view.to_latex()` gives, one function a view."""

from __future__ import annotations

from typing import Any

import polars as pl

from optarena._numbers import p_value
from optarena.comparison import Comparison
from optarena.comparison.tables import optimizers, pairs
from optarena.report.latex import latex_table
from optarena.views._view import View
from optarena.views.anytime import Anytime
from optarena.views.fixed_cost import FixedCost
from optarena.views.fixed_target import FixedTarget
from optarena.views.pareto import Pareto

MOST_TARGETS = 7


def latex(scored: View) -> str:
    """A view for a paper."""
    if isinstance(scored, FixedCost):
        return "\n".join(_latex_board(scored, name) for name in scored.metrics)
    if isinstance(scored, Pareto):
        return _latex_fronts(scored)
    if isinstance(scored, Anytime):
        return _latex_anytime(scored)
    assert isinstance(scored, FixedTarget)
    return _latex_runtimes(scored)


def title(scored: FixedCost, metric: str) -> str:
    """What a table shows, in a line."""
    what = "" if metric == "value" else f" · {metric}, hidden from the optimizers"
    return f"fixed cost {scored.ending(metric)}, normalised (0 best known, 1 random search), mean over problems{what}"


def _latex_board(scored: FixedCost, metric: str) -> str:
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


def shown_targets(scored: FixedTarget) -> list[float]:
    """The targets to show: all, or some of many; by rank, as problems may have their own."""
    ranks = range(scored.ert.group_by("optimizer", "suite", "function", "dimension").len()["len"].max() or 0)  # type: ignore[arg-type]
    if len(ranks) <= MOST_TARGETS:
        return list(ranks)
    return [round(i * (len(ranks) - 1) / (MOST_TARGETS - 1)) for i in range(MOST_TARGETS)]


def ranked(scored: FixedTarget) -> pl.DataFrame:
    keys = ["optimizer", "suite", "function", "dimension"]
    return scored.ert.with_columns(rank=pl.int_range(pl.len()).over(keys))


def _latex_runtimes(scored: FixedTarget) -> str:
    shown = shown_targets(scored)
    rows = ranked(scored).filter(pl.col("rank").is_in(shown))
    cells: list[list[Any]] = []
    bold = set()
    best = {
        (row["suite"], row["function"], row["dimension"], row["rank"]): row["ert"]
        for row in rows.group_by("suite", "function", "dimension", "rank").agg(pl.col("ert").min()).to_dicts()
    }
    keys = ["suite", "function", "dimension", "optimizer"]
    for (suite, function, dimension, optimizer), mine in rows.group_by(keys, maintain_order=True):
        by_rank = {row["rank"]: row["ert"] for row in mine.to_dicts()}
        for j, rank in enumerate(shown):
            if rank in by_rank and by_rank[rank] == best[suite, function, dimension, rank] < float("inf"):
                bold.add((len(cells), j + 3))
        cells.append([function, dimension, optimizer, *(by_rank.get(rank) for rank in shown)])
    targets = rows.group_by("rank").agg(pl.col("target").unique()).sort("rank")["target"].to_list()
    heads = [f"{cell[0]:.3g}" if len(cell) == 1 else f"target {i + 1}" for i, cell in enumerate(targets)]
    note = [f"expected {scored.frame['axis']} to a precision", f"frame {scored.frame['hash']}, mode {scored.mode}"]
    return latex_table(["function", "D", "optimizer", *heads], cells, bold=bold, comment=note)


def _latex_anytime(scored: Anytime) -> str:
    rows = scored.summary.rows(named=True)
    cells: list[list[Any]] = [
        [
            row["configuration"],
            row["area_score"],
            (row["area_score_lb"], row["area_score_ub"]),
            row["objective_score"],
            (row["objective_score_lb"], row["objective_score_ub"]),
            row["primal_gap"],
            row["solved"],
            row["par10"],
        ]
        for row in rows
    ]
    headers = ["configuration", "area", "95% interval", "objective", "95% interval", "gap", "solved", "PAR10"]
    lowest = {j: min((row[j] for row in cells if row[j] is not None), default=None) for j in (1, 3, 5, 7)}
    bold = {
        (i, j) for i, row in enumerate(cells) for j, least in lowest.items() if least is not None and row[j] == least
    }
    note = [
        f"anytime by {scored.frame['axis']}, {scored.frame['horizon']}, means over instances",
        f"frame {scored.frame['hash']}, mode {scored.mode}",
    ]
    return latex_table(headers, cells, bold=bold, comment=note)


def board_of_fronts(scored: Pareto) -> pl.DataFrame:
    """The leaderboard by hypervolume, with the means of other indicators as columns."""
    others = ("igd_plus", "additive_epsilon", "non_dominated")
    beside = scored.summary.filter(pl.col("indicator").is_in(others))
    wide = beside.pivot("indicator", index="optimizer", values="mean")
    return scored.leaderboard().join(wide, on="optimizer", how="left", maintain_order="left")


def _latex_fronts(scored: Pareto) -> str:
    rows = board_of_fronts(scored).rows(named=True)
    cells = [
        [
            row["optimizer"],
            row["mean"],
            (row["mean_lb"], row["mean_ub"]),
            row["igd_plus"],
            row["additive_epsilon"],
            row["mean_normed"],
            row["best_on"],
        ]
        for row in rows
    ]
    headers = ["optimizer", "hypervolume", "95% interval", "IGD+", "epsilon", "mean normed", "best on"]
    least = min((row["igd_plus"] for row in rows if row["igd_plus"] is not None), default=None)
    bold = {(i, 1) for i, row in enumerate(rows) if row["mean"] is not None and row["mean"] == rows[0]["mean"]}
    bold |= {(i, 3) for i, row in enumerate(rows) if row["igd_plus"] is not None and row["igd_plus"] == least}
    note = ["fronts at the end: means over problems; hypervolume as a part of the reference set's"]
    return latex_table(headers, cells, bold=bold, comment=[*note, f"frame {scored.frame['hash']}, mode {scored.mode}"])


def latex_comparison(made: Comparison) -> str:
    """A comparison for a paper: optimizers, then pairs, each a `tabular`."""
    comment = [
        f"{made.scores.what}; {made.scores.view}, {len(made.scores.problems)} problems",
        f"intervals 95%: {made.overall.intervals}; {made.pairs.test}, Holm over {made.pairs.tests} tests",
        *([f"frame {made.frame['hash']}"] if "hash" in made.frame else []),
    ]
    rows = optimizers(made).rows(named=True)
    board = latex_table(
        ["optimizer", "mean score", "95% interval", "rank", "IQM", "95% interval", "group", "best on"],
        [
            [
                row["optimizer"], row["score"], (row["score_lb"], row["score_ub"]), row["rank"],
                row["iqm"], (row["iqm_lb"], row["iqm_ub"]), row["group"], row["best_on"],
            ]
            for row in rows
        ],
        bold={(0, 1)},
        comment=comment,
    )  # fmt: skip
    found = pairs(made).rows(named=True)
    return (
        board
        + "\n"
        + latex_table(
            ["optimizer", "against", "won-tied-lost", "improvement", "95% interval", "p (Holm)", "verdict"],
            [
                [
                    row["optimizer"], row["other"], f"{row['wins']}-{row['ties']}-{row['losses']}",
                    row["improvement"], (row["improvement_lb"], row["improvement_ub"]), p_value(row["p_holm"]),
                    row["verdict"],
                ]
                for row in found
            ],
            comment=comment,
        )
    )  # fmt: skip
