"""Genetic algorithm, differential evolution and particle swarm by pymoo; for several objectives see `pymoo_pareto`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from optarena.optimizer import Capabilities
from optarena.optimizers._generations import Generational, Indices, whole_batches
from optarena.settings import choice, flag, number, whole
from optarena.space import Array, Space

REGISTERED = {
    "library": "pymoo",
    "licence": "Apache-2.0",
    "extra": "pymoo",
    "needs": ["pymoo"],
    "names": {"Pymoo-GA": "PymooGA", "Pymoo-DE": "PymooDE", "Pymoo-PSO": "PymooPSO"},
}


class Pymoo(Generational):
    """What pymoo's algorithms share: a generation asked for, evaluated elsewhere, and told.

    Its random numbers are drawn from the study's generator and from nothing else. Of two points that violate
    constraints the one with the smaller sum of violations is better, and a feasible one is better than both.
    """

    capabilities = Capabilities(array_native=True, constraints=True, failures="worst")
    packages = ("pymoo",)
    usual = 20
    """The population where none is given. pymoo's own (GA and DE: 100) is for budgets of tens of thousands."""
    settings: ClassVar = {"pop_size": whole(None, 4)}

    def __init__(
        self, space: Space, *, objectives: int = 1, rng: np.random.Generator | None = None, **settings: Any
    ) -> None:
        super().__init__(space, objectives=objectives, rng=rng, **settings)
        self._engine: Any = None
        self._members: Any = None

    def _algorithm(self, **settings: Any) -> Any:
        """pymoo's algorithm, not yet set up."""
        raise NotImplementedError

    def _start(self, n: int) -> None:
        from pymoo.core.problem import Problem
        from pymoo.core.termination import NoTermination

        pop_size = self.chosen["pop_size"] or whole_batches(self.usual, n)
        self._engine = self._algorithm(**{**self.chosen, "pop_size": pop_size})
        problem = Problem(n_var=self.space.dimension, n_obj=self.objectives, xl=0.0, xu=1.0)
        self._engine.setup(problem, termination=NoTermination(), seed=self.rng)

    def _generation_size(self) -> int:
        return int(self._engine.pop_size)

    def _asked_for(self) -> Any:
        return self._engine.ask()

    def _infill(self) -> Any:
        """The next generation, made whole by random points where pymoo finds no new ones."""
        from pymoo.core.population import Population

        members = self._asked_for()
        if members is None:
            self._engine.termination.force_termination = False
            members = Population.create()
        missing = self._generation_size() - len(members)
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

    def _tell_constrained(self, units: Array, values: Array, index: Indices, violations: Array) -> None:
        from pymoo.core.evaluator import Evaluator
        from pymoo.problems.static import StaticProblem

        size = len(self._members)
        chosen = {int(place): row for row, place in enumerate(index) if 0 <= place < size}
        empty = [place for place in range(size) if place not in chosen]
        # violated constraints count for more than any value
        worth = np.column_stack((np.maximum(violations, 0.0).sum(axis=1), values))
        for row in np.flatnonzero((index < 0) | (index >= size)):
            # a point beyond the generation takes an empty place, or that of the worst which it is better than
            taken = [place for place in chosen if _better(worth[row], worth[chosen[place]])]
            if empty:
                chosen[empty.pop()] = int(row)
            elif taken:
                chosen[max(taken, key=lambda at: (worth[chosen[at], 0], worth[chosen[at], 1:].sum()))] = int(row)
        rows = [chosen[place] for place in range(size)]
        self._members.set("X", units[rows])
        self._engine.problem.n_ieq_constr = violations.shape[1]  # not known before
        given = {"F": values[rows]} | ({"G": violations[rows]} if violations.size else {})
        Evaluator().eval(StaticProblem(self._engine.problem, **given), self._members)
        self._evaluated(self._members)

    def _evaluated(self, members: Any) -> None:
        self._engine.tell(infills=members)


def _better(one: Array, two: Array) -> bool:
    """Whether a point is better than another: their violations, and then their values."""
    if one[0] != two[0]:
        return bool(one[0] < two[0])
    return bool((one <= two).all() and (one < two).any())


class PymooGA(Pymoo):
    """A genetic algorithm: tournaments, simulated binary crossover, polynomial mutation, the fittest survive.

    Good for: a robust baseline where nothing is known of the function; cheap evaluations, some thousands of them.
    Why pymoo: the textbook operators of the multi-objective world, so that a result can be compared with papers.
    Integers and categories are searched through the unit cube.
    """

    on_several = "Pymoo-NSGA2"

    def _algorithm(self, **settings: Any) -> Any:
        from pymoo.algorithms.soo.nonconvex.ga import GA

        return GA(**settings)


VARIANTS = tuple(
    f"DE/{parent}/{differences}/{crossover}"
    for parent in ("rand", "best", "target-to-best")
    for differences in (1, 2)
    for crossover in ("bin", "exp")
)


class PymooDE(Pymoo):
    """Differential evolution, by default DE/best/1/bin: differences of members are the steps, the better one stays.

    Good for: reals of different scales, multimodal functions, thousands of evaluations. Why pymoo: it works in
    generations that can be evaluated at once, while scipy's is a closed loop.
    `variant` is DE/<rand|best|target-to-best>/<1|2>/<bin|exp>; `CR` is the rate of crossover,
    `F` the weight of the differences.
    """

    on_several = "Pymoo-GDE3"

    settings: ClassVar = {
        **Pymoo.settings,
        "variant": choice("DE/best/1/bin", VARIANTS),
        "CR": number(0.2, 0.0, 1.0),
        "F": number(0.5, 0.0, 10.0),
    }

    @classmethod
    def conflict(cls, chosen: Mapping[str, Any], dimension: int | None) -> str:  # noqa: ARG003
        if "/2/" in chosen["variant"] and chosen["pop_size"] in (4, 5):  # as many parents, and the target
            return f"pop_size must be a whole number from 6 for {chosen['variant']}, got {chosen['pop_size']}"
        return ""

    def _algorithm(self, **settings: Any) -> Any:
        from pymoo.algorithms.soo.nonconvex.de import DE

        return DE(**settings)


class PymooPSO(Pymoo):
    """Particle swarm: points with a velocity, drawn to their own best and to the swarm's; the weights adapt.

    Good for: smooth functions of reals, some hundreds to thousands of evaluations; quick at first, then apt to
    gather too early. Why pymoo: adaptive weights, and generations that can be evaluated at once.
    `w` is the inertia, `c1` the pull of a particle's own best, `c2` that of the swarm's.
    """

    on_several = "Pymoo-CMOPSO"

    usual = 25

    settings: ClassVar = {
        **Pymoo.settings,
        "w": number(0.9, 0.0, 10.0),
        "c1": number(2.0, 0.0, 10.0),
        "c2": number(2.0, 0.0, 10.0),
        "adaptive": flag(True),
    }

    def _algorithm(self, **settings: Any) -> Any:
        from pymoo.algorithms.soo.nonconvex.pso import PSO

        return PSO(**settings)
