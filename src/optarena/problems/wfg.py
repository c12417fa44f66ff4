"""WFG: nine problems with any number of objectives (Huband, Hingston, Barone & While 2006), in the form of pymoo.

    >>> from optarena.problem import build
    >>> build("wfg/wfg4/m2/d24").known.nadir
    (2.0, 4.0)

Ids: `wfg/wfg<1..9>/m<objectives>/d<dimension>`. The first k parameters say where on the front a point lies (k = 4
with two objectives, else 2 (m - 1)), the others how far from it. Listed are 2, 3, 5, 8 and 10 objectives with 20
others; from 2 to 20 objectives and any dimension from k + 2 to 1000 may be named, for wfg2 and wfg3 only those with an
even number of others. Fronts are known, but for wfg1 and wfg2 with other than 2, 3 or 5 objectives (ideal and nadir
point are), and for wfg3 with more than 3: its front is more than the line that the paper had in mind.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from optarena.problem import Known, Problem, Suite
from optarena.problems._formulas import columns, row_sums
from optarena.problems._fronts import POINTS, FrontProblem, known, shipped, sphere
from optarena.space import Array, Space

REGISTERED = {"names": {"wfg": "WfgSuite"}}

OBJECTIVES = (2, 3, 5, 8, 10)
_ID = re.compile(r"wfg/(wfg[1-9])/m([1-9][0-9]?)/d([1-9][0-9]{0,3})\Z")


def positions(m: int) -> int:
    """k: how many parameters say where on the front."""
    return 4 if m == 2 else 2 * (m - 1)


# ---- transformations of parameters in [0, 1], by the names of the paper ------------------------------------------


def _unit(y: Array) -> Array:
    return np.clip(y, 0.0, 1.0)


def s_linear(y: Array, a: float = 0.35) -> Array:
    return _unit(np.abs(y - a) / np.abs(np.floor(a - y) + a))


def s_decept(y: Array, a: float = 0.35, b: float = 0.001, c: float = 0.05) -> Array:
    left = np.floor(y - a + b) * (1.0 - c + (a - b) / b) / (a - b)
    right = np.floor(a + b - y) * (1.0 - c + (1.0 - a - b) / b) / (1.0 - a - b)
    return _unit(1.0 + (np.abs(y - a) - b) * (left + right + 1.0 / b))


def s_multi(y: Array, a: float, b: float, c: float = 0.35) -> Array:
    away = np.abs(y - c) / (2.0 * (np.floor(c - y) + c))
    return _unit((1.0 + np.cos((4.0 * a + 2.0) * np.pi * (0.5 - away)) + 4.0 * b * away**2) / (b + 2.0))


def b_flat(y: Array, a: float = 0.8, b: float = 0.75, c: float = 0.85) -> Array:
    below = np.minimum(0.0, np.floor(y - b)) * (a * (b - y) / b)
    above = np.minimum(0.0, np.floor(c - y)) * ((1.0 - a) * (y - c) / (1.0 - c))
    return _unit(a + below - above)


def b_param(y: Array, by: Array, a: float = 0.98 / 49.98, b: float = 0.02, c: float = 50.0) -> Array:
    v = a - (1.0 - 2.0 * by) * np.abs(np.floor(0.5 - by) + a)
    return _unit(y ** (b + (c - b) * v))


def r_sum(y: Array) -> Array:
    return _unit(row_sums(np.ascontiguousarray(y)) / y.shape[1])


def r_nonsep(y: Array, a: int) -> Array:
    parts = columns(y)
    n = len(parts)
    total = np.zeros(len(y))
    for j in range(n):
        total = total + parts[j]
        for k in range(a - 1):
            total = total + np.abs(parts[j] - parts[(1 + j + k) % n])
    half = np.ceil(a / 2.0)
    return _unit(total / (n * half * (1.0 + 2.0 * a - 2.0 * half) / a))


def _reduced(y: Array, m: int, k: int, reduce: Callable[[Array], Array]) -> Array:
    """m numbers: one for each m - 1st part of the positions, one for all the distances."""
    size = k // (m - 1)
    parts = [y[:, i * size : (i + 1) * size] for i in range(m - 1)]
    return np.column_stack([*map(reduce, parts), reduce(y[:, k:])])


def _shifted(y: Array, k: int, shift: Callable[[Array], Array] = s_linear) -> Array:
    return np.hstack((y[:, :k], shift(np.ascontiguousarray(y[:, k:]))))


def _r_sums(y: Array, m: int, k: int) -> Array:
    return _reduced(y, m, k, r_sum)


def _r_nonseps(y: Array, m: int, k: int) -> Array:
    return _reduced(y, m, k, lambda part: r_nonsep(part, part.shape[1]))


# ---- shapes of fronts: x in [0, 1]^(m - 1) to m objectives ---------------------------------------------------------


def _shape(grow: Array, fall: Array) -> Array:
    """Objective j: the product of the first m - j of `grow`, times one of `fall` but for j = 1."""
    ups, downs = columns(grow), columns(fall)
    m = len(ups) + 1
    out = np.empty((m, len(grow)))
    for j in range(m):
        value = np.ones(len(grow))
        for factor in ups[: m - 1 - j]:
            value = value * factor
        out[j] = _unit(value if j == 0 else value * downs[m - 1 - j])
    return columns(out)


def linear(x: Array) -> Array:
    return _shape(x, 1.0 - x)


def convex(x: Array) -> Array:
    return _shape(1.0 - np.cos(x * (np.pi / 2.0)), 1.0 - np.sin(x * (np.pi / 2.0)))


def concave(x: Array) -> Array:
    return _shape(np.sin(x * (np.pi / 2.0)), np.cos(x * (np.pi / 2.0)))


def mixed(x: Array) -> Array:
    """Convex, the last objective wavy."""
    out, first = convex(x), columns(x)[0]
    out[:, -1] = _unit(1.0 - first - np.cos(10.0 * np.pi * first + np.pi / 2.0) / (10.0 * np.pi))
    return out


def disconnected(x: Array) -> Array:
    """Convex, the last objective in pieces."""
    out, first = convex(x), columns(x)[0]
    out[:, -1] = _unit(1.0 - first * np.cos(5.0 * np.pi * first) ** 2)
    return out


# ---- the problems: y in [0, 1]^D to t, m numbers of which the last is the distance ---------------------------------


def wfg1(y: Array, m: int, k: int) -> Array:
    y = _shifted(y, k, lambda rest: b_flat(s_linear(rest))) ** 0.02
    weights = 2.0 * np.arange(1, y.shape[1] + 1)
    size = k // (m - 1)
    parts = [slice(a, b) for a, b in pairwise([*range(0, k, size), k, y.shape[1]])]
    return np.column_stack([_unit(row_sums(y[:, p] * weights[p]) / weights[p].sum()) for p in parts])


def wfg2(y: Array, m: int, k: int) -> Array:
    y = _shifted(y, k)
    pairs = [r_nonsep(y[:, i : i + 2], 2) for i in range(k, y.shape[1], 2)]
    return _r_sums(np.column_stack((y[:, :k], *pairs)), m, k)


def wfg4(y: Array, m: int, k: int) -> Array:
    return _r_sums(s_multi(y, 30.0, 10.0), m, k)


def wfg5(y: Array, m: int, k: int) -> Array:
    return _r_sums(s_decept(y), m, k)


def wfg6(y: Array, m: int, k: int) -> Array:
    return _r_nonseps(_shifted(y, k), m, k)


def wfg7(y: Array, m: int, k: int) -> Array:
    first = [b_param(columns(y)[i], r_sum(y[:, i + 1 :])) for i in range(k)]
    return _r_sums(_shifted(np.column_stack((*first, y[:, k:])), k), m, k)


def wfg8(y: Array, m: int, k: int) -> Array:
    last = [b_param(columns(y)[i], r_sum(y[:, :i])) for i in range(k, y.shape[1])]
    return _r_sums(_shifted(np.column_stack((y[:, :k], *last)), k), m, k)


def wfg9(y: Array, m: int, k: int) -> Array:
    n = y.shape[1]
    first = [b_param(columns(y)[i], r_sum(y[:, i + 1 :])) for i in range(n - 1)]
    y = np.column_stack((*first, y[:, n - 1]))
    y = np.hstack((s_decept(np.ascontiguousarray(y[:, :k])), s_multi(np.ascontiguousarray(y[:, k:]), 30.0, 95.0)))
    return _r_nonseps(y, m, k)


FORMULAS = {
    "wfg1": (wfg1, mixed),
    "wfg2": (wfg2, disconnected),
    "wfg3": (wfg2, linear),
    "wfg4": (wfg4, concave),
    "wfg5": (wfg5, concave),
    "wfg6": (wfg6, concave),
    "wfg7": (wfg7, concave),
    "wfg8": (wfg8, concave),
    "wfg9": (wfg9, concave),
}


def objectives(name: str, t: Array) -> Array:
    """t + scale × shape; in wfg3 all positions but the first vanish with the distance."""
    m = t.shape[1]
    x, distance = t[:, :-1].copy(), np.ascontiguousarray(t[:, -1:])
    if name == "wfg3":
        x[:, 1:] = distance * (x[:, 1:] - 0.5) + 0.5
    return distance + 2.0 * np.arange(1, m + 1) * FORMULAS[name][1](x)


@functools.cache
def front(name: str, m: int) -> Known:
    """Where the distance is 0, and all of it but in wfg2, where the pieces are, and in wfg3, which has more."""
    scale = 2.0 * np.arange(1, m + 1)
    if name in ("wfg1", "wfg2"):
        points = shipped(f"wfg/{name}/m{m}")
        if points is not None:
            return known(points)
        return Known(ideal=(0.0,) * m, nadir=tuple(scale.tolist()))
    if name == "wfg3":
        if m == 2:
            return known(objectives(name, np.column_stack((np.linspace(0.0, 1.0, POINTS), np.zeros(POINTS)))))
        return known(shipped(f"wfg/wfg3/m{m}"))
    return known(scale * sphere(m))


class WfgProblem(FrontProblem):
    def __init__(self, name: str, m: int, dimension: int) -> None:
        config = {
            f"x{i}": {"type": "real", "space": "linear", "range": [0.0, 2.0 * i]} for i in range(1, dimension + 1)
        }
        super().__init__(name, Space(config), m, front(name, m))
        self.k = positions(m)

    def evaluate_matrix(self, X: Array) -> Array:
        m = len(self.objectives)
        return objectives(self.function, FORMULAS[self.function][0](self.inside(X) / self.space.high, m, self.k))


class WfgSuite(Suite):
    name = "wfg"
    summary = "nine problems with 2 to 20 objectives, most fronts known (Huband, Hingston, Barone & While)"

    def ids(self) -> Iterator[str]:
        return (f"wfg/{name}/m{m}/d{positions(m) + 20}" for name in FORMULAS for m in OBJECTIVES)

    def contains(self, id: str) -> bool:
        found = _ID.match(id)
        if found is None or not 2 <= int(found[2]) <= 20:
            return False
        distances = int(found[3]) - positions(int(found[2]))
        even = distances % 2 == 0 or found[1] not in ("wfg2", "wfg3")
        return distances >= 2 and even and int(found[3]) <= 1000

    def build(self, id: str) -> Problem:
        found = _ID.match(id)
        if found is None or not self.contains(id):
            raise self.unknown(id)
        return WfgProblem(found[1], int(found[2]), int(found[3]))
