"""Checks of an optimizer, each on a real, an integer and a mixed space."""

from __future__ import annotations

import copy
import functools
import inspect
import itertools
import numbers
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from optarena.errors import Exhausted, SuggestionError, describe
from optarena.optimizer import Optimizer, get_optimizer
from optarena.optimizers.command import CommandOptimizer
from optarena.space import Array, Space
from optarena.testing import _process_state
from optarena.testing._finding import Finding, announce, blame, place_of
from optarena.testing._spaces import SPACES

_Check: TypeAlias = "Callable[[_OptimizerBench], tuple[str, str] | None]"


def check_optimizer(optimizer: str | type[Optimizer], /, *, rounds: int = 6, **settings: Any) -> list[Finding]:
    """Every check, on a real, an integer and a mixed space (reals only, if that is what its capabilities say).

    A study of the kit has so many rounds of 3 points, or of 1 without batches. For an optimizer that takes seconds,
    fewer will do: let its settings end its first, random phase within them.
    """
    cls = (get_optimizer(optimizer) if isinstance(optimizer, str) else optimizer).as_used(settings)
    out = list(_signatures(cls, settings))
    if out:
        return out  # nothing can be called
    for name, space in SPACES.items():
        if space.continuous or cls.capabilities.mixed:
            for objectives, checks in _rounds(cls, more=name == next(iter(SPACES))).items():
                out.extend(_OptimizerBench(cls, settings, name, space, rounds, objectives).run_all(checks))
    return out


def _rounds(cls: type[Optimizer], more: bool) -> dict[int, Sequence[_Check]]:
    """With how many objectives which checks are made: all with the fewest, and with more what depends on them."""
    can = cls.capabilities
    fewest = 1 if can.one_objective else 2
    further = range(fewest + 1, 4) if more and can.several_objectives else ()
    return {fewest: _OPTIMIZER_CHECKS, **dict.fromkeys(further, _CHECKS_WITH_MORE_OBJECTIVES)}


def _signatures(cls: type[Optimizer], settings: Mapping[str, Any]) -> Iterator[Finding]:
    """Whether it can be created and called as the loop does."""
    can = cls.capabilities
    budget = {"budget": 30} if can.uses_budget else {}
    told = ("X", "y", "violations") if can.constraints else ("X", "y")
    more = ", budget" * can.uses_budget
    right = {
        "__init__": f"def __init__(self, space, *, objectives=1, rng=None{more}, <settings, each with a default>)",
        "suggest": "def suggest(self, n)",
        "observe": f"def observe(self, {', '.join(told)})",
        "close": "def close(self)",
    }
    calls: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
        "__init__": (("space",), {"objectives": 1, "rng": None, **budget, **settings}),
        "suggest": ((1,), {}),
        "observe": (told, {}),
        "close": ((), {}),
    }
    for method, (args, kwargs) in calls.items():
        signature = inspect.signature(getattr(cls, method))
        try:
            signature.bind("self", *args, **kwargs)
        except TypeError as error:
            fix = f"Define it as: {right[method]}"
            if method == "__init__":
                fix += "; it calls super().__init__(space, objectives=objectives, rng=rng)"
            if method == "observe" and can.constraints:
                fix += " (the third argument comes because its capabilities say constraints=True)"
            what = f"{method}{signature} does not fit: {error}"
            yield Finding("it can be called", method, what, f"{fix}.", place_of(getattr(cls, method)))


SUGGEST = "Return as many points as asked for, each with every parameter inside its range and of its type."

NOT_HERE = "It must not raise here (Exhausted ends a study early)."
UNSUGGESTED = "Take them, or declare capabilities with unsuggested=False."


class _OptimizerBench:
    """One optimizer class on one space, with so many objectives."""

    def __init__(
        self,
        cls: type[Optimizer],
        settings: Mapping[str, Any],
        name: str,
        space: Space,
        rounds: int = 6,
        objectives: int = 1,
    ) -> None:
        self.cls, self.settings, self.name, self.space = cls, dict(settings), name, space
        self.objectives = objectives
        self.batch = 3 if cls.capabilities.batch else 1
        self.rounds = rounds

    @functools.cached_property
    def first(self) -> Array:
        """The points of a study that nothing came before."""
        return self.play(self.make())

    @functools.cached_property
    def second(self) -> tuple[Array, list[str], list[str]]:
        """The same study after others, the random states that it changed, and what else it left changed."""
        with _process_state.seeded() as states, _process_state.watched() as changed:
            points = self.play(self.make())
        return points, states(), changed()

    @functools.cached_property
    def repeats(self) -> bool:
        """Whether a study repeats itself when nothing but itself came before."""
        if np.array_equal(self.first, self.second[0]):
            return True
        return np.array_equal(self.play(self.make()), self.play(self.make()))

    def run_all(self, checks: Sequence[_Check]) -> list[Finding]:
        """Every check; after a fault in the points themselves the others would only say the same."""
        first = self.run(checks[0])
        return first or [finding for check in checks[1:] for finding in self.run(check)]

    def run(self, check: _Check) -> list[Finding]:
        title = check.__name__.strip("_").replace("_", " ")
        where = f"{self.name} space" + f", {self.objectives} objectives" * (self.objectives > 1)
        announce(f"{title} ({where})")
        place, frames = "", ""
        try:
            with _process_state.watched():  # so that the next check begins as this one did
                found = check(self)
        except Exhausted:
            found = None  # it may have nothing to suggest
        except SuggestionError as error:
            found = describe(error, named=False), SUGGEST
        except (Exception, SystemExit) as error:
            fix = UNSUGGESTED if check is _points_it_never_suggested_are_taken else NOT_HERE
            found = f"raised {describe(error)}", fix
            place, frames = blame(error)
        method = self.cls.observe if check is _what_is_observed_is_not_changed else self.cls.suggest
        if issubclass(self.cls, CommandOptimizer):  # whose code is elsewhere
            place, frames = self.cls.manifest, ""
        return [Finding(title, where, *found, place or place_of(method), frames)] if found else []

    def make(self, seed: int = 1) -> Optimizer:
        settings = copy.deepcopy(self.settings)
        if self.cls.capabilities.uses_budget:
            settings.setdefault("budget", 30)
        return self.cls(self.space, objectives=self.objectives, rng=np.random.default_rng(seed), **settings)

    def matrix(self, suggested: Any) -> Array:
        if self.cls.capabilities.array_native:
            return self.space.check(suggested)[0]
        if not isinstance(suggested, (list, tuple)):
            raise SuggestionError(f"suggest returned {type(suggested).__name__}, expected a list of dicts")
        matrix = self.space.to_matrix(suggested)
        for i, point in enumerate(suggested):
            for p in self.space.parameters:
                if p.type == "int" and not isinstance(point[p.name], numbers.Integral):
                    value = point[p.name]
                    raise SuggestionError(f"point {i}: {p.name} = {value!r} is a {type(value).__name__}, not an int")
        return matrix

    def play(
        self, optimizer: Optimizer, rounds: int | None = None, value: Callable[[Array], Array] | None = None
    ) -> Array:
        """Some rounds of suggest and observe; all points in matrix form."""
        seen = []
        try:
            for _ in range(rounds or self.rounds):
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

    def seconds(self, steps: int) -> float | None:
        """The median time of a suggest and an observe together; None if it suggests nothing."""
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
        return float(np.median(times)) if times else None

    def tell(self, optimizer: Optimizer, X: Any, y: Array, constraints: int = 0) -> None:
        """Observe as the loop does: with violations if the capabilities say so."""
        if self.cls.capabilities.constraints:
            optimizer.observe(X, y, np.full((len(y), constraints), -1.0))
        else:
            optimizer.observe(X, y)

    def value(self, X: Array) -> Array:
        """The squared distance to as many points of the cube as there are objectives."""
        unit = self.space.to_unit(X)
        return np.column_stack([((unit - at) ** 2).sum(axis=1) for at in (0.3, 0.8, 0.5)[: self.objectives]])

    def constant(self, X: Array, value: float) -> Array:
        return np.full((len(X), self.objectives), value)


def _points_lie_in_the_space(bench: _OptimizerBench) -> tuple[str, str] | None:
    try:
        _ = bench.first
    except SuggestionError as error:
        return str(error), SUGGEST
    return None


def _batches_of_any_size_are_given(bench: _OptimizerBench) -> tuple[str, str] | None:
    if not bench.cls.capabilities.batch:
        return None
    optimizer = bench.make()
    try:
        for n in (1, 4, 2):
            suggested = optimizer.suggest(n)
            X = bench.matrix(suggested)
            if len(X) != n:
                fix = "Return as many points as asked for; the last batch of a study may be smaller than the others."
                return f"suggest({n}) returned {len(X)} points", fix
            bench.tell(optimizer, suggested, bench.value(X))
    except Exhausted:
        pass
    finally:
        optimizer.close()
    return None


def _infinite_values_are_survived(bench: _OptimizerBench) -> tuple[str, str] | None:
    """Infinite ones, and one that is finite only just."""
    factors = itertools.cycle([np.inf, 1.0, -np.inf, 1e200, 1.0])
    bench.play(bench.make(2), value=lambda X: bench.value(X) * [[next(factors)] for _ in X])
    return None


def _the_same_seed_gives_the_same_points(bench: _OptimizerBench) -> tuple[str, str] | None:
    if not bench.repeats and not bench.second[1]:  # else a global random state is the reason: another check says so
        given = "seed of start" if issubclass(bench.cls, CommandOptimizer) else "`rng` that __init__ is given"
        return "two runs with the same seed differ", f"Draw all randomness from the {given}."
    return None


def _one_study_does_not_change_the_next(bench: _OptimizerBench) -> tuple[str, str] | None:
    if bench.cls.capabilities.own_process or not bench.repeats:
        return None
    if not np.array_equal(bench.first, bench.second[0]):
        fix = "Keep everything in the instance, or declare capabilities with own_process=True."
        return "a study after another one differs from the same study alone", fix
    return None


def _global_random_state_is_left_alone(bench: _OptimizerBench) -> tuple[str, str] | None:
    if bench.second[1]:
        fix = "Use the `rng` of __init__; if a library needs the global state, restore it."
        random = "" if bench.repeats else ", and two runs with the same seed differ"
        return f"the state of {' and '.join(bench.second[1])} changed{random}", fix
    return None


def _the_process_is_left_as_it_was(bench: _OptimizerBench) -> tuple[str, str] | None:
    if bench.second[2] and not bench.cls.capabilities.own_process:
        fix = "Put it back before suggest and observe return (by close() at the latest), or declare own_process=True."
        return "; ".join(bench.second[2]), fix
    return None


def _failed_evaluations_are_survived(bench: _OptimizerBench) -> tuple[str, str] | None:
    bench.play(bench.make(2), value=lambda X: bench.constant(X, np.nan))
    good = itertools.cycle([1.0, np.nan])
    bench.play(bench.make(3), value=lambda X: bench.value(X) * [[next(good)] for _ in X])
    return None


def _constant_values_are_survived(bench: _OptimizerBench) -> tuple[str, str] | None:
    bench.play(bench.make(3), value=lambda X: bench.constant(X, 0.0))
    return None


def _points_it_never_suggested_are_taken(bench: _OptimizerBench) -> tuple[str, str] | None:
    if not bench.cls.capabilities.unsuggested:
        return None
    optimizer = bench.make()
    X = bench.space.sample(bench.batch, np.random.default_rng(7))
    given: Any = X if bench.cls.capabilities.array_native else bench.space.to_dicts(X)
    bench.tell(optimizer, given, bench.value(X))
    bench.play(optimizer, rounds=1)
    return None


def _what_is_observed_is_not_changed(bench: _OptimizerBench) -> tuple[str, str] | None:
    optimizer = bench.make()
    suggested = optimizer.suggest(bench.batch)
    kept, y = copy.deepcopy(suggested), bench.value(bench.matrix(suggested))
    values = y.copy()
    bench.tell(optimizer, suggested, y)
    optimizer.close()
    points = np.array_equal(kept, np.asarray(suggested)) if isinstance(kept, np.ndarray) else kept == suggested
    same = points and np.array_equal(values, y)
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


def _points_asked_ahead_are_the_same(bench: _OptimizerBench) -> tuple[str, str] | None:
    if bench.cls.capabilities.ahead:
        one, many = bench.make(), bench.make()
        singly = np.concatenate([bench.matrix(one.suggest(1)) for _ in range(12)])
        if not np.array_equal(singly, bench.matrix(many.suggest(12))):
            return "12 points at once are not 12 times one", "Declare capabilities without ahead=True."
    return None


def _a_program_ends_when_it_is_closed(bench: _OptimizerBench) -> tuple[str, str] | None:
    if issubclass(bench.cls, CommandOptimizer):
        optimizer = bench.make()
        optimizer.close()
        if optimizer.killed:  # type: ignore[attr-defined]
            fix = "End when the input ends, or with the call `close`: every study waits for it."
            return "it had to be killed after its input ended", fix
    return None


_OPTIMIZER_CHECKS: Sequence[_Check] = (
    _points_lie_in_the_space,
    _batches_of_any_size_are_given,
    _failed_evaluations_are_survived,
    _infinite_values_are_survived,
    _constant_values_are_survived,
    # these look at one more study, after those above
    _the_same_seed_gives_the_same_points,
    _one_study_does_not_change_the_next,
    _global_random_state_is_left_alone,
    _the_process_is_left_as_it_was,
    _points_it_never_suggested_are_taken,
    _what_is_observed_is_not_changed,
    _constraint_violations_are_taken,
    _points_asked_ahead_are_the_same,
    _a_program_ends_when_it_is_closed,
)


_CHECKS_WITH_MORE_OBJECTIVES: Sequence[_Check] = (
    _points_lie_in_the_space,
    _the_same_seed_gives_the_same_points,
    _failed_evaluations_are_survived,
)


def time_optimizer(optimizer: str | type[Optimizer], /, steps: int = 20, **settings: Any) -> dict[str, float]:
    """Median seconds of a suggest and an observe together, over the first steps of a study, by space.

    A space on which it has nothing to suggest is not there.
    """
    cls = (get_optimizer(optimizer) if isinstance(optimizer, str) else optimizer).as_used(settings)
    out = {}
    for name, space in SPACES.items():
        if space.continuous or cls.capabilities.mixed:
            objectives = 1 if cls.capabilities.one_objective else 2
            seconds = _OptimizerBench(cls, settings, name, space, objectives=objectives).seconds(steps)
            if seconds is not None:
                out[name] = seconds
    return out
