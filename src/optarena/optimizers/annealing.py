"""Archived multi-objective simulated annealing (AMOSA), our own, from its published description."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from optarena.optimizer import Capabilities, Optimizer
from optarena.settings import number, whole
from optarena.space import Array, Space

REGISTERED = {"names": {"AMOSA": "AMOSA"}}

LARGE = 1e100
"""Values beyond count as this: they are multiplied."""


class AMOSA(Optimizer):
    """Archived multi-objective simulated annealing (Bandyopadhyay, Saha, Maulik & Deb 2008): SA for several objectives.

    One parameter of the current point is changed at a time. Who dominates whom among the new point, the current point
    and the archive decides, with the amount of domination in place of SA's difference of energies: the product over the
    objectives that differ of |difference| / range. The paper's cases are named in the code. Beyond `archive` times two,
    the archive is cut to `archive` points by single-linkage clustering.

    Good for: integers and categories as well as reals, few hundred to many thousand cheap evaluations, and as the SA of
    a comparison. `step` is the scale of the Laplacian step of a real or an integer (the cube has width 1; an integer
    moves by one at least); a category is drawn anew. The temperature falls from `initial_temp` to `final_temp` by the
    factor `cooling` after every `iterations` evaluations, and then stays; from there on, the current point is drawn
    from the archive as often.

    Unlike the paper, a worse point is taken with probability 1 / (1 + exp(amount / temperature)), as in any SA (the
    paper multiplies, and would take more of them when it is cold), and 2 (D + 1) random points come first instead of
    hundreds of short climbs. The more a point violates constraints, the worse: the archive has feasible points only.
    """

    capabilities = Capabilities(
        array_native=True, one_objective=False, several_objectives=True, constraints=True, failures="skipped"
    )
    settings: ClassVar = {
        "initial_temp": number(1.0, open_low=True),
        "final_temp": number(1e-4, open_low=True),
        "cooling": number(0.8, 0.0, 1.0, open_low=True, open_high=True),
        "iterations": whole(20),
        "step": number(0.1, 0.0, 1.0, open_low=True),
        "archive": whole(100, 2),
    }

    def __init__(
        self, space: Space, *, objectives: int = 2, rng: np.random.Generator | None = None, **settings: Any
    ) -> None:
        super().__init__(space, objectives=objectives, rng=rng, **settings)
        self._varying = np.flatnonzero(space.low < space.high)
        self._temperature = self.chosen["initial_temp"]
        self._first = 2 * (space.dimension + 1)
        self._seen = 0
        self._current: tuple[Array, Array, float] | None = None
        """Its unit coordinates, its values, and how much it violates constraints."""
        self._units, self._values = np.empty((0, space.dimension)), np.empty((0, objectives))
        """The archive: feasible points, none of which dominates another."""
        self._most_violated = 0.0

    @classmethod
    def conflict(cls, chosen: Any, dimension: int | None) -> str:  # noqa: ARG003
        if chosen["final_temp"] <= chosen["initial_temp"]:
            return ""
        low, high = chosen["initial_temp"], chosen["final_temp"]
        return f"final_temp must be at most initial_temp, which is {low:g}, got {high:g}"

    def suggest(self, n: int) -> Array:
        if self._current is None or self._seen < self._first or not self._varying.size:
            return self.space.sample(n, self.rng)
        return self.space.from_unit(np.array([self._perturbed(self._current[0]) for _ in range(n)]))

    def _perturbed(self, unit: Array) -> Array:
        """The point with one parameter changed, in the unit cube."""
        column = int(self.rng.choice(self._varying))
        before, out = self.space.from_unit(unit[None])[0, column], unit.copy()
        step = self.chosen["step"]
        while True:
            if self.space.parameters[column].type in ("cat", "bool"):
                out[column] = self.rng.random()
            else:
                out[column] = min(max(unit[column] + self.rng.laplace(0.0, step), 0.0), 1.0)
            if self.space.from_unit(out[None])[0, column] != before:
                return out
            step *= 2.0  # an integer moves by one at least, and what left the cube tries again

    def observe(self, X: Any, y: Array, violations: Array | None = None) -> None:
        matrix, values = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
        for i, row in enumerate(values):
            broken = 0.0 if violations is None else float(np.maximum(violations[i], 0.0).sum())
            if not np.isnan(row).any() and (row != math.inf).all():
                unit = self.space.to_unit(matrix[i : i + 1])[0]
                self._meet(unit, np.clip(row, -LARGE, LARGE), min(broken, LARGE))
            self._seen += 1
            if self._seen > self._first and (self._seen - self._first) % self.chosen["iterations"] == 0:
                self._cool()

    def _cool(self) -> None:
        if self._temperature > self.chosen["final_temp"]:
            self._temperature = max(self._temperature * self.chosen["cooling"], self.chosen["final_temp"])
        elif len(self._values):
            drawn = int(self.rng.integers(len(self._values)))
            self._current = (self._units[drawn], self._values[drawn], 0.0)

    # ---- the paper's cases -----------------------------------------------------------------------------------------

    def _meet(self, unit: Array, values: Array, broken: float) -> None:
        """Decide on a new point: whether it is the current one from now on, and whether it enters the archive."""
        new = (unit, values, broken)
        self._most_violated = max(self._most_violated, broken)
        if self._current is None or self._current[2] > broken:
            self._current = new
            if broken == 0.0:
                self._enter(unit, values)
            return
        if broken > self._current[2]:
            if self._taken((broken - self._current[2]) / self._most_violated):
                self._current = new
            return
        if broken > 0.0:  # as infeasible as the current one
            self._current = new
            return
        current = self._current[1]
        by = (self._values <= values).all(axis=1) & (self._values < values).any(axis=1)
        scale = self._range(np.vstack((self._values, current, values)))
        amounts = amount(self._values[by], values, scale)
        if _dominates(current, values):  # case 1: the current point dominates the new one
            worse = amounts.sum() + amount(current[None], values, scale)[0]
            if self._taken(worse / (len(amounts) + 1)):
                self._current = new
        elif not by.any():  # cases 2(b), 2(c), 3(b), 3(c): nothing in the archive dominates the new point
            self._current = new
            self._enter(unit, values)
        elif not _dominates(values, current):  # case 2(a): some of the archive dominate it, the current point does not
            if self._taken(amounts.mean()):
                self._current = new
        else:  # case 3(a): it dominates the current point, but some of the archive dominate it
            nearest = int(np.argmin(amounts))
            back = self.rng.random() < 1.0 / (1.0 + math.exp(-amounts[nearest]))
            at = np.flatnonzero(by)[nearest]
            self._current = (self._units[at], self._values[at], 0.0) if back else new

    def _taken(self, worse: float) -> bool:
        """Whether a worse point is taken, at this temperature."""
        return bool(self.rng.random() < 1.0 / (1.0 + math.exp(min(worse / self._temperature, 700.0))))

    def _enter(self, unit: Array, values: Array) -> None:
        """Put a point that nothing dominates into the archive, and cut it where it is too large."""
        if (self._values <= values).all(axis=1).any():  # as good as one that is there
            return
        stays = ~(self._values >= values).all(axis=1)
        self._units, self._values = np.vstack((self._units[stays], unit)), np.vstack((self._values[stays], values))
        if len(self._values) > 2 * self.chosen["archive"]:
            kept = spread_out(self._values / self._range(self._values), self.chosen["archive"])
            self._units, self._values = self._units[kept], self._values[kept]

    @staticmethod
    def _range(values: Array) -> Array:
        width: Array = values.max(axis=0) - values.min(axis=0)
        return np.where(width > 0, width, 1.0)


def amount(better: Array, worse: Array, scale: Array) -> Array:
    """The amounts of domination of points (k, m) over a point: products of |difference| / range where they differ."""
    gaps = np.abs(better - worse) / scale
    return np.where(gaps > 0, gaps, 1.0).prod(axis=1)


def _dominates(x: Array, y: Array) -> bool:
    return bool((x <= y).all() and (x < y).any())


def spread_out(points: Array, n: int) -> list[int]:
    """The rows that stand for n clusters by single linkage: of each cluster the one with the least mean distance."""
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import cdist

    cluster = fcluster(linkage(points, "single"), n, "maxclust")
    kept = []
    for label in np.unique(cluster):
        rows = np.flatnonzero(cluster == label)
        kept.append(int(rows[np.argmin(cdist(points[rows], points[rows]).mean(axis=1))]))
    return sorted(kept)
