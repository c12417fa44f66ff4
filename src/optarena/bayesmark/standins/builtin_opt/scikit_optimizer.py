"""Stands in for `bayesmark.builtin_opt.scikit_optimizer`."""

from __future__ import annotations

from typing import Any

from optarena.bayesmark.standins.builtin_opt._ours import Ours
from optarena.bayesmark.standins.builtin_opt.config import CONFIG
from optarena.errors import OptarenaError

_NAMES = {(line["base_estimator"], line["acq_func"]): name for name, (_, line) in CONFIG.items() if "acq_func" in line}


class ScikitOptimizer(Ours):
    primary_import = "scikit-optimize"

    def __init__(
        self,
        api_config: dict[str, Any],
        base_estimator: str = "GBRT",
        acq_func: str = "gp_hedge",
        n_initial_points: int = 5,
    ) -> None:
        if (base_estimator, acq_func) not in _NAMES:
            known = ", ".join(f"{estimator} with {rule}" for estimator, rule in _NAMES)
            raise OptarenaError(f"skopt's estimators are here {known}; got {base_estimator} with {acq_func}")
        super().__init__(api_config, _NAMES[base_estimator, acq_func], n_initial_points=n_initial_points)


opt_wrapper = ScikitOptimizer
