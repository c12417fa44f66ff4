"""True fronts: what suites with several objectives share, how closed forms are laid out, and those that are shipped.

A closed form is computed when asked; the others were computed once by `tools/make_fronts.py`, which also says how,
and stand in `data/fronts.csv.gz`. Values have ten digits, so that machines whose sine differs in the last bit tell the
same front.
"""

from __future__ import annotations

import functools
from importlib import resources

import numpy as np
import numpy.typing as npt

from optarena._lattice import lattice
from optarena.problem import Known, Objective, Problem
from optarena.space import Array, Point, Space

POINTS = 500
"""About how many points a front has: as many as a lattice with this many at most, or exactly this many on a curve."""

Front = tuple[tuple[float, ...], ...]


class FrontProblem(Problem):
    """Several objectives to be minimised, a formula for whole batches. Subclasses define `evaluate_matrix`."""

    array_native = True

    def __init__(self, function: str, space: Space, m: int, known: Known) -> None:
        self.function, self.space, self.known = function, space, known
        self.objectives = tuple(Objective(str(i + 1)) for i in range(m))

    def inside(self, X: Array) -> Array:
        """C-ordered, within the box: a point that rounding has put outside counts as the nearest one inside."""
        rows: Array = np.maximum(np.ascontiguousarray(X, dtype=float), self.space.low)
        return np.minimum(rows, self.space.high)

    def row(self, x: Point) -> Array:
        return np.array([[x[name] for name in self.space.names]], dtype=float)

    def evaluate(self, x: Point) -> list[float]:
        values: list[float] = self.evaluate_matrix(self.row(x))[0].tolist()
        return values


def known(points: npt.ArrayLike | None) -> Known:
    """What a front tells: itself, sorted, with ideal and nadir point; nothing where there is none."""
    if points is None:
        return Known()
    front = as_front(points)
    table = np.array(front)
    return Known(front=front, ideal=tuple(table.min(axis=0).tolist()), nadir=tuple(table.max(axis=0).tolist()))


def as_front(points: npt.ArrayLike) -> Front:
    """Rows with ten digits, without duplicates, in lexicographic order."""
    table = np.asarray(points, dtype=float)
    digits = 9 - np.floor(np.log10(np.maximum(np.abs(table).max(axis=0), 1e-300)))
    rounded = np.array([[round(v, int(d)) + 0.0 for v, d in zip(row, digits, strict=True)] for row in table.tolist()])
    return tuple(tuple(row) for row in np.unique(rounded, axis=0).tolist())


def sphere(m: int) -> Array:
    """Points of the unit sphere's positive part, over the lattice."""
    directions = lattice(m, POINTS)
    points: Array = directions / np.sqrt((directions**2).sum(axis=1, keepdims=True))
    return points


def shipped(name: str) -> Array | None:
    """The front of a problem that was computed once, None where there is none: `wfg/wfg2/m3`, `models/tanaka`."""
    return _table().get(name)


@functools.cache
def _table() -> dict[str, Array]:
    import gzip

    data = resources.files("optarena.problems").joinpath("data/fronts.csv.gz").read_bytes()
    rows: dict[str, list[list[float]]] = {}
    for line in gzip.decompress(data).decode().splitlines():
        if not line.startswith("#"):
            name, *values = line.split(",")
            rows.setdefault(name, []).append([float(value) for value in values])
    return {name: np.array(values) for name, values in rows.items()}
