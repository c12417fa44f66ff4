"""Stands in for `bayesmark.builtin_opt.opentuner_optimizer`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from optarena.bayesmark.standins.builtin_opt._ours import Ours
from optarena.bayesmark.standins.builtin_opt.config import CONFIG
from optarena.errors import OptarenaError

_NAMES = {line["techniques"][0]: name for name, (_, line) in CONFIG.items() if "techniques" in line}


class OpentunerOptimizer(Ours):
    primary_import = "opentuner"

    def __init__(
        self,
        api_config: dict[str, Any],
        techniques: Sequence[str] = ("AUCBanditMetaTechniqueA",),
        n_suggestions: int = 1,  # noqa: ARG002
    ) -> None:
        if list(techniques)[:1] != list(techniques) or techniques[0] not in _NAMES:
            raise OptarenaError(f"OpenTuner's techniques are here one of {', '.join(_NAMES)}; got {list(techniques)}")
        super().__init__(api_config, _NAMES[techniques[0]])


opt_wrapper = OpentunerOptimizer
