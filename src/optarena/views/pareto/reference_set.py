"""What fronts are measured against when the true front is not known (SCORES 3, "Reference set")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from optarena.errors import OptarenaError, nearest
from optarena.traces import Bools, Floats, Ints
from optarena.views.pareto.domination import (
    as_points,
    crowding_order,
    domination_count,
    non_dominated,
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
    parts = [as_points(front, "a front") for front in fronts if len(np.asarray(front))]
    if not parts:
        raise OptarenaError("there is no front to make a reference set of")
    size = max(len(part) for part in parts) if n is None else n
    points = np.concatenate(parts)
    chosen = None
    if decisions is not None:
        pairs = zip(decisions, fronts, strict=True)
        chosen = [np.asarray(rows, dtype=object) for rows, front in pairs if len(np.asarray(front))]
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
    """Drop the row with the least room, again and again; of equal ones the lexicographically last."""
    while len(points) > size:
        points = np.delete(points, crowding_order(points)[-1], axis=0)
    return points


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
    if epsilon is None:
        if decisions is None:
            return np.unique(points, axis=0)
        first = _first_of_equal(decisions)
        return points[first]
    rows = points.astype(object) if decisions is None else decisions
    numeric = np.array(
        [all(isinstance(cell, (int, float)) and not isinstance(cell, bool) for cell in column) for column in rows.T]
    )
    numbers = rows[:, numeric].astype(float)
    texts = [tuple(map(str, row)) for row in rows[:, ~numeric].tolist()]
    eps = np.broadcast_to(np.asarray(epsilon, dtype=float), (numbers.shape[1],))
    # greedily in lexicographic order; a point that its near-duplicate dominates goes first
    order = np.lexsort(numbers.T[::-1]) if numbers.shape[1] else np.arange(len(points))
    kept: list[int] = []
    for i in order.tolist():
        near = [j for j in kept if texts[j] == texts[i] and (np.abs(numbers[j] - numbers[i]) <= eps).all()]
        if not near:
            kept.append(i)
        elif all(_dominates(points[i], points[j]) for j in near):
            kept = [j for j in kept if j not in near]
            kept.append(i)
    return points[np.array(sorted(kept), dtype=np.int64)]


def _first_of_equal(decisions: Any) -> Bools:
    seen: set[tuple[str, ...]] = set()
    out = np.zeros(len(decisions), dtype=bool)
    for i, row in enumerate(decisions.tolist()):
        key = tuple(map(repr, row))
        out[i] = key not in seen
        seen.add(key)
    return out


def _dominates(a: Floats, b: Floats) -> bool:
    return bool((a <= b).all() and (a < b).any())


def _sorted(points: Floats) -> Floats:
    return points[np.lexsort(points.T[::-1])]
