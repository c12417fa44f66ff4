"""Every indicator of one study's front, at chosen moments; points are normalised by the frame.

The front changes only when a point enters: it is measured once for each number of points that had entered.
See docs/scores.md 3.5 to 3.9.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from optarena.traces import Floats, Ints
from optarena.views.pareto.anytime import history
from optarena.views.pareto.indicators import distances, generalised_spread_of, hypervolume, r2, spread_of
from optarena.views.pareto.nearness import figure, nearness

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
NEVER_NEGATIVE = ("hypervolume", "hypervolume_ratio", "igd_plus", "igd", "gd")
EXACT_UP_TO = 6
"""Objectives: with more, hypervolumes are approximated."""


@dataclass
class Yardstick:
    """What the fronts of a problem are measured with: a normalised reference set and reference point."""

    points: Floats
    corner: Floats

    @cached_property
    def volume(self) -> float:
        return self.volume_of(self.points)

    def volume_of(self, front: Floats) -> float:
        """The hypervolume; approximated, deterministically, for more than six objectives (docs/scores.md 3.5)."""
        return hypervolume(front, self.corner, exact=len(self.corner) <= EXACT_UP_TO)

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
    entered, until, gained = history(points, by.corner)
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
        figures["hypervolume"] = by.volume_of(front) if gained is None else float(gained[count])
        figures["hypervolume_ratio"] = figures["hypervolume"] / by.volume if by.volume > 0 else np.nan
        figures["gd"] = float(figure("distance", near[rows]))
        figures["r2"] = r2(front, (0.0, 0.0)) if two else np.nan
        out[i] = [figures[name] for name in INDICATORS]
    return out[back]


def _figures(front: Floats, by: Yardstick) -> dict[str, float]:
    """What a sorted front alone tells."""
    near = nearness(front, by.points)
    return {
        "igd_plus": float(figure("plus", near.plus)),
        "igd": float(figure("distance", near.distance)),
        "additive_epsilon": float(figure("epsilon", near.epsilon)),
        "spread": spread_of(front, by.points[[0, -1]]) if front.shape[1] == 2 else np.nan,
        "generalised_spread": generalised_spread_of(front, by.extremes, _neighbours(front)),
        "non_dominated": float(len(front)),
    }


def _neighbours(front: Floats) -> Floats | None:
    """With two objectives the nearest neighbour in a sorted front is the one before or after."""
    if front.shape[1] > 2:
        return None
    gaps = distances(np.diff(front, axis=0))
    return np.minimum(np.append(gaps, np.inf), np.append(np.inf, gaps))
