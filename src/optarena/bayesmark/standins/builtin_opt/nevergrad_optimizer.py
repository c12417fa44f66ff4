"""Stands in for `bayesmark.builtin_opt.nevergrad_optimizer`."""

from __future__ import annotations

from typing import Any

from optarena.bayesmark.standins.builtin_opt._ours import Ours


class NevergradOptimizer(Ours):
    primary_import = "nevergrad"

    def __init__(self, api_config: dict[str, Any], tool: str = "OnePlusOne", budget: int = 300) -> None:  # noqa: ARG002
        super().__init__(api_config, f"Nevergrad-{tool}")


opt_wrapper = NevergradOptimizer
