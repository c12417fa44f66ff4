"""Checks of settings that an adapter has as parameters of its `__init__`: one line each, with the words of `settings`.

An adapter that declares its settings instead needs none of these, and is also checked when planning.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from optarena import settings
from optarena.optimizer import Optimizer, registered_name


def number(
    owner: Optimizer, setting: str, value: Any, low: float = 0.0, high: float = math.inf, *, open_low: bool = False
) -> float:
    """A number between low and high (above low, if `open_low`)."""
    return _read(owner, setting, value, settings.number(low, low, high, open_low=open_low))


def whole(owner: Optimizer, setting: str, value: Any, low: int = 1) -> int:
    """A whole number from low upwards."""
    return _read(owner, setting, value, settings.whole(low, low))


def flag(owner: Optimizer, setting: str, value: Any) -> bool:
    """True or false."""
    return _read(owner, setting, value, settings.flag(False))


def choice(owner: Optimizer, setting: str, value: Any, known: Sequence[str]) -> str:
    """One of the known words."""
    return _read(owner, setting, value, settings.choice(known[0], known))


def _read(owner: Optimizer, setting: str, value: Any, declared: settings.Setting) -> Any:
    return settings.choose(registered_name(type(owner)), {setting: declared}, {setting: value})[setting]
