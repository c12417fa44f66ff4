"""Evolutionary algorithms for several objectives by pymoo: NSGA-II and -III, SPEA2, SMS-EMOA, MOEA/D, GDE3, CMOPSO."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from optarena.optimizer import Capabilities
from optarena.optimizers._generations import Indices
from optarena.optimizers.pymoo_optimizers import Pymoo
from optarena.settings import choice, number, whole
from optarena.space import Array

REGISTERED = {
    "library": "pymoo",
    "licence": "Apache-2.0",
    "extra": "pymoo",
    "needs": ["pymoo"],
    "names": {
        "Pymoo-NSGA2": "PymooNSGA2",
        "Pymoo-NSGA3": "PymooNSGA3",
        "Pymoo-SPEA2": "PymooSPEA2",
        "Pymoo-SMSEMOA": "PymooSMSEMOA",
        "Pymoo-MOEAD": "PymooMOEAD",
        "Pymoo-GDE3": "PymooGDE3",
        "Pymoo-CMOPSO": "PymooCMOPSO",
    },
}

LARGE = 1e30
"""The greatest size of a value: pymoo scales, squares and multiplies objectives, and sums of these stay finite."""


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """pymoo's NSGA-III sets Python's filter of warnings for good; overflows and 0/0 of large values are expected."""
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        yield


class PymooPareto(Pymoo):
    """What they share: two objectives or more, a population of about 100, survivors of parents and children."""

    capabilities = Capabilities(
        array_native=True, one_objective=False, several_objectives=True, constraints=True, failures="worst"
    )
    usual = 100

    def _ask(self, n: int) -> Array:
        with _quiet():
            return super()._ask(n)

    def _more(self, n: int) -> Array:
        with _quiet():
            return super()._more(n)

    def _tell_constrained(self, units: Array, values: Array, index: Indices, violations: Array) -> None:
        with _quiet():
            super()._tell_constrained(units, np.clip(values, -LARGE, LARGE), index, np.clip(violations, -LARGE, LARGE))


class PymooNSGA2(PymooPareto):
    """NSGA-II (Deb et al. 2002): non-dominated sorting, and crowding distance among equals.

    Good for: two objectives (three at most), thousands of cheap evaluations; what everyone compares with.
    Why pymoo: its authors' own group keeps it.
    """

    def _algorithm(self, **settings: Any) -> Any:
        from pymoo.algorithms.moo.nsga2 import NSGA2
        from pymoo.operators.survival.rank_and_crowding import RankAndCrowding

        return NSGA2(survival=RankAndCrowding(), **settings)


class PymooSPEA2(PymooPareto):
    """SPEA2 (Zitzler, Laumanns & Thiele 2001): strength of dominators and density of neighbours.

    Good for: well spread fronts of two or three objectives; its distances cost more than NSGA-II's crowding.
    """

    def _algorithm(self, **settings: Any) -> Any:
        from pymoo.algorithms.moo.spea2 import SPEA2, SPEA2Survival

        return SPEA2(survival=SPEA2Survival(normalize=True), **settings)  # the default one remembers other studies


class PymooSMSEMOA(PymooPareto):
    """SMS-EMOA (Beume, Naujoks & Emmerich 2007): who adds least to the hypervolume leaves.

    Good for: the best hypervolume for two to four objectives, where time between evaluations does not matter.
    `n_offsprings` is how many children a generation has: none, as many as its population, as in pymoo; 1, as in the
    paper.
    """

    settings: ClassVar = {**PymooPareto.settings, "n_offsprings": whole(None)}

    def _algorithm(self, **settings: Any) -> Any:
        from pymoo.algorithms.moo.sms import SMSEMOA, LeastHypervolumeContributionSurvival

        return SMSEMOA(survival=LeastHypervolumeContributionSurvival(), **settings)

    def _generation_size(self) -> int:
        return int(self._engine.n_offsprings if self._engine.is_initialized else self._engine.pop_size)


class PymooNSGA3(PymooPareto):
    """NSGA-III (Deb & Jain 2014): non-dominated sorting, and one survivor for each of many directions.

    Good for: three objectives and more. The directions are evenly spaced, as many as fit into the population.
    """

    def _algorithm(self, **settings: Any) -> Any:
        from pymoo.algorithms.moo.nsga3 import NSGA3

        return NSGA3(directions(self.objectives, self.chosen["pop_size"] or self.usual), **settings)


class PymooMOEAD(PymooPareto):
    """MOEA/D (Zhang & Li 2007): many single objectives, weights evenly spaced, whose neighbours help each other.

    Good for: many evaluations and fronts without gaps. It takes no constraints, and one point is made at a time, since
    each may help the next. Tchebycheff with two objectives, boundary intersection with more.
    """

    capabilities = Capabilities(
        batch=False, array_native=True, one_objective=False, several_objectives=True, failures="worst"
    )
    settings: ClassVar = {
        **PymooPareto.settings,
        "n_neighbors": whole(20, 2),
        "prob_neighbor_mating": number(0.9, 0.0, 1.0),
    }

    def _algorithm(self, **settings: Any) -> Any:
        from pymoo.algorithms.moo.moead import MOEAD

        weights = directions(self.objectives, self.chosen["pop_size"] or self.usual)
        del settings["pop_size"]  # as many as there are weights
        settings["n_neighbors"] = min(settings["n_neighbors"], len(weights))
        return MOEAD(weights, **settings)

    def _generation_size(self) -> int:
        return 1 if self._engine.is_initialized else int(self._engine.pop_size)

    def _asked_for(self) -> Any:
        from pymoo.core.population import Population

        members = super()._asked_for()
        return Population.create(members) if self._engine.is_initialized else members

    def _evaluated(self, members: Any) -> None:
        super()._evaluated(members[0] if self._engine.is_initialized else members)


VARIANTS = tuple(
    f"DE/{parent}/{differences}/{crossover}"
    for parent in ("rand", "best", "current-to-best", "current-to-rand", "ranked")
    for differences in (1, 2)
    for crossover in ("bin", "exp")
)


class PymooGDE3(PymooPareto):
    """GDE3 (Kukkonen & Lampinen 2005): differential evolution for several objectives.

    Good for: reals of different scales, thousands of evaluations. `F` is the weight of differences; none: drawn each
    time.
    """

    settings: ClassVar = {
        **PymooPareto.settings,
        "variant": choice("DE/rand/1/bin", VARIANTS),
        "CR": number(0.5, 0.0, 1.0),
        "F": number(None, 0.0, 10.0),
    }

    @classmethod
    def conflict(cls, chosen: Mapping[str, Any], dimension: int | None) -> str:  # noqa: ARG003
        if chosen["pop_size"] is not None and chosen["pop_size"] < 8:
            return f"pop_size must be a whole number from 8, got {chosen['pop_size']}"
        return ""

    def _algorithm(self, **settings: Any) -> Any:
        from pymoo.algorithms.moo.gde3 import GDE3
        from pymoo.operators.survival.rank_and_crowding import RankAndCrowding

        return GDE3(survival=RankAndCrowding(), **settings)


class PymooCMOPSO(PymooPareto):
    """CMOPSO (Zhang et al. 2018): a particle swarm for several objectives, whose particles learn from the winners of an
    elite.

    Good for: a quick approach with reals. `elite_size` is how many of the best take part, `max_velocity_rate` the
    longest step as a part of a range, `mutation_rate` the rate of polynomial mutation.
    """

    settings: ClassVar = {
        **PymooPareto.settings,
        "elite_size": whole(10),
        "max_velocity_rate": number(0.2, 0.0, 1.0, open_low=True),
        "mutation_rate": number(0.5, 0.0, 1.0),
    }

    def _algorithm(self, **settings: Any) -> Any:
        from pymoo.algorithms.moo.cmopso import CMOPSO

        return CMOPSO(**settings)

    def _start(self, n: int) -> None:
        super()._start(n)
        engine, truncation = self._engine, self._engine.elites.truncation

        def seeded(members: Any, k: int) -> Any:
            """pymoo would draw from a generator of its own, which no seed reaches."""
            return truncation.survival.do(engine.problem, members, n_survive=k, random_state=engine.random_state)

        engine.elites.truncation = seeded


def directions(m: int, at_most: int) -> Array:
    """Evenly spaced directions (Das & Dennis 1998), at most so many (but m at least); where they would all lie at the
    border, a second layer further in (Deb & Jain 2014)."""
    from pymoo.util.reference_direction import UniformReferenceDirectionFactory

    def count(p: int) -> int:
        return math.comb(p + m - 1, m - 1)

    outer = 1
    while count(outer + 1) <= at_most:
        outer += 1
    layers: list[tuple[int, float | None]] = [(outer, None)]
    if outer < m:
        inner = max((p for p in range(1, outer + 1) if count(outer) + count(p) <= at_most), default=0)
        layers += [(inner, 0.5)] * (inner > 0)
    made: list[Array] = [UniformReferenceDirectionFactory(m, n_partitions=p, scaling=s).do() for p, s in layers]
    return np.vstack(made)
