"""Bayesian optimization by scikit-optimize: Gaussian processes and boosted trees, one acquisition or three."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from optarena._global_state import GlobalState, import_apart
from optarena.optimizer import Capabilities, Optimizer
from optarena.optimizers import _codec
from optarena.optimizers._pending import Finite
from optarena.settings import choice, number, whole
from optarena.space import Array, Parameter, Space

REGISTERED = {
    "library": "scikit-optimize",
    "licence": "BSD-3-Clause",
    "last_release": 2024,
    "extra": "skopt",
    "needs": ["skopt"],
    "names": {
        "Scikit-GBRT-Hedge": "ScikitGBRTHedge",
        "Scikit-GP-Hedge": "ScikitGPHedge",
        "Scikit-GP-LCB": "ScikitGPLCB",
    },
}

STRATEGIES = ("cl_min", "cl_mean", "cl_max")
KINDS = (_codec.REAL, _codec.REAL_LOG, _codec.INT, _codec.INT_LOG)


class Scikit(Optimizer):
    """What scikit-optimize's optimizers share: a surrogate fitted inside `observe`, asked and told.

    Linear and log ranges, of reals and integers, are skopt's own; logit and bilog are a real in our unit cube. An
    ordinal is an integer, categories and bools are categories, one-hot. The first `n_initial_points` are random: 5, as
    in the slides (skopt's own default is 10). Of a batch, each point is told to a copy with a lie (`strategy`), and
    the copy asked for the next. skopt has no failures: it gets the worst value so far. Where it would suggest a
    point again, it takes a random one, as skopt does by default.
    """

    capabilities = Capabilities(array_native=True, failures="worst")
    packages = ("scikit-optimize", "scikit-learn")
    base_estimator: ClassVar[str]
    acq_func: ClassVar[str]

    settings: ClassVar = {
        "n_initial_points": whole(5),
        "xi": number(0.01),
        "kappa": number(1.96),
        "n_points": whole(10_000),
        "n_restarts_optimizer": whole(5),
        "strategy": choice("cl_min", STRATEGIES),
    }

    def __init__(
        self, space: Space, *, objectives: int = 1, rng: np.random.Generator | None = None, **settings: Any
    ) -> None:
        super().__init__(space, objectives=objectives, rng=rng, **settings)
        self._codec = _codec.Codec(space, KINDS)
        self._finite = Finite()
        self._state = GlobalState(self.rng, python=False)
        seed = int(self.rng.integers(2**32))
        skopt = import_apart("skopt")
        with self._running():
            pairs = zip(self._codec.parameters, self._codec.kinds, strict=True)
            self._engine = skopt.Optimizer(
                [_dimension(p, kind) for p, kind in pairs],
                self._estimator(seed),
                n_initial_points=self.chosen["n_initial_points"],
                acq_func=self.acq_func,
                acq_func_kwargs={key: self.chosen[key] for key in ("xi", "kappa")},
                acq_optimizer_kwargs={key: self.chosen[key] for key in ("n_points", "n_restarts_optimizer")},
                model_queue_size=1,  # the models of the past are of no use, and they are large
                random_state=seed,
            )

    def _estimator(self, seed: int) -> Any:  # noqa: ARG002
        return self.base_estimator

    @contextlib.contextmanager
    def _running(self) -> Iterator[None]:
        with self._state, warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
            yield

    def suggest(self, n: int) -> Array:
        with self._running():
            rows = [self._engine.ask()] if n == 1 else self._engine.ask(n, strategy=self.chosen["strategy"])
        return self._codec.decode(rows)

    def observe(self, X: Array, y: Array, violations: Array | None = None) -> None:  # noqa: ARG002
        points = [self._codec.encode(row) for row in np.asarray(X, dtype=float)]
        told = self._finite(points, y[:, 0].tolist())
        if told:
            with self._running():
                self._engine.tell([point for point, _ in told], [value for _, value in told])


class ScikitGPHedge(Scikit):
    """A Gaussian process (Matérn 5/2); each time one of EI, LCB and PI is chosen by how well it did so far.

    Good for: smooth and expensive functions of a few parameters, up to some 100 evaluations: a fit takes a tenth of a
    second at first, then the cube of the number of evaluations. Why skopt: it is the one in the slides.
    """

    base_estimator = "GP"
    acq_func = "gp_hedge"


class ScikitGPLCB(Scikit):
    """A Gaussian process (Matérn 5/2) and the lower confidence bound, `kappa` standard deviations below the mean.

    Good for: what Scikit-GP-Hedge is good for, where a steady balance of exploring and exploiting is wanted.
    """

    base_estimator = "GP"
    acq_func = "LCB"


class ScikitGBRTHedge(Scikit):
    """Boosted trees for three quantiles; each time one of EI, LCB and PI is chosen by how well it did so far.

    Good for: functions with steps and many categories, up to some hundreds of evaluations. Its acquisition is optimised
    by sampling `n_points`. skopt's own estimator of this name no longer works, twice: scikit-learn does not take it
    for a regressor, and it calls `np.in1d`, which NumPy has removed. Both are fixed here; the model is the same.
    """

    base_estimator = "GBRT"
    acq_func = "gp_hedge"

    def _estimator(self, seed: int) -> Any:
        from sklearn.ensemble import GradientBoostingRegressor

        trees = GradientBoostingRegressor(n_estimators=30, loss="quantile")  # as skopt's cook_estimator
        return _quantiles()(base_estimator=trees, random_state=seed % 2**31)


def _dimension(p: Parameter, kind: str) -> Any:
    from skopt.space import Categorical, Integer, Real

    prior = "log-uniform" if p.warp == "log" else "uniform"
    if kind in (_codec.REAL, _codec.REAL_LOG):
        return Real(p.low, p.high, prior=prior)
    if kind in (_codec.INT, _codec.INT_LOG):
        return Integer(int(p.low), int(p.high), prior=prior)
    if kind == _codec.UNIT:
        return Real(0.0, 1.0)
    count = len(p.values or ())
    return Integer(0, count - 1) if kind == _codec.INDEX else Categorical(list(range(count)))


@functools.cache
def _quantiles() -> type:
    """skopt's GradientBoostingQuantileRegressor, fixed."""
    from skopt.learning import GradientBoostingQuantileRegressor

    class Quantiles(GradientBoostingQuantileRegressor):  # type: ignore[misc]
        def __sklearn_tags__(self) -> Any:
            tags = super().__sklearn_tags__()
            tags.estimator_type = "regressor"
            return tags

        def predict(self, X: Any, return_std: bool = False, return_quantiles: bool = False) -> Any:
            if not return_std or return_quantiles:
                return super().predict(X, return_quantiles=return_quantiles)
            low, middle, high = (self.regressors_[self.quantiles.index(q)].predict(X) for q in (0.16, 0.5, 0.84))
            return middle, (high - low) / 2.0

    return Quantiles
