"""Which optimizers to try on a problem: a panel of different kinds that fit it, its budget and its cost (docs/try.md).

>>> from optarena.problem import build
>>> chosen = panel(build("functions/branin/d2"), budget=100, seconds=0.001)
>>> chosen.optimizers[-1].label
'RandomSearch'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from optarena._numbers import seconds as said_seconds
from optarena.errors import OptarenaError
from optarena.experiment.pairing import misfit
from optarena.experiment.uses import Use
from optarena.optimizer import OPTIMIZERS, get_optimizer
from optarena.problem import Problem

SIZE, SMALL_SIZE = 5, 3
"""Optimizers of a panel, random search among them; and where one round of all would take long."""
TRIALS, FEWEST_TRIALS = 20, 10
"""At most N trials of each; where evaluations are dear, fewer, but not too few to decide anything."""
LONG_ROUND, LONG_RUN = 30 * 60.0, 8 * 3600.0
"""Seconds: a round of five that takes longer is run by three; trials are fewer where all of them would take longer."""
OWN_TIME = 60.0
"""Seconds that an optimizer may spend on its own thinking over all trials, if evaluations do not take longer."""
FEW = 30
"""Evaluations per parameter below which models of the function are worth their time."""
MANY_PARAMETERS = 50

# Seconds that an optimizer needs for a point, measured (docs/benchmarks/adapter_overhead.md, docs/leaderboard.md);
# those that are not listed need less than 2 ms.
OWN_SECONDS = {
    "Ax": 1.5,
    "BoTorch": 1.0,
    "SMAC": 0.35,
    "Scikit-GP-Hedge": 0.27,
    "Optuna-GP": 0.1,
    "HyperOpt": 0.006,
    "PySOT": 0.004,
    "Optuna-TPE": 0.004,
    "Scipy-COBYQA": 0.0015,
}
GROWTH = 300
"""After so many evaluations such a model takes twice the time for a point."""

# Of each kind the first that is installed, fits the problem and is fast enough for it.
MODELS = ("Optuna-GP", "Ax", "BoTorch", "SMAC", "PySOT", "Scikit-GP-Hedge")
MODELS_OF_CATEGORIES = ("SMAC", "Optuna-GP", "Ax")
DENSITIES = ("Optuna-TPE", "HyperOpt")
STRATEGIES = ("CMA-ES", "Optuna-CMAES", "Nevergrad-NgIohTuned")
POPULATIONS = ("Nevergrad-NgIohTuned", "Pymoo-DE", "Scipy-DifferentialEvolution")
MUTATIONS = ("Nevergrad-OnePlusOne", "OpenTuner-GA", "Pymoo-GA", "SimulatedAnnealing")
LOCAL, LOCAL_IN_STEPS, LOCAL_WITH_MANY = ("Scipy-COBYQA", "NLopt-BOBYQA"), ("Scipy-Powell",), ("NLopt-BOBYQA",)
FRONTS = ("Pymoo-NSGA2", "Optuna-NSGA2")
FRONTS_BY_VOLUME, FRONTS_OF_MANY = ("Pymoo-SMSEMOA", "Optuna-NSGA3"), ("Pymoo-NSGA3", "Optuna-NSGA3")
SCALED = ("Pymoo-GA", "Pymoo-DE", "Pymoo-PSO", "Pymoo-NSGA2", "Pymoo-NSGA3", "Pymoo-SMSEMOA")
"""Populations of 100 by default, which a small budget would spend on the first generation."""


@dataclass(frozen=True)
class Panel:
    """Who is tried, for how long, and what that follows from."""

    optimizers: list[Use]
    """The best bets first, random search last."""
    max_trials: int
    slow: list[str]
    """Those that are installed and would fit, but whose own time would be longer than the evaluations'."""
    why: str
    """In words: the parameters, the objectives, what an evaluation costs."""


@dataclass
class _Terms:
    """What `misfit` asks of an experiment."""

    budget: int | str | None
    seconds: float | None = None
    target: float | None = None
    trials: int = 2
    batch: int = 1


def default_budget(problem: Problem, seconds: float) -> int:
    """Evaluations where none are given: 20 per parameter, from 50 to 200; 50 where one takes a second or longer."""
    return 50 if seconds >= 1 else min(200, max(50, 20 * problem.dimension))


def must_be_possible(problem: Problem) -> None:
    """Refuse a problem that not even random search can be run on more than once."""
    reason = _why_not(Use("RandomSearch"), problem, 1)
    if reason:
        raise OptarenaError(f"{problem.id} cannot be tried: {reason}")


def panel(problem: Problem, budget: int, seconds: float, workers: int = 1) -> Panel:
    """The optimizers to try on a problem. seconds: what an evaluation takes; workers: processes that share the work."""
    one_run = budget * seconds
    size = SMALL_SIZE if one_run * max(1.0, SIZE / workers) > LONG_ROUND else SIZE
    one_trial = one_run * max(1.0, size / workers)
    trials = TRIALS if one_trial * TRIALS <= LONG_RUN else max(FEWEST_TRIALS, int(LONG_RUN / one_trial))
    chosen: list[Use] = []
    slow: list[str] = []
    for kind in _kinds(problem, budget):
        for name in kind:
            item = _scaled(name, budget)
            if (
                len(chosen) == size - 1
                or any(item.use == other.use for other in chosen)
                or not _fits(item, problem, budget)
            ):
                continue
            # a round waits for the slowest run, however many processes there are
            if _own_time(name, budget) * trials > max(OWN_TIME, one_run * trials):
                slow.append(name)
                continue
            chosen.append(item)
            break
    return Panel([*chosen, Use("RandomSearch")], trials, list(dict.fromkeys(slow)), why(problem, seconds))


def why(problem: Problem, seconds: float) -> str:
    """What a panel follows from: '2 parameters (int, real), 1 objective, an evaluation takes 12 µs'."""
    parts = [f"{problem.dimension} parameter{'s' * (problem.dimension > 1)} ({', '.join(sorted(problem.space.types))})"]
    if len(problem.objectives) > 1:
        parts.append(f"{len(problem.objectives)} objectives")
    if problem.constraints:
        parts.append(f"{problem.constraints} constraint{'s' * (problem.constraints > 1)}")
    return ", ".join([*parts, f"an evaluation takes {said_seconds(seconds)}"])


def _kinds(problem: Problem, budget: int) -> list[Sequence[str]]:
    """The kinds of optimizers for such a problem, the most promising first."""
    few = budget < FEW * problem.dimension
    if len(problem.objectives) > 1:
        second = FRONTS_BY_VOLUME if len(problem.objectives) <= 3 else FRONTS_OF_MANY
        models = [("Optuna-GP", "BoTorch")] if few else []
        return [*models, ("Optuna-TPE",), FRONTS, second, ("AMOSA",), ("QuasiRandom",)]
    if problem.constraints:
        return [("Optuna-GP",), ("Optuna-TPE",), ("Pymoo-DE",), ("Pymoo-GA",), ("QuasiRandom",)]
    if "cat" in problem.space.types:
        if few:
            return [MODELS_OF_CATEGORIES, DENSITIES, MUTATIONS, STRATEGIES, ("QuasiRandom",)]
        return [MUTATIONS, DENSITIES, POPULATIONS, STRATEGIES, MODELS_OF_CATEGORIES, ("QuasiRandom",)]
    local: Sequence[str] = LOCAL_IN_STEPS if not problem.space.continuous else LOCAL
    if problem.noisy:
        local = ()
    elif problem.dimension > MANY_PARAMETERS:
        local = LOCAL_WITH_MANY
    if few:
        return [MODELS, DENSITIES, STRATEGIES, local, ("QuasiRandom",), POPULATIONS]
    return [STRATEGIES, local, POPULATIONS, DENSITIES, MODELS, ("QuasiRandom",)]


def _scaled(name: str, budget: int) -> Use:
    """With a population that has ten generations in the budget, where the usual one has not."""
    if name in SCALED and budget < 1000:
        return Use(name, {"pop_size": max(8, budget // 10)})
    return Use(name)


def _fits(item: Use, problem: Problem, budget: int) -> bool:
    return item.use in OPTIMIZERS and OPTIMIZERS.entry(item.use).installed and not _why_not(item, problem, budget)


def _why_not(item: Use, problem: Problem, budget: int) -> str | None:
    return misfit(get_optimizer(item.use).as_used(item.settings), problem, _Terms(budget), item)


def _own_time(name: str, budget: int) -> float:
    """Seconds that an optimizer spends on the points of one study."""
    return OWN_SECONDS.get(name, 0.0) * budget * (1 + budget / (2 * GROWTH))
