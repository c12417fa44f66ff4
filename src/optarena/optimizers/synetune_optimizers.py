"""Syne Tune's searchers: conformal quantile regression, BORE, kernel density and evolution, without its schedulers.

By itself Syne Tune does not repeat: its searchers draw from NumPy's global generator beside the seed that they are
given. Here that generator is one of the study's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from optarena.optimizer import Capabilities
from optarena.optimizers import _codec
from optarena.optimizers._ask_tell import AskTell, Values
from optarena.settings import Setting, number, whole
from optarena.space import Space

REGISTERED = {
    "library": "syne-tune",
    "licence": "Apache-2.0",
    "extra": "synetune",
    "needs": ["syne_tune", "huggingface_hub"],
    "names": {
        "SyneTune-CQR": "CQR",
        "SyneTune-BORE": "BORE",
        "SyneTune-KDE": "KDE",
        "SyneTune-REA": "REA",
    },
}


class SyneTune(AskTell):
    """What the searchers share. They see our unit cube and categories: some search a log range as if it were linear,
    and the kernel densities leave the bounds of integers. A failure is not reported, since they cannot take it.
    """

    capabilities = Capabilities(array_native=True, failures="skipped")
    packages: tuple[str, ...] = ("syne-tune", "scikit-learn")
    searcher: ClassVar[str]

    def __init__(
        self, space: Space, *, objectives: int = 1, rng: np.random.Generator | None = None, **settings: Any
    ) -> None:
        super().__init__(space, objectives=objectives, rng=rng, **settings)
        self._told = 0
        # an index is a coordinate of the unit cube: only a category is an index to them
        self._counts = [len(p.values or ()) if kind == _codec.INDEX else 0 for p, kind in self._pairs()]
        with self._running():
            from syne_tune.config_space import choice, uniform
            from syne_tune.optimizer.schedulers.searchers.searcher_factory import searcher_cls

            domains = {
                name: choice(list(range(len(p.values or ())))) if kind == _codec.CATEGORY else uniform(0.0, 1.0)
                for name, (p, kind) in zip(self._names, self._pairs(), strict=True)
            }
            seed = int(self.rng.integers(2**31))
            self._searcher: Any = searcher_cls(self.searcher)(domains, random_seed=seed, **self.chosen)

    def _pairs(self) -> list[tuple[Any, str]]:
        return list(zip(self._codec.parameters, self._codec.kinds, strict=True))

    def _ask(self, n: int) -> list[tuple[Any, Values]]:
        asked = [self._searcher.suggest() for _ in range(n)]
        return [(config, self._values(config)) for config in asked]

    def _values(self, config: Mapping[str, Any]) -> Values:
        pairs = zip(self._names, self._counts, strict=True)
        return [min(int(config[name] * count), count - 1) if count else config[name] for name, count in pairs]

    def _tell(self, token: Any, value: float, failed: bool) -> None:
        if not failed:
            self._searcher.on_trial_complete(self._told, token, value)
            self._told += 1

    def _token(self, point: Values) -> Any:
        parts = zip(self._names, self._counts, point, strict=True)
        return {name: (value + 0.5) / count if count else value for name, count, value in parts}


class CQR(SyneTune):
    """Gradient boosting of quantiles, made conformal, and Thompson sampling (Salinas and others 2023).

    Good for: noise that is not Gaussian, steps and categories; 50 to some hundred evaluations. Why Syne Tune: the
    authors' own. `num_init_random_draws` random points come first; a new model every `update_frequency` results.
    """

    searcher = "cqr"
    settings: ClassVar = {"num_init_random_draws": whole(5), "update_frequency": whole(1)}


class BORE(SyneTune):
    """A classifier (XGBoost) of the best quarter, and the random point that it likes most (Tiao and others 2021).

    Good for: mixed spaces with steps and interactions, 50 to some hundred evaluations, one at a time: the points of a
    batch differ by chance only. `gamma` is the share of good points, `init_random` the number of random points at
    first, `feval_acq` that of the candidates, `random_prob` the share of random points later.
    """

    searcher = "bore"
    packages = ("syne-tune", "scikit-learn", "xgboost")
    settings: ClassVar = {
        "gamma": number(0.25, 0.0, 1.0, open_low=True),
        "init_random": whole(6, 2),
        "feval_acq": whole(500),
        "random_prob": number(0.0, 0.0, 1.0),
    }

    def __init__(
        self, space: Space, *, objectives: int = 1, rng: np.random.Generator | None = None, **settings: Any
    ) -> None:
        super().__init__(space, objectives=objectives, rng=rng, **settings)
        self._searcher.model.set_params(n_jobs=1)


def _percent(value: Any) -> int:
    read = whole(15).read(value)
    if read > 99:
        raise ValueError
    return read


class KDE(SyneTune):
    """Kernel densities of good and of bad points over all parameters at once: the model of BOHB (Falkner 2018).

    Good for: some hundred cheap evaluations, as a baseline. `top_n_percent` of the points are good, and at least
    `num_min_data_points` (D, where none are given); the densities begin when there are more than D good ones and as
    many others, so by default after some 7 D evaluations. Each suggestion is the best of `num_candidates`, and
    `random_fraction` of them are drawn at random.
    """

    searcher = "kde"
    packages = ("syne-tune", "statsmodels")
    settings: ClassVar = {
        "num_min_data_points": whole(None),
        "top_n_percent": Setting(15, "a whole number from 1 to 99", _percent),
        "num_candidates": whole(64),
        "random_fraction": number(0.33, 0.0, 1.0),
    }

    @classmethod
    def conflict(cls, chosen: Mapping[str, Any], dimension: int | None) -> str:
        least = chosen["num_min_data_points"]
        if dimension is None or least is None or least >= dimension:
            return ""
        return f"num_min_data_points must be at least D, here {dimension}, got {least}"


class REA(SyneTune):
    """Regularised evolution: the best of a few members mutates in one parameter, the oldest dies (Real 2019).

    Good for: categories and architectures, thousands of cheap evaluations. A population of `population_size`, of which
    `sample_size` compete.
    """

    searcher = "regularized_evolution"
    packages = ("syne-tune",)
    settings: ClassVar = {"population_size": whole(100, 2), "sample_size": whole(10)}
