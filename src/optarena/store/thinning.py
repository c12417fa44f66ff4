"""Fewer rows, the same scores: the rows that a score can depend on are kept, the others are only counted (`Tally`).

A row is kept if it improves on all before it of its study: in value, in a hidden metric, in its distance to the
optimum with what constraints are violated by, or by entering the front of several objectives. Failures are kept, values
that are not finite, the last row of a study, the least and the greatest value of each of several objectives (its
range), and all rows of studies that were imported with efforts or notes of their own. So memory follows improvements,
not evaluations.
"""

from __future__ import annotations

import copy

import numpy as np

from optarena.staircase import entering
from optarena.store.columns import Attempt, Block, Columns
from optarena.store.records import ProblemCard
from optarena.traces import Bools, Floats, Ints, cumulative_minimum, penalised, total_violation


def thinned(columns: Columns) -> Columns:
    """The same attempts with the rows that are kept; what the others say is counted before."""
    if columns.thin:
        return columns
    counted = columns.tally, columns.charged  # before the copy, which shares them
    out = copy.copy(columns)
    out.tally, out.charged = counted
    out.keep(np.flatnonzero(kept(columns, columns.attempts)))
    return out


def kept(block: Block, attempts: list[Attempt]) -> Bools:
    """(rows,): which rows of a block, sorted by attempt and evaluation, a score can depend on."""
    if not len(block.owner):
        return np.zeros(0, dtype=bool)
    bounds = block.bounds()
    lengths = np.diff(bounds)
    cards = [attempts[owner].card for owner in block.owner[bounds[:-1]].tolist()]
    made = ~block.counts_only
    feasible = block.feasible
    keep = block.status > 0
    single = np.array([len(card.objectives) == 1 for card in cards], dtype=bool)
    sign = np.array([card.objectives[0].sign for card in cards])
    if single.any():
        mine = np.repeat(single, lengths) & made
        y = block.values[:, 0] * np.repeat(sign, lengths)
        whole = mine & (block.status == 0) & ~np.isnan(y)
        fine = whole & feasible & np.isfinite(y)
        keep |= mine & feasible & ~fine
        keep |= _improves(y, fine, bounds)
        if block.metrics.shape[1]:
            keep |= _hidden(block, cards, np.repeat(sign, lengths), fine, bounds)
        if block.violations.shape[1]:
            keep |= _constrained(block, cards, y, whole, sign, bounds)
    for i in np.flatnonzero(~single).tolist():
        part = slice(int(bounds[i]), int(bounds[i + 1]))
        keep[part] |= _several(block, cards[i], part, feasible[part] & made[part] & (block.status[part] == 0))
    _keep_last(keep, made, bounds)
    for column in block.extras.values():
        _keep_all(keep, ~np.isnan(column), bounds)
    for notes in block.notes.values():
        _keep_all(keep, np.array([note is not None for note in notes.tolist()], dtype=bool), bounds)
    return keep & made


def _before(values: Floats, bounds: Ints) -> Floats:
    """The least value of the rows before, within each attempt."""
    least = cumulative_minimum(values, bounds)
    out = np.append(np.inf, least[:-1])
    out[bounds[:-1]] = np.inf
    return out


def _improves(values: Floats, counts: Bools, bounds: Ints) -> Bools:
    z = np.where(counts, values, np.inf)
    return z < _before(z, bounds)


def _hidden(block: Block, cards: list[ProblemCard], sign: Floats, fine: Bools, bounds: Ints) -> Bools:
    """Rows that improve a hidden metric, lack it, or tie the best value: the latest of those gives the metric."""
    number = np.repeat([len(card.metrics) for card in cards], np.diff(bounds))
    y = np.where(fine, block.values[:, 0] * sign, np.inf)
    out = fine & (number > 0) & (y == _before(y, bounds))
    for j in range(block.metrics.shape[1]):
        h = block.metrics[:, j] * sign
        has = fine & (number > j)
        out |= has & ~(h > -np.inf)
        out |= _improves(h, has & (h > -np.inf), bounds)
    return out


def _constrained(block: Block, cards: list[ProblemCard], y: Floats, whole: Bools, sign: Floats, bounds: Ints) -> Bools:
    """Rows that improve the distance to the optimum with what constraints are violated by, as COCO counts it."""
    told = [card.known.optimum[0] if card.constraints and card.known.optimum else np.nan for card in cards]
    optimum = np.repeat(np.array(told, dtype=float) * sign, np.diff(bounds))
    distance = penalised(y - optimum, total_violation(block.violations))
    return _improves(distance, whole & ~np.isnan(distance), bounds)


def _several(block: Block, card: ProblemCard, part: slice, counts: Bools) -> Bools:
    """Rows of one study that enter its front, have a greatest value, a new metric, or one that is not finite."""
    m = len(card.objectives)
    values = block.values[part, :m] * np.array([objective.sign for objective in card.objectives])
    finite = np.isfinite(values).all(axis=1)
    out = counts & ~finite
    good = np.flatnonzero(counts & finite)
    if not len(good):
        return out
    out[good[entering(values[good])]] = True
    for column in [*-values[good].T, *block.metrics[part][good, : len(card.metrics)].T]:
        for x in (column, -column):
            z = np.where(np.isnan(x), np.inf, x)
            out[good[z < np.append(np.inf, np.minimum.accumulate(z)[:-1])]] = True
    return out


def _keep_last(keep: Bools, made: Bools, bounds: Ints) -> None:
    """Keep the last evaluation of each attempt."""
    rows = np.flatnonzero(made)
    at = np.searchsorted(rows, bounds[1:]) - 1
    some = (at >= 0) & (np.append(rows, 0)[at] >= bounds[:-1])
    keep[rows[at[some]]] = True


def _keep_all(keep: Bools, told: Bools, bounds: Ints) -> None:
    """Keep all rows of the attempts that have one of these."""
    any_told = np.add.reduceat(told.astype(np.int64), bounds[:-1]) > 0
    keep |= np.repeat(any_told, np.diff(bounds))
