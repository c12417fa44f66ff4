"""How good is a front: hypervolume, distances, spread; pure functions on minimised points (docs/scores.md 3.5 to 3.9).

>>> hypervolume([[1.0, 2.0], [2.0, 1.0]], [3.0, 3.0])
3.0
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from optarena._losses import difference
from optarena.errors import OptarenaError
from optarena.traces import Floats
from optarena.views.pareto.domination import as_points, non_dominated
from optarena.views.pareto.nearness import Kind, figure, least

BLOCK = 4_000_000


def hypervolume(points: npt.ArrayLike, reference: npt.ArrayLike, *, exact: bool = True) -> float:
    """The volume between the points and the reference point; points that do not dominate it add nothing.

    exact: False approximates it, deterministically, as the view does beyond six objectives. See docs/scores.md 3.5.
    """
    x, ref = with_reference(points, reference)
    inside = (x < ref).all(axis=1)
    if not inside.any():
        return 0.0
    if np.isinf(x[inside]).any():
        return float("inf")
    import moocore

    return float((moocore.hypervolume if exact else moocore.hv_approx)(x[inside], ref=ref))


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
    return _figure("distance", r, a)  # GD(A, R) is IGD(R, A)


def igd(points: npt.ArrayLike, reference_set: npt.ArrayLike) -> float:
    """Inverted generational distance: the mean over the reference set of the distance to the nearest point.

    See docs/scores.md 3.6.
    """
    return _figure("distance", *_both(points, reference_set))


def igd_plus(points: npt.ArrayLike, reference_set: npt.ArrayLike) -> float:
    """IGD that only counts where a point is worse than the reference: it never prefers a dominated front.

    See docs/scores.md 3.6.
    """
    return _figure("plus", *_both(points, reference_set))


def additive_epsilon(points: npt.ArrayLike, reference_set: npt.ArrayLike) -> float:
    """By how much the points must be improved to weakly dominate the whole reference set (docs/scores.md 3.7)."""
    return _figure("epsilon", *_both(points, reference_set))


def _figure(kind: Kind, points: Floats, targets: Floats) -> float:
    return float(figure(kind, least(kind, points, targets)))


def _both(
    points: npt.ArrayLike, reference_set: npt.ArrayLike, what: str = "the reference set"
) -> tuple[Floats, Floats]:
    """Both as matrices with as many columns: one column would silently be stretched."""
    a, r = as_points(points), as_points(reference_set, what)
    if len(a) and len(r) and a.shape[1] != r.shape[1]:
        raise OptarenaError(f"{what} has {r.shape[1]} objectives, the points have {a.shape[1]}")
    return a, r


def spread(points: npt.ArrayLike, extremes: npt.ArrayLike | None = None) -> float:
    """Deb's spread of a front with two objectives: 0 where gaps are equal and the ends are reached.

    extremes: the reference's rows with the least and the greatest f1; None: the ends count as reached. NaN for fewer
    than two points, and where there is no extreme. See docs/scores.md 3.9.
    """
    x = np.unique(as_points(points, width=2), axis=0)
    if x.shape[1] != 2:
        raise OptarenaError(f"Deb's spread is for two objectives, got {x.shape[1]}: see generalised_spread")
    if extremes is None:
        return spread_of(x, x[[0, -1]]) if len(x) else float("nan")
    e = _both(x, extremes, "the set of extremes")[1]
    return spread_of(x, e[[np.argmin(e[:, 0]), np.argmax(e[:, 0])]]) if len(e) else float("nan")


def spread_of(front: Floats, extremes: Floats) -> float:
    """Deb's spread of points in lexicographic order, without duplicates; extremes: first and last (docs/scores.md 3.9).

    NaN for fewer than two points.
    """
    if len(front) < 2:
        return float("nan")
    ends = distances(difference(front[[0, -1]], extremes)).sum()
    return _uneven(distances(difference(front[1:], front[:-1])), float(ends))


def generalised_spread(points: npt.ArrayLike, reference_set: npt.ArrayLike) -> float:
    """Spread for any number of objectives, by distances to the nearest neighbour; NaN for fewer than two points.

    The ends are the rows of the reference set with the greatest value of each objective. See docs/scores.md 3.9.
    """
    x, r = _both(points, reference_set)
    return generalised_spread_of(np.unique(x, axis=0), r[r.argmax(axis=0)]) if len(r) else float("nan")


def generalised_spread_of(front: Floats, extremes: Floats, neighbour: Floats | None = None) -> float:
    """The generalised spread of points without duplicates; extremes (m, m): one row per objective (docs/scores.md 3.9).

    neighbour: the distance of each point to its nearest neighbour, where that is known. NaN for fewer than two points.
    """
    if len(front) < 2:
        return float("nan")
    ends = distances(difference(front[None, :, :], extremes[:, None, :])).min(axis=1).sum()
    return _uneven(_neighbour_distances(front) if neighbour is None else neighbour, float(ends))


def _uneven(gaps: Floats, ends: float) -> float:
    """(ends + sum |gap - mean|)/(ends + sum of gaps): NaN where a gap is infinite (docs/scores.md 3.9)."""
    with np.errstate(invalid="ignore"):
        whole = ends + float(gaps.sum())
        return float((ends + np.abs(gaps - gaps.mean()).sum()) / whole) if whole != 0 else 0.0


def _neighbour_distances(x: Floats) -> Floats:
    """(n,): the distance of each row to the nearest other row."""
    out = np.empty(len(x))
    step = max(1, BLOCK // max(1, x.size))
    for start in range(0, len(x), step):
        part = distances(difference(x[start : start + step, None, :], x[None]))
        part[np.arange(len(part)), np.arange(start, start + len(part))] = np.inf
        out[start : start + step] = part.min(axis=1)
    return out


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
