"""Ragged arrays: the rows of many studies laid end to end, and what every view needs of them. Pure NumPy.

Study i owns rows offsets[i] to offsets[i+1]. Values are minimised here; a failed row is NaN and never the best.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass
class Traces:
    """The traces of many studies, a row an evaluation, in the order they were made."""

    offsets: Ints
    """(studies + 1,): where each study's rows begin."""
    evaluation: Ints
    """(rows,): the number of the evaluation, from 1; gaps where only improvements are kept."""
    values: Floats
    """(rows, objectives): minimised; NaN where the evaluation failed."""
    feasible: Bools
    """(rows,): whether every constraint holds."""
    seconds: Floats
    """(rows,): what the study had spent when the row's evaluation ended (suggesting, evaluating, observing)."""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Ints:
        return np.diff(self.offsets)

    def best_so_far(self, objective: int = 0) -> Floats:
        """(rows,): the least feasible value up to each row; inf before the first."""
        y = self.values[:, objective]
        return cumulative_minimum(np.where(self.feasible & ~np.isnan(y), y, np.inf), self.offsets)


def positions(offsets: Ints) -> Ints:
    """(rows,): the place of each row within its study, from 0."""
    lengths = np.diff(offsets)
    return np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)


def cumulative_minimum(values: Floats, offsets: Ints) -> Floats:
    """The running minimum within each study, for all studies at once.

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


def first_argmin(values: Floats, offsets: Ints) -> Ints:
    """(studies,): the row of each study's first least value, or -1 where it has none below inf."""
    studies = len(offsets) - 1
    out = np.full(studies, -1, dtype=np.int64)
    if not len(values):
        return out
    study = np.repeat(np.arange(studies), np.diff(offsets))
    rows = np.flatnonzero(values < np.inf)
    order = np.lexsort((rows, values[rows], study[rows]))
    owners, first = np.unique(study[rows][order], return_index=True)
    out[owners] = rows[order][first]
    return out
