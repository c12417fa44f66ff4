"""The boards of the fixed-target view: expected running times to targets, and what was reached by the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from optarena._numbers import significant
from optarena._text import clean
from optarena.comparison.answer import SCALES
from optarena.report.boards._board import FAILED, Board, Paper, ranked, score_columns, with_failed
from optarena.report.boards.ratios import ratio_tables
from optarena.report.tables import Column
from optarena.views.fixed_target import FixedTarget, ert_tables
from optarena.views.fixed_target.figure_tables import ALL, loss_reference, unit

MOST_TARGETS = 7
FEW = 30
"""Rows of expected running times that a terminal shows."""


def board(rows: pl.DataFrame, heads: dict[int, str], axis: str, last: str = "") -> Board:
    """Expected running times, one row per function and optimizer, one column per target.

    rows: suite, function, dimension, optimizer, `rank` of the target, ert, n_success, n_runs, perhaps the `name` of
    the function in its dimension. heads: the label of each rank. last: the label of the column that counts who
    reached the last of them.
    """
    keys = [name for name in ("suite", "function", "dimension", "name", "optimizer") if name in rows.columns]
    by_key: dict[tuple[Any, ...], dict[str, Any]] = {}
    for *values, rank, ert, hits, runs in rows.select(*keys, "rank", "ert", "n_success", "n_runs").iter_rows():
        row = by_key.setdefault(tuple(values), dict(zip(keys, values, strict=True)))
        row |= {f"ert {rank}": ert, f"hits {rank}": hits, f"runs {rank}": runs}
    found = list(by_key.values())
    end = max(heads, default=0)
    columns = [
        Column("function", "function", field="name", on="page"),
        Column("function", field="function", on="text"),
        Column("optimizer", "optimizer", field="optimizer"),
        *(
            Column(
                head, "hits", None, f"expected {axis} to {head}", show=significant, better="lower", bold="page",
                field=(f"ert {rank}", f"hits {rank}", f"runs {rank}"),
            )
            for rank, head in heads.items()
        ),
        Column(
            f"reached {last}", "of", None, "runs that reached the hardest of these targets, of all", on="page",
            field=(f"hits {end}", f"runs {end}"),
        ),
    ]  # fmt: skip
    return Board(columns, found, [tuple(row[key] for key in keys[:-1]) for row in found])


def few_targets(view: FixedTarget) -> pl.DataFrame:
    """The expected running times to all targets, or to some of many; by rank, as problems may have their own."""
    keys = ["optimizer", "suite", "function", "dimension"]
    table = view.ert.with_columns(rank=pl.int_range(pl.len()).over(keys))
    n = int(table["rank"].max() or 0) + 1 if table.height else 0  # type: ignore[arg-type]
    shown = list(range(n))
    if n > MOST_TARGETS:
        shown = [round(i * (n - 1) / (MOST_TARGETS - 1)) for i in range(MOST_TARGETS)]
    return table.filter(pl.col("rank").is_in(shown))


def heads(rows: pl.DataFrame) -> dict[int, str]:
    """The target of each rank, where all problems have the same, else its place; of run lengths, their multiple."""
    if "k" in rows.columns:
        return {rank: f"{k:g} D" for rank, k in rows.select("rank", "k").unique().sort("rank").iter_rows()}
    targets = rows.group_by("rank").agg(pl.col("target").unique()).sort("rank").rows()
    return {rank: f"{cell[0]:.3g}" if len(cell) == 1 else f"target {rank + 1}" for rank, cell in targets}


def ordered(view: FixedTarget, rows: pl.DataFrame) -> pl.DataFrame:
    """Expected running times with the optimizers of each function as the leaderboard of its dimension has them; who
    is in none comes last. The functions stay in the order that they have, and so do the targets."""
    keys = ["suite", "function", "dimension"]
    places = [
        made.with_columns(dimension=pl.lit(dimension, pl.Int64), place=pl.int_range(pl.len()))
        for dimension, made in ((one, ranked(view, part, one)["optimizer"].to_frame()) for one, part in _scopes(view))
    ]
    order = (
        pl.concat(places) if places else pl.DataFrame(schema={"optimizer": str, "dimension": pl.Int64, "place": int})
    )
    scope = pl.col("dimension") if order["dimension"].n_unique() > 1 else pl.lit(None, pl.Int64)
    first = rows.select(keys).unique(maintain_order=True).with_row_index("function place")
    found = rows.with_columns(scope=scope).join(
        order.rename({"dimension": "scope"}), on=["optimizer", "scope"], how="left", nulls_equal=True,
        maintain_order="left",
    )  # fmt: skip
    found = found.join(first, on=keys, how="left", nulls_equal=True, maintain_order="left")
    return found.sort("function place", "place", "optimizer", nulls_last=True, maintain_order=True).select(rows.columns)


def _scopes(view: FixedTarget) -> list[tuple[int | None, pl.DataFrame]]:
    """What was reached over all dimensions (None), and in each where there are several."""
    dimensions = view.ert["dimension"].drop_nulls().unique().sort().to_list()
    table = ert_tables.board(view, dimensions)
    parts = table.group_by(["scope"], maintain_order=True)
    return [(None if scope == ALL else int(str(scope)), part) for (scope,), part in parts]


def text(view: FixedTarget, width: int | None = None) -> str:
    """What was reached in each dimension; then, where these are few, the ERT of each optimizer on each function."""
    rows, axis = ordered(view, few_targets(view)), view.frame["axis"]
    lines = [f"fixed target: what was reached, and how long that took, mode {view.mode}"]
    if "pareto" in view.frame:  # fronts: precisions are of an indicator
        lines.append(view.frame["precision"])
    lines += _summary(view, width)
    count = rows.select("suite", "function", "dimension", "optimizer").n_unique()
    if count > FEW:
        lines.append(f"\nexpected {axis} to each target: {count} rows, with --format csv, latex or json")
        return "\n".join(lines) + "\n"
    lines.append(f"\nexpected {axis} to reach a precision (successes of runs)")
    for (suite, dimension), part in rows.group_by(["suite", "dimension"], maintain_order=True):
        lines += [f"\n{_where(suite, dimension)}", board(part, heads(part), axis).text(width)]
    return "\n".join(lines) + "\n"


def _where(suite: Any, dimension: Any, part: str = "") -> str:
    return clean(" · ".join(str(name) for name in (suite or "", f"{dimension}-D" if dimension else part) if name))


def _summary(view: FixedTarget, width: int | None) -> list[str]:
    found = leaders(view)
    if not found:
        return ["\nno function was run by all optimizers in one dimension: there is nothing to sum up"]
    return [line for where, made in found for line in (f"\n{where}".rstrip(), made.text(width))]


def leaders(view: FixedTarget) -> list[tuple[str, Board]]:
    """One small table per dimension, with what it is of: they are never pooled."""
    dimensions = view.ert["dimension"].drop_nulls().unique().sort().to_list()
    several = len(dimensions) > 1
    out = []
    suites = view.ert["suite"].unique(maintain_order=True).to_list()
    suite = suites[0] if len(suites) == 1 else ""
    for scope, part in _scopes(view):
        if several and scope is None:  # targets of several dimensions are not pooled, but scores are means
            out.append((_where(suite, None, "all dimensions"), _scores(view, part)))
            continue
        dimension = scope if several else dimensions[0] if dimensions else None
        made = reached(view, part, unit(view), loss_reference(view))
        out.append((_where(suite, dimension), made))
    return out


def _scores(view: FixedTarget, table: pl.DataFrame) -> Board:
    columns = [Column("optimizer", "optimizer", field="optimizer"), *score_columns(view, SCALES[view.name]), *FAILED]
    return Board(columns, with_failed(view, ranked(view, table.select("optimizer")).rows(named=True)))


def papers(view: FixedTarget) -> Sequence[Paper]:
    """COCO's tables of ratios, one per suite and dimension."""
    return ratio_tables(view)


def reached(view: FixedTarget, table: pl.DataFrame, unit: str, reference: str) -> Board:
    """The score, and what was reached by the end. table: optimizer, scope, reached, aocc, median loss, budget."""
    parts = {scope: part for (scope,), part in table.group_by(["scope"], maintain_order=True)}
    dimensions = {scope: None if scope == ALL else int(str(scope)) for scope in parts}
    if parts:  # else no function was run by all
        table = pl.concat([ranked(view, part, dimensions[scope]) for scope, part in parts.items()])
    first = next(iter(dimensions.values()), None)
    columns = [
        Column("optimizer", "optimizer", field="optimizer"),
        *score_columns(view, SCALES[view.name], dimension=first),
        Column(
            "targets reached", "number", 3, "fraction of function, dimension and target, without restarts",
            field="reached", better="higher", bold="page",
        ),
        Column(
            "AOCC", "number", 3, "area over the convergence curve: log10 precision in [1e-8, 1e2]; 1 is best",
            field="aocc", better="higher", bold="page",
        ),
        Column(
            "loss", "number", 2, f"median of ERT / ERT of {reference}, over the targets that it reached",
            field="median", better="lower", bold="page",
        ),
        Column(f"budget ({unit})", "number", 1, "median over runs of where they ended", field="budget", minor=True),
        *FAILED,
    ]  # fmt: skip
    return Board(columns, with_failed(view, table.rows(named=True)), table["scope"].to_list())
