"""Who dominates whom: binary and continuous domination, ranks, crowding; pure functions, minimised (SCORES 3)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from optarena.errors import OptarenaError
from optarena.traces import Bools, Floats, Ints

BLOCK = 2_000_000


def as_points(points: npt.ArrayLike, what: str = "points") -> Floats:
    """A matrix with a row a point; NaN is refused, as libraries pass over it silently."""
    x = np.asarray(points, dtype=float)
    if x.ndim != 2 or x.shape[1] < 1:
        raise OptarenaError(
            f"{what} must be a matrix, a row a point and a column an objective; got the shape {x.shape}"
        )
    if np.isnan(x).any():
        row = int(np.flatnonzero(np.isnan(x).any(axis=1))[0])
        raise OptarenaError(f"{what}: row {row} has a nan; leave failed evaluations out")
    return x


def dominates(x: npt.ArrayLike, y: npt.ArrayLike) -> bool:
    """Whether x is nowhere worse than y and somewhere better."""
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    return bool((a <= b).all() and (a < b).any())


def non_dominated(points: npt.ArrayLike, *, keep_duplicates: bool = False) -> Bools:
    """Which rows no other row dominates; of equal ones the first, unless duplicates are kept."""
    x = as_points(points)
    if not len(x):
        return np.zeros(0, dtype=bool)
    from moocore import is_nondominated

    return np.asarray(is_nondominated(x, keep_weakly=keep_duplicates), dtype=bool)


def pareto_ranks(points: npt.ArrayLike) -> Ints:
    """The front that each row is in: 0 is not dominated, 1 is when front 0 is taken away, and so on."""
    x = as_points(points)
    if not len(x):
        return np.zeros(0, dtype=np.int64)
    from moocore import pareto_rank

    return np.asarray(pareto_rank(x), dtype=np.int64)


def domination_count(points: npt.ArrayLike) -> Ints:
    """How many rows each row dominates."""
    x = as_points(points)
    out = np.zeros(len(x), dtype=np.int64)
    step = max(1, BLOCK // max(1, x.size))
    for start in range(0, len(x), step):
        part = x[start : start + step, None, :]
        out[start : start + step] = ((part <= x[None]).all(axis=2) & (part < x[None]).any(axis=2)).sum(axis=1)
    return out


def continuous_loss(x: npt.ArrayLike, y: npt.ArrayLike, lo: npt.ArrayLike, hi: npt.ArrayLike) -> float:
    """The loss of x against y: mean over objectives of -exp(-(x_i - y_i)/n), normalised by the bounds.

    x is better than y where loss(x, y) < loss(y, x) (continuous domination).
    """
    a, b = _normalised(np.stack([np.asarray(x, dtype=float), np.asarray(y, dtype=float)]), lo, hi)
    n = len(a)
    return float(np.mean(-np.exp(-(a - b) / n)))


def total_loss(points: npt.ArrayLike, lo: npt.ArrayLike, hi: npt.ArrayLike) -> Floats:
    """The sum of each row's losses to all rows, itself included (-1); the least is the best."""
    x = _normalised(as_points(points), lo, hi)
    n = x.shape[1]
    # -mean_i exp(-(x_i - y_i)/n), summed over y: the two factors part
    return -np.mean(np.exp(-x / n) * np.exp(x / n).sum(axis=0)[None, :], axis=1)


def _normalised(x: Floats, lo: npt.ArrayLike, hi: npt.ArrayLike) -> Floats:
    low, high = np.asarray(lo, dtype=float), np.asarray(hi, dtype=float)
    width = high - low
    return np.where(width > 0, (x - low) / np.where(width > 0, width, 1.0), 0.0)


def cuboid(points: npt.ArrayLike) -> Floats:
    """How much room each row has: the product over objectives of the gap between its neighbours, inf at the ends.

    Gaps are normalised by the range of the set; per objective the sort is stable in row order.
    """
    return _gaps(as_points(points))[0]


def crowding_order(points: npt.ArrayLike) -> Ints:
    """Rows from the most room to the least; among those without any, by the sum of their gaps; then by row."""
    x = as_points(points)
    product, total = _gaps(x)
    return np.lexsort((np.arange(len(x)), np.where(product == 0, -total, 0.0), -product))


def _gaps(x: Floats) -> tuple[Floats, Floats]:
    n, m = x.shape
    gaps = np.full((n, m), np.inf)
    for j in range(m):
        order = np.argsort(x[:, j], kind="stable")
        width = x[order[-1], j] - x[order[0], j] if n else 0.0
        if n > 2:
            gap = x[order[2:], j] - x[order[:-2], j]
            gaps[order[1:-1], j] = gap / width if width > 0 else 0.0
    ends = np.isinf(gaps).any(axis=1)
    with np.errstate(invalid="ignore"):
        product = np.where(ends, np.inf, np.prod(np.where(ends[:, None], 0.0, gaps), axis=1))
        total = np.where(ends, np.inf, np.where(ends[:, None], 0.0, gaps).sum(axis=1))
    return product, total
