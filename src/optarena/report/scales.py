"""How the values of a problem are best drawn: logarithmically or not, and from where."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

FLOOR = 1e-12
"""A distance to the optimum below this is drawn at the foot of a logarithmic axis."""


def scales_of(table: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """How each problem's values are best drawn: `log` or not, and the `floor` of a logarithmic axis."""
    parts = table.group_by("problem", maintain_order=True).agg(
        pl.col("measure").first(),
        low=pl.min_horizontal(*(pl.col(name).filter(pl.col(name) > 0).min() for name in ("median", "mean"))),
        least=pl.min_horizontal("median", "mean", "q1").min(),
        most=pl.max_horizontal("median", "mean").max(),
    )
    out = {}
    for row in parts.iter_rows(named=True):
        low, most = row["low"], row["most"]
        gap = row["measure"] == "gap"
        positive = low is not None and (gap or row["least"] > 0)
        log = bool(positive and most > 0 and (gap or most / low > 100))
        floor = max(low, FLOOR) if log else None
        out[row["problem"]] = {
            "measure": row["measure"],
            "log": log,
            "floor": None if floor is None else _rounded_down(floor),
        }
    return out


def _rounded_down(value: float) -> float:
    """The next lower 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(step for step in (5 * power, 2 * power, power) if step <= value * (1 + 1e-9))
