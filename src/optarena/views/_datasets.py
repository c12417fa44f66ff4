"""Tables as xarray datasets: the columns that name a row are dimensions, the others variables."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import polars as pl

from optarena.errors import NotInstalled

DIMENSIONS = (
    *("optimizer", "other", "suite", "problem", "function", "group", "dimension", "trial"),
    *("metric", "indicator", "iteration", "effort", "target", "k", "panel", "of", "ratio", "kind", "tolerance", "x"),
)
"""The columns that name a row, in any table of any view."""
ROW = "row"


def xarray() -> ModuleType:
    """The package, or a sentence that says how to get it."""
    try:
        import xarray
    except ImportError:
        raise NotInstalled("datasets need", "xarray") from None
    return xarray


def dataset(table: pl.DataFrame) -> Any:
    """A table as a dataset, NaN (or no text) where it has no row. Rows that no columns tell apart stand in a row."""
    names = [name for name in DIMENSIONS if name in table.columns]
    if not names or table.select(pl.struct(names).is_duplicated().any()).item():
        return xarray().Dataset({name: (ROW, _column(table[name])) for name in table.columns})
    coords, places = {}, []
    for name in names:
        labels = table[name].unique().sort()
        places.append(table.select(pl.col(name).rank("dense") - 1).to_series().fill_null(-1).to_numpy())
        if labels.null_count():  # nulls sort first: over everything, as all problems together
            places[-1] = places[-1] + 1
        coords[name] = _column(labels)
    shape = [len(labels) for labels in coords.values()]
    at = tuple(place.astype(np.int64) for place in places)
    variables = {}
    for name in table.columns:
        if name in names:
            continue
        values = _column(table[name])
        out = np.full(shape, "" if values.dtype == object else np.nan, dtype=values.dtype)
        out[at] = values
        variables[name] = (names, out)
    return xarray().Dataset(variables, coords)


def _column(values: pl.Series) -> np.ndarray[Any, Any]:
    """Numbers as floats, NaN for null; texts as objects, empty for null; whole numbers that name rows as they are."""
    if values.dtype == pl.String:
        return np.array(values.fill_null("").to_list(), dtype=object)
    if values.name in DIMENSIONS and values.dtype.is_integer() and not values.null_count():
        return values.to_numpy()
    return values.cast(pl.Float64).fill_null(np.nan).to_numpy()
