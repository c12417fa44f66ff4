"""The 24 noiseless BBOB functions, computed by coco-experiment, the reference implementation.

    >>> from optarena.problem import build
    >>> build("bbob/f1/d5/i3").known.optimum  # doctest: +SKIP

Ids: `bbob/f<1..24>/d<dimension>/i<instance>`. Listed are COCO's dimensions and its instances 1 to 15; any other
dimension from 2 on and any other instance may be named. An instance (a shift and a rotation) is a repetition.
`BareProblem` ends the whole process on an index that does not exist, so ids are checked here before it is called.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from optarena.problem import Known, Problem, Suite
from optarena.space import Array, Point, Space

REGISTERED = {"names": {"bbob": "BbobSuite"}}

FUNCTIONS = range(1, 25)
DIMENSIONS = (2, 3, 5, 10, 20, 40)
INSTANCES = range(1, 16)
_ID = re.compile(r"bbob/f([1-9][0-9]?)/d([1-9][0-9]{0,2})/i([1-9][0-9]{0,5})\Z")


class BbobProblem(Problem):
    """One function in one dimension and one instance, on [-5, 5]^D."""

    array_native = True
    packages = ("coco-experiment",)

    def __init__(self, function: int, dimension: int, instance: int) -> None:
        import cocoex

        self.space = Space.box(-5.0, 5.0, dimension)
        self.function = f"f{function}"
        self.instance = instance
        self._bare: Any = cocoex.BareProblem("bbob", function, dimension, instance)
        self.known = Known(optimum=(float(self._bare.best_value()),))

    def evaluate(self, x: Point) -> float:
        return float(self._bare(np.array([x[name] for name in self.space.names], dtype=float)))

    def evaluate_matrix(self, X: Array) -> Array:
        values: Array = self._bare(np.ascontiguousarray(X, dtype=float))
        return values


class BbobSuite(Suite):
    name = "bbob"
    summary = "COCO's 24 noiseless functions (coco-experiment)"

    def ids(self) -> Iterator[str]:
        return (f"bbob/f{f}/d{d}/i{i}" for f in FUNCTIONS for d in DIMENSIONS for i in INSTANCES)

    def contains(self, id: str) -> bool:
        found = _ID.match(id)
        return found is not None and int(found[1]) in FUNCTIONS and int(found[2]) >= 2

    def build(self, id: str) -> Problem:
        found = _ID.match(id)
        assert found is not None
        return BbobProblem(int(found[1]), int(found[2]), int(found[3]))
