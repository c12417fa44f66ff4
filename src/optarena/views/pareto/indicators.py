"""How good is a front: hypervolume, distances, spread; pure functions on minimised points (docs/scores.md 3.5 to 3.9).

>>> hypervolume([[1.0, 2.0], [2.0, 1.0]], [3.0, 3.0])
3.0
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from optarena.errors import OptarenaError
from optarena.traces import Floats
from optarena.views.pareto.domination import as_points, difference, non_dominated

BLOCK = 4_000_000


def hypervolume(points: npt.ArrayLike, reference: npt.ArrayLike) -> float:
    """The volume between the points and the reference point; points that do not dominate it add nothing.

    See docs/scores.md 3.5.
    """
    x, ref = with_reference(points, reference)
    inside = (x < ref).all(axis=1)
    if not inside.any():
        return 0.0
    if np.isinf(x[inside]).any():
        return float("inf")
    from moocore import hypervolume as exact

    return float(exact(x[inside], ref=ref))


def hypervolume_contributions(points: npt.ArrayLike, reference: npt.ArrayLike) -> Floats:
    """What each row alone adds to the hypervolume of the front (docs/scores.md 3.5).

    0 for dominated rows, which take nothing from others either, for equal rows, and for those outside the reference.
    """
    x, ref = with_reference(points, reference)
    out = np.zeros(len(x))
    inside = np.flatnonzero((x < ref).all(axis=1))
    if not len(inside):
        return out
    kept = x[inside]
    if x.shape[1] == 1:
        best, second = np.sort(np.append(kept[:, 0], ref[0]))[:2]
        out[inside[np.argmin(kept[:, 0])]] = second - best
        return out
    endless = np.isinf(kept)
    if endless.any():  # to the others any value below theirs is the same
        finite = kept[~endless]
        kept = np.where(endless, min(finite.min(initial=0.0), ref.min()) - 1.0, kept)
    from moocore import hv_contributions

    added = np.asarray(hv_contributions(kept, ref=ref), dtype=float)
    out[inside] = np.where(endless.any(axis=1) & (added > 0), np.inf, added)
    return out


def distances(away: Floats) -> Floats:
    """Euclidean, along the last axis."""
    with np.errstate(over="ignore"):
        return np.sqrt(np.einsum("...i,...i", away, away))


def gd(points: npt.ArrayLike, reference_set: npt.ArrayLike) -> float:
    """Generational distance: the mean over the points of the distance to the nearest of the reference set.

    See docs/scores.md 3.6.
    """
    a, r = _both(points, reference_set)
    return _mean_of_least(a, r, plus=False)


def igd(points: npt.ArrayLike, reference_set: npt.ArrayLike) -> float:
    """Inverted generational distance: the mean over the reference set of the distance to the nearest point.

    See docs/scores.md 3.6.
    """
    a, r = _both(points, reference_set)
    return _mean_of_least(r, a, plus=False)


def igd_plus(points: npt.ArrayLike, reference_set: npt.ArrayLike) -> float:
    """IGD that only counts where a point is worse than the reference: it never prefers a dominated front.

    See docs/scores.md 3.6.
    """
    a, r = _both(points, reference_set)
    return _mean_of_least(r, a, plus=True)


def additive_epsilon(points: npt.ArrayLike, reference_set: npt.ArrayLike) -> float:
    """By how much the points must be improved to weakly dominate the whole reference set (docs/scores.md 3.7)."""
    a, r = _both(points, reference_set)
    if not len(a) or not len(r):
        return float("inf") if len(r) else float("nan")
    worst = -np.inf
    step = max(1, BLOCK // max(1, a.size))
    for start in range(0, len(r), step):
        gap = difference(a[None, :, :], r[start : start + step, None, :]).max(axis=2)
        worst = max(worst, float(gap.min(axis=1).max()))
    return worst


def _both(
    points: npt.ArrayLike, reference_set: npt.ArrayLike, what: str = "the reference set"
) -> tuple[Floats, Floats]:
    """Both as matrices with as many columns: one column would silently be stretched."""
    a, r = as_points(points), as_points(reference_set, what)
    if len(a) and len(r) and a.shape[1] != r.shape[1]:
        raise OptarenaError(f"{what} has {r.shape[1]} objectives, the points have {a.shape[1]}")
    return a, r


def _mean_of_least(rows: Floats, others: Floats, *, plus: bool) -> float:
    """The mean over rows of the distance to the nearest other; with `plus`, of max(other - row, 0).

    Without others every distance is infinite; without rows there is no mean.
    """
    if not len(rows) or not len(others):
        return float("inf") if len(rows) else float("nan")
    least = np.empty(len(rows))
    step = max(1, BLOCK // max(1, others.size))
    for start in range(0, len(rows), step):
        away = difference(others[None, :, :], rows[start : start + step, None, :])
        if plus:
            away = np.maximum(away, 0.0)
        least[start : start + step] = distances(away).min(axis=1)
    return float(least.mean())


def spread(points: npt.ArrayLike, extremes: npt.ArrayLike | None = None) -> float:
    """Deb's spread of a front with two objectives: 0 where gaps are equal and the ends are reached.

    extremes: the reference's rows with the least and the greatest f1; None: the ends count as reached. NaN for fewer
    than two points, and where there is no extreme. See docs/scores.md 3.9.
    """
    x = np.unique(as_points(points, width=2), axis=0)
    if x.shape[1] != 2:
        raise OptarenaError(f"Deb's spread is for two objectives, got {x.shape[1]}: see generalised_spread")
    if len(x) < 2:
        return float("nan")
    gaps = distances(difference(x[1:], x[:-1]))
    ends = 0.0
    if extremes is not None:
        e = _both(x, extremes, "the set of extremes")[1]
        if not len(e):
            return float("nan")
        first, last = e[np.argmin(e[:, 0])], e[np.argmax(e[:, 0])]
        ends = float(distances(difference(x[0], first)) + distances(difference(x[-1], last)))
    return uneven(gaps, ends)


def uneven(gaps: Floats, ends: float) -> float:
    """(ends + sum |gap - mean|)/(ends + sum of gaps): NaN where a gap is infinite (docs/scores.md 3.9)."""
    with np.errstate(invalid="ignore"):
        whole = ends + float(gaps.sum())
        return float((ends + np.abs(gaps - gaps.mean()).sum()) / whole) if whole != 0 else 0.0


def generalised_spread(points: npt.ArrayLike, reference_set: npt.ArrayLike) -> float:
    """Spread for any number of objectives, by distances to the nearest neighbour; NaN for fewer than two points.

    The ends are the rows of the reference set with the greatest value of each objective. See docs/scores.md 3.9.
    """
    x, r = _both(points, reference_set)
    x = np.unique(x, axis=0)
    if len(x) < 2 or not len(r):
        return float("nan")
    nearest = np.empty(len(x))
    step = max(1, BLOCK // max(1, x.size))
    for start in range(0, len(x), step):
        part = distances(difference(x[start : start + step, None, :], x[None]))
        part[np.arange(len(part)), np.arange(start, start + len(part))] = np.inf
        nearest[start : start + step] = part.min(axis=1)
    ends = sum(float(distances(difference(x, r[np.argmax(r[:, j])])).min()) for j in range(r.shape[1]))
    return uneven(nearest, ends)


def r2(points: npt.ArrayLike, ideal: npt.ArrayLike) -> float:
    """The R2 indicator of a front with two objectives, in moocore's exact form; inf for an empty front.

    See docs/scores.md 3.8.
    """
    x = as_points(points, width=2)
    if x.shape[1] != 2:
        raise OptarenaError(f"the exact R2 indicator is for two objectives, got {x.shape[1]}")
    x = x[(x < np.inf).all(axis=1)]  # what is infinite somewhere is the best for no weights
    if not len(x):
        return float("inf")
    from moocore import r2_exact

    at = np.asarray(ideal, dtype=float)
    if at.shape != (2,):
        raise OptarenaError(f"the ideal point has two numbers; got the shape {at.shape}")
    return float(r2_exact(x, ref=at))


def with_reference(points: npt.ArrayLike, reference: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Both, checked against each other."""
    ref = np.asarray(reference, dtype=float)
    x = as_points(points, width=ref.size)
    if ref.shape != (x.shape[1],):
        raise OptarenaError(f"the reference point has {ref.size} numbers, the points have {x.shape[1]} objectives")
    if not np.isfinite(ref).all():
        raise OptarenaError("the reference point must be finite")
    return x, ref


def front(points: npt.ArrayLike) -> Floats:
    """The non-dominated points, duplicates removed, sorted lexicographically: what the view scores.

    See docs/scores.md 3.1.
    """
    x = as_points(points)
    return np.unique(x[non_dominated(x)], axis=0)
