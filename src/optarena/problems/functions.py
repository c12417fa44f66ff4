"""The classic analytic test functions, with known optima. Their formulas live in `_formulas`.

    >>> from optarena.problem import build
    >>> build("functions/branin/d2").known.optimum
    (0.3978873577297383,)

Ids: `functions/<name>/d<dimension>`. A scalable function is listed in d2, d3, d5, d10 and d20 and may be named
in any dimension up to 1000; the others exist only in their own.

Where the textbook's optimum lies at the centre of the box it is shifted, so that starting there wins nothing:
coordinate i = 1, 2, … lies at `centre + half width × (frac(0.618… × i) - 1/2)`, in the middle half of the box
(rounded, for integers). A point that rounding has put outside the box counts as the nearest one inside, so
that no optimum on a bound is beaten by a hair. `problem.optimum_at` is a point, in matrix form, that attains
the optimum. Optima without a closed form were computed to 25 digits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from optarena.problem import Evaluation, Known, Objective, Problem, Suite
from optarena.problems import _formulas as f
from optarena.space import Array, Point, Space

REGISTERED = {"names": {"functions": "FunctionsSuite"}}

DIMENSIONS = (2, 3, 5, 10, 20)
GREATEST = 1000
GOLDEN = 0.6180339887498949
_ID = re.compile(r"functions/([a-z0-9-]+)/d([1-9][0-9]{0,3})\Z")

Formula = Callable[[Array], Array]
Mask = Callable[[Array], npt.NDArray[np.bool_]]
Box = tuple[float, float]


@dataclass(frozen=True)
class Function:
    """A line of the table: what is known of a function before its dimension is chosen."""

    formula: Formula
    bounds: Box | tuple[Box, ...] | Mapping[str, Any]  # of every coordinate, of each, or a whole space
    at: float | tuple[float, ...] | Callable[[int], Array] | None = None  # x*; None: the formula's 0, shifted
    optimum: float | Callable[[int], float] = 0.0
    least: int = 1  # scalable from this dimension on; 0: only the dimensions below
    dimensions: tuple[int, ...] = DIMENSIONS
    whole: bool = False  # integers instead of reals
    sense: Literal["min", "max"] = "min"
    noise: float = 0.0  # standard deviation of additive Gaussian noise
    violations: Formula | None = None
    constraints: int = 0
    metrics: Mapping[str, Formula] = field(default_factory=dict)  # hidden ones
    fails: Mask | None = None  # where evaluation raises
    undefined: Mask | None = None  # where the value is NaN

    def accepts(self, dimension: int) -> bool:
        return self.least <= dimension <= GREATEST if self.least else dimension in self.dimensions

    def space(self, dimension: int) -> Space:
        if isinstance(self.bounds, Mapping):
            return Space(self.bounds)
        boxes = self.bounds if isinstance(self.bounds[0], tuple) else (self.bounds,) * dimension
        kind = "int" if self.whole else "real"
        return Space({f"x{i + 1}": {"type": kind, "space": "linear", "range": box} for i, box in enumerate(boxes)})

    def optimum_at(self, space: Space) -> Array:
        """x*, in matrix form."""
        if self.at is None:
            turns = np.arange(1, space.dimension + 1) * GOLDEN % 1.0
            place: Array = (space.low + space.high) / 2 + (space.high - space.low) / 2 * (turns - 0.5)
            return np.rint(place) if self.whole else place
        if callable(self.at):
            return self.at(space.dimension)
        return np.full(space.dimension, self.at) if isinstance(self.at, float) else np.array(self.at)[: space.dimension]


def _fixed(
    formula: Formula,
    bounds: Box | tuple[Box, ...] | Mapping[str, Any],
    at: tuple[float, ...] | None,
    optimum: float = 0.0,
    **more: Any,
) -> Function:
    """A function of one dimension only: that of its optimum, or 2 where that is shifted."""
    return Function(formula, bounds, at, optimum, least=0, dimensions=(len(at or "xy"),), **more)


def _dixon_price_at(dimension: int) -> Array:
    """x_i = 2^-(1 - 2^(1 - i))."""
    place: Array = np.exp2(np.exp2(-np.arange(float(dimension))) - 1.0)
    return place


_MICHALEWICZ_AT = (
    2.2029055201726093, 1.5707963267948966, 1.2849915705529245, 1.9230584698663629, 1.7204697725658413,
    1.5707963267948966, 1.454413971362379, 1.7560865209450263, 1.6557174168210291, 1.5707963267948966,
)  # fmt: skip
_MICHALEWICZ = {2: -1.8013034100985525, 5: -4.687658179088146, 10: -9.660151715641341}

_MIXED_SPHERE = {
    "offset": {"type": "real", "space": "linear", "range": (-5.0, 5.0)},
    "rate": {"type": "real", "space": "log", "range": (1e-4, 10.0)},
    "count": {"type": "int", "space": "linear", "range": (0, 20)},
    "flag": {"type": "bool"},
    "kind": {"type": "cat", "values": ("a", "b", "c", "d")},
    "size": {"type": "ordinal", "values": ("small", "medium", "large", "huge")},
}
_MIXED_TUNING = {
    "rate": {"type": "real", "space": "log", "range": (1e-5, 1.0)},
    "momentum": {"type": "real", "space": "logit", "range": (0.01, 0.999)},
    "bias": {"type": "real", "space": "bilog", "range": (-100.0, 100.0)},
    "depth": {"type": "int", "space": "linear", "range": (1, 15)},
    "rounds": {"type": "int", "space": "log", "range": (10, 1000)},
    "shuffle": {"type": "bool"},
    "kernel": {"type": "cat", "values": ("linear", "poly", "rbf", "sigmoid")},
    "detail": {"type": "ordinal", "values": ("low", "medium", "high", "highest")},
    "batch": {"type": "int", "space": "log", "values": (16, 32, 64, 128, 256, 512)},
}

FUNCTIONS: dict[str, Function] = {
    # real, of any dimension
    "sphere": Function(f.sphere, (-5.12, 5.12)),
    "ellipsoid": Function(f.ellipsoid, (-5.0, 5.0)),
    "rosenbrock": Function(f.rosenbrock, (-5.0, 10.0), at=1.0, least=2),
    "rastrigin": Function(f.rastrigin, (-5.12, 5.12)),
    "ackley": Function(f.ackley, (-32.768, 32.768)),
    "griewank": Function(f.griewank, (-600.0, 600.0)),
    "levy": Function(f.levy, (-10.0, 10.0), at=1.0),
    "schwefel": Function(f.schwefel, (-500.0, 500.0), at=420.96874635998205),
    "zakharov": Function(f.zakharov, (-5.0, 10.0), at=0.0),
    "dixon-price": Function(f.dixon_price, (-10.0, 10.0), at=_dixon_price_at),
    "styblinski-tang": Function(
        f.styblinski_tang, (-5.0, 5.0), at=-2.903534027771177, optimum=lambda d: -39.16616570377141 * d
    ),
    "sum-of-powers": Function(f.sum_of_powers, (-1.0, 1.0)),
    "step": Function(f.step, (-100.0, 100.0)),
    "alpine": Function(f.alpine, (-10.0, 10.0)),
    "salomon": Function(f.salomon, (-100.0, 100.0)),
    "bent-cigar": Function(f.bent_cigar, (-100.0, 100.0), least=2),
    "discus": Function(f.discus, (-100.0, 100.0), least=2),
    "different-powers": Function(f.different_powers, (-5.0, 5.0)),
    "michalewicz": Function(
        f.michalewicz, (0.0, np.pi), _MICHALEWICZ_AT, _MICHALEWICZ.__getitem__, least=0, dimensions=(2, 5, 10)
    ),
    # real, of their own dimension
    "branin": _fixed(f.branin, ((-5.0, 10.0), (0.0, 15.0)), (np.pi, 2.275), 0.3978873577297383),
    "six-hump-camel": _fixed(
        f.six_hump_camel, ((-3.0, 3.0), (-2.0, 2.0)), (0.0898420131, -0.712656403), -1.0316284534898774
    ),
    "goldstein-price": _fixed(f.goldstein_price, (-2.0, 2.0), (0.0, -1.0), 3.0),
    "hartmann3": _fixed(f.hartmann3, (0.0, 1.0), (0.1146143386, 0.5556488500, 0.8525469535), -3.8627821478207554),
    "hartmann6": _fixed(
        f.hartmann6,
        (0.0, 1.0),
        (0.2016895110, 0.1500106918, 0.4768739742, 0.2753324305, 0.3116516166, 0.6573005341),
        -3.3223680114155147,
    ),
    "beale": _fixed(f.beale, (-4.5, 4.5), (3.0, 0.5)),
    "booth": _fixed(f.booth, (-10.0, 10.0), (1.0, 3.0)),
    "easom": _fixed(f.easom, (-100.0, 100.0), (np.pi, np.pi), -1.0),
    "matyas": _fixed(f.matyas, (-10.0, 10.0), None),
    "mccormick": _fixed(
        f.mccormick, ((-1.5, 4.0), (-3.0, 4.0)), (0.5 - np.pi / 3, -0.5 - np.pi / 3), -1.9132229549810364
    ),
    "shekel5": _fixed(
        f.shekel5, (0.0, 10.0), (4.0000371528, 4.0001332766, 4.0000371528, 4.0001332766), -10.153199679058227
    ),
    "shekel7": _fixed(
        f.shekel7, (0.0, 10.0), (4.0005729162, 4.0006893662, 3.9994897089, 3.9996061589), -10.40294056681866
    ),
    "shekel10": _fixed(
        f.shekel10, (0.0, 10.0), (4.0007465316, 4.0005929341, 3.9996633980, 3.9995098006), -10.536409816692043
    ),
    "eggholder": _fixed(f.eggholder, (-512.0, 512.0), (512.0, 404.2318051137578), -959.6406627208509),
    "bukin6": _fixed(f.bukin6, ((-15.0, -5.0), (-3.0, 3.0)), (-10.0, 1.0)),
    "cross-in-tray": _fixed(f.cross_in_tray, (-10.0, 10.0), (1.3494066172, 1.3494066172), -2.062611870822737),
    "holder-table": _fixed(f.holder_table, (-10.0, 10.0), (8.0550234757, 9.6645900192), -19.208502567886732),
    "drop-wave": _fixed(f.drop_wave, (-5.12, 5.12), None, -1.0),
    "colville": _fixed(f.colville, (-10.0, 10.0), (1.0, 1.0, 1.0, 1.0)),
    # integer and mixed
    "sphere-int": Function(f.sphere, (-100.0, 100.0), whole=True),
    "rastrigin-int": Function(f.rastrigin_grid, (-50.0, 50.0), whole=True),
    "mixed-sphere": _fixed(f.mixed_sphere, _MIXED_SPHERE, (1.25, 0.01, 7.0, 1.0, 2.0, 1.0)),
    "mixed-tuning": _fixed(f.mixed_tuning, _MIXED_TUNING, (0.003, 0.9, 3.0, 6.0, 200.0, 1.0, 1.0, 2.0, 64.0)),
    # noisy: `noise` is the standard deviation, and the optimum that of the function without it
    "sphere-noisy": Function(f.sphere, (-5.12, 5.12), noise=0.1),
    "rosenbrock-noisy": Function(f.rosenbrock, (-5.0, 10.0), at=1.0, least=2, noise=1.0),
    # constrained; g06 and g08 as in CEC 2006, the disk is x² + y² <= 2, and the last Σ x_i >= D
    "g06": _fixed(
        f.g06,
        ((13.0, 100.0), (0.0, 100.0)),
        (14.095, 0.8429607892154801),
        -6961.813875580139,
        violations=f.g06_violations,
        constraints=2,
    ),
    "g08": _fixed(
        f.g08,
        (0.0, 10.0),
        (1.2279713528, 4.2453733665),
        -0.09582504141803581,
        violations=f.g08_violations,
        constraints=2,
    ),
    "rosenbrock-disk": _fixed(f.rosenbrock, (-1.5, 1.5), (1.0, 1.0), violations=f.disk_violations, constraints=1),
    "sphere-constrained": Function(
        f.sphere, (-5.12, 5.12), at=1.0, optimum=float, violations=f.sum_violations, constraints=1
    ),
    # maximised
    "cosine-mixture-max": Function(f.cosine_mixture, (-1.0, 1.0), optimum=lambda d: 0.1 * d, sense="max"),
    # what is seen is a displaced copy of what counts, which is hidden
    "sphere-split": Function(f.sphere, (-5.12, 5.12), metrics={"generalization": f.displaced_sphere}),
    # in a quarter of the box: failing where both coordinates are > 0, NaN where both are < 0
    "failing": _fixed(f.sphere, (-5.0, 5.0), None, fails=lambda X: (X > 0.0).all(axis=1)),
    "nan": _fixed(f.sphere, (-5.0, 5.0), None, undefined=lambda X: (X < 0.0).all(axis=1)),
}


class AnalyticProblem(Problem):
    """A function of the table in one dimension: one number per point, in either form."""

    array_native = True

    def __init__(self, name: str, dimension: int) -> None:
        self.function = name
        line = self.line
        self.space = line.space(dimension)
        self.optimum_at = line.optimum_at(self.space)
        value = line.optimum(dimension) if callable(line.optimum) else line.optimum
        self.known = Known(optimum=(value,))
        self.objectives = (Objective(sense=line.sense),)
        self._numbers = self.space.types <= {"real", "int"}
        self._origin = self.optimum_at if line.at is None else None

    @property
    def line(self) -> Function:
        return FUNCTIONS[self.function]  # looked up, so that a problem can be pickled

    def _row(self, x: Point) -> Array:
        """One point in matrix form; only texts and bools need the space's dictionary."""
        if self._numbers:
            return np.array([[x[name] for name in self.space.names]], dtype=float)
        return self.space.to_matrix([x])

    def _inside(self, X: Array) -> Array:
        """C-ordered, within the box."""
        rows: Array = np.maximum(np.ascontiguousarray(X, dtype=float), self.space.low)
        return np.minimum(rows, self.space.high)

    def _centred(self, X: Array) -> Array:
        return X if self._origin is None else X - self._origin

    def evaluate_matrix(self, X: Array) -> Array:
        X = self._inside(X)
        values = self.line.formula(self._centred(X))
        if self.line.undefined is not None:
            values[self.line.undefined(X)] = np.nan
        return values

    def evaluate(self, x: Point) -> Any:
        return float(self.evaluate_matrix(self._row(x))[0])


class RichProblem(AnalyticProblem):
    """One with constraints, hidden metrics or failures. `evaluate_matrix` is the bare objective."""

    array_native = False

    def __init__(self, name: str, dimension: int) -> None:
        super().__init__(name, dimension)
        self.constraints = self.line.constraints
        self.metrics = tuple(self.line.metrics)

    def evaluate(self, x: Point) -> Evaluation:
        X = self._inside(self._row(x))
        line = self.line
        if line.fails is not None and line.fails(X)[0]:
            raise ValueError("outside the domain")
        violations = () if line.violations is None else line.violations(X)[0].tolist()
        metrics = {name: float(formula(self._centred(X))[0]) for name, formula in line.metrics.items()}
        return Evaluation(self.evaluate_matrix(X).tolist(), violations, metrics)


class NoisyProblem(AnalyticProblem):
    """One with additive Gaussian noise. `evaluate_matrix` and `known` are without it."""

    array_native = False
    noisy = True

    def evaluate(self, x: Point, rng: np.random.Generator) -> float:  # type: ignore[override]
        return float(self.evaluate_matrix(self._row(x))[0] + self.line.noise * rng.standard_normal())


class FunctionsSuite(Suite):
    name = "functions"
    summary = "classic analytic test functions with known optima, and small mixed, noisy, constrained, failing ones"

    def ids(self) -> Iterator[str]:
        return (f"functions/{name}/d{d}" for name, line in FUNCTIONS.items() for d in line.dimensions)

    def contains(self, id: str) -> bool:
        found = _ID.match(id)
        return found is not None and found[1] in FUNCTIONS and FUNCTIONS[found[1]].accepts(int(found[2]))

    def build(self, id: str) -> Problem:
        found = _ID.match(id)
        if found is None or not self.contains(id):
            raise self.unknown(id)
        line = FUNCTIONS[found[1]]
        rich = line.violations is not None or line.fails is not None or line.metrics
        kind = NoisyProblem if line.noise else RichProblem if rich else AnalyticProblem
        problem = kind(found[1], int(found[2]))
        problem.id, problem.suite = id, self.name
        return problem
