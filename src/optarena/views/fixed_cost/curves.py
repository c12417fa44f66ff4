"""From a store to the best so far of every study at every iteration, and the pool of what random search saw.

The iterations are batches, evaluations, or points on any other effort axis; nothing is scored here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from optarena.dataset import Dataset, Pool
from optarena.dataset.facts import of_cards
from optarena.errors import OptarenaError
from optarena.optimizer import is_random_search
from optarena.status import EVALUATION
from optarena.traces import Bools, Floats, Ints, at_best, latest
from optarena.views.selection import COUNTED, SEVERAL, Candidates, Selection, named, spans

MOST_ITERATIONS = 1000
MOST_NUMBERS = 40_000_000  # in one matrix of studies x iterations
BETWEEN = 50  # iterations on an axis that is not counted

VISIBLE = "value"
"""The name of the objective that the optimizers see, among the metrics."""


@dataclass
class Curves(Selection):
    """The studies that can be scored, and their best so far on the chosen axis."""

    mode: str = "exact"
    irregular: bool = False
    """Whether batches differ in size within a study, beyond the remainder."""

    @cached_property
    def random(self) -> Bools:
        """(studies,): whether it is random search whose every evaluation is kept."""
        made = (self.table["evaluations"] > 0).to_numpy()  # one without any adds nothing to the baseline
        return self.called_random & (self.table["record"] == "all").to_numpy() & made

    @cached_property
    def called_random(self) -> Bools:
        """(studies,): whether it is random search, by its name."""
        return np.array([is_random_search(name) for name in self.optimizers], dtype=bool)[self.optimizer]

    def __post_init__(self) -> None:
        traces = self.results.traces()
        lengths = traces.lengths[self.kept]
        self._rows = spans(traces.offsets[:-1][self.kept], lengths)
        self._offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        self._study = np.repeat(np.arange(len(self.kept)), lengths)
        sign = self.sign[self.problem][self._study]
        y = traces.values[self._rows, 0]  # already minimised
        status = self.results.row_statuses()[self._rows]
        self._sign_of_row = sign
        self._effort = self.results.efforts(self.axis)[self._rows]
        self._undefined = (status == EVALUATION.index("nan")) | (y == -np.inf)
        ok = (status == 0) & traces.feasible[self._rows] & ~np.isnan(y) & (y > -np.inf)
        self._ok = ok
        self._hidden: dict[str, tuple[Floats, Bools]] = {}
        self._visible = np.where(ok, y, np.inf)

    # ---- what every metric shares ------------------------------------------------------------------------------------

    @property
    def counted(self) -> bool:
        """Whether iterations are whole numbers of batches or evaluations."""
        return self.axis in COUNTED

    def signatures(self) -> dict[str, list[float]]:
        """What the studies tell of their problems' values at fixed points: problem -> values; not all tell it."""
        told = np.flatnonzero(of_cards(self.results, lambda card: bool(card.signature))[self.kept])
        problems, first = np.unique(self.problem[told], return_index=True)
        out = {}
        for p, study in sorted(zip(problems.tolist(), told[first].tolist(), strict=True), key=lambda item: item[1]):
            signature = self.results.cards[int(self.kept[study])].signature
            out[self.problems[p]] = [float(value) for value in signature if value is not None]
        return out

    def furthest(self) -> float:
        """The last point of the axis that any study reached, or had as its budget."""
        return float(np.max(np.where(np.isinf(self.end), self.last, self.end)))

    def grid(self, most: int = MOST_ITERATIONS) -> Floats:
        """The iterations: every one where they are counted (thinned where that is too many), else a geometric grid."""
        if not len(self.end):
            return np.empty(0)
        if self.counted:
            last = int(self.end.max())
            most = max(100, min(most, MOST_NUMBERS // max(1, len(self.end))))
            if last <= most:
                return np.arange(1.0, last + 1)
            grid = np.round(np.geomspace(1, last, most))
            grid = np.unique(np.concatenate((np.arange(1.0, 101.0), grid)))
            self.notes.append(f"{last:,} {self.axis}: scores are computed at {len(grid):,} of them")
            return grid
        if not self.furthest() > 0:
            raise OptarenaError(f"every study ends at 0 on the axis {self.axis!r}")
        self.notes.append(f"on the axis {self.axis!r} a finished study keeps its best value after its end")
        return np.geomspace(self.furthest() / 1000, self.furthest(), BETWEEN)

    def draws(self, grid: Floats) -> Ints:
        """(problems, iterations): how many evaluations random search has made by then, for the baseline."""
        if self.counted and not self.irregular:
            size = int(self.size.max()) if self.axis == "batches" else 1
            most = np.zeros(len(self.problems), dtype=np.int64)
            np.maximum.at(most, self.problem, self.reach)
            return np.minimum(size * grid.astype(np.int64)[None, :], most[:, None])
        every = self.results.select(self.kept[self.random]).in_full()
        traces = every.traces()
        known = self.axis in every.axes  # else a cost that others report, and random search does not have
        effort = every.efforts(self.axis) if known else np.zeros(len(traces.evaluation))
        last = latest(effort, traces.offsets, np.arange(len(traces))[:, None], grid)
        made = np.append(traces.evaluation, 0)[last]
        total = np.zeros((len(self.problems), len(grid)))
        np.add.at(total, self.problem[self.random], made)
        count = np.bincount(self.problem[self.random], minlength=len(self.problems))
        return np.floor(total / np.maximum(count, 1)[:, None]).astype(np.int64)

    # ---- a metric ----------------------------------------------------------------------------------------------------

    def hidden(self, metric: str) -> tuple[Floats, Bools]:
        """A hidden metric of each row, minimised, inf where it or its evaluation failed; which studies have it."""
        if metric not in self._hidden:
            values, has = self.results.metric(metric)
            h = values[self._rows] * self._sign_of_row
            self._hidden[metric] = np.where(self._ok & ~np.isnan(h) & (h > -np.inf), h, np.inf), has[self.kept]
        return self._hidden[metric]

    def undefined(self, metric: str | None) -> Bools:
        """(studies,): whether a value is nan or -inf, at which Bayesmark stops."""
        bad = self._undefined.copy()
        if metric is not None:
            h = self.results.metric(metric)[0][self._rows] * self._sign_of_row
            bad |= self._ok & (np.isnan(h) | (h == -np.inf))
        return np.bincount(self._study[bad], minlength=len(self.kept)) > 0

    def rows(self, metric: str | None) -> tuple[Floats, Floats]:
        """Every row's visible value and its value of the metric."""
        return self._visible, self._visible if metric is None else self.hidden(metric)[0]

    def pools(self, metric: str | None, use: Bools) -> list[Pool]:
        """For each problem: all that random search saw in the usable studies."""
        chosen = np.flatnonzero(self.random & use)
        pool = self.results.pool(self.kept[chosen], metric)
        study = np.full(int(self.kept.max(initial=-1)) + 1, -1, dtype=np.int32)
        study[self.kept] = np.arange(len(self.kept))
        mine = study[pool.study]
        order = np.argsort(self.problem[mine], kind="stable")
        cuts = np.searchsorted(self.problem[mine[order]], np.arange(1, len(self.problems)))
        return [Pool(pool.visible[part], pool.values[part], mine[part]) for part in np.split(order, cuts)]

    def least(self, metric: str | None, use: Bools) -> Floats:
        """(problems,): the least value of the metric that any of the studies saw."""
        _, values = self.rows(metric)
        out = np.full(len(self.problems), np.inf)
        mine = use[self._study]
        np.minimum.at(out, self.problem[self._study[mine]], values[mine])
        return out

    def best(self, grid: Floats, metric: str | None) -> Floats:
        """(studies, iterations): the metric at the point with the least visible value so far; NaN beyond a study's end.

        Within a batch the first least visible value counts; over batches the latest that ties the least.
        See docs/scores.md 1.1.
        """
        visible, values = self.rows(metric)
        events = self._first_of_batch(visible) if self.axis == "batches" else np.arange(len(visible))
        offsets = np.searchsorted(self._study[events], np.arange(len(self.kept) + 1)).astype(np.int64)
        found = at_best(values[events], visible[events], offsets)
        rows = latest(self._effort[events], offsets, np.arange(len(self.kept))[:, None], grid)
        known = grid[None, :] <= self.end[:, None] * (1 + 1e-12)
        return np.where(known, np.append(found, np.inf)[rows], np.nan)

    def _first_of_batch(self, visible: Floats) -> Ints:
        """The row of each batch with its first least visible value."""
        if not len(visible):
            return np.empty(0, dtype=np.int64)
        new = np.append(True, (np.diff(self._study) != 0) | (np.diff(self._effort) != 0))
        starts = np.flatnonzero(new)
        least = np.minimum.reduceat(visible, starts)
        ties = np.flatnonzero(visible == np.repeat(least, np.diff(np.append(starts, len(visible)))))
        return ties[np.searchsorted(ties, starts)]


def curves(results: Dataset, mode: str, axis: str | None) -> Curves:
    """Choose the studies of a store that can be scored; name the others."""
    found = Candidates(results)
    found.leave_out(found.table["sense"].is_null().to_numpy(), SEVERAL)
    traces = results.traces()
    values = (results.row_statuses() == 0) & traces.feasible & np.isfinite(traces.values[:, 0])
    # where only improvements are kept and nothing feasible was found there is no row: it found nothing, at its cost
    (found.settle_as_bayesmark if mode == "bayesmark" else found.settle)(found.having(values))
    found.leave_out(
        _differences(results, found.table),
        "it has f - f_opt, others of its problem have f: see the fixed-target view",
    )
    size, irregular = _batches(found)
    notes: list[str] = []
    sizes = np.unique(size[found.usable & ~found.never_evaluated])
    chosen = axis
    if chosen is None:
        chosen = "batches" if len(sizes) <= 1 else "evaluations"
        if chosen == "evaluations":
            notes.append("the batches of the studies differ in size: scored by evaluations")
    elif chosen == "batches" and len(sizes) > 1:
        raise OptarenaError(
            f"batches of {', '.join(map(str, sizes))} evaluations cannot share the axis 'batches': "
            "filter by optimizer, or score by evaluations"
        )
    irregular = irregular and chosen == "batches"
    if irregular:
        notes.append("batches differ in size: the baseline counts random search's evaluations on average")
    found.leave_out(found.lacking(chosen), f"it has no {chosen}")
    original = mode == "bayesmark"
    every = found.selection(chosen, Curves, notes=notes, original=original, mode=mode, irregular=irregular)
    every.size = size[every.kept]
    every.note_unfinished()
    if mode == "bayesmark" and every.called_random.any():
        _versioned(every.table["optimizer"].to_list())
    sparse = every.called_random & (every.table["record"] != "all").to_numpy()
    for row in every.table.filter(sparse).iter_rows(named=True):
        every.excluded.append(named(row, "only its improvements are recorded: not in random search's baseline"))
    return every


def _batches(found: Candidates) -> tuple[Ints, bool]:
    """(started studies,): the size of its batches; and whether imported batches differ in size within a study."""
    size = np.maximum(found.table["batch"].fill_null(1).to_numpy(), 1).astype(np.int64)
    given = found.results.extra("batch")
    told = np.flatnonzero(~np.isnan(given))
    if not len(told):
        return size, False
    key, counts = np.unique(np.column_stack((found.study_of_row[told], given[told])), axis=0, return_counts=True)
    largest = np.zeros(len(size), dtype=np.int64)
    np.maximum.at(largest, key[:, 0].astype(np.int64), counts)
    size = np.where(largest > 0, largest, size)
    last_of = np.append(key[1:, 0] != key[:-1, 0], True)
    return size, bool((counts[~last_of] != size[key[~last_of, 0].astype(np.int64)]).any())


def _versioned(optimizers: list[str]) -> None:
    """Bayesmark knows random search by the name before its version; beside versioned names a bare one is not it."""
    bare = all(name == "RandomSearch" for name in optimizers if is_random_search(name))
    if bare and any(name.count("_") >= 2 for name in optimizers):
        raise OptarenaError(
            "Bayesmark does not take a bare 'RandomSearch' beside versioned names such as "
            f"{next(name for name in optimizers if name.count('_') >= 2)!r} for random search: "
            "name it RandomSearch_<version>, or score in mode exact"
        )


def _differences(results: Dataset, frame: pl.DataFrame) -> Bools:
    """Which studies were imported as f - f_opt (optimum 0) where others on their problem have f itself."""
    told = results.attributes
    if "values" not in told.columns:
        return np.zeros(frame.height, dtype=bool)
    mixed = pl.col("optimum").n_unique().over("problem") > 1
    return frame.select(mixed & (told["values"] == "f - f_opt").fill_null(False)).to_series().to_numpy()
