"""Libraries that think in generations, behind `suggest(n)` and `observe(X, y)` for any n. No library is named here."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from optarena.optimizer import Capabilities, Optimizer
from optarena.space import Array, Space

Indices = npt.NDArray[np.intp]

HUGE = 1e300
"""Stands for infinity, and for a failure where nothing has succeeded yet; sums and medians of it stay finite."""


class Generational(Optimizer):
    """Asks for a generation in the unit cube, hands it out n points at a time, and tells it when it is complete.

    A generation ends with as many observations as it has points, whichever points they are of: own ones, further ones
    that were drawn because a batch reached past its end, or points that were never suggested. A library that is asked
    for whole generations, in whole batches, is thus told exactly what it asked for, in its order.
    """

    capabilities = Capabilities(array_native=True, failures="worst")

    def __init__(
        self, space: Space, *, objectives: int = 1, rng: np.random.Generator | None = None, **settings: Any
    ) -> None:
        super().__init__(space, objectives=objectives, rng=rng, **settings)
        self._worst = np.full(objectives, -np.inf)
        self._worst_violations = np.empty(0)
        self._reset()

    def _reset(self) -> None:
        self._size = 0
        self._asked: list[Array] = []
        self._handed = 0
        self._places: dict[bytes, list[int]] = {}
        self._seen: list[tuple[int, Array, Array, Array]] = []

    # ---- what a library's adapter defines ----------------------------------------------------------------------

    def _ask(self, n: int) -> Array:
        """A new generation, (size, D); n is the batch that wants it. May raise Exhausted."""
        raise NotImplementedError

    def _more(self, n: int) -> Array:
        """n further points at most (but one at least) for the generation that is under way."""
        raise NotImplementedError

    def _tell(self, units: Array, values: Array, index: Indices) -> None:
        """A generation that is complete: finite values (k, m), and which point each is (-1: never suggested)."""
        raise NotImplementedError

    def _tell_constrained(self, units: Array, values: Array, index: Indices, violations: Array) -> None:  # noqa: ARG002
        """The same with violations (k, constraints): for those whose capabilities say that they take constraints."""
        self._tell(units, values, index)

    # ---- the contract ------------------------------------------------------------------------------------------

    def suggest(self, n: int) -> Array:
        while not self._asked:
            self._asked = list(self._ask(n))
            self._size = len(self._asked)
            self._end_if_complete()  # by points told before the first suggestion
        while len(self._asked) < self._handed + n:
            self._asked.extend(self._more(self._handed + n - len(self._asked)))
        X = self.space.from_unit(np.array(self._asked[self._handed : self._handed + n]))
        for place, row in enumerate(X, self._handed):
            self._places.setdefault(row.tobytes(), []).append(place)
        self._handed += n
        return X

    def observe(self, X: Array, y: Array, violations: Array | None = None) -> None:
        matrix = np.ascontiguousarray(X, dtype=float)
        values = np.clip(np.asarray(y, dtype=float), -HUGE, HUGE)
        broken = np.empty((len(values), 0)) if violations is None else np.clip(violations, -HUGE, HUGE)
        good = ~np.isnan(values).any(axis=1)
        if good.any():
            self._worst = np.maximum(self._worst, values[good].max(axis=0))
            worst = broken[good].max(axis=0)
            self._worst_violations = np.maximum(self._worst_violations, worst) if self._worst_violations.size else worst
        for row, value, violated in zip(matrix, values, broken, strict=True):
            places = self._places.get(row.tobytes())
            if places:
                place = places.pop(0)
                self._seen.append((place, self._asked[place], value, violated))
            else:
                self._seen.append((-1, self.space.to_unit(row[None])[0], value, violated))
        self._end_if_complete()

    def _end_if_complete(self) -> None:
        if not self._asked or len(self._seen) < self._size:
            return
        seen = sorted(self._seen, key=lambda item: item[0] if item[0] >= 0 else len(self._asked))
        index = np.array([item[0] for item in seen], dtype=np.intp)
        units, values, violations = (np.array([item[i] for item in seen]) for i in (1, 2, 3))
        failed = np.isnan(values).any(axis=1)
        if failed.any():
            values[failed] = np.where(np.isfinite(self._worst), self._worst, HUGE)
            violations[failed] = self._worst_violations if self._worst_violations.size else HUGE
        self._tell_constrained(units, values, index, violations)
        self._reset()


def whole_batches(usual: int, batch: int) -> int:
    """The usual population size, rounded up to whole batches."""
    return -(-usual // batch) * batch
