"""scipy.optimize's minimisers, each with scipy's own sequence of evaluations (see `closed_loop`).

Settings are scipy's, by scipy's names and with scipy's defaults, with one exception: the limits on iterations and
evaluations are out of reach (`UNLIMITED`), because a study ends when its budget does, and scipy's would end it before
(Nelder-Mead after 200 evaluations a dimension). Tolerances stay, so a local method converges and its study is stopped
early; with `restarts=True` it starts again at a random point instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from optarena.optimizers.closed_loop import START, ClosedLoop, Function
from optarena.settings import Setting, choice, flag, number, whole

REGISTERED = {
    "library": "scipy",
    "licence": "BSD-3-Clause",
    "names": {
        "SimulatedAnnealing": "SimulatedAnnealing",
        "Scipy-NelderMead": "NelderMead",
        "Scipy-Powell": "Powell",
        "Scipy-COBYLA": "COBYLA",
        "Scipy-COBYQA": "COBYQA",
        "Scipy-LBFGSB": "LBFGSB",
        "Scipy-SLSQP": "SLSQP",
        "Scipy-DualAnnealing": "SimulatedAnnealing",
        "Scipy-DifferentialEvolution": "DifferentialEvolution",
        "Scipy-DIRECT": "DIRECT",
        "Scipy-SHGO": "SHGO",
        "Scipy-BasinHopping": "BasinHopping",
    },
}

UNLIMITED = 10**9
DIRECT_MOST = 1_000_000  # evaluations; it takes memory for them all when it begins
DIRECT_ITERATIONS = 10_000


class ScipyOptimizer(ClosedLoop):
    """What all of them share: the bounds, and how an end is reported."""

    packages = ("scipy",)

    def bounds(self) -> Any:
        from scipy.optimize import Bounds

        return Bounds(self.lower, self.upper)

    @staticmethod
    def ending(result: Any) -> str:
        """Why scipy ended, in its own words."""
        message = result.message if isinstance(result.message, str) else "; ".join(map(str, result.message))
        return f"{'converged' if result.success else 'ended without success'}: {message}"


# ---- local methods: scipy.optimize.minimize -------------------------------------------------------------------------


class LocalMethod(ScipyOptimizer):
    """A method of `scipy.optimize.minimize`, from a random point or the centre, once or again and again."""

    method: ClassVar[str]
    unlimited: ClassVar[tuple[str, ...]] = ("maxiter", "maxfev")
    settings: ClassVar = {"x0": START, "restarts": flag(False)}

    def options(self) -> dict[str, Any]:
        """scipy's options: all settings that are not ours."""
        own = {key: value for key, value in self.chosen.items() if key not in LocalMethod.settings}
        return dict.fromkeys(self.unlimited, UNLIMITED) | own

    def minimise(self, fun: Function) -> str:
        from scipy.optimize import minimize

        how = self.chosen["x0"]
        while True:
            result = minimize(fun, self.start(how), method=self.method, bounds=self.bounds(), options=self.options())
            if not self.chosen["restarts"]:
                return self.ending(result)
            how = "random"


class NelderMead(LocalMethod):
    """A simplex that crawls downhill by comparing values: no model, no gradient. For few dimensions, or some noise."""

    method = "Nelder-Mead"

    settings: ClassVar = {
        **LocalMethod.settings,
        "xatol": number(1e-4),
        "fatol": number(1e-4),
        "adaptive": flag(False),
    }


class Powell(LocalMethod):
    """Line searches along directions that it learns: fast where the parameters act on their own."""

    method = "Powell"

    settings: ClassVar = {**LocalMethod.settings, "xtol": number(1e-4), "ftol": number(1e-4)}


class COBYLA(LocalMethod):
    """Linear models in a shrinking trust region (Powell 1994). Rough and steady; a step over a bound is clipped."""

    method = "COBYLA"

    unlimited = ("maxiter",)
    settings: ClassVar = {
        **LocalMethod.settings,
        "rhobeg": number(1.0, open_low=True),
        "tol": number(1e-4, open_low=True),
    }

    @classmethod
    def conflict(cls, chosen: Mapping[str, Any], dimension: int | None) -> str:  # noqa: ARG003
        return _larger("tol", "rhobeg", chosen)  # scipy would take another tol, and go on


class COBYQA(LocalMethod):
    """Quadratic models in a trust region: few evaluations for a smooth function, at some thinking time for each."""

    method = "COBYQA"

    settings: ClassVar = {
        **LocalMethod.settings,
        "initial_tr_radius": number(1.0, open_low=True),
        "final_tr_radius": number(1e-6),
        "scale": flag(False),
    }

    @classmethod
    def conflict(cls, chosen: Mapping[str, Any], dimension: int | None) -> str:  # noqa: ARG003
        return _larger("final_tr_radius", "initial_tr_radius", chosen)


def _larger(final: str, initial: str, chosen: Mapping[str, Any]) -> str:
    """What is wrong where a trust region would have to grow."""
    if chosen[final] <= chosen[initial]:
        return ""
    return f"{final} must be at most {initial}, which is {chosen[initial]:g}, got {chosen[final]:g}"


class LBFGSB(LocalMethod):
    """Quasi-Newton with gradients by finite differences, each of which costs D evaluations that count.

    The best of these on smooth functions. Where integers or categories make steps, the differences are zero and it
    stops at once.
    """

    method = "L-BFGS-B"

    unlimited = ("maxiter", "maxfun")
    settings: ClassVar = {
        **LocalMethod.settings,
        "maxcor": whole(10),
        "ftol": number(2.220446049250313e-09),
        "gtol": number(1e-5),
        "eps": number(1e-8, open_low=True),
        "maxls": whole(20),
    }


class SLSQP(LocalMethod):
    """Sequential least squares with gradients by finite differences, as in L-BFGS-B: good where that one is."""

    method = "SLSQP"

    unlimited = ("maxiter",)
    settings: ClassVar = {
        **LocalMethod.settings,
        "ftol": number(1e-6, open_low=True),
        "eps": number(1.4901161193847656e-08, open_low=True),
    }


# ---- global methods -------------------------------------------------------------------------------------------------


class SimulatedAnnealing(ScipyOptimizer):
    """Generalised simulated annealing with local searches (dual annealing): for many local minima; it never ends."""

    on_several = "AMOSA"
    settings: ClassVar = {
        "initial_temp": number(5230.0, 0.01, 5e4, open_low=True),
        "restart_temp_ratio": number(2e-5, 0.0, 1.0, open_low=True, open_high=True),
        "visit": number(2.62, 1.0, 3.0, open_low=True, open_high=True),  # at 3 scipy divides by zero
        "accept": number(-5.0, -1e4, -5.0, open_low=True),
        "no_local_search": flag(False),
    }

    def minimise(self, fun: Function) -> str:
        from scipy.optimize import dual_annealing

        limits = {"maxiter": UNLIMITED, "maxfun": UNLIMITED}
        return self.ending(dual_annealing(fun, self.bounds(), rng=self.rng, **limits, **self.chosen))


STRATEGIES = tuple(
    f"{kind}{crossover}"
    for kind in ("best1", "best2", "rand1", "rand2", "randtobest1", "currenttobest1")
    for crossover in ("bin", "exp")
)
INITIAL = ("latinhypercube", "sobol", "halton", "random")


def _mutation(value: Any) -> float | tuple[float, ...]:
    read = number(0.5, 0.0, 2.0, open_high=True).read
    if not isinstance(value, (list, tuple)):
        return read(value)
    if len(value) != 2:
        raise ValueError
    return tuple(map(read, value))


class DifferentialEvolution(ScipyOptimizer):
    """A population that moves by differences of its members: for rugged functions; L-BFGS-B polishes the end."""

    settings: ClassVar = {
        "strategy": choice("best1bin", STRATEGIES),
        "popsize": whole(15),
        "tol": number(0.01),
        "atol": number(0.0),
        "mutation": Setting((0.5, 1.0), "a number or [low, high], each of 0 or more and below 2", _mutation),
        "recombination": number(0.7, 0.0, 1.0),
        "init": choice("latinhypercube", INITIAL),
        "polish": flag(True),
    }

    def minimise(self, fun: Function) -> str:
        from scipy.optimize import differential_evolution

        return self.ending(differential_evolution(fun, self.bounds(), rng=self.rng, maxiter=UNLIMITED, **self.chosen))


class DIRECT(ScipyOptimizer):
    """Divides the box into ever smaller boxes, the promising ones first. No randomness, no start; few dimensions.

    scipy's tolerances end it when the best box is tiny: set `vol_tol` and `len_tol` to 0 to go on (to a million
    evaluations, for which scipy takes the memory when it begins).
    """

    settings: ClassVar = {
        "eps": number(1e-4),
        "locally_biased": flag(True),
        "vol_tol": number(1e-16, 0.0, 1.0),
        "len_tol": number(1e-6, 0.0, 1.0),
    }

    def minimise(self, fun: Function) -> str:
        from scipy.optimize import direct

        limits = {"maxfun": DIRECT_MOST, "maxiter": DIRECT_ITERATIONS}
        return self.ending(direct(fun, self.bounds(), **limits, **self.chosen))


class SHGO(ScipyOptimizer):
    """Samples a complex of simplices and runs SLSQP from each of its minima: for few dimensions and few minima.

    It ends by itself after `iters` refinements (scipy's default is 1): no limit is lifted here, because scipy's
    refinements may go on for ever without an evaluation. 2**D + 1 points come before the first local search.
    """

    settings: ClassVar = {"iters": whole(1)}

    def minimise(self, fun: Function) -> str:
        from scipy.optimize import shgo

        return self.ending(shgo(fun, self.bounds(), iters=self.chosen["iters"]))


class BasinHopping(ScipyOptimizer):
    """L-BFGS-B from one random hop after another, as a random walk over local minima; it never ends."""

    settings: ClassVar = {
        "x0": START,
        "T": number(1.0),
        "stepsize": number(0.5, open_low=True),
        "interval": whole(50),
        "target_accept_rate": number(0.5, 0.0, 1.0, open_low=True, open_high=True),
        "stepwise_factor": number(0.9, 0.0, 1.0, open_low=True, open_high=True),
    }

    def minimise(self, fun: Function) -> str:
        from scipy.optimize import basinhopping

        settings = dict(self.chosen)
        x0 = self.start(settings.pop("x0"))
        local = {"method": "L-BFGS-B", "bounds": self.bounds()}
        return self.ending(basinhopping(fun, x0, niter=UNLIMITED, minimizer_kwargs=local, rng=self.rng, **settings))
