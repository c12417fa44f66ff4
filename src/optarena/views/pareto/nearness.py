"""How near a front comes to each of some targets: what GD, IGD, IGD+ and additive epsilon are made of.

See docs/scores.md 3.6, 3.7.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optarena.traces import Floats

PAIRS = 1_000_000
FEW = 30
"""Points: with fewer, all pairs are quicker than sorted search."""


class Nearness(NamedTuple):
    """(targets,): the least over the front of each; infinite where the front is empty."""

    distance: Floats
    plus: Floats
    """Of max(point - target, 0): only where the point is worse counts."""
    epsilon: Floats


def nearness(front: Floats, targets: Floats) -> Nearness:
    """The front must be non-dominated and sorted by its first objective."""
    if front.shape[1] == 2 and len(front) > FEW:
        found = _sorted_search(front, targets)
        if found is not None:
            return found
    out = Nearness(*(np.full(len(targets), np.inf) for _ in range(3)))
    if not len(front):
        return out
    step = max(1, PAIRS // len(front))
    for start in range(0, len(targets), step):
        here = slice(start, start + step)
        shape = (len(targets[here]), len(front))
        square, plus, epsilon = np.zeros(shape), np.zeros(shape), np.full(shape, -np.inf)
        for a, t in zip(front.T, targets[here].T, strict=True):  # an objective at a time: whole rows stay together
            away = a[None, :] - t[:, None]
            np.maximum(epsilon, away, out=epsilon)
            square += away * away
            np.maximum(away, 0.0, out=away)
            plus += away * away
        out.distance[here] = np.sqrt(square.min(axis=1))
        out.plus[here] = np.sqrt(plus.min(axis=1))
        out.epsilon[here] = epsilon.min(axis=1)
    return out


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
