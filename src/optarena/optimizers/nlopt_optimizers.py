"""NLopt's BOBYQA, CRS2 and SBPLX, each with NLopt's own sequence of evaluations (see `closed_loop`).

NLopt has no limits and no tolerances of its own, and none are set unless asked for (`xtol_rel`, `ftol_rel`): BOBYQA
and SBPLX end when rounding stops them, CRS2 never.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Mapping
from typing import Any, ClassVar

from greenlet import GreenletExit

from optarena.optimizers.closed_loop import START, ClosedLoop, Function
from optarena.settings import number, whole
from optarena.space import Array

REGISTERED = {
    "library": "nlopt",
    "licence": "MIT",
    "extra": "nlopt",
    "needs": ["nlopt"],
    "names": {"NLopt-BOBYQA": "BOBYQA", "NLopt-CRS2": "CRS2", "NLopt-SBPLX": "SBPLX"},
}


class NloptOptimizer(ClosedLoop):
    """One algorithm of NLopt, from a random point or the centre."""

    packages = ("nlopt",)
    algorithm: ClassVar[str]
    random: ClassVar[bool] = False

    settings: ClassVar = {"x0": START, "xtol_rel": number(0.0), "ftol_rel": number(0.0)}

    def prepare(self, opt: Any) -> None:
        """Further settings of an algorithm."""

    def minimise(self, fun: Function) -> str:
        import nlopt

        opt = nlopt.opt(getattr(nlopt, self.algorithm), self.space.dimension)
        opt.set_lower_bounds(self.lower)
        opt.set_upper_bounds(self.upper)
        opt.set_xtol_rel(self.chosen["xtol_rel"])
        opt.set_ftol_rel(self.chosen["ftol_rel"])
        opt.set_min_objective(
            _stoppable(fun, weakref.proxy(opt))
        )  # NLopt's objects hide their cycles from the collector
        self.prepare(opt)
        x0 = self.start(self.chosen["x0"])
        if self.random:
            nlopt.srand(int(self.rng.integers(2**31)))
        try:
            opt.optimize(x0)
        except nlopt.RoundoffLimited:
            return "converged: rounding stops it (ROUNDOFF_LIMITED)"
        except nlopt.ForcedStop:
            raise GreenletExit from None
        finally:
            if self.random:
                nlopt.srand_time()  # as NLopt begins: its generator is global, and cannot be read and put back
        return f"converged: {ENDINGS.get(opt.last_optimize_result(), 'no further improvement')}"


def _stoppable(fun: Function, opt: Any) -> Function:
    """CRS2 goes on calling after an exception in `fun`, with that exception pending; asked to stop, it stops."""
    over = False

    def call(x: Array, _: Array) -> float:
        nonlocal over
        if not over:
            try:
                return fun(x)
            except GreenletExit:
                over = True
                opt.force_stop()
        return math.inf

    return call


ENDINGS = {1: "success", 2: "the target is reached", 3: "ftol_rel is reached", 4: "xtol_rel is reached"}


class BOBYQA(NloptOptimizer):
    """Quadratic models within bounds (Powell 2009): very few evaluations for a smooth function without noise."""

    algorithm = "LN_BOBYQA"


class SBPLX(NloptOptimizer):
    """Nelder-Mead on a sequence of subspaces (Rowan's Subplex): noise, kinks, and more dimensions than Nelder-Mead."""

    algorithm = "LN_SBPLX"


class CRS2(NloptOptimizer):
    """Controlled random search with local mutation: a random population whose simplices make the next point.

    It alone of the three is random, by NLopt's one generator: that is seeded from the study's stream when the study
    begins, so the same seed gives the same points, study after study in one process. Two CRS2 that are driven in turn
    in one thread disturb each other; the runner never does that.
    """

    algorithm = "GN_CRS2_LM"
    random = True

    settings: ClassVar = {**NloptOptimizer.settings, "population": whole(0, 0)}

    @classmethod
    def conflict(cls, chosen: Mapping[str, Any], dimension: int | None) -> str:
        population = chosen["population"]
        if dimension is None or population == 0 or population > dimension:
            return ""
        return (
            f"population must be 0 (NLopt's own, 10 (D + 1)) or at least D + 1, here {dimension + 1}, got {population}"
        )

    def prepare(self, opt: Any) -> None:
        opt.set_population(self.chosen["population"])
