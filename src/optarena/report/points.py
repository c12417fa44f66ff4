"""The best point of every study as a tidy table, for parallel coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from optarena.errors import OptarenaError
from optarena.space import Space
from optarena.store.results import Results
from optarena.traces import Floats

LINES = 1500
"""Of best points, at most: beyond, only the best trial of each optimizer on each problem."""


def best_points(results: Results, lines: int = LINES) -> pl.DataFrame:
    """The best point of each study, a row a parameter: its place in the unit cube, its value as text.

    Beyond so many lines only the best trial of each optimizer on each problem is there.
    """
    key = pl.when(pl.col("sense") == "max").then(-pl.col("best")).otherwise(pl.col("best"))
    chosen = results.studies.filter(pl.col("best").is_not_null()).with_columns(key=key).sort("key", "trial")
    if chosen.height > lines:
        chosen = chosen.group_by("optimizer", "problem", maintain_order=True).first().head(lines)
    spaces = results.spaces
    parts = []
    points = results.best_parameters(chosen["study"].to_list())
    for (problem,), part in chosen.group_by("problem", maintain_order=True):
        mine = part.filter(pl.col("study").is_in(list(points)))
        found = [points[study] for study in mine["study"]]
        if not found or len(found[0]) < 2:
            continue
        unit = _unit(spaces[str(problem)], found)
        parts.append(_lines(mine, found, unit))
    return pl.concat(parts) if parts else pl.DataFrame(schema=BEST_POINTS)


BEST_POINTS = {
    "optimizer": pl.String,
    "problem": pl.String,
    "trial": pl.Int64,
    "line": pl.Int64,
    "best": pl.Float64,
    "order": pl.Int64,
    "parameter": pl.String,
    "unit": pl.Float64,
    "setting": pl.String,
}


def _lines(part: pl.DataFrame, points: list[dict[str, Any]], unit: Floats) -> pl.DataFrame:
    width = unit.shape[1]
    names = list(points[0])
    repeated = part.select("optimizer", "problem", "trial", "best").with_row_index("line")
    repeated = repeated.select(pl.all().repeat_by(width).explode())
    return repeated.with_columns(
        pl.col("line").cast(pl.Int64),
        order=pl.Series(np.tile(np.arange(width), part.height)),
        parameter=pl.Series(names * part.height, dtype=pl.String),
        unit=pl.Series(unit.ravel()),
        setting=pl.Series([_setting(point[name]) for point in points for name in names], dtype=pl.String),
    ).select(list(BEST_POINTS))


def _unit(config: dict[str, dict[str, Any]], points: list[dict[str, Any]]) -> Floats:
    """The points in the unit cube of their space; of an imported space, of which no range is known, in that of the
    points themselves."""
    try:
        space = Space(config)
        return np.clip(space.to_unit(space.to_matrix(points)), 0.0, 1.0)
    except OptarenaError:
        columns = [_between([point[name] for point in points]) for name in points[0]]
        return np.column_stack(columns)


def _between(values: list[Any]) -> Floats:
    """Each value's place between the least and the greatest; texts in alphabetical order."""
    if all(isinstance(value, (int, float)) for value in values):
        numbers = np.array(values, dtype=float)
    else:
        names = sorted(set(map(str, values)))
        numbers = np.array([names.index(str(value)) for value in values], dtype=float)
    low, high = numbers.min(), numbers.max()
    if not np.isfinite(high - low) or high == low:
        return np.full(len(numbers), 0.5)
    return (numbers - low) / (high - low)


def _setting(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
