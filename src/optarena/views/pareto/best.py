"""The best found on each problem with several objectives: the points of all studies that no other point dominates."""

from __future__ import annotations

from typing import Any

import numpy as np

from optarena.dataset import Dataset
from optarena.views.pareto.domination import non_dominated


def best_points(results: Dataset) -> list[dict[str, Any]]:
    """A row for each such point, feasible and finite, by problem and then by objectives; whoever was first is named.

    `values` are in the objectives' own senses, by name. Points that were not recorded have no parameters.
    """
    traces = results.traces()
    owner = np.repeat(np.arange(len(traces.offsets) - 1), np.diff(traces.offsets))
    cards = results.cards
    studies = results.studies
    out = []
    for problem in sorted({card.id for card in cards if len(card.objectives) > 1}):
        mine = np.array([card.id == problem for card in cards], dtype=bool)
        objectives = next(card.objectives for card in cards if card.id == problem)
        m = len(objectives)
        mine &= np.array([len(card.objectives) == m for card in cards], dtype=bool)
        rows = np.flatnonzero(mine[owner] & traces.feasible)
        rows = rows[np.isfinite(traces.values[rows, :m]).all(axis=1)]
        if not len(rows):
            continue
        rows = rows[np.argsort(traces.evaluation[rows], kind="stable")]
        values = traces.values[rows, :m]
        kept = non_dominated(values)
        rows, values = rows[kept], values[kept]
        order = np.lexsort(values.T[::-1])
        signs = np.array([objective.sign for objective in objectives])
        points = results.parameters(rows[order])
        for row, value, point in zip(rows[order].tolist(), (values[order] * signs + 0.0).tolist(), points, strict=True):
            study = studies.row(int(owner[row]), named=True)
            out.append(
                {
                    "problem": problem,
                    "values": dict(zip([objective.name for objective in objectives], value, strict=True)),
                    "optimizer": study["optimizer"],
                    "trial": study["trial"],
                    "evaluation": int(traces.evaluation[row]),
                    "study": study["study"],
                    "parameters": dict(zip(cards[int(owner[row])].space, point, strict=False)),
                }
            )
    return out
