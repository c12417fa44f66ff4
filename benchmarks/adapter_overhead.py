"""What our suggest + observe costs beside the library's own loop: at most 0.3 ms or 5 %, whichever is larger.

    python benchmarks/adapter_overhead.py             every optimizer that is installed and has a bare loop here
    python benchmarks/adapter_overhead.py HyperOpt    some of them

Both loops run the same method on the sphere in 5 dimensions, one point at a time, in turn, and the least CPU time of
each counts. They are given the same seeds, so that both do the same work. To add one: a function
`loop(evaluations, seed)` in BARE.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from _measure import cpu, load
from optarena.optimizer import BUILT_IN, get_optimizer
from optarena.optimizers._global_state import GlobalState
from optarena.space import Space

Loop = Callable[[int, int], None]
SPACE = Space.box(-5.0, 5.0, 5)
EVALUATIONS = 200
FEWER = {"Scikit-GP-Hedge": 15, "Scikit-GP-LCB": 15, "Scikit-GBRT-Hedge": 20, "Nevergrad-NgIohTuned": 60}
ALLOWED_MS, ALLOWED_SHARE = 0.3, 0.05


def sphere(x: Any) -> float:
    return float(np.dot(x, x))


def drawn(seed: int) -> int:
    """The seed that an adapter with global states of its own gives to its library."""
    rng = np.random.default_rng(seed)
    GlobalState(rng)
    return int(rng.integers(2**32))


def seeded(loop: Loop, *, python: bool = True) -> Loop:
    """For libraries that use the global random states: the same as the adapter's, set once."""

    def call(evaluations: int, seed: int) -> None:
        with GlobalState(np.random.default_rng(seed), python=python):
            loop(evaluations, seed)

    return call


# ---- the libraries alone --------------------------------------------------------------------------------------------


def hyperopt(evaluations: int, seed: int) -> None:
    from hyperopt import fmin, hp, tpe

    space = [hp.uniform(f"x{i}", -5.0, 5.0) for i in range(5)]
    rng = np.random.default_rng(seed)
    fmin(sphere, space, tpe.suggest, evaluations, rstate=rng, verbose=False, show_progressbar=False)


def nevergrad(name: str) -> Loop:
    def loop(evaluations: int, seed: int) -> None:
        import nevergrad as ng

        parametrization = ng.p.Array(shape=(5,), lower=-5.0, upper=5.0)
        parametrization.random_state = np.random.RandomState(drawn(seed))
        engine = ng.optimizers.registry[name](parametrization, evaluations if name == "NgIohTuned" else None, 1)
        for _ in range(evaluations):
            candidate = engine.ask()
            engine.tell(candidate, sphere(candidate.value))

    return loop


def skopt(base_estimator: str, acq_func: str) -> Loop:
    def loop(evaluations: int, seed: int) -> None:
        from skopt import Optimizer

        from optarena.optimizers.skopt_optimizers import _quantiles  # skopt's own does not run

        estimator: Any = base_estimator
        if base_estimator == "GBRT":
            from sklearn.ensemble import GradientBoostingRegressor

            trees = GradientBoostingRegressor(n_estimators=30, loss="quantile")
            estimator = _quantiles()(base_estimator=trees, random_state=drawn(seed) % 2**31)
        engine = Optimizer(
            [(-5.0, 5.0)] * 5, estimator, acq_func=acq_func, n_initial_points=5, random_state=drawn(seed)
        )
        for _ in range(evaluations):
            x = engine.ask()
            engine.tell(x, sphere(x))

    return loop


def pysot(evaluations: int, _: int) -> None:
    from poap.controller import SerialController
    from pySOT.experimental_design import SymmetricLatinHypercube
    from pySOT.optimization_problems import OptimizationProblem
    from pySOT.strategy import SRBFStrategy
    from pySOT.surrogate import CubicKernel, LinearTail, RBFInterpolant

    problem = OptimizationProblem()
    problem.dim, problem.lb, problem.ub = 5, np.full(5, -5.0), np.full(5, 5.0)
    problem.int_var, problem.cont_var = np.array([], dtype=int), np.arange(5)
    surrogate = RBFInterpolant(5, problem.lb, problem.ub, kernel=CubicKernel(), tail=LinearTail(5), eta=1e-4)
    design = SymmetricLatinHypercube(dim=5, num_pts=12)
    controller = SerialController(objective=sphere)
    controller.strategy = SRBFStrategy(evaluations, problem, design, surrogate, asynchronous=True)
    controller.run()


def opentuner(technique: str) -> Loop:
    def loop(evaluations: int, _: int) -> None:
        from optarena.optimizers.opentuner_optimizers import _tools  # OpenTuner without its log

        tools = _tools()
        manipulator = tools.Manipulator()
        for i in range(5):
            manipulator.add_parameter(tools.Float(f"p{i}", -5.0, 5.0))
        options = ["--no-dups", "--quiet", "--database", "sqlite://", "--technique", technique, "--parallelism", "1"]
        args = tools.parser.parse_args(options)
        interface = tools.Interface(args=args, manipulator=manipulator, project_name="bare", program_name="bare")
        manager = tools.Manager(interface, args, search_driver=tools.Driver)
        done = 0
        while done < evaluations:
            desired = manager.get_next_desired_result()
            if desired is not None:
                data = desired.configuration.data
                manager.report_result(desired, tools.Result(time=sphere([data[f"p{i}"] for i in range(5)])))
                done += 1

    return loop


def optuna(sampler: str) -> Loop:
    def loop(evaluations: int, seed: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        distributions = {f"x{i}": optuna.distributions.FloatDistribution(-5.0, 5.0) for i in range(5)}
        study = optuna.create_study(sampler=getattr(optuna.samplers, sampler)(seed=seed))
        for _ in range(evaluations):
            trial = study.ask(distributions)
            study.tell(trial, sphere(list(trial.params.values())))

    return loop


def cma(evaluations: int, seed: int) -> None:
    import cma

    options = {"bounds": [0.0, 1.0], "seed": seed + 1, "verbose": -10, "verb_disp": 0, "verb_log": 0}
    strategy = cma.CMAEvolutionStrategy(np.full(5, 0.5), 0.3, options)
    for _ in range(-(-evaluations // strategy.popsize)):
        points = strategy.ask()
        strategy.tell(points, [sphere(x) for x in points])


def pymoo(name: str, pop_size: int) -> Loop:
    def loop(evaluations: int, seed: int) -> None:
        import importlib

        from pymoo.core.evaluator import Evaluator
        from pymoo.core.problem import Problem
        from pymoo.core.termination import NoTermination
        from pymoo.problems.static import StaticProblem

        algorithm = getattr(importlib.import_module(f"pymoo.algorithms.soo.nonconvex.{name.lower()}"), name)
        engine = algorithm(pop_size=pop_size)
        problem = Problem(n_var=5, n_obj=1, xl=0.0, xu=1.0)
        engine.setup(problem, termination=NoTermination(), seed=seed)
        for _ in range(-(-evaluations // pop_size)):
            members = engine.ask()
            values = np.array([[sphere(x)] for x in members.get("X")])
            Evaluator().eval(StaticProblem(problem, F=values), members)
            engine.tell(infills=members)

    return loop


BARE: dict[str, Loop] = {
    "HyperOpt": hyperopt,
    **{f"Nevergrad-{name}": nevergrad(name) for name in ("OnePlusOne", "NgIohTuned", "DE", "PSO")},
    "Scikit-GBRT-Hedge": skopt("GBRT", "gp_hedge"),
    "Scikit-GP-Hedge": skopt("GP", "gp_hedge"),
    "Scikit-GP-LCB": skopt("GP", "LCB"),
    "PySOT": seeded(pysot, python=False),
    "OpenTuner-BanditA": seeded(opentuner("AUCBanditMetaTechniqueA")),
    "OpenTuner-GA": seeded(opentuner("PSO_GA_Bandit")),
    "OpenTuner-GA-DE": seeded(opentuner("PSO_GA_DE")),
    "Optuna-TPE": optuna("TPESampler"),
    "Optuna-CMAES": optuna("CmaEsSampler"),
    "CMA-ES": cma,
    "Pymoo-GA": pymoo("GA", 20),
    "Pymoo-DE": pymoo("DE", 20),
    "Pymoo-PSO": pymoo("PSO", 25),
}


# ---- ours, and the table --------------------------------------------------------------------------------------------


def ours(name: str) -> Loop:
    cls = get_optimizer(name)

    def loop(evaluations: int, seed: int) -> None:
        settings = {"budget": evaluations} if cls.capabilities.uses_budget else {}
        optimizer = cls(SPACE, rng=np.random.default_rng(seed), **settings)
        for _ in range(evaluations):
            X: Any = optimizer.suggest(1)
            optimizer.observe(X, np.array([[sphere(X[0])]]))
        optimizer.close()

    return loop


def main() -> None:
    names = sys.argv[1:] or [name for name in BARE if BUILT_IN[name].installed]
    print(f"CPU milliseconds of a suggest and an observe, 5 reals, least of 3 to 5 ({load()})")
    print(f"{'optimizer':22s} {'bare':>9s} {'ours':>9s} {'over':>9s} {'%':>7s}")
    warnings.simplefilter("ignore")
    for name in names:
        evaluations = FEWER.get(name, EVALUATIONS)
        pair = (BARE[name], ours(name))
        for loop in pair:
            loop(min(evaluations, 10), 0)  # imports, and what is made once
        least = [np.inf, np.inf]
        for _ in range(3 if name in FEWER else 5):
            for i, loop in enumerate(pair):
                spent = cpu(partial(loop, evaluations, 1), repeats=1)
                least[i] = min(least[i], spent / evaluations * 1e3)
        over = least[1] - least[0]
        good = over <= max(ALLOWED_MS, ALLOWED_SHARE * least[0])
        note = "" if good else "  more than 0.3 ms and 5 %"
        print(f"{name:22s} {least[0]:9.3f} {least[1]:9.3f} {over:9.3f} {over / least[0]:7.1%}{note}", flush=True)


if __name__ == "__main__":
    main()
