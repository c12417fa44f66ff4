"""Who dominates whom: binary and continuous domination, ranks, crowding; pure functions, minimised.

See docs/scores.md 3.1, 3.2, 3.10.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from optarena._losses import difference, losses
from optarena.errors import OptarenaError
from optarena.staircase import ordered
from optarena.traces import Bools, Floats, Ints

BLOCK = 2_000_000
FAR = 300.0
"""exp(FAR)**2 is still a number."""


def as_points(points: npt.ArrayLike, what: str = "points", width: int = 1) -> Floats:
    """A matrix with one row per point; NaN is refused, as libraries pass over it silently. [] is an empty front."""
    try:
        x = np.asarray(points, dtype=float)
    except (TypeError, ValueError):
        raise OptarenaError(f"{what} must be a matrix of numbers with rows of equal length") from None
    if x.ndim == 1 and not x.size:
        return np.zeros((0, width))
    if x.ndim != 2 or x.shape[1] < 1:
        raise OptarenaError(
            f"{what} must be a matrix, one row per point and one column per objective; got the shape {x.shape}"
        )
    if np.isnan(x).any():
        row = int(np.flatnonzero(np.isnan(x).any(axis=1))[0])
        raise OptarenaError(f"{what}: row {row} has a nan; leave failed evaluations out")
    return x


def as_pair(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Two points with as many objectives: an array would silently be stretched."""
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if a.ndim != 1 or a.shape != b.shape:
        raise OptarenaError(f"two points must have as many objectives; got the shapes {a.shape} and {b.shape}")
    return a, b


def dominates(x: npt.ArrayLike, y: npt.ArrayLike) -> bool:
    """Whether x is nowhere worse than y and somewhere better (docs/scores.md 3.1)."""
    return bool(dominating(*as_pair(x, y)))


def dominating(x: Floats, y: Floats) -> Bools:
    """(…): whether points x (…, m) dominate points y (…, m), broadcast against each other (docs/scores.md 3.1)."""
    shape = np.broadcast_shapes(x.shape, y.shape)[:-1]
    no_worse, better = np.ones(shape, dtype=bool), np.zeros(shape, dtype=bool)
    for j in range(x.shape[-1]):  # one objective at a time: rows stay contiguous
        no_worse &= x[..., j] <= y[..., j]
        better |= x[..., j] < y[..., j]
    return no_worse & better


def non_dominated(points: npt.ArrayLike, *, keep_duplicates: bool = False) -> Bools:
    """Which rows no other row dominates; of equal ones the first, unless duplicates are kept (docs/scores.md 3.1)."""
    x = as_points(points)
    if not len(x):
        return np.zeros(0, dtype=bool)
    from moocore import is_nondominated

    return np.asarray(is_nondominated(ordered(x), keep_weakly=keep_duplicates), dtype=bool)


def pareto_ranks(points: npt.ArrayLike) -> Ints:
    """The front that each row is in: 0 is not dominated, 1 is when front 0 is taken away, and so on.

    See docs/scores.md 3.1.
    """
    x = as_points(points)
    if not len(x):
        return np.zeros(0, dtype=np.int64)
    from moocore import pareto_rank

    return np.asarray(pareto_rank(ordered(x)), dtype=np.int64)


def domination_count(points: npt.ArrayLike) -> Ints:
    """How many rows each row dominates (docs/scores.md 3.1)."""
    x = as_points(points)
    out = np.zeros(len(x), dtype=np.int64)
    step = max(1, BLOCK // max(1, x.size))
    for start in range(0, len(x), step):
        out[start : start + step] = dominating(x[start : start + step, None, :], x[None]).sum(axis=1)
    return out


def continuous_loss(x: npt.ArrayLike, y: npt.ArrayLike, lo: npt.ArrayLike, hi: npt.ArrayLike) -> float:
    """The loss of x against y: mean over objectives of -exp(-(x_i - y_i)/n), normalised by the bounds.

    x is better than y where loss(x, y) < loss(y, x) (continuous domination). See docs/scores.md 3.2.
    """
    a, b = _normalised(as_points(np.stack(as_pair(x, y))), lo, hi)
    return float(losses(a, b))


def total_loss(points: npt.ArrayLike, lo: npt.ArrayLike, hi: npt.ArrayLike) -> Floats:
    """The sum of each row's losses to all rows, itself included (-1); the least is the best (docs/scores.md 3.2)."""
    x = _normalised(as_points(points), lo, hi)
    n = x.shape[1]
    if x.size and np.abs(x).max() > FAR * n:  # exp would overflow: pair by pair
        step = max(1, BLOCK // x.size)
        parts = [losses(x[i : i + step, None, :], x[None]).sum(axis=1) for i in range(0, len(x), step)]
        return np.concatenate(parts)
    # -mean_i exp(-(x_i - y_i)/n), summed over y: the two factors part
    return -np.mean(np.exp(-x / n) * np.exp(x / n).sum(axis=0)[None, :], axis=1)


def _normalised(x: Floats, lo: npt.ArrayLike, hi: npt.ArrayLike) -> Floats:
    low, high = np.asarray(lo, dtype=float), np.asarray(hi, dtype=float)
    if not (low <= high).all():
        raise OptarenaError(f"bounds: lo must not be above hi; got {low.tolist()} and {high.tolist()}")
    width, gap = difference(high, low), difference(x, low)
    with np.errstate(over="ignore", invalid="ignore"):
        out = np.where(width > 0, gap / np.where(width > 0, width, 1.0), 0.0)
    return np.where(np.isinf(width) & np.isinf(gap), np.sign(gap), out)


def cuboid(points: npt.ArrayLike) -> Floats:
    """How much room each row has: the product over objectives of the gap between its neighbours, inf at the ends.

    Gaps are normalised by the range of the set; per objective the sort is stable in row order. See docs/scores.md 3.10.
    """
    return room(as_points(points))[0]


def crowding_order(points: npt.ArrayLike) -> Ints:
    """Rows from the most room to the least; among those without any, by the sum of their gaps; then by row.

    See docs/scores.md 3.10.
    """
    x = as_points(points)
    product, total = room(x)
    return np.lexsort((np.arange(len(x)), np.where(product == 0, -total, 0.0), -product))


def room(x: Floats) -> tuple[Floats, Floats]:
    """Of each row the product and the sum of its gaps, infinite at the ends (docs/scores.md 3.10)."""
    gaps = np.full(x.T.shape, np.inf)
    for column, out in zip(x.T, gaps, strict=True):
        order = np.argsort(column, kind="stable")
        out[order[1:-1]] = gap_shares(column[order[:-2]], column[order[2:]], width_of(column))
    return room_of_gaps(gaps)


def room_of_gaps(gaps: Floats) -> tuple[Floats, Floats]:
    """Product and sum over objectives of gaps (m, rows); infinite where one is, at an end (docs/scores.md 3.10)."""
    ends = np.isinf(gaps).any(axis=0)
    inner = np.where(ends, 0.0, gaps)
    return np.where(ends, np.inf, inner.prod(axis=0)), np.where(ends, np.inf, inner.sum(axis=0))


def gap_shares(low: Floats, high: Floats, width: npt.ArrayLike) -> Floats:
    """The gaps between neighbours as shares of the range; 0 without a range, 1 where both are infinite."""
    gap, whole = difference(high, low), np.asarray(width, dtype=float)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(whole > 0, np.where(np.isinf(gap), 1.0, gap / whole), 0.0)


def width_of(column: Floats) -> float:
    """The range of an objective."""
    return float(difference(column.max(keepdims=True), column.min(keepdims=True))[0]) if len(column) else 0.0
