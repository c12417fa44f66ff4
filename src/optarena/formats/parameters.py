"""The parameters in a tidy table's `x.` columns: which each problem has, and of which kind.

A column without a stated kind (`x.a:text`) holds numbers alone, or no number at all: a text among numbers is more
often a mistake ('n/a') than a category, and is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from optarena.formats.tidy import Mistakes, Table

KINDS = ("real", "int", "bool", "text")
TYPES = {"int": pl.Int64, "real": pl.Float64, "bool": pl.Boolean, "text": pl.String}


def find_parameters(
    rows: pl.DataFrame, columns: list[str], table: Table, mistakes: Mistakes
) -> dict[str, list[tuple[str, str, str]]]:
    """Problem -> (name, column, kind) of its parameters; cells that do not fit are named."""
    problems = rows["problem"].unique(maintain_order=True).to_list()
    out: dict[str, list[tuple[str, str, str]]] = {problem: [] for problem in problems}
    if not columns:
        return out
    facts = rows.group_by("problem", maintain_order=True).agg(
        [expression for name in columns for expression in _looks(name, rows.schema[name], table.typed)]
    )
    for row in facts.iter_rows(named=True):
        taken: dict[str, str] = {}
        for column in columns:
            name, stated = parameter(column)
            if not row[f"{column}:any"]:
                continue
            if name in taken:
                text = f"columns {taken[name]!r} and {column!r} both have parameter {name!r}"
                mistakes.whole(f"{text} of problem {row['problem']!r}")
                continue
            taken[name] = column
            found = stated or next(kind for kind in ("int", "real", "bool", "text") if row[f"{column}:{kind}"])
            if not row[f"{column}:{found}"] or (not stated and found == "text" and row[f"{column}:mixed"]):
                here = rows.filter(pl.col("problem") == row["problem"])
                _refuse(here, column, stated, mistakes)
            out[row["problem"]].append((name, column, found))
    return out


def parameter(column: str) -> tuple[str, str]:
    """The parameter and the kind that `x.name` or `x.name:kind` states ('' when it states none)."""
    name, colon, kind = column.removeprefix("x.").rpartition(":")
    return (name, kind) if colon and kind in KINDS else (column.removeprefix("x."), "")


def parameter_values(series: pl.Series, kind: str) -> pl.Series:
    """A column of parameters in the type of its kind; what does not fit is null."""
    if series.dtype != pl.String:
        return series.cast(TYPES[kind])
    text = series.str.strip_chars()
    if kind == "bool":
        lower = text.str.to_lowercase()
        return (lower == "true").set(~lower.is_in(["true", "false"]), None)
    return series if kind == "text" else text.cast(TYPES[kind], strict=False)


def _looks(name: str, type_: pl.DataType, typed: bool) -> list[pl.Expr]:
    """For one problem: whether it has the parameter, as what it can be read, and whether texts mix with numbers."""
    cell = pl.col(name)
    looks: dict[str, pl.Expr]
    if type_ != pl.String:
        real = type_.is_float() or type_.is_integer()
        native = {"int": type_.is_integer(), "real": real, "bool": type_ == pl.Boolean, "text": False, "mixed": False}
        looks = {kind: pl.lit(yes) for kind, yes in native.items()}
        if type_ == pl.Null:
            looks["text"] = pl.lit(True)
    else:
        text = cell.str.strip_chars()
        filled = text.filter(text.fill_null("") != "")
        number = filled.cast(pl.Float64, strict=False).is_not_null()
        whole = filled.str.contains(r"^[+-]?\d+$") & filled.cast(pl.Int64, strict=False).is_not_null()
        some = filled.len() > 0  # nothing but empty texts: a text
        looks = {
            "int": whole.all() & some,
            "real": number.all() & some,
            "bool": filled.str.to_lowercase().is_in(["true", "false"]).all() & some,
            "text": pl.lit(True),
            "mixed": number.any() & ~number.all(),
        }
        if typed and not parameter(name)[1]:
            looks = {kind: pl.lit(kind == "text") for kind in looks}
    return [cell.is_not_null().any().alias(f"{name}:any"), *(look.alias(f"{name}:{k}") for k, look in looks.items())]


def _refuse(rows: pl.DataFrame, column: str, stated: str, mistakes: Mistakes) -> None:
    """Name the cells that are not of the kind that is stated, or the texts among numbers."""
    cells = rows[column]
    if cells.dtype != pl.String:
        mistakes.cells(column, rows["_row"].head(1), lambda cell, _: f"{cell} is no {stated}")
        return
    text = cells.str.strip_chars()
    filled = (text != "").fill_null(False)
    fits = parameter_values(cells, stated or "real").is_not_null()
    if stated == "int":
        fits &= text.str.contains(r"^[+-]?\d+$").fill_null(True)
    say = f"is no {stated}" if stated else "is not a number, but others of its problem are"
    hint = "" if stated else f" (leave it empty if there is none; if they are texts, call the column '{column}:text')"
    mistakes.cells(column, rows["_row"].filter(filled & ~fits).sort(), lambda cell, _: f"{cell} {say}{hint}")
