"""Runs with the efforts at which they reach their targets: what every table of the view is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from optarena.traces import Bools, Floats, Ints
from optarena.views.coverage import common
from optarena.views.fixed_target.runs import Runs
from optarena.views.fixed_target.runtimes import TOLERANCE, first_hits
from optarena.views.fixed_target.targets import FINAL
from optarena.views.selection import COUNTED

MOST_AT_ONCE = 4_000_000
"""Numbers in the arrays of one batch, which bounds the memory of a large store."""


@dataclass
class Batch:
    """Cells with equal numbers of runs, as one array. Targets of a cell with the same runtimes are one column."""

    cells: Ints
    runs: Ints
    """(runs, cells): the numbers of the runs."""
    hits: Floats
    """(runs, columns): inf for failures."""
    spent: Floats
    """(runs, columns)"""
    column: Ints
    """(cells, targets): the column of each."""

    @property
    def of(self) -> Ints:
        """(columns,): the place of its cell in `cells`."""
        out = np.empty(self.hits.shape[1], dtype=np.int64)
        out[self.column] = np.arange(len(self.cells))[:, None]
        return out


@dataclass
class Scored:
    """Runs with their targets: what every table is made of."""

    runs: Runs
    targets: Floats
    """(cells, targets), from the easiest to the hardest; NaN at the end of those that have fewer."""
    hits: Floats
    """(runs, targets): inf where a run did not reach its cell's target."""
    spent: Floats
    of_cell: list[Ints]
    """The runs of each cell, those that count more than once repeated."""
    mode: str
    seed: int
    bootstrap: int
    notes: list[str]
    multiples: Floats | None = None
    """(targets,): of run-length targets, the k of each; two of them may be one target."""
    per_decade: int = 10
    """Efforts in a decade at which ECDFs with restarts are computed."""
    grid: Floats | None = None
    """(efforts,): what `distributions.grid` gives, once it was asked for."""
    fractions: Floats | None = None
    """(cells, efforts): what `distributions.with_restarts` gives, once it was asked for."""

    @cached_property
    def given(self) -> Bools:
        """(cells, targets): which targets a cell has."""
        return ~np.isnan(self.targets)

    def labels(self, cells: Ints | None = None) -> dict[str, pl.Series]:
        """Columns of a table with a row for each target of each cell, or of some: `target`, and `k` of run lengths."""
        part = slice(None) if cells is None else cells
        keep = self.given[part]
        out = {"target": pl.Series(self.targets[part][keep])}
        if self.multiples is not None:
            out["k"] = pl.Series(np.broadcast_to(self.multiples, keep.shape)[keep])
        return out

    def spread(self, column: pl.Series, missing: float = np.nan) -> Floats:
        """(cells, targets): a column of a table with a row for each target of each cell, as `labels` has them."""
        out = np.full(self.targets.shape, missing)
        out[self.given] = column.to_numpy()
        return out

    @cached_property
    def optimizers(self) -> list[str]:
        """In the order of their cells."""
        return list(dict.fromkeys(self.runs.cells["optimizer"]))

    def by_problem(self, values: Floats) -> Floats:
        """(problems, optimizers, targets) of values (cells, targets); inf where an optimizer did not run a problem."""
        place = {name: o for o, name in enumerate(self.optimizers)}
        optimizer = np.array([place[name] for name in self.runs.cells["optimizer"]])
        out = np.full((int(self.problem.max()) + 1, len(place), values.shape[1]), np.inf)
        out[self.problem, optimizer] = values
        return out

    @cached_property
    def problem(self) -> Ints:
        """(cells,): the number of its function in its dimension, which optimizers share."""
        keys = self.runs.cells.select("suite", "function", "dimension")
        return keys.select(pl.struct(pl.all()).rank("dense") - 1).to_series().to_numpy().astype(np.int64)

    def having(self, problem: Ints) -> tuple[list[str], Bools]:
        """The optimizers, and (problems, optimizers): who ran what. problem: (runs,)"""
        optimizers = self.optimizers
        number = self.runs.table["optimizer"].replace_strict(optimizers, range(len(optimizers)), return_dtype=pl.Int64)
        has = np.zeros((int(problem.max()) + 1, len(optimizers)), dtype=bool)
        has[problem, number.to_numpy()] = True
        return optimizers, has

    @cached_property
    def alike(self) -> Bools:
        """(cells,): whether all optimizers ran its function in its dimension: what is pooled over functions.

        cocopp pools all that an optimizer ran (docs/scores.md 0.4).
        """
        if self.mode == "coco":
            return np.ones(len(self.problem), dtype=bool)
        return common(self.having(self.problem[self.runs.cell])[1])[self.problem]

    def batches(self, parts: list[Ints] | None = None, numbers: int = 1) -> Iterator[Batch]:
        """All cells, those with equal numbers of runs together, as many as fit into memory.

        parts: other sets of runs, each of one cell; `Batch.cells` counts them then. numbers: how many numbers per
        target are made of a batch.
        """
        parts = self.of_cell if parts is None else parts
        sizes = np.array([len(part) for part in parts])
        for size in np.unique(sizes).tolist():
            members = np.flatnonzero(sizes == size)
            at_once = max(1, MOST_AT_ONCE // max(1, max(size, numbers) * self.hits.shape[1]))
            for low in range(0, len(members), at_once):
                some = members[low : low + at_once]
                yield self._batch(some, np.array([parts[i] for i in some.tolist()]).T)

    def _batch(self, cells: Ints, runs: Ints) -> Batch:
        hits = self.hits[runs]  # [runs, cells, targets]
        new = np.ones(hits.shape[1:], dtype=bool)
        new[:, 1:] = (hits[:, :, 1:] != hits[:, :, :-1]).any(axis=0)
        column = (np.cumsum(new.ravel()) - 1).reshape(new.shape)
        spent = self.spent[runs][:, np.repeat(np.arange(len(cells)), new.sum(axis=1))]
        return Batch(cells, runs, hits[:, new], spent, column)


def score(
    runs: Runs,
    called: Floats,
    targets: Floats,
    mode: str,
    budget: float | None,
    bootstrap: int,
    seed: int,
    multiples: Floats | None = None,
    per_decade: int = 10,
) -> Scored:
    """When each run reaches each target of its cell.

    called, targets: (cells, targets), see `targets.per_cell`; multiples: (targets,), of run-length targets.
    """
    spent = runs.spent.copy()
    if mode == "coco":  # a run that hits 1e-8 ends there; the indicator goes on below its optimum
        final = first_hits(runs.precision, runs.effort, runs.offsets, [FINAL])[:, 0]
        spent = np.where(runs.indicator, spent, np.minimum(spent, final))
    if budget is not None:
        most = budget * runs.per_dimension
        # there is no half evaluation to be charged for
        spent = np.minimum(spent, np.floor(most + 1e-9) if runs.axis in COUNTED else most)
    runs = runs.cut(spent)
    hits = np.full((len(runs), targets.shape[1]), np.inf)
    # cells that share their targets are scored together; COCO compares indicators as they are
    kinds: dict[tuple[bytes, float], list[int]] = {}
    strict_cells = np.zeros(runs.cells.height, dtype=bool)
    if mode == "coco":
        strict_cells[runs.cell[runs.indicator]] = True
    for c, row in enumerate(targets):
        kinds.setdefault((row.tobytes(), 0.0 if strict_cells[c] else TOLERANCE), []).append(c)
    order = np.argsort(runs.cell, kind="stable")
    of_cell = np.split(order, np.searchsorted(runs.cell[order], np.arange(1, runs.cells.height)))
    lengths = np.diff(runs.offsets)
    for (_, tolerance), members in kinds.items():
        row = targets[members[0]]
        given = ~np.isnan(row)
        mine = np.concatenate([of_cell[c] for c in members])
        offsets = np.concatenate(([0], np.cumsum(lengths[mine]))).astype(np.int64)
        at = np.repeat(runs.offsets[:-1][mine] - offsets[:-1], lengths[mine]) + np.arange(offsets[-1])
        hits[np.ix_(mine, given)] = first_hits(runs.precision[at], runs.effort[at], offsets, row[given], tolerance)
    if mode == "coco":
        of_cell = [_balanced(runs, part) for part in of_cell]
    return Scored(runs, called, hits, runs.spent, of_cell, mode, seed, bootstrap, [], multiples, per_decade)


def _balanced(runs: Runs, part: Ints) -> Ints:
    """Each run as often as makes all instances count the same: lcm(counts)/count times (docs/scores.md 2.14)."""
    instance = runs.table["instance"].fill_null(-1).to_numpy()[part]
    _, back, counts = np.unique(instance, return_inverse=True, return_counts=True)
    return np.repeat(part, np.lcm.reduce(counts) // counts[back])
