"""The rows that `.dat` and `.tdat` have of the same runs, merged: for all runs of a data file at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from optarena.formats._coco_text import BlockOfNumbers
from optarena.traces import Floats, Ints, cumulative_minimum


@dataclass(frozen=True)
class MergedRows:
    """The rows of one run: those of the `.dat`, then those of the `.tdat`."""

    rows: Floats
    """Their first columns, up to that of the values."""
    evaluation: Ints
    values: Floats
    """inf where a row has none."""
    kept: Ints
    """Which rows improve on all before them, in the order of evaluations; of several at one evaluation, the best."""
    invalid: int
    """How many rows have no value."""
    disagreement: int | None
    """The first evaluation at which the two files differ."""


def merged(blocks: Sequence[BlockOfNumbers], timed: Sequence[BlockOfNumbers], column: int) -> list[MergedRows]:
    """The merged rows of each run; `column` has the values. timed: of the same runs, or none."""
    if not blocks:
        return []
    parts = [block.numbers[:, : column + 1] for block in [*blocks, *timed]]
    run = np.repeat(np.arange(len(parts)) % len(blocks), [len(part) for part in parts])
    by_run = np.argsort(run, kind="stable")
    rows, run = np.concatenate(parts)[by_run], run[by_run]
    offsets = np.searchsorted(run, np.arange(len(blocks) + 1))
    evaluation, values = rows[:, 0].astype(np.int64), rows[:, column]
    invalid = np.isnan(values) | (values == -np.inf)
    values = np.where(invalid, np.inf, values)
    order = np.lexsort((values, evaluation, run))
    k, ordered = evaluation[order], values[order]
    with np.errstate(invalid="ignore"):
        apart = (k[1:] == k[:-1]) & (ordered[1:] - ordered[:-1] > 1e-6 * np.abs(ordered[:-1]) + 1e-14)
    apart &= run[1:] == run[:-1]
    before = np.append(np.inf, cumulative_minimum(ordered, offsets))[:-1]
    before[offsets[:-1][np.diff(offsets) > 0]] = np.inf
    improves = np.flatnonzero(ordered < before)
    ends = np.searchsorted(improves, offsets).tolist()
    any_apart, any_invalid = apart.any(), invalid.any()
    out = []
    for i, (low, high) in enumerate(pairwise(offsets.tolist())):
        where = slice(low, high)
        differ = np.flatnonzero(apart[low : max(low, high - 1)]) if any_apart else np.zeros(0, dtype=np.int64)
        out.append(
            MergedRows(
                rows=rows[where],
                evaluation=evaluation[where],
                values=values[where],
                kept=order[improves[ends[i] : ends[i + 1]]] - low,
                invalid=int(invalid[where].sum()) if any_invalid else 0,
                disagreement=int(k[low + 1 + differ[0]]) if len(differ) else None,
            )
        )
    return out
