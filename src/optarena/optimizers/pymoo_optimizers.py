"""Genetic algorithm, differential evolution and particle swarm by pymoo."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from optarena.errors import OptarenaError
from optarena.optimizers._generations import Generational, Indices, whole_batches
from optarena.optimizers._settings import number, whole
from optarena.space import Array, Space


class Pymoo(Generational):
    """What pymoo's algorithms share: a generation asked for, evaluated elsewhere, and told.

    Its random numbers are drawn from the study's generator and from nothing else.
    """

    packages = ("pymoo",)
    usual = 20
    """The population where none is given. pymoo's own (GA and DE: 100) is for budgets of tens of thousands."""
    least = 4

    def __init__(
        self,
        space: Space,
        *,
        objectives: int = 1,
        rng: np.random.Generator | None = None,
        pop_size: int | None = None,
    ) -> None:
        super().__init__(space, objectives=objectives, rng=rng)
        self._pop_size = None if pop_size is None else whole(self, "pop_size", pop_size, self.least)
        self._engine: Any = None
        self._members: Any = None

    def _algorithm(self, pop_size: int) -> Any:
        """pymoo's algorithm, not yet set up."""
        raise NotImplementedError

    def _start(self, n: int) -> None:
        from pymoo.core.problem import Problem
        from pymoo.core.termination import NoTermination

        self._engine = self._algorithm(self._pop_size or whole_batches(self.usual, n))
        problem = Problem(n_var=self.space.dimension, n_obj=self.objectives, xl=0.0, xu=1.0)
        self._engine.setup(problem, termination=NoTermination(), seed=self.rng)

    def _infill(self) -> Any:
        """The next generation, made whole by random points where pymoo finds no new ones."""
        from pymoo.core.population import Population

        members = self._engine.ask()
        if members is None:
            self._engine.termination.force_termination = False
            members = Population.create()
        missing = self._engine.pop_size - len(members)
        if missing > 0:
            fresh = Population.new(X=self.rng.random((missing, self.space.dimension)))
            members = Population.merge(members, fresh)
        return members

    def _ask(self, n: int) -> Array:
        if self._engine is None:
            self._start(n)
        self._members = self._infill()
        return self._members.get("X")

    def _more(self, n: int) -> Array:
        return self._infill().get("X")[:n]

    def _tell(self, units: Array, values: Array, index: Indices) -> None:
        from pymoo.core.evaluator import Evaluator
        from pymoo.problems.static import StaticProblem

        size = len(self._members)
        chosen = {int(place): row for row, place in enumerate(index) if 0 <= place < size}
        empty = [place for place in range(size) if place not in chosen]
        for row in np.flatnonzero((index < 0) | (index >= size)):
            # a point beyond the generation takes an empty place, or that of the worst if it is better
            place = empty.pop() if empty else max(chosen, key=lambda at: values[chosen[at], 0])
            if place not in chosen or values[row, 0] < values[chosen[place], 0]:
                chosen[place] = int(row)
        rows = [chosen[place] for place in range(size)]
        self._members.set("X", units[rows])
        Evaluator().eval(StaticProblem(self._engine.problem, F=values[rows]), self._members)
        self._engine.tell(infills=self._members)


class PymooGA(Pymoo):
    """A genetic algorithm: tournaments, simulated binary crossover, polynomial mutation, the fittest survive.

    Good for: a robust baseline where nothing is known of the function; cheap evaluations, some thousands of them.
    Why pymoo: the textbook operators of the multi-objective world, so that a result can be compared with papers.
    Integers and categories are searched through the unit cube.
    """

    def _algorithm(self, pop_size: int) -> Any:
        from pymoo.algorithms.soo.nonconvex.ga import GA

        return GA(pop_size=pop_size)


class PymooDE(Pymoo):
    """Differential evolution, by default DE/best/1/bin: differences of members are the steps, the better one stays.

    Good for: reals of different scales, multimodal functions, thousands of evaluations. Why pymoo: it works in
    generations that can be evaluated at once, while scipy's is a closed loop.
    `variant` is DE/<rand|best|target-to-best>/<1|2>/<bin|exp>; `CR` is the rate of crossover,
    `F` the weight of the differences.
    """

    def __init__(
        self,
        space: Space,
        *,
        objectives: int = 1,
        rng: np.random.Generator | None = None,
        pop_size: int | None = None,
        variant: str = "DE/best/1/bin",
        CR: float = 0.2,
        F: float = 0.5,
    ) -> None:
        self.least = 6 if "/2/" in str(variant) else 4  # as many parents, and the target
        super().__init__(space, objectives=objectives, rng=rng, pop_size=pop_size)
        if not re.fullmatch(r"DE/(rand|best|target-to-best)/[12]/(bin|exp)", str(variant)):
            raise OptarenaError(f"Pymoo-DE: variant must be like DE/best/1/bin, got {variant!r}")
        weights = {"CR": number(self, "CR", CR, 0.0, 1.0), "F": number(self, "F", F, 0.0, 10.0)}
        self._settings = {"variant": variant, **weights}

    def _algorithm(self, pop_size: int) -> Any:
        from pymoo.algorithms.soo.nonconvex.de import DE

        return DE(pop_size=pop_size, **self._settings)


class PymooPSO(Pymoo):
    """Particle swarm: points with a velocity, drawn to their own best and to the swarm's; the weights adapt.

    Good for: smooth functions of reals, some hundreds to thousands of evaluations; quick at first, then apt to
    gather too early. Why pymoo: adaptive weights, and generations that can be evaluated at once.
    `w` is the inertia, `c1` the pull of a particle's own best, `c2` that of the swarm's.
    """

    usual = 25

    def __init__(
        self,
        space: Space,
        *,
        objectives: int = 1,
        rng: np.random.Generator | None = None,
        pop_size: int | None = None,
        w: float = 0.9,
        c1: float = 2.0,
        c2: float = 2.0,
        adaptive: bool = True,
    ) -> None:
        super().__init__(space, objectives=objectives, rng=rng, pop_size=pop_size)
        weights = {"w": w, "c1": c1, "c2": c2}
        given = {key: number(self, key, value, 0.0, 10.0) for key, value in weights.items()}
        self._settings = {**given, "adaptive": adaptive}

    def _algorithm(self, pop_size: int) -> Any:
        from pymoo.algorithms.soo.nonconvex.pso import PSO

        return PSO(pop_size=pop_size, **self._settings)
