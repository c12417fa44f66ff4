"""Why studies and evaluations failed, counted by kind: reasons that differ in numbers only are one kind."""

from __future__ import annotations

import re
from collections.abc import Mapping

KINDS = 200
"""How many kinds are distinguished; all further ones are counted as other reasons."""
_NUMBER = re.compile(r"[-+]?\d[\d.,]*(?:e[-+]?\d+)?")


def reason_of(status: str, message: str) -> str:
    """The reason of a failed evaluation: its message, which says what it is, or its status and message."""
    return message if status in ("error", "nan") else f"{status}: {message}"


def kind_of(reason: str) -> str:
    """What stands for all reasons that differ in numbers only."""
    return _NUMBER.sub("#", reason)


class Reasons:
    """Counts of reasons, each kind under the first example of it."""

    def __init__(self) -> None:
        self._examples: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def add(self, reason: str, count: int = 1) -> None:
        kind = kind_of(reason)
        if kind in self._counts:
            self._counts[kind] += count
        elif len(self._counts) < KINDS:
            self._counts[kind], self._examples[kind] = count, reason

    def update(self, counts: Mapping[str, int]) -> None:
        for reason, count in counts.items():
            self.add(reason, count)

    def counts(self) -> dict[str, int]:
        """An example of each kind -> how often it was met, the most frequent first."""
        order = sorted(self._counts, key=lambda kind: -self._counts[kind])
        return {self._examples[kind]: self._counts[kind] for kind in order}
