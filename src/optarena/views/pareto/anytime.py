"""A front as it grows: its hypervolume after every evaluation, and how long each point stays in it.

>>> anytime_hypervolume([[2.0, 2.0], [3.0, 3.0], [1.0, 1.0]], [3.0, 3.0]).tolist()
[1.0, 1.0, 4.0]

See docs/scores.md 3.11.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from optarena.staircase import entering, staircase
from optarena.traces import Floats, Ints
from optarena.views.pareto.domination import as_points, dominating
from optarena.views.pareto.indicators import with_reference

CELLS = 20_000
"""Of a grid that is filled at once: more would not fit into a processor's cache."""
PAIRS = 4_000_000


def anytime_hypervolume(points: npt.ArrayLike, reference: npt.ArrayLike) -> Floats:
    """The hypervolume of the first k points, for every k (docs/scores.md 3.11).

    Two objectives: a sorted staircase. Three: the space is cut into cells, and for each the time is found from which it
    is dominated. More: an accepted point p adds its box less what the archive already has of it, HV({max(a, p)}).
    """
    x, ref = with_reference(points, reference)
    if x.shape[1] == 1:
        return np.maximum(ref[0] - np.minimum.accumulate(x[:, 0]), 0.0) if len(x) else np.zeros(0)
    gain = np.zeros(len(x))
    rows = np.flatnonzero((x < ref).all(axis=1))
    endless = rows[np.isinf(x[rows]).any(axis=1)][:1]  # from there on it is infinite
    rows = rows[rows < endless[0]] if len(endless) else rows
    rows = rows[entering(x[rows])]
    gain[endless] = np.inf
    with np.errstate(over="ignore", invalid="ignore"):
        if x.shape[1] == 2:
            gain[rows] = staircase(x[rows], ref)[0]
        elif x.shape[1] == 3:
            _fill(x[rows], rows, ref, gain)
        else:
            gain[rows] = _boxes(x[rows], ref)
        return np.cumsum(gain)


def lifetimes(points: npt.ArrayLike) -> tuple[Ints, Ints]:
    """The rows that enter the front, and for each the row that drives it out; the number of rows where none does.

    Of equal rows the first is in the front. The front of the first k rows is `rows[(rows < k) & (until >= k)]`.
    See docs/scores.md 3.11.
    """
    x = as_points(points)
    rows, until, _ = history(x, np.zeros(x.shape[1]))
    return rows, np.append(rows, len(x))[until]


def history(x: Floats, reference: Floats) -> tuple[Ints, Ints, Floats | None]:
    """The rows that enter the front; the place among them of the one that drives each out; the hypervolume when so many
    have entered, from 0 on, with two objectives, where one staircase tells both (docs/scores.md 3.11)."""
    rows = entering(x)
    kept, n = x[rows], len(rows)
    if x.shape[1] == 2:
        gain, until = staircase(kept, reference)
        return rows, until, np.append(0.0, np.cumsum(gain))
    until = np.full(n, n)
    step = max(1, PAIRS // max(1, kept.size))
    for start in range(0, n, step):
        part = slice(start, start + step)
        better = dominating(kept[None], kept[part, None])  # no earlier row does, so the first that does comes later
        until[part] = np.where(better.any(axis=1), better.argmax(axis=1), n)
    return rows, until, None


def _fill(x: Floats, when: Ints, upper: Floats, gain: Floats) -> None:
    """Add to gain[k] the volume below `upper` that row k is the first to dominate.

    No row is as good as one after it. Where the grid of all coordinates is small, every cell gets the least time of
    what dominates it; else the space is halved, and in the upper half fewer rows tell anything new.
    """
    if not len(x):
        return
    axes = [np.unique(column) for column in x.T]
    sizes = [len(axis) for axis in axes]
    if np.prod(sizes, dtype=float) <= CELLS:
        first = np.full(sizes, len(gain))
        first[tuple(np.searchsorted(axis, column) for axis, column in zip(axes, x.T, strict=True))] = when
        volume = np.ones(())
        for j, axis in enumerate(axes):
            np.minimum.accumulate(first, axis=j, out=first)
            volume = np.multiply.outer(volume, np.diff(np.append(axis, upper[j])))
        gain += np.bincount(first.ravel(), weights=volume.ravel(), minlength=len(gain) + 1)[:-1]
        return
    j = int(np.argmax(sizes))
    cut = axes[j][sizes[j] // 2]
    below = x[:, j] < cut
    corner = upper.copy()
    corner[j] = cut
    _fill(x[below], when[below], corner, gain)
    above = x.copy()
    np.maximum(above[:, j], cut, out=above[:, j])
    rows = entering(above)
    _fill(above[rows], when[rows], upper, gain)


def _boxes(x: Floats, ref: Floats) -> Floats:
    """What each of the points adds, all of which enter the front."""
    from moocore import hypervolume as exact

    gain = np.zeros(len(x))
    archive = np.empty((64, x.shape[1]))
    size = 0
    for i, p in enumerate(x):
        known = archive[:size]
        box = float(np.prod(ref - p))
        if size:
            limited = np.maximum(known, p)
            limited = limited[(limited < ref).all(axis=1)]
            if len(limited):
                box -= float(exact(limited, ref=ref))
            keep = (known < p).any(axis=1)
            if not keep.all():
                size = int(keep.sum())
                archive[:size] = known[keep]
        if size == len(archive):
            archive = np.concatenate((archive, np.empty_like(archive)))
        archive[size] = p
        size += 1
        gain[i] = max(box, 0.0)  # rounding must not make it fall
    return gain
