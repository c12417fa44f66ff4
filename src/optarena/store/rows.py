"""The rows of one attempt while its journals are compacted: collected line by line, put in order, made a trace.

A trace has the columns of a shard's row (`optarena.store.shards.SCHEMA`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, TypeAlias

import msgspec
import numpy as np
import polars as pl

from optarena._json import Number
from optarena.space import Space
from optarena.store.costs import spread
from optarena.store.reading import code_of, given, matrix
from optarena.store.records import ProblemCard, Rows
from optarena.traces import Bools, Floats, Ints

_encode = msgspec.json.Encoder().encode
Points: TypeAlias = list[list[Any]] | Floats
"""Points as they were written, or as a matrix where all their numbers are known."""


class Part:
    """Rows that follow each other in a journal, as columns; what a row lacks is NaN, None or an empty point."""

    def __init__(self, evaluation: Ints, y: Floats, w: Ints, points: Points) -> None:
        n = len(evaluation)
        self.evaluation, self.y, self.w, self.points = evaluation, y, w, points
        self.status: Ints = np.zeros(n, dtype=np.uint8)
        self.messages: dict[int, str] = {}
        self.violations: list[list[Number]] = []
        self.metrics: list[list[Number]] = []
        self.extras: dict[str, Floats] = {}
        self.notes: dict[str, list[str | None]] = {}

    def __len__(self) -> int:
        return len(self.evaluation)


def part_of(lines: Sequence[Rows], card: ProblemCard) -> Part:
    """Lines of one attempt, one after the other."""
    sizes = [len(line.y) for line in lines]
    n = sum(sizes)
    evaluation = np.concatenate([line.e or np.arange(line.k, line.k + len(line.y)) for line in lines])
    y = matrix([row for line in lines for row in line.y], len(card.objectives))
    w = spread(np.array([line.w for line in lines], dtype=np.int64), sizes)
    out = Part(evaluation.astype(np.int64), y, w, list(chain.from_iterable(map(_points, lines))))
    at = 0
    if any(line.v or line.m for line in lines):
        out.violations = [[] for _ in range(n)]
        out.metrics = [[] for _ in range(n)]
    for line, size in zip(lines, sizes, strict=True):
        for row, (status, text) in line.f.items():
            out.status[at + row] = code_of(status)
            out.messages[at + row] = text
        if line.v:
            out.violations[at : at + size] = line.v
        if line.m:
            out.metrics[at : at + size] = line.m
        for name, numbers in line.a.items():
            out.extras.setdefault(name, np.full(n, np.nan))[at : at + size] = np.array(numbers, dtype=float)
        for name, texts in line.n.items():
            out.notes.setdefault(name, [None] * n)[at : at + size] = texts
        at += size
    return out


def _points(line: Rows) -> list[list[Any]]:
    missing = len(line.y) - len(line.x)
    return [*line.x, *([] for _ in range(missing))] if missing else line.x


class Collected:
    """All rows of an attempt in the order of their evaluations, duplicates collapsed.

    `conflicts`: the evaluations whose duplicates differ in status, values or point.
    """

    def __init__(self, parts: Sequence[Part], card: ProblemCard) -> None:
        self.card = card
        self.evaluation = _joined([part.evaluation for part in parts])
        self.y = _joined([part.y for part in parts])
        self.w = _joined([part.w for part in parts])
        self.status = _joined([part.status for part in parts])
        self.points = _joined_points([part.points for part in parts])
        self.v = self.m = np.empty((len(self.evaluation), 0))
        self.measured: Bools = np.empty((len(self.evaluation), 0), dtype=bool)
        if card.constraints:
            self.v = matrix(_padded(parts, "violations"), card.constraints)
        if card.metrics:
            rows = _padded(parts, "metrics")
            self.m = matrix(rows, len(card.metrics))
            self.measured = given(rows, self.m)
        self.messages: dict[int, str] = {}
        self.extras: dict[str, Floats] = {}
        self.notes: dict[str, list[str | None]] = {}
        at = 0
        n = len(self.evaluation)
        for part in parts:
            self.messages |= {at + row: text for row, text in part.messages.items()}
            for name, numbers in part.extras.items():
                self.extras.setdefault(name, np.full(n, np.nan))[at : at + len(part)] = numbers
            for name, texts in part.notes.items():
                self.notes.setdefault(name, [None] * n)[at : at + len(part)] = texts
            at += len(part)
        self.conflicts: list[int] = []
        if not (np.diff(self.evaluation) > 0).all():
            self._take(np.argsort(self.evaluation, kind="stable"))
            self._take(np.flatnonzero(~self._repeated()))

    def _take(self, rows: Ints) -> None:
        for name in ("evaluation", "y", "w", "status", "v", "m", "measured"):
            setattr(self, name, getattr(self, name)[rows])
        chosen = rows.tolist()
        self.points = [self.points[i] for i in chosen] if isinstance(self.points, list) else self.points[rows]
        place = {old: new for new, old in enumerate(chosen)}
        self.messages = {place[row]: text for row, text in self.messages.items() if row in place}
        self.extras = {name: numbers[rows] for name, numbers in self.extras.items()}
        self.notes = {name: [texts[i] for i in chosen] for name, texts in self.notes.items()}

    def _repeated(self) -> Bools:
        """Which rows say again what another says.

        A row without a point was written for a worker that had been killed; one with a point is preferred to it.
        """
        drop = np.zeros(len(self.evaluation), dtype=bool)
        again = np.flatnonzero(self.evaluation[1:] == self.evaluation[:-1]) + 1
        kept = before = -1
        for row in again.tolist():
            kept, before = kept if before == row - 1 else row - 1, row
            old, new = self._point(kept), self._point(row)
            if not self._agree(kept, row) or (old and new and old != new):
                self.conflicts.append(int(self.evaluation[row]))
            if new and not old:
                drop[kept], kept = True, row
            else:
                drop[row] = True
        return drop

    def _point(self, row: int) -> list[Any]:
        point = self.points[row]
        return point if isinstance(point, list) else point.tolist()

    def _agree(self, one: int, other: int) -> bool:
        return self.status[one] == self.status[other] and all(
            np.array_equal(column[one], column[other], equal_nan=True) for column in (self.y, self.v, self.m)
        )

    def trace(self, s: int) -> dict[str, Any]:
        """As it is kept in a shard."""
        n = len(self.evaluation)
        out: dict[str, Any] = {
            "s": s,
            "n": n,
            "y": self.y.ravel(),
            **_written(self.points, self.card),
            "w": self.w.ravel(),
        }
        if not np.array_equal(self.evaluation, np.arange(1, n + 1)):
            out["k"] = self.evaluation
        if self.status.any():
            out["status"] = self.status
        if self.card.constraints:
            out["v"] = self.v.ravel()
        if self.card.metrics:
            out["m"] = pl.Series(self.m.ravel()).set(pl.Series(~self.measured.ravel()), None)
        failed = {row: text for row, text in sorted(self.messages.items()) if self.status[row]}
        if failed:
            out["failures"] = _encode(failed).decode()
        extras = {name: numbers for name, numbers in self.extras.items() if not np.isnan(numbers).all()}
        if extras:
            out["names"], out["extras"] = list(extras), np.concatenate(list(extras.values()))
        notes = {name: texts for name, texts in self.notes.items() if any(text is not None for text in texts)}
        if notes:
            out["notes"] = _encode(notes).decode()
        return out


def _joined(arrays: list[Any]) -> Any:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _joined_points(parts: list[Points]) -> Points:
    matrices = [part for part in parts if not isinstance(part, list)]
    if len(matrices) == len(parts):
        joined: Floats = _joined(matrices)
        return joined
    return list(chain.from_iterable(part if isinstance(part, list) else part.tolist() for part in parts))


def _padded(parts: Sequence[Part], name: str) -> list[list[Number]]:
    return [row for part in parts for row in getattr(part, name) or [[] for _ in range(len(part))]]


def _written(points: Points, card: ProblemCard) -> dict[str, Any]:
    """Points in the space's matrix form, or as texts where only names and types are known."""
    if not isinstance(points, list):
        return {"x": points.ravel()}
    if card.imported:
        return {"points": _encode(points).decode()} if any(points) else {}
    if not card.space:  # an instance for solvers: of all solutions the last, which is the best, is kept
        last = max((i for i, point in enumerate(points) if point), default=None)
        if last is None:
            return {}
        return {"points": _encode([point if i == last else [] for i, point in enumerate(points)]).decode()}
    space = Space(card.space)
    if all(points):
        return {"x": space.encode_rows(points).ravel()}
    matrix = np.full((len(points), space.dimension), np.nan)
    known = [i for i, point in enumerate(points) if point]
    if known:
        matrix[known] = space.encode_rows([points[i] for i in known])
    return {"x": matrix.ravel()}
