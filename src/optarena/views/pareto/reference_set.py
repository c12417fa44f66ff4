"""What fronts are measured against when the true front is not known (docs/scores.md 3.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from optarena._losses import difference
from optarena.errors import OptarenaError, one_of
from optarena.traces import Floats, Ints
from optarena.views.pareto.domination import (
    as_points,
    crowding_order,
    dominating,
    domination_count,
    gap_shares,
    non_dominated,
    room,
    room_of_gaps,
    total_loss,
    width_of,
)

MODES = ("crowding", "bdom-count", "cdom")


def reference_set(
    fronts: Sequence[npt.ArrayLike],
    n: int | None = None,
    mode: str = "crowding",
    epsilon: npt.ArrayLike | None = None,
    decisions: Sequence[Any] | None = None,
) -> Floats:
    """At most n points of the union of fronts, duplicates removed, rows in lexicographic order.

    n: by default the size of the largest front. mode: `crowding` (non-dominated, then the most crowded dropped one by
    one), `bdom-count` (the highest domination counts, then the most room), `cdom` (the least total loss). epsilon:
    points whose numeric decisions differ by no more than this, and whose categories are equal, are duplicates; without
    decisions it is applied to the objectives. Modes other than crowding can keep dominated points: see `dominated_in`.
    See docs/scores.md 3.4.
    """
    return selected(fronts, n, mode, epsilon, decisions).points


class Selected(NamedTuple):
    """A reference set, and how it came about."""

    points: Floats
    union: int
    """How many points nothing dominates in the union, duplicates removed: with no more than `points`, all are in it."""
    near: int
    """How many points epsilon removed that no exact duplicate would have been."""

    @property
    def is_union(self) -> bool:
        """Whether there was nothing to select."""
        return self.union <= len(self.points)


def selected(
    fronts: Sequence[npt.ArrayLike],
    n: int | None = None,
    mode: str = "crowding",
    epsilon: npt.ArrayLike | None = None,
    decisions: Sequence[Any] | None = None,
) -> Selected:
    """What `reference_set` gives, with how it came about."""
    one_of("mode", mode, MODES)
    parts = [as_points(front, "a front") for front in fronts]
    full = [part for part in parts if len(part)]
    if not full and parts:
        return Selected(parts[0], 0, 0)
    if not full:
        raise OptarenaError("there is no front to make a reference set of")
    if n is not None and n < 1:
        raise OptarenaError(f"a reference set has at least 1 point; got n = {n}")
    size = max(len(part) for part in full) if n is None else n
    if len({part.shape[1] for part in full}) > 1:
        raise OptarenaError("the fronts differ in how many objectives they have")
    points = np.concatenate(full)
    chosen = None
    if decisions is not None:
        if [len(rows) for rows in decisions] != [len(part) for part in parts]:
            raise OptarenaError("decisions need a list for each front, with a row for each of its points")
        pairs = zip(decisions, parts, strict=True)
        chosen = [np.asarray(rows, dtype=object).reshape(len(part), -1) for rows, part in pairs if len(part)]
    rows = None if chosen is None else np.concatenate(chosen)
    every, points = points, _without_duplicates(points, rows, epsilon)
    near = 0 if epsilon is None else len(_without_duplicates(every, rows, None)) - len(points)
    kept = points[non_dominated(points, keep_duplicates=True)]
    if len(kept) <= size:  # in every mode (docs/scores.md 3.4, step 2)
        return Selected(_sorted(kept), len(kept), near)
    if mode == "crowding":
        return Selected(_sorted(_thinned(_sorted(kept), size)), len(kept), near)
    points = _sorted(points)
    if mode == "cdom":
        loss = total_loss(points, points.min(axis=0), points.max(axis=0))
        return Selected(_sorted(points[np.argsort(loss, kind="stable")[:size]]), len(kept), near)
    return Selected(_sorted(points[_by_count(points, size)]), len(kept), near)


def dominated_in(points: npt.ArrayLike) -> int:
    """How many rows another row dominates (docs/scores.md 3.4)."""
    return int((~non_dominated(points, keep_duplicates=True)).sum())


def _thinned(points: Floats, size: int) -> Floats:
    """Drop the row with the least room, again and again; of equal ones the lexicographically last.

    A drop changes the gaps of the row's neighbours alone, and never the range, as rows at the ends have endless room.
    """
    n, m = points.shape
    values = np.ascontiguousarray(points.T)
    before, after = np.full((m, n), -1), np.full((m, n), -1)  # of each objective: the row before each row, and after
    for j, column in enumerate(values):
        order = np.argsort(column, kind="stable")
        before[j, order[1:]], after[j, order[:-1]] = order[:-1], order[1:]
    widths = np.array([width_of(column) for column in values])[:, None]
    each = np.arange(m)
    product, total = room(points)
    gone = np.zeros(n, dtype=bool)
    for _ in range(n - size):
        least = product.min()
        if np.isinf(least):  # only ends are left
            rest = points[~gone]
            return rest[np.sort(crowding_order(rest)[:size])]
        ties = np.flatnonzero(product == least)
        if least == 0 and len(ties) > 1:
            ties = ties[total[ties] == total[ties].min()]
        row = int(ties[-1])
        gone[row], product[row] = True, np.inf
        low, high = before[:, row], after[:, row]
        after[each, low], before[each, high] = high, low
        near = np.concatenate((low, high))  # perhaps some twice
        near = near[(before[:, near] >= 0).all(axis=0) & (after[:, near] >= 0).all(axis=0)]  # ends keep endless room
        lower, upper = (values[each[:, None], side[:, near]] for side in (before, after))
        product[near], total[near] = room_of_gaps(gap_shares(lower, upper, widths))
    return points[~gone]


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
    if not (eps >= 0).all():
        raise OptarenaError(f"epsilon is a difference, 0 or more; got {eps.tolist()}")
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
        kept[i] = not dominating(points[near(i, everyone)], points[i]).any()
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
