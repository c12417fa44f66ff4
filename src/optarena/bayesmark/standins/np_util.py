"""Stands in for `bayesmark.np_util`: the global random stream, and small helpers that wrappers use."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

SEED_MAX_INCL = 2**32 - 1

random: np.random.RandomState = np.random.mtrand._rand
"""NumPy's global stream itself, so that `np.random.seed` seeds it, too."""


def random_seed(random: Any = random) -> int:
    """A seed for something else, drawn from a stream of NumPy or of Python."""
    if isinstance(random, np.random.RandomState):
        return int(random.randint(0, SEED_MAX_INCL + 1, dtype=np.uint32))
    return int(random.randint(0, SEED_MAX_INCL))


def shuffle_2d(X: Any, random: Any = random) -> None:
    """Shuffle each row by itself, in place."""
    for row in X:
        random.shuffle(row)


def isclose_lte(x: npt.ArrayLike, y: npt.ArrayLike) -> Any:
    """Whether x <= y, or nearly so."""
    return np.less_equal(x, y) | np.isclose(x, y)


def clip_chk(x: npt.ArrayLike, lb: Any, ub: Any, allow_nan: bool = False) -> Any:
    """x within the bounds, where it was outside by no more than rounding."""
    inside = isclose_lte(lb, x) & isclose_lte(x, ub)
    assert np.all(inside | (np.isnan(x) if allow_nan else False)), f"{x!r} is outside [{lb}, {ub}]"
    return np.clip(x, lb, ub)


def snap_to(x: Any, fixed_val: Any = None) -> Any:
    """x, or the fixed value in its shape where one is given and x is near it."""
    if fixed_val is None:
        return x
    near = np.asarray(x) == fixed_val if isinstance(fixed_val, (str, bool)) else np.isclose(x, fixed_val)
    if not np.all(near):
        raise ValueError(f"Expected fixed value {fixed_val!r}, got {x!r}.")
    return np.full(np.shape(x), fixed_val)


def linear_rescale(
    X: npt.ArrayLike, lb0: Any, ub0: Any, lb1: Any, ub1: Any, enforce_bounds: bool = True
) -> npt.NDArray[np.float64]:
    """From the box [lb0, ub0] to the box [lb1, ub1]."""
    assert np.all(np.less(lb0, ub0)), "the box that is left must have a width"
    assert np.all(np.less_equal(lb1, ub1)), "the box that is entered must not be inside out"
    values = np.asarray(X, dtype=float)
    if enforce_bounds:
        values = clip_chk(values, lb0, ub0)
    out = np.true_divide(np.subtract(ub1, lb1), np.subtract(ub0, lb0)) * (values - np.asarray(lb0)) + np.asarray(lb1)
    return clip_chk(out, lb1, ub1) if enforce_bounds else out


def argmin_2d(X: npt.ArrayLike) -> tuple[int, ...]:
    """Where the least value of a matrix is, the first of equals."""
    matrix = np.asarray(X)
    assert matrix.size, "argmin of empty array not defined"
    return tuple(int(i) for i in np.unravel_index(int(np.argmin(matrix)), matrix.shape))


def cummin(x_val: npt.ArrayLike, x_key: npt.ArrayLike) -> npt.NDArray[Any]:
    """Down the first axis: the value where the key was least so far, the latest of equals."""
    key, value = np.asarray(x_key), np.asarray(x_val)
    rows = np.arange(len(key)).reshape((-1,) + (1,) * (key.ndim - 1))
    at = np.maximum.accumulate(np.where(key == np.minimum.accumulate(key, axis=0), rows, 0), axis=0)
    return np.take_along_axis(value, at, axis=0)
