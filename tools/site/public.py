"""The public API: what others may build on. The site shows it, a test keeps it, CONTRIBUTING.md names its modules."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

EVERYTHING: tuple[str, ...] = ()
"""Of a module: all that its `__all__` lists."""

MODULES: dict[str, tuple[str, ...]] = {
    "optarena": EVERYTHING,
    "optarena.solver": ("Time", "Emit", "Ended", "Crashed"),
    "optarena.instance": ("Linear", "LinearPoint"),
    "optarena.settings": ("Setting", "number", "whole", "flag", "text", "choice"),
    "optarena.testing": EVERYTHING,
    "optarena.formats": ("import_files", "export"),
    "optarena.archive": ("publish", "check_bundle", "Bundle", "Checked"),
    "optarena.bayesmark": ("Launch", "put_into_database"),
    "optarena.comparison": EVERYTHING,
    "optarena.views": EVERYTHING,
    "optarena.views.fixed_cost": EVERYTHING,
    "optarena.views.fixed_target": EVERYTHING,
    "optarena.views.pareto": EVERYTHING,
    "optarena.views.anytime": EVERYTHING,
    "optarena.stats": EVERYTHING,
}

RETURNED = {
    "View": "optarena.views._view",
    "Scores": "optarena.views._scores",
    "Answer": "optarena.comparison.answer",
    "Ranks": "optarena.comparison.by_problem",
    "Importance": "optarena.views.importance",
    "Recommendation": "optarena.trying",
    "Plan": "optarena.experiment.plan",
    "Traces": "optarena.traces",
}
"""Classes whose objects public functions return. Their members are public, the modules that they come from are not."""


def names_of(module: str) -> list[str]:
    """The public names of a module."""
    listed = MODULES[module] or importlib.import_module(module).__all__
    return [name for name in listed if not name.startswith("_")]


def everything() -> dict[str, Any]:
    """Every public thing by its name: those of `optarena` without a module, those of modules with it."""
    found = {}
    for module in MODULES:
        for name in names_of(module):
            found[f"{module}.{name}".removeprefix("optarena.")] = getattr(importlib.import_module(module), name)
    for name, module in RETURNED.items():
        found[name] = getattr(importlib.import_module(module), name)
    return found


def members(cls: type) -> dict[str, Any]:
    """What the class and the classes of ours that it inherits from define."""
    ours = [part for part in cls.__mro__ if part.__module__.partition(".")[0] == "optarena"]
    names = {name for part in ours for name in vars(part) if not name.startswith("_")}
    return {name: inspect.getattr_static(cls, name) for name in sorted(names)}
