"""What the functions of this package return, and how they take their arrays and their randomness."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from optarena.errors import OptarenaError
from optarena.traces import Floats

Seed: TypeAlias = int | np.random.Generator
"""A generator, or the number that starts one: the same seed gives the same interval."""

LEVEL = 0.95
RESAMPLES = 10_000
FEW = 20
"""Under so many problems an interval over problems is a t interval, flagged (docs/scores.md 5.5)."""


class Test(NamedTuple):
    """A test: its statistic, its two-sided p-value, the number of values that it used, and how p was found."""

    statistic: float
    p: float
    n: int
    method: str


class Interval(NamedTuple):
    """An estimate with the ends of its interval. `note` says what a reader should know of it, if anything."""

    value: float
    lower: float
    upper: float
    n: int
    method: str
    note: str = ""


def sample(x: npt.ArrayLike, name: str = "x", least: int = 1) -> Floats:
    """A sample of numbers, checked: one axis, at least so many, no NaN."""
    try:
        out = np.asarray(x, dtype=float)
    except (TypeError, ValueError):
        raise OptarenaError(f"{name} must be a list of numbers") from None
    if out.ndim != 1:
        raise OptarenaError(f"{name} must be a list of numbers; got an array of the shape {out.shape}")
    if len(out) < least:
        raise OptarenaError(
            f"{name} must have at least {least} {'number' if least == 1 else 'numbers'}; got {len(out)}"
        )
    if np.isnan(out).any():
        raise OptarenaError(
            f"{name} has NaN at place {int(np.flatnonzero(np.isnan(out))[0])}: leave it out, or say why"
        )
    return out


def paired(x: npt.ArrayLike, y: npt.ArrayLike | None, least: int = 1) -> Floats:
    """The differences x - y of paired samples, or x itself where they are given as differences."""
    first = sample(x, "x", least)
    if y is None:
        return first
    second = sample(y, "y", least)
    if len(first) != len(second):
        raise OptarenaError(f"paired samples must have equal length; got {len(first)} and {len(second)}")
    with np.errstate(invalid="ignore"):
        out = first - second
    out[first == second] = 0.0  # inf - inf too: they are equal
    return out


def matrix(x: npt.ArrayLike, columns: int = 2, rows: int = 1) -> Floats:
    """Problems in rows, optimizers in columns, no NaN."""
    out = np.asarray(x, dtype=float)
    if out.ndim != 2 or out.shape[1] < columns or out.shape[0] < rows:
        raise OptarenaError(
            f"a matrix has one row per problem (at least {rows}) and one column per optimizer (at least {columns}); "
            f"got the shape {out.shape}"
        )
    if np.isnan(out).any():
        p, o = np.argwhere(np.isnan(out))[0].tolist()
        raise OptarenaError(f"row {p}, column {o} is NaN: leave out the problems that some optimizer lacks")
    return out


def generator(seed: Seed) -> np.random.Generator:
    return np.random.default_rng(seed)


def level_of(level: float) -> float:
    """The level, which is a probability: 0.95, not 95."""
    if not 0 < level < 1:
        raise OptarenaError(f"the level of an interval lies between 0 and 1, as 0.95; got {level}")
    return float(level)


def percentile_ends(drawn: Floats, level: float) -> tuple[Floats, Floats]:
    """Both ends of the percentile interval of resamplings (resamples, …)."""
    tail = (1 - level_of(level)) / 2
    lower, upper = np.quantile(drawn, [tail, 1 - tail], axis=0)
    return lower, upper
