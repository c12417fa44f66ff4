"""Names in the order of a person: f2 before f10."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

_DIGITS = re.compile(r"([0-9]{1,18})")


@lru_cache(maxsize=100_000)
def natural_key(name: str) -> tuple[tuple[bool, int | str], ...]:
    """What names are sorted by: numbers in them count as numbers."""
    return tuple((part.isdecimal(), int(part) if part.isdecimal() else part) for part in _DIGITS.split(name))


def natural(names: Iterable[str]) -> list[str]:
    """Different names, in order."""
    return sorted(set(names), key=natural_key)
