"""Strict JSON for all that is written: non-finite numbers are the texts "inf", "-inf", "nan"; null means absent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

Number: TypeAlias = float | str | None
AS_THEY_ARE = frozenset((int, bool, type(None)))
NULLABLE_TEXT = frozenset((str, type(None)))
NULLABLE_FLOAT = frozenset((float, type(None)))


def number(value: float) -> Number:
    """A float as JSON can hold it."""
    if math.isfinite(value):
        return value
    return "nan" if value != value else ("inf" if value > 0 else "-inf")


def numbers(row: Sequence[float]) -> list[Number]:
    return list(row) if all(map(math.isfinite, row)) else [number(value) for value in row]


def strict(value: Any) -> Any:
    """Any nesting of plain data with its non-finite floats as texts, and texts that UTF-8 can hold."""
    kind = type(value)
    if kind is float:  # the usual types first: tables have millions of numbers
        return number(value)
    if kind is str:
        return printable(value)
    if kind in AS_THEY_ARE:
        return value
    if isinstance(value, Mapping):
        return {strict(key): strict(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        if set(map(type, value)) == {float}:  # columns of numbers need no look at each of them here
            return numbers(value)
        return _strict_rows(value) if _is_table(value) else [strict(item) for item in value]
    if isinstance(value, float):  # NumPy's
        return number(value)
    return printable(value) if isinstance(value, str) else value


def unstrict(value: Any) -> Any:
    """Settings as they were: "inf", "-inf" and "nan" are numbers again."""
    if isinstance(value, dict):
        return {key: unstrict(item) for key, item in value.items()}
    if isinstance(value, list):
        return [unstrict(item) for item in value]
    return float(value) if value in ("inf", "-inf", "nan") else value


def _strict_rows(rows: Sequence[dict[Any, Any]]) -> list[dict[Any, Any]]:
    """The rows of a table, column by column: in most columns no cell needs a change."""
    cells = list(chain.from_iterable(row.values() for row in rows))
    changed: dict[Any, list[Any]] = {}
    for j, name in enumerate(rows[0]):
        column = cells[j :: len(rows[0])]
        kinds = set(map(type, column))
        if not _is_strict_column(column, kinds):
            changed[name] = [*map(number if kinds == {float} else strict, column)]
    out = [row.copy() for row in rows] if changed else list(rows)
    for name, column in changed.items():
        for row, cell in zip(out, column, strict=True):
            row[name] = cell
    return out


def _is_strict_column(column: Sequence[Any], kinds: set[type]) -> bool:
    """Whether a column of cells of these types certainly needs no change."""
    if kinds <= NULLABLE_TEXT:
        return "".join(filter(None, column)).isascii()
    if kinds <= NULLABLE_FLOAT:
        return math.isfinite(sum(filter(None, column)))
    return kinds <= AS_THEY_ARE


def _is_table(rows: Sequence[Any]) -> bool:
    """Whether all rows have the same columns, with names that UTF-8 can hold."""
    if len(rows) < 2 or type(rows[0]) is not dict:
        return False
    names = list(rows[0])
    alike = set(map(type, rows)) == {dict} and all(map(names.__eq__, map(list, rows)))
    return alike and strict(names) == names


def printable(text: str) -> str:
    """A text as UTF-8 can hold it: what came from undecodable bytes is written out."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
