"""Every indicator of one study's front, at chosen moments; points are normalised by the frame (SCORES 3).

The front changes only when a point enters, so it is measured once for each different number of points that entered.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from optarena.staircase import staircase
from optarena.traces import Bools, Floats, Ints
from optarena.views.pareto.indicators import distances, generalised_spread, hypervolume, r2, spread, uneven

INDICATORS = (
    "hypervolume",
    "hypervolume_ratio",
    "igd_plus",
    "igd",
    "gd",
    "additive_epsilon",
    "r2",
    "spread",
    "generalised_spread",
    "non_dominated",
)
GREATER = ("hypervolume", "hypervolume_ratio")
"""The greater the better; of all others but the last, the less."""
RANKED = ("hypervolume", "hypervolume_ratio", "igd_plus", "igd", "gd", "additive_epsilon", "r2")
"""Those by which fronts may be ranked; spread alone says nothing of how good a front is."""
EXACT_UP_TO = 6
"""Objectives: with more, hypervolumes are approximated."""
PAIRS = 2_000_000


def volume(points: Floats, corner: Floats) -> float:
    """The hypervolume; approximated, deterministically, for more than six objectives."""
    if len(corner) <= EXACT_UP_TO:
        return hypervolume(points, corner)
    inside = points[(points < corner).all(axis=1)]
    if not len(inside):
        return 0.0
    from moocore import hv_approx

    return float(hv_approx(inside, ref=corner))


@dataclass
class Yardstick:
    """What the fronts of a problem are measured with: a normalised reference set and reference point."""

    points: Floats
    corner: Floats

    @cached_property
    def volume(self) -> float:
        return volume(self.points, self.corner)

    @cached_property
    def figures(self) -> Floats:
        """The indicators of the reference set itself."""
        k = len(self.points)
        return measure(self.points, np.arange(k), np.full(k, k), self, np.array([k]))[0]

    @property
    def extremes(self) -> Floats:
        """The rows with the greatest value of each objective."""
        return self.points[self.points.argmax(axis=0)]


def measure(points: Floats, entered: Ints, until: Ints, by: Yardstick, moments: Ints) -> Floats:
    """(moments, indicators): of the front of a study's first `moments` rows.

    points (k, m): those that enter the front, in order; entered, until (k,): the rows at which each enters and leaves.
    """
    made, back = np.unique(np.searchsorted(entered, moments), return_inverse=True)  # how many had entered by then
    k, m = points.shape
    gone = np.searchsorted(entered, until)  # as places among those that enter
    place = np.arange(k)
    alive: Bools = (place[None, :] < made[:, None]) & (gone[None, :] >= made[:, None])
    out = np.full((len(made), len(INDICATORS)), np.nan)
    column = {name: out[:, j] for j, name in enumerate(INDICATORS)}
    column["non_dominated"][:] = alive.sum(axis=1)
    plus, worst = np.full(len(by.points), np.inf), np.full(len(by.points), np.inf)
    near = _nearest(points, by.points)
    gained = np.append(0.0, np.cumsum(staircase(points, by.corner)[0])) if m == 2 else None
    order = np.lexsort(points.T[::-1])
    before = 0
    for i, (count, here) in enumerate(zip(made.tolist(), alive, strict=True)):
        rows = order[here[order]]  # sorted, as Deb's spread wants it
        front = points[rows]
        column["hypervolume"][i] = volume(front, by.corner) if gained is None else gained[count]
        # a point that leaves is dominated by one that stays, which is as near: minima over all that entered will do
        for start in range(before, count, max(1, PAIRS // max(1, by.points.size))):
            away = points[start : min(count, start + PAIRS // by.points.size), None, :] - by.points[None]
            plus = np.minimum(plus, distances(np.maximum(away, 0.0)).min(axis=0))
            worst = np.minimum(worst, away.max(axis=2).min(axis=0))
        before = count
        column["igd_plus"][i], column["additive_epsilon"][i] = plus.mean(), worst.max()
        column["igd"][i] = _inverted(front, by.points)
        if count:
            column["gd"][i] = near[rows].mean()
        if m == 2:
            column["r2"][i] = r2(front, (0.0, 0.0))
            column["spread"][i] = spread(front, by.points)
        column["generalised_spread"][i] = _generalised(front, by)
    column["hypervolume_ratio"][:] = column["hypervolume"] / by.volume if by.volume > 0 else np.nan
    return out[back]


def _nearest(points: Floats, reference: Floats) -> Floats:
    """The distance of each point to the nearest of the reference set."""
    from scipy.spatial.distance import cdist

    step = max(1, PAIRS // max(1, len(reference)))
    parts = [cdist(points[i : i + step], reference).min(axis=1) for i in range(0, len(points), step)]
    return np.concatenate([np.zeros(0), *parts])


def _inverted(front: Floats, reference: Floats) -> float:
    return float(_nearest(reference, front).mean()) if len(front) else np.inf


def _generalised(front: Floats, by: Yardstick) -> float:
    """Generalised spread; with two objectives the nearest of a sorted front is one of its two neighbours."""
    if front.shape[1] > 2 or len(front) < 2:
        return generalised_spread(front, by.points)
    gaps = distances(np.diff(front, axis=0))
    nearest = np.minimum(np.append(gaps, np.inf), np.append(np.inf, gaps))
    ends = sum(float(distances(front - end).min()) for end in by.extremes)
    return uneven(nearest, ends)
