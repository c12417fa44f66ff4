"""How good is a front: hypervolume, distances, spread; pure functions on minimised points (SCORES 3).

>>> hypervolume([[1.0, 2.0], [2.0, 1.0]], [3.0, 3.0])
3.0
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from optarena.errors import OptarenaError
from optarena.traces import Floats
from optarena.views.pareto.domination import as_points, non_dominated

BLOCK = 4_000_000


def hypervolume(points: npt.ArrayLike, reference: npt.ArrayLike) -> float:
    """The volume between the points and the reference point; points that do not dominate it add nothing."""
    x, ref = _with_reference(points, reference)
    inside = (x < ref).all(axis=1)
    if not inside.any():
        return 0.0
    from moocore import hypervolume as exact

    return float(exact(x[inside], ref=ref))


def hypervolume_contributions(points: npt.ArrayLike, reference: npt.ArrayLike) -> Floats:
    """What each row alone adds to the hypervolume; 0 for dominated ones and for those outside the reference."""
    x, ref = _with_reference(points, reference)
    out = np.zeros(len(x))
    inside = np.flatnonzero((x < ref).all(axis=1))
    if len(inside):
        from moocore import hv_contributions

        out[inside] = hv_contributions(x[inside], ref=ref)
    return out


def gd(points: npt.ArrayLike, reference_set: npt.ArrayLike) -> float:
    """Generational distance: the mean over the points of the distance to the nearest of the reference set."""
    return _mean_of_least(as_points(points), as_points(reference_set, "the reference set"), plus=False)


def igd(points: npt.ArrayLike, reference_set: npt.ArrayLike) -> float:
    """Inverted generational distance: the mean over the reference set of the distance to the nearest point."""
    return _mean_of_least(as_points(reference_set, "the reference set"), as_points(points), plus=False)


def igd_plus(points: npt.ArrayLike, reference_set: npt.ArrayLike) -> float:
    """IGD that only counts where a point is worse than the reference: it never prefers a dominated front."""
    return _mean_of_least(as_points(reference_set, "the reference set"), as_points(points), plus=True)


def additive_epsilon(points: npt.ArrayLike, reference_set: npt.ArrayLike) -> float:
    """By how much the points must be improved to weakly dominate the whole reference set."""
    a, r = as_points(points), as_points(reference_set, "the reference set")
    if not len(a) or not len(r):
        return float("nan")
    worst = -np.inf
    step = max(1, BLOCK // max(1, a.size))
    for start in range(0, len(r), step):
        gap = (a[None, :, :] - r[start : start + step, None, :]).max(axis=2)
        worst = max(worst, float(gap.min(axis=1).max()))
    return worst


def _mean_of_least(rows: Floats, others: Floats, *, plus: bool) -> float:
    """The mean over rows of the distance to the nearest other; with `plus`, of max(other - row, 0)."""
    if not len(rows) or not len(others):
        return float("nan")
    least = np.empty(len(rows))
    step = max(1, BLOCK // max(1, others.size))
    for start in range(0, len(rows), step):
        away = others[None, :, :] - rows[start : start + step, None, :]
        if plus:
            away = np.maximum(away, 0.0)
        least[start : start + step] = np.sqrt((away**2).sum(axis=2)).min(axis=1)
    return float(least.mean())


def spread(points: npt.ArrayLike, extremes: npt.ArrayLike | None = None) -> float:
    """Deb's spread of a front with two objectives: 0 where gaps are equal and the ends are reached.

    extremes: the reference's rows with the least and the greatest f1; without them the ends count as reached. NaN for
    fewer than two points.
    """
    x = np.unique(as_points(points), axis=0)
    if x.shape[1] != 2:
        raise OptarenaError(f"Deb's spread is for two objectives, got {x.shape[1]}: see generalised_spread")
    if len(x) < 2:
        return float("nan")
    gaps = np.linalg.norm(np.diff(x, axis=0), axis=1)
    ends = 0.0
    if extremes is not None:
        e = as_points(extremes, "extremes")
        first, last = e[np.argmin(e[:, 0])], e[np.argmax(e[:, 0])]
        ends = float(np.linalg.norm(x[0] - first) + np.linalg.norm(x[-1] - last))
    mean = float(gaps.mean())
    whole = ends + len(gaps) * mean
    return float((ends + np.abs(gaps - mean).sum()) / whole) if whole > 0 else 0.0


def generalised_spread(points: npt.ArrayLike, reference_set: npt.ArrayLike) -> float:
    """Spread for any number of objectives, by distances to the nearest neighbour; NaN for fewer than two points.

    The ends are the rows of the reference set with the greatest value of each objective.
    """
    x, r = np.unique(as_points(points), axis=0), as_points(reference_set, "the reference set")
    if len(x) < 2 or not len(r):
        return float("nan")
    nearest = np.empty(len(x))
    step = max(1, BLOCK // max(1, x.size))
    for start in range(0, len(x), step):
        part = np.linalg.norm(x[start : start + step, None, :] - x[None], axis=2)
        part[np.arange(len(part)), np.arange(start, start + len(part))] = np.inf
        nearest[start : start + step] = part.min(axis=1)
    ends = sum(float(np.linalg.norm(x - r[np.argmax(r[:, j])], axis=1).min()) for j in range(r.shape[1]))
    mean = float(nearest.mean())
    whole = ends + len(x) * mean
    return float((ends + np.abs(nearest - mean).sum()) / whole) if whole > 0 else 0.0


def r2(points: npt.ArrayLike, ideal: npt.ArrayLike) -> float:
    """The R2 indicator of a front with two objectives, in moocore's exact form."""
    x = as_points(points)
    if not len(x):
        return float("nan")
    from moocore import r2_exact

    return float(r2_exact(x, ref=np.asarray(ideal, dtype=float)))


# ---- anytime ---------------------------------------------------------------------------------------------------------


def anytime_hypervolume(points: npt.ArrayLike, reference: npt.ArrayLike) -> Floats:
    """The hypervolume of the first k points, for every k.

    Two objectives: a sorted staircase. More: an accepted point p adds its box less the hypervolume of what the archive
    already has of it, HV({max(a, p)}) (SCORES 3); dominated points add nothing.
    """
    x, ref = _with_reference(points, reference)
    if x.shape[1] == 1:
        return np.maximum(ref[0] - np.minimum.accumulate(x[:, 0]), 0.0) if len(x) else np.zeros(0)
    inside = (x < ref).all(axis=1)
    gain = np.zeros(len(x))
    rows = np.flatnonzero(inside)
    gain[rows] = _staircase(x[rows], ref) if x.shape[1] == 2 else _boxes(x[rows], ref)
    return np.cumsum(gain)


def _staircase(x: Floats, ref: Floats) -> Floats:
    """What each of the points adds, two objectives."""
    from bisect import bisect_left

    gain = np.zeros(len(x))
    firsts: list[float] = []  # f1 ascending, f2 descending
    seconds: list[float] = []
    r1, r2_ = float(ref[0]), float(ref[1])
    for i, (a, b) in enumerate(x.tolist()):
        at = bisect_left(firsts, a)
        if at < len(firsts) and firsts[at] == a and seconds[at] <= b:
            continue
        top = seconds[at - 1] if at else r2_
        if top <= b:
            continue
        end, added, left, height = at, 0.0, a, top
        while end < len(firsts) and seconds[end] >= b:  # steps that it dominates
            added += (firsts[end] - left) * (height - b)
            left, height = firsts[end], seconds[end]
            end += 1
        right = firsts[end] if end < len(firsts) else r1
        added += (right - left) * (height - b)
        firsts[at:end] = [a]
        seconds[at:end] = [b]
        gain[i] = added
    return gain


def _boxes(x: Floats, ref: Floats) -> Floats:
    """What each of the points adds, three objectives or more."""
    from moocore import hypervolume as exact

    gain = np.zeros(len(x))
    archive = np.empty((64, x.shape[1]))
    size = 0
    for i, p in enumerate(x):
        known = archive[:size]
        if size and (known <= p).all(axis=1).any():
            continue
        box = float(np.prod(ref - p))
        if size:
            limited = np.maximum(known, p)
            limited = limited[(limited < ref).all(axis=1)]
            if len(limited):
                box -= float(exact(limited, ref=ref))
            keep = ~(known >= p).all(axis=1)
            size = int(keep.sum())
            archive[:size] = known[keep]
        if size == len(archive):
            archive = np.concatenate((archive, np.empty_like(archive)))
        archive[size] = p
        size += 1
        gain[i] = box
    return gain


def _with_reference(points: npt.ArrayLike, reference: npt.ArrayLike) -> tuple[Floats, Floats]:
    x = as_points(points)
    ref = np.asarray(reference, dtype=float)
    if ref.shape != (x.shape[1],):
        raise OptarenaError(f"the reference point has {ref.size} numbers, the points have {x.shape[1]} objectives")
    if not np.isfinite(ref).all():
        raise OptarenaError("the reference point must be finite")
    return np.maximum(x, -np.finfo(float).max) if (x == -np.inf).any() else x, ref


def front(points: npt.ArrayLike) -> Floats:
    """The non-dominated points, duplicates removed, sorted lexicographically: what the view scores."""
    x = as_points(points)
    return np.unique(x[non_dominated(x)], axis=0)
