"""COCO's bi-objective indicator (SCORES 2, mode coco; golden: `biobj_traces`) along one archive.

reference - hypervolume of what was found, scaled by ideal (0, 0) and nadir (1, 1), the reference point; while no point
dominates the nadir: reference + the distance of the nearest point to the region between ideal and nadir.
"""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from optarena.traces import Floats


def indicator(points: Floats, ideal: tuple[float, ...], nadir: tuple[float, ...], reference: float) -> Floats:
    """The indicator after each of the points (n, 2), in the order they were found."""
    low = np.array(ideal)
    scaled = (points - low) / (np.array(nadir) - low)
    inside = (scaled < 1.0).all(axis=1)
    with np.errstate(over="ignore"):
        apart = np.sqrt((np.maximum(scaled - 1.0, 0.0) ** 2).sum(axis=1))
    out: Floats = reference + np.minimum.accumulate(np.where(np.isnan(apart), np.inf, apart))
    first = int(np.argmax(inside)) if inside.any() else len(points)
    volume = 0.0
    xs: list[float] = []  # the front, first coordinates ascending, second descending
    ys: list[float] = []
    for i in range(first, len(points)):
        if inside[i]:
            volume += _insert(xs, ys, float(scaled[i, 0]), float(scaled[i, 1]))
        out[i] = reference - volume
    return out


def _insert(xs: list[float], ys: list[float], x: float, y: float) -> float:
    """Put a point into the front; the volume that it adds, a strip for each point that it dominates and one more."""
    at = bisect_left(xs, x)
    if (at and ys[at - 1] <= y) or (at < len(xs) and xs[at] == x and ys[at] <= y):
        return 0.0
    end = at
    left, top, gain = x, ys[at - 1] if at else 1.0, 0.0
    while end < len(xs) and ys[end] >= y:
        gain += (xs[end] - left) * (top - y)
        left, top = xs[end], ys[end]
        end += 1
    gain += ((xs[end] if end < len(xs) else 1.0) - left) * (top - y)
    xs[at:end], ys[at:end] = [x], [y]
    return gain
