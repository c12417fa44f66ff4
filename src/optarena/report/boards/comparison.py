"""The boards of a comparison: optimizers, and pairs of them; and of plain numbers that were ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from optarena._numbers import ABSENT, grouped, number, probability, significant
from optarena._text import clean, visible
from optarena._widths import wrapped
from optarena.comparison import Comparison
from optarena.comparison.by_problem import Ranks
from optarena.comparison.numbers import Ranked
from optarena.comparison.words import short_names
from optarena.report.boards._board import Board
from optarena.report.tables import Column


def optimizers(made: Comparison) -> Board:
    columns = [
        Column("optimizer", "optimizer", field="optimizer"),
        Column("score", "number", None, made.scale, field="score", show=number, better="lower", bold="latex page"),
        Column("95 % interval", "interval", None, made.rated.intervals, show=number, field=("score_lb", "score_ub")),
        Column("rank", "number", 2, "mean over functions of the rank; 1 is best", field="rank", better="lower"),
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
            "best on", "of", None, "problems on which no optimizer has a lower mean",
            field=("best_on", "problems"), better="higher",
        ),
    ]  # fmt: skip
    board = Board(columns, made.table("optimizers").rows(named=True))
    return _at_every_look(board) if made.pairs.at_every_look else board


def pairs(made: Comparison, most: int | None = None) -> Board:
    found = made.table("pairs")
    settle = (
        f"so many more would most likely decide a difference of {made.power.detect:g}: 80 % of simulated experiments"
    )
    undecided = ("verdict", "undecided")
    count = partial(grouped, digits=0)
    low, high = 0.5 - made.rope, 0.5 + made.rope
    columns = [
        Column("optimizer", "optimizer", field="optimizer"),
        Column("against", field="other"),
        Column(
            "P(beats)", "number", None, "probability that a trial of the first beats one of the other",
            field="improvement", show=probability, better="higher",
        ),
        Column(
            "95 % interval", "interval", None, made.pairs.method, show=probability, joined=True,
            field=("improvement_lb", "improvement_ub"),
        ),
        Column("verdict", field="verdict", help="better, worse, equivalent or undecided, by the interval alone"),
        Column(
            "won-tied-lost", "record", None, f"problems by P(beats); ties from {low:g} to {high:g}",
            field=("wins", "ties", "losses"),
        ),
        Column("effect", field="effect", help="of the probability of improvement", on="page", minor=True),
        Column("p", "p", None, "of the same decision, corrected for all pairs", field="p", minor=True),
        Column(
            "difference", "number", None, "of the scores; below 0 the first is better",
            field="difference", show=number, better="lower", on="page",
        ),
        Column(
            "95 % interval", "interval", None, f"95 % over {made.over}", show=number, on="page",
            field=("difference_lb", "difference_ub"),
        ),
        Column(
            "effort ratio", "number", None, "expected running time of the first / of the other, to targets both reach",
            field="ratio", show=number, better="lower", on="text page", minor=True,
        ),
        Column(
            "95 % interval", "interval", None, "95 % over problems", show=number, joined=True, on="text page",
            field=("ratio_lb", "ratio_ub"), minor=True,
        ),
        Column("p (Holm)", "p", None, made.pairs.other_test, field="p_holm", on="page latex"),
        Column(
            "more trials", "number", 0, settle, field="more_trials", show=count, only=undecided, on="text page",
            minor=True,
        ),
        Column(
            "more functions", "number", 0, settle, field="more_functions", show=count, only=undecided, on="text page",
            minor=True,
        ),
    ]  # fmt: skip
    board = Board(columns, (found if most is None else found.head(most)).rows(named=True))
    return _at_every_look(board) if made.pairs.at_every_look else board


def _at_every_look(board: Board) -> Board:
    """Without what holds for a fixed number of trials only; the interval of P(beats) is the one that decides."""
    fixed = {"score_lb", "iqm_lb", "group", "difference_lb", "ratio_lb", "p_holm", "more_trials", "more_functions"}

    def of(column: Column) -> str:
        return column.field if isinstance(column.field, str) else column.field[0]

    return replace(board, columns=[column for column in board.columns if of(column) not in fixed])


def rankings(made: Comparison, most: int | None = None, *, short: bool = False) -> Board:
    """Places by other ways of scoring: one row per way, one column per optimizer; short: heads are cut."""
    names = made.table("optimizers")["optimizer"].to_list()[:most]
    rows = [
        {"ranking": way[0], "tau": part["tau"][0], **dict(zip(part["optimizer"], part["place"], strict=True))}
        for way, part in made.table("rankings").group_by(["ranking"], maintain_order=True)
    ]
    heads = short_names(names) if short else names
    agreement = "Kendall's tau-b with the first row: 1 is the same order, −1 the reverse"
    columns = [
        Column("way of scoring", field="ranking"),
        *(
            Column(visible(head), "number", 0, field=name, show=str, minor=i > 2)
            for i, (name, head) in enumerate(zip(names, heads, strict=True))
        ),
        Column("tau", "number", 2, agreement, field="tau"),
    ]
    return Board(columns, rows)


def latex(made: Comparison) -> str:
    """A comparison for a paper: optimizers, then pairs, each a `tabular`."""
    comment = [
        f"{made.scores.what}; {made.scores.view}, {len(made.scores.problems)} problems",
        f"intervals: {made.pairs.method}; p (Holm): {made.pairs.other_test}, {made.pairs.tests} tests",
        *([f"frame {made.frame['hash']}"] if "hash" in made.frame else []),
    ]
    ranking = "" if made.overall is None else optimizers(made).latex(comment) + "\n"
    return ranking + pairs(made).latex(comment)


def ranks(made: Ranks) -> Board:
    """Scott-Knott ranks on each problem by each measure."""
    five = partial(significant, digits=5)
    columns = [
        Column("problem", "problem", field="problem", on="latex page"),
        Column("measure", field="measure", on="latex page"),
        Column("rank", "number", 0, field="rank", show=str, better="lower", bold="latex page"),
        Column("optimizer", "optimizer", field="optimizer"),
        Column("median", "number", field="median", show=five),
        Column("IQR", "number", field="iqr", show=five),
        Column("n", "number", field="n", show=str),
        Column(
            "no value", "number", 0, "trials without a value, the worst of all",
            field="missing", show=lambda n: str(n) if n else ABSENT,
        ),
        Column("10 % --- 25 % === median * === 75 % --- 90 %", "chart", field="chart", on="text", minor=True),
    ]  # fmt: skip
    rows = [
        {**row, "chart": drawn, "measure": f"{row['metric']} ({DIRECTIONS[row['better']]})"}
        for row, drawn in zip(made.table.to_dicts(), made.charts, strict=True)
    ]
    return Board(columns, rows, [(row["problem"], row["metric"]) for row in rows])


DIRECTIONS = {"higher": "more is better", "lower": "less is better"}


def ranks_text(made: Ranks, width: int | None = None) -> str:
    """The ranks for a terminal: a table per problem and measure, a line between two ranks."""
    board = ranks(made)
    head, *lines = board.text(width).splitlines()
    lines, tail = lines[: len(board.rows)], lines[len(board.rows) :]
    out: list[str] = []
    last: tuple[Any, ...] = ()
    for row, line in zip(board.rows, lines, strict=True):
        here = (row["problem"], row["metric"])
        if here != last[:2]:
            title = f"{clean(row['problem'])}: {row['measure']}"
            out += ["", title, head] if out else [title, head]
        elif row["rank"] != last[2]:
            out.append("  " + "-" * (len(head) - 2))
        last = (*here, row["rank"])
        out.append(line.rstrip())
    notes = [f"Scott-Knott: no test separates the optimizers between two lines ({made.test})"]
    notes += [f"note: {clean(note)}" for note in made.notes[:NOTES]]
    if len(made.notes) > NOTES:
        notes.append(f"note: … and {len(made.notes) - NOTES} more (--format json has all)")
    frame = [f"frame {made.frame['hash'][:12]}"] if "hash" in made.frame else []
    return wrapped("\n".join([*out, *tail, "", *notes, *frame]), width)


def ranks_latex(made: Ranks) -> str:
    """The ranks for a paper, rank 1 in bold."""
    comment = [f"Scott-Knott ranks per problem and measure: {made.test}", *made.notes]
    return ranks(made).latex([*comment, *([f"frame {made.frame['hash']}"] if "hash" in made.frame else [])])


NOTES = 5
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
        Column("10 % --- 25 % === median * === 75 % --- 90 %", "chart", field="chart", on="text"),
    ]
    charts = [one.chart for one in ranked]
    return Board(
        columns, [row | {"chart": chart} for row, chart in zip(ranked_table(ranked).to_dicts(), charts, strict=True)]
    )
