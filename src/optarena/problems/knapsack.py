"""Multi-dimensional knapsacks from a seeded generator, the same on every machine.

    >>> from optarena.problem import build
    >>> build("knapsack/m5n100/i1").size
    100

Ids: `knapsack/m<constraints>n<items>/i<instance>`; any numbers may be named. As in Chu and Beasley's generator, weights
are whole numbers from 1 to 1000, an item's profit is the mean of its weights plus up to 500, so that profit and weight
go together, and each capacity is half of all weights. A solution has a 0 or a 1 for each item; the profit is maximised.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from optarena.instance import Instance, Linear, WrongSolution
from optarena.problem import Known, Objective, Suite
from optarena.space import Array
from optarena.traces import Ints

REGISTERED = {"names": {"knapsack": "KnapsackSuite"}}

SHAPES = ((5, 50), (5, 100), (5, 250), (10, 100), (10, 250), (30, 100))
INSTANCES = range(1, 6)
_ID = re.compile(r"knapsack/m([1-9][0-9]{0,2})n([1-9][0-9]{0,3})/i([1-9][0-9]{0,5})\Z")

MODEL = """
int: items; int: constraints;
array[1..items] of int: profit;
array[1..constraints, 1..items] of int: weight;
array[1..constraints] of int: capacity;
array[1..items] of var 0..1: take;
var int: total = sum(i in 1..items)(profit[i] * take[i]);
constraint forall(c in 1..constraints)(sum(i in 1..items)(weight[c, i] * take[i]) <= capacity[c]);
solve :: int_search(take, input_order, indomain_max) maximize total;
output ["\\(take)"];
"""


class Knapsack(Instance):
    """Items with a profit and a weight in each constraint."""

    forms = ("knapsack", "linear", "minizinc", "moves", "file")
    objectives = (Objective("profit", "max"),)

    def __init__(self, profit: Ints, weight: Ints, capacity: Ints, optimum: float | None = None) -> None:
        self.profit, self.weight, self.capacity = profit, weight, capacity
        self.size = len(profit)
        if optimum is not None:
            self.known = Known(optimum=(float(optimum),))

    def verify(self, solution: Any) -> float:
        take = np.asarray(solution, dtype=float)
        if take.shape != (self.size,):
            raise WrongSolution(f"{take.size} numbers for {self.size} items")
        if not np.isin(take, (0.0, 1.0)).all():
            raise WrongSolution("an item is taken or not: every number must be 0 or 1")
        for c, (used, most) in enumerate(zip((self.weight @ take).tolist(), self.capacity.tolist(), strict=True)):
            if used > most:
                raise WrongSolution(f"constraint {c} carries {used:g}, at most {most:g}")
        return float(self.profit @ take)

    def linear(self) -> Linear:
        n, m = self.size, len(self.capacity)
        return Linear(
            cost=self.profit.astype(float),
            low=np.zeros(n),
            high=np.ones(n),
            whole=np.ones(n, dtype=bool),
            row_low=np.full(m, -np.inf),
            row_high=self.capacity.astype(float),
            start=np.arange(0, n * m + 1, m),
            row=np.tile(np.arange(m), n),
            value=self.weight.T.ravel().astype(float),
            maximise=True,
        )

    def from_linear(self, x: Array) -> Array:
        return np.rint(x)

    def minizinc(self) -> tuple[str, dict[str, Any]]:
        return MODEL, {
            "items": self.size,
            "constraints": len(self.capacity),
            "profit": self.profit.tolist(),
            "weight": self.weight.tolist(),
            "capacity": self.capacity.tolist(),
        }

    def from_minizinc(self, output: dict[str, Any]) -> Any:
        return output["take"]

    def first(self, rng: np.random.Generator) -> tuple[Ints, Ints]:  # noqa: ARG002
        """A state is what is taken and what it weighs; nothing is taken at first."""
        return np.zeros(self.size, dtype=np.int64), np.zeros(len(self.capacity), dtype=np.int64)

    def neighbour(self, state: tuple[Ints, Ints], rng: np.random.Generator) -> tuple[Ints, Ints]:
        """An item goes in or out; while too much is in, others go out, at random."""
        take, load = state[0].copy(), state[1].copy()
        item = int(rng.random() * self.size)
        take[item] = 1 - take[item]
        load += self.weight[:, item] if take[item] else -self.weight[:, item]
        while (load > self.capacity).any():
            inside = np.flatnonzero(take)
            out = int(inside[int(rng.random() * len(inside))])
            take[out] = 0
            load -= self.weight[:, out]
        return take, load

    def cost(self, state: tuple[Ints, Ints]) -> float:
        return -float(self.profit @ state[0])

    def from_state(self, state: tuple[Ints, Ints]) -> Any:
        return state[0]

    def file(self) -> tuple[str, str]:
        """As the OR-Library writes them: sizes and optimum (0: not known), profits, weights, capacities."""
        optimum = self.known.optimum[0] if self.known.optimum else 0
        rows = [self.profit, *self.weight, self.capacity]
        lines = [f"{self.size} {len(self.capacity)} {optimum:g}", *(" ".join(map(str, row.tolist())) for row in rows)]
        return f"{self.function}.txt", "\n".join(lines) + "\n"


def generate(constraints: int, items: int, instance: int) -> Knapsack:
    """The instance of these numbers. Raw draws of PCG64 are the same in every version of NumPy."""
    bits = np.random.PCG64([constraints, items, instance])

    def draw(count: int, n: int) -> Ints:
        out: Ints = ((bits.random_raw(count) >> np.uint64(11)) % np.uint64(n)).astype(np.int64)
        return out

    weight = 1 + draw(constraints * items, 1000).reshape(constraints, items)
    profit = weight.sum(axis=0) // constraints + draw(items, 501)
    out = Knapsack(profit, weight, weight.sum(axis=1) // 2)
    out.function, out.instance = f"m{constraints}n{items}", instance
    return out


class KnapsackSuite(Suite):
    name = "knapsack"
    summary = "multi-dimensional knapsacks, seeded, for solvers"

    def ids(self) -> Iterator[str]:
        return (f"knapsack/m{m}n{n}/i{i}" for m, n in SHAPES for i in INSTANCES)

    def contains(self, id: str) -> bool:
        return _ID.match(id) is not None

    def build(self, id: str) -> Knapsack:
        found = _ID.match(id)
        assert found is not None
        return generate(int(found[1]), int(found[2]), int(found[3]))
