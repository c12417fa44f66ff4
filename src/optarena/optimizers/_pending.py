"""Which of a library's objects belongs to a point that it suggested, and what a surrogate can be told of a value."""

from __future__ import annotations

import math
from typing import Any, Generic, TypeVar

import numpy as np

from optarena.space import Array

T = TypeVar("T")
MOST = 1e100
"""Larger values are told as this: a surrogate squares them."""


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


class Finite:
    """Values that a surrogate can be fitted to, as they are told, for libraries that know no failure.

    NaN and +inf become the worst finite value so far, -inf the best. Before there is any, they are held back: nothing
    is known yet, and a number that was made up would look like a value for ever.
    """

    def __init__(self) -> None:
        self._low, self._high = math.inf, -math.inf
        self._held: list[tuple[Any, float]] = []

    def __call__(self, items: list[Any], values: list[float]) -> list[tuple[Any, float]]:
        """Items and the values to be told, those that were held back first."""
        waiting = self._held + list(zip(items, values, strict=True))
        known = [value for _, value in waiting if math.isfinite(value)]
        if known:
            self._low = min(self._low, max(min(known), -MOST))
            self._high = max(self._high, min(max(known), MOST))
        if self._low > self._high:
            self._held = waiting
            return []
        self._held = []
        return [(item, self._inside(value)) for item, value in waiting]

    def _inside(self, value: float) -> float:
        return self._high if math.isnan(value) else min(max(value, self._low), self._high)
