"""What a user says of a front: its points, the ideal and the nadir, checked wherever it is said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from optarena.errors import OptarenaError
from optarena.traces import Floats

ROUNDING = 1e-9


def known_front(signs: Sequence[float], front: Any = None, ideal: Any = None, nadir: Any = None) -> dict[str, Any]:
    """The fields of `Known` that these are, all in the objectives' own senses; OptarenaError says what is wrong.

    signs: -1 where an objective is maximised.
    """
    out: dict[str, Any] = {}
    if front is None and ideal is None and nadir is None:
        return out
    m, sign = len(signs), np.array(signs, dtype=float)
    if m < 2:
        raise OptarenaError("front, ideal and nadir are for several objectives; one has an optimum")
    for name, given in (("ideal", ideal), ("nadir", nadir)):
        if given is not None:
            out[name] = tuple(_numbers(given, name, m).tolist())
    low, high = (None if name not in out else np.array(out[name]) * sign for name in ("ideal", "nadir"))
    if low is not None and high is not None and not (low < high).all():
        worst = int(np.flatnonzero(~(low < high))[0]) + 1
        raise OptarenaError(f"the ideal must be better than the nadir in every objective, and is not in number {worst}")
    if front is None:
        return out
    if not _listed(front) or not len(front):
        raise OptarenaError(f"front must be a list of points, each with {m} numbers, got {str(front)[:60]!r}")
    points = np.array([_numbers(point, f"point {i} of the front", m) for i, point in enumerate(front, 1)])
    minimised = points * sign
    dominated = _dominated(minimised)
    if dominated is not None:
        raise OptarenaError(f"point {dominated + 1} of the front is dominated by another one: leave it out")
    if low is not None and (minimised < low).any():
        row = int(np.flatnonzero((minimised < low).any(axis=1))[0]) + 1
        raise OptarenaError(f"point {row} of the front is better than the ideal in an objective")
    edge = np.full(m, np.inf) if high is None else high + ROUNDING * np.maximum(1.0, np.abs(high))
    worse = np.flatnonzero((minimised > edge).any(axis=1))
    if worse.size:
        raise OptarenaError(f"point {int(worse[0]) + 1} of the front is worse than the nadir in an objective")
    out["front"] = tuple(map(tuple, np.unique(points, axis=0).tolist()))
    return out


def _listed(given: Any) -> bool:
    """Whether it is a list of something; an array without an axis is none, nor is a text."""
    return (
        isinstance(given, (Sequence, np.ndarray))
        and not isinstance(given, (str, bytes))
        and (not isinstance(given, np.ndarray) or given.ndim > 0)
    )


def _numbers(given: Any, what: str, m: int) -> Floats:
    """m finite numbers."""
    values = list(given) if _listed(given) else []
    if len(values) != m or any(
        isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number)) for value in values
    ):
        raise OptarenaError(f"{what} must be a list of {m} numbers, one per objective, got {str(given)[:60]!r}")
    try:
        out = np.array([float(value) for value in values])
    except OverflowError:
        out = np.array([np.inf])
    if not np.isfinite(out).all():
        raise OptarenaError(f"{what} must be finite, got {str(given)[:60]!r}")
    return out


def _dominated(points: Floats) -> int | None:
    """The first row that another one dominates, by more than what rounding to ten digits does."""
    from moocore import is_nondominated

    apart = ROUNDING * np.maximum(np.ptp(points, axis=0), np.abs(points).max(axis=0))
    for row in np.flatnonzero(~np.asarray(is_nondominated(points, keep_weakly=True), dtype=bool)).tolist():
        by = (points <= points[row]).all(axis=1) & (points < points[row] - apart).any(axis=1)
        if by.any():
            return int(row)
    return None
