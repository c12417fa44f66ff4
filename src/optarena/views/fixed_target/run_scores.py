"""A number for every run, for comparisons: how early it reached its targets, or how far its curve came."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from optarena.traces import Bools, Floats, Ints
from optarena.views.fixed_target.profile_tables import areas
from optarena.views.fixed_target.runs import Runs
from optarena.views.fixed_target.scored import Scored
from optarena.views.selection import COUNTED

METRICS = {
    "area": "one minus the area under the ECDF of runtimes over log effort (0 all targets at once, 1 none)",
    "aocc": "one minus the area over the convergence curve (0 best, 1 worst)",
    "unreached": "part of the targets that a run does not reach",
}
PARTS = ("all", "easy", "hard")


class Repeated(NamedTuple):
    """What runs repeat: functions in dimensions."""

    number: Ints
    """(runs,): which of them."""
    names: list[str]
    dimensions: list[int | None]
    functions: list[str]


def problems_of(runs: Runs) -> Repeated:
    """Which function in which dimension each run repeats."""
    keys = ["suite", "function", "dimension"]
    table = (
        runs.table.group_by(keys, maintain_order=True)
        .agg(pl.col("problem").unique(), pl.col("level").first())
        .with_row_index("number")
    )
    names: list[str] = []
    for row in table.iter_rows(named=True):
        parts = (row["suite"], row["function"], None if row["dimension"] is None else f"d{row['dimension']}")
        whole = row["problem"][0] if len(row["problem"]) == 1 else "/".join(part for part in parts if part)
        names.append(whole if whole not in names else f"{whole} ({sum(n.startswith(whole) for n in names) + 1})")
    number = runs.table.join(table, on=keys, how="left", nulls_equal=True, maintain_order="left")["number"]
    return Repeated(number.to_numpy().astype(np.int64), names, table["dimension"].to_list(), table["level"].to_list())


def scores_of_runs(scored: Scored, problem: Ints, metric: str, part: str = "all") -> Floats:
    """(runs,): less is better, between 0 and 1 (docs/scores.md 5.1)."""
    runs = scored.runs
    budget = np.zeros(int(problem.max()) + 1)
    np.maximum.at(budget, problem, scored.spent)
    budget = budget[problem]
    if metric == "aocc":
        return 1.0 - areas(runs, budget)
    hits, counts = scored.hits, _those_of(part, scored.given[runs.cell])
    if metric == "unreached":
        return _mean(np.where(np.isfinite(hits), 0.0, 1.0), counts)
    # effort counts from one evaluation or batch on; on an axis that is not counted, from a thousandth of the budget
    first = np.ones(len(budget)) if runs.axis in COUNTED else budget / 1000
    with np.errstate(divide="ignore", invalid="ignore"):
        part_of_range = np.log(np.maximum(hits, first[:, None]) / first[:, None]) / np.log(budget / first)[:, None]
    inside = np.where(budget[:, None] > first[:, None], np.clip(part_of_range, 0.0, 1.0), 0.0)
    return _mean(np.where(np.isfinite(hits), inside, 1.0), counts)


def _those_of(part: str, given: Bools) -> Bools:
    """(runs, targets): all the targets that a run's problem has, or the easy or the hard half of them."""
    place, half = np.cumsum(given, axis=1) - 1, given.sum(axis=1, keepdims=True) // 2
    return given & {"all": given, "easy": place < np.maximum(half, 1), "hard": place >= half}[part]


def _mean(values: Floats, counts: Bools) -> Floats:
    """(runs,): over what counts; NaN where nothing does."""
    n = counts.sum(axis=1)
    return np.where(n > 0, np.where(counts, values, 0.0).sum(axis=1) / np.maximum(n, 1), np.nan)
