"""Stands in for `bayesmark.builtin_opt.random_optimizer`."""

from __future__ import annotations

from typing import Any

from optarena.bayesmark.standins.abstract_optimizer import AbstractOptimizer
from optarena.bayesmark.standins.np_util import random as np_random
from optarena.bayesmark.standins.random_search import suggest_dict


class RandomOptimizer(AbstractOptimizer):
    """Random search, drawn as Bayesmark draws it."""

    def __init__(self, api_config: dict[str, Any], random: Any = np_random) -> None:
        super().__init__(api_config)
        self.random = random

    def suggest(self, n_suggestions: int = 1) -> list[dict[str, Any]]:
        return suggest_dict([], [], self.api_config, n_suggestions=n_suggestions, random=self.random)

    def observe(self, X: list[dict[str, Any]], y: list[float]) -> None:
        pass


opt_wrapper = RandomOptimizer
