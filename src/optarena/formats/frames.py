"""Frames of pandas and Polars as tidy tables: columns of types that a cell of a table can have, and no others."""

from __future__ import annotations

import datetime
import decimal
import numbers
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from optarena.errors import OptarenaError, shortened
from optarena.formats.limits import MAX_BYTES, MAX_NAME, MAX_TEXT

if TYPE_CHECKING:
    from optarena.formats.tidy import Table

CELLS = (str, bool, np.bool_, numbers.Real, decimal.Decimal, datetime.date, datetime.time)
PLAIN = "a cell must be a number, a text, true or false"


def as_polars(frame: Any) -> tuple[pl.DataFrame, bool]:
    """A frame in Polars, and whether it came from pandas, where an empty cell may stand for NaN."""
    if isinstance(frame, pl.LazyFrame):
        try:
            frame = frame.collect()
        except (pl.exceptions.PolarsError, OSError) as error:
            raise OptarenaError(f"from_frame: the lazy frame fails ({str(error).splitlines()[0]})") from error
    if isinstance(frame, pl.DataFrame):
        return frame, False
    # pandas, without importing it
    if not all(hasattr(frame, name) for name in ("astype", "notna", "to_dict", "columns")):
        raise OptarenaError(f"from_frame: expected a pandas or Polars frame, got {type(frame).__name__}")
    names = [str(name) for name in frame.columns]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise OptarenaError(f"frame: duplicate column {name!r}")
    series = []
    for i, name in enumerate(names):
        column = frame.iloc[:, i]
        series.append(_series(name, list(column.astype(object).where(column.notna(), None))))
    return pl.DataFrame(series), True


def _series(name: str, cells: list[Any]) -> pl.Series:
    """The objects of a column; a text among numbers makes all of them texts, which parameters must not become."""
    types = set(map(type, cells)) - {type(None)}
    odd = {kind for kind in types if not issubclass(kind, CELLS)}
    if odd:
        row = next(i for i, cell in enumerate(cells) if type(cell) in odd)
        kind = type(cells[row]).__name__
        raise OptarenaError(f"frame row {row + 1}, column {name!r}: a cell of type {kind}; {PLAIN}")
    if name.startswith("x.") and len({issubclass(kind, str) for kind in types}) > 1:
        row = next(i for i, cell in enumerate(cells) if isinstance(cell, str))
        raise OptarenaError(
            f"frame row {row + 1}, column {name!r}: {cells[row]!r} is a text, and others are not"
            " (leave it empty if there is none; if they are texts, make all of them texts)"
        )
    try:
        return pl.Series(name, cells, strict=False)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as error:
        raise OptarenaError(f"frame: column {name!r} cannot be read ({str(error).splitlines()[0]}); {PLAIN}") from error


def plain_frame(table: Table) -> pl.DataFrame:
    """The table's frame with every column a text, a bool, a float or a whole number of at most 64 bits."""
    _refuse_long(table)
    return table.frame.with_columns([_plain(table, table.frame[name]) for name in table.frame.columns])


def _refuse_long(table: Table) -> None:
    """Refuse names of columns and texts that are too long, before anything is made of them."""
    for name in table.frame.columns:
        if len(name) > MAX_NAME:
            raise OptarenaError(
                f"{table.name}: column {shortened(name, 40)!r} has a name of {len(name):,} characters, at most"
                f" {MAX_NAME:,} are allowed"
            )
    texts = {name: table.frame[name].str.len_bytes() for name, kind in table.frame.schema.items() if kind == pl.String}
    for name, lengths in texts.items():
        at = lengths.arg_max()
        if at is not None and lengths[at] > MAX_TEXT:
            raise OptarenaError(
                f"{table.where(at)}, column {name!r}: a text of {lengths[at]:,} bytes, at most {MAX_TEXT:,} are allowed"
            )
    if sum(int(lengths.sum()) for lengths in texts.values()) > MAX_BYTES:
        raise OptarenaError(f"{table.name}: its texts are more than {MAX_BYTES / 2**30:.3g} GB; import it in parts")


def _plain(table: Table, column: pl.Series) -> pl.Series:
    kind = column.dtype
    if kind in (pl.String, pl.Boolean, pl.Null) or kind.is_float() or (kind.is_signed_integer() and kind != pl.Int128):
        return column
    if kind in (pl.Categorical, pl.Enum):
        return column.cast(pl.String)
    if kind.is_integer():
        out = column.cast(pl.Int64, strict=False)
        bad = (out.is_null() & column.is_not_null()).arg_true()
        if len(bad):
            where, cell = table.where(bad[0]), column[bad[0]]
            raise OptarenaError(f"{where}, column {column.name!r}: {cell} is beyond a whole number of 64 bits")
        return out
    if kind.is_decimal():
        return column.cast(pl.Float64)
    if kind in (pl.Date, pl.Datetime, pl.Time):
        return column.cast(pl.String)
    what = {pl.List: "lists", pl.Array: "lists", pl.Struct: "structs"}.get(kind.base_type(), str(kind).lower())
    raise OptarenaError(f"{table.name}: column {column.name!r} holds {what}; {PLAIN}")
