"""A wrapper class with one of our optimizers behind it."""

from __future__ import annotations

from typing import Any

import numpy as np

from optarena.bayesmark.standins.abstract_optimizer import AbstractOptimizer
from optarena.bayesmark.standins.np_util import random_seed
from optarena.optimizer import get_optimizer
from optarena.space import Space


class Ours(AbstractOptimizer):
    """One of our optimizers, called as Bayesmark calls its own; its seed comes from NumPy's global stream."""

    def __init__(self, api_config: dict[str, Any], optimizer: str, **settings: Any) -> None:
        super().__init__(api_config)
        self._space = Space(api_config)
        self._inner = get_optimizer(optimizer)(self._space, rng=np.random.default_rng(random_seed()), **settings)

    def suggest(self, n_suggestions: int = 1) -> list[dict[str, Any]]:
        found = self._inner.suggest(n_suggestions)
        return self._space.to_dicts(found) if isinstance(found, np.ndarray) else [dict(point) for point in found]

    def observe(self, X: list[dict[str, Any]], y: list[float]) -> None:
        values = np.asarray(y, dtype=float).reshape(-1, 1)
        points = self._space.to_matrix(X) if self._inner.capabilities.array_native else X
        self._inner.observe(points, np.where(np.isfinite(values), values, np.nan))
