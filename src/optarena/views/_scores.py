"""What every view offers to comparisons: a number for each problem, optimizer and trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from optarena.errors import OptarenaError, nearest
from optarena.stats.bootstrap import trial_means
from optarena.traces import Bools, Floats

SAME = 1e-12
"""Relative: two values that differ by no more are equal (docs/scores.md 0.4)."""
AT_OPTIMUM = 1e-8
"""Two values that are both this close to a known optimum are equal (docs/scores.md 0.4)."""


@dataclass(frozen=True)
class Scores:
    """Less is better, whatever the view; 0 is perfect and 1 is poor where `unit` says so."""

    view: str
    metric: str
    what: str
    """The number in words."""
    problems: list[str]
    optimizers: list[str]
    values: Floats
    """(problems, optimizers, trials): NaN where a trial is missing or could not be scored; inf: it has no value."""
    dimensions: list[int | None]
    """(problems,)"""
    unit: bool = True
    """Whether scores lie between 0 and 1, but for outliers: then a difference of 0.01 is a hundredth of the scale."""
    functions: list[str] = field(default_factory=list)
    """(problems,): the function of each, with its suite: its instances and dimensions are repetitions of it.

    By default every problem is its own function (docs/scores.md 0.4)."""
    optimum: Floats = field(default_factory=lambda: np.empty(0))
    """(problems,): the known optimum, minimised; NaN where none is known or `values` are not objective values."""
    scale: Floats = field(default_factory=lambda: np.empty(0))
    """(problems,): the view's main score is the mean of `means` divided by the mean of this; ones by default.

    NaN where a problem has no scale: it is in neither mean."""

    def __post_init__(self) -> None:
        n = len(self.problems)
        if not self.functions:
            object.__setattr__(self, "functions", list(self.problems))
        if not len(self.optimum):
            object.__setattr__(self, "optimum", np.full(n, np.nan))
        if not len(self.scale):
            object.__setattr__(self, "scale", np.ones(n))

    @property
    def means(self) -> Floats:
        """(problems, optimizers): the mean over trials; NaN where there is none."""
        return trial_means(self.values)

    @property
    def trials(self) -> npt.NDArray[np.int64]:
        """(problems, optimizers): how many trials have a score."""
        return np.sum(~np.isnan(self.values), axis=2)

    def ranked(self) -> Floats:
        """(problems, optimizers, trials): the rank of each value within its problem, from 1; equal values share it.

        Equal: they agree to 1e-12 (relative), or both are within 1e-8 of the known optimum (docs/scores.md 0.4). The
        next greater value has the next rank. NaN stays NaN.
        """
        flat = self.values.reshape(len(self.problems), int(np.prod(self.values.shape[1:])))
        order = np.argsort(flat, axis=1, kind="stable")  # NaN last
        ordered = np.take_along_axis(flat, order, axis=1)
        low, high = ordered[:, :-1], ordered[:, 1:]
        with np.errstate(invalid="ignore", over="ignore"):
            near = np.abs(ordered - self.optimum[:, None]) <= AT_OPTIMUM
            same = (low == high) | (high - low <= SAME * np.minimum(np.maximum(np.abs(low), np.abs(high)), _LARGEST))
        same |= near[:, :-1] & near[:, 1:]
        ranks = np.cumsum(np.column_stack((np.ones(len(flat)), ~same))[:, : flat.shape[1]], axis=1)
        out = np.empty(flat.shape)
        np.put_along_axis(out, order, np.where(np.isnan(ordered), np.nan, ranks), axis=1)
        return out.reshape(self.values.shape)

    def of(self, optimizers: Sequence[str]) -> Scores:
        """Only these optimizers, in this order."""
        places = [_place(name, self.optimizers) for name in optimizers]
        return replace(self, optimizers=list(optimizers), values=self.values[:, places])

    def on(self, which: Bools) -> Scores:
        """Only the problems where `which` holds."""
        places = np.flatnonzero(which).tolist()
        return replace(
            self,
            problems=[self.problems[p] for p in places],
            values=self.values[places],
            dimensions=[self.dimensions[p] for p in places],
            functions=[self.functions[p] for p in places],
            optimum=self.optimum[places],
            scale=self.scale[places],
        )

    def complete(self) -> Scores:
        """Only the problems on which every optimizer has a score: means over others could not be compared."""
        return self.on(np.asarray((self.trials > 0).all(axis=1)))


@dataclass(frozen=True)
class Measured:
    """Values of trials as they are shown, in their own direction: for ranks on each problem."""

    metric: str
    problems: list[str]
    optimizers: list[str]
    values: Floats
    """(problems, optimizers, trials): NaN where a trial is missing, inf where it has no value."""
    signs: list[float]
    """(problems,): -1 where more is better."""
    names: list[str]
    """(problems,): what the values are; another measure may stand in on a problem."""
    said: list[str]
    """(problems,): why another measure stands in; empty where none does."""

    def of(self, optimizers: Sequence[str]) -> Measured:
        """Only these optimizers, in this order."""
        places = [_place(name, self.optimizers) for name in optimizers]
        return replace(self, optimizers=list(optimizers), values=self.values[:, places])


def _place(name: str, known: Sequence[str]) -> int:
    if name not in known:
        raise OptarenaError(f"no scores of {name!r}.{nearest(name, known)} (there are {', '.join(known)})")
    return known.index(name)


_LARGEST = float(np.finfo(float).max)
