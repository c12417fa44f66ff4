"""Stands in for `bayesmark.abstract_optimizer`: the class that wrappers inherit from."""

from __future__ import annotations

import importlib.metadata
from abc import ABC, abstractmethod
from typing import Any


class AbstractOptimizer(ABC):
    """The open loop as wrappers know it. `api_config` is the space in the interchange grammar."""

    primary_import: str | None = None
    """The distribution whose version is the optimizer's."""

    def __init__(self, api_config: dict[str, Any], **kwargs: Any) -> None:  # noqa: ARG002
        self.api_config = api_config

    @classmethod
    def get_version(cls) -> str:
        """The version of the library behind the wrapper; x.x.x where it names none."""
        return "x.x.x" if cls.primary_import is None else importlib.metadata.version(cls.primary_import)

    @abstractmethod
    def suggest(self, n_suggestions: int) -> list[dict[str, Any]]:
        """So many points to look at next."""

    @abstractmethod
    def observe(self, X: list[dict[str, Any]], y: list[float]) -> None:
        """Learn what these points gave; infinite where an evaluation failed."""
