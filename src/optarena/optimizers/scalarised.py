"""Any optimizer for one objective on several: one sub-run after another, each with weights of its own.

    use("Scalarised", optimizer="CMA-ES", method="chebyshev")

From the command line: `-o "Scalarised(optimizer=CMA-ES, method=chebyshev)"`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import msgspec
import numpy as np

from optarena._lattice import lattice
from optarena._losses import losses
from optarena.errors import Exhausted, OptarenaError
from optarena.optimizer import Capabilities, Optimizer, check_settings, get_optimizer
from optarena.settings import choice, read_call, text, whole
from optarena.space import Array, Space
from optarena.staircase import ordered

REGISTERED = {"names": {"Scalarised": "Scalarised"}}

METHODS = ("chebyshev", "weights", "cdom")
AT_MOST = 15
"""How many weights there are at most (ParEGO has 11 for two objectives, 15 for three)."""
LEAST = 1e-3
"""No objective is ever without a weight: its values break the ties of the others."""
AUGMENTED = 0.05
"""The share of the weighted sum in the augmented Chebyshev norm, as in ParEGO."""
MOST = 1e100
"""Values beyond count as this: they are added and multiplied."""
FAR = 300.0
"""exp(FAR)**2 is still a number."""


class Scalarised(Optimizer):
    """Any optimizer for one objective, on several: sub-runs of it, each minimising one scalar of the objectives.

    Weights are evenly spaced (Das & Dennis 1998), at most 15, and each pass goes through all of them in a random order,
    as ParEGO draws them (Knowles 2006). A sub-run is a new `optimizer` that keeps one set of weights for `evaluations`
    evaluations (none: 10 (D + 1)), or until it has converged, so its function never changes under it. Where the
    optimizer takes points that it never suggested, it is first told the best point so far for its weights, as in
    two-phase local search (Paquete & Stützle 2003). 2 (D + 1) random points come first.

    When a sub-run begins, objectives are normalised by what was seen so far. `method` is what the optimizer minimises:

    - `chebyshev`: ParEGO's augmented Chebyshev norm, max w_i z_i + 0.05 sum w_i z_i, with z from the ideal (0) to the
      nadir (1) of the points that nothing dominates so far.
    - `weights`: sum w_i z_i, with the same z.
    - `cdom`: continuous domination (Zitzler & Künzli 2004, as used by Menzies; docs/scores.md 3.2) with the losses of
      the objectives weighted: the mean over those points p of loss(z, p) - loss(p, z), with z from the least (0) to the
      greatest (1) value seen.

    Good for: asking what an optimizer for one objective is worth on several. `weights` finds no point in a concave part
    of a front, `chebyshev` does. `optimizer` is a registered name, perhaps with settings: `CMA-ES(popsize=8)`.
    """

    capabilities = Capabilities(
        batch=False,
        unsuggested=False,
        one_objective=False,
        several_objectives=True,
        array_native=True,
        failures="worst",
    )
    settings: ClassVar = {
        "optimizer": text("SimulatedAnnealing"),
        "method": choice("chebyshev", METHODS),
        "evaluations": whole(None, 1, 10**9),
    }

    def __init__(
        self, space: Space, *, objectives: int = 2, rng: np.random.Generator | None = None, **settings: Any
    ) -> None:
        super().__init__(space, objectives=objectives, rng=rng, **settings)
        self._name, self._settings = read_call(self.chosen["optimizer"])
        self._class = get_optimizer(self._name)
        self.capabilities = _capabilities(self._class)
        self._length = self.chosen["evaluations"] or 10 * (space.dimension + 1)
        self._first = 2 * (space.dimension + 1)
        self._weights = self._cycle(even_weights(objectives, AT_MOST))
        self._inner: Optimizer | None = None
        self._scalar = Scalar(self.chosen["method"], np.ones(objectives), np.zeros((0, objectives)), (0.0, 1.0))
        self._told = 0
        """How many values the sub-run, or the random phase, was told."""
        self._low, self._high = np.full(objectives, math.inf), np.full(objectives, -math.inf)
        self._points: list[Any] = []
        self._values, self._violations = np.empty((0, objectives)), np.empty((0, 0))

    @classmethod
    def as_used(cls, settings: Mapping[str, Any]) -> type[Optimizer]:
        name, _ = read_call(settings.get("optimizer", cls.settings["optimizer"].default))
        inner = get_optimizer(name)
        own = {"capabilities": _capabilities(inner), "packages": inner.packages, "wraps": (name,)}
        return type(cls.__name__, (cls,), {**own, "__module__": cls.__module__, "__qualname__": cls.__qualname__})

    @classmethod
    def conflict(cls, chosen: Mapping[str, Any], dimension: int | None) -> str:
        try:
            name, settings = read_call(chosen["optimizer"])
            inner = get_optimizer(name)
            if inner.capabilities.several_objectives:
                return f"{name} takes several objectives itself: use it as it is"
            check_settings(inner, name, settings, dimension)
        except OptarenaError as error:
            return f"optimizer: {error}"
        return ""

    def _cycle(self, weights: Array) -> Iterator[Array]:
        while True:
            yield from weights[self.rng.permutation(len(weights))]

    def suggest(self, n: int) -> Any:
        if self._inner is None and self._told < self._first:
            X = self.space.sample(n, self.rng)
            return X if self.capabilities.array_native else self.space.to_dicts(X)
        if self._inner is not None and self._told >= self._length:
            self._end()
        if self._inner is not None:
            try:
                return self._asked(self._inner, n)
            except Exhausted:
                self._end()
        return self._asked(self._begin(), n)

    def _asked(self, inner: Optimizer, n: int) -> Any:
        try:
            return inner.suggest(n)
        finally:
            self.charge(**inner.take_charges())

    def observe(self, X: Any, y: Array, violations: Array | None = None) -> None:
        values = np.asarray(y, dtype=float)
        broken = np.empty((len(values), 0)) if violations is None else np.asarray(violations, dtype=float)
        self._keep(X, values, broken)
        self._told += len(values)
        if self._inner is not None:
            self._tell(X, values, violations)

    def close(self) -> None:
        self._end()

    # ---- sub-runs ------------------------------------------------------------------------------------------------

    def _begin(self) -> Optimizer:
        """The next weights, and an optimizer that knows the best point for them."""
        budget = {"budget": self._length} if self._class.capabilities.uses_budget else {}
        rng = np.random.default_rng(self.rng.integers(2**63))
        self._inner = self._class(self.space, objectives=1, rng=rng, **budget, **self._settings)
        self._told = 0
        self._scalar = Scalar(self.chosen["method"], next(self._weights), self._values, (self._low, self._high))
        if self._points and self.capabilities.unsuggested:
            best = int(np.argmin(self._scalar(self._values)))
            point = self._points[best]
            given = point[None] if self.capabilities.array_native else [point]
            self._tell(given, self._values[best : best + 1], self._violations[best : best + 1])
        return self._inner

    def _tell(self, X: Any, values: Array, violations: Array | None) -> None:
        assert self._inner is not None
        y = self._scalar(values)[:, None]
        if self.capabilities.constraints:
            self._inner.observe(X, y, violations)
        else:
            self._inner.observe(X, y)
        self.charge(**self._inner.take_charges())

    def _end(self) -> None:
        inner, self._inner = self._inner, None
        if inner is not None:
            inner.close()
            self.charge(**inner.take_charges())

    def _keep(self, X: Any, values: Array, violations: Array) -> None:
        """Note the range of values, and the feasible points that nothing dominates."""
        from moocore import is_nondominated

        finite = np.isfinite(values).all(axis=1)
        clipped = np.clip(values[finite], -MOST, MOST)
        if not finite.any():
            return
        self._low, self._high = np.minimum(self._low, clipped.min(axis=0)), np.maximum(self._high, clipped.max(axis=0))
        good = (violations[finite] <= 0).all(axis=1)
        rows = np.flatnonzero(finite)[good]
        if not rows.size:
            return
        points = self._points + [np.array(X[i]) if isinstance(X, np.ndarray) else dict(X[i]) for i in rows]
        all_values = np.concatenate([self._values, clipped[good]])
        all_violations = np.concatenate([self._violations, violations[rows]]) if self._points else violations[rows]
        front = np.flatnonzero(is_nondominated(ordered(all_values), keep_weakly=False))
        self._points, self._values = [points[i] for i in front], all_values[front]
        self._violations = all_violations[front]


class Scalar:
    """One number of several objectives, with weights and bounds that stay as they are: the less, the better."""

    def __init__(self, method: str, weights: Array, front: Array, seen: tuple[Any, Any]) -> None:
        """front: what nothing dominates so far, which may be empty; seen: the least and the greatest values."""
        self._method, self._weights = method, weights
        low, high = np.broadcast_to(seen[0], weights.shape), np.broadcast_to(seen[1], weights.shape)
        if not np.isfinite(low).all():
            low, high = np.zeros(len(weights)), np.ones(len(weights))
        if method != "cdom" and len(front):
            high = np.where(front.max(axis=0) > front.min(axis=0), front.max(axis=0), high)
            low = front.min(axis=0)
        self._low, width = low, high - low
        self._width = np.where(width > 0, width, 1.0)
        self._front = self._normalised(front)

    def _normalised(self, values: Array) -> Array:
        out: Array = (np.clip(values, -MOST, MOST) - self._low) / self._width
        return np.clip(out, -FAR, FAR) if self._method == "cdom" else out

    def __call__(self, values: Array) -> Array:
        """(n,) from objectives (n, m); NaN where one is, inf where one is."""
        z = self._normalised(values)
        if self._method == "cdom" and len(self._front):
            each, front = z[:, None, :], self._front[None]
            out = (losses(each, front, self._weights) - losses(front, each, self._weights)).mean(axis=1)
        else:
            out = (z * self._weights).sum(axis=1)
            if self._method == "chebyshev":
                out = (z * self._weights).max(axis=1) + AUGMENTED * out
        out[(values == math.inf).any(axis=1)] = math.inf
        out[np.isnan(values).any(axis=1)] = math.nan
        return out


def even_weights(m: int, at_most: int) -> Array:
    """Weights evenly spaced (Das & Dennis 1998), at most so many (but m at least); each sums to 1, and none is 0."""
    return (lattice(m, at_most) + LEAST) / (1.0 + m * LEAST)


def _capabilities(inner: type[Optimizer]) -> Capabilities:
    """What it can do is what its optimizer can do, with several objectives; the budget is that of a sub-run."""
    return msgspec.structs.replace(
        inner.capabilities, one_objective=False, several_objectives=True, uses_budget=False, ahead=False
    )
