"""CMA-ES by pycma, the package of the method's author."""

from __future__ import annotations

import math
import warnings
from typing import Any, ClassVar

import numpy as np

from optarena.errors import Exhausted
from optarena.optimizers._generations import Generational, Indices, whole_batches
from optarena.settings import flag, number, whole
from optarena.space import Array, Space

REGISTERED = {
    "library": "cma",
    "licence": "BSD-3-Clause",
    "extra": "cma",
    "needs": ["cma"],
    "names": {"CMA-ES": "CMAES"},
}


class CMAES(Generational):
    """CMA-ES (Hansen), with restarts from random points and a doubled population (IPOP) where it has converged.

    Good for: rugged, ill-conditioned, non-separable functions of 2 to about 100 reals, from some 50 evaluations a
    dimension on. Why pycma: it is the reference, and its handling of bounds and its termination are the ones that
    published results rest on. Integers, categories and lists are searched through the unit cube, as if they were
    reals, so it has no notion of a category.

    `sigma0` is the first step size (the cube has width 1). `popsize` is 4 + 3 ln D, rounded up to whole batches.
    Points that it never suggested take part in the next update, their step shortened to what is likely by pycma.
    """

    packages = ("cma",)
    settings: ClassVar = {"sigma0": number(0.3, 1e-9, 10.0), "popsize": whole(None, 4), "restarts": flag(True)}

    def __init__(
        self, space: Space, *, objectives: int = 1, rng: np.random.Generator | None = None, **settings: Any
    ) -> None:
        super().__init__(space, objectives=objectives, rng=rng, **settings)
        import cma  # takes a second or two, which is not part of the first suggestion

        self._create = cma.CMAEvolutionStrategy
        self._dimension = max(2, space.dimension)  # pycma has none below: a second coordinate that means nothing
        self._strategy: Any = None
        self._solutions: list[Array] = []

    def _start(self, centre: Array, popsize: int) -> None:
        options = {
            "bounds": [0.0, 1.0],
            "popsize": popsize,
            "seed": math.nan,  # together with randn: the global state is neither seeded nor drawn from
            "randn": lambda *shape: self.rng.standard_normal(shape),
            "verbose": -10,  # prints nothing, and reads no options from files in the current directory
            "verb_disp": 0,
            "verb_log": 0,
        }
        self._strategy = self._create(centre, self.chosen["sigma0"], options)

    def _ask(self, n: int) -> Array:
        with warnings.catch_warnings(action="ignore"):
            if self._strategy is None:
                usual = 4 + int(3 * math.log(self._dimension))
                self._start(np.full(self._dimension, 0.5), self.chosen["popsize"] or whole_batches(usual, n))
            elif reasons := self._strategy.stop():
                if not self.chosen["restarts"]:
                    raise Exhausted(f"CMA-ES has converged: {', '.join(reasons)}")
                self._start(self.rng.random(self._dimension), 2 * self._strategy.popsize)
            self._solutions = self._strategy.ask()
        return self._units(self._solutions)

    def _more(self, n: int) -> Array:
        with warnings.catch_warnings(action="ignore"):
            further = self._strategy.ask(n)
        self._solutions.extend(further)
        return self._units(further)

    def _units(self, solutions: list[Array]) -> Array:
        return np.array(solutions)[:, : self.space.dimension]

    def _tell(self, units: Array, values: Array, index: Indices) -> None:
        solutions = [
            self._solutions[place] if place >= 0 else np.append(unit, 0.5)[: self._dimension]
            for place, unit in zip(index, units, strict=True)
        ]
        with warnings.catch_warnings(action="ignore"):
            self._strategy.tell(solutions, values[:, 0].tolist())
