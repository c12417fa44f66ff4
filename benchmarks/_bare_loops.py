"""The libraries' own loops on the sphere in 5 dimensions, one point at a time, for `adapter_overhead.py`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from optarena._global_state import GlobalState, TorchState

Loop = Callable[[int, int], None]
CALLS: list[float] = []
VALUES: list[float] = []


def sphere(x: Any) -> float:
    CALLS.append(time.process_time())
    VALUES.append(float(np.dot(x, x)))
    return VALUES[-1]


class Enough(Exception):
    """Ends a minimiser that would go on."""


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


@contextlib.contextmanager
def states(seed: int, *, torch: bool = False) -> Iterator[int]:
    """The global states of an adapter that draws them first, and the seed that it draws next for its library."""
    rng = np.random.default_rng(seed)
    with contextlib.ExitStack() as stack:
        stack.enter_context(GlobalState(rng))
        if torch:
            stack.enter_context(TorchState(rng))
        yield int(rng.integers(2**31))


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
        same = int(np.random.default_rng(seed).integers(2**32))  # as the adapter draws it
        study = optuna.create_study(sampler=getattr(optuna.samplers, sampler)(seed=same))
        for _ in range(evaluations):
            trial = study.ask(distributions)
            study.tell(trial, sphere(list(trial.params.values())))

    return loop


def cma(evaluations: int, seed: int) -> None:
    import cma

    rng = np.random.default_rng(seed)
    options = {"bounds": [0.0, 1.0], "verbose": -10, "verb_disp": 0, "verb_log": 0}
    options |= {"seed": float("nan"), "randn": lambda *shape: rng.standard_normal(shape)}
    strategy = cma.CMAEvolutionStrategy(np.full(5, 0.5), 0.3, options)
    for _ in range(-(-evaluations // strategy.popsize)):
        points = strategy.ask()
        strategy.tell(points, [sphere(10.0 * x - 5.0) for x in points])


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
        engine.setup(problem, termination=NoTermination(), seed=np.random.default_rng(seed))
        for _ in range(-(-evaluations // pop_size)):
            members = engine.ask()
            values = np.array([[sphere(10.0 * x - 5.0)] for x in members.get("X")])
            Evaluator().eval(StaticProblem(problem, F=values), members)
            engine.tell(infills=members)

    return loop


def botorch(evaluations: int, seed: int) -> None:
    """BoTorch has no loop: the parts as its tutorials put them together."""
    import torch
    from botorch.acquisition.logei import qLogNoisyExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from botorch.sampling.normal import SobolQMCNormalSampler
    from gpytorch.mlls import ExactMarginalLogLikelihood
    from scipy.stats import qmc

    rng = np.random.default_rng(seed)
    with GlobalState(rng), TorchState(rng):
        sobol = qmc.Sobol(5, rng=rng, bits=62)
        X, bounds = np.empty((0, 5)), torch.as_tensor(np.array([np.zeros(5), np.ones(5)]))
        values: list[float] = []
        for i in range(evaluations):
            if i < 10:
                point = sobol.random(1)
            else:
                inputs = torch.as_tensor(X)
                model = SingleTaskGP(inputs, torch.as_tensor(-np.array(values)[:, None]))
                fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
                sampler = SobolQMCNormalSampler(torch.Size([128]), seed=int(rng.integers(2**31)))
                acquisition = qLogNoisyExpectedImprovement(model, inputs, sampler=sampler, prune_baseline=True)
                found, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=8, raw_samples=256, sequential=True)
                point = found.numpy()
            X = np.concatenate([X, point])
            values.append(sphere(10.0 * point[0] - 5.0))


def ax(evaluations: int, seed: int) -> None:
    import logging

    from ax.api.client import Client
    from ax.api.configs import RangeParameterConfig

    logging.disable(logging.CRITICAL)
    with states(seed, torch=True) as drawn:
        client = Client(random_seed=drawn)
        client.configure_experiment(
            [RangeParameterConfig(name=f"p{i}", bounds=(-5.0, 5.0), parameter_type="float") for i in range(5)]
        )
        client.configure_optimization("-y")
        client.configure_generation_strategy(initialization_random_seed=drawn, initialization_budget=5)
        for _ in range(evaluations):
            ((index, point),) = client.get_next_trials(1).items()
            client.complete_trial(index, {"y": sphere(list(point.values()))})
    logging.disable(logging.NOTSET)


def smac(evaluations: int, seed: int) -> None:
    import tempfile

    import joblib
    from ConfigSpace import ConfigurationSpace, Float
    from smac import HyperparameterOptimizationFacade, Scenario
    from smac.runhistory import TrialValue

    with states(seed) as drawn:
        space = ConfigurationSpace(seed=drawn)
        space.add([Float(f"p{i}", (-5.0, 5.0)) for i in range(5)])
        with tempfile.TemporaryDirectory() as folder, joblib.parallel_config("sequential"):  # as ours: one thread
            scenario = Scenario(space, deterministic=True, n_trials=evaluations, seed=drawn, output_directory=folder)
            engine = HyperparameterOptimizationFacade(scenario, overwrite=True, logging_level=False)
            for _ in range(evaluations):
                info = engine.ask()
                value = sphere([info.config[f"p{i}"] for i in range(5)])
                engine.tell(info, TrialValue(cost=value), save=False)


def synetune(searcher: str) -> Loop:
    def loop(evaluations: int, seed: int) -> None:
        from syne_tune.config_space import uniform
        from syne_tune.optimizer.schedulers.searchers.searcher_factory import searcher_cls

        domains = {f"p{i}": uniform(0.0, 1.0) for i in range(5)}
        with states(seed) as drawn:
            engine = searcher_cls(searcher)(domains, random_seed=drawn)
            if searcher == "bore":
                engine.model.set_params(n_jobs=1)
            for trial in range(evaluations):
                config = engine.suggest()
                engine.on_trial_complete(trial, config, sphere([10.0 * config[f"p{i}"] - 5.0 for i in range(5)]))

    return loop


def limited(evaluations: int) -> Callable[..., float]:
    """The sphere for minimisers that end by themselves, or never."""
    left = iter(range(evaluations))

    def function(x: Any, *_: Any) -> float:
        if next(left, None) is None:
            raise Enough
        return sphere(x)

    return function


def start(seed: int) -> Any:
    return -5.0 + 10.0 * np.random.default_rng(seed).random(5)


def scipy(method: str) -> Loop:
    def loop(evaluations: int, seed: int) -> None:
        from scipy.optimize import minimize

        options = {"maxiter": 10**9}
        minimize(limited(evaluations), start(seed), method=method, bounds=[(-5.0, 5.0)] * 5, options=options)

    return loop


def nlopt(algorithm: str) -> Loop:
    def loop(evaluations: int, seed: int) -> None:
        import nlopt

        engine = nlopt.opt(getattr(nlopt, algorithm), 5)
        engine.set_lower_bounds(np.full(5, -5.0))
        engine.set_upper_bounds(np.full(5, 5.0))
        engine.set_min_objective(lambda x, _: sphere(x))
        engine.set_maxeval(evaluations)
        with contextlib.suppress(nlopt.RoundoffLimited):
            engine.optimize(start(seed))

    return loop


def pybobyqa(evaluations: int, seed: int) -> None:
    import pybobyqa

    bounds = (np.full(5, -5.0), np.full(5, 5.0))
    pybobyqa.solve(limited(evaluations), start(seed), bounds=bounds, scaling_within_bounds=True, do_logging=False)


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
    "Optuna-GP": optuna("GPSampler"),
    "BoTorch": botorch,
    "Ax": ax,
    "SMAC": smac,
    "SyneTune-CQR": synetune("cqr"),
    "SyneTune-BORE": synetune("bore"),
    "SyneTune-KDE": synetune("kde"),
    "SyneTune-REA": synetune("regularized_evolution"),
    **{f"Scipy-{name.replace('-', '')}": scipy(name) for name in ("Nelder-Mead", "Powell", "COBYLA", "COBYQA")},
    **{f"NLopt-{name}": nlopt(f"LN_{name}") for name in ("BOBYQA", "SBPLX")},
    "Py-BOBYQA": pybobyqa,
}
