"""From a store to the precision f - f_opt of every run over its effort, and which runs repeat the same problem.

Where no optimum is known, the best of the store stands for it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from optarena._numbers import counted
from optarena._order import natural
from optarena.dataset import Dataset
from optarena.dataset.rows import CONSTRAINT_EVALUATIONS
from optarena.optimizer import is_random_search
from optarena.sense import signs
from optarena.traces import Bools, Floats, Ints, cumulative_minimum, latest
from optarena.views.fixed_target.measured import CONSTRAINED, Measured, measured
from optarena.views.selection import FAILURES, Candidates, Selection

Levels = dict[str, tuple[float, float]]
"""Problem -> the value that counts as optimal (NaN: its own optimum), and the unit of precision."""


@dataclass
class Runs:
    """All runs that can be scored, laid end to end: the best precision so far at each improvement."""

    results: Dataset
    axis: str
    table: pl.DataFrame
    """One row per run: optimizer, suite, function, dimension, instance, trial, problem, level (docs/scores.md 0.4)."""
    cell: Ints
    """(runs,): which (optimizer, suite, function, dimension) it belongs to; instances and trials repeat it."""
    cells: pl.DataFrame
    offsets: Ints
    precision: Floats
    effort: Floats
    spent: Floats
    """(runs,): what the run spent in all, its own."""
    unknown: Bools
    """(runs,): whether no optimum is known, so that the best of the store stands for it."""
    parts: Bools
    """(runs,): whether precision is a part of the way from random search to the best."""
    indicator: Bools
    """(runs,): whether precision is COCO's bi-objective indicator."""
    levels: Levels
    excluded: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failures: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=FAILURES))
    """See `Selection.failures`."""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def opponents(self) -> Iterator[tuple[str, str, pl.DataFrame]]:
        """Every two optimizers that share a problem, and the rows of `cells` that do: `cell` and `cell_right`."""
        cells = self.cells.with_row_index("cell")
        keys = ["suite", "function", "dimension"]
        for a, b in itertools.combinations(dict.fromkeys(cells["optimizer"]), 2):
            both = cells.filter(pl.col("optimizer") == a).join(
                cells.filter(pl.col("optimizer") == b), on=keys, nulls_equal=True, maintain_order="left"
            )
            if both.height:
                yield a, b, both

    @cached_property
    def per_dimension(self) -> Floats:
        """(runs,): by what efforts are divided on the axis of an ECDF: the dimension, for evaluations."""
        if self.axis != "evaluations":
            return np.ones(len(self))
        return np.maximum(self.table["dimension"].fill_null(1).to_numpy(), 1).astype(float)

    @cached_property
    def owner(self) -> Ints:
        """(rows,): the run of each row."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @property
    def final(self) -> Floats:
        """(runs,): the best precision at the end; inf without any."""
        out = np.full(len(self), np.inf)
        some = np.diff(self.offsets) > 0
        out[some] = self.precision[self.offsets[1:][some] - 1]
        return out

    @cached_property
    def problem(self) -> Ints:
        """(runs,): the number of its problem, an instance."""
        return _numbered(self.table)

    def best_at(self, run: Ints, effort: Floats) -> Floats:
        """The best precision of a run by so much effort; inf before its first. Both are broadcast."""
        return np.append(self.precision, np.inf)[latest(self.effort, self.offsets, run, effort)]

    def only(self, kept: Bools) -> Runs:
        """Some of the runs."""
        table = self.table.filter(kept)
        cells, cell = _cells(table)
        lengths = np.diff(self.offsets)
        rows = np.repeat(kept, lengths)
        return replace(
            self, table=table, cell=cell, cells=cells, precision=self.precision[rows], effort=self.effort[rows],
            offsets=np.concatenate(([0], np.cumsum(lengths[kept]))).astype(np.int64), spent=self.spent[kept],
            unknown=self.unknown[kept], parts=self.parts[kept], indicator=self.indicator[kept],
        )  # fmt: skip

    def cut(self, spent: Floats) -> Runs:
        """The same, each run ended where it had spent so much."""
        owner = self.owner
        kept = self.effort <= spent[owner]
        offsets = np.concatenate(([0], np.cumsum(np.bincount(owner[kept], minlength=len(self))))).astype(np.int64)
        return replace(
            self, offsets=offsets, precision=self.precision[kept], effort=self.effort[kept],
            spent=np.minimum(self.spent, spent),
        )  # fmt: skip


def runs_of(
    results: Dataset,
    axis: str = "evaluations",
    *,
    parts: bool | None = None,
    pinned: Levels | None = None,
    quantity: Measured | None = None,
    original: bool = False,
) -> Runs:
    """Every study that can be scored.

    parts: count precision in parts of the way from random search to the best; None: where no optimum is known.
    pinned: level and unit of problems, from a frame. quantity: what counts, where it is not the value. original: a
    study that did not end and has no value is scored too, as cocopp does.
    """
    found = Candidates(results, instances_apart=False)
    frame, traces, study = found.table, results.traces(), found.study_of_row
    measure = measured(results, frame) if quantity is None else quantity
    effort = results.efforts(axis)
    for i in np.flatnonzero(found.lacking(axis)).tolist():
        measure.unfit.setdefault(i, f"it has no {axis}")
    notes = _share_optima(frame, measure)
    if pinned is not None:
        for i, name in enumerate(_keys(frame)):
            if name not in pinned:
                measure.unfit.setdefault(i, "its problem is not in the frame")
    found.leave_out_each(measure.unfit)
    valued = found.having(measure.values < np.inf)
    if original:
        found.valued = valued
    else:
        found.settle(valued)
    chosen = found.selection(axis, Selection)
    part = chosen.table
    best = cumulative_minimum(measure.values, traces.offsets)
    first_row = np.zeros(len(best), dtype=bool)
    first_row[traces.offsets[:-1][traces.lengths > 0]] = True
    improves = (best < np.inf) & (first_row | (best < np.append(np.inf, best[:-1])))
    kept = improves & found.usable[study]
    number = np.full(len(traces), -1, dtype=np.int64)
    number[chosen.kept] = np.arange(len(chosen))
    owner = number[study[kept]]
    table = part.select(
        "optimizer", "suite", "problem", "dimension", "instance", "trial", "level",
        function=pl.when(pl.col("function").fill_null("") == "").then("problem").otherwise("function"),
    )  # fmt: skip
    unknown = np.isnan(measure.optimum[chosen.kept])
    level = _level(part, measure.optimum[chosen.kept], best[kept], owner)
    in_parts = unknown if parts is None else np.full(len(chosen), parts)
    keys = _keys(part)
    if pinned is not None:
        fixed = np.array([pinned[name] for name in keys]).reshape(-1, 2)
        level = np.where(measure.difference[chosen.kept] | np.isnan(fixed[:, 0]), level, fixed[:, 0])
        span = fixed[:, 1]
    else:
        span = _span(part, best[kept] - level[owner], owner, in_parts)
    if unknown.any() and pinned is None:
        notes.append(_unknown_note(len(np.unique(_numbered(part)[unknown])), bool(in_parts[unknown].all())))
    own = np.where(measure.difference[chosen.kept], np.nan, level)
    levels: Levels = {}
    for name, value, width in zip(keys, own.tolist(), span.tolist(), strict=True):
        if name not in levels or np.isnan(levels[name][0]):
            levels[name] = (value, width)
    cells, cell = _cells(table)
    spent, unsure = _spent(results, axis, frame, effort, traces.offsets)
    if original and axis == "evaluations":
        effort, spent = _with_constraints(results, frame, effort, spent)
    if unsure[chosen.kept].any():
        notes.append(
            f"{counted(int(unsure[chosen.kept].sum()), 'run')} did not record the {axis} at the end: "
            "where they fail, they are charged up to their last improvement"
        )
    return Runs(
        results=results,
        axis=axis,
        table=table,
        cell=cell,
        cells=cells,
        offsets=np.searchsorted(owner, np.arange(len(chosen) + 1)).astype(np.int64),
        precision=(best[kept] - level[owner]) / span[owner],
        effort=effort[kept],
        spent=spent[chosen.kept],
        unknown=unknown,
        parts=in_parts,
        indicator=measure.indicator[chosen.kept],
        levels=levels,
        excluded=chosen.excluded,
        notes=notes,
        failures=chosen.failures,
    )


def _with_constraints(results: Dataset, frame: pl.DataFrame, effort: Floats, spent: Floats) -> tuple[Floats, Floats]:
    """Efforts (rows,) and what was spent (studies,), evaluations of constraints included, as cocopp counts them.

    Where a file does not say how often constraints were evaluated, it was once an evaluation (docs/scores.md 2.14).
    """
    mine = (frame["suite"] == CONSTRAINED).fill_null(False).to_numpy()
    if not mine.any():
        return effort, spent
    name = f"effort.{CONSTRAINT_EVALUATIONS}"
    given, at_end = results.extra(name), results.extra_at_end(name)
    each = np.where(np.isnan(given), effort, given)
    offsets = results.traces().offsets
    last = np.zeros(len(spent))
    some = np.diff(offsets) > 0
    last[some] = (each - effort)[offsets[1:][some] - 1]  # how many more than evaluations
    rows = np.repeat(mine, np.diff(offsets))
    in_all = np.where(np.isnan(at_end), spent + last, at_end)
    return np.where(rows, effort + each, effort), np.where(mine, spent + in_all, spent)


def _cells(table: pl.DataFrame) -> tuple[pl.DataFrame, Ints]:
    """What instances and trials repeat, and which of them each run repeats."""
    by = ["optimizer", "suite", "function", "dimension"]
    order = [pl.col(name).cast(pl.Enum(natural(table[name].drop_nulls()))) for name in ("suite", "function")]
    cells = table.select(by).unique(maintain_order=True).sort(*order, "dimension", maintain_order=True)
    cells = cells.with_row_index("cell")
    cell = table.join(cells, on=by, how="left", nulls_equal=True, maintain_order="left")["cell"].to_numpy()
    return cells.drop("cell"), cell.astype(np.int64)


def _numbered(part: pl.DataFrame) -> Ints:
    """(runs,): the number of its problem; files may have several instances under one id."""
    return part.select(pl.struct("problem", "instance").rank("dense") - 1).to_series().to_numpy().astype(np.int64)


def _keys(part: pl.DataFrame) -> list[str]:
    """What a frame calls the problem of each run."""
    return [
        problem if instance is None or problem.endswith(f"/i{instance}") else f"{problem}/i{instance}"
        for problem, instance in part.select("problem", "instance").iter_rows()
    ]


def _share_optima(frame: pl.DataFrame, measure: Measured) -> list[str]:
    """An optimum that some studies tell of their problem holds for those that do not; else they cannot be compared."""
    lacking = np.isnan(measure.optimum)
    told = ~lacking & ~measure.difference
    number = _numbered(frame)
    shared = 0
    for problem in np.unique(number[lacking & np.isin(number, number[~lacking])]).tolist():
        mine = number == problem
        known = np.unique(measure.optimum[mine & told])
        if len(known) == 1:
            measure.optimum[mine & lacking] = known[0]
            shared += 1
            continue
        for i in np.flatnonzero(mine & lacking).tolist():
            measure.unfit.setdefault(i, "it has f without f_opt, others of its problem have f - f_opt")
    if not shared:
        return []
    return [f"some runs of {counted(shared, 'problem')} do not state the optimum: that of other runs is used"]


def _level(part: pl.DataFrame, known: Floats, best: Floats, owner: Ints) -> Floats:
    """(runs,): the minimised value that counts as optimal: the optimum, else the best that is known or was found."""
    sign = signs(part["sense"])
    told = part["best_known"].to_numpy().astype(float) * sign
    number = _numbered(part)
    seen = np.full(int(number.max()) + 1, np.inf)
    np.minimum.at(seen, number[owner], best)
    return np.where(np.isnan(known), np.fmin(told, seen[number]), known)


def _span(part: pl.DataFrame, distance: Floats, owner: Ints, in_parts: Bools) -> Floats:
    """(runs,): the unit of precision; for parts, how far runs began, random search's where it took part: the median."""
    begin = np.full(part.height, np.nan)
    first = np.flatnonzero(np.append(True, owner[1:] != owner[:-1])[: len(owner)])
    begin[owner[first]] = distance[first]
    random = pl.col("optimizer").is_in([name for name in part["optimizer"].unique() if is_random_search(name)])
    told = part.select("optimizer", number=pl.Series(_numbered(part)), begin=pl.Series(begin).fill_nan(None))
    middle = pl.coalesce(pl.col("begin").filter(random).median(), pl.col("begin").median())
    width = told.with_columns(width=middle.over("number"))["width"].fill_null(0.0).to_numpy()
    return np.where(in_parts & np.isfinite(width) & (width > 0), width, 1.0)


def _unknown_note(count: int, in_parts: bool) -> str:
    whose = f"no optimum is known of {counted(count, 'problem')}"
    if in_parts:
        return f"{whose}: their targets are parts of the way from where random search begins to the best of the store"
    return f"{whose}: the best value in the store is used instead"


def _spent(results: Dataset, axis: str, frame: pl.DataFrame, effort: Floats, offsets: Ints) -> tuple[Floats, Bools]:
    """(started studies,): the whole effort, and whether it may have been more than is recorded.

    Where only improvements are kept it is more than that of the last row.
    """
    made = frame["evaluations"].to_numpy()
    if axis == "evaluations":
        return made.astype(float), np.zeros(frame.height, dtype=bool)
    last, reached = np.zeros(frame.height), np.zeros(frame.height)
    some = np.diff(offsets) > 0
    rows = offsets[1:][some] - 1
    last[some], reached[some] = effort[rows], results.traces().evaluation[rows]
    if axis == "batches":
        usual = np.ceil(made / np.maximum(frame["batch"].to_numpy(), 1))
        given = ~np.isnan(results.extra("batch"))
        imported = np.zeros(frame.height, dtype=bool)
        imported[np.repeat(np.arange(frame.height), np.diff(offsets))[given]] = True
        return np.where(imported, last, np.maximum(last, usual)), imported & (reached < made)
    unsure = reached < made
    if axis == "seconds":  # what its own clock charged, with the last observing; 0 for what was imported
        charged = frame.select(pl.sum_horizontal("suggest_seconds", "evaluate_seconds", "observe_seconds"))
        last = np.maximum(last, results.clocks.scaled(axis, charged.to_series().to_numpy()))
        unsure &= charged.to_series().to_numpy() == 0
    at_end = results.efforts_at_end(axis)
    return np.fmax(last, at_end), unsure & np.isnan(at_end)
