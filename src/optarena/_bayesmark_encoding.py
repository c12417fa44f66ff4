"""Bayesmark's encoding of points as numbers, which wrappers written for it expect.

Parameters stand in sorted order, numbers are warped, categories one-hot (sorted). Integers are plainly rounded, so that
the two ends of an integer range get half a share.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from optarena.space import WARPS, Array, Parameter, Point, Space


def _sorted(space: Space) -> list[Parameter]:
    return sorted(space.parameters, key=lambda parameter: parameter.name)


def warped_bounds(space: Space) -> Array:
    """(columns, 2): the box that `warp` maps into."""
    rows: list[list[float]] = []
    for p in _sorted(space):
        if p.type in ("cat", "ordinal"):
            rows.extend([[0.0, 1.0]] * len(p.values or ()))
        elif p.type == "bool":
            rows.append([0.0, 1.0])
        else:
            low, high = WARPS[p.warp or "linear"][0](np.array([p.low, p.high]))
            rows.append([low, high if high > low else math.nextafter(low, math.inf)])
    return np.array(rows)


def warp(space: Space, points: Sequence[Mapping[str, Any]]) -> Array:
    """Points as rows of numbers."""
    matrix = space.to_matrix(points)
    columns: list[Array] = []
    for p in _sorted(space):
        column = matrix[:, space.names.index(p.name)]
        if p.type in ("cat", "ordinal"):
            values = p.values or []
            columns.extend((column == values.index(value)).astype(float) for value in sorted(values))
        else:
            columns.append(WARPS[p.warp or "linear"][0](column))
    return np.column_stack(columns)


def unwarp(space: Space, warped: npt.ArrayLike) -> list[Point]:
    """Rows of numbers as points: numbers rounded to the nearest allowed, categories by the largest."""
    w = np.asarray(warped, dtype=float)
    at = 0
    columns: dict[str, list[Any]] = {}
    for p in _sorted(space):
        if p.type in ("cat", "ordinal"):
            values = sorted(p.values or [])
            columns[p.name] = [values[i] for i in w[:, at : at + len(values)].argmax(axis=1)]
            at += len(values)
            continue
        x = WARPS[p.warp or "linear"][1](w[:, at])
        at += 1
        if p.type == "bool":
            columns[p.name] = [bool(value) for value in np.rint(x)]
            continue
        if p.values is not None:
            table = np.array(p.values, dtype=float)
            x = table[np.searchsorted((table[1:] + table[:-1]) / 2, x)]
        elif p.type == "int":
            x = np.rint(x)
        columns[p.name] = p.decode(np.clip(x, p.low, p.high))
    return [{name: columns[name][i] for name in space.names} for i in range(len(w))]


def grid(space: Space, n: int = 8) -> dict[str, list[Any]]:
    """Per parameter: all members of a list, or up to n distinct values evenly spaced in the warped range."""
    bounds = iter(warped_bounds(space))
    out: dict[str, list[Any]] = {}
    for p in _sorted(space):
        if p.type in ("cat", "ordinal"):
            for _ in p.values or ():
                next(bounds)
            out[p.name] = sorted(p.values or [])
            continue
        low, high = next(bounds)
        if p.values is not None:
            out[p.name] = p.decode(np.array(p.values, dtype=float)) if p.type != "bool" else [False, True]
            continue
        x = np.clip(WARPS[p.warp or "linear"][1](np.linspace(low, high, n)), p.low, p.high)
        out[p.name] = p.decode(np.unique(np.rint(x) if p.type == "int" else x))
    return {name: out[name] for name in space.names}
