"""Stands in for `bayesmark.experiment`: a wrapper's last line says which class it is about, and nothing runs."""

from __future__ import annotations

import logging
from typing import Any

logger = logging.getLogger("bayesmark.experiment")


def experiment_main(opt_class: type, args: Any = None) -> None:  # noqa: ARG001 (wrappers may pass arguments of a study)
    """Mark the class as the one that its file offers."""
    opt_class._optarena_offered = True  # type: ignore[attr-defined]
