"""Simulated annealing over an instance's own moves: the baseline that every other solver should beat.

It restarts from the best so far whenever it has cooled down; with temperature 0 it is a plain local search. The same
seed makes the same moves, whatever the time: of two runs the longer begins as the shorter does.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from optarena.instance import Instance
from optarena.settings import Setting, number, whole
from optarena.solver import Emit, Ended, Solver, Time

REGISTERED = {"names": {"Annealing": "Annealing"}}

BLOCK = 64
"""Moves between two looks at the clock."""


class Annealing(Solver):
    """Moves at random; the worse a neighbour and the cooler it is, the less likely it is taken."""

    takes = ("moves",)
    settings: ClassVar[dict[str, Setting]] = {
        # at the start of a cooling, in units of what a move changes on average
        "temperature": number(0.2),
        "moves": whole(2000, BLOCK, 10**9),
    }

    def solve(self, instance: Instance, budget: Time, emit: Emit) -> Ended:
        rng = np.random.default_rng(self.seed)
        sign = -1.0 if instance.maximise else 1.0
        state = best = instance.first(rng)
        cost = lowest = instance.cost(state)
        hot = self.chosen["temperature"] * _change(instance, state, rng)
        length, cooled, moves = self.chosen["moves"], 0, 0

        def tell() -> bool:
            return not math.isfinite(lowest) or emit(sign * lowest, instance.from_state(best), iterations=moves)

        go_on = tell()
        while go_on and budget.left() > 0:
            if cooled >= length:  # each cooling takes longer than the last, counted in moves: time decides nothing
                length, cooled, state, cost = round(1.5 * length), 0, best, lowest
            for worse in _allowed(rng, hot * (1.0 - cooled / length) ** 2):
                near = instance.neighbour(state, rng)
                value = instance.cost(near)
                moves += 1
                if value <= cost + worse:
                    state, cost = near, value
                    if value < lowest:
                        best, lowest = near, value
                        go_on = tell()
                        if not go_on:
                            break
            cooled += BLOCK
        return Ended("feasible", efforts={"iterations": float(moves)})


def _change(instance: Instance, state: Any, rng: np.random.Generator) -> float:
    """How much a move changes the cost, on average over a short random walk."""
    costs = []
    for _ in range(BLOCK):
        state = instance.neighbour(state, rng)
        costs.append(instance.cost(state))
    changes = np.abs(np.diff(costs))
    return float(changes[np.isfinite(changes)].mean()) if np.isfinite(changes).any() else 1.0


def _allowed(rng: np.random.Generator, temperature: float) -> list[float]:
    """For each of the next moves, how much worse it may be: accepting with chance exp(-d/T) is d <= -T log u."""
    if temperature <= 0:
        return [0.0] * BLOCK
    limits: list[float] = (-temperature * np.log1p(-rng.random(BLOCK))).tolist()
    return limits
