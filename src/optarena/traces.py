"""Ragged arrays: the rows of many studies laid end to end, and what every view needs of them. Pure NumPy.

Study i owns rows offsets[i] to offsets[i+1]. Values are minimised here; a failed row is NaN and never the best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
ONE_THREAD = 1 << 18
"""Multiplications of a product up to which OpenBLAS uses one thread."""


@dataclass(repr=False)
class Traces:
    """The traces of many studies, one row per evaluation, in the order they were made."""

    offsets: Ints
    """(studies + 1,): where each study's rows begin."""
    evaluation: Ints
    """(rows,): the number of the evaluation, from 1; gaps where only improvements are kept."""
    values: Floats
    """(rows, objectives): minimised; NaN where the evaluation failed."""
    feasible: Bools
    """(rows,): whether every constraint holds."""
    spent: Callable[[], Floats]
    """Gives `seconds`, which is read from the store only when somebody asks."""

    @cached_property
    def seconds(self) -> Floats:
        """(rows,): what the study had spent when the row's evaluation ended: suggesting, evaluating, observing."""
        return self.spent()

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        rows, objectives = self.values.shape
        return f"<Traces: {rows:,} rows of {len(self):,} studies, objectives: {objectives}>"

    @property
    def lengths(self) -> Ints:
        """(studies,): how many rows each has."""
        return np.diff(self.offsets)

    def best_so_far(self, objective: int = 0) -> Floats:
        """(rows,): the least feasible value up to each row; inf before the first."""
        y = self.values[:, objective]
        return cumulative_minimum(np.where(self.feasible & ~np.isnan(y), y, np.inf), self.offsets)


def product(a: Floats, b: Floats) -> Floats:
    """The matrix product a @ b, some rows at a time.

    OpenBLAS shares larger products between threads, which wait by spinning: that cost more than it saved.
    """
    step = max(1, ONE_THREAD // max(1, b.size))
    if len(a) <= step:
        return a @ b
    return np.concatenate([a[start : start + step] @ b for start in range(0, len(a), step)])


def positions(offsets: Ints) -> Ints:
    """(rows,): the place of each row within its study, from 0."""
    lengths = np.diff(offsets)
    return np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)


def cumulative_minimum(values: Floats, offsets: Ints) -> Floats:
    """The running minimum within each study, for all studies at once (docs/scores.md 1.1).

    A scan by doubling: after step j each row has the minimum of the 2^j rows up to it that are its own study's.
    """
    out = values.copy()
    if not len(out):
        return out
    place = positions(offsets)
    longest = int(np.diff(offsets).max())
    step = 1
    while step < longest:
        later = out[step:]
        np.minimum(later, out[:-step].copy(), out=later, where=place[step:] >= step)
        step *= 2
    return out


def latest(effort: Floats, offsets: Ints, study: Ints, when: Floats) -> Ints:
    """The last row that a study had made by so much effort, up to rounding; -1 before its first.

    study, when: broadcast against each other. `np.append(values, nothing)[row]` is then a quantity of that row, and
    `nothing` before the first.
    """
    # efforts as whole numbers, each study above the one before it, so that one search finds all
    steps, wanted = np.unique(when, return_inverse=True)
    first = np.arange(len(offsets) - 1) * (len(steps) + 1)
    passed = np.searchsorted(steps, effort * (1 - 1e-12), side="left") + np.repeat(first, np.diff(offsets))
    row = np.searchsorted(passed, wanted.reshape(np.shape(when)) + first[study], side="right") - 1
    return np.where(row >= offsets[study], row, -1)


def at_best(values: Floats, key: Floats, offsets: Ints) -> Floats:
    """The value of each row's best row so far, within each study: that of the latest least key (docs/scores.md 1.1)."""
    ties = key == cumulative_minimum(key, offsets)  # the first row of a study always is one
    latest = np.maximum.accumulate(np.where(ties, np.arange(len(key)), 0)) if len(key) else np.arange(0)
    return values[latest]


def first_argmin(values: Floats, offsets: Ints) -> Ints:
    """(studies,): the row of each study's first least value, or -1 where it has none below inf."""
    out = np.full(len(offsets) - 1, -1, dtype=np.int64)
    lengths = np.diff(offsets)
    some = np.flatnonzero(lengths)
    if not len(some):
        return out
    least = np.minimum.reduceat(values, offsets[:-1][some])
    found = np.flatnonzero((values == np.repeat(least, lengths[some])) & (values < np.inf))
    study = np.repeat(some, lengths[some])[found]
    first = np.flatnonzero(np.append(True, study[1:] != study[:-1]))[: len(study)]
    out[study[first]] = found[first]
    return out


def total_violation(violations: Floats) -> Floats:
    """(rows,): by how much a row violates its constraints, all in all; 0 where it is feasible."""
    out: Floats = np.nansum(np.maximum(violations, 0.0), axis=1)
    return out


def penalised(distance: Floats, violated: Floats) -> Floats:
    """What COCO counts under constraints: the distance to the optimum, at least 0, plus what is violated."""
    return np.maximum(distance, 0.0) + violated
