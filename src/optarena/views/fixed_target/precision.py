"""From a store to the precision f - f_opt of every run over its effort, and which runs repeat the same problem.

Where no optimum is known, the best of the store stands for it, and precision is relative to what random search does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from optarena.errors import OptarenaError
from optarena.store.results import Results
from optarena.traces import Bools, Floats, Ints, cumulative_minimum

NOISE_FREE = "noise_free"
"""The hidden metric that a noisy suite records beside the noisy value."""


@dataclass
class Runs:
    """All runs that can be scored, laid end to end: the best precision so far at each improvement."""

    results: Results
    axis: str
    table: pl.DataFrame
    """A row a run: optimizer, suite, function, dimension, instance, trial, problem."""
    cell: Ints
    """(runs,): which (optimizer, suite, function, dimension) it belongs to; instances and trials repeat it."""
    cells: pl.DataFrame
    offsets: Ints
    precision: Floats
    effort: Floats
    spent: Floats
    """(runs,): what the run spent in all, its own."""
    first: Floats
    """(runs,): the precision of its first evaluation that did not fail."""
    relative: Bools
    """(runs,): whether no optimum is known, so that precision is a part of the way from random search to the best."""
    level: Floats
    """(runs,): the minimised value that counts as optimal; `span`: the unit of precision."""
    span: Floats
    excluded: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def per_dimension(self) -> Floats:
        """(runs,): by what efforts are divided on the axis of an ECDF: the dimension, for evaluations."""
        if self.axis != "evaluations":
            return np.ones(len(self))
        return np.maximum(self.table["dimension"].fill_null(1).to_numpy(), 1).astype(float)


def runs_of(
    results: Results,
    axis: str = "evaluations",
    *,
    relative: bool = False,
    pinned: dict[str, tuple[float, float]] | None = None,
) -> Runs:
    """Every study with one objective.

    relative: count precision in parts of the way from random search to the best for all problems, not only for those
    without a known optimum. pinned: level and span of problems, from a frame.
    """
    frame = results.studies
    excluded = [_named(row, "planned, not begun") for row in frame.filter(frame["status"] == "missing").to_dicts()]
    frame = frame.filter(frame["status"] != "missing")
    traces = results.traces()
    usable = frame["sense"].is_not_null().to_numpy()
    effort = results.efforts(axis)
    study = np.repeat(np.arange(len(traces)), traces.lengths)
    lacking = np.bincount(study[np.isnan(effort)], minlength=len(traces)) > 0
    for i in np.flatnonzero(~usable | lacking).tolist():
        several = "it has several objectives: see the pareto view"
        excluded.append(_named(frame.row(i, named=True), f"it has no {axis}" if usable[i] else several))
    usable &= ~lacking
    y = traces.values[:, 0]
    if NOISE_FREE in results.metrics:  # runtimes are those to the true value, as in COCO, whatever the noise showed
        true, has = results.metric(NOISE_FREE)
        y = np.where(np.repeat(has, traces.lengths) & ~np.isnan(y), true, y)
    ok = traces.feasible & ~np.isnan(y) & (y > -np.inf)
    best = cumulative_minimum(np.where(ok, y, np.inf), traces.offsets)
    first_row = np.zeros(len(y), dtype=bool)
    first_row[traces.offsets[:-1][traces.lengths > 0]] = True
    improves = (best < np.inf) & (first_row | (best < np.append(np.inf, best[:-1])))
    kept = improves & usable[study]
    chosen = np.flatnonzero(usable)
    part = frame[chosen.tolist()]
    number = np.full(len(traces), -1, dtype=np.int64)
    number[chosen] = np.arange(len(chosen))
    owner = number[study[kept]]
    offsets = np.searchsorted(owner, np.arange(len(chosen) + 1)).astype(np.int64)
    level, span, parts, notes = _levels(part, best[kept], owner, relative, pinned)
    precision = (best[kept] - level[owner]) / span[owner]
    spent = _spent(results, axis, part, chosen, effort, traces.offsets)
    first = np.full(len(chosen), np.inf)
    some = np.diff(offsets) > 0
    first[some] = precision[offsets[:-1][some]]
    table = part.select(
        "optimizer", "suite", "problem", "dimension", "instance", "trial",
        function=pl.when(pl.col("function").fill_null("") == "").then("problem").otherwise("function"),
    )  # fmt: skip
    keys = ["optimizer", "suite", "function", "dimension"]
    cells = table.select(keys).unique(maintain_order=True).with_row_index("cell")
    cell = table.join(cells, on=keys, how="left", nulls_equal=True, maintain_order="left")["cell"].to_numpy()
    out = Runs(
        results, axis, table, cell.astype(np.int64), cells.drop("cell"), offsets, precision, effort[kept], spent, first,
        parts, level, span, excluded, notes,
    )  # fmt: skip
    if not len(out):
        reasons = "; ".join(dict.fromkeys(item["reason"] for item in excluded)) or "it is empty"
        raise OptarenaError(f"nothing in store {results.path} can be scored: {reasons}")
    return out


def _levels(
    part: pl.DataFrame, best: Floats, owner: Ints, everywhere: bool, pinned: dict[str, tuple[float, float]] | None
) -> tuple[Floats, Floats, Bools, list[str]]:
    """(runs,): the value that counts as optimal, the unit of precision, and whether it is a relative one."""
    sign = np.where(part["sense"].to_numpy() == "max", -1.0, 1.0)
    known = part["optimum"].to_numpy().astype(float) * sign
    told = part["best_known"].to_numpy().astype(float) * sign
    key = part.select(pl.struct("problem", "instance").rank("dense") - 1).to_series().to_numpy().astype(np.int64)
    count = int(key.max()) + 1 if len(key) else 0
    seen = np.full(count, np.inf)
    np.minimum.at(seen, key[owner], best)
    level = np.where(np.isnan(known), np.fmin(told, seen[key]), known)
    relative = np.isnan(known) | everywhere
    span = np.ones(len(part))
    if pinned is not None:
        level, span = np.array([pinned.get(name, (np.nan, np.nan)) for name in part["problem"]]).reshape(-1, 2).T
        return level, span, relative, []
    notes = []
    if relative.any():
        # the median of what runs began with, random search's where it took part
        names = part["optimizer"].to_list()
        random = np.array([name.partition("_")[0] == "RandomSearch" for name in names], dtype=bool)
        begin = np.full(len(part), np.nan)
        rows = np.searchsorted(owner, np.arange(len(part)))
        some = (rows < len(owner)) & (owner[np.minimum(rows, max(0, len(owner) - 1))] == np.arange(len(part)))
        begin[some] = best[rows[some]]
        for problem in np.unique(key[relative]).tolist():
            mine = key == problem
            start = begin[mine & random] if np.isfinite(begin[mine & random]).any() else begin[mine]
            start = start[np.isfinite(start)]
            width = float(np.median(start) - level[mine][0]) if len(start) else 0.0
            span[mine] = width if width > 0 else 1.0
        unknown = len(np.unique(key[np.isnan(known)]))
        if unknown:
            notes.append(
                f"no optimum is known of {unknown} {'problem' if unknown == 1 else 'problems'}: their targets are "
                "parts of the way from where random search begins to the best value of the store"
            )
    return level, span, relative, notes


def _spent(results: Results, axis: str, part: pl.DataFrame, chosen: Ints, effort: Floats, offsets: Ints) -> Floats:
    if axis == "evaluations":
        return part["evaluations"].to_numpy().astype(float)
    last = np.zeros(len(chosen))
    some = np.diff(offsets)[chosen] > 0
    last[some] = effort[offsets[1:][chosen][some] - 1]
    if axis == "batches":
        return last
    at_end = results.extra_at_end(
        "decisions" if axis == "decisions" else axis if axis == "seconds" else f"effort.{axis}"
    )
    return np.fmax(last, at_end[chosen])


def _named(row: dict[str, Any], reason: str) -> dict[str, Any]:
    return {"optimizer": row["optimizer"], "problem": row["problem"], "trial": row["trial"], "reason": reason}
