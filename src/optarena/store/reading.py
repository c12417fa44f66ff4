"""All journals of a store as columns: one pass over the lines, then arrays. `results` turns the columns into tables.

Points (x) are not kept: a row remembers where its line is, and the line is read again when somebody asks.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import msgspec
import numpy as np

from optarena.store.journal import read_lines
from optarena.store.records import Count, End, Header, Number, ProblemCard, Rows, Start
from optarena.traces import Bools, Floats, Ints

ROW_STATUSES = ("ok", "error", "nan", "timed out", "crashed")


class RowsWithoutPoints(msgspec.Struct, tag_field="t", tag="e"):
    """A `Rows` line, its points passed over."""

    s: int
    k: int
    y: list[list[Number]]
    w: list[int]
    f: dict[int, tuple[str, str]] = {}
    v: list[list[Number]] = []
    m: list[list[Number]] = []


Line: TypeAlias = Header | ProblemCard | Start | RowsWithoutPoints | Count | End
_decode = msgspec.json.Decoder(Line).decode
_decode_rows = msgspec.json.Decoder(Rows).decode


class Attempt:
    """One attempt at one study, over all journals that speak of it."""

    def __init__(self, start: Start, card: ProblemCard) -> None:
        self.start = start
        self.card = card
        self.starts = [start]
        self.ends: list[tuple[End, Header]] = []
        self.open_in: list[Header] = []
        self.counted = 0
        self.conflicts: list[int] = []


class Failure(msgspec.Struct):
    """An evaluation that gave no value."""

    row: int
    status: str
    message: str


class Columns:
    """Every row of a store, sorted by attempt and evaluation, equal duplicates collapsed."""

    def __init__(self) -> None:
        self.attempts: list[Attempt] = []
        self.headers: list[Header] = []
        self.owner: Ints = np.empty(0, dtype=np.int64)
        """(rows,): index into attempts."""
        self.evaluation: Ints = np.empty(0, dtype=np.int64)
        self.values: Floats = np.empty((0, 1))
        """(rows, most objectives): in their own senses, NaN where there is none."""
        self.metrics: Floats = np.empty((0, 0))
        self.violation: Floats = np.empty(0)
        """(rows,): the sum of positive violations; 0 is feasible."""
        self.status: npt_uint8 = np.empty(0, dtype=np.uint8)
        self.costs: Floats = np.empty((0, 6))
        """(rows, 6): seconds, wall and CPU, of suggesting, evaluating and the observe before; shared within a line."""
        self.counts_only: Bools = np.empty(0, dtype=bool)
        """(rows,): lines that carry costs and a counter but no evaluation."""
        self.messages: dict[int, str] = {}
        """row -> the text of its failure."""
        self.files: list[Path] = []
        self.file: Ints = np.empty(0, dtype=np.int64)
        self.position: Ints = np.empty(0, dtype=np.int64)
        self.inner: Ints = np.empty(0, dtype=np.int64)

    def point(self, row: int) -> list[object]:
        """The parameters of a row, in the declared order, read from its line."""
        with self.files[self.file[row]].open("rb") as file:
            file.seek(int(self.position[row]))
            line = _decode_rows(file.readline())
        return line.x[int(self.inner[row])]


npt_uint8: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.uint8]]"


def read_columns(directory: Path) -> Columns:
    """Read every journal below a directory."""
    out = Columns()
    lines = _Lines()
    index: dict[tuple[str, int], int] = {}
    read = []
    for path in sorted(directory.glob("*.jsonl")):
        records = read_lines(path, _decode)
        if records and isinstance(records[0][1], Header):
            read.append((records[0][1], path, records))
    for header, path, records in sorted(read, key=lambda item: (item[0].time, item[1].name)):
        out.headers.append(header)
        out.files.append(path)
        _one_journal(out, lines, index, header, records)
    _finish(out, lines)
    return out


class _Lines:
    """What one pass over the lines collects, before it becomes arrays."""

    def __init__(self) -> None:
        self.owner: list[int] = []
        self.k: list[int] = []
        self.n: list[int] = []
        self.w: list[list[int]] = []
        self.file: list[int] = []
        self.position: list[int] = []
        self.count_only: list[bool] = []
        self.y: list[list[Number]] = []
        self.v: dict[int, list[Number]] = {}
        self.m: dict[int, list[Number]] = {}
        self.failures: list[Failure] = []


def _one_journal(
    out: Columns,
    lines: _Lines,
    index: dict[tuple[str, int], int],
    header: Header,
    records: list[tuple[int, Line]],
) -> None:
    cards: dict[str, ProblemCard] = {}
    here: dict[int, int] = {}
    file = len(out.files) - 1
    for position, record in records:
        if isinstance(record, RowsWithoutPoints):
            owner, at, count_only = here[record.s], len(lines.y), False
            lines.y.extend(record.y)
            if record.f:
                lines.failures.extend(Failure(at + i, status, text) for i, (status, text) in record.f.items())
            for i, violations in enumerate(record.v):
                lines.v[at + i] = violations
            for i, metrics in enumerate(record.m):
                lines.m[at + i] = metrics
            lines.n.append(len(record.y))
        elif isinstance(record, Count):
            owner, count_only = here[record.s], True
            out.attempts[owner].counted = max(out.attempts[owner].counted, record.k)
            lines.y.append([])
            lines.n.append(1)
        else:
            if isinstance(record, ProblemCard):
                cards[record.hash] = record
            elif isinstance(record, Start):
                here[record.s] = _begin(out, index, record, cards[record.problem])
                out.attempts[here[record.s]].open_in.append(header)
            elif isinstance(record, End):
                attempt = out.attempts[here[record.s]]
                attempt.ends.append((record, header))
                attempt.open_in.remove(header)
            continue
        lines.owner.append(owner)
        lines.k.append(record.k)
        lines.w.append(record.w)
        lines.file.append(file)
        lines.position.append(position)
        lines.count_only.append(count_only)


def _begin(out: Columns, index: dict[tuple[str, int], int], start: Start, card: ProblemCard) -> int:
    key = (start.study, start.attempt)
    if key in index:
        attempt = out.attempts[index[key]]
        attempt.starts.append(start)
        if start.time >= attempt.start.time:
            attempt.start, attempt.card = start, card
    else:
        index[key] = len(out.attempts)
        out.attempts.append(Attempt(start, card))
    return index[key]


def _finish(out: Columns, lines: _Lines) -> None:
    """Lines to rows, sorted and without duplicates."""
    if not lines.owner:
        return
    n = np.array(lines.n)
    line = np.repeat(np.arange(len(n)), n)
    inner = np.arange(len(line)) - np.repeat(np.cumsum(n) - n, n)
    owner = np.array(lines.owner)[line]
    evaluation = np.array(lines.k)[line] + inner
    counts_only = np.array(lines.count_only)[line]
    values = _matrix(lines.y, max(len(a.card.objectives) for a in out.attempts))
    violation = np.zeros(len(line))
    for row, texts in lines.v.items():
        violation[row] = np.maximum(np.array(texts, dtype=float), 0.0).sum()
    width = max((len(m) for m in lines.m.values()), default=0)
    metrics = np.full((len(line), width), np.nan)
    for row, texts in lines.m.items():
        metrics[row, : len(texts)] = np.array(texts, dtype=float)
    status = np.zeros(len(line), dtype=np.uint8)
    messages = {}
    for failure in lines.failures:
        status[failure.row] = ROW_STATUSES.index(failure.status) if failure.status in ROW_STATUSES else 1
        messages[failure.row] = failure.message
    # a line's evaluating is shared by its rows; its suggesting and the observe before it fall to the first
    costs = np.array(lines.w, dtype=float)[line] * 1e-9
    costs[:, 2:4] /= n[line][:, None]
    costs[inner > 0, :2] = 0.0
    costs[inner > 0, 4:] = 0.0

    order = np.lexsort((counts_only, evaluation, owner))
    same = (owner[order][1:] == owner[order][:-1]) & (evaluation[order][1:] == evaluation[order][:-1])
    same &= ~counts_only[order][1:]
    keep = np.ones(len(order), dtype=bool)
    keep[1:] = ~same
    out.owner, out.evaluation = owner[order][keep], evaluation[order][keep]
    out.values, out.violation, out.metrics = values[order][keep], violation[order][keep], metrics[order][keep]
    out.status, out.costs, out.counts_only = status[order][keep], costs[order][keep], counts_only[order][keep]
    out.file, out.position = (
        np.array(lines.file)[line][order][keep],
        np.array(lines.position)[line][order][keep],
    )
    out.inner = inner[order][keep]
    new_row = np.cumsum(keep) - 1
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    out.messages = {int(new_row[place[row]]): text for row, text in messages.items() if keep[place[row]]}
    if same.any():
        _find_conflicts(out, order, same, new_row, values, status, line, inner, lines)


def _matrix(rows: list[list[Number]], width: int) -> Floats:
    if all(len(row) == width for row in rows):
        return np.array(rows, dtype=float).reshape(len(rows), width)
    out = np.full((len(rows), width), np.nan)
    for i, row in enumerate(rows):
        out[i, : len(row)] = np.array(row, dtype=float)
    return out


def _find_conflicts(
    out: Columns,
    order: Ints,
    same: Bools,
    new_row: Ints,
    values: Floats,
    status: npt_uint8,
    line: Ints,
    inner: Ints,
    lines: _Lines,
) -> None:
    """Duplicates of a row must agree in status, values and point; those that do not are named."""
    for at in (np.flatnonzero(same) + 1).tolist():
        kept, other = int(new_row[at]), int(order[at])
        agree = np.array_equal(out.values[kept], values[other], equal_nan=True) and out.status[kept] == status[other]
        if agree:
            file, position = lines.file[line[other]], lines.position[line[other]]
            with out.files[file].open("rb") as handle:
                handle.seek(position)
                agree = _decode_rows(handle.readline()).x[int(inner[other])] == out.point(kept)
        if not agree:
            out.attempts[int(out.owner[kept])].conflicts.append(int(out.evaluation[kept]))
