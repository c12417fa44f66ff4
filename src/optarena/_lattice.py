"""Evenly spaced points of the simplex: directions of fronts, and weights of objectives."""

from __future__ import annotations

import math

import numpy as np

from optarena.space import Array


def lattice(m: int, at_most: int) -> Array:
    """Points of the simplex, Σ = 1, with i/p as coordinates (Das & Dennis 1998): the largest p with so many points.

    There are m at least.
    """
    p = 1
    while math.comb(p + m, m - 1) <= at_most:
        p += 1
    return _compositions(m, p) / p


def _compositions(m: int, p: int) -> Array:
    """All rows of m whole numbers >= 0 whose sum is p."""
    if m == 1:
        return np.array([[float(p)]])
    return np.vstack([np.insert(_compositions(m - 1, p - first), 0, float(first), axis=1) for first in range(p + 1)])
