"""Stands in for `bayesmark.builtin_opt.pysot_optimizer`."""

from __future__ import annotations

from typing import Any

from optarena.bayesmark.standins.builtin_opt._ours import Ours


class PySOTOptimizer(Ours):
    primary_import = "pysot"

    def __init__(self, api_config: dict[str, Any]) -> None:
        super().__init__(api_config, "PySOT")


opt_wrapper = PySOTOptimizer
