"""What fronts are measured against when the true front is not known (SCORES 3, "Reference set")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from optarena.errors import OptarenaError, nearest
from optarena.traces import Floats, Ints
from optarena.views.pareto.domination import (
    as_points,
    crowding_order,
    difference,
    domination_count,
    non_dominated,
    relative,
    room,
    total_loss,
)

MODES = ("crowding", "bdom-count", "cdom")


def reference_set(
    fronts: Sequence[npt.ArrayLike],
    n: int | None = None,
    mode: str = "crowding",
    epsilon: npt.ArrayLike | None = None,
    decisions: Sequence[npt.ArrayLike] | None = None,
) -> Floats:
    """At most n points of the union of fronts, duplicates removed, rows in lexicographic order.

    n: by default the size of the largest front. mode: `crowding` (non-dominated, then the most crowded dropped one by
    one), `bdom-count` (the highest domination counts, then the most room), `cdom` (the least total loss). epsilon:
    points whose numeric decisions differ by no more than this, and whose categories are equal, are duplicates; without
    decisions it is applied to the objectives. Modes other than crowding can keep dominated points: see `dominated_in`.
    """
    if mode not in MODES:
        raise OptarenaError(
            f"the mode of a reference set is one of {', '.join(MODES)}; got {mode!r}.{nearest(mode, MODES)}"
        )
    parts = [as_points(front, "a front") for front in fronts]
    full = [part for part in parts if len(part)]
    if not full and parts:
        return parts[0]
    if not full:
        raise OptarenaError("there is no front to make a reference set of")
    if n is not None and n < 1:
        raise OptarenaError(f"a reference set has at least 1 point; got n = {n}")
    size = max(len(part) for part in full) if n is None else n
    points = np.concatenate(full)
    chosen = None
    if decisions is not None:
        pairs = zip(decisions, parts, strict=True)
        chosen = [np.asarray(rows, dtype=object).reshape(len(part), -1) for rows, part in pairs if len(part)]
    points = _without_duplicates(points, None if chosen is None else np.concatenate(chosen), epsilon)
    kept = points[non_dominated(points, keep_duplicates=True)]
    if len(kept) <= size:  # the seed's first branch: fewer than n non-dominated
        return _sorted(kept)
    if mode == "crowding":
        return _sorted(_thinned(_sorted(kept), size))
    points = _sorted(points)
    if mode == "cdom":
        loss = total_loss(points, points.min(axis=0), points.max(axis=0))
        return _sorted(points[np.argsort(loss, kind="stable")[:size]])
    return _sorted(points[_by_count(points, size)])


def dominated_in(points: npt.ArrayLike) -> int:
    """How many rows another row dominates."""
    return int((~non_dominated(points, keep_duplicates=True)).sum())


def _thinned(points: Floats, size: int) -> Floats:
    """Drop the row with the least room, again and again; of equal ones the lexicographically last.

    A drop changes the gaps of the row's neighbours alone, and never the range, as rows at the ends have endless room.
    """
    n, m = points.shape
    before, after = np.full((n, m), -1), np.full((n, m), -1)
    width = np.zeros(m)
    for j in range(m):
        order = np.argsort(points[:, j], kind="stable")
        before[order[1:], j], after[order[:-1], j] = order[:-1], order[1:]
        width[j] = difference(points[order[-1:], j], points[order[:1], j])[0]
    product, total = room(points)
    alive = np.ones(n, dtype=bool)
    for left in range(n, size, -1):
        least = product[alive].min() if left else np.inf
        if np.isinf(least):  # only ends are left
            rest = points[alive]
            return rest[np.sort(crowding_order(rest)[:size])]
        ties = np.flatnonzero(alive & (product == least))
        if least == 0:
            ties = ties[total[ties] == total[ties].min()]
        gone = ties[-1]
        alive[gone] = False
        for j in range(m):
            a, b = before[gone, j], after[gone, j]
            after[a, j], before[b, j] = b, a
        for i in {int(i) for i in (*before[gone], *after[gone])}:
            if (before[i] >= 0).all() and (after[i] >= 0).all():
                gap = [
                    relative(difference(points[after[i, j], j], points[before[i, j], j]), width[j]) for j in range(m)
                ]
                product[i], total[i] = np.prod(gap), np.sum(gap)
    return points[alive]


def _by_count(points: Floats, size: int) -> Ints:
    """The rows with the highest domination counts; of the group that does not fit whole, those with the most room."""
    counts = domination_count(points)
    chosen: list[int] = []
    for count in np.unique(counts)[::-1].tolist():
        group = np.flatnonzero(counts == count)
        room = size - len(chosen)
        if len(group) <= room:
            chosen.extend(group.tolist())
        else:
            chosen.extend(group[crowding_order(points[group])[:room]].tolist())
        if len(chosen) >= size:
            break
    return np.array(chosen, dtype=np.int64)


def _without_duplicates(points: Floats, decisions: Any, epsilon: npt.ArrayLike | None) -> Floats:
    """Without rows that repeat another's decisions (objectives, where there are none), exactly or within epsilon."""
    if decisions is None:
        if epsilon is None:
            return np.unique(points, axis=0)
        numbers, labels = points, np.zeros((len(points), 0), dtype=np.int64)
    else:
        numbers, labels = _parted(decisions)
    eps = np.zeros(numbers.shape[1]) if epsilon is None else np.asarray(epsilon, dtype=float)
    if eps.ndim and len(eps) != numbers.shape[1]:
        raise OptarenaError(
            f"epsilon has {len(eps)} numbers, the points have {numbers.shape[1]} numeric "
            f"{'objectives' if decisions is None else 'decisions'}"
        )
    # lexicographic: by decisions, then by objectives, so that the order in which fronts come does not matter
    order = np.lexsort((*points.T[::-1], *labels.T[::-1], *numbers.T[::-1]))
    points, numbers, labels = points[order], numbers[order], labels[order]

    def near(i: int, rows: Ints) -> Ints:
        close = (np.abs(difference(numbers[rows], numbers[i])) <= eps).all(axis=1)
        return rows[close & (labels[rows] == labels[i]).all(axis=1)]

    everyone = np.arange(len(points))
    kept = np.ones(len(points), dtype=bool)
    for i in everyone.tolist():  # what its near-duplicate dominates goes first
        others = points[near(i, everyone)]
        kept[i] = not ((others <= points[i]).all(axis=1) & (others < points[i]).any(axis=1)).any()
    for i in everyone.tolist():
        if kept[i]:
            rest = near(i, np.flatnonzero(kept))
            kept[rest[rest > i]] = False
    return points[kept]


def _parted(decisions: Any) -> tuple[Floats, Ints]:
    """Numeric decisions as numbers; categories, and numbers that are missing in some rows, as codes."""
    rows = np.asarray(decisions, dtype=object)
    numeric = [
        all(isinstance(cell, (int, float, np.number)) and not isinstance(cell, bool) for cell in column)
        for column in rows.T
    ]
    numbers = rows[:, numeric].astype(float)
    codes = [
        np.unique([repr(cell) for cell in column], return_inverse=True)[1]
        for column in rows[:, ~np.array(numeric, dtype=bool)].T
    ]
    return numbers, np.column_stack(codes) if codes else np.zeros((len(rows), 0), dtype=np.int64)


def _sorted(points: Floats) -> Floats:
    return points[np.lexsort(points.T[::-1])]
