"""What an optimizer or a problem says that it spent, beside time: tokens, money, joules (docs/scores.md 0.7).

>>> axis("tokens"), column("tokens")
('cost.tokens', 'effort.cost.tokens')
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

COSTS = ("tokens", "money", "joules")
HEAD = "cost."
MOST = 1e100
"""Of a single report: sums and squares of these are finite, so that no study spoils what is computed of all."""


def axis(name: str) -> str:
    """The effort axis of a cost."""
    return HEAD + name


def column(name: str) -> str:
    """The name under which rows and ends of a store carry it."""
    return f"effort.{axis(name)}"


def is_cost(name: str) -> bool:
    """Whether an effort axis is a cost. Who reports nothing of it spent nothing."""
    return name.startswith(HEAD)


def as_costs(given: Any) -> dict[str, float]:
    """Checked costs as floats; TypeError or ValueError says what is wrong with them."""
    if not isinstance(given, Mapping):
        raise TypeError(f"costs must be names with numbers, got {str(given)[:60]!r}")
    out = {}
    for name, value in given.items():
        if name not in COSTS:
            raise ValueError(f"no cost {str(name)[:60]!r} (known: {', '.join(COSTS)})")
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
            raise TypeError(f"the cost {name} must be a number, got {str(value)[:60]!r}")
        if not (0 <= value <= MOST):
            raise ValueError(f"the cost {name} must be from 0 to {MOST:g}, got {str(value)[:60]}")
        out[name] = float(value)
    return out


def added(costs: Mapping[str, float], more: Mapping[str, float]) -> dict[str, float]:
    """The sum of both."""
    return {name: costs.get(name, 0.0) + more.get(name, 0.0) for name in {**costs, **more}}
