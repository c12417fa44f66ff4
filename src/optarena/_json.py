"""Strict JSON for all that is written: non-finite numbers are the texts "inf", "-inf", "nan"; null means absent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Number: TypeAlias = float | str | None
AS_THEY_ARE = (int, bool, type(None))


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
        # tables are mostly columns of numbers: those need no look at each of them here
        return numbers(value) if set(map(type, value)) == {float} else [strict(item) for item in value]
    if isinstance(value, float):  # NumPy's
        return number(value)
    return printable(value) if isinstance(value, str) else value


def printable(text: str) -> str:
    """A text as UTF-8 can hold it: what came from undecodable bytes is written out."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
