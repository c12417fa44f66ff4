"""Fronts as they grow: what enters them, and for two objectives a sorted staircase and COCO's indicator. Minimised."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
import numpy.typing as npt

from optarena.traces import Floats, Ints

HUGE = 1e300


def staircase(points: Floats, reference: npt.ArrayLike) -> tuple[Floats, Ints]:
    """What each of the points (n, 2), in their order, adds to the hypervolume, and until when it is in the front.

    A point is in the front from its own place up to, not including, `until`: its own place where an earlier one is as
    good, n where none ever dominates it. Points outside the reference belong to the front but add nothing there.
    See docs/scores.md 3.11.
    """
    n = len(points)
    gain, until = np.zeros(n), np.arange(n)
    firsts: list[float] = []  # f1 ascending, f2 descending
    seconds: list[float] = []
    who: list[int] = []
    r1, r2 = np.asarray(reference, dtype=float).tolist()
    for i, (a, b) in enumerate(points.tolist()):
        at = bisect_left(firsts, a)
        if (at and seconds[at - 1] <= b) or (at < len(firsts) and firsts[at] == a and seconds[at] <= b):
            continue
        until[i] = n
        end, added, left, top = at, 0.0, a, min(seconds[at - 1], r2) if at else r2
        while end < len(firsts) and seconds[end] >= b:  # a strip for each step that it dominates
            until[who[end]] = i
            if firsts[end] < r1 and b < r2:
                added += (firsts[end] - left) * (top - b)
                left, top = firsts[end], min(seconds[end], r2)
            end += 1
        if a < r1 and b < r2:
            right = min(firsts[end], r1) if end < len(firsts) else r1
            gain[i] = added + (right - left) * (top - b)
        firsts[at:end], seconds[at:end], who[at:end] = [a], [b], [i]
    return gain, until


def coco_indicator(points: Floats, ideal: npt.ArrayLike, nadir: npt.ArrayLike, reference: float) -> Floats:
    """COCO's bi-objective indicator after each of the points (n, 2), in their order (docs/scores.md 3.14).

    `reference` (the hypervolume of the best known front) - hypervolume of what was found, scaled by ideal (0, 0) and
    nadir (1, 1), the reference point; while no point dominates the nadir: reference + the distance of the nearest point
    to the region between ideal and nadir.
    """
    low = np.asarray(ideal, dtype=float)
    scaled = (points - low) / (np.asarray(nadir, dtype=float) - low)
    with np.errstate(over="ignore"):
        apart = np.sqrt((np.maximum(scaled - 1.0, 0.0) ** 2).sum(axis=1))
    apart = np.minimum.accumulate(np.where(np.isnan(apart), np.inf, apart))
    inside = np.flatnonzero((scaled < 1.0).all(axis=1))
    gain = np.zeros(len(points))
    gain[inside] = staircase(scaled[inside], (1.0, 1.0))[0]
    found = np.arange(len(points)) >= (inside[0] if len(inside) else len(points))
    return np.where(found, reference - np.cumsum(gain), reference + apart)


def ordered(x: Floats) -> Floats:
    """What moocore can be given: its sentinels are infinite, so ranks stand for values where some are that, or near."""
    if not x.size or np.abs(x).max() < HUGE:
        return x
    return np.column_stack([np.unique(column, return_inverse=True)[1].ravel() for column in x.T]).astype(float)


def entering(points: Floats) -> Ints:
    """The rows that enter the front when they come: no row before is as good everywhere."""
    if not len(points):
        return np.zeros(0, dtype=np.int64)
    from moocore import is_nondominated

    # what came before and is as good dominates in one more dimension, time
    return np.flatnonzero(is_nondominated(np.column_stack((ordered(points), np.arange(float(len(points)))))))
