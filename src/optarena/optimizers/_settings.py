"""Checks of settings that adapters share: one line where a setting enters, one sentence where it is wrong."""

from __future__ import annotations

import math

from optarena.errors import OptarenaError


def whole(name: str, value: int, least: int) -> int:
    """A whole number that is not less than `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise OptarenaError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return value


def number(name: str, value: float, low: float, high: float = math.inf) -> float:
    """A number in [low, high]."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        ends = f"in [{low:g}, {high:g}]" if math.isfinite(high) else f"of at least {low:g}"
        raise OptarenaError(f"{name} must be a number {ends}, got {value!r}")
    return float(value)
