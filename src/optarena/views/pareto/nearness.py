"""How near points come to each of some targets: the one body of GD, IGD, IGD+ and additive epsilon.

See docs/scores.md 3.6, 3.7.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from optarena._losses import difference
from optarena.traces import Floats

Kind = Literal["distance", "plus", "epsilon"]
Minus = Callable[[Floats, Floats], Floats]
PAIRS = 1_000_000
FEW = 30
"""Points: with fewer, all pairs are quicker than sorted search."""


class Nearness(NamedTuple):
    """(targets,): the least over the points of each kind; infinite where there is no point."""

    distance: Floats
    """Of |point - target|: IGD; GD, where the reference set is near to the points."""
    plus: Floats
    """Of |max(point - target, 0)|, where only what is worse counts: IGD+."""
    epsilon: Floats
    """Of the greatest of point - target over the objectives."""


def figure(kind: Kind, least: Floats) -> Floats:
    """(…): GD, IGD or IGD+ (the mean) or additive epsilon (the maximum) of the least values (…, targets).

    NaN without targets. See docs/scores.md 3.6, 3.7.
    """
    if not least.shape[-1]:
        return np.full(least.shape[:-1], np.nan)
    return least.max(axis=-1) if kind == "epsilon" else least.mean(axis=-1)


def apart(kinds: Sequence[Kind], points: Floats, targets: Floats, minus: Minus = np.subtract) -> list[Floats]:
    """For each kind (points, targets): how far each point is from each target (docs/scores.md 3.6, 3.7).

    minus: `difference` where values can be infinite.
    """
    shape = (len(points), len(targets))
    out = [np.full(shape, -np.inf) if kind == "epsilon" else np.zeros(shape) for kind in kinds]
    with np.errstate(over="ignore"):
        for a, t in zip(points.T, targets.T, strict=True):  # one objective at a time: rows stay contiguous
            gap = minus(a[:, None], t[None, :])
            for kind, total in zip(kinds, out, strict=True):
                if kind == "epsilon":
                    np.maximum(total, gap, out=total)
                else:
                    counted = np.maximum(gap, 0.0) if kind == "plus" else gap
                    total += counted * counted
    return [total if kind == "epsilon" else np.sqrt(total) for kind, total in zip(kinds, out, strict=True)]


def nearest(kinds: Sequence[Kind], points: Floats, targets: Floats, minus: Minus = np.subtract) -> list[Floats]:
    """For each kind (targets,): the least of `apart` over all points, whatever their order; infinite without points."""
    out = [np.full(len(targets), np.inf) for _ in kinds]
    step = max(1, PAIRS // max(1, len(points)))
    for start in range(0, len(targets) if len(points) else 0, step):
        here = slice(start, start + step)
        for least, away in zip(out, apart(kinds, points, targets[here], minus), strict=True):
            least[here] = away.min(axis=0)
    return out


def so_far(kind: Kind, points: Floats, targets: Floats) -> Floats:
    """(points,): the figure of the first k points, for every k."""
    least = np.full((1, len(targets)), np.inf)
    out = np.zeros(len(points))
    step = max(1, PAIRS // len(targets))
    for start in range(0, len(points), step):
        (away,) = apart((kind,), points[start : start + step], targets)
        running = np.minimum.accumulate(np.concatenate((least, away)))[1:]
        out[start : start + step] = figure(kind, running)
        least = running[-1:]
    return out


def least(kind: Kind, points: Floats, targets: Floats) -> Floats:
    """(targets,): the least of `apart` over points of any order, also infinite ones (docs/scores.md 3.6, 3.7).

    The sorted search that scores the fronts of studies, where its conditions hold.
    """
    if points.shape[1] == 2 and len(points) > FEW and np.isfinite(points).all() and np.isfinite(targets).all():
        ordered = points[np.lexsort((points[:, 1], points[:, 0]))]
        x, y = ordered.T
        if (np.diff(x) > 0).all() and (np.diff(y) < 0).all():  # non-dominated, each once
            found: Floats = getattr(nearness(ordered, targets), kind)
            return found
    return nearest((kind,), points, targets, difference)[0]


def nearness(front: Floats, targets: Floats) -> Nearness:
    """All three kinds. The front must be finite, non-dominated and sorted by its first objective."""
    found = _sorted_search(front, targets) if front.shape[1] == 2 and len(front) > FEW else None
    return found or Nearness(*nearest(("distance", "plus", "epsilon"), front, targets))


def _sorted_search(front: Floats, targets: Floats) -> Nearness | None:
    """Two objectives. None where so many points are so near to so many targets that all pairs are quicker.

    Along the front f1 rises and f2 falls, so f1 - f2 rises. max(a - t) is least where f1 - f2 crosses the target's: it
    gives epsilon. One of the two points there bounds the distance d; what is nearer has f1 - f2 within sqrt(2) d.
    """
    x, y = np.ascontiguousarray(front[:, 0]), np.ascontiguousarray(front[:, 1])
    tx, ty = targets.T
    key, goal, last = x - y, tx - ty, len(front) - 1
    at = np.searchsorted(key, goal)
    sides = [(x[i] - tx, y[i] - ty) for i in (np.maximum(at - 1, 0), np.minimum(at, last))]
    epsilon = np.minimum(*(np.maximum(a, b) for a, b in sides))
    square = np.minimum(*(a * a + b * b for a, b in sides))
    plus = np.minimum(*(_square_plus(a, b) for a, b in sides))
    # of the points that are worse in f2 alone the last is the nearest, of those worse in f1 alone the first
    i, j = np.searchsorted(x, tx, side="right") - 1, np.searchsorted(-y, -ty)
    plus = np.where(i >= 0, np.minimum(plus, np.maximum(y[np.maximum(i, 0)] - ty, 0.0) ** 2), plus)
    plus = np.where(j <= last, np.minimum(plus, np.maximum(x[np.minimum(j, last)] - tx, 0.0) ** 2), plus)
    # those worse in both are as far by either measure, and plus <= square: the same range holds for both
    reach = np.sqrt(2 * square) * (1 + 1e-12)
    begin, end = np.searchsorted(key, goal - reach), np.searchsorted(key, goal + reach, side="right")
    more = np.flatnonzero(end - begin > 1)
    size = (end - begin)[more]
    if 3 * size.sum() > front.shape[0] * len(targets):
        return None
    if len(more):
        starts = np.cumsum(size) - size
        target = np.repeat(more, size)
        point = np.arange(len(target)) + np.repeat(begin[more] - starts, size)
        a, b = x[point] - tx[target], y[point] - ty[target]
        square[more] = np.minimum(square[more], np.minimum.reduceat(a * a + b * b, starts))
        plus[more] = np.minimum(plus[more], np.minimum.reduceat(_square_plus(a, b), starts))
    return Nearness(np.sqrt(square), np.sqrt(plus), epsilon)


def _square_plus(a: Floats, b: Floats) -> Floats:
    return np.maximum(a, 0.0) ** 2 + np.maximum(b, 0.0) ** 2
