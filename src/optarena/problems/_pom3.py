"""POM3: teams of an agile project choose which requirements to build next.

Port, Olkov & Menzies ("Using simulation to investigate requirements prioritization strategies", ASE 2008) after Boehm &
Turner's model of agile and planned development; POM3 and its projects as in Krall, Menzies & Davies ("GALE", IEEE TSE
2015). Requirements are trees; each has a cost and a value, from 1 to 100. Before one can be built, its children must
be, and those that it depends on, which other teams may have. Most are unknown at first and appear as the project goes
on, while their values change. In each sprint each team puts what it knows and can build in order, by its plan, and
builds what its budget pays for. Written anew from these descriptions; numbers that the papers leave open (the odds of
children and dependencies, how fast values change) are those of Krall's program.

Everything that is drawn at random (the trees, costs, values, sprints, when requirements appear) is drawn beforehand,
from the instance and the size: a project is a deterministic function of its decisions, and two decisions meet the same
luck.
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from optarena.space import Array

SIZES = (3, 10, 30, 100, 300)
PEOPLE = 2.5
"""Trees of requirements per unit of size, and as many people."""
CHILDREN = ((0.015, 5), (0.030, 4), (0.060, 3), (0.120, 2), (0.240, 1))
"""A requirement has so many children, where a uniform number is at most this."""
DEPENDENT = (0.015, 0.030, 0.060, 0.120, 0.240, 0.500)
"""How likely a requirement (one child per parent) may depend on one of the next tree, on the same level: by level."""
GREATEST_CHANGE = 1500.0
PLANS = ("cost ascending", "cost descending", "value ascending", "value descending", "cost/value ascending")
STAFF = ((0.45, 0.40, 0.15), (0.50, 0.30, 0.20), (0.55, 0.20, 0.25), (0.60, 0.10, 0.30), (0.65, 0.00, 0.35))
"""By size: which parts of a team are of Boehm & Turner's levels alpha, beta and gamma (the more experienced)."""
WAGES = (1.0, 1.22, 1.6)

RANGES: dict[str, dict[str, tuple[float, float]]] = {
    "pom3a": {
        "culture": (0.1, 0.9),
        "criticality": (0.82, 1.26),
        "criticality_modifier": (2, 10),
        "initial_known": (0.4, 0.7),
        "inter_dependency": (0, 100),
        "dynamism": (1, 50),
        "size": (3, 300),
        "team_size": (1, 44),
    },
    "pom3b": {
        "culture": (0.1, 0.9),
        "criticality": (0.82, 1.26),
        "criticality_modifier": (80, 95),
        "initial_known": (0.4, 0.7),
        "inter_dependency": (0, 100),
        "dynamism": (1, 50),
        "size": (3, 30),
        "team_size": (1, 20),
    },
    "pom3c": {
        "culture": (0.5, 0.9),
        "criticality": (0.82, 1.26),
        "criticality_modifier": (2, 8),
        "initial_known": (0.2, 0.5),
        "inter_dependency": (0, 50),
        "dynamism": (40, 50),
        "size": (30, 300),
        "team_size": (20, 44),
    },
    "pom3d": {
        "culture": (0.1, 0.2),
        "criticality": (0.82, 1.26),
        "criticality_modifier": (2, 8),
        "initial_known": (0.6, 0.95),
        "inter_dependency": (80, 100),
        "dynamism": (1, 10),
        "size": (3, 30),
        "team_size": (10, 20),
    },
}
"""a: a broad space of projects; b: highly critical small ones; c: highly dynamic large ones; d: small ones with teams
that depend on each other and change little."""


class Decisions(NamedTuple):
    """What is decided of a project, by its names in `RANGES`, and the plan."""

    culture: float
    criticality: float
    criticality_modifier: float
    initial_known: float
    inter_dependency: float
    dynamism: float
    size: int
    team_size: int
    plan: str


class Outcome(NamedTuple):
    """Cost per requirement that was built; the parts of the known requirements that were built, and of those that could
    be built that were not."""

    cost: float
    completion: float
    idle: float


@dataclass(frozen=True)
class Project:
    """All that is drawn at random of an instance of a size."""

    cost: Array
    value: Array
    children: tuple[tuple[int, ...], ...]
    dependencies: tuple[tuple[int, int, float], ...]
    """Who depends on whom where inter-dependency is at least this percentage."""
    sprints: int
    appear: Array
    """(people, …): in units of 1/rate, when requirements of each team appear."""
    change: Array
    """(sprints, requirements): uniform numbers."""


@functools.cache
def project(instance: int, size: int) -> Project:
    """The same whenever it is asked for."""
    rng = np.random.default_rng([3, instance, size])
    trees = int(PEOPLE * size)
    children: list[tuple[int, ...]] = []
    levels: list[dict[int, list[int]]] = []
    """Of each tree, the requirements on each level."""

    def grow(level: int, tree: dict[int, list[int]]) -> int:
        at = len(children)
        children.append(())
        tree.setdefault(level, []).append(at)
        drawn = rng.random()
        count = next((count for odds, count in CHILDREN if drawn <= odds), 0)
        children[at] = tuple(grow(level + 1, tree) for _ in range(count))
        return at

    for _ in range(trees):
        levels.append({})
        grow(0, levels[-1])
    dependencies = []
    for tree, following in itertools.pairwise(levels):
        for level, members in tree.items():
            if level not in following:
                continue
            parents = tree.get(level - 1, [])
            candidates = [list(children[parent]) for parent in parents if children[parent]] if level else [members]
            for siblings in candidates:
                if rng.random() <= DEPENDENT[min(level, len(DEPENDENT) - 1)]:
                    needed = int(rng.choice(following[level]))
                    dependencies.append((int(rng.choice(siblings)), needed, 100.0 * rng.random()))
    n, sprints = len(children), int(rng.integers(2, 7))
    return Project(
        cost=rng.integers(1, 101, n).astype(float),
        value=rng.integers(1, 101, n).astype(float),
        children=tuple(children),
        dependencies=tuple(dependencies),
        sprints=sprints,
        appear=np.cumsum(rng.standard_exponential((trees, 64)), axis=1),
        change=rng.random((sprints, n)),
    )


def simulate(x: Decisions, instance: int = 1) -> Outcome:
    """What becomes of a project."""
    given = project(instance, x.size)
    n = len(given.cost)
    wages = sum(part * wage for part, wage in zip(STAFF[SIZES.index(x.size)], WAGES, strict=True))
    cost = given.cost * (1.0 + wages * x.team_size / 100.0) * x.criticality_modifier**x.criticality
    value, done = given.value.copy(), [False] * n
    needs = [list(members) for members in given.children]
    for who, needed, share in given.dependencies:
        if share <= x.inter_dependency:
            needs[who].append(needed)
    teams = math.ceil(int(PEOPLE * x.size) / x.team_size)
    bounds = np.linspace(0, n, teams + 1).round().astype(int).tolist()
    known, budget = [0] * teams, [0.0] * teams
    built = spent = available = 0.0
    for sprint in range(given.sprints):
        for team in range(teams):
            low, high = bounds[team], bounds[team + 1]
            appeared = int(np.searchsorted(given.appear[team], sprint * x.dynamism / 10.0, side="right"))
            known[team] = min(high - low, math.ceil(x.initial_known * (high - low)) + appeared)
            budget[team] += float(cost[low:high].sum()) / given.sprints
            tasks = [
                i for i in range(low, low + known[team]) if not done[i] and all(done[needed] for needed in needs[i])
            ]
            available += len(tasks)
            for i in _ordered(tasks, x.plan, cost, value):
                if cost[i] <= budget[team]:
                    budget[team] -= cost[i]
                    spent += cost[i]
                    built += 1
                    done[i] = True
        rise = np.maximum(given.change[sprint] - 0.5, 0.0) * x.dynamism * x.culture / 100.0
        value += np.where(done, 0.0, GREATEST_CHANGE * rise)
    if not built:
        return Outcome(float(cost.sum()), 0.0, 1.0)
    return Outcome(float(spent / built), built / sum(known), 1.0 - built / available)


def _ordered(tasks: list[int], plan: str, cost: Array, value: Array) -> list[int]:
    by, way = plan.split()
    worth = {"cost": cost, "value": value}.get(by)
    worth = cost / value if worth is None else worth
    return sorted(tasks, key=lambda i: (worth[i], i), reverse=way == "descending")
