"""Every indicator of one study's front, at chosen moments; points are normalised by the frame.

The front changes only when a point enters: it is measured once for each number of points that had entered.
See docs/scores.md 3.5 to 3.9.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from optarena.staircase import entering, staircase
from optarena.traces import Floats, Ints
from optarena.views.pareto.anytime import lifetimes
from optarena.views.pareto.indicators import distances, generalised_spread, hypervolume, r2, uneven
from optarena.views.pareto.nearness import nearness

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
        """The indicators of the reference set itself (docs/scores.md 3.5)."""
        return measure(self.points, self, np.array([len(self.points)]))[0]

    @cached_property
    def extremes(self) -> Floats:
        """The rows with the greatest value of each objective."""
        return self.points[self.points.argmax(axis=0)]


def measure(points: Floats, by: Yardstick, moments: Ints) -> Floats:
    """(moments, indicators): of the front of the first so many of the points, which are in the order they were made."""
    entered, until, gained = _history(points, by.corner)
    made, back = np.unique(np.searchsorted(entered, moments), return_inverse=True)  # how many had entered by then
    points, two = points[entered], points.shape[1] == 2
    place = np.arange(len(entered))
    order = np.lexsort(points.T[::-1])
    near = nearness(by.points, points).distance
    out = np.full((len(made), len(INDICATORS)), np.nan)
    for i, count in enumerate(made.tolist()):
        rows = order[((place < count) & (until >= count))[order]]
        front = points[rows]
        figures = _figures(front, by)
        figures["hypervolume"] = volume(front, by.corner) if gained is None else float(gained[count])
        figures["hypervolume_ratio"] = figures["hypervolume"] / by.volume if by.volume > 0 else np.nan
        figures["gd"] = near[rows].mean() if count else np.nan
        figures["r2"] = r2(front, (0.0, 0.0)) if two else np.nan
        out[i] = [figures[name] for name in INDICATORS]
    return out[back]


def _history(points: Floats, corner: Floats) -> tuple[Ints, Ints, Floats | None]:
    """The rows that enter the front; the place among them of the one that drives each out; with two objectives also
    the hypervolume when so many have entered."""
    if points.shape[1] == 2:
        entered = entering(points)
        gain, until = staircase(points[entered], corner)
        return entered, until, np.append(0.0, np.cumsum(gain))
    entered, until = lifetimes(points)
    return entered, np.searchsorted(entered, until), None


def _figures(front: Floats, by: Yardstick) -> dict[str, float]:
    """What a sorted front alone tells."""
    near = nearness(front, by.points)
    spread, generalised = _spreads(front, by)
    return {
        "igd_plus": float(near.plus.mean()),
        "igd": float(near.distance.mean()),
        "additive_epsilon": float(near.epsilon.max()),
        "spread": spread,
        "generalised_spread": generalised,
        "non_dominated": float(len(front)),
    }


def _spreads(front: Floats, by: Yardstick) -> tuple[float, float]:
    """Deb's and the generalised spread; with two objectives the nearest of a sorted front is one of its neighbours.

    See docs/scores.md 3.9.
    """
    if len(front) < 2:
        return np.nan, np.nan
    if front.shape[1] > 2:
        return np.nan, generalised_spread(front, by.points)
    gaps = distances(np.diff(front, axis=0))
    nearest = np.minimum(np.append(gaps, np.inf), np.append(np.inf, gaps))
    ends = float(distances(front[[0, -1]] - by.points[[0, -1]]).sum())
    far = float(distances(front[None, :, :] - by.extremes[:, None, :]).min(axis=1).sum())
    return uneven(gaps, ends), uneven(nearest, far)
