"""Closed loops as open ones: a function that calls `fun(x)` until it returns becomes suggest and observe.

    class Halving(ClosedLoop):
        def minimise(self, fun):                 # runs by itself, as the library would have it
            result = library.minimise(fun, self.start(), bounds=(self.lower, self.upper))
            return result.message                # why it ended: the study is stopped early

The minimiser runs in a greenlet, a second stack in the same thread. `fun` leaves it with a point and comes back with
the value, so the library's own code runs unchanged: the sequence of evaluations is the same as native, bit for bit. A
switch costs less than a microsecond, where a thread costs tens and may outlive its study.

Where every parameter is a linear real range, the minimiser works in natural coordinates with the natural bounds;
otherwise in the space's unit cube, where an integer or a category is a step.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from greenlet import getcurrent, greenlet

from optarena.errors import Exhausted, OptarenaError, describe
from optarena.optimizer import Capabilities, Optimizer
from optarena.settings import choice
from optarena.space import Array, Space

LARGE = 1e30
"""What a failure is reported as before anything finite was seen (PRIMA's barrier has the same size)."""
STARTS = ("random", "centre")
START = choice("random", STARTS)
"""The setting `x0` of a minimiser that is given a point to start from."""

Function = Callable[..., float]


class ClosedLoop(Optimizer):
    """Subclasses define `minimise`. A failure (NaN or +inf) becomes the worst finite value so far, else 1e30."""

    capabilities = Capabilities(batch=False, unsuggested=False, array_native=True, failures="worst")

    def __init__(
        self, space: Space, *, objectives: int = 1, rng: np.random.Generator | None = None, **settings: Any
    ) -> None:
        super().__init__(space, objectives=objectives, rng=rng, **settings)
        self.natural = all(p.warp == "linear" and p.type == "real" and p.values is None for p in space.parameters)
        self.natural = self.natural and bool((space.low < space.high).all())  # libraries want bounds with an inside
        self.lower = space.low.copy() if self.natural else np.zeros(space.dimension)
        self.upper = space.high.copy() if self.natural else np.ones(space.dimension)
        self._worst = -math.inf
        self._asked: Array | None = None  # the point that waits for its value
        self._told = 0.0
        self._runner: greenlet | None = None
        self._ended = ""  # why there are no more points

    def minimise(self, fun: Function) -> str:
        """Call `fun(x)`, x between `lower` and `upper`, until it has converged; say why it ended.

        It runs on a shallow copy of the optimizer, made at the first suggestion: a greenlet that could reach the
        optimizer which holds it would never be freed. `fun` ignores further arguments. It raises GreenletExit when
        the study is over; let it pass.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define minimise(fun)")

    def start(self, how: str = "random") -> Array:
        """A point to start from: uniform between the bounds, from the study's stream, or the centre."""
        at = self.rng.random(self.space.dimension) if how == "random" else np.full(self.space.dimension, 0.5)
        return self.lower + at * (self.upper - self.lower)

    def suggest(self, n: int) -> Array:  # noqa: ARG002 (always one, as the capabilities say)
        """The point at which the minimiser waits for a value, as a matrix with one row."""
        if self._asked is None:
            x = self._resume().reshape(1, -1)
            if np.isnan(x).any():  # after a value of -inf, say: nothing can be better
                self._ended = "the minimiser asked for a point that is not a number"
                self.close()
                raise Exhausted(self._ended)
            # COBYLA steps over bounds, others by a rounding: the nearest point inside is evaluated. (np.clip is slower)
            inside = np.minimum(np.maximum(x, self.lower), self.upper) if self.natural else self.space.from_unit(x)
            self._asked = inside
        return self._asked

    def observe(self, X: Any, y: Array, violations: Array | None = None) -> None:  # noqa: ARG002
        """Give the value to the minimiser, which goes on with it at the next `suggest`."""
        if self._asked is None or not (X is self._asked or np.array_equal(X, self._asked)):
            raise OptarenaError(f"{type(self).__name__} can only observe the point that it suggested last")
        value = float(y[0, 0])
        if math.isfinite(value):
            self._worst = max(self._worst, value)
        elif value != -math.inf:
            value = self._worst if self._worst > -math.inf else LARGE
        self._told, self._asked = value, None

    def _resume(self) -> Array:
        """Let the minimiser go on to its next point. What it raises surfaces here, and after that it has ended."""
        if self._ended:
            raise Exhausted(self._ended)
        first = self._runner is None
        runner = self._runner = self._runner or greenlet(_run)
        runner.parent = getcurrent()
        try:
            given = runner.switch(copy.copy(self) if first else self._told)
        except BaseException as error:
            self._ended = f"failed: {describe(error)}"
            raise
        if runner.dead:
            self._ended = str(given)
            raise Exhausted(self._ended)
        return np.asarray(given, dtype=float)

    def close(self) -> None:
        """End the minimiser where it waits; its `finally` and `with` blocks run."""
        runner, self._runner = self._runner, None
        self._ended = self._ended or "closed"
        while runner is not None and not runner.dead:  # again, if a library calls `fun` after it was asked to stop
            runner.parent = getcurrent()
            runner.throw()


def _run(optimizer: ClosedLoop) -> str:
    optimizer._runner = None
    # a stand-in for infinity overflows in a library's arithmetic. The state belongs to the greenlet's own context, so
    # that what runs between two steps never sees it
    with np.errstate(all="ignore"):
        return optimizer.minimise(_ask)


def _ask(x: Array, *_: Any) -> float:
    """Called by the minimiser, in its greenlet: hand the point to whoever resumed it, and wait for its value."""
    parent = getcurrent().parent
    assert parent is not None
    return float(parent.switch(x))
