"""TPE, a Gaussian process, CMA-ES and NSGA-II, -III by Optuna's samplers, without its storages, pruners and logs."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from optarena._global_state import TorchState
from optarena.optimizer import Capabilities, Optimizer
from optarena.optimizers import _codec
from optarena.optimizers._pending import Pending
from optarena.settings import flag, number, whole
from optarena.space import Array, Parameter, Space

REGISTERED = {
    "library": "optuna",
    "licence": "MIT",
    "extra": "optuna",
    "needs": ["optuna"],
    "names": {
        "Optuna-TPE": "OptunaTPE",
        "Optuna-NSGA2": "OptunaNSGA2",
        "Optuna-NSGA3": "OptunaNSGA3",
        "Optuna-CMAES": {"target": "OptunaCMAES", "needs": ["optuna", "cmaes"]},
        "Optuna-GP": {"target": "OptunaGP", "extra": "optuna-gp", "needs": ["optuna", "torch"]},
    },
}


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Optuna's log and its warnings of experimental arguments are silent, and then as they were."""
    import optuna

    level = optuna.logging.get_verbosity()
    if level < optuna.logging.ERROR:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        if level < optuna.logging.ERROR:
            optuna.logging.set_verbosity(level)


class _Codec(_codec.Codec):
    """Our parameters as Optuna's distributions, and points in matrix form as its params and back.

    Linear and log ranges are native. Logit and bilog, which Optuna has not, are a float in our unit cube, where they
    are linear. Ordinals and lists of numbers are an index that keeps their order; categories and bools are categories,
    or an index for a sampler that has no categories.
    """

    def __init__(self, space: Space, *, categories: bool) -> None:
        super().__init__(space, (_codec.REAL, _codec.REAL_LOG, _codec.INT, _codec.INT_LOG))
        self.names = [p.name for p in self.parameters]
        pairs = zip(self.parameters, self.kinds, strict=True)
        self.distributions = {p.name: _distribution(p, kind, categories) for p, kind in pairs}

    def from_params(self, params: list[Mapping[str, Any]]) -> Array:
        return self.decode([[point[name] for name in self.names] for point in params])

    def to_params(self, row: Array) -> dict[str, Any]:
        return dict(zip(self.names, self.encode(row), strict=True))


def _distribution(p: Parameter, kind: str, categories: bool) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if p.values is not None:
        count = len(p.values)
        return (
            CategoricalDistribution(range(count))
            if kind == _codec.CATEGORY and categories
            else IntDistribution(0, count - 1)
        )
    if kind == _codec.UNIT:
        return FloatDistribution(0.0, 1.0)
    if p.type == "int":
        return IntDistribution(int(p.low), int(p.high), log=p.warp == "log")
    return FloatDistribution(p.low, p.high, log=p.warp == "log")


class OptunaOptimizer(Optimizer):
    """What Optuna's samplers share: a study in memory, asked and told; a failure is a trial that failed."""

    capabilities = Capabilities(array_native=True, failures="native")
    packages: tuple[str, ...] = ("optuna",)
    categories = True
    """Whether the sampler understands categories."""

    def __init__(
        self, space: Space, *, objectives: int = 1, rng: np.random.Generator | None = None, **settings: Any
    ) -> None:
        super().__init__(space, objectives=objectives, rng=rng, **settings)
        import optuna

        self._codec = _Codec(space, categories=self.categories)
        self._pending: Pending[Any] = Pending()
        with _quiet():
            given = {key: value for key, value in self.chosen.items() if value is not None}
            sampler = self._sampler(seed=int(self.rng.integers(2**32)), **given)
            self._study = optuna.create_study(
                storage=self._storage(), sampler=sampler, study_name="study", directions=["minimize"] * objectives
            )

    def _sampler(self, **settings: Any) -> Any:
        raise NotImplementedError

    def _storage(self) -> Any:
        from optuna.storages import InMemoryStorage

        return InMemoryStorage()

    def suggest(self, n: int) -> Array:
        with _quiet():
            trials = [self._study.ask(self._codec.distributions) for _ in range(n)]
        X = self._codec.from_params([trial.params for trial in trials])
        self._pending.put(X, trials)
        return X

    def observe(self, X: Array, y: Array, violations: Array | None = None) -> None:
        from optuna.trial import TrialState

        matrix = np.ascontiguousarray(X, dtype=float)
        broken = [[]] * len(matrix) if violations is None else np.asarray(violations, dtype=float).tolist()
        with _quiet():
            for row, values, violated in zip(matrix, np.asarray(y, dtype=float).tolist(), broken, strict=True):
                failed = any(map(math.isnan, values))
                state, told = (TrialState.FAIL, None) if failed else (TrialState.COMPLETE, values)
                constraints = {} if failed else {str(i): value for i, value in enumerate(violated)}
                trial = self._pending.take(row)
                if trial is not None:
                    for key, value in constraints.items():
                        trial.set_constraint(key, value)
                    self._study.tell(trial, told, state)
                else:
                    self._add(row, told, state, constraints)

    def _add(self, row: Array, values: list[float] | None, state: Any, constraints: Mapping[str, float]) -> None:
        """A point that was never suggested."""
        from optuna.trial import create_trial

        self._study.add_trial(
            create_trial(
                params=self._codec.to_params(row),
                distributions=self._codec.distributions,
                values=values,
                state=state,
                constraints=dict(constraints),
            )
        )


class OptunaTPE(OptunaOptimizer):
    """The tree-structured Parzen estimator: densities of good and of bad points, and where their ratio is largest.

    Good for: tuning with mixed, conditional or noisy parameters and 50 to 1,000 evaluations; weak where parameters
    interact closely. Why Optuna: the implementation that most people run, with warps, categories and failures of its
    own. Each suggestion costs time in proportion to what was observed, so that thousands of evaluations get slow.
    A setting that is None is left to Optuna, whose versions differ there.
    """

    capabilities = Capabilities(array_native=True, several_objectives=True, constraints=True, failures="native")

    settings: ClassVar = {
        "n_startup_trials": whole(10, 0),
        "n_ei_candidates": whole(24),
        "multivariate": flag(None),
        "group": flag(None),
        "constant_liar": flag(None),
    }

    @classmethod
    def conflict(cls, chosen: Mapping[str, Any], dimension: int | None) -> str:  # noqa: ARG003
        if chosen["group"] and chosen["multivariate"] is False:
            return "group = true needs multivariate = true (or none), got false"
        return ""

    def _sampler(self, **settings: Any) -> Any:
        from optuna.samplers import TPESampler

        return TPESampler(**settings)


class OptunaGP(OptunaOptimizer):
    """Bayesian optimization with a Gaussian process (Matérn 5/2, log expected improvement). Needs torch.

    Good for: expensive functions of up to about 20 parameters and at most some 300 evaluations. Why Optuna: a small
    and quick one, with integers and categories of its own.
    """

    capabilities = Capabilities(array_native=True, several_objectives=True, constraints=True, failures="native")
    packages = ("optuna", "torch")

    settings: ClassVar = {"n_startup_trials": whole(10, 0), "deterministic_objective": flag(False)}

    def _sampler(self, **settings: Any) -> Any:
        from optuna.samplers import GPSampler

        self._torch = TorchState(self.rng)
        return GPSampler(**settings)

    def suggest(self, n: int) -> Array:
        with self._torch:
            return super().suggest(n)


class OptunaCMAES(OptunaOptimizer):
    """CMA-ES by the package cmaes, as Optuna drives it: the first point at random, then generations, no restarts.

    Good for: reals and integers, one evaluation at a time, where each is asked for by itself. Why, beside CMA-ES:
    it is what Optuna's users get, and `with_margin` keeps integers from freezing. Of a batch that is larger than the
    population the surplus teaches it nothing, and so do points that it never suggested. Categories are searched as
    integers, since Optuna would draw them at random.
    """

    capabilities = Capabilities(array_native=True, unsuggested=False, failures="native")
    packages = ("optuna", "cmaes")
    categories = False

    settings: ClassVar = {
        "n_startup_trials": whole(1, 0),
        "popsize": whole(None, 4),
        "use_separable_cma": flag(False),
        "with_margin": flag(False),
        "lr_adapt": flag(False),
    }

    @classmethod
    def conflict(cls, chosen: Mapping[str, Any], dimension: int | None) -> str:  # noqa: ARG003
        on = [key for key in ("use_separable_cma", "with_margin", "lr_adapt") if chosen[key]]
        return f"only one of use_separable_cma, with_margin, lr_adapt may be true, got {', '.join(on)}" * (len(on) > 1)

    def _sampler(self, **settings: Any) -> Any:
        from optuna.samplers import CmaEsSampler

        return CmaEsSampler(warn_independent_sampling=False, **settings)

    def _storage(self) -> Any:
        return _recent(max(400, 8 * (self.chosen["popsize"] or 0)))

    def _add(self, row: Array, values: list[float] | None, state: Any, constraints: Mapping[str, float]) -> None:
        pass


class OptunaNSGA2(OptunaOptimizer):
    """NSGA-II: non-dominated sorting and crowding; children by uniform crossover, mutation draws a parameter again.

    Good for: several objectives with integers and categories, some hundreds to thousands of evaluations. Why, beside
    pymoo's: it is what Optuna's users get for several objectives, and categories stay categories. Points that it never
    suggested belong to no generation, and teach it nothing.
    """

    capabilities = Capabilities(
        array_native=True, unsuggested=False, several_objectives=True, constraints=True, failures="native"
    )

    settings: ClassVar = {
        "population_size": whole(50, 2),
        "mutation_prob": number(None, 0.0, 1.0),
        "crossover_prob": number(0.9, 0.0, 1.0),
        "swapping_prob": number(0.5, 0.0, 1.0),
    }

    def _sampler(self, **settings: Any) -> Any:
        from optuna.samplers import NSGAIISampler

        return NSGAIISampler(**settings)

    def _add(self, row: Array, values: list[float] | None, state: Any, constraints: Mapping[str, float]) -> None:
        pass


class OptunaNSGA3(OptunaNSGA2):
    """NSGA-III: as NSGA-II, with reference points instead of crowding; for three objectives and more.

    `dividing_parameter` says how densely reference points lie on the simplex.
    """

    settings: ClassVar = {**OptunaNSGA2.settings, "dividing_parameter": whole(3)}

    def _sampler(self, **settings: Any) -> Any:
        from optuna.samplers import NSGAIIISampler

        return NSGAIIISampler(**settings)


def _recent(window: int) -> Any:
    """A storage that remembers the last trials that succeeded, which is all that CMA-ES looks at.

    Optuna's own keeps them all, and its sampler goes through them all at each suggestion.
    """
    from optuna.storages import InMemoryStorage
    from optuna.trial import FrozenTrial, TrialState, create_trial

    forgotten = create_trial(state=TrialState.FAIL)

    class Recent(InMemoryStorage):
        def __init__(self) -> None:
            super().__init__()
            self._finished: deque[int] = deque()
            self._shown: deque[FrozenTrial] = deque(maxlen=window)

        def set_trial_state_values(self, trial_id: int, state: TrialState, values: Any = None) -> bool:
            changed = super().set_trial_state_values(trial_id, state, values)
            if state.is_finished():
                if state is TrialState.COMPLETE:
                    self._shown.append(self._get_trial(trial_id))
                self._finished.append(trial_id)
                if len(self._finished) > window:
                    self._set_trial(self._finished.popleft(), forgotten)
            return changed

        def get_all_trials(self, study_id: int, deepcopy: bool = True, states: Any = None) -> list[FrozenTrial]:  # noqa: ARG002
            return [trial for trial in self._shown if states is None or trial.state in states]

    return Recent()
