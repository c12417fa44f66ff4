"""Checks of an optimizer's settings, where they enter: one line each, and the message says what would be right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from optarena.errors import OptarenaError, nearest


def number(
    owner: object, setting: str, value: Any, low: float = 0.0, high: float = math.inf, *, open_low: bool = False
) -> float:
    """A number between low and high (above low, if `open_low`)."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high
    if not good or (open_low and value == low):
        above = f"above {low:g}" if open_low else f"of {low:g} or more"
        most = f" and at most {high:g}" if high < math.inf else ""
        raise OptarenaError(f"{type(owner).__name__}: {setting} must be a number {above}{most}, got {value!r}")
    return float(value)


def whole(owner: object, setting: str, value: Any, low: int = 1) -> int:
    """A whole number from low upwards."""
    if not isinstance(value, int) or isinstance(value, bool) or value < low:
        raise OptarenaError(f"{type(owner).__name__}: {setting} must be a whole number from {low}, got {value!r}")
    return value


def flag(owner: object, setting: str, value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise OptarenaError(f"{type(owner).__name__}: {setting} must be true or false, got {value!r}")
    return value


def choice(owner: object, setting: str, value: Any, known: Sequence[str]) -> str:
    """One of the known words."""
    if value not in known:
        hint = nearest(str(value), known)
        raise OptarenaError(
            f"{type(owner).__name__}: {setting} must be one of {', '.join(known)}, got {value!r}.{hint}"
        )
    return str(value)
