"""nevergrad's (1+1), differential evolution, particle swarm, and NgIohTuned, which chooses among many."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
from greenlet import getcurrent, greenlet

from optarena._global_state import GlobalState, import_apart
from optarena.errors import OptarenaError
from optarena.optimizer import Capabilities, Optimizer
from optarena.optimizers import _codec
from optarena.optimizers._pending import Pending
from optarena.settings import Setting, choice, number, whole
from optarena.space import Array, Parameter, Space

REGISTERED = {
    "library": "nevergrad",
    "licence": "MIT",
    "extra": "nevergrad",
    "needs": ["nevergrad"],
    "names": {
        "Nevergrad-OnePlusOne": "NevergradOnePlusOne",
        "Nevergrad-NgIohTuned": "NevergradNgIohTuned",
        "Nevergrad-DE": "NevergradDE",
        "Nevergrad-PSO": "NevergradPSO",
    },
}

LEAST = -5e20
"""nevergrad clips a NaN and what is larger than 5e20 to that by itself, and forgets about minus infinity."""
MUTATIONS = ("gaussian", "cauchy", "discrete", "fastga", "doublefastga", "portfolio", "lengler", "lognormal")
INITIAL = ("parametrization", "gaussian", "LHS", "QR")
TRANSFORMS = ("arctan", "gaussian", "identity")
POPULATIONS = ("standard", "dimension", "large")
Rng = np.random.Generator | None


class Nevergrad(Optimizer):
    """What nevergrad's optimizers share: candidates asked for and told.

    Reals of every warp are a box of width 1, in which the warp is linear (nevergrad's first step is a sixth of it). An
    integer is nevergrad's own, as an array's or, for fewer than ten values, as a choice with an order, which is what
    it advises; an integer with another warp than linear is searched as a real. Ordinals are choices with an order,
    categories and bools are choices. A failure is reported as NaN, which nevergrad replaces by 5e20. `num_workers` is
    the first batch's size. A point that was never suggested is a child that the parametrization spawned.
    """

    capabilities = Capabilities(array_native=True, failures="native")
    packages: tuple[str, ...] = ("nevergrad",)

    def __init__(self, space: Space, *, objectives: int = 1, rng: Rng = None, **settings: Any) -> None:
        super().__init__(space, objectives=objectives, rng=rng, **settings)
        self._state = GlobalState(self.rng, python=False)
        self._seed = int(self.rng.integers(2**32))
        self._codec = _codec.Codec(space, (_codec.INT,))
        self._box = all(kind == _codec.UNIT for kind in self._codec.kinds)
        self._pending: Pending[Any] = Pending()
        self._early: list[tuple[Array, float]] = []  # told before there was a batch to know the number of workers by
        self._engine: Any = None
        self._ng = import_apart("nevergrad")  # takes some seconds, which are no part of the first suggestion

    def _create(self, parametrization: Any, num_workers: int) -> Any:
        """nevergrad's optimizer."""
        raise NotImplementedError

    @contextlib.contextmanager
    def _running(self) -> Iterator[None]:
        with self._state, warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
            yield

    def _start(self, workers: int) -> None:
        p = self._ng.p
        if self._box:
            parametrization = p.Array(shape=(len(self._codec.kinds),), lower=0.0, upper=1.0)
        else:
            pairs = zip(self._codec.parameters, self._codec.kinds, strict=True)
            parametrization = p.Tuple(*(self._parameter(parameter, kind) for parameter, kind in pairs))
        parametrization.random_state = np.random.RandomState(self._seed)
        self._engine = self._create(parametrization, workers)
        for row, value in self._early:
            self._tell_foreign(row, value)
        self._early.clear()

    def _parameter(self, parameter: Parameter, kind: str) -> Any:
        p = self._ng.p
        if kind == _codec.UNIT:
            return p.Scalar(lower=0.0, upper=1.0)
        if kind == _codec.CATEGORY:
            return p.Choice(range(len(parameter.values or ())))
        if kind == _codec.INDEX:
            return p.TransitionChoice(range(len(parameter.values or ())))
        low, high = int(parameter.low), int(parameter.high)
        if high - low < 9:
            return p.TransitionChoice(range(low, high + 1))
        return p.Scalar(lower=low, upper=high).set_integer_casting()

    def suggest(self, n: int) -> Array:
        with self._running():
            if self._engine is None:
                self._start(n)
            candidates = [self._engine.ask() for _ in range(n)]
            X = self._codec.decode([candidate.value for candidate in candidates])
        self._pending.put(X, candidates)
        return X

    def observe(self, X: Array, y: Array, violations: Array | None = None) -> None:  # noqa: ARG002
        values = np.maximum(y[:, 0], LEAST).tolist()  # (np.maximum keeps a NaN)
        with self._running():
            for row, value in zip(np.ascontiguousarray(X, dtype=float), values, strict=True):
                candidate = self._pending.take(row)
                if candidate is not None:
                    self._engine.tell(candidate, value)
                elif self._engine is None:
                    self._early.append((row, value))
                else:
                    self._tell_foreign(row, value)

    def _tell_foreign(self, row: Array, value: float) -> None:
        given = self._codec.encode(row)
        child = self._engine.parametrization.spawn_child(new_value=np.array(given) if self._box else tuple(given))
        self._engine.tell(child, value)


class NevergradOnePlusOne(Nevergrad):
    """The (1+1) evolution strategy with the one-fifth rule: one point, a random step, the better one stays.

    Good for: a cheap and robust baseline, some hundreds of evaluations, noise aside. Why nevergrad: it is the one in
    the slides; `mutation="discrete"`, "fastga" or "lengler" suit spaces of integers and categories.
    """

    settings: ClassVar = {"mutation": choice("gaussian", MUTATIONS)}

    def _create(self, parametrization: Any, num_workers: int) -> Any:
        return self._ng.families.ParametrizedOnePlusOne(**self.chosen)(parametrization, None, num_workers)


def _popsize(value: Any) -> int | str:
    reader = choice("standard", POPULATIONS) if isinstance(value, str) else whole(None, 4)
    return reader.read(value)


class NevergradDE(Nevergrad):
    """Differential evolution, current to best, 30 members: differences of members are the steps.

    Good for: reals of different scales and many local minima, from some hundreds of evaluations on. Why nevergrad: it
    works point by point, where others wait for a generation; beside that, it is what nevergrad's own tables have.
    """

    settings: ClassVar = {
        "initialization": choice("parametrization", INITIAL),
        "crossover": number(0.5, 0.0, 1.0),
        "F1": number(0.8),
        "F2": number(0.8),
        "popsize": Setting(
            "standard", f"a whole number from 4 or one of {', '.join(POPULATIONS)}", _popsize, POPULATIONS
        ),
    }

    def _create(self, parametrization: Any, num_workers: int) -> Any:
        return self._ng.families.DifferentialEvolution(**self.chosen)(parametrization, None, num_workers)


class NevergradPSO(Nevergrad):
    """Particle swarm (SPSO 2011, 40 particles): points with a velocity, drawn to their own best and to the swarm's.

    Good for: smooth functions of reals, hundreds to thousands of evaluations. Why nevergrad: it goes point by point,
    and `omega`, `phip`, `phig` are those of the standard. It moves in a space that `transform` maps onto the box.
    """

    settings: ClassVar = {
        "transform": choice("arctan", TRANSFORMS),
        "popsize": whole(None, 2),
        "omega": number(0.5 / math.log(2.0)),
        "phip": number(0.5 + math.log(2.0)),
        "phig": number(0.5 + math.log(2.0)),
    }

    def _create(self, parametrization: Any, num_workers: int) -> Any:
        return self._ng.families.ConfPSO(**self.chosen)(parametrization, None, num_workers)


class NevergradNgIohTuned(Nevergrad):
    """nevergrad's wizard: chooses, by budget, dimension, batch and kind of space, among COBYLA, CMA-ES, DE and others.

    Good for: when nothing is known but the budget, which it uses: a study with another budget is another study.
    Why nevergrad: its best all-rounder by its authors' tables.

    Some of the methods keep their loop to themselves; nevergrad runs those in threads, which draw random numbers at
    any time and outlive a study. Here they run in greenlets instead: the same sequence, repeatable, and none is left.
    Its quadratic model relies on what NumPy 2.4 no longer does, an array of one number taken for a number: fixed
    here. A method that has converged is followed by random points, as nevergrad has it. Those methods take no points
    that they did not suggest. A batch larger than the first restarts it, for as many workers as there are points.
    """

    capabilities = Capabilities(array_native=True, unsuggested=False, uses_budget=True, failures="native")
    packages = ("nevergrad", "fcmaes")

    def __init__(self, space: Space, *, objectives: int = 1, rng: Rng = None, budget: int = 100) -> None:
        self._budget = budget
        self._loops: list[_Loop] = []
        super().__init__(space, objectives=objectives, rng=rng)

    def _create(self, parametrization: Any, num_workers: int) -> Any:
        try:
            engine = self._ng.optimizers.registry["NgIohTuned"](parametrization, self._budget, num_workers)
            engine.optim  # noqa: B018 (chooses its method)
        except ImportError as error:
            raise OptarenaError(f"NgIohTuned's choice for this budget cannot be imported: {error}") from error
        return engine

    @contextlib.contextmanager
    def _running(self) -> Iterator[None]:
        with super()._running():
            from nevergrad.optimization import metamodel, recaster

            def loop(caller: Callable[..., Any], *args: Any) -> _Loop:
                self._loops = [other for other in self._loops if other.is_alive()]
                self._loops.append(_Loop(caller, *args))
                return self._loops[-1]

            threads, recaster.MessagingThread = recaster.MessagingThread, loop
            metamodel.float = _number
            try:
                yield
            finally:
                recaster.MessagingThread = threads
                del metamodel.float

    def suggest(self, n: int) -> Array:
        if self._engine is not None and n > self._engine.num_workers:
            self._engine = None
            self._pending = Pending()
        return super().suggest(n)

    def _tell_foreign(self, row: Array, value: float) -> None:
        pass

    def close(self) -> None:
        """End the loops where they wait."""
        for loop in self._loops:
            loop.stop()
        self._loops.clear()
        self._engine = None


def _number(value: Any) -> float:
    return float(np.asarray(value).item())


class _Loop:
    """Stands for nevergrad's `MessagingThread`: a minimiser that calls its function, run in a greenlet."""

    def __init__(self, caller: Callable[..., Any], *args: Any) -> None:
        self.messages_ask = self.messages_tell = self
        self._end = _End()
        self._greenlet = greenlet(_minimise)
        self._told: Any = (self._end, caller, *args)  # what begins it; from then on, values

    @property
    def output(self) -> Any:
        return self._end.output

    @property
    def error(self) -> Exception | None:
        return self._end.error

    def is_alive(self) -> bool:
        return not self._greenlet.dead

    def get(self) -> Any:
        """The next point; None when the minimiser has ended, or what it raised."""
        self._greenlet.parent = getcurrent()
        told, self._told = self._told, None
        return self._greenlet.switch(told)

    def put(self, value: Any) -> None:
        self._told = value

    def stop(self) -> None:
        while self._greenlet:  # it has begun and not ended; again, if it calls its function after it was asked to stop
            self._greenlet.parent = getcurrent()
            self._greenlet.throw()


class _End:
    """How a minimiser ended; apart from its loop, which a greenlet that can reach it would keep alive for ever."""

    output: Any = None
    error: Exception | None = None


def _minimise(work: tuple[Any, ...]) -> Exception | None:
    end, caller, *args = work
    try:
        end.output = caller(_ask, *args)
    except Exception as error:
        end.error = error
    return end.error


def _ask(x: Any, *_: Any) -> Any:
    parent = getcurrent().parent
    assert parent is not None
    return parent.switch(x)
