"""Models that software engineers search: POM3 (agile projects) and XOMO (effort, months, defects and risk).

    >>> from optarena.problem import build
    >>> build("se/xomo-osp").dimension
    20

Ids: `se/pom3a` to `se/pom3d`, and `se/pom3a/i2` for other draws of the projects (`se/pom3a` is instance 1);
`se/xomo-flight`, `-ground`, `-osp`, `-osp2`. No front is known. `_pom3` and `_xomo` have the models and their sources.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from optarena.problem import Objective, Problem, Suite
from optarena.problems import _pom3, _xomo
from optarena.space import Point, Space

REGISTERED = {"names": {"se": "SoftwareSuite"}}

WHOLE = ("inter_dependency", "team_size")


class POM3(Problem):
    """Decisions of an agile project: cost per requirement built (min), completion (max), idle teams (min)."""

    objectives = (Objective("cost"), Objective("completion", "max"), Objective("idle"))

    def __init__(self, name: str, instance: int) -> None:
        self.function, self.instance = name, instance
        ranges = _pom3.RANGES[name]
        low, high = ranges["size"]
        config: dict[str, Any] = {
            key: {"type": "int" if key in WHOLE else "real", "space": "linear", "range": list(limits)}
            for key, limits in ranges.items()
        }
        config["size"] = {"type": "int", "space": "log", "values": [s for s in _pom3.SIZES if low <= s <= high]}
        config["plan"] = {"type": "cat", "values": list(_pom3.PLANS)}
        self.space = Space(config)

    def evaluate(self, x: Point) -> list[float]:
        assert self.instance is not None
        return list(_pom3.simulate(_pom3.Decisions(**x), self.instance))


class XOMO(Problem):
    """Ratings of a project's drivers and its size: effort, months, defects and risk, all to be minimised.

    Drivers with one possible rating in a project are fixed, and no part of the space.
    """

    objectives = tuple(Objective(name) for name in ("effort", "months", "defects", "risk"))

    def __init__(self, name: str) -> None:
        self.function = name
        given = _xomo.PROJECTS[name.removeprefix("xomo-")]
        ranges = {driver: given.get(driver, _xomo.ratings(driver)) for driver in _xomo.DRIVERS}
        self.fixed = {driver: low for driver, (low, high) in ranges.items() if low == high}
        config = {
            driver: {"type": "int", "space": "linear", "range": list(limits)}
            for driver, limits in ranges.items()
            if driver not in self.fixed
        }
        self.space = Space({"kloc": {"type": "real", "space": "log", "range": list(given["kloc"])}, **config})

    def evaluate(self, x: Point) -> list[float]:
        drivers = {**self.fixed, **x}
        kloc = drivers.pop("kloc")
        measures = (_xomo.effort, _xomo.months, _xomo.defects)
        return [*(measure(kloc, drivers) for measure in measures), _xomo.risk(drivers)]


class SoftwareSuite(Suite):
    name = "se"
    summary = "models of software projects: POM3 a to d (three objectives), XOMO flight, ground, osp, osp2 (four)"

    def ids(self) -> Iterator[str]:
        yield from (f"se/{name}" for name in _pom3.RANGES)
        yield from (f"se/xomo-{name}" for name in _xomo.PROJECTS)

    def contains(self, id: str) -> bool:
        return _read(id) is not None

    def build(self, id: str) -> Problem:
        found = _read(id)
        if found is None:
            raise self.unknown(id)
        name, instance = found
        return POM3(name, instance) if name in _pom3.RANGES else XOMO(name)


def _read(id: str) -> tuple[str, int] | None:
    """The model and the instance that an id names."""
    found = re.fullmatch(r"se/([a-z0-9-]+)(?:/i([1-9][0-9]{0,8}))?", id)
    if found is None:
        return None
    name, instance = found[1], found[2]
    if name in _pom3.RANGES:
        return name, int(instance or 1)
    return (name, 1) if name.removeprefix("xomo-") in _xomo.PROJECTS and name[:5] == "xomo-" and not instance else None
