"""Libraries that are asked for a point and told its value, with failures reported as such."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Collection, Iterator
from typing import Any, ClassVar

import numpy as np

from optarena._global_state import GlobalState, TorchState, silent
from optarena.errors import Exhausted
from optarena.optimizer import Capabilities, Optimizer
from optarena.optimizers._codec import Codec
from optarena.optimizers._pending import Pending, Seen
from optarena.space import Array, Space

WIDEST = 2.0**31
"""A range of this many integers or more is searched as a real, since these libraries count its members."""

Values = list[Any]
"""A point as a library has it: one float or int per column of the codec."""


class AskTell(Optimizer):
    """What such libraries share. Each suggestion has a token, by which its value is told.

    A library that has no new points left ends the study; the rest of the batch in which that happens is drawn at
    random. With failures "worst", those before the first success are told as 0, and again when the worst is known.
    Infinity is a failure, minus infinity the best finite value so far.
    """

    capabilities = Capabilities(array_native=True, failures="native")
    native: ClassVar[Collection[str]] = ()
    """The ranges that the library has of its own, as `_codec` calls them; it sees the others in our unit cube."""
    torch: ClassVar[bool] = False
    repeats: ClassVar[bool] = True
    """Whether it may suggest a point twice. One that may not looks for long when there are no others."""

    def __init__(
        self, space: Space, *, objectives: int = 1, rng: np.random.Generator | None = None, **settings: Any
    ) -> None:
        super().__init__(space, objectives=objectives, rng=rng, **settings)
        self._codec = Codec(space, self.native, widest=WIDEST)
        self._names = [f"p{i}" for i in self._codec.columns]
        self._seen = Seen()
        self._states: list[Any] = [GlobalState(self.rng), *([TorchState(self.rng)] if self.torch else [])]
        self._left = math.inf if self.repeats else self._codec.size
        self._met: set[bytes] = set()
        """The points of a finite space that were suggested or observed, for a library that suggests none twice."""
        self._pending: Pending[Any] = Pending()
        self._early: list[Any] = []
        """Failures before the first success."""

    @contextlib.contextmanager
    def _running(self) -> Iterator[None]:
        """Around every call of the library."""
        with contextlib.ExitStack() as stack:
            for state in self._states:
                stack.enter_context(state)
            stack.enter_context(silent())
            yield

    # ---- what a library's adapter defines ----------------------------------------------------------------------

    def _ask(self, n: int) -> list[tuple[Any, Values]]:
        """n tokens and points; fewer if there are no more."""
        raise NotImplementedError

    def _tell(self, token: Any, value: float, failed: bool) -> None:
        """The value of a suggestion; of one that failed NaN or, with failures "worst", that, perhaps twice."""
        raise NotImplementedError

    def _token(self, point: Values) -> Any:
        """A token for a point that was never suggested."""
        raise NotImplementedError

    # ---- the contract ------------------------------------------------------------------------------------------

    def suggest(self, n: int) -> Array:
        left = self._left - len(self._met)
        asked = []
        if left:
            with self._running():
                asked = self._ask(int(min(n, left)))
        if not asked:
            raise Exhausted(f"{type(self).__name__} has no new points left")
        X = self._codec.decode([values for _, values in asked])
        self._meet(X)
        self._pending.put(X, [token for token, _ in asked])
        return X if len(X) == n else np.concatenate([X, self.space.sample(n - len(X), self.rng)])

    def _meet(self, X: Array) -> None:
        if self._left < math.inf:
            self._met.update(row.tobytes() for row in X)

    def observe(self, X: Array, y: Array, violations: Array | None = None) -> None:  # noqa: ARG002
        matrix = np.ascontiguousarray(X, dtype=float)
        self._meet(matrix)
        values = y[:, 0].tolist()
        self._seen.see(values)
        known, worst_is_told = self._seen.known, self.capabilities.failures == "worst"
        worst = self._seen.worst if known else 0.0
        with self._running():
            for row, value in zip(matrix, values, strict=True):
                token = self._pending.take(row)
                if token is None:
                    token = self._token(self._codec.encode(row))
                if math.isnan(value) or value == math.inf or not known:
                    self._tell(token, worst if worst_is_told else math.nan, True)
                    if not known and worst_is_told:
                        self._early.append(token)
                else:
                    self._tell(token, self._seen.inside(value), False)
            if known:
                for token in self._early:
                    self._tell(token, worst, True)
                self._early.clear()
