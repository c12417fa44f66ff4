"""Simulated annealing over an instance's own moves: the baseline that every other solver should beat.

It restarts from the best so far whenever it has cooled down; with temperature 0 it is a plain local search.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from optarena.instance import Instance
from optarena.settings import Setting, number
from optarena.solver import Emit, Ended, Solver, Time

BLOCK = 64
"""Moves between two looks at the clock."""


class Annealing(Solver):
    """Moves at random; a worse neighbour is taken with a chance that falls with how much worse it is, and with time."""

    takes = ("moves",)
    settings: ClassVar[dict[str, Setting]] = {
        # the worsening, relative to the first cost, that is accepted with chance 1/e at the start of a cooling
        "temperature": number(0.02),
        "rounds": number(3.0, 1.0),
    }

    def solve(self, instance: Instance, budget: Time, emit: Emit) -> Ended:
        rng = np.random.default_rng(self.seed)
        sign = -1.0 if instance.maximise else 1.0
        state = best = instance.first(rng)
        cost = lowest = instance.cost(state)
        start = self.chosen["temperature"] * max(1.0, abs(cost))
        rounds = self.chosen["rounds"]
        moves, go_on = 0, True

        def tell(found: Any, value: float) -> bool:
            return not math.isfinite(value) or emit(sign * value, instance.from_state(found), iterations=moves)

        go_on = tell(best, lowest)
        last = 0
        while go_on and budget.left() > 0:
            fraction = min(1.0, budget.spent() / budget.seconds) * rounds
            if int(fraction) > last:
                last, state, cost = int(fraction), best, lowest
            temperature = start * (1.0 - fraction % 1.0) ** 2
            limits = cost_limits(rng, temperature)
            for limit in limits:
                near = instance.neighbour(state, rng)
                value = instance.cost(near)
                moves += 1
                if value <= cost + limit:
                    state, cost = near, value
                    if value < lowest:
                        best, lowest = near, value
                        go_on = tell(best, lowest)
                        if not go_on:
                            break
        return Ended("feasible", efforts={"iterations": float(moves)})


def cost_limits(rng: np.random.Generator, temperature: float) -> list[float]:
    """For each of the next moves, how much worse it may be: accepting with chance exp(-d/T) is d <= -T log u."""
    if temperature <= 0:
        return [0.0] * BLOCK
    limits: list[float] = (-temperature * np.log1p(-rng.random(BLOCK))).tolist()
    return limits
