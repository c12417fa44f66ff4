"""Stands in for `bayesmark.builtin_opt.hyperopt_optimizer`."""

from __future__ import annotations

from typing import Any

from optarena.bayesmark.standins.builtin_opt._ours import Ours


class HyperoptOptimizer(Ours):
    primary_import = "hyperopt"

    def __init__(self, api_config: dict[str, Any], random: Any = None) -> None:  # noqa: ARG002
        super().__init__(api_config, "HyperOpt")


opt_wrapper = HyperoptOptimizer
