"""The best point of every study as a tidy table, for parallel coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from optarena.dataset import Dataset
from optarena.errors import OptarenaError
from optarena.sense import sign_of
from optarena.space import Space
from optarena.traces import Floats

LINES = 1500
"""Of best points, at most: beyond, only the best trial of each optimizer on each problem."""


def best_points(results: Dataset, lines: int = LINES) -> pl.DataFrame:
    """The best point of each study, one row per parameter: its place in the unit cube, its value as text.

    Beyond so many lines only the best trial of each optimizer on each problem is there.
    """
    key = sign_of("sense") * pl.col("best")
    chosen = results.studies.filter(pl.col("best").is_not_null()).with_columns(key=key).sort("key", "trial")
    if chosen.height > lines:
        chosen = chosen.group_by("optimizer", "problem", maintain_order=True).first().head(lines)
    spaces = results.spaces
    points = results.best_parameters(chosen["study"].to_list())
    by_problem: dict[str, list[tuple[Any, ...]]] = {}
    for row in chosen.select("study", "optimizer", "problem", "trial", "best").iter_rows():
        if row[0] in points:
            by_problem.setdefault(row[2], []).append(row)
    columns: dict[str, list[Any]] = {name: [] for name in BEST_POINTS}
    for problem, mine in by_problem.items():
        found = [points[row[0]] for row in mine]
        if len(found[0]) < 2:
            continue
        names = list(found[0])
        unit = _unit(spaces[problem], found).tolist()
        for line, (row, point, place) in enumerate(zip(mine, found, unit, strict=True)):
            _, optimizer, _, trial, best = row
            facts = {"optimizer": optimizer, "problem": problem, "trial": trial, "line": line, "best": best}
            for name, value in facts.items():
                columns[name] += [value] * len(names)
            columns["order"] += range(len(names))
            columns["parameter"] += names
            columns["unit"] += place
            columns["setting"] += [_setting(point[name]) for name in names]
    return pl.DataFrame(columns, schema=BEST_POINTS)


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
