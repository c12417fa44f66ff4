"""DTLZ: seven problems with any number of objectives (Deb, Thiele, Laumanns & Zitzler 2002), in the form of pymoo.

    >>> from optarena.problem import build
    >>> len(build("dtlz/dtlz2/m3/d12").known.front)
    496

Ids: `dtlz/dtlz<1..7>/m<objectives>/d<dimension>`. Listed are 2, 3, 5, 8 and 10 objectives, each in the dimension of the
paper: objectives - 1 and 5 more for dtlz1, 20 for dtlz7, else 10; from 2 to 20 objectives and any dimension from there
to 1000 may be named. Fronts are known, but for dtlz5 and dtlz6 with more than 3 objectives, whose fronts are more than
the curve that the paper had in mind, and for dtlz7 with more than 5, of which only ideal and nadir point are known.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

import numpy as np

from optarena._lattice import lattice
from optarena.problem import Known, Problem, Suite
from optarena.problems._formulas import columns, row_sums
from optarena.problems._fronts import POINTS, FrontProblem, known, shipped, sphere
from optarena.space import Array, Space

REGISTERED = {"names": {"dtlz": "DtlzSuite"}}

OBJECTIVES = (2, 3, 5, 8, 10)
MORE = {"dtlz1": 5, "dtlz7": 20}
"""How many parameters beyond the first m - 1 the paper has; else 10."""
DTLZ7_PEAK = (0.8594008566447239, 1.6929956344984227)
_ID = re.compile(r"dtlz/(dtlz[1-7])/m([1-9][0-9]?)/d([1-9][0-9]{0,3})\Z")


def _g_multimodal(rest: Array) -> Array:
    return 100.0 * row_sums((rest - 0.5) ** 2 + (1.0 - np.cos(20.0 * np.pi * (rest - 0.5))))


def _g_bowl(rest: Array) -> Array:
    return row_sums((rest - 0.5) ** 2)


def _g_steep(rest: Array) -> Array:
    return row_sums(rest**0.1)


def _products(first: Array, last: Array, scale: Array) -> Array:
    """Objective j: the scale times the first m - j of `first`, times one of `last` but for j = 1."""
    factors, ends = columns(first), columns(last)
    m = len(factors) + 1
    out = np.empty((m, len(scale)))
    for j in range(m):
        value = scale.copy()
        for factor in factors[: m - 1 - j]:
            value *= factor
        out[j] = value if j == 0 else value * ends[m - 1 - j]
    return columns(out)


def _round(angles: Array, g: Array) -> Array:
    """On a sphere with radius 1 + g; angles in quarter turns."""
    turned = angles * (np.pi / 2.0)
    return _products(np.cos(turned), np.sin(turned), 1.0 + g)


def _split(X: Array, m: int) -> tuple[Array, Array]:
    return np.ascontiguousarray(X[:, : m - 1]), np.ascontiguousarray(X[:, m - 1 :])


def dtlz1(X: Array, m: int) -> Array:
    x, rest = _split(X, m)
    return _products(x, 1.0 - x, 0.5 * (1.0 + _g_multimodal(rest)))


def dtlz2(X: Array, m: int) -> Array:
    x, rest = _split(X, m)
    return _round(x, _g_bowl(rest))


def dtlz3(X: Array, m: int) -> Array:
    x, rest = _split(X, m)
    return _round(x, _g_multimodal(rest))


def dtlz4(X: Array, m: int) -> Array:
    x, rest = _split(X, m)
    return _round(x**100.0, _g_bowl(rest))


def dtlz5(X: Array, m: int) -> Array:
    x, rest = _split(X, m)
    return _curved(x, _g_bowl(rest))


def dtlz6(X: Array, m: int) -> Array:
    x, rest = _split(X, m)
    return _curved(x, _g_steep(rest))


def _curved(x: Array, g: Array) -> Array:
    """All angles but the first are an eighth of a turn where g = 0."""
    angles = (1.0 + 2.0 * g[:, None] * x) / (2.0 * (1.0 + g[:, None]))
    angles[:, 0] = x[:, 0]
    return _round(angles, g)


def dtlz7(X: Array, m: int) -> Array:
    x, rest = _split(X, m)
    g = 1.0 + 9.0 / rest.shape[1] * row_sums(rest)
    h = m - row_sums(x / (1.0 + g[:, None]) * (1.0 + np.sin(3.0 * np.pi * x)))
    return np.column_stack((x, (1.0 + g) * h))


FORMULAS = {
    "dtlz1": dtlz1,
    "dtlz2": dtlz2,
    "dtlz3": dtlz3,
    "dtlz4": dtlz4,
    "dtlz5": dtlz5,
    "dtlz6": dtlz6,
    "dtlz7": dtlz7,
}


@functools.cache
def front(name: str, m: int) -> Known:
    """Where g is least: a plane, a sphere, a quarter circle, or (dtlz7) pieces of a surface."""
    if name == "dtlz1":
        return known(0.5 * lattice(m, POINTS))
    if name in ("dtlz2", "dtlz3", "dtlz4"):
        return known(sphere(m))
    if name == "dtlz7":
        if m in (2, 3, 5):
            return known(shipped(f"dtlz/dtlz7/m{m}"))
        # f_m = 2m - Σ φ(f_i), φ(t) = t (1 + sin 3πt), and the front ends where φ is greatest
        end, peak = DTLZ7_PEAK
        return Known(ideal=(*(0.0,) * (m - 1), 2.0 * m - (m - 1) * peak), nadir=(*(end,) * (m - 1), 2.0 * m))
    if m > 3:
        return Known()
    angle = np.linspace(0.0, 1.0, POINTS)[:, None]
    angles = angle if m == 2 else np.hstack((angle, np.full_like(angle, 0.5)))
    return known(_round(angles, np.zeros(POINTS)))


class DtlzProblem(FrontProblem):
    def __init__(self, name: str, m: int, dimension: int) -> None:
        super().__init__(name, Space.box(0.0, 1.0, dimension), m, front(name, m))

    def evaluate_matrix(self, X: Array) -> Array:
        return FORMULAS[self.function](self.inside(X), len(self.objectives))


class DtlzSuite(Suite):
    name = "dtlz"
    summary = "seven problems with 2 to 20 objectives, most fronts known (Deb, Thiele, Laumanns & Zitzler)"

    def ids(self) -> Iterator[str]:
        return (f"dtlz/{name}/m{m}/d{m - 1 + MORE.get(name, 10)}" for name in FORMULAS for m in OBJECTIVES)

    def contains(self, id: str) -> bool:
        found = _ID.match(id)
        return found is not None and 2 <= int(found[2]) <= 20 and int(found[2]) <= int(found[3]) <= 1000

    def build(self, id: str) -> Problem:
        found = _ID.match(id)
        if found is None or not self.contains(id):
            raise self.unknown(id)
        return DtlzProblem(found[1], int(found[2]), int(found[3]))
