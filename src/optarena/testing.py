"""The conformance kit: is an optimizer or a problem well-behaved? Anyone may use it in their own tests.

    from optarena.testing import assert_optimizer
    def test_mine():
        assert_optimizer(MyOptimizer)

A finding says what was expected, what happened, and how to mend it.
"""

from __future__ import annotations

import copy
import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import msgspec
import numpy as np

from optarena.errors import Exhausted, SuggestionError
from optarena.experiment import noise_rng
from optarena.optimizer import Optimizer, get_optimizer
from optarena.problem import Evaluation, Problem, as_evaluation
from optarena.space import Array, Space

REAL = Space(
    {
        "a": {"type": "real", "space": "linear", "range": [-5.0, 5.0]},
        "b": {"type": "real", "space": "log", "range": [1e-4, 1e2]},
        "c": {"type": "real", "space": "linear", "range": [100.0, 101.0]},
    }
)
INTEGER = Space(
    {
        "a": {"type": "int", "space": "linear", "range": [-3, 7]},
        "b": {"type": "int", "space": "log", "range": [1, 1000]},
        "c": {"type": "int", "space": "linear", "range": [0, 1]},
    }
)
MIXED = Space(
    {
        "real": {"type": "real", "space": "bilog", "range": [-100.0, 100.0]},
        "rate": {"type": "real", "space": "logit", "range": [0.01, 0.99]},
        "whole": {"type": "int", "space": "log", "range": [1, 256]},
        "flag": {"type": "bool"},
        "colour": {"type": "cat", "values": ["red", "green", "blue"]},
        "size": {"type": "ordinal", "values": ["small", "middle", "large"]},
        "step": {"type": "real", "space": "log", "values": [0.1, 1.0, 10.0, 3.0]},
    }
)
SPACES = {"real": REAL, "integer": INTEGER, "mixed": MIXED}


class Finding(msgspec.Struct, frozen=True):
    """One thing that is not as the contract says."""

    check: str
    where: str
    problem: str
    mend: str

    def __str__(self) -> str:
        return f"{self.check} ({self.where}): {self.problem}. {self.mend}"


def assert_optimizer(optimizer: str | type[Optimizer], **settings: Any) -> None:
    """Raise AssertionError with every finding."""
    findings = check_optimizer(optimizer, **settings)
    assert not findings, "\n".join(map(str, findings))


def assert_problem(problem: Problem) -> None:
    """Raise AssertionError with every finding."""
    findings = check_problem(problem)
    assert not findings, "\n".join(map(str, findings))


# ---- optimizers -----------------------------------------------------------------------------------------------------


def check_optimizer(optimizer: str | type[Optimizer], **settings: Any) -> list[Finding]:
    """Every check, on a real, an integer and a mixed space (reals only, if that is what its capabilities say)."""
    cls = get_optimizer(optimizer) if isinstance(optimizer, str) else optimizer
    out: list[Finding] = []
    for name, space in SPACES.items():
        if space.continuous or cls.capabilities.mixed:
            bench = _OptimizerBench(cls, settings, name, space)
            out.extend(bench.run_all())
    return out


class _OptimizerBench:
    """One optimizer class on one space."""

    def __init__(self, cls: type[Optimizer], settings: Mapping[str, Any], name: str, space: Space) -> None:
        self.cls, self.settings, self.name, self.space = cls, dict(settings), name, space
        self.batch = 3 if cls.capabilities.batch else 1

    def run_all(self) -> list[Finding]:
        """Every check; after a fault in the points themselves the others would only say the same."""
        first = self.run(_OPTIMIZER_CHECKS[0])
        return first or [finding for check in _OPTIMIZER_CHECKS[1:] for finding in self.run(check)]

    def run(self, check: Callable[[_OptimizerBench], tuple[str, str] | None]) -> list[Finding]:
        title = check.__name__.strip("_").replace("_", " ")
        try:
            found = check(self)
        except (Exception, SystemExit) as error:
            found = (
                f"raised {type(error).__name__}: {error}",
                "It must not raise here (Exhausted ends a study early).",
            )
        return [Finding(title, f"{self.name} space", *found)] if found else []

    def make(self, seed: int = 1, objectives: int = 1) -> Optimizer:
        settings = copy.deepcopy(self.settings)
        if self.cls.capabilities.uses_budget:
            settings.setdefault("budget", 30)
        return self.cls(self.space, objectives=objectives, rng=np.random.default_rng(seed), **settings)

    def matrix(self, suggested: Any) -> Array:
        if self.cls.capabilities.array_native:
            return self.space.check(suggested)[0]
        if not isinstance(suggested, (list, tuple)):
            raise SuggestionError(f"suggest returned {type(suggested).__name__}, expected a list of dicts")
        return self.space.to_matrix(suggested)

    def play(self, optimizer: Optimizer, steps: int = 6, value: Callable[[Array], Array] | None = None) -> Array:
        """Some rounds of suggest and observe; all points in matrix form."""
        seen = []
        try:
            for _ in range(steps):
                suggested = optimizer.suggest(self.batch)
                X = self.matrix(suggested)
                if len(X) != self.batch:
                    raise SuggestionError(f"suggest({self.batch}) returned {len(X)} points")
                seen.append(X)
                self.tell(optimizer, suggested, (value or self.value)(X))
        except Exhausted:
            pass
        finally:
            optimizer.close()
        return np.concatenate(seen) if seen else np.empty((0, self.space.dimension))

    def seconds(self, steps: int) -> float:
        """The median time of a suggest and an observe together."""
        optimizer, times = self.make(), []
        try:
            for _ in range(steps):
                began = time.perf_counter()
                suggested = optimizer.suggest(1)
                spent = time.perf_counter() - began
                y = self.value(self.matrix(suggested))
                began = time.perf_counter()
                self.tell(optimizer, suggested, y)
                times.append(spent + time.perf_counter() - began)
        except Exhausted:
            pass
        finally:
            optimizer.close()
        return float(np.median(times)) if times else float("nan")

    def tell(self, optimizer: Optimizer, X: Any, y: Array, constraints: int = 0) -> None:
        """Observe as the loop does: with violations if the capabilities say so."""
        if self.cls.capabilities.constraints:
            optimizer.observe(X, y, np.full((len(y), constraints), -1.0))
        else:
            optimizer.observe(X, y)

    def value(self, X: Array) -> Array:
        return ((self.space.to_unit(X) - 0.3) ** 2).sum(axis=1, keepdims=True)


def _points_lie_in_the_space(bench: _OptimizerBench) -> tuple[str, str] | None:
    try:
        bench.play(bench.make())
    except SuggestionError as error:
        return str(
            error
        ), "Return as many points as asked for, each with every parameter inside its range and of its type."
    return None


def _batches_of_any_size_are_given(bench: _OptimizerBench) -> tuple[str, str] | None:
    if not bench.cls.capabilities.batch:
        return None
    optimizer = bench.make()
    try:
        for n in (1, 2, 5, 1):
            suggested = optimizer.suggest(n)
            X = bench.matrix(suggested)
            if len(X) != n:
                mend = "Return as many points as asked for; the last batch of a study may be smaller than the others."
                return f"suggest({n}) returned {len(X)} points", mend
            bench.tell(optimizer, suggested, bench.value(X))
    except Exhausted:
        pass
    finally:
        optimizer.close()
    return None


def _infinite_values_are_survived(bench: _OptimizerBench) -> tuple[str, str] | None:
    signs = iter([np.inf, 1.0, -np.inf, 1.0, np.inf, 1.0])
    bench.play(bench.make(), value=lambda X: bench.value(X) * next(signs))
    return None


def _the_same_seed_gives_the_same_points(bench: _OptimizerBench) -> tuple[str, str] | None:
    first, second = bench.play(bench.make()), bench.play(bench.make())
    if not np.array_equal(first, second):
        return "two runs with the same seed differ", "Draw all randomness from the `rng` that __init__ is given."
    return None


def _one_study_does_not_change_the_next(bench: _OptimizerBench) -> tuple[str, str] | None:
    if bench.cls.capabilities.own_process:
        return None
    alone = bench.play(bench.make(2))
    bench.play(bench.make(3))
    if not np.array_equal(alone, bench.play(bench.make(2))):
        mend = "Keep everything in the instance, or declare capabilities with own_process=True."
        return "a study after another one differs from the same study alone", mend
    return None


def _global_random_state_is_left_alone(bench: _OptimizerBench) -> tuple[str, str] | None:
    kept = _global_state()
    random.seed(20231)
    np.random.seed(20231)  # noqa: NPY002 (the global state is what is watched)
    before = _global_state()
    bench.play(bench.make())
    after = _global_state()
    random.setstate(kept[0])
    np.random.set_state(kept[1])  # noqa: NPY002
    if repr(before) != repr(after):
        mend = "Use the `rng` of __init__; if a library needs the global state, restore it."
        return "the state of `random` or `numpy.random` changed", mend
    return None


def _global_state() -> tuple[Any, Any]:
    name, keys, *rest = cast("tuple[Any, ...]", np.random.get_state())  # noqa: NPY002
    return random.getstate(), (name, keys.tolist(), *rest)


def _failed_evaluations_are_survived(bench: _OptimizerBench) -> tuple[str, str] | None:
    bench.play(bench.make(), value=lambda X: np.full((len(X), 1), np.nan))
    count = 0

    def sometimes(X: Array) -> Array:
        nonlocal count
        count += 1
        return bench.value(X) if count % 2 else np.full((len(X), 1), np.nan)

    bench.play(bench.make(), value=sometimes)
    return None


def _constant_values_are_survived(bench: _OptimizerBench) -> tuple[str, str] | None:
    bench.play(bench.make(), value=lambda X: np.zeros((len(X), 1)))
    return None


def _points_it_never_suggested_are_taken(bench: _OptimizerBench) -> tuple[str, str] | None:
    if not bench.cls.capabilities.unsuggested:
        return None
    optimizer = bench.make()
    X = bench.space.sample(bench.batch, np.random.default_rng(7))
    given: Any = X if bench.cls.capabilities.array_native else bench.space.to_dicts(X)
    try:
        bench.tell(optimizer, given, bench.value(X))
        bench.play(optimizer, steps=2)
    except (Exception, SystemExit) as error:
        return f"raised {type(error).__name__}: {error}", "Take them, or declare capabilities with unsuggested=False."
    return None


def _what_is_observed_is_not_changed(bench: _OptimizerBench) -> tuple[str, str] | None:
    optimizer = bench.make()
    suggested = optimizer.suggest(bench.batch)
    kept, y = copy.deepcopy(suggested), bench.value(bench.matrix(suggested))
    values = y.copy()
    bench.tell(optimizer, suggested, y)
    optimizer.close()
    same = np.array_equal(bench.matrix(kept), bench.matrix(suggested)) and np.array_equal(values, y)
    if not same:
        return "observe changed the points or the values that it was given", "Copy what you want to change."
    return None


def _constraint_violations_are_taken(bench: _OptimizerBench) -> tuple[str, str] | None:
    if not bench.cls.capabilities.constraints:
        return None
    optimizer = bench.make()
    for _ in range(3):
        suggested = optimizer.suggest(bench.batch)
        bench.tell(optimizer, suggested, bench.value(bench.matrix(suggested)), constraints=2)
    optimizer.close()
    return None


def _several_objectives_are_taken(bench: _OptimizerBench) -> tuple[str, str] | None:
    if bench.cls.capabilities.several_objectives:
        optimizer = bench.make(objectives=2)
        bench.play(optimizer, value=lambda X: np.hstack([bench.value(X), -bench.value(X)]))
    return None


def _points_asked_ahead_are_the_same(bench: _OptimizerBench) -> tuple[str, str] | None:
    if bench.cls.capabilities.ahead:
        one, many = bench.make(), bench.make()
        singly = np.concatenate([bench.matrix(one.suggest(1)) for _ in range(12)])
        if not np.array_equal(singly, bench.matrix(many.suggest(12))):
            return "12 points at once are not 12 times one", "Declare capabilities without ahead=True."
    return None


_OPTIMIZER_CHECKS: Sequence[Callable[[_OptimizerBench], tuple[str, str] | None]] = (
    _points_lie_in_the_space,
    _batches_of_any_size_are_given,
    _the_same_seed_gives_the_same_points,
    _one_study_does_not_change_the_next,
    _global_random_state_is_left_alone,
    _failed_evaluations_are_survived,
    _infinite_values_are_survived,
    _constant_values_are_survived,
    _points_it_never_suggested_are_taken,
    _what_is_observed_is_not_changed,
    _constraint_violations_are_taken,
    _several_objectives_are_taken,
    _points_asked_ahead_are_the_same,
)


def time_optimizer(optimizer: str | type[Optimizer], steps: int = 20, **settings: Any) -> dict[str, float]:
    """Median seconds of a suggest and an observe together, over the first steps of a study, by space."""
    cls = get_optimizer(optimizer) if isinstance(optimizer, str) else optimizer
    out = {}
    for name, space in SPACES.items():
        if space.continuous or cls.capabilities.mixed:
            bench = _OptimizerBench(cls, settings, name, space)
            out[name] = bench.seconds(steps)
    return out


# ---- problems -------------------------------------------------------------------------------------------------------


def check_problem(problem: Problem, points: int = 20) -> list[Finding]:
    """Evaluate random points twice; failures of single evaluations are allowed, but not of all."""
    problem.reset(np.random.default_rng(5))
    try:
        return _check_problem(problem, points)
    finally:
        problem.close()


def _check_problem(problem: Problem, points: int) -> list[Finding]:
    out: list[Finding] = []

    def say(check: str, what: str, mend: str) -> None:
        out.append(Finding(check, problem.id, what, mend))

    X = problem.space.sample(points, np.random.default_rng(3))
    dicts = problem.space.to_dicts(X)
    first = [_evaluate(problem, point, k) for k, point in enumerate(dicts)]
    errors = [item for item in first if isinstance(item, Exception)]
    if len(errors) == len(first):
        say("evaluates", f"all {points} random points failed ({errors[0]})", "Return a number (or an Evaluation).")
        return out
    if problem.stateless:
        second = [_evaluate(problem, point, k) for k, point in enumerate(dicts)]
        if [_plain(item) for item in first] != [_plain(item) for item in second]:
            say(
                "repeats",
                "the same point gave two values",
                "Declare noisy=True and use the generator given to evaluate, or stateless=False.",
            )
    if problem.takes_matrix:
        good = [i for i, item in enumerate(first) if isinstance(item, Evaluation)]
        matrix = np.asarray(problem.evaluate_matrix(X[good]), dtype=float).reshape(len(good), -1)
        singly = np.array([first[i].values for i in good])  # type: ignore[union-attr]
        if not np.array_equal(matrix, singly, equal_nan=True):
            say("matrix", "evaluate_matrix and evaluate differ", "They must agree bit for bit, whatever the batch.")
    optimum = problem.known.optimum
    if optimum is not None and len(problem.objectives) == 1 and not problem.noisy:
        sign = -1.0 if problem.objectives[0].sense == "max" else 1.0
        for item in first:
            feasible = isinstance(item, Evaluation) and all(v <= 0 for v in item.violations)
            if feasible and sign * item.values[0] < sign * optimum[0] - 1e-9 * max(1.0, abs(optimum[0])):  # type: ignore[union-attr]
                say(
                    "optimum",
                    f"a random point is better than the known optimum {optimum[0]}",
                    "Mend the optimum or the sense.",
                )
                break
    return out


def _evaluate(problem: Problem, point: dict[str, Any], k: int) -> Evaluation | Exception:
    try:
        extra = (noise_rng(11, k),) if problem.noisy else ()
        return as_evaluation(problem.evaluate(dict(point), *extra), problem)
    except (Exception, SystemExit) as error:
        return error if isinstance(error, Exception) else RuntimeError(f"SystemExit: {error}")


def _plain(item: Evaluation | Exception) -> str:
    return str(item) if isinstance(item, Exception) else repr((item.values, item.violations, item.metrics))
