"""COCO's other suites: bbob-boxed, -noisy, -largescale, -mixint, -constrained and -biobj, computed by coco-experiment.

    >>> from optarena.problem import build
    >>> build("bbob-biobj/f1/d5/i1").known.ideal
    (394.48, -152.04)

Ids: `<suite>/f<function>/d<dimension>/i<instance>`; noisy functions are f101 to f130. Only dimensions that a suite has
can be named; instances 1 to 15 are listed, and where COCO can make more, any may be named. The library ends the process
or crashes when it is misused, so ids are checked here, nothing but an evaluation calls it, and a suite lives as long
as its problem.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from importlib import resources
from typing import Any, ClassVar

import numpy as np

from optarena.errors import OptarenaError
from optarena.problem import Evaluation, Known, Objective, Problem, Suite
from optarena.problems._bbob_noise_free import BASE, noise_free
from optarena.space import Array, Point, Space

REGISTERED = {
    "names": {
        "bbob-boxed": "BoxedSuite",
        "bbob-noisy": "NoisySuite",
        "bbob-largescale": "LargescaleSuite",
        "bbob-mixint": "MixintSuite",
        "bbob-constrained": "ConstrainedSuite",
        "bbob-biobj": "BiobjSuite",
    },
}

_ID = re.compile(r"([a-z-]+)/f([1-9][0-9]{0,2})/d([1-9][0-9]{0,2})/i([1-9][0-9]{0,5})\Z")
MIXINT_SCALE = {
    **dict.fromkeys((2, 10), 1e-3),
    **dict.fromkeys((6, 8, 9, 11), 1e-2),
    **dict.fromkeys((3, 4, 13, 15, 20, 24), 0.1),
    **dict.fromkeys((17, 19, 23), 10.0),
    12: 1e-4,
}
"""By what bbob-mixint multiplies the functions of bbob; 1 for the others."""


class CocoProblem(Problem):
    """One function of a suite in one dimension and one instance; the library's problem is made when first needed."""

    packages = ("coco-experiment",)
    first = 1
    """The number of the suite's first function."""

    def __init__(self, suite: str, function: int, dimension: int, instance: int) -> None:
        self.coco = (suite, function - self.first + 1, dimension, instance)
        self.function, self.instance = f"f{function}", instance
        self.space = Space.box(-5.0, 5.0, dimension)
        self.known = self.what_is_known(function)
        self._open: tuple[Any, Any] | None = None

    def what_is_known(self, function: int) -> Known:
        return Known(optimum=(_bbob_optimum(function, self.coco[3]),))

    @property
    def library(self) -> Any:
        """The library's problem."""
        if self._open is None:
            self._open = _open(*self.coco)
        return self._open[1]

    def close(self) -> None:
        if self._open is not None:
            self._open[1].free()
            self._open = None

    def row(self, x: Point) -> Array:
        return np.array([x[name] for name in self.space.names], dtype=float)

    def evaluate(self, x: Point) -> Any:
        return float(self.library(self.row(x)))


class PlainProblem(CocoProblem):
    """bbob-boxed and bbob-largescale: one number a point, on [-5, 5]^D."""

    array_native = True

    def evaluate_matrix(self, X: Array) -> Array:
        call = self.library
        return np.array([call(row) for row in np.ascontiguousarray(X, dtype=float)], dtype=float)


class MixintProblem(PlainProblem):
    """The first four fifths of the parameters are integers with 2, 4, 8 and 16 values, a fifth of them each."""

    def __init__(self, suite: str, function: int, dimension: int, instance: int) -> None:
        super().__init__(suite, function, dimension, instance)
        ranges = [*np.repeat([1, 3, 7, 15], dimension // 5).tolist(), *[None] * (dimension // 5)]
        real = {"type": "real", "space": "linear", "range": [-5.0, 5.0]}
        self.space = Space(
            {
                f"x{i + 1}": real if top is None else {"type": "int", "space": "linear", "range": [0, top]}
                for i, top in enumerate(ranges)
            }
        )

    def what_is_known(self, function: int) -> Known:
        return Known(optimum=(_bbob_optimum(function, self.coco[3]) * MIXINT_SCALE.get(function, 1.0),))


class NoisyBbobProblem(CocoProblem):
    """The noise is a stream of the library's own, restarted with each problem that is made: fixed by the instance.

    COCO scores the value without noise of what was evaluated: it is the hidden metric `noise_free`.
    """

    first = 101
    stateless = False
    instances_only = True
    metrics = ("noise_free",)

    def __init__(self, suite: str, function: int, dimension: int, instance: int) -> None:
        super().__init__(suite, function, dimension, instance)
        self._noise_free: Any = None

    def what_is_known(self, function: int) -> Known:
        return super().what_is_known(BASE[function])

    def reset(self, rng: np.random.Generator) -> None:  # noqa: ARG002
        self.close()
        self._noise_free = noise_free(int(self.function[1:]), self.dimension, self.instance or 1)
        _ = self.library  # the stream begins here

    def evaluate(self, x: Point) -> Evaluation:
        if self._noise_free is None:
            self.reset(np.random.default_rng(0))
        row = self.row(x)
        return Evaluation([float(self.library(row))], metrics={"noise_free": self._noise_free(row)})


class ConstrainedProblem(CocoProblem):
    """Feasible where every constraint is <= 0."""

    def __init__(self, suite: str, function: int, dimension: int, instance: int) -> None:
        super().__init__(suite, function, dimension, instance)
        self.constraints = constraints(function, dimension)

    def what_is_known(self, function: int) -> Known:  # noqa: ARG002
        return Known(optimum=(float(_told(*self.coco)["optimum"]),))

    def evaluate(self, x: Point) -> Evaluation:
        row = self.row(x)
        return Evaluation([float(self.library(row))], violations=np.atleast_1d(self.library.constraint(row)).tolist())


class BiobjProblem(CocoProblem):
    """Two functions of bbob, on [-100, 100]^D. The region of interest lies between the ideal and the nadir point."""

    array_native = True
    objectives = (Objective("1"), Objective("2"))

    def __init__(self, suite: str, function: int, dimension: int, instance: int) -> None:
        super().__init__(suite, function, dimension, instance)
        self.space = Space.box(-100.0, 100.0, dimension)

    def what_is_known(self, function: int) -> Known:  # noqa: ARG002
        return biobj_known(*self.coco[1:])

    def evaluate(self, x: Point) -> list[float]:
        values: list[float] = self.library(self.row(x)).tolist()
        return values

    def evaluate_matrix(self, X: Array) -> Array:
        call = self.library
        return np.array([call(row) for row in np.ascontiguousarray(X, dtype=float)]).reshape(-1, 2)


def constraints(function: int, dimension: int) -> int:
    """How many constraints a function of bbob-constrained has: those active at its optimum, and half as many more."""
    active = (1, 2, 6, 6 + dimension // 2, 6 + dimension, 6 + 3 * dimension)[(function - 1) % 6]
    return active + active // 2


def biobj_known(function: int, dimension: int, instance: int) -> Known:
    """Ideal, nadir and best known hypervolume of a problem that bbob-biobj lists; nothing is computed."""
    told = _told("bbob-biobj", function, dimension, instance)
    reference = float(told["hypervolume"])
    return Known(
        ideal=(float(told["ideal1"]), float(told["ideal2"])),
        nadir=(float(told["nadir1"]), float(told["nadir2"])),
        hypervolume=reference if reference != 1.0 else None,  # with 1 COCO says that it has none
    )


def _open(suite: str, function: int, dimension: int, instance: int) -> tuple[Any, Any]:
    """The library's suite, which must live as long as its problem, and the problem."""
    import cocoex

    level = cocoex.log_level("error")
    try:
        found = cocoex.Suite(suite, f"instances: {instance}", f"function_indices: {function} dimensions: {dimension}")
        problem = found[0]
    finally:
        cocoex.log_level(level)
    if len(found) != 1 or problem.id_instance != instance or problem.dimension != dimension:
        raise OptarenaError(f"coco-experiment has no {suite} f{function} in dimension {dimension}, instance {instance}")
    return found, problem


@functools.lru_cache(maxsize=1024)
def _bbob_optimum(function: int, instance: int) -> float:
    """The optimum of a function of bbob, which is the same in all dimensions."""
    import cocoex

    assert 1 <= function <= 24  # else the library ends the process
    return float(cocoex.BareProblem("bbob", function, 2, instance).best_value())


@functools.cache
def _table() -> dict[tuple[str, str, str, str], dict[str, str]]:
    """What was collected once of the library (`tools/collect_coco.py`), with its version in the first line."""
    import csv
    import gzip

    data = resources.files("optarena.problems").joinpath("data/coco_known.csv.gz").read_bytes()
    lines = gzip.decompress(data).decode().splitlines()
    rows = csv.DictReader(lines[1:])
    return {(row["suite"], row["function"], row["dimension"], row["instance"]): row for row in rows}


def _told(suite: str, function: int, dimension: int, instance: int) -> dict[str, str]:
    return _table()[suite, str(function), str(dimension), str(instance)]


# ---- suites ------------------------------------------------------------------------------------------------------


class CocoSuite(Suite):
    """What the suites have in common: functions, dimensions, instances, and whether any instance may be named."""

    kind: ClassVar[type[CocoProblem]] = PlainProblem
    functions = range(1, 25)
    dimensions: tuple[int, ...] = (2, 3, 5, 10, 20, 40)
    instances = range(1, 16)
    any_instance = True

    def ids(self) -> Iterator[str]:
        return (f"{self.name}/f{f}/d{d}/i{i}" for f in self.functions for d in self.dimensions for i in self.instances)

    def contains(self, id: str) -> bool:
        found = _ID.match(id)
        if found is None or found[1] != self.name:
            return False
        function, dimension, instance = (int(found[k]) for k in (2, 3, 4))
        listed = self.any_instance or instance in self.instances
        return function in self.functions and dimension in self.dimensions and listed

    def build(self, id: str) -> Problem:
        found = _ID.match(id)
        if found is None or not self.contains(id):  # beyond this the library may end the process
            raise OptarenaError(f"no problem {id!r}: it is {self.name}/f<function>/d<dimension>/i<instance>")
        return self.kind(self.name, int(found[2]), int(found[3]), int(found[4]))


class BoxedSuite(CocoSuite):
    name = "bbob-boxed"
    summary = "COCO's 24 functions, optima also at the border of the box (coco-experiment)"


class LargescaleSuite(CocoSuite):
    name = "bbob-largescale"
    summary = "COCO's 24 functions in 20 to 640 dimensions (coco-experiment)"
    dimensions = (20, 40, 80, 160, 320, 640)


class NoisySuite(CocoSuite):
    name = "bbob-noisy"
    summary = "COCO's 30 noisy functions; noise fixed by the instance (coco-experiment)"
    functions = range(101, 131)
    kind = NoisyBbobProblem


class MixintSuite(CocoSuite):
    name = "bbob-mixint"
    summary = "COCO's 24 mixed-integer functions (coco-experiment)"
    dimensions = (5, 10, 20, 40, 80, 160)
    kind = MixintProblem


class ConstrainedSuite(CocoSuite):
    name = "bbob-constrained"
    summary = "COCO's 54 constrained functions (coco-experiment)"
    functions = range(1, 55)
    kind = ConstrainedProblem
    any_instance = False


class BiobjSuite(CocoSuite):
    name = "bbob-biobj"
    summary = "COCO's 55 bi-objective functions; ideal, nadir and best hypervolume known (coco-experiment)"
    functions = range(1, 56)
    kind = BiobjProblem
    any_instance = False

    def known(self, id: str) -> Known:
        found = _ID.match(id)
        assert found is not None
        return biobj_known(int(found[2]), int(found[3]), int(found[4]))
