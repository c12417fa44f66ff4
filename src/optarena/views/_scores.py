"""What every view offers to comparisons: a number for each problem, optimizer and trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from optarena.errors import OptarenaError, nearest
from optarena.stats.bootstrap import trial_means
from optarena.traces import Bools, Floats


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
    """(problems, optimizers, trials): NaN where a trial is not there or could not be scored."""
    dimensions: list[int | None]
    """(problems,)"""
    unit: bool = True
    """Whether scores lie between 0 and 1, but for outliers: then a difference of 0.01 is a hundredth of the scale."""

    @property
    def means(self) -> Floats:
        """(problems, optimizers): the mean over trials; NaN where there is none."""
        return trial_means(self.values)

    @property
    def trials(self) -> npt.NDArray[np.int64]:
        """(problems, optimizers): how many trials have a score."""
        return np.sum(~np.isnan(self.values), axis=2)

    def of(self, optimizers: Sequence[str]) -> Scores:
        """Only these optimizers, in this order."""
        for name in optimizers:
            if name not in self.optimizers:
                known = ", ".join(self.optimizers)
                raise OptarenaError(f"no scores of {name!r}.{nearest(name, self.optimizers)} (there are {known})")
        places = [self.optimizers.index(name) for name in optimizers]
        return replace(self, optimizers=list(optimizers), values=self.values[:, places])

    def on(self, which: Bools) -> Scores:
        """Only the problems where `which` holds."""
        places = np.flatnonzero(which).tolist()
        return replace(
            self,
            problems=[self.problems[p] for p in places],
            values=self.values[places],
            dimensions=[self.dimensions[p] for p in places],
        )

    def complete(self) -> Scores:
        """Only the problems on which every optimizer has a score: means over others could not be compared."""
        return self.on(np.asarray((self.trials > 0).all(axis=1)))
