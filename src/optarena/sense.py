"""The sense of an objective as a sign: values are multiplied by it on their way in and on their way out.

Everything that compares values minimises. This is the only place that knows what a sense does to a value.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import polars as pl

Sense = Literal["min", "max"]


def sign(sense: str | None) -> float:
    """-1 for a maximised objective, 1 for any other."""
    return -1.0 if sense == "max" else 1.0


def signs(senses: Iterable[str | None]) -> npt.NDArray[np.float64]:
    """The signs of several objectives, or of the objectives of several studies."""
    import polars as pl

    if isinstance(senses, pl.Series):
        return np.where((senses == "max").fill_null(False).to_numpy(), sign("max"), sign("min"))
    return np.array([sign(sense) for sense in senses], dtype=float)


def sign_of(column: str = "sense") -> pl.Expr:
    """The same for a column of senses in a Polars frame."""
    import polars as pl

    return pl.when(pl.col(column) == "max").then(-1.0).otherwise(1.0)
