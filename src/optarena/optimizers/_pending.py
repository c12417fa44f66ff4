"""Which of a library's objects belongs to a point that it suggested, and which values a surrogate can take."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

import numpy as np

from optarena.space import Array

T = TypeVar("T")
MOST = 1e100
"""Larger values are replaced by this: a surrogate squares them."""


class Pending(Generic[T]):
    """What waits for its value: a point in matrix form to a library's object; equal points take turns."""

    def __init__(self) -> None:
        self._waiting: dict[bytes, list[T]] = {}

    def put(self, X: Array, items: list[T]) -> None:
        for row, item in zip(np.ascontiguousarray(X), items, strict=True):
            self._waiting.setdefault(row.tobytes(), []).append(item)

    def take(self, row: Array) -> T | None:
        """The object of a point, once; None if it was never suggested."""
        key = row.tobytes()
        items = self._waiting.get(key)
        if not items:
            return None
        item = items.pop(0)
        if not items:
            del self._waiting[key]
        return item


class Seen:
    """The best and the worst finite value so far; what is beyond 1e100 counts as that."""

    def __init__(self) -> None:
        self.best, self.worst = math.inf, -math.inf

    @property
    def known(self) -> bool:
        """Whether any finite value was seen."""
        return self.best <= self.worst

    def see(self, values: Iterable[float]) -> None:
        known = [min(max(value, -MOST), MOST) for value in values if math.isfinite(value)]
        if known:
            self.best = min(self.best, *known)
            self.worst = max(self.worst, *known)

    def inside(self, value: float) -> float:
        """A value that can be told: NaN and +inf are the worst, -inf the best."""
        return self.worst if math.isnan(value) else min(max(value, self.best), self.worst)


class Finite(Seen):
    """Values that a surrogate can be fitted to, as they are told, for libraries that know no failure.

    Before there is any finite value, the others are held back: nothing is known yet, and a number that was made up
    would look like a value for ever.
    """

    def __init__(self) -> None:
        super().__init__()
        self._held: list[tuple[Any, float]] = []

    def __call__(self, items: list[Any], values: list[float]) -> list[tuple[Any, float]]:
        """Items and the values to be told, those that were held back first."""
        waiting = self._held + list(zip(items, values, strict=True))
        self.see(values)
        self._held = [] if self.known else waiting
        return [(item, self.inside(value)) for item, value in waiting] if self.known else []
