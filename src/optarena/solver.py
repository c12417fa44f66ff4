"""The solver's contract and the registry of solvers. Running one, in a process of its own, lives in `runner`.

    class Shortest(optarena.Solver):
        takes = ("tsp",)
        def solve(self, instance, budget, emit):
            while budget.left() > 0:
                ...
                emit(length, tour)
            return "feasible"

A solver plus settings is a configuration; a trial is a seed.
"""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol

import msgspec

from optarena.errors import OptarenaError
from optarena.instance import Instance
from optarena.registry import Entry, Registry
from optarena.settings import Setting, choose, refuse_unknown
from optarena.status import ENDS

_now = time.perf_counter


class Time:
    """A budget in seconds, which runs from the moment that this is made."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.started = _now()

    def spent(self) -> float:
        """Seconds since it was made."""
        return _now() - self.started

    def left(self) -> float:
        """Seconds that are left, never below 0."""
        return max(0.0, self.seconds - self.spent())


class Emit(Protocol):
    """Reports a solution; False means that the solver should stop.

    Efforts go by the names that all solvers use here: decisions, conflicts, nodes, iterations, restarts.
    """

    def __call__(
        self,
        objective: float,
        solution: Any = None,
        *,
        bound: float | None = None,
        seconds: float | None = None,
        **efforts: float | None,
    ) -> bool: ...


class Ended(msgspec.Struct):
    """How a solver says that it ended: a word of `ENDS`, its last bound and counters, a remark."""

    status: str
    bound: float | None = None
    efforts: dict[str, float] = {}
    remark: str = ""


class Crashed(Exception):
    """Raised by a solver whose program died: the text says of what."""


class Solver:
    """Subclass it and define `solve`. Settings are declared (see `optarena.settings`); `self.chosen` has their values.

    `solve(instance, budget, emit)` reports each solution by `emit(objective, solution, bound=…, decisions=…, …)` and
    returns a word of `ENDS` or an `Ended`. Modules named in `modules` are imported before the clock starts. Building a
    model is part of solving. `self.seed` differs from trial to trial.
    """

    takes: tuple[str, ...] = ()
    """The forms of instances that it takes, best first (see `optarena.instance`)."""
    modules: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    """Distributions whose versions are kept with each study."""
    settings: ClassVar[Mapping[str, Setting]] = {}

    def __init__(self, *, seed: int = 0, **settings: Any) -> None:
        self.seed = seed
        self.chosen = choose(type(self).__name__, self.settings, settings, kind="solver")

    @classmethod
    def form(cls, instance: Instance) -> str:
        """The form in which it takes an instance: the first that both know, else empty."""
        return next((form for form in cls.takes if form in instance.forms), "")

    @classmethod
    def misfit(cls, instance: Instance, chosen: Mapping[str, Any]) -> str:  # noqa: ARG003
        """Why it cannot work on this instance, whose form it takes; empty if it can."""
        return ""

    @classmethod
    def versions(cls, chosen: Mapping[str, Any]) -> dict[str, str]:  # noqa: ARG003
        """Versions of programs, which no package tells; asked for where studies run."""
        return {}

    def solve(self, instance: Any, budget: Time, emit: Emit) -> str | Ended | None:
        """Work on an instance (in the form that `takes` chose) until it is solved or `budget.left()` is 0.

        Call `emit` for each better solution, and return if it says False. Returns how it ended: a word of
        `optarena.status.ENDS`, such as "optimal" or "feasible", an `Ended`, or None (feasible if it emitted anything).
        """
        raise NotImplementedError(f"{type(self).__name__} does not define solve(instance, budget, emit)")


SOLVERS: Registry[Entry] = Registry("solver", "solvers", entry=Entry, group="optarena.solvers")


def is_solver(name: str, base: Path | None = None) -> bool:
    """Whether a name stands for a solver: a registered one, a class of a file, or a program that a .toml describes."""
    reference = SOLVERS.reference(name, base)
    if reference.kind == "object":
        if not reference.contains(b"Solver"):
            return False
        found = reference.load()
        return isinstance(found, type) and issubclass(found, Solver)
    if reference.kind == "manifest":
        return not reference.describes("optimizer")
    return name in SOLVERS


def get_solver(name: str, base: Path | None = None) -> type[Solver]:
    """The class behind a registered name, behind `path/to/my.py:MySolver`, or behind `path/to/program.toml`."""
    found = SOLVERS.load(name, base)
    if not (isinstance(found, type) and issubclass(found, Solver)):
        raise OptarenaError(f"{name}: {found!r} is not a subclass of optarena.Solver")
    return found


def check_settings(cls: type[Solver], name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The values of all settings; one that the class does not have, or out of its limits, is refused."""
    own = inspect.signature(cls.__init__).parameters
    if cls.__init__ is not Solver.__init__:  # settings that are keywords of its own
        keywords = [key for key in own if key not in ("self", "seed", "settings")]
        if not any(p.kind is p.VAR_KEYWORD for p in own.values()):
            refuse_unknown(name, keywords, settings, kind="solver")
        settings = {key: value for key, value in settings.items() if key not in keywords}
        if not cls.settings:
            return dict(settings)
    return choose(name, cls.settings, settings, kind="solver")


def refusal(cls: type[Solver], problem: Any, seconds: float | None, chosen: Mapping[str, Any]) -> str | None:
    """Why this solver cannot work on this problem, or None."""
    if not isinstance(problem, Instance):
        return "is a solver and takes instances, not points of a space (docs/solvers.md)"
    if not cls.form(problem):
        return f"takes {' or '.join(cls.takes)}, the instance comes as {' or '.join(problem.forms)}"
    if seconds is None:
        return "is a solver and needs a budget in seconds"
    return cls.misfit(problem, chosen) or None


def as_ended(result: Any, solutions: int) -> Ended:
    """What `solve` returned, in one form; TypeError or ValueError says what is wrong with it."""
    if result is None:
        result = "feasible" if solutions else "no solution"
    ended = Ended(result) if isinstance(result, str) else result
    if not isinstance(ended, Ended):
        raise TypeError(f"solve returned {result!r:.60}, expected one of {', '.join(ENDS)}")
    if ended.status not in ENDS:
        raise ValueError(f"solve returned {ended.status!r}, expected one of {', '.join(ENDS)}")
    if ended.bound is not None and math.isnan(ended.bound):
        ended.bound = None
    return ended
