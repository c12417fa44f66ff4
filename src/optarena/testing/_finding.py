"""What a check says."""

from __future__ import annotations

import msgspec


class Finding(msgspec.Struct, frozen=True):
    """One thing that is not as the contract says."""

    check: str
    where: str
    problem: str
    fix: str

    def __str__(self) -> str:
        return f"{self.check} ({self.where}): {self.problem}. {self.fix}"
