"""An optimizer or solver as an experiment uses it: what it is, its settings, its name in tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from optarena._source import class_hash
from optarena._text import all_without_places
from optarena.errors import OptarenaError, nearest
from optarena.optimizer import OPTIMIZERS, Optimizer, get_optimizer
from optarena.registry import Reference
from optarena.settings import read_call, written_call
from optarena.solver import SOLVERS, Solver, get_solver

Named: TypeAlias = "str | Use | type[Optimizer] | type[Solver]"
"""How an optimizer is given: a name, a file reference, a class, or any of these with settings; or all in one text,
`CMA-ES(popsize=8)`."""


FIELDS = ("use", "settings", "name", "isolated")
"""Of an optimizer in an experiment's file."""


class Use(msgspec.Struct, frozen=True, omit_defaults=True, dict=True):
    """An optimizer (or solver) as an experiment uses it: a registered name or a file, settings, its name in tables."""

    use: str
    settings: dict[str, Any] = {}
    name: str = ""
    isolated: bool = False
    """Whether it works in an environment of its own: where it works, not what it is (docs/environments.md)."""

    @property
    def label(self) -> str:
        return self.name or _label(OPTIMIZERS.reference(self.use).title, self.settings)

    @property
    def given(self) -> type[Optimizer] | None:
        """The class itself, where only this process has it: no part of the plain data."""
        return self.__dict__.get("given")

    def __repr__(self) -> str:
        """As it is written in Python: use('CMA-ES', popsize=8)."""
        what = repr(self.use) if self.given is None else self.given.__name__
        usual = "" if self.given is None else _label(what, self.settings)
        named = [f"name={self.name!r}"] if self.name != usual else []
        named += ["isolated=True"] * self.isolated
        return f"use({', '.join([what, *named, *(f'{key}={value!r}' for key, value in self.settings.items())])})"

    @property
    def identity(self) -> str:
        """The part of a study's id: the name without directories."""
        return OPTIMIZERS.reference(self.use).short


def _label(base: str, settings: Mapping[str, Any]) -> str:
    if not settings:
        return base
    # a name is shown and mailed: files are named without their directories
    told = {key: all_without_places(value) for key, value in settings.items()}
    return written_call(base, told)


def use(
    optimizer: str | type[Optimizer] | type[Solver], /, *, name: str = "", isolated: bool = False, **settings: Any
) -> Use:
    """An optimizer with settings: `use("QuasiRandom", sequence="halton")`, or `use(MyOptimizer)`, a class.

    isolated: one of ours in an environment of its own (docs/environments.md).
    """
    used = _used(optimizer, settings, name)
    return msgspec.structs.replace(used, isolated=True) if isolated else used


def apart(item: Use) -> Use:
    """The same in an environment of its own, where it is one of ours that needs a library; a program has its own."""
    entry = OPTIMIZERS.built_in.get(item.use)
    return msgspec.structs.replace(item, isolated=True) if entry is not None and entry.extra is not None else item


def _used(optimizer: Any, settings: dict[str, Any], name: str = "") -> Use:
    """A class is used by the name or the file under which any process finds it, where it has one."""
    if isinstance(optimizer, str):
        return Use(optimizer, settings, name)
    if not (isinstance(optimizer, type) and issubclass(optimizer, (Optimizer, Solver))):
        raise OptarenaError(
            f"expected a name, 'file.py:Class' or a subclass of optarena.Optimizer, got {optimizer!r}",
            field="optimizers",
        )
    registry = OPTIMIZERS if issubclass(optimizer, Optimizer) else SOLVERS
    known = registry.name_of(optimizer)
    if known is not None:
        return Use(known, settings, name)
    title = optimizer.__name__
    reference = Reference.of_class(optimizer)
    if reference is not None:
        found: type = get_optimizer(reference.text) if registry is OPTIMIZERS else get_solver(reference.text)
        if class_hash(found) != class_hash(optimizer):
            raise OptarenaError(
                f"{title} was changed after it was loaded from {reference.place}, and workers load the file: put the"
                " change into it, or make it a setting",
                field="optimizers",
            )
        return Use(reference.text, settings, name)
    if issubclass(optimizer, Solver):
        raise OptarenaError(
            f"every run of a solver is a process of its own, and only this process has {title}: put it in a"
            " file and name it 'file.py:Class'",
            field="optimizers",
        )
    out = Use(f"{optimizer.__module__}.{title}", settings, name or _label(title, settings))
    out.__dict__["given"] = optimizer
    return out


def label_of(item: Named) -> str:
    """What tables call an optimizer, however it is given; a text is taken for such a name."""
    return item if isinstance(item, str) else as_use(item, 0).label


def as_use(item: Any, index: int, where: str = "optimizers") -> Use:
    """What a list of optimizers or solvers has at an index: a name, a class, or a table."""
    if isinstance(item, Use):
        return item
    if isinstance(item, str):
        name, settings = read_call(item)
        return Use(name, settings)
    if isinstance(item, type):
        return _used(item, {})
    field = f"{where}[{index}]"
    if not isinstance(item, Mapping):
        raise OptarenaError(
            f"expected a name, a class or a table {{use = …, settings = {{…}}}}, got {item!r}", field=field
        )
    for key in item:
        if key not in FIELDS:
            hint, known = nearest(str(key), FIELDS), ", ".join(FIELDS)
            raise OptarenaError(f"no such field.{hint} (known: {known})", field=f"{field}.{key}")
    if not isinstance(item.get("use"), (str, type)):
        raise OptarenaError(
            f"missing; name an optimizer or a solver (optarena list {where} shows all)", field=f"{field}.use"
        )
    if not isinstance(item.get("settings", {}), Mapping):
        raise OptarenaError(f"expected a table, got {item['settings']!r}", field=f"{field}.settings")
    if not isinstance(item.get("name", ""), str):
        raise OptarenaError(f"expected a text, got {item['name']!r}", field=f"{field}.name")
    if not isinstance(item.get("isolated", False), bool):
        raise OptarenaError(f"expected true or false, got {item['isolated']!r}", field=f"{field}.isolated")
    return use(item["use"], name=item.get("name", ""), isolated=item.get("isolated", False), **item.get("settings", {}))
