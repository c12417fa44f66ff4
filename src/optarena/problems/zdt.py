"""ZDT: six problems with two objectives (Zitzler, Deb & Thiele 2000), in the form of pymoo; all fronts are known.

    >>> from optarena.problem import build
    >>> build("zdt/zdt1/d30").known.nadir
    (1.0, 1.0)

Ids: `zdt/zdt<1..6>/d<dimension>`. Listed are the usual dimensions: 30, and 10 for zdt4 and zdt6; any from 2 to 1000 may
be named. zdt5 has 80 bools and no other dimension: a block of 30 and ten of 5; as in pymoo its objectives are scaled
to [0, 1].
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

import numpy as np

from optarena.problem import Known, Problem, Suite
from optarena.problems._formulas import columns, row_sums
from optarena.problems._fronts import POINTS, FrontProblem, known, shipped
from optarena.space import Array, Space

REGISTERED = {"names": {"zdt": "ZdtSuite"}}

USUAL = {"zdt1": 30, "zdt2": 30, "zdt3": 30, "zdt4": 10, "zdt5": 80, "zdt6": 10}
GREATEST = 1000
_ID = re.compile(r"zdt/(zdt[1-6])/d([1-9][0-9]{0,3})\Z")


def zdt1(X: Array) -> Array:
    return _with_root(X, 1.0 + 9.0 / (X.shape[1] - 1) * row_sums(X[:, 1:]))


def zdt2(X: Array) -> Array:
    f1, g = columns(X)[0], 1.0 + 9.0 * row_sums(X[:, 1:]) / (X.shape[1] - 1)
    return np.column_stack((f1, g * (1.0 - (f1 / g) ** 2)))


def zdt3(X: Array) -> Array:
    f1, g = columns(X)[0], 1.0 + 9.0 * row_sums(X[:, 1:]) / (X.shape[1] - 1)
    part = f1 / g
    return np.column_stack((f1, g * (1.0 - np.sqrt(part) - part * np.sin(10.0 * np.pi * f1))))


def zdt4(X: Array) -> Array:
    rest = np.ascontiguousarray(X[:, 1:])
    return _with_root(X, 1.0 + row_sums(rest**2 + 10.0 * (1.0 - np.cos(4.0 * np.pi * rest))))


def zdt5(X: Array) -> Array:
    ones = row_sums(X[:, :30])
    blocks = np.add.reduce(np.ascontiguousarray(X[:, 30:]).reshape(len(X), 10, 5), axis=2)
    g = row_sums(np.where(blocks < 5.0, 2.0 + blocks, 1.0))
    f1 = 1.0 + ones
    return np.column_stack(((f1 - 1.0) / 30.0, (g / f1 - 10.0 / 31.0) / (10.0 - 10.0 / 31.0)))


def zdt6(X: Array) -> Array:
    x = columns(X)[0]
    f1 = 1.0 - np.exp(-4.0 * x) * np.sin(6.0 * np.pi * x) ** 6
    g = 1.0 + 9.0 * (row_sums(X[:, 1:]) / (X.shape[1] - 1)) ** 0.25
    return np.column_stack((f1, g * (1.0 - (f1 / g) ** 2)))


def _with_root(X: Array, g: Array) -> Array:
    f1 = columns(X)[0]
    return np.column_stack((f1, g * (1.0 - np.sqrt(f1 / g))))


FORMULAS = {"zdt1": zdt1, "zdt2": zdt2, "zdt3": zdt3, "zdt4": zdt4, "zdt5": zdt5, "zdt6": zdt6}


@functools.cache
def front(name: str) -> Known:
    """Where g = 1, least. zdt1 and zdt4: (s², 1 - s); zdt2 and zdt6: (s, 1 - s²), zdt6 from its least f1 on."""
    s = np.linspace(0.0, 1.0, POINTS)
    if name in ("zdt1", "zdt4"):
        return known(np.column_stack((s**2, 1.0 - s)))
    if name == "zdt3":
        return known(shipped("zdt/zdt3"))
    if name == "zdt5":  # all blocks but the first are full
        X = np.ones((31, 80))
        X[:, :30] = np.tri(31, 30, -1)
        return known(zdt5(X))
    if name == "zdt6":
        at = np.arctan(9.0 * np.pi) / (6.0 * np.pi)  # f1' = 0
        least = 1.0 - np.exp(-4.0 * at) * np.sin(6.0 * np.pi * at) ** 6
        s = least + (1.0 - least) * s
    return known(np.column_stack((s, 1.0 - s**2)))


class ZdtProblem(FrontProblem):
    def __init__(self, name: str, dimension: int) -> None:
        super().__init__(name, _space(name, dimension), 2, front(name))

    def evaluate_matrix(self, X: Array) -> Array:
        return FORMULAS[self.function](self.inside(X))


def _space(name: str, dimension: int) -> Space:
    if name == "zdt5":
        return Space({f"x{i + 1}": {"type": "bool"} for i in range(dimension)})
    rest = [-5.0, 5.0] if name == "zdt4" else [0.0, 1.0]
    ranges = [[0.0, 1.0], *[rest] * (dimension - 1)]
    return Space({f"x{i + 1}": {"type": "real", "space": "linear", "range": r} for i, r in enumerate(ranges)})


class ZdtSuite(Suite):
    name = "zdt"
    summary = "six problems with two objectives, fronts known (Zitzler, Deb & Thiele)"

    def ids(self) -> Iterator[str]:
        return (f"zdt/{name}/d{dimension}" for name, dimension in USUAL.items())

    def contains(self, id: str) -> bool:
        found = _ID.match(id)
        if found is None:
            return False
        dimension = int(found[2])
        return dimension == 80 if found[1] == "zdt5" else 2 <= dimension <= GREATEST

    def build(self, id: str) -> Problem:
        found = _ID.match(id)
        if found is None or not self.contains(id):
            raise self.unknown(id)
        return ZdtProblem(found[1], int(found[2]))
