"""Bayesian optimization by Ax, with Ax's own choice of models; its storage, runners and analyses stay out."""

from __future__ import annotations

import contextlib
from typing import Any, ClassVar

import numpy as np

from optarena.optimizer import Capabilities
from optarena.optimizers import _codec
from optarena.optimizers._ask_tell import AskTell, Values
from optarena.settings import choice, flag, whole
from optarena.space import Parameter, Space

REGISTERED = {
    "library": "ax-platform",
    "licence": "MIT",
    "extra": "ax",
    "needs": ["ax"],
    "names": {"Ax": "Ax"},
}

METHODS = ("fast", "quality")


class Ax(AskTell):
    """The centre, a few Sobol' points, then Gaussian processes and acquisitions as Ax thinks best for the space.

    Good for: expensive and noisy functions of up to about 20 parameters and at most some hundred evaluations; a
    suggestion takes seconds where there are categories. Why beside BoTorch: Ax is by the same people, and its defaults
    are what they advise. Linear and log ranges, integers, ordinals and categories are Ax's own.

    Ax never suggests a point twice, unless it failed: where a space of integers and categories is exhausted, the study
    ends. A failure is a trial that failed, and so is infinity. `method` is Ax's: fast, or quality (a fully Bayesian
    model, far slower); `initialization_budget` is the number of points before the model.
    """

    capabilities = Capabilities(array_native=True, failures="native")
    packages = ("ax-platform", "botorch", "gpytorch", "torch")
    native = (_codec.REAL, _codec.REAL_LOG, _codec.INT, _codec.INT_LOG)
    torch = True
    repeats = False

    settings: ClassVar = {
        "method": choice("fast", METHODS),
        "initialization_budget": whole(5),
        "initialize_with_center": flag(True),
    }

    def __init__(
        self, space: Space, *, objectives: int = 1, rng: np.random.Generator | None = None, **settings: Any
    ) -> None:
        super().__init__(space, objectives=objectives, rng=rng, **settings)
        with self._running():
            from ax.api.client import Client

            seed = int(self.rng.integers(2**31))
            self._client = Client(random_seed=seed)
            parts = zip(self._names, self._codec.parameters, self._codec.kinds, strict=True)
            self._client.configure_experiment([_parameter(*part) for part in parts])
            self._client.configure_optimization("-y")  # the minus: it is to be minimised
            self._client.configure_generation_strategy(
                **self.chosen,
                initialization_random_seed=seed,
                allow_exceeding_initialization_budget=True,  # a batch may be larger, and evaluations may fail
            )

    def _ask(self, n: int) -> list[tuple[Any, Values]]:
        from ax.exceptions.core import OptimizationComplete

        trials: dict[int, Any] = {}
        try:
            trials = self._client.get_next_trials(n)
        except OptimizationComplete:  # it drops the new points of a batch that it cannot fill
            with contextlib.suppress(OptimizationComplete):
                while 1 < n > len(trials):
                    trials |= self._client.get_next_trials(1)
        return [(token, [float(point[name]) for name in self._names]) for token, point in trials.items()]

    def _tell(self, token: Any, value: float, failed: bool) -> None:
        if failed:
            self._client.mark_trial_failed(token)
        else:
            self._client.complete_trial(token, {"y": value})

    def _token(self, point: Values) -> Any:
        parts = zip(self._names, point, self._codec.kinds, strict=True)
        given = {name: str(value) if kind == _codec.CATEGORY else value for name, value, kind in parts}
        return self._client.attach_trial(given)


def _parameter(name: str, p: Parameter, kind: str) -> Any:
    """A parameter as Ax declares one; a category's members are texts, since Ax would put numbers in order."""
    from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig

    indices = list(range(len(p.values or ())))
    if kind == _codec.CATEGORY:
        return ChoiceParameterConfig(name=name, values=list(map(str, indices)), parameter_type="str", is_ordered=False)
    if kind == _codec.INDEX:
        return ChoiceParameterConfig(name=name, values=indices, parameter_type="int", is_ordered=True)
    if kind == _codec.UNIT:
        return RangeParameterConfig(name=name, bounds=(0.0, 1.0), parameter_type="float")
    scaling: Any = "log" if p.warp == "log" else "linear"
    if p.type == "int":
        bounds = (int(p.low), int(p.high))
        return RangeParameterConfig(name=name, bounds=bounds, parameter_type="int", scaling=scaling)
    return RangeParameterConfig(name=name, bounds=(p.low, p.high), parameter_type="float", scaling=scaling)
