"""The optimizer's contract and the registry of optimizers. The loop that drives one lives in `runner`.

class Halving(optarena.Optimizer):
    def suggest(self, n):
        return [...]            # n points: dicts, one value a parameter
    def observe(self, X, y):
        ...                     # X: points as suggested, y: (n, m) to be minimised, NaN where an evaluation failed
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import msgspec
import numpy as np

from optarena._plugins import file_of, load_object, plugins, source_hash
from optarena.errors import OptarenaError, describe, nearest
from optarena.settings import Setting, choose, refuse_unknown
from optarena.space import Array, Point, Space


class Capabilities(msgspec.Struct, frozen=True):
    """What an optimizer can do. A pairing that asks for more is refused when planning."""

    batch: bool = True
    """May be asked for several points at once."""
    unsuggested: bool = True
    """May be told of points that it never suggested."""
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

    def __init__(
        self, space: Space, *, objectives: int = 1, rng: np.random.Generator | None = None, **settings: Any
    ) -> None:
        self.space = space
        self.objectives = objectives
        self.rng = rng if rng is not None else np.random.default_rng()
        name = registered_name(type(self)) if settings else ""
        self.chosen = choose(name, self.settings, settings)
        if settings and (trouble := self.conflict(self.chosen, space.dimension)):
            raise OptarenaError(f"{name}: {trouble}")

    @classmethod
    def conflict(cls, chosen: Mapping[str, Any], dimension: int | None) -> str:  # noqa: ARG003
        """Why settings do not go together, or (where it is known) with so many dimensions; empty if they do."""
        return ""

    def suggest(self, n: int) -> Sequence[Point] | Array:
        raise NotImplementedError(f"{type(self).__name__} does not define suggest(n)")

    def observe(self, X: Any, y: Array, violations: Array | None = None) -> None:
        """Learn; the default learns nothing. `violations` is given to those whose capabilities say `constraints`."""

    def close(self) -> None:
        """Called once at the end of a study, however it ended."""


class Library(msgspec.Struct, frozen=True):
    """What is known of a library, so that a reader can judge whether to rely on it."""

    licence: str
    last_release: int | None = None
    """The year, where a library had no release for two years and is taken for unmaintained."""


LIBRARIES = {
    "optarena": Library("BSD-3-Clause"),
    "ax-platform": Library("MIT"),
    "botorch": Library("MIT"),
    "cma": Library("BSD-3-Clause"),
    "hyperopt": Library("BSD-3-Clause"),
    "nevergrad": Library("MIT"),
    "nlopt": Library("MIT"),
    "opentuner": Library("MIT", last_release=2022),
    "optuna": Library("MIT"),
    "Py-BOBYQA": Library("GPL-3.0-or-later"),
    "pymoo": Library("Apache-2.0"),
    "pySOT": Library("BSD-3-Clause", last_release=2020),
    "scikit-optimize": Library("BSD-3-Clause", last_release=2024),
    "scipy": Library("BSD-3-Clause"),
    "smac": Library("BSD-3-Clause"),
    "syne-tune": Library("Apache-2.0"),
}


class Entry(msgspec.Struct, frozen=True):
    """A registered optimizer, known without importing it."""

    name: str
    target: str
    library: str = "optarena"
    extra: str | None = None
    needs: str | tuple[str, ...] | None = None
    """The module, or the modules, whose absence means that the extra is not installed."""

    group: ClassVar[str] = "optarena.optimizers"
    libraries: ClassVar[Mapping[str, Library]] = LIBRARIES

    @property
    def modules(self) -> tuple[str, ...]:
        return (self.needs,) if isinstance(self.needs, str) else self.needs or ()

    @property
    def installed(self) -> bool:
        return all(importlib.util.find_spec(module) is not None for module in self.modules)

    @property
    def licence(self) -> str:
        """The library's licence; of a plug-in, what its package says."""
        if self.library in self.libraries:
            return self.libraries[self.library].licence
        try:
            facts = importlib.metadata.metadata(self.library)
        except importlib.metadata.PackageNotFoundError:
            return "?"
        said = [facts[key].strip() for key in ("License-Expression", "License") if key in facts]
        return next((text.splitlines()[0] for text in said if text), "?")

    @property
    def maintained(self) -> str:
        """Yes, or no and since when; of a plug-in nothing is known."""
        library = self.libraries.get(self.library)
        if library is None:
            return "?"
        return "yes" if library.last_release is None else f"no (last release {library.last_release})"

    def load(self) -> Any:
        """The object behind the target; the adapters of ours load without their library."""
        return importlib.metadata.EntryPoint(self.name, self.target, self.group).load()


def _family(
    library: str,
    module: str,
    classes: dict[str, str],
    extra: str | None = None,
    needs: tuple[str, ...] | None = None,
) -> list[Entry]:
    """The entries of one adapter module: registered name to class; an extra usually installs what it is called."""
    target = f"optarena.optimizers.{module}"
    return [Entry(name, f"{target}:{cls}", library, extra, needs or extra) for name, cls in classes.items()]


BUILT_IN = {
    entry.name: entry
    for entry in (
        Entry("RandomSearch", "optarena.optimizers.random_search:RandomSearch"),
        Entry("QuasiRandom", "optarena.optimizers.quasi_random:QuasiRandom", library="scipy"),
        *_family("cma", "cma_optimizers", {"CMA-ES": "CMAES"}, extra="cma"),
        *_family(
            "pymoo",
            "pymoo_optimizers",
            {"Pymoo-GA": "PymooGA", "Pymoo-DE": "PymooDE", "Pymoo-PSO": "PymooPSO"},
            extra="pymoo",
        ),
        *_family(
            "pymoo",
            "pymoo_pareto",
            {
                "Pymoo-NSGA2": "PymooNSGA2",
                "Pymoo-NSGA3": "PymooNSGA3",
                "Pymoo-SPEA2": "PymooSPEA2",
                "Pymoo-SMSEMOA": "PymooSMSEMOA",
                "Pymoo-MOEAD": "PymooMOEAD",
                "Pymoo-GDE3": "PymooGDE3",
                "Pymoo-CMOPSO": "PymooCMOPSO",
            },
            extra="pymoo",
        ),
        *_family(
            "optuna",
            "optuna_optimizers",
            {"Optuna-TPE": "OptunaTPE", "Optuna-NSGA2": "OptunaNSGA2", "Optuna-NSGA3": "OptunaNSGA3"},
            extra="optuna",
        ),
        *_family("optuna", "optuna_optimizers", {"Optuna-CMAES": "OptunaCMAES"}, "optuna", ("optuna", "cmaes")),
        *_family("optuna", "optuna_optimizers", {"Optuna-GP": "OptunaGP"}, "optuna-gp", ("optuna", "torch")),
        *_family(
            "scipy",
            "scipy_optimizers",
            {
                "SimulatedAnnealing": "SimulatedAnnealing",
                "Scipy-NelderMead": "NelderMead",
                "Scipy-Powell": "Powell",
                "Scipy-COBYLA": "COBYLA",
                "Scipy-COBYQA": "COBYQA",
                "Scipy-LBFGSB": "LBFGSB",
                "Scipy-SLSQP": "SLSQP",
                "Scipy-DualAnnealing": "SimulatedAnnealing",
                "Scipy-DifferentialEvolution": "DifferentialEvolution",
                "Scipy-DIRECT": "DIRECT",
                "Scipy-SHGO": "SHGO",
                "Scipy-BasinHopping": "BasinHopping",
            },
        ),
        *_family(
            "nlopt",
            "nlopt_optimizers",
            {
                "NLopt-BOBYQA": "BOBYQA",
                "NLopt-CRS2": "CRS2",
                "NLopt-SBPLX": "SBPLX",
            },
            extra="nlopt",
        ),
        *_family("hyperopt", "hyperopt_optimizers", {"HyperOpt": "HyperOpt"}, extra="hyperopt"),
        *_family(
            "nevergrad",
            "nevergrad_optimizers",
            {
                "Nevergrad-OnePlusOne": "NevergradOnePlusOne",
                "Nevergrad-NgIohTuned": "NevergradNgIohTuned",
                "Nevergrad-DE": "NevergradDE",
                "Nevergrad-PSO": "NevergradPSO",
            },
            extra="nevergrad",
        ),
        *_family(
            "scikit-optimize",
            "skopt_optimizers",
            {
                "Scikit-GBRT-Hedge": "ScikitGBRTHedge",
                "Scikit-GP-Hedge": "ScikitGPHedge",
                "Scikit-GP-LCB": "ScikitGPLCB",
            },
            extra="skopt",
        ),
        *_family("pySOT", "pysot_optimizers", {"PySOT": "PySOT"}, "pysot", ("pySOT", "poap", "six")),
        *_family(
            "opentuner",
            "opentuner_optimizers",
            {
                "OpenTuner-BanditA": "OpenTunerBanditA",
                "OpenTuner-GA": "OpenTunerGA",
                "OpenTuner-GA-DE": "OpenTunerGADE",
            },
            extra="opentuner",
        ),
        *_family("botorch", "botorch_optimizers", {"BoTorch": "BoTorch"}, extra="botorch"),
        *_family("ax-platform", "ax_optimizers", {"Ax": "Ax"}, extra="ax"),
        *_family("smac", "smac_optimizers", {"SMAC": "SMAC"}, extra="smac"),
        *_family(
            "syne-tune",
            "synetune_optimizers",
            {"SyneTune-CQR": "CQR", "SyneTune-BORE": "BORE", "SyneTune-KDE": "KDE", "SyneTune-REA": "REA"},
            extra="synetune",
            needs=("syne_tune", "huggingface_hub"),
        ),
        *_family("Py-BOBYQA", "pybobyqa_optimizers", {"Py-BOBYQA": "PyBOBYQA"}, extra="pybobyqa"),
    )
}


def entries() -> list[Entry]:
    """Every optimizer that is registered: ours, then those plugged in by the entry point `optarena.optimizers`."""
    others = [
        Entry(name, entry.value, library=entry.dist.name if entry.dist else "?")
        for name, entry in sorted(plugins("optarena.optimizers").items())
        if name not in BUILT_IN
    ]
    return [*BUILT_IN.values(), *others]


def is_file(name: str) -> bool:
    """Whether a name stands for a user's own: `my.py:Class`, `my.py`, `folder:Name` or `path/to/folder`."""
    return ":" in name or "/" in name or name.endswith(".py")


def _is_wrapper(name: str, base: Path | None) -> bool:
    """Whether a user's own was written for Bayesmark: only then `bayesmark` is not what is installed."""
    if ".py:" not in name:
        return is_file(name)
    file = file_of(name, base)
    return file.is_file() and b"bayesmark" in file.read_bytes()


def source_of(name: str, base: Path | None = None) -> str | None:
    """The hash of a user's own files, for the card; None for a registered optimizer."""
    if _is_wrapper(name, base):
        from optarena.bayesmark import wrappers as bayesmark_wrappers

        return bayesmark_wrappers.load(bayesmark_wrappers.find(name, base))[1]
    return source_hash(file_of(name, base)) if is_file(name) else None


def get_optimizer(name: str, base: Path | None = None) -> type[Optimizer]:
    """The class behind a registered name, behind `path/to/my.py:MyOptimizer`, or behind a wrapper for Bayesmark."""
    if _is_wrapper(name, base):
        from optarena.bayesmark import wrappers as bayesmark_wrappers

        wrapper = bayesmark_wrappers.find(name, base)
        found, where = bayesmark_wrappers.load(wrapper)[0], name
    elif is_file(name):
        found, _ = load_object(name, base)
        where = name
    else:
        where = f"optimizer {name!r}"
        entry = BUILT_IN.get(name) or {e.name: e for e in entries()}.get(name)
        if entry is None:
            known = [e.name for e in entries()]
            raise OptarenaError(
                f"no optimizer named {name!r}.{nearest(name, known)} (optarena list optimizers shows all {len(known)})"
            )
        if not entry.installed:
            raise OptarenaError(f"{name} needs the extra {entry.extra!r}: pip install 'optarena[{entry.extra}]'")
        try:
            found = entry.load()
        except Exception as error:
            raise OptarenaError(f"{where} of {entry.library} does not load: {describe(error)}") from error
    if not (isinstance(found, type) and issubclass(found, Optimizer)):
        raise OptarenaError(f"{where}: {found!r} is not a subclass of optarena.Optimizer")
    return found


def ready_optimizer(name: str, base: Path | None = None) -> type[Optimizer]:
    """The class, its library imported: what that takes is no part of a study's time. What fails fails in the study."""
    from optarena.optimizers._global_state import import_apart

    found = get_optimizer(name, base)
    for module in BUILT_IN[name].modules if name in BUILT_IN else ():
        with contextlib.suppress(Exception):
            import_apart(module)
    return found


def is_random_search(label: str) -> bool:
    """Whether tables call random search so, in any version: scores are measured against it (SCORES 1)."""
    return label.partition("_")[0] == "RandomSearch"


def registered_name(cls: type[Optimizer]) -> str:
    """The name by which a class is known: the first that it is registered under, else its own."""
    target = f"{cls.__module__}:{cls.__qualname__}"
    return next((entry.name for entry in BUILT_IN.values() if entry.target == target), cls.__name__)


def check_settings(cls: type[Optimizer], name: str, settings: Mapping[str, Any], dimension: int | None = None) -> None:
    """Refuse a setting that the class does not have, or that is out of its limits, before anything runs."""
    parameters = inspect.signature(cls.__init__).parameters
    any_more = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    if any_more and not cls.settings and cls.__init__ is not Optimizer.__init__:
        return
    reserved = {"self", "space", "objectives", "rng", "budget"}
    own = [key for key, p in parameters.items() if key not in reserved and p.kind is not p.VAR_KEYWORD]
    declared = cls.settings if any_more else {}
    refuse_unknown(name, [*own, *declared], settings)
    chosen = choose(name, declared, {key: value for key, value in settings.items() if key not in own})
    if declared and (trouble := cls.conflict(chosen, dimension)):
        raise OptarenaError(f"{name}: {trouble}")
