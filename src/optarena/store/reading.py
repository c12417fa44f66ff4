"""A whole store as columns: one pass over the lines of its journals and over its shards, then arrays.

`results` turns the columns into tables. Points (x) are not kept: a row remembers where it stands in its source, and is
read again when somebody asks.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from optarena._json import Number
from optarena._memory import no_collection
from optarena.errors import OptarenaError
from optarena.status import EVALUATION
from optarena.store.costs import EVALUATE, NUMBERS, OBSERVE, SECONDS, SUGGEST
from optarena.store.journal import mentions
from optarena.store.lines import PlainLines, read_blocks
from optarena.store.records import (
    Close,
    Count,
    End,
    Header,
    ProblemCard,
    Record,
    Rows,
    RowsWithoutPoints,
    Start,
)
from optarena.store.signatures import Signed, facts_of
from optarena.traces import Bools, Floats, Ints

MAX_OPEN = 200
Codes: TypeAlias = npt.NDArray[np.uint8]


Line: TypeAlias = Header | ProblemCard | Start | RowsWithoutPoints | Count | End | Close
decode_line = msgspec.json.Decoder(Line).decode
_decode_rows = msgspec.json.Decoder(Rows).decode
decode_record = msgspec.json.Decoder(Record).decode
"""A line with its points, which `decode_line` passes over."""


class Attempt:
    """One attempt at one study, over all sources that speak of it."""

    def __init__(self, start: Start, card: ProblemCard) -> None:
        self.start = start
        self.card = card
        self.ends: list[End] = []
        self.headers: list[Header] = []
        """The processes that worked at it; in some of them it may still be open."""
        self.open_in: list[Header] = []
        self.counted = 0
        self.conflicts: list[int] = []


class Source(Protocol):
    """Where rows come from: a journal or a shard."""

    path: Path

    def points(self, positions: Ints, inner: Ints, card: ProblemCard) -> list[list[Any]]:
        """The parameters of some rows, in the declared order; empty where they were never known."""


class JournalSource:
    """A journal: a row stands in a line, at a byte of the file.

    Its file stays open where there are not too many, so that points can be read when it is compacted meanwhile.
    """

    def __init__(self, path: Path, keep_open: bool) -> None:
        self.path = path
        self._descriptor: int | None = None
        if keep_open:  # closed with this object, whenever and in whatever order it is collected
            self._descriptor = os.open(path, os.O_RDONLY)
            weakref.finalize(self, os.close, self._descriptor)

    def points(self, positions: Ints, inner: Ints, card: ProblemCard) -> list[list[Any]]:
        out: list[list[Any]] = []
        at, points = -1, []
        with self.path.open("rb") if self._descriptor is None else os.fdopen(os.dup(self._descriptor), "rb") as file:
            for position, i in zip(positions.tolist(), inner.tolist(), strict=True):
                if position != at:
                    file.seek(position)
                    at, points = position, _decode_rows(file.readline()).x
                out.append(points[i] if i < len(points) else [])
        return as_written(out, card)


class RecordSource:
    """Lines that are not in a file yet: the position of a row is the number of its line."""

    def __init__(self, path: Path, records: Sequence[Line | Rows]) -> None:
        self.path = path
        self._records = records

    def points(self, positions: Ints, inner: Ints, card: ProblemCard) -> list[list[Any]]:
        out: list[list[Any]] = []
        for low, high in _runs(positions):
            record = self._records[int(positions[low])]
            assert isinstance(record, Rows)
            x = record.x
            whole = len(x) == high - low and inner[low] == 0 and inner[high - 1] == high - low - 1
            out.extend(x if whole else (x[i] if i < len(x) else [] for i in inner[low:high].tolist()))
        if card.imported:  # what is written out is changed in place
            out = [list(point) for point in out]
        return as_written(out, card)


def _runs(values: Ints) -> Iterator[tuple[int, int]]:
    """Where equal neighbours begin and end."""
    starts = np.flatnonzero(np.append(True, values[1:] != values[:-1])).tolist() if len(values) else []
    return zip(starts, [*starts[1:], len(values)], strict=True)


def as_written(points: list[list[Any]], card: ProblemCard) -> list[list[Any]]:
    """Points with their infinite numbers, which only imported ones can have."""
    if not card.imported:
        return points
    for i, line in enumerate(card.space.values()):
        if line["type"] == "real":
            for point in points:
                if point and isinstance(point[i], str):
                    point[i] = float(point[i])
    return points


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

    def load_costs(self) -> Floats:
        """(rows, 6): seconds, wall and CPU, of suggesting, evaluating and the observe before; read when asked for."""
        raise NotImplementedError


class JournalBlock(Block):
    """The rows of a journal, whose costs are at hand."""

    costs: Floats

    def load_costs(self) -> Floats:
        return self.costs


_COLUMNS = (
    "owner evaluation values metrics measured violations status counts_only source position inner".split()  # noqa: SIM905
)


class Columns(Block):
    """Every row of a store, sorted by attempt and evaluation, equal duplicates collapsed.

    owner: index into attempts. values: (rows, most objectives) in their own senses, NaN where there is none; so for
    metrics and violations (<= 0 is feasible). measured: which metrics were given, be it as NaN. counts_only:
    rows that carry costs and a counter but no evaluation.
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
        self._blocks: list[Block] = []
        self._origin: Ints | None = None

    @cached_property
    def costs(self) -> Floats:
        """(rows, 6): seconds, wall and CPU, of suggesting, evaluating and the observe before."""
        parts = [block.load_costs() for block in self._blocks]
        whole = np.concatenate(parts) if parts else np.zeros((0, NUMBERS))
        return whole if self._origin is None else whole[self._origin]

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


class Events:
    """The lines that are not evaluations, put together: who began what, how it ended, in which process."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self._index: dict[tuple[str, int], int] = {}
        self._signed: set[tuple[str, int]] = set()

    def journal(self, lines: Iterable[Line | PlainLines]) -> dict[int, int]:
        """Take the lines of one journal, or of several one after the other; s -> owner."""
        out = self.columns
        cards: dict[str, ProblemCard] = {}
        here: dict[int, int] = {}
        header: Header | None = None
        for record in lines:
            if isinstance(record, Header):
                header = record
                out.headers.append(record)
            elif isinstance(record, ProblemCard):
                cards[record.hash] = record
            elif isinstance(record, Start):
                here[record.s] = self._begin(record, cards[record.problem])
                assert header is not None
                self._sign(cards[record.problem], header)
                attempt = out.attempts[here[record.s]]
                attempt.headers.append(header)
                attempt.open_in.append(header)
            elif isinstance(record, End):
                attempt = out.attempts[here[record.s]]
                if all((end.time, end.status) != (record.time, record.status) for end in attempt.ends):
                    attempt.ends.append(record)
                if header in attempt.open_in:
                    attempt.open_in.remove(header)
            elif isinstance(record, Close):
                for owner in set(here.values()):
                    attempt = out.attempts[owner]
                    attempt.open_in = [other for other in attempt.open_in if other is not header]
            elif isinstance(record, Count):
                attempt = out.attempts[here[record.s]]
                attempt.counted = max(attempt.counted, record.k)
        return here

    def _sign(self, card: ProblemCard, header: Header) -> None:
        if card.signature and (card.hash, id(header)) not in self._signed:
            self._signed.add((card.hash, id(header)))
            known = self.columns.signed.setdefault((card.id, card.version), [])
            signed = Signed(card, facts_of(header))
            if signed not in known:
                known.append(signed)

    def _begin(self, start: Start, card: ProblemCard) -> int:
        key = (start.study, start.attempt)
        if key not in self._index:
            self._index[key] = len(self.columns.attempts)
            self.columns.attempts.append(Attempt(start, card))
        attempt = self.columns.attempts[self._index[key]]
        # the latest counts, but what a run itself wrote always counts before what a file says of it
        run, was_run = not card.imported, not attempt.card.imported
        if (run and not was_run) or (run == was_run and start.time >= attempt.start.time):
            attempt.start, attempt.card = start, card
        return self._index[key]


@no_collection()
def read_columns(
    journals: Iterable[Path], shards: Callable[[], Iterable[Path]] = tuple, mentioning: Sequence[str] = ()
) -> Columns:
    """Read journals and shards as one. Journals are read first: what is compacted meanwhile is then in a shard.

    mentioning: journals that have none of these texts (ids of problems or studies) are passed over.
    """
    read = []
    paths = list(journals)
    for path in paths:
        try:
            source = JournalSource(path, keep_open=len(paths) <= MAX_OPEN)
            records = _items(path, mentioning)
        except FileNotFoundError:
            continue
        if not records:
            continue
        header = records[0][1]
        if not isinstance(header, Header):
            raise OptarenaError(f"{path} line 1: a journal begins with its header")
        read.append((header.time, path.name, source, records))
    read.sort(key=lambda item: item[:2])
    columns = Columns()
    events = Events(columns)
    blocks: list[Block] = []
    for path in sorted(shards()):
        from optarena.store.shards import read_shard

        blocks.append(read_shard(path, columns, events))
    for _, _, source, records in read:
        columns.sources.append(source)
        here = _begin(events, source.path, (record for _, record in records))
        blocks.append(_rows_of(columns, here, source.path, records))
    _join(columns, blocks)
    return columns


def _items(path: Path, mentioning: Sequence[str]) -> list[tuple[int, Line | PlainLines]]:
    """The lines of a journal without points; none where it has none of some texts."""
    if mentioning and not mentions(path, mentioning):
        return []
    return [item for _, items in read_blocks(path, decode_line, points=False) for item in items]


@no_collection()
def columns_of(journals: Sequence[tuple[Path, Sequence[Line | Rows]]]) -> Columns:
    """The lines of journals, each with its header first, that are in memory with their points."""
    columns = Columns()
    events = Events(columns)
    blocks: list[Block] = []
    for path, records in journals:
        columns.sources.append(RecordSource(path, records))
        here = _begin(events, path, records)
        blocks.append(_rows_of(columns, here, path, list(enumerate(records))))
    _join(columns, blocks)
    return columns


def _begin(events: Events, path: Path, records: Iterable[Line | PlainLines]) -> dict[int, int]:
    try:
        return events.journal(records)
    except KeyError as error:
        raise OptarenaError(f"{path}: a line refers to {error} before its start record") from error


def _rows_of(
    columns: Columns, here: dict[int, int], path: Path, records: Sequence[tuple[int, Line | PlainLines]]
) -> Block:
    try:
        return _journal_block(columns, here, records)
    except ValueError as error:
        raise OptarenaError(f"{path}: a line has numbers that do not fit ({error})") from error


def _journal_block(columns: Columns, here: dict[int, int], records: Sequence[tuple[int, Line | PlainLines]]) -> Block:
    """The evaluation lines of one journal as rows: those that are plain, then the others."""
    kept: list[tuple[int, RowsWithoutPoints | Count]] = []
    plain: list[PlainLines] = []
    for position, record in records:
        if isinstance(record, PlainLines):
            plain.append(record)
        elif isinstance(record, (RowsWithoutPoints, Count)):
            kept.append((position, record))
    first = sum(lines.y.shape[0] * lines.y.shape[1] for lines in plain)
    rows: list[list[Number]] = []
    failures: list[tuple[int, str, str]] = []
    violations: list[list[Number]] = []
    metrics: list[list[Number]] = []
    constrained: list[int] = []
    measured: list[int] = []
    more: list[tuple[int, RowsWithoutPoints]] = []
    sizes: list[int] = []
    for _, record in kept:
        if isinstance(record, Count):
            rows.append([])
            sizes.append(1)
            continue
        at = first + len(rows)
        rows.extend(record.y)
        sizes.append(len(record.y))
        if record.f:
            failures.extend((at + i, status, text) for i, (status, text) in record.f.items())
        if record.v:
            violations.extend(record.v)
            constrained.extend(range(at, at + len(record.v)))
        if record.m:
            metrics.extend(record.m)
            measured.extend(range(at, at + len(record.m)))
        if record.a or record.e or record.n:
            more.append((at, record))
    width = max((len(columns.attempts[owner].card.objectives) for owner in here.values()), default=1)
    block = JournalBlock(
        first + len(rows),
        width,
        max(map(len, metrics), default=0),
        max(map(len, violations), default=0),
    )
    block.costs = np.zeros((len(block.owner), NUMBERS))
    if not len(block.owner):
        return block
    m = np.array([lines.y.shape[:2] for lines in plain] or np.zeros((0, 2), dtype=np.int64))
    n = np.concatenate([np.repeat(m[:, 1], m[:, 0]), np.array(sizes, dtype=np.int64)])
    line = np.repeat(np.arange(len(n)), n)
    block.inner = np.arange(len(line)) - np.repeat(np.cumsum(n) - n, n)
    try:
        owners = np.repeat([here[lines.s] for lines in plain], m[:, 0])
        owners = np.concatenate([owners, [here[record.s] for _, record in kept]]).astype(np.int64)
    except KeyError as error:
        path = columns.sources[-1].path
        raise OptarenaError(f"{path}: a row belongs to study number {error}, which no line began") from error
    block.owner = owners[line]
    block.evaluation = _joined([lines.k for lines in plain], [record.k for _, record in kept])[line] + block.inner
    block.counts_only[first:] = np.repeat([isinstance(record, Count) for _, record in kept], sizes)
    block.position = _joined([lines.position for lines in plain], [position for position, _ in kept])[line]
    block.source[:] = len(columns.sources) - 1
    at = 0
    for lines in plain:
        found = lines.y.reshape(-1, lines.y.shape[2])
        block.values[at : at + len(found), : found.shape[1]] = found
        at += len(found)
    block.values[first:] = _matrix(rows, width)
    if constrained:
        block.violations[constrained] = _matrix(violations, block.violations.shape[1])
    if measured:
        block.metrics[measured] = _matrix(metrics, block.metrics.shape[1])
        block.measured[measured] = _given(metrics, block.metrics[measured])
    for at, record in more:
        _more(block, slice(at, at + len(record.y)), record)
    for row, status, text in failures:
        block.status[row] = EVALUATION.index(status) if status in EVALUATION else 1
        block.messages[row] = text
    # a line's evaluating is shared by its rows; its suggesting and the observe before it fall to the first
    costs = np.array([record.w for _, record in kept], dtype=float).reshape(-1, NUMBERS)
    block.costs = np.concatenate([*(lines.w for lines in plain), costs])[line] * SECONDS
    block.costs[:, EVALUATE : EVALUATE + 2] /= n[line][:, None]
    for phase in (SUGGEST, OBSERVE):
        block.costs[block.inner > 0, phase : phase + 2] = 0.0
    return block


def _joined(arrays: list[Ints], more: list[int]) -> Ints:
    return np.concatenate([*arrays, np.array(more, dtype=np.int64)])


def _more(block: Block, rows: slice, record: RowsWithoutPoints) -> None:
    """What an imported line says beyond the usual."""
    if record.e:
        block.evaluation[rows] = record.e
    for name, numbers in record.a.items():
        if name not in block.extras:
            block.extras[name] = np.full(len(block.owner), np.nan)
        block.extras[name][rows] = np.array(numbers, dtype=float)
    for name, texts in record.n.items():
        if name not in block.notes:
            block.notes[name] = np.full(len(block.owner), None, dtype=object)
        block.notes[name][rows] = texts


def _matrix(rows: list[list[Number]], width: int) -> Floats:
    length = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    if (length == width).all():
        try:
            flat = np.fromiter(chain.from_iterable(rows), dtype=float, count=len(rows) * width)
        except (TypeError, ValueError):  # texts such as "inf", or null
            flat = np.array(rows, dtype=float)
        return flat.reshape(len(rows), width)
    out = np.full((len(rows), width), np.nan)
    for i, row in enumerate(rows):
        out[i, : len(row)] = np.array(row, dtype=float)
    return out


def _given(rows: list[list[Number]], matrix: Floats) -> Bools:
    """Which numbers of a matrix its rows have: of those that are NaN some were never there."""
    out: Bools = ~np.isnan(matrix)
    for i in np.flatnonzero(~out.all(axis=1)).tolist():
        out[i, : len(rows[i])] = [number is not None for number in rows[i]]
    return out


def _join(columns: Columns, blocks: list[Block]) -> None:
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
    for name in _COLUMNS:
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
    for name in _COLUMNS:
        setattr(columns, name, getattr(columns, name)[order])
    owner, evaluation, counts = columns.owner, columns.evaluation, columns.counts_only
    same = np.zeros(len(order), dtype=bool)
    same[1:] = (owner[1:] == owner[:-1]) & (evaluation[1:] == evaluation[:-1]) & (counts[1:] == counts[:-1])
    drop = _reconcile(columns, same) if same.any() else same
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    new = np.cumsum(~drop) - 1
    columns.messages = {int(new[place[row]]): text for row, text in messages.items() if not drop[place[row]]}
    columns._origin = order[~drop]
    columns.extras = {name: column[columns._origin] for name, column in columns.extras.items()}
    columns.notes = {name: column[columns._origin] for name, column in columns.notes.items()}
    if drop.any():
        for name in _COLUMNS:
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
