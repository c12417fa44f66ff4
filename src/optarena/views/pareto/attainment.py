"""Empirical attainment: which part of the objective space how many runs reach. Two or three objectives.

See docs/scores.md 3.12.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from optarena.errors import OptarenaError
from optarena.staircase import HUGE
from optarena.traces import Floats, Ints
from optarena.views.pareto.domination import as_points


def attainment(points: npt.ArrayLike, runs: npt.ArrayLike, percentiles: Sequence[float] = ()) -> Floats:
    """Rows (f_1 … f_m, percentile): the surface that at least so many per cent of the runs attain; all by default.

    runs: the run of each point. A run without points is not known here: see `surface`. See docs/scores.md 3.12.
    """
    x = _drawable(as_points(points))
    sets = np.asarray(runs)
    if sets.shape != (len(x),):
        raise OptarenaError(f"{len(x)} points need one run each; got the shape {sets.shape}")
    if not len(x):
        return np.zeros((0, x.shape[1] + 1))
    from moocore import eaf

    order = np.argsort(sets, kind="stable")
    return np.asarray(eaf(x[order], sets[order], percentiles=list(percentiles)), dtype=float)


def surface(fronts: Sequence[npt.ArrayLike], count: int) -> Floats:
    """The points of the surface that at least `count` of the fronts attain, sorted; none if fewer can.

    See docs/scores.md 3.12.
    """
    parts = [as_points(front) for front in fronts]
    full = [part for part in parts if len(part)]
    if not 1 <= count <= len(full):
        return np.zeros((0, parts[0].shape[1] if parts else 2))
    x, runs = _labelled(full)
    # half a run less: the percentile then rounds up to this count
    found = attainment(x, runs, [100 * (count - 0.5) / len(full)])[:, :-1]
    return np.unique(found, axis=0)


def attainment_difference(first: Sequence[npt.ArrayLike], second: Sequence[npt.ArrayLike]) -> Floats:
    """Rows (left, bottom, right, top, difference): by how much the part of the first's runs that attain a rectangle
    exceeds that of the second's; two objectives. Rectangles without difference are left out; they may be endless.
    See docs/scores.md 3.12.
    """
    sides = [[as_points(front, width=2) for front in fronts] for fronts in (first, second)]
    if any(part.shape[1] != 2 for side in sides for part in side):
        raise OptarenaError("differences of attainment are for two objectives")
    if not all(any(len(part) for part in side) for side in sides):
        raise OptarenaError("differences of attainment need a front on either side")
    from moocore import eafdiff

    counts = [len(side) for side in sides]
    both = math.lcm(*counts)  # moocore counts sets: each run as often as makes the sides equal
    tables = []
    for side, count in zip(sides, counts, strict=True):
        # a run without a front attains nothing that is seen: its point lies far away
        parts = [part if len(part) else np.full((1, 2), HUGE) for part in side]
        tables.append(np.column_stack(_labelled([part for part in parts for _ in range(both // count)])))
    rows = np.asarray(eafdiff(*tables, rectangles=True), dtype=float)
    rows[:, 4] /= both
    rows = rows[(rows[:, 4] != 0) & (rows[:, :2] < HUGE).all(axis=1)]
    return np.where(rows >= HUGE, np.inf, rows)


def attained(fronts: Sequence[Floats], places: Floats) -> Floats:
    """[x, y]: the share of the runs that attain each place of a raster; two objectives (docs/scores.md 3.12).

    places: (n, 2), the coordinates of its columns and of its rows.
    """
    count = np.zeros((len(places), len(places)))
    for front in fronts:
        if len(front):
            ordered = front[np.argsort(front[:, 0])]
            at = np.searchsorted(ordered[:, 0], places[:, 0], side="right") - 1
            level = np.where(at >= 0, np.minimum.accumulate(ordered[:, 1])[np.maximum(at, 0)], np.inf)
            count += level[:, None] <= places[None, :, 1]
    return count / len(fronts)


def _labelled(fronts: Sequence[Floats]) -> tuple[Floats, Ints]:
    return np.concatenate(fronts), np.repeat(np.arange(1, len(fronts) + 1), [len(front) for front in fronts])


def _drawable(x: Floats) -> Floats:
    if x.shape[1] not in (2, 3) and len(x):
        raise OptarenaError(f"attainment surfaces are for two or three objectives, got {x.shape[1]}")
    return x
