"""The boards of a comparison: optimizers, and pairs of them; and of plain numbers that were ranked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import polars as pl

from optarena._numbers import grouped, number, significant
from optarena.comparison import Comparison
from optarena.comparison.numbers import Ranked
from optarena.report.boards._board import Board
from optarena.report.tables import Column

VERDICTS = {"better": "decided", "other": "decided for the other", "undecided": "undecided"}


def optimizers(made: Comparison) -> Board:
    columns = [
        Column("optimizer", "optimizer", field="optimizer"),
        Column(
            "mean score", "number", None, made.scores.what,
            field="score", show=number, better="lower", bold="latex page",
        ),
        Column("95 % interval", "interval", None, made.overall.intervals, show=number, field=("score_lb", "score_ub")),
        Column("rank", "number", 2, "mean over problems of the rank; 1 is best", field="rank", better="lower"),
        Column(
            "IQM", "number", None, "interquartile mean of 1 − score over all trials; more is better",
            field="iqm", show=number, better="higher", minor=True,
        ),
        Column("95 % interval", "interval", None, field=("iqm_lb", "iqm_ub"), show=number, minor=True),
        Column(
            "optimality gap", "number", None, "how far 1 − score stays below 1 on average; less is better",
            field="optimality_gap", show=number, better="lower", on="page",
        ),
        Column(
            "strength", "number", 2, "Bradley-Terry: log odds of winning a problem; more is better",
            field="strength", better="higher", on="text page", minor=True,
        ),
        Column(
            "Scott-Knott", "number", 0, "the group that no permutation test divides; 1 the best",
            field="group", better="lower",
        ),
        Column(
            "best on", "of", None, "problems on which nobody has a lesser mean",
            field=("best_on", "problems"), better="higher",
        ),
    ]  # fmt: skip
    return Board(columns, made.table("optimizers").rows(named=True))


def pairs(made: Comparison, most: int | None = None) -> Board:
    found = made.table("pairs")
    settle = "so many more would be expected to show the difference: 80 % of simulated experiments"
    undecided = ("verdict", "undecided")
    count = partial(grouped, digits=0)
    columns = [
        Column("optimizer", "optimizer", field="optimizer"),
        Column("against", field="other"),
        Column(
            "won-tied-lost", "record", None, f"problems by their mean score; ties within {made.rope:g}",
            field=("wins", "ties", "losses"),
        ),
        Column(
            "improvement", "number", None, "probability that a trial of the first beats one of the other",
            field="improvement", show=number, better="higher",
        ),
        Column(
            "95 % interval", "interval", None, made.pairs.intervals, show=number, joined=True,
            field=("improvement_lb", "improvement_ub"),
        ),
        Column("effect", field="effect", help="of the probability of improvement", on="text page", minor=True),
        Column(
            "difference", "number", None, "of the mean scores; below 0 the first is better",
            field="difference", show=number, better="lower", on="page",
        ),
        Column(
            "95 % interval", "interval", None, made.pairs.intervals, show=number, on="page",
            field=("difference_lb", "difference_ub"),
        ),
        Column(
            "effort ratio", "number", None, "expected running time of the first / of the other, to targets both reach",
            field="ratio", show=number, better="lower", on="text page",
        ),
        Column(
            "95 % interval", "interval", None, "95 % over problems", show=number, joined=True, on="text page",
            field=("ratio_lb", "ratio_ub"),
        ),
        Column("p (Holm)", "p", None, made.pairs.test, field="p_holm"),
        Column("verdict", field="verdict", words=VERDICTS),
        Column(
            "more trials", "number", 0, settle, field="more_trials", show=count, only=undecided, on="text page"
        ),
        Column(
            "more problems", "number", 0, settle, field="more_problems", show=count, only=undecided, on="text page"
        ),
    ]  # fmt: skip
    return Board(columns, (found if most is None else found.head(most)).rows(named=True))


def latex(made: Comparison) -> str:
    """A comparison for a paper: optimizers, then pairs, each a `tabular`."""
    comment = [
        f"{made.scores.what}; {made.scores.view}, {len(made.scores.problems)} problems",
        f"intervals 95%: {made.overall.intervals}; {made.pairs.test}, Holm over {made.pairs.tests} tests",
        *([f"frame {made.frame['hash']}"] if "hash" in made.frame else []),
    ]
    return optimizers(made).latex(comment) + "\n" + pairs(made).latex(comment)


QUANTILES = ("q10", "q25", "q50", "q75", "q90")


def ranked_table(ranked: Sequence[Ranked]) -> pl.DataFrame:
    """One row per name: rank, name, n, median, iqr and quantiles."""
    return pl.DataFrame(
        [
            {"rank": one.rank, "name": one.name, "n": one.n, "median": one.median, "iqr": one.iqr}
            | dict(zip(QUANTILES, one.quantiles, strict=True))
            for one in ranked
        ]
    )


def ranked_numbers(ranked: Sequence[Ranked]) -> Board:
    """Names with their Scott-Knott ranks; in a terminal with a chart of their quantiles."""
    six = partial(significant, digits=6)
    columns = [
        Column("rank", "number", field="rank"),
        Column("name", field="name"),
        Column("median", "number", field="median", show=six),
        Column("IQR", "number", field="iqr", show=six),
        Column("n", "number", field="n", show=str),
        Column("10 % --- 25 % === median * === 75 % --- 90 %", field="chart", on="text"),
    ]
    charts = [one.chart for one in ranked]
    return Board(
        columns, [row | {"chart": chart} for row, chart in zip(ranked_table(ranked).to_dicts(), charts, strict=True)]
    )
