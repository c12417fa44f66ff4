"""Pools: every evaluation of some studies, at 8 bytes per number; baselines are made of those of random search."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from optarena.store.columns import Columns
from optarena.traces import Floats, Ints


class Pool(NamedTuple):
    """Every evaluation of some studies, in their order: the value, a metric's value, and the study's place."""

    visible: Floats
    """Minimised; inf where the evaluation failed, violates a constraint, or is -inf."""
    values: Floats
    study: npt.NDArray[np.int32]


def pool_of(pieces: Iterable[Columns], owners: Callable[[Columns], Ints], last: Ints, metric: str | None) -> Pool:
    """The pool of some studies of one objective.

    owners: the study of each attempt of a piece, or -1; last: the last evaluation of each study.
    """
    parts: list[tuple[float, Ints, Pool]] = []
    for rows in pieces:
        study = owners(rows)[rows.owner].astype(np.int32)
        mine = np.flatnonzero((study >= 0) & ~rows.counts_only & (rows.evaluation <= last[study]))
        if len(mine):
            found = _pooled(rows, mine, metric)
            parts.append((rows.headers[0].time, rows.evaluation[mine], Pool(*found, study[mine])))
    if not parts:
        return Pool(np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int32))
    parts.sort(key=lambda part: part[0])  # of rows that contradict each other the first that was written counts
    evaluation = np.concatenate([at for _, at, _ in parts])
    visible, study = (np.concatenate([part[i] for _, _, part in parts]) for i in (0, 2))
    values = visible if metric is None else np.concatenate([part.values for _, _, part in parts])
    order = np.lexsort((evaluation, study))
    again = (np.diff(evaluation[order]) == 0) & (np.diff(study[order]) == 0)
    order = order[np.append(True, ~again)]
    visible = visible[order]
    return Pool(visible, visible if metric is None else values[order], study[order])


def _pooled(rows: Columns, mine: Ints, metric: str | None) -> tuple[Floats, Floats]:
    """The value and a metric of some rows, minimised, inf where they do not count."""
    used, owner = np.unique(rows.owner[mine], return_inverse=True)
    cards = [rows.attempts[i].card for i in used.tolist()]
    sign = np.array([card.objectives[0].sign for card in cards])[owner]
    y = rows.values[mine, 0] * sign + 0.0  # no -0
    fine = (rows.status[mine] == 0) & rows.feasible[mine] & (y > -np.inf)
    visible = np.where(fine, y, np.inf)
    if metric is None:
        return visible, visible
    at = np.array([place_of(card.metrics, metric) for card in cards], dtype=np.int64)[owner]
    known = (at >= 0) & (at < rows.metrics.shape[1])
    h = np.full(len(mine), np.nan)
    h[known] = rows.metrics[mine[known], at[known]] * sign[known]
    return visible, np.where(fine & (h > -np.inf), h, np.inf)


def place_of(names: tuple[str, ...], name: str) -> int:
    return list(names).index(name) if name in names else -1
