"""Our points as the values that a library searches, and back. What a library has of its own, its adapter says."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from optarena.space import Array, Parameter, Space

REAL, REAL_LOG, INT, INT_LOG = "real linear", "real log", "int linear", "int log"
"""Ranges that a library may have of its own; the value is then the parameter's own."""
UNIT, INDEX, CATEGORY, FIXED = "unit", "index", "category", "fixed"
"""Any other range: a real in our unit cube, where the warp is linear. A list that has an order: the member's position.
A category or a bool: the position, which means nothing. A range or a list of one value: left out."""

FAR = 1e30
"""A range of reals with a bound beyond this, or a log range from below its inverse, is searched in the unit cube: some
libraries square a range, others keep it in single precision."""


class Codec:
    """Points in matrix form to lists of a library's values, one a parameter that varies, and back.

    Logit and bilog, which no library has, are thus searched on their own scale, integers stay within their bounds, and
    a category keeps its identity.
    """

    def __init__(self, space: Space, native: Collection[str] = (), *, widest: float = math.inf) -> None:
        """`widest`: from this width on, a range of integers is searched in the unit cube: a library counts them."""
        self.space = space
        kinds = [_kind(p, native, widest) for p in space.parameters]
        if all(kind == FIXED for kind in kinds):
            kinds[0] = UNIT  # a library wants something to search
        self.columns = [i for i, kind in enumerate(kinds) if kind != FIXED]
        self.parameters = [space.parameters[i] for i in self.columns]
        self.kinds = [kinds[i] for i in self.columns]
        self.size = math.prod(
            len(p.values) if p.values is not None else p.high - p.low + 1 if p.type == "int" else math.inf
            for p in self.parameters
        )
        """How many points there are to search; inf if there are reals."""
        self._unit = [i for i in self.columns if kinds[i] == UNIT]
        self._tables = {
            i: np.array(p.values, dtype=float)
            for i, p in enumerate(space.parameters)
            if p.values is not None and p.type in ("real", "int")
        }
        self._is_whole = [kind in (INT, INT_LOG, INDEX, CATEGORY) for kind in self.kinds]
        self._whole = [i for i, whole in zip(self.columns, self._is_whole, strict=True) if whole]

    def decode(self, rows: Sequence[Sequence[Any]] | Array) -> Array:
        """A library's values in matrix form; a step over a bound, by rounding, goes back to the bound."""
        matrix = np.tile(self.space.low, (len(rows), 1))
        matrix[:, self.columns] = np.asarray(rows, dtype=float)
        if self._unit:
            unit = np.zeros_like(matrix)
            unit[:, self._unit] = matrix[:, self._unit]
            matrix[:, self._unit] = self.space.from_unit(unit)[:, self._unit]
        if self._whole:
            matrix[:, self._whole] = np.rint(matrix[:, self._whole])
        for column, table in self._tables.items():
            matrix[:, column] = table[np.clip(matrix[:, column].astype(np.intp), 0, len(table) - 1)]
        return np.minimum(np.maximum(matrix, self.space.low), self.space.high)

    def encode(self, row: Array) -> list[Any]:
        """A point of the matrix form as a library's values."""
        values = np.minimum(np.maximum(row, self.space.low), self.space.high)
        if self._unit:
            values[self._unit] = self.space.to_unit(values[None])[0, self._unit]
        for column, table in self._tables.items():
            values[column] = np.searchsorted(table, values[column])
        line = zip(values[self.columns].tolist(), self._is_whole, strict=True)
        return [int(value) if whole else value for value, whole in line]


def _kind(p: Parameter, native: Collection[str], widest: float) -> str:
    if p.low == p.high:
        return FIXED
    if p.values is not None:
        return CATEGORY if p.type in ("cat", "bool") else INDEX
    own = f"{p.type} {p.warp}"
    if p.type == "int":
        beyond = p.high - p.low >= widest
    else:
        beyond = max(-p.low, p.high) > FAR or (p.warp == "log" and p.low < 1 / FAR)
    return UNIT if beyond or own not in native else own
