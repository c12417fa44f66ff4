"""Rows of a store as columns: blocks of one source each, and all of them joined, sorted and without duplicates."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from optarena._json import Number
from optarena.store.costs import NANOSECONDS, NUMBERS, WALL
from optarena.store.damage import Damage
from optarena.store.records import End, Header, ProblemCard, Start
from optarena.store.signatures import Signed
from optarena.traces import Bools, Floats, Ints

Codes: TypeAlias = npt.NDArray[np.uint8]


class Attempt:
    """One attempt at one study, over all sources that mention it."""

    def __init__(self, start: Start, card: ProblemCard) -> None:
        self.start = start
        self.card = card
        self.ends: list[End] = []
        self.headers: list[Header] = []
        """The processes that worked at it; in some of them it may still be open."""
        self.open_in: list[Header] = []
        self.counted = 0
        self.told = 0
        """How many of its rows were recorded, as later lines say; some may be lost since."""
        self.conflicts: list[int] = []

    @property
    def last_end(self) -> End | None:
        """How it ended last: in the order of its lives, not of clocks, which may step back."""
        if len(self.ends) == 1:
            return self.ends[0]
        return max(self.ends, key=lambda end: (end.life, end.time), default=None)

    @property
    def begun_again(self) -> bool:
        """Whether a process that may still be at it began after its last end, or it has none."""
        last, start = self.last_end, self.start
        if last is None or not self.open_in:
            return last is None
        return (start.life, start.time) > (last.life, last.time)


class Source(Protocol):
    """Where rows come from: a journal or a shard."""

    path: Path

    def points(self, positions: Ints, inner: Ints, card: ProblemCard) -> list[list[Any]]:
        """The parameters of some rows, in the declared order; empty where they were never known."""


class Block:
    """Rows of one kind of source, as columns; `Columns` joins them."""

    def __init__(self, n: int, objectives: int = 1, metrics: int = 0, constraints: int = 0) -> None:
        self.owner: Ints = np.zeros(n, dtype=np.int64)
        self.evaluation: Ints = np.zeros(n, dtype=np.int64)
        self.values: Floats = np.full((n, objectives), np.nan)
        self.metrics: Floats = np.full((n, metrics), np.nan)
        self.measured: Bools = np.zeros((n, metrics), dtype=bool)
        self.violations: Floats = np.full((n, constraints), np.nan)
        self.status: Codes = np.zeros(n, dtype=np.uint8)
        self.counts_only: Bools = np.zeros(n, dtype=bool)
        self.source: Ints = np.zeros(n, dtype=np.int64)
        self.position: Ints = np.zeros(n, dtype=np.int64)
        self.inner: Ints = np.zeros(n, dtype=np.int64)
        self.messages: dict[int, str] = {}
        self.extras: dict[str, Floats] = {}
        self.notes: dict[str, npt.NDArray[np.object_]] = {}

    @property
    def feasible(self) -> Bools:
        """(rows,): whether every constraint holds."""
        if not self.violations.shape[1]:
            return np.ones(len(self.owner), dtype=bool)
        return np.all(~(self.violations > 0), axis=1)

    def load_costs(self) -> Floats:
        """(rows, 6): seconds, wall and CPU, of suggesting, evaluating and the observe before; read when asked for."""
        raise NotImplementedError

    def take(self, rows: Ints) -> Block:
        """Some of the rows, without their costs."""
        out = Block(0)
        for name in COLUMNS:
            setattr(out, name, getattr(self, name)[rows])
        if self.messages:
            out.messages = {i: self.messages[row] for i, row in enumerate(rows.tolist()) if row in self.messages}
        out.extras = {name: column[rows] for name, column in self.extras.items()}
        out.notes = {name: column[rows] for name, column in self.notes.items()}
        return out

    def bounds(self) -> Ints:
        """Where the rows of each attempt begin, and the end; they must be sorted."""
        change = np.flatnonzero(self.owner[1:] != self.owner[:-1]) + 1 if len(self.owner) else np.zeros(0, np.int64)
        return np.concatenate(([0], change, [len(self.owner)])) if len(self.owner) else np.zeros(1, np.int64)


COLUMNS = (
    "owner evaluation values metrics measured violations status counts_only source position inner".split()  # noqa: SIM905
)


@dataclass
class Tally:
    """What all rows of each attempt say, also those that are not kept."""

    rows: Ints
    """(attempts,): how many evaluations were recorded."""
    last: Ints
    """The number of the last evaluation in any row."""
    failures: Ints
    infeasible: Ints
    """Evaluations that did not fail and violate a constraint."""
    spent: Floats
    """(attempts, 6): nanoseconds, in the order of `optarena.store.costs`."""

    @classmethod
    def empty(cls, attempts: int) -> Tally:
        rows, last, failures, infeasible = (np.zeros(attempts, dtype=np.int64) for _ in range(4))
        return cls(rows, last, failures, infeasible, np.zeros((attempts, NUMBERS)))

    def take(self, owners: Ints) -> Tally:
        return Tally(
            self.rows[owners], self.last[owners], self.failures[owners], self.infeasible[owners], self.spent[owners]
        )

    def add(self, owners: Ints, more: Tally) -> None:
        """Add what some rows say; owners: the attempt of each line of `more`, each at most once."""
        self.rows[owners] += more.rows
        self.last[owners] = np.maximum(self.last[owners], more.last)
        self.failures[owners] += more.failures
        self.infeasible[owners] += more.infeasible
        self.spent[owners] += more.spent


def tally(block: Block, bounds: Ints, nanoseconds: Floats) -> Tally:
    """What the rows of each attempt of a sorted block say; nanoseconds: (rows, 6)."""
    starts = bounds[:-1]
    made = ~block.counts_only
    failed = block.status > 0
    feasible = block.feasible

    def count(which: Bools) -> Ints:
        return np.add.reduceat(which.astype(np.int64), starts)

    return Tally(
        count(made),
        block.evaluation[bounds[1:] - 1],
        count(failed),
        count(made & ~failed & ~feasible) if not feasible.all() else np.zeros(len(starts), dtype=np.int64),
        np.add.reduceat(nanoseconds, starts, axis=0),
    )


def cumulative(values: Floats, bounds: Ints) -> Floats:
    """The running sum within each attempt of a sorted block."""
    total = np.cumsum(values)
    before = np.concatenate(([0.0], total))[bounds[:-1]]
    return total - np.repeat(before, np.diff(bounds))


class Columns(Block):
    """Every row of a store, sorted by attempt and evaluation, equal duplicates collapsed.

    owner: index into attempts. values: (rows, most objectives) in their own senses, NaN where there is none; so for
    metrics and violations (<= 0 is feasible). measured: which metrics were given, be it as NaN. counts_only:
    rows that carry costs and a counter but no evaluation. thin: it has only rows that a score can depend on (see
    `thinning`), and no costs.
    messages: row -> the text of its failure. extras and notes: what imported rows say beyond that, numbers (NaN where
    there is none) and texts (None), by name.
    """

    def __init__(self) -> None:
        super().__init__(0)
        self.attempts: list[Attempt] = []
        self.headers: list[Header] = []
        self.sources: list[Source] = []
        self.signed: dict[tuple[str, str], list[Signed]] = {}
        """The signatures of each problem (its id and version), one per machine and set of packages."""
        self.damage: list[Damage] = []
        """Damaged places of files, which are not used."""
        self.again: Callable[[set[tuple[str, int]]], Columns] | None = None
        """Reads every row of some attempts (study, number) again, where the store may have changed."""
        self.thin = False
        self._blocks: list[Block] = []
        self.origin: Ints | None = None
        """The place of each row when the blocks were concatenated; None if that was in order."""

    @cached_property
    def costs(self) -> Floats:
        """(rows, 6): seconds, wall and CPU, of suggesting, evaluating and the observe before."""
        parts = [block.load_costs() for block in self._blocks]
        whole = np.concatenate(parts) if parts else np.zeros((0, NUMBERS))
        return whole if self.origin is None else whole[self.origin]

    @cached_property
    def _nanoseconds(self) -> Floats:
        """Whole numbers, whose sums are exact: they do not depend on which rows are read together."""
        whole: Floats = np.rint(self.costs * NANOSECONDS)
        return whole

    @cached_property
    def charged(self) -> Floats:
        """(rows,): the nanoseconds that its study had spent when the row was written."""
        return cumulative(self._nanoseconds[:, WALL].sum(axis=1), self.bounds())

    @cached_property
    def tally(self) -> Tally:
        """What all rows of each attempt say."""
        out = Tally.empty(len(self.attempts))
        if len(self.owner):
            bounds = self.bounds()
            out.add(self.owner[bounds[:-1]], tally(self, bounds, self._nanoseconds))
        return out

    def at_end(self, owner: int) -> dict[str, Number]:
        """What the ends of an attempt say of its efforts and its bound, the last that does."""
        ends = sorted(self.attempts[owner].ends, key=lambda end: (end.life, end.time))
        last = self.tally.last[owner] if any(end.a and end.life for end in ends) else 0
        told = (end.a for end in ends if not end.life or end.evaluations >= last)
        return {name: number for each in told for name, number in each.items()}

    def until(self, last: Ints) -> Columns:
        """Without the evaluations after a last one of each attempt."""
        rows = np.flatnonzero(self.evaluation <= last[self.owner])
        if len(rows) == len(self.owner):
            return self
        out, costs = copy.copy(self), self.costs[rows]
        out.keep(rows)
        out.thin, out.costs = False, costs
        for name in ("charged", "tally"):
            vars(out).pop(name, None)
        return out

    def keep(self, rows: Ints) -> None:
        """Only these rows; what all said was counted before."""
        charged = self.charged[rows]
        part = self.take(rows)
        for name in [*COLUMNS, "messages", "extras", "notes"]:
            setattr(self, name, getattr(part, name))
        self._blocks, self.thin, self.charged = [], True, charged
        for name in ("costs", "_nanoseconds"):
            vars(self).pop(name, None)

    @cached_property
    def newest(self) -> dict[str, int]:
        """Study -> its newest attempt; to be asked for when all is read."""
        out: dict[str, int] = {}
        for i, attempt in enumerate(self.attempts):
            old = out.get(attempt.start.study)
            if old is None or attempt.start.attempt > self.attempts[old].start.attempt:
                out[attempt.start.study] = i
        return out

    def points(self, rows: Ints) -> list[list[Any]]:
        """The parameters of rows that belong to one attempt."""
        try:
            return self._points(rows)
        except FileNotFoundError:  # its file was compacted, or put together with others, since this was read
            if self.again is None:
                raise
            start = self.attempts[int(self.owner[rows[0]])].start
            now = self.again({(start.study, start.attempt)})
            made = ~now.counts_only
            at = dict(zip(now.evaluation[made].tolist(), np.flatnonzero(made).tolist(), strict=True))
            return now._points(np.array([at[k] for k in self.evaluation[rows].tolist()], dtype=np.int64))

    def _points(self, rows: Ints) -> list[list[Any]]:
        out: list[list[Any]] = [[] for _ in range(len(rows))]
        card = self.attempts[int(self.owner[rows[0]])].card if len(rows) else None
        sources = np.unique(self.source[rows]).tolist()
        if len(sources) == 1:
            assert card is not None
            return self.sources[sources[0]].points(self.position[rows], self.inner[rows], card)
        for source in sources:
            assert card is not None
            chosen = np.flatnonzero(self.source[rows] == source)
            at = rows[chosen]
            found = self.sources[source].points(self.position[at], self.inner[at], card)
            for place, point in zip(chosen.tolist(), found, strict=True):
                out[place] = point
        return out


def join(columns: Columns, blocks: list[Block]) -> None:
    """All blocks in one, sorted by attempt and evaluation, without duplicates."""
    blocks = [block for block in blocks if len(block.owner)]
    if not blocks:
        return
    for name in ("values", "metrics", "measured", "violations"):
        width = max(getattr(block, name).shape[1] for block in blocks)
        for block in blocks:
            setattr(block, name, _widen(getattr(block, name), width))
    at = 0
    messages: dict[int, str] = {}
    for block in blocks:
        messages.update({at + row: text for row, text in block.messages.items()})
        at += len(block.owner)
    for name in COLUMNS:
        parts = [getattr(block, name) for block in blocks]
        setattr(columns, name, parts[0] if len(parts) == 1 else np.concatenate(parts))
    for name in dict.fromkeys(name for block in blocks for name in block.extras):
        columns.extras[name] = np.concatenate(
            [block.extras.get(name, np.full(len(block.owner), np.nan)) for block in blocks]
        )
    for name in dict.fromkeys(name for block in blocks for name in block.notes):
        columns.notes[name] = np.concatenate(
            [block.notes.get(name, np.full(len(block.owner), None, dtype=object)) for block in blocks]
        )
    columns.messages = messages
    columns._blocks = blocks
    owner, evaluation = columns.owner, columns.evaluation
    step = np.diff(owner)
    if ((step > 0) | ((step == 0) & (np.diff(evaluation) > 0))).all():
        return
    order = np.lexsort((columns.counts_only, evaluation, owner))
    for name in COLUMNS:
        setattr(columns, name, getattr(columns, name)[order])
    owner, evaluation, counts = columns.owner, columns.evaluation, columns.counts_only
    same = np.zeros(len(order), dtype=bool)
    same[1:] = (owner[1:] == owner[:-1]) & (evaluation[1:] == evaluation[:-1]) & (counts[1:] == counts[:-1])
    drop = _reconcile(columns, same) if same.any() else same
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    new = np.cumsum(~drop) - 1
    columns.messages = {int(new[place[row]]): text for row, text in messages.items() if not drop[place[row]]}
    columns.origin = order[~drop]
    columns.extras = {name: column[columns.origin] for name, column in columns.extras.items()}
    columns.notes = {name: column[columns.origin] for name, column in columns.notes.items()}
    if drop.any():
        for name in COLUMNS:
            setattr(columns, name, getattr(columns, name)[~drop])


def _widen(array: Floats | Bools, width: int) -> Floats | Bools:
    if array.shape[1] == width:
        return array
    out = np.full((len(array), width), False if array.dtype == bool else np.nan)
    out[:, : array.shape[1]] = array
    return out


def _reconcile(columns: Columns, same: Bools) -> Bools:
    """Which duplicates to drop. They must agree in status, values and point; an attempt names those that do not.

    A row without a point was written for a worker that had been killed; one with a point is preferred to it.
    """
    drop = same.copy()
    group = np.cumsum(~same) - 1
    first = np.flatnonzero(~same)[group]
    again = np.flatnonzero(same & ~columns.counts_only)
    for owner in np.unique(columns.owner[again]).tolist():
        later = again[columns.owner[again] == owner]
        kept = first[later]
        values = columns.values
        equal = (values[kept] == values[later]) | (np.isnan(values[kept]) & np.isnan(values[later]))
        agree = equal.all(axis=1) & (columns.status[kept] == columns.status[later])
        for hidden in (columns.metrics, columns.violations):
            agree &= ((hidden[kept] == hidden[later]) | np.isnan(hidden[kept]) & np.isnan(hidden[later])).all(axis=1)
        points = columns.points(kept), columns.points(later)
        for i, (old, new) in enumerate(zip(*points, strict=True)):
            if not agree[i] or (old and new and old != new):
                columns.attempts[owner].conflicts.append(int(columns.evaluation[kept[i]]))
            elif new and not old and not drop[kept[i]]:
                drop[kept[i]], drop[later[i]] = True, False
    return drop
