"""The lines of journals as rows, and who began what; `streaming` reads complete stores.

Points (x) are not kept: a row keeps its place in its source, and is read again when needed.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import msgspec
import numpy as np

from optarena._json import Number
from optarena._memory import no_collection
from optarena._process import host
from optarena.errors import OptarenaError
from optarena.status import EVALUATION
from optarena.store.checks import DIFFERS, has_check, is_whole, mark_of
from optarena.store.columns import Attempt, Block, Columns, join
from optarena.store.costs import NUMBERS, SECONDS, spread
from optarena.store.damage import Damage, place_of
from optarena.store.journal import mentions
from optarena.store.lines import BLOCK_BYTES, UNREADABLE, Lines, PlainLines, read_blocks
from optarena.store.records import (
    FORMAT_VERSION,
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
FEW = 50
"""Studies that journals are searched for, before they are decoded."""
Line: TypeAlias = Header | ProblemCard | Start | RowsWithoutPoints | Count | End | Close
decode_line = msgspec.json.Decoder(Line).decode
_decode_rows = msgspec.json.Decoder(Rows).decode
decode_record = msgspec.json.Decoder(Record).decode
"""A line with its points, which `decode_line` passes over."""


Key: TypeAlias = tuple[str, int]
"""What identifies an attempt: its study and its number."""


def key_of(attempt: Attempt) -> Key:
    return attempt.start.study, attempt.start.attempt


class JournalSource:
    """A journal: a row is in a line, at a byte of the file.

    Its file stays open where there are not too many, so that points can be read when it is compacted meanwhile.
    """

    def __init__(self, path: Path, keep_open: bool) -> None:
        self.path = path
        self._mark: int | None = None
        self._descriptor: int | None = None
        if keep_open:  # closed with this object, whenever and in whatever order it is collected
            self._descriptor = os.open(path, os.O_RDONLY)
            weakref.finalize(self, os.close, self._descriptor)

    def points(self, positions: Ints, inner: Ints, card: ProblemCard) -> list[list[Any]]:
        out: list[list[Any]] = []
        at, points = -1, []
        with self.path.open("rb") if self._descriptor is None else os.fdopen(os.dup(self._descriptor), "rb") as file:
            for position, i in zip(positions.tolist(), inner.tolist(), strict=True):
                if self._mark is None:
                    self._mark = mark_of(_first_lines(file))
                if position != at:
                    file.seek(position)
                    at, points = position, self._line(file.readline(), position).x
                out.append(points[i] if i < len(points) else [])
        return as_written(out, card)

    def _line(self, text: bytes, position: int) -> Rows:
        try:
            if has_check(text) and not is_whole(text, self._mark or 0):
                raise ValueError(DIFFERS)
            return _decode_rows(text)
        except (*UNREADABLE, ValueError) as error:
            raise OptarenaError(
                f"{self.path}: the line at byte {position:,} cannot be read ({error}); optarena verify has details"
            ) from error


def _first_lines(file: BinaryIO) -> bytes:
    file.seek(0)
    block = file.read(BLOCK_BYTES)
    return block[: block.rfind(b"\n") + 1] or b"\n"


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


@dataclass
class Opened:
    """A journal of which some lines are read. `orphans`: lines of a study that no line begins."""

    cards: dict[str, ProblemCard] = field(default_factory=dict)
    here: dict[int, int] = field(default_factory=dict)
    """The number of a study in the journal -> of its attempt."""
    header: Header | None = None
    orphans: int = 0


class Events:
    """The lines that are not evaluations, put together: who began what, how it ended, in which process."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self._index: dict[Key, int] = {}
        self._cards: dict[str, ProblemCard] = {}
        self._signed: set[tuple[str, int]] = set()

    def journal(self, lines: Iterable[Line], opened: Opened | None = None) -> dict[int, int]:
        """Take the lines of one journal, or of several one after the other; s -> owner.

        opened: what the lines before these said, if they come in pieces.
        """
        out = self.columns
        opened = Opened() if opened is None else opened
        cards, here, header = opened.cards, opened.here, opened.header
        for record in lines:
            if isinstance(record, Header):
                header = opened.header = record
                out.headers.append(record)
            elif isinstance(record, ProblemCard):
                cards[record.hash] = self._known(record)
            elif isinstance(record, Start):
                card = cards.get(record.problem)
                if card is None or header is None:
                    opened.orphans += 1
                    continue
                here[record.s] = self._begin(record, card)
                self._sign(card, header)
                attempt = out.attempts[here[record.s]]
                attempt.told = max(attempt.told, record.had)
                attempt.headers.append(header)
                attempt.open_in.append(header)
            elif isinstance(record, (End, Count)) and record.s not in here:
                opened.orphans += 1
            elif isinstance(record, End):
                attempt = out.attempts[here[record.s]]
                if all((end.time, end.status) != (record.time, record.status) for end in attempt.ends):
                    attempt.ends.append(record)
                    attempt.told = max(attempt.told, record.rows)
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

    def owners(self, attempts: Iterable[Attempt]) -> Ints:
        """The numbers that attempts of another reading have here; -1 for those that are not known."""
        return np.array([self._index.get(key_of(attempt), -1) for attempt in attempts], dtype=np.int64)

    def place(self, study: str, attempt: int) -> int | None:
        """The number of an attempt; None if it was not begun."""
        return self._index.get((study, attempt))

    def _known(self, card: ProblemCard) -> ProblemCard:
        """The same card as before where a source repeats it: a store has few, and each is in every file."""
        known = self._cards.setdefault(card.hash, card)
        return known if known == card else card

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
        if counts_before((start, card), (attempt.start, attempt.card)):
            attempt.start, attempt.card = start, card
        return self._index[key]


def counts_before(new: tuple[Start, ProblemCard], old: tuple[Start, ProblemCard]) -> bool:
    """Whether a start replaces another: the latest counts, but a run's own always before what a file says of it."""
    ran, had_run = not new[1].imported, not old[1].imported
    return ran > had_run or (ran == had_run and (new[0].life, new[0].time) >= (old[0].life, old[0].time))


def code_of(status: str) -> int:
    """How a status is stored: its place in `EVALUATION`; one that is not known is an error."""
    return EVALUATION.index(status) if status in EVALUATION else EVALUATION.index("error")


def age(path: Path, header: Header) -> tuple[float, str]:
    """What journals are sorted by: the time of their header, and their name."""
    return header.time, path.name


def header_of(path: Path, first: Sequence[Record | Line], damage: list[Damage]) -> Header | None:
    """The header of a journal, of which these are the first lines; None if it is not a journal.

    Where the header is lost, a substitute is used: its writer is unknown, and so is its machine.
    """
    if first and isinstance(first[0], Header):
        return first[0]
    if not any(item.file == place_of(path) and item.line == 1 for item in damage):
        damage.append(Damage(place_of(path), "a journal must begin with a header", 1))
        return None
    began = min((line.time for line in first if isinstance(line, Start)), default=0.0)
    return Header(FORMAT_VERSION, "", host(), 0, began, {})


def with_header(path: Path, lines: Lines[Line], damage: list[Damage]) -> tuple[Header, Lines[Line]] | None:
    """The same lines with the journal's header in front."""
    first = [line for _, line in lines.records]
    header = header_of(path, first, damage)
    if header is None:
        return None
    if first and first[0] is header:
        return header, lines
    return header, Lines(lines.size, [(0, header), *lines.records], lines.plain)


def lines_of(columns: Columns, here: dict[int, int], only: Collection[Key], lines: Lines[Line]) -> Lines[Line]:
    """The lines of some attempts."""
    told = _studies(lines) & here.keys()
    others = {s for s in told if key_of(columns.attempts[here[s]]) not in only}
    return lines.without(others, (RowsWithoutPoints, Count))


def _studies(lines: Lines[Any]) -> set[int]:
    """The numbers of the studies whose evaluations these lines have."""
    plain = {s for some in lines.plain for s, _, _ in some.studies()}
    return plain | {line.s for _, line in lines.records if isinstance(line, (RowsWithoutPoints, Count))}


def pieces_of(path: Path, damage: list[Damage], mentioning: Sequence[str] = ()) -> Iterator[Lines[Line]]:
    """The lines of a journal without points, some at a time; none where it has none of some texts."""
    if not mentioning or mentions(path, mentioning):
        yield from read_blocks(path, decode_line, damage, points=False)


@no_collection()
def columns_of(journals: Sequence[tuple[Path, Sequence[Line | Rows]]]) -> Columns:
    """The lines of journals, each with its header first, that are in memory with their points."""
    columns = Columns()
    events = Events(columns)
    blocks: list[Block] = []
    for path, records in journals:
        columns.sources.append(RecordSource(path, records))
        opened = Opened()
        events.journal(records, opened)
        blocks.append(rows_of(columns, opened, path, Lines(0, list(enumerate(records)), []), columns.damage))
    join(columns, blocks)
    return columns


class JournalBlock(Block):
    """The rows of a journal, whose costs are at hand."""

    costs: Floats

    def load_costs(self) -> Floats:
        return self.costs


def rows_of(columns: Columns, opened: Opened, path: Path, lines: Lines[Any], damage: list[Damage]) -> Block:
    """The rows of a journal's lines; what no study has, or what are no numbers, goes to `damage`."""
    here = opened.here
    lines = _begun(opened, lines)
    try:
        return _journal_block(columns, here, lines)
    except (ValueError, OverflowError):
        return _journal_block(columns, here, _numeric(columns, here, path, lines, damage))


def _begun(opened: Opened, lines: Lines[Any]) -> Lines[Any]:
    """The lines of studies that were begun."""
    unknown = _studies(lines) - opened.here.keys()
    if not unknown:
        return lines
    rows = (RowsWithoutPoints, Count)
    out = lines.without(unknown, rows)
    opened.orphans += sum(isinstance(line, RowsWithoutPoints) and line.s in unknown for _, line in lines.records)
    opened.orphans += sum(len(some.s) for some in lines.plain) - sum(len(some.s) for some in out.plain)
    return out


def _numeric(columns: Columns, here: dict[int, int], path: Path, lines: Lines[Any], damage: list[Damage]) -> Lines[Any]:
    """The lines whose numbers are numbers."""
    records = []
    for at, line in lines.records:
        try:
            _journal_block(columns, here, Lines(0, [(at, line)], []))
            records.append((at, line))
        except (ValueError, OverflowError) as error:
            damage.append(Damage(place_of(path), f"the line at byte {at:,} has numbers that do not fit ({error})"))
    return Lines(lines.size, records, lines.plain)


def note_orphans(path: Path, opened: Opened, damage: list[Damage]) -> None:
    """Say that lines of a journal, all of which are read, belong to nothing."""
    if opened.orphans:
        n = opened.orphans
        what = f"{n:,} line{'s' * (n > 1)} of studies without a start record"
        damage.append(Damage(place_of(path), what))


def _journal_block(columns: Columns, here: dict[int, int], lines: Lines[Line]) -> Block:
    """The evaluation lines of one journal as rows: those that are plain, then the others."""
    kept = [(at, record) for at, record in lines.records if isinstance(record, (RowsWithoutPoints, Count))]
    plain = lines.plain
    first = sum(some.rows for some in plain)
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
    n = np.concatenate([*(np.full(len(some.s), some.y.shape[1]) for some in plain), np.array(sizes, dtype=np.int64)])
    line = np.repeat(np.arange(len(n)), n)
    block.inner = np.arange(len(line)) - np.repeat(np.cumsum(n) - n, n)
    owners = _joined([_owners(here, some) for some in plain], [here[record.s] for _, record in kept])
    block.owner = owners[line]
    block.evaluation = _joined([some.k for some in plain], [record.k for _, record in kept])[line] + block.inner
    block.counts_only[first:] = np.repeat([isinstance(record, Count) for _, record in kept], sizes)
    block.position = _joined([some.position for some in plain], [position for position, _ in kept])[line]
    block.source[:] = len(columns.sources) - 1
    at = 0
    for some in plain:
        found = some.y.reshape(-1, some.y.shape[2])
        block.values[at : at + len(found), : found.shape[1]] = found
        at += len(found)
    block.values[first:] = matrix(rows, width)
    if constrained:
        block.violations[constrained] = matrix(violations, block.violations.shape[1])
    if measured:
        block.metrics[measured] = matrix(metrics, block.metrics.shape[1])
        block.measured[measured] = given(metrics, block.metrics[measured])
    for at, record in more:
        _more(block, slice(at, at + len(record.y)), record)
    for row, status, text in failures:
        block.status[row] = code_of(status)
        block.messages[row] = text
    costs = np.array([record.w for _, record in kept], dtype=np.int64).reshape(-1, NUMBERS)
    block.costs = spread(np.concatenate([*(some.w for some in plain), costs]), n).astype(float) * SECONDS
    return block


def _owners(here: dict[int, int], lines: PlainLines) -> Ints:
    """The attempt of each line."""
    studies = lines.studies()
    return np.repeat([here[s] for s, _, _ in studies], [high - low for _, low, high in studies])


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


def matrix(rows: Sequence[Sequence[Number]], width: int) -> Floats:
    """Rows of numbers, texts such as "inf" and None; a row that is short ends in NaN, one that is long is cut."""
    length = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    if (length == width).all():
        try:
            flat = np.fromiter(chain.from_iterable(rows), dtype=float, count=len(rows) * width)
        except (TypeError, ValueError):  # texts, or null
            flat = np.array(rows, dtype=float)
        return flat.reshape(len(rows), width)
    out = np.full((len(rows), width), np.nan)
    for i, row in enumerate(rows):
        out[i, : len(row)] = np.array(row[:width], dtype=float)
    return out


def given(rows: Sequence[Sequence[Number]], matrix: Floats) -> Bools:
    """Which numbers of a matrix its rows have: of those that are NaN some were never there."""
    out: Bools = ~np.isnan(matrix)
    for i in np.flatnonzero(~out.all(axis=1)).tolist():
        out[i, : len(rows[i])] = [number is not None for number in rows[i]]
    return out
