"""Small models with two or three objectives, four of them constrained, as courses on optimizers use them.

    >>> from optarena.problem import build
    >>> build("models/tanaka").evaluate({"x1": 1.0, "x2": 0.5}).violations
    [-0.17..., -0.5]

Ids: `models/<name>`. All objectives are minimised, all fronts are known. Sources: Schaffer 1985, Fonseca & Fleming
1995, Kursawe 1991, Osyczka & Kundu 1995 (constraints scaled as in pymoo), Tanaka et al. 1995, Viennet et al. 1996, and
Golinski 1970 with the two objectives of Kurpati, Azarm & Wu 2002: weight and stress of a speed reducer.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from optarena.problem import Evaluation, Known, Problem, Suite
from optarena.problems._formulas import columns, row_sums
from optarena.problems._fronts import POINTS, FrontProblem, known, shipped
from optarena.space import Array, Point, Space

REGISTERED = {"names": {"models": "ModelsSuite"}}

Formula = Callable[[Array], Array]


def schaffer(X: Array) -> Array:
    x = columns(X)[0]
    return np.column_stack((x**2, (x - 2.0) ** 2))


def fonseca(X: Array) -> Array:
    at = 1.0 / np.sqrt(X.shape[1])
    return np.column_stack((1.0 - np.exp(-row_sums((X - at) ** 2)), 1.0 - np.exp(-row_sums((X + at) ** 2))))


def kursawe(X: Array) -> Array:
    f1 = row_sums(-10.0 * np.exp(-0.2 * np.sqrt(X[:, :-1] ** 2 + X[:, 1:] ** 2)))
    return np.column_stack((f1, row_sums(np.abs(X) ** 0.8 + 5.0 * np.sin(X**3))))


def osyczka2(X: Array) -> Array:
    x1, x2, x3, x4, x5, _ = columns(X)
    f1 = -(25.0 * (x1 - 2.0) ** 2 + (x2 - 2.0) ** 2 + (x3 - 1.0) ** 2 + (x4 - 4.0) ** 2 + (x5 - 1.0) ** 2)
    return np.column_stack((f1, row_sums(X**2)))


def osyczka2_violations(X: Array) -> Array:
    x1, x2, x3, x4, x5, x6 = columns(X)
    return np.column_stack(
        (
            (2.0 - x1 - x2) / 2.0,
            (x1 + x2 - 6.0) / 6.0,
            (x2 - x1 - 2.0) / 2.0,
            (x1 - 3.0 * x2 - 2.0) / 2.0,
            ((x3 - 3.0) ** 2 + x4 - 4.0) / 4.0,
            (4.0 - (x5 - 3.0) ** 2 - x6) / 4.0,
        )
    )


def tanaka(X: Array) -> Array:
    return X.copy()


def tanaka_violations(X: Array) -> Array:
    x1, x2 = columns(X)
    waves = 0.1 * np.cos(16.0 * np.arctan2(x1, x2))  # arctan(x1/x2), also where x2 = 0
    return np.column_stack((1.0 + waves - x1**2 - x2**2, 2.0 * ((x1 - 0.5) ** 2 + (x2 - 0.5) ** 2) - 1.0))


def viennet2(X: Array) -> Array:
    x, y = columns(X)
    return np.column_stack(
        (
            (x - 2.0) ** 2 / 2.0 + (y + 1.0) ** 2 / 13.0 + 3.0,
            (x + y - 3.0) ** 2 / 36.0 + (2.0 - x + y) ** 2 / 8.0 - 17.0,
            (x + 2.0 * y - 1.0) ** 2 / 175.0 + (2.0 * y - x) ** 2 / 17.0 - 13.0,
        )
    )


def viennet3(X: Array) -> Array:
    x, y = columns(X)
    r = x**2 + y**2
    return np.column_stack(
        (
            0.5 * r + np.sin(r),
            (3.0 * x - 2.0 * y + 4.0) ** 2 / 8.0 + (x - y + 1.0) ** 2 / 27.0 + 15.0,
            1.0 / (r + 1.0) - 1.1 * np.exp(-r),
        )
    )


def viennet4(X: Array) -> Array:
    x, y = columns(X)
    return np.column_stack(
        (
            (x - 2.0) ** 2 / 2.0 + (y + 1.0) ** 2 / 13.0 + 3.0,
            (x + y - 3.0) ** 2 / 175.0 + (2.0 * y - x) ** 2 / 17.0 - 13.0,
            (3.0 * x - 2.0 * y + 4.0) ** 2 / 8.0 + (x - y + 1.0) ** 2 / 27.0 + 15.0,
        )
    )


def viennet4_violations(X: Array) -> Array:
    x, y = columns(X)
    return np.column_stack((4.0 * x + y - 4.0, -1.0 - x, x - y - 2.0))


def golinski(X: Array) -> Array:
    """x1 face width, x2 module of teeth, x3 teeth of the pinion, x4, x5 lengths and x6, x7 diameters of two shafts."""
    x1, x2, x3, x4, x5, x6, x7 = columns(X)
    weight = (
        0.7854 * x1 * x2**2 * (10.0 * x3**2 / 3.0 + 14.933 * x3 - 43.0934)
        - 1.508 * x1 * (x6**2 + x7**2)
        + 7.477 * (x6**3 + x7**3)
        + 0.7854 * (x4 * x6**2 + x5 * x7**2)
    )
    return np.column_stack((weight, _stress(x4, x2 * x3, x6, 1.69e7)))


def golinski_violations(X: Array) -> Array:
    x1, x2, x3, x4, x5, x6, x7 = columns(X)
    return np.column_stack(
        (
            1.0 / (x1 * x2**2 * x3) - 1.0 / 27.0,
            1.0 / (x1 * x2**2 * x3**2) - 1.0 / 397.5,
            x4**3 / (x2 * x3 * x6**4) - 1.0 / 1.93,
            x5**3 / (x2 * x3 * x7**4) - 1.0 / 1.93,
            x2 * x3 - 40.0,
            x1 / x2 - 12.0,
            5.0 - x1 / x2,
            1.9 - x4 + 1.5 * x6,
            1.9 - x5 + 1.1 * x7,
            _stress(x4, x2 * x3, x6, 1.69e7) - 1300.0,
            _stress(x5, x2 * x3, x7, 1.575e8) - 1100.0,
        )
    )


def _stress(length: Array, gear: Array, diameter: Array, moment: float) -> Array:
    stress: Array = np.sqrt((745.0 * length / gear) ** 2 + moment) / (0.1 * diameter**3)
    return stress


# ---- the table --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Model:
    formula: Formula
    ranges: tuple[tuple[float, float], ...]
    objectives: int = 2
    violations: Formula | None = None
    constraints: int = 0
    whole: tuple[int, ...] = ()
    """Which parameters are integers."""

    def space(self) -> Space:
        return Space(
            {
                f"x{i + 1}": {"type": "int" if i in self.whole else "real", "space": "linear", "range": list(limits)}
                for i, limits in enumerate(self.ranges)
            }
        )


MODELS = {
    "schaffer": Model(schaffer, ((-1e5, 1e5),)),
    "fonseca": Model(fonseca, ((-4.0, 4.0),) * 3),
    "kursawe": Model(kursawe, ((-5.0, 5.0),) * 3),
    "osyczka2": Model(
        osyczka2,
        ((0.0, 10.0), (0.0, 10.0), (1.0, 5.0), (0.0, 6.0), (1.0, 5.0), (0.0, 10.0)),
        violations=osyczka2_violations,
        constraints=6,
    ),
    "tanaka": Model(tanaka, ((0.0, np.pi),) * 2, violations=tanaka_violations, constraints=2),
    "viennet2": Model(viennet2, ((-4.0, 4.0),) * 2, 3),
    "viennet3": Model(viennet3, ((-3.0, 3.0),) * 2, 3),
    "viennet4": Model(viennet4, ((-4.0, 4.0),) * 2, 3, viennet4_violations, 3),
    "golinski": Model(
        golinski,
        ((2.6, 3.6), (0.7, 0.8), (17, 28), (7.3, 8.3), (7.3, 8.3), (2.9, 3.9), (5.0, 5.5)),
        violations=golinski_violations,
        constraints=11,
        whole=(2,),
    ),
}


@functools.cache
def front(name: str) -> Known:
    """Of schaffer x from 0 to 2, of fonseca the diagonal between its two optima; the others are shipped."""
    s = np.linspace(0.0, 1.0, POINTS)[:, None]
    if name == "schaffer":
        return known(schaffer(2.0 * s))
    if name == "fonseca":
        return known(fonseca(np.repeat((2.0 * s - 1.0) / np.sqrt(3.0), 3, axis=1)))
    return known(shipped(f"models/{name}"))


class ModelProblem(FrontProblem):
    def __init__(self, name: str) -> None:
        model = MODELS[name]
        super().__init__(name, model.space(), model.objectives, front(name))

    def evaluate_matrix(self, X: Array) -> Array:
        return MODELS[self.function].formula(self.inside(X))


class ConstrainedModel(ModelProblem):
    """One with constraints, feasible where all are <= 0; `evaluate_matrix` is the bare objectives."""

    array_native = False

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.constraints = MODELS[name].constraints

    def violations_matrix(self, X: Array) -> Array:
        violations = MODELS[self.function].violations
        assert violations is not None
        return violations(self.inside(X))

    def evaluate(self, x: Point) -> Evaluation:  # type: ignore[override]
        X = self.row(x)
        return Evaluation(self.evaluate_matrix(X)[0].tolist(), self.violations_matrix(X)[0].tolist())


class ModelsSuite(Suite):
    name = "models"
    summary = "nine small models with two or three objectives, four constrained, fronts known"

    def ids(self) -> Iterator[str]:
        return (f"models/{name}" for name in MODELS)

    def build(self, id: str) -> Problem:
        name = id.removeprefix("models/")
        if name not in MODELS or id == name:
            raise self.unknown(id)
        return ConstrainedModel(name) if MODELS[name].constraints else ModelProblem(name)
