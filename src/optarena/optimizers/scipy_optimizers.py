"""scipy.optimize's minimisers, each with scipy's own sequence of evaluations (see `closed_loop`).

Settings are scipy's, by scipy's names and with scipy's defaults, with one exception: the limits on iterations and
evaluations are out of reach (`UNLIMITED`), because a study ends when its budget does, and scipy's would end it before
(Nelder-Mead after 200 evaluations a dimension). Tolerances stay, so a local method converges and its study is stopped
early; with `restarts=True` it starts again at a random point instead.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from optarena.errors import OptarenaError
from optarena.optimizers._settings import choice, flag, number, whole
from optarena.optimizers.closed_loop import STARTS, ClosedLoop, Function
from optarena.space import Space

UNLIMITED = 10**9
DIRECT_MOST = 1_000_000  # evaluations; it takes memory for them all when it begins
DIRECT_ITERATIONS = 10_000
Rng = np.random.Generator | None


class ScipyOptimizer(ClosedLoop):
    """What all of them share: the bounds, and how an end is told."""

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

    def __init__(
        self, space: Space, objectives: int, rng: Rng, x0: str, restarts: bool, options: dict[str, Any]
    ) -> None:
        super().__init__(space, objectives=objectives, rng=rng)
        self.x0 = choice(self, "x0", x0, STARTS)
        self.restarts = flag(self, "restarts", restarts)
        self.options = options

    def minimise(self, fun: Function) -> str:
        from scipy.optimize import minimize

        how = self.x0
        while True:
            result = minimize(fun, self.start(how), method=self.method, bounds=self.bounds(), options=self.options)
            if not self.restarts:
                return self.ending(result)
            how = "random"


class NelderMead(LocalMethod):
    """A simplex that crawls downhill by comparing values: no model, no gradient. For few dimensions, or some noise."""

    method = "Nelder-Mead"

    def __init__(
        self,
        space: Space,
        *,
        objectives: int = 1,
        rng: Rng = None,
        x0: str = "random",
        restarts: bool = False,
        xatol: float = 1e-4,
        fatol: float = 1e-4,
        adaptive: bool = False,
    ) -> None:
        options = {
            "maxiter": UNLIMITED,
            "maxfev": UNLIMITED,
            "xatol": number(self, "xatol", xatol),
            "fatol": number(self, "fatol", fatol),
            "adaptive": flag(self, "adaptive", adaptive),
        }
        super().__init__(space, objectives, rng, x0, restarts, options)


class Powell(LocalMethod):
    """Line searches along directions that it learns: fast where the parameters act on their own."""

    method = "Powell"

    def __init__(
        self,
        space: Space,
        *,
        objectives: int = 1,
        rng: Rng = None,
        x0: str = "random",
        restarts: bool = False,
        xtol: float = 1e-4,
        ftol: float = 1e-4,
    ) -> None:
        options = {
            "maxiter": UNLIMITED,
            "maxfev": UNLIMITED,
            "xtol": number(self, "xtol", xtol),
            "ftol": number(self, "ftol", ftol),
        }
        super().__init__(space, objectives, rng, x0, restarts, options)


class COBYLA(LocalMethod):
    """Linear models in a shrinking trust region (Powell 1994). Rough and steady; a step over a bound is clipped."""

    method = "COBYLA"

    def __init__(
        self,
        space: Space,
        *,
        objectives: int = 1,
        rng: Rng = None,
        x0: str = "random",
        restarts: bool = False,
        rhobeg: float = 1.0,
        tol: float = 1e-4,
    ) -> None:
        options = {
            "maxiter": UNLIMITED,
            "rhobeg": number(self, "rhobeg", rhobeg, open_low=True),
            "tol": number(self, "tol", tol, open_low=True),
        }
        super().__init__(space, objectives, rng, x0, restarts, options)


class COBYQA(LocalMethod):
    """Quadratic models in a trust region: few evaluations for a smooth function, at some thinking time for each."""

    method = "COBYQA"

    def __init__(
        self,
        space: Space,
        *,
        objectives: int = 1,
        rng: Rng = None,
        x0: str = "random",
        restarts: bool = False,
        initial_tr_radius: float = 1.0,
        final_tr_radius: float = 1e-6,
        scale: bool = False,
    ) -> None:
        options = {
            "maxiter": UNLIMITED,
            "maxfev": UNLIMITED,
            "initial_tr_radius": number(self, "initial_tr_radius", initial_tr_radius, open_low=True),
            "final_tr_radius": number(self, "final_tr_radius", final_tr_radius),
            "scale": flag(self, "scale", scale),
        }
        super().__init__(space, objectives, rng, x0, restarts, options)


class LBFGSB(LocalMethod):
    """Quasi-Newton with gradients by finite differences, each of which costs D evaluations that count.

    The best of these on smooth functions. Where integers or categories make steps, the differences are zero and it
    stops at once.
    """

    method = "L-BFGS-B"

    def __init__(
        self,
        space: Space,
        *,
        objectives: int = 1,
        rng: Rng = None,
        x0: str = "random",
        restarts: bool = False,
        maxcor: int = 10,
        ftol: float = 2.220446049250313e-09,
        gtol: float = 1e-5,
        eps: float = 1e-8,
        maxls: int = 20,
    ) -> None:
        options = {
            "maxiter": UNLIMITED,
            "maxfun": UNLIMITED,
            "maxcor": whole(self, "maxcor", maxcor),
            "ftol": number(self, "ftol", ftol),
            "gtol": number(self, "gtol", gtol),
            "eps": number(self, "eps", eps, open_low=True),
            "maxls": whole(self, "maxls", maxls),
        }
        super().__init__(space, objectives, rng, x0, restarts, options)


class SLSQP(LocalMethod):
    """Sequential least squares with gradients by finite differences, as in L-BFGS-B: good where that one is."""

    method = "SLSQP"

    def __init__(
        self,
        space: Space,
        *,
        objectives: int = 1,
        rng: Rng = None,
        x0: str = "random",
        restarts: bool = False,
        ftol: float = 1e-6,
        eps: float = 1.4901161193847656e-08,
    ) -> None:
        options = {
            "maxiter": UNLIMITED,
            "ftol": number(self, "ftol", ftol, open_low=True),
            "eps": number(self, "eps", eps, open_low=True),
        }
        super().__init__(space, objectives, rng, x0, restarts, options)


# ---- global methods -------------------------------------------------------------------------------------------------


class SimulatedAnnealing(ScipyOptimizer):
    """Generalised simulated annealing with local searches (dual annealing): for many local minima; it never ends."""

    def __init__(
        self,
        space: Space,
        *,
        objectives: int = 1,
        rng: Rng = None,
        initial_temp: float = 5230.0,
        restart_temp_ratio: float = 2e-5,
        visit: float = 2.62,
        accept: float = -5.0,
        no_local_search: bool = False,
    ) -> None:
        super().__init__(space, objectives=objectives, rng=rng)
        self.options = {
            "initial_temp": number(self, "initial_temp", initial_temp, 0.01, 5e4, open_low=True),
            "restart_temp_ratio": number(self, "restart_temp_ratio", restart_temp_ratio, 0.0, 1.0, open_low=True),
            "visit": number(self, "visit", visit, 1.0, 3.0, open_low=True),
            "accept": number(self, "accept", accept, -1e4, -5.0, open_low=True),
            "no_local_search": flag(self, "no_local_search", no_local_search),
        }

    def minimise(self, fun: Function) -> str:
        from scipy.optimize import dual_annealing

        limits = {"maxiter": UNLIMITED, "maxfun": UNLIMITED}
        return self.ending(dual_annealing(fun, self.bounds(), rng=self.rng, **limits, **self.options))


STRATEGIES = tuple(
    f"{kind}{crossover}"
    for kind in ("best1", "best2", "rand1", "rand2", "randtobest1", "currenttobest1")
    for crossover in ("bin", "exp")
)
INITIAL = ("latinhypercube", "sobol", "halton", "random")


class DifferentialEvolution(ScipyOptimizer):
    """A population that moves by differences of its members: for rugged functions; L-BFGS-B polishes the end."""

    def __init__(
        self,
        space: Space,
        *,
        objectives: int = 1,
        rng: Rng = None,
        strategy: str = "best1bin",
        popsize: int = 15,
        tol: float = 0.01,
        atol: float = 0.0,
        mutation: float | list[float] | tuple[float, float] = (0.5, 1.0),
        recombination: float = 0.7,
        init: str = "latinhypercube",
        polish: bool = True,
    ) -> None:
        super().__init__(space, objectives=objectives, rng=rng)
        self.options = {
            "strategy": choice(self, "strategy", strategy, STRATEGIES),
            "popsize": whole(self, "popsize", popsize),
            "tol": number(self, "tol", tol),
            "atol": number(self, "atol", atol),
            "mutation": self._mutation(mutation),
            "recombination": number(self, "recombination", recombination, 0.0, 1.0),
            "init": choice(self, "init", init, INITIAL),
            "polish": flag(self, "polish", polish),
        }

    def _mutation(self, value: Any) -> float | tuple[float, float]:
        if not isinstance(value, (list, tuple)):
            return number(self, "mutation", value, 0.0, 2.0)
        if len(value) != 2:
            raise OptarenaError(f"{type(self).__name__}: mutation must be a number or [low, high], got {value!r}")
        return number(self, "mutation", value[0], 0.0, 2.0), number(self, "mutation", value[1], 0.0, 2.0)

    def minimise(self, fun: Function) -> str:
        from scipy.optimize import differential_evolution

        return self.ending(differential_evolution(fun, self.bounds(), rng=self.rng, maxiter=UNLIMITED, **self.options))


class DIRECT(ScipyOptimizer):
    """Divides the box into ever smaller boxes, the promising ones first. No randomness, no start; few dimensions.

    scipy's tolerances end it when the best box is tiny: set `vol_tol` and `len_tol` to 0 to go on (to a million
    evaluations, for which scipy takes the memory when it begins).
    """

    def __init__(
        self,
        space: Space,
        *,
        objectives: int = 1,
        rng: Rng = None,
        eps: float = 1e-4,
        locally_biased: bool = True,
        vol_tol: float = 1e-16,
        len_tol: float = 1e-6,
    ) -> None:
        super().__init__(space, objectives=objectives, rng=rng)
        self.options = {
            "eps": number(self, "eps", eps),
            "locally_biased": flag(self, "locally_biased", locally_biased),
            "vol_tol": number(self, "vol_tol", vol_tol, 0.0, 1.0),
            "len_tol": number(self, "len_tol", len_tol, 0.0, 1.0),
        }

    def minimise(self, fun: Function) -> str:
        from scipy.optimize import direct

        limits = {"maxfun": DIRECT_MOST, "maxiter": DIRECT_ITERATIONS}
        return self.ending(direct(fun, self.bounds(), **limits, **self.options))


class SHGO(ScipyOptimizer):
    """Samples a complex of simplices and runs SLSQP from each of its minima: for few dimensions and few minima.

    It ends by itself after `iters` refinements (scipy's default is 1): no limit is lifted here, because scipy's
    refinements may go on for ever without an evaluation. 2**D + 1 points come before the first local search.
    """

    def __init__(self, space: Space, *, objectives: int = 1, rng: Rng = None, iters: int = 1) -> None:
        super().__init__(space, objectives=objectives, rng=rng)
        self.iters = whole(self, "iters", iters)

    def minimise(self, fun: Function) -> str:
        from scipy.optimize import shgo

        return self.ending(shgo(fun, self.bounds(), iters=self.iters))


class BasinHopping(ScipyOptimizer):
    """L-BFGS-B from one random hop after another, as a random walk over local minima; it never ends."""

    def __init__(
        self,
        space: Space,
        *,
        objectives: int = 1,
        rng: Rng = None,
        x0: str = "random",
        T: float = 1.0,
        stepsize: float = 0.5,
        interval: int = 50,
        target_accept_rate: float = 0.5,
        stepwise_factor: float = 0.9,
    ) -> None:
        super().__init__(space, objectives=objectives, rng=rng)
        self.x0 = choice(self, "x0", x0, STARTS)
        self.options = {
            "T": number(self, "T", T),
            "stepsize": number(self, "stepsize", stepsize, open_low=True),
            "interval": whole(self, "interval", interval),
            "target_accept_rate": number(self, "target_accept_rate", target_accept_rate, 0.0, 1.0, open_low=True),
            "stepwise_factor": number(self, "stepwise_factor", stepwise_factor, 0.0, 1.0, open_low=True),
        }

    def minimise(self, fun: Function) -> str:
        from scipy.optimize import basinhopping

        local = {"method": "L-BFGS-B", "bounds": self.bounds()}
        result = basinhopping(
            fun, self.start(self.x0), niter=UNLIMITED, minimizer_kwargs=local, rng=self.rng, **self.options
        )
        return self.ending(result)
