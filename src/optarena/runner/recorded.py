"""Recorded evaluations of one attempt as arrays: what a past is made of, and what goes to a worker."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from optarena.errors import SuggestionError
from optarena.space import Array, Space
from optarena.status import EVALUATION, KILLED
from optarena.store.columns import Columns
from optarena.traces import Bools, Ints

CHUNK = 50_000
"""Points that are read at once: a supervisor looks after its workers in between."""
_KILLED = [EVALUATION.index(status) for status in KILLED]


class Row(msgspec.Struct):
    """One recorded evaluation."""

    x: list[Any]
    """Empty where it is not known: a killed worker's row, written for it."""
    y: list[float]
    status: str
    message: str
    violations: list[float]
    metrics: list[float]


def _none(width: int = 0) -> Array:
    return np.empty((0, width))


class Recorded(msgspec.Struct):
    """Evaluations in their order, as columns; matrices have a row each and may have no columns."""

    evaluation: np.ndarray[Any, Any] = msgspec.field(default_factory=lambda: np.empty(0, dtype=np.int64))
    status: np.ndarray[Any, Any] = msgspec.field(default_factory=lambda: np.empty(0, dtype=np.uint8))
    """Places in `optarena.status.EVALUATION`."""
    points: np.ndarray[Any, Any] = msgspec.field(default_factory=_none)
    """The matrix form of their space; NaN where a point is not known."""
    values: np.ndarray[Any, Any] = msgspec.field(default_factory=_none)
    violations: np.ndarray[Any, Any] = msgspec.field(default_factory=_none)
    metrics: np.ndarray[Any, Any] = msgspec.field(default_factory=_none)
    messages: dict[int, str] = {}
    """Evaluation -> the text of its failure."""

    def __len__(self) -> int:
        return len(self.evaluation)

    @property
    def last(self) -> int:
        return int(self.evaluation[-1]) if len(self) else 0

    @property
    def located(self) -> Bools:
        """(rows,): whose points are known."""
        known: Bools = ~np.isnan(self.points).any(axis=1)
        return known

    @property
    def killed(self) -> Bools:
        """(rows,): whose worker had to be replaced."""
        return np.isin(self.status, _KILLED)

    def find(self, k: int) -> int | None:
        """The row of an evaluation."""
        i = int(np.searchsorted(self.evaluation, k))
        return i if i < len(self) and self.evaluation[i] == k else None

    def failures(self) -> Iterator[tuple[str, str]]:
        """The status and the text of each that failed."""
        for i in np.flatnonzero(self.status).tolist():
            yield EVALUATION[self.status[i]], self.messages.get(int(self.evaluation[i]), "")

    def row(self, i: int, space: Space | None) -> Row:
        """One of them in plain values; without a space, without its point."""
        x: list[Any] = []
        if space is not None and self.points.shape[1] and not np.isnan(self.points[i]).any():
            x = space.to_rows(self.points[i : i + 1])[0]
        status = EVALUATION[self.status[i]]
        message = self.messages.get(int(self.evaluation[i]), "")
        return Row(x, self.values[i].tolist(), status, message, self.violations[i].tolist(), self.metrics[i].tolist())

    def take(self, rows: Ints | Bools) -> Recorded:
        """Some of them."""
        arrays = {name: getattr(self, name)[rows] for name in _ARRAYS}
        kept = arrays["evaluation"].tolist() if self.messages else []
        return Recorded(**arrays, messages={k: self.messages[k] for k in kept if k in self.messages})

    def joined(self, more: Recorded) -> Recorded:
        """With others. Of two rows of one evaluation this one's counts, unless only the other knows its point."""
        if not len(self) or not len(more):
            return self if len(self) else more
        arrays = {name: np.concatenate([getattr(self, name), getattr(more, name)]) for name in _ARRAYS}
        both = Recorded(**arrays, messages=more.messages | self.messages)
        order = np.lexsort((~both.located, both.evaluation))
        return both.take(order[np.append(True, np.diff(both.evaluation[order]) > 0)])


_ARRAYS = Recorded.__struct_fields__[:-1]


def failed(k: int, status: str, message: str, like: tuple[int, int, int, int]) -> Recorded:
    """One evaluation that gave nothing; like: how many parameters, objectives, constraints and metrics there are."""
    points, values, violations, metrics = (np.full((1, width), np.nan) for width in like)
    code = np.array([EVALUATION.index(status)], dtype=np.uint8)
    return Recorded(np.array([k]), code, points, values, violations, metrics, {k: message})


def gathered(columns: Columns, rows: Ints) -> Iterator[Recorded | None]:
    """Rows of one attempt of a store; None each time that some of their points were read, then all of them."""
    if not len(rows):
        yield Recorded()
        return
    card = columns.attempts[int(columns.owner[rows[0]])].card
    space = Space(card.space) if card.space and not card.imported else None
    points = np.full((len(rows), space.dimension if space is not None else 0), np.nan)
    for low in range(0, len(rows) if space is not None else 0, CHUNK):
        with contextlib.suppress(FileNotFoundError):  # of a journal that was compacted since, points are not compared
            _encode(space, columns.points(rows[low : low + CHUNK]), points[low : low + CHUNK])
        yield None
    evaluation = columns.evaluation[rows]
    told = columns.messages if len(columns.messages) < len(rows) else rows[columns.status[rows] > 0].tolist()
    place = {row: int(evaluation[i]) for row in told if (i := _at(rows, row)) is not None}
    yield Recorded(
        evaluation,
        columns.status[rows],
        points,
        columns.values[rows, : len(card.objectives)],
        columns.violations[rows, : card.constraints],
        columns.metrics[rows, : len(card.metrics)],
        {k: columns.messages.get(row, "") for row, k in place.items()},
    )


def _at(rows: Ints, row: int) -> int | None:
    i = int(np.searchsorted(rows, row))
    return i if i < len(rows) and rows[i] == row else None


def _encode(space: Space | None, points: list[list[Any]], out: Array) -> None:
    """Points in matrix form; what cannot be a point of this space equals none."""
    assert space is not None
    known = [i for i, point in enumerate(points) if point]
    if not known:
        return
    try:
        out[known] = space.encode_rows([points[i] for i in known] if len(known) < len(points) else points)
    except (SuggestionError, TypeError, ValueError):
        for i in known:
            try:
                out[i] = space.encode_rows([points[i]])[0]
            except (SuggestionError, TypeError, ValueError):
                out[i] = np.inf


# ---- as JSON ---------------------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """An array as plain data, for msgspec: its type, its shape and its bytes."""
    if isinstance(value, np.ndarray):
        return [value.dtype.str, value.shape, np.ascontiguousarray(value).tobytes()]
    raise NotImplementedError(f"{type(value).__name__} is not data of a task")


class _Plain(msgspec.Struct, array_like=True):
    dtype: str
    shape: tuple[int, ...]
    data: bytes


def array(kind: type, value: Any) -> npt.NDArray[Any]:  # noqa: ARG001
    """The array again."""
    told = msgspec.convert(value, _Plain)
    return np.frombuffer(told.data, dtype=np.dtype(told.dtype)).reshape(told.shape)
