"""The optimizer's contract and the registry of optimizers. The loop that drives one lives in `runner`.

class Halving(optarena.Optimizer):
    def suggest(self, n):
        return [...]            # n points: dicts, one value per parameter
    def observe(self, X, y):
        ...                     # X: points as suggested, y: (n, m) to be minimised, NaN where an evaluation failed
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import msgspec
import numpy as np

from optarena._global_state import import_apart
from optarena._numbers import counted
from optarena.costs import added, as_costs
from optarena.errors import OptarenaError
from optarena.registry import Entry, Registry
from optarena.settings import Setting, choose, refuse_unknown
from optarena.space import Array, Point, Space


class Capabilities(msgspec.Struct, frozen=True):
    """What an optimizer can do. A pairing that asks for more is refused when planning."""

    batch: bool = True
    """May be asked for several points at once."""
    unsuggested: bool = True
    """May observe points that it never suggested."""
    mixed: bool = True
    """Takes integers, bools, categories and ordinals as well as reals."""
    one_objective: bool = True
    several_objectives: bool = False
    constraints: bool = False
    """Takes constraint violations, as a third argument of `observe`: (n, k), feasible where <= 0; k may be 0."""
    array_native: bool = False
    """Speaks the matrix form of a space (see `optarena.space`) instead of dicts."""
    uses_budget: bool = False
    """Takes `budget`, the number of evaluations to come, as a keyword; its studies cannot be extended."""
    ahead: bool = False
    """Does not learn, never ends, and n points at once are the same as n times one: may be asked ahead of its batch."""
    own_process: bool = False
    """Leaves something behind (threads, global state), so each study gets a process of its own."""
    failures: Literal["native", "skipped", "worst"] = "native"
    """How it tells its library that an evaluation failed."""


class Optimizer:
    """Subclass it, define `suggest` and (if it learns) `observe`. Settings are keyword arguments of `__init__`.

    They are parameters of an `__init__` of its own, or declared in `settings` (see `optarena.settings`).
    """

    capabilities: Capabilities = Capabilities()
    packages: tuple[str, ...] = ()
    """Distributions whose versions are kept with each study."""
    settings: ClassVar[Mapping[str, Setting]] = {}
    """What may be set, with its default and its limits; the values of an instance are in `chosen`."""
    on_several: ClassVar[str] = ""
    """The optimizer of the same kind for several objectives, which a refusal names."""
    wraps: tuple[str, ...] = ()
    """The registered names of the optimizers that it drives."""
    charged: Mapping[str, float] = MappingProxyType({})
    """What it has charged, until the loop takes it."""

    def __init__(
        self, space: Space, *, objectives: int = 1, rng: np.random.Generator | None = None, **settings: Any
    ) -> None:
        self.space = space
        self.objectives = objectives
        self.rng = rng if rng is not None else np.random.default_rng()
        name = (OPTIMIZERS.name_of(type(self)) or type(self).__name__) if settings else ""
        self.chosen = choose(name, self.settings, settings)
        if settings and (trouble := self.conflict(self.chosen, space.dimension)):
            raise OptarenaError(f"{name}: {trouble}")

    def __repr__(self) -> str:
        chosen = "".join(f", {key}={value!r}" for key, value in getattr(self, "chosen", {}).items())
        size = f" for {counted(self.space.dimension, 'parameter')}" if hasattr(self, "space") else ""
        return f"<{type(self).__name__}{size}{chosen}>"

    @classmethod
    def conflict(cls, chosen: Mapping[str, Any], dimension: int | None) -> str:  # noqa: ARG003
        """Why settings do not go together, or (where it is known) with this number of dimensions; empty if they do."""
        return ""

    @classmethod
    def as_used(cls, settings: Mapping[str, Any]) -> type[Optimizer]:  # noqa: ARG003
        """The class with the capabilities that it has with these settings: itself, where they do not matter."""
        return cls

    @classmethod
    def versions(cls, chosen: Mapping[str, Any]) -> dict[str, str]:  # noqa: ARG003
        """Versions of programs, which no package tells; asked for where studies run."""
        return {}

    def suggest(self, n: int) -> Sequence[Point] | Array:
        """The next n points: dicts with a value for each parameter, or a matrix if the capabilities say `array_native`.

        Raise `optarena.Exhausted` where there is nothing more to try: the study then ends before its budget.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define suggest(n)")

    def observe(self, X: Any, y: Array, violations: Array | None = None) -> None:
        """Learn from values; the default learns nothing.

        X: the points as they were suggested. y: (n, objectives), to be minimised, NaN where an evaluation failed.
        violations: (n, k), feasible where <= 0; given only if the capabilities say `constraints`.
        """

    def charge(self, **costs: float) -> None:
        """Say what it has spent beside time since it last said so: `tokens`, `money`, `joules` (docs/scores.md 0.7)."""
        self.charged = added(self.charged, as_costs(costs))

    def take_charges(self) -> Mapping[str, float]:
        """What it has charged since this was last asked for."""
        taken, self.charged = self.charged, {}
        return taken

    def close(self) -> None:
        """Called once at the end of a study, however it ended."""


OPTIMIZERS: Registry[Entry] = Registry(
    "optimizer", "optimizers", "bayesmark.wrappers", entry=Entry, group="optarena.optimizers", folders=True
)


def get_optimizer(name: str, base: Path | None = None) -> type[Optimizer]:
    """The class behind a registered name, behind `path/to/my.py:MyOptimizer`, or behind a wrapper for Bayesmark."""
    found = OPTIMIZERS.load(name, base)
    if not (isinstance(found, type) and issubclass(found, Optimizer)):
        raise OptarenaError(f"{name}: {found!r} is not a subclass of optarena.Optimizer")
    return found


def ready_optimizer(name: str, base: Path | None, settings: Mapping[str, Any]) -> type[Optimizer]:
    """The class as it is used, its libraries imported: which is not part of a study's time. What fails fails in the
    study."""
    found = get_optimizer(name, base).as_used(settings)
    for used in (name, *found.wraps):
        for module in OPTIMIZERS.built_in[used].needs if used in OPTIMIZERS.built_in else ():
            with contextlib.suppress(Exception):
                import_apart(module)
    return found


def is_random_search(label: str) -> bool:
    """Whether tables call random search so, in any version: scores are measured against it (docs/scores.md 1.4)."""
    return label.partition("_")[0] == "RandomSearch"


def check_settings(cls: type[Optimizer], name: str, settings: Mapping[str, Any], dimension: int | None = None) -> None:
    """Refuse a setting that the class does not have, or that is out of its limits, before anything runs."""
    parameters = inspect.signature(cls.__init__).parameters
    any_more = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    if any_more and cls.settings is Optimizer.settings and cls.__init__ is not Optimizer.__init__:
        return  # it declares nothing, and takes whatever it is given
    reserved = {"self", "space", "objectives", "rng", "budget"}
    own = [key for key, p in parameters.items() if key not in reserved and p.kind is not p.VAR_KEYWORD]
    declared = cls.settings if any_more else {}
    refuse_unknown(name, [*own, *declared], settings)
    chosen = choose(name, declared, {key: value for key, value in settings.items() if key not in own})
    if declared and (trouble := cls.conflict(chosen, dimension)):
        raise OptarenaError(f"{name}: {trouble}")
