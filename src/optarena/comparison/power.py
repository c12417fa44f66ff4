"""How many more trials, or functions, until a medium difference would most likely be decided (docs/scores.md 5.12).

By simulation from the data at hand under a difference of a chosen size, never at the observed one: what was observed
says who leads, not what a larger experiment could tell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from optarena.comparison.pairs import MANY, Levels, Pairs
from optarena.stats.improvement import by_function, enough_functions, problem_weights
from optarena.traces import Floats, Ints
from optarena.views._scores import Scores

DETECT = 0.64
"""A medium difference (Vargha and Delaney 2000)."""
POWER = 0.8
SIMULATIONS = 400
NEVER, UNKNOWN = -1, -2
MOST = 64
"""Designs up to so many times the present one are tried."""


@dataclass(frozen=True)
class Power:
    """(pairs,): further trials and further functions after which a difference of `detect` would be decided.

    0 where it would be now; NEVER where even 64 times the present design would not; UNKNOWN where it cannot be said.
    Each of them in at least 80 % of simulated experiments.
    """

    trials: Ints
    functions: Ints
    detect: float


def power(scores: Scores, pairs: Pairs, order: Ints, *, detect: float, seed: int) -> Power:
    """For every undecided pair; of very many, for those of the best optimizers.

    order: numbers of optimizers, the best first.
    """
    count = len(pairs.first)
    trials, functions = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    wanted = np.flatnonzero(pairs.undecided & ~np.isnan(pairs.improvement))
    if pairs.at_every_look:  # a race finds out by itself
        trials[wanted] = functions[wanted] = UNKNOWN
        return Power(trials, functions, detect)
    if len(wanted) > MANY:
        trials[wanted] = functions[wanted] = UNKNOWN
        place = np.argsort(order)
        worse, better = (f(place[pairs.first], place[pairs.second])[wanted] for f in (np.maximum, np.minimum))
        wanted = wanted[np.lexsort((worse, better))[:MANY]]
    if not len(wanted):
        return Power(trials, functions, detect)
    levels = Levels.of(scores)
    per_cell = int(np.median(scores.trials))
    shares = by_function(pairs.duels.share, levels.function)
    noise = by_function(pairs.duels.variance, levels.function) / np.bincount(levels.function)
    weights = problem_weights(levels.function)
    for i in wanted.tolist():
        rng = np.random.default_rng(seed)
        design = _Design(shares[i], noise[i], per_cell, detect, pairs.alpha, pairs.tests, pairs.all_are_here, rng)
        functions[i] = design.more_functions()
        if pairs.scope == "trials":
            trials[i] = design.more_trials_here(float(pairs.duels.variance[i] @ weights**2))
        else:
            trials[i] = design.more_trials()
    return Power(trials, functions, detect)


class _Design:
    """A pair's shares by function, moved so that their mean is the difference to detect, and the noise of trials."""

    def __init__(
        self, shares: Floats, noise: Floats, trials: int, detect: float, alpha: float, tests: int, flipped: bool,
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        """flipped: whether flipping signs decides, as it does where all pairs are compared."""
        self.noise, self.trials, self.tests, self.alpha, self.rng = noise, trials, tests, alpha, rng
        self.detect, self.flipped, self.n = detect, flipped, len(shares)
        self.spread = shares - shares.mean()

    def more_functions(self) -> int:
        """Functions like these, drawn with replacement, with as many trials as now."""
        if self.n < 3:  # two functions tell next to nothing of others
            return UNKNOWN
        moved = _moved(self.spread, self.detect)

        def enough(size: int) -> bool:
            drawn = moved[self.rng.integers(0, self.n, (SIMULATIONS, size))]
            return enough_functions(size, self.tests, self.alpha) and self._decided(drawn)

        return _least(self.n, enough)

    def more_trials(self) -> int:
        """The same functions: how they differ stays, the noise of their trials shrinks."""
        if self.trials < 2:
            return UNKNOWN
        if not enough_functions(self.n, self.tests, self.alpha):
            return NEVER
        total = float(np.var(self.spread))
        true = max(0.0, total - float(self.noise.mean()))
        core = _moved(self.spread * np.sqrt(true / total) if total > 0 else self.spread, self.detect)
        normal = self.rng.standard_normal((SIMULATIONS, self.n))

        def enough(size: int) -> bool:
            return self._decided(np.clip(core + normal * np.sqrt(self.noise * self.trials / size), 0.0, 1.0))

        return _least(self.trials, enough)

    def more_trials_here(self, variance: float) -> int:
        """For a claim about just these problems: the standard error shrinks with trials, nothing else counts."""
        if self.trials < 2:
            return UNKNOWN
        reach = self.detect - 0.5

        def enough(size: int) -> bool:
            error = np.sqrt(variance * self.trials / size)
            critical = special.stdtrit(2 * (size - 1), 1 - self.alpha / (2 * self.tests))
            return bool(special.ndtr(reach / error - critical) >= POWER)

        return _least(self.trials, enough)

    def _decided(self, shares: Floats) -> bool:
        """Whether enough simulated experiments (simulations, functions) exclude 0.5.

        Student's t is as powerful as flipping signs, for which 5.3 has no formula. Otherwise its t interval decides.
        """
        away = shares - 0.5
        n = away.shape[1]
        if self.flipped:
            centre, variance = away.mean(axis=1), away.var(axis=1, ddof=1)
        else:
            centre = away.sum(axis=1) / (n + 1)
            variance = (np.sum(away**2, axis=1) + 0.25) / (n + 1) - centre**2
        critical = special.stdtrit(n - 1, 1 - self.alpha / (2 * self.tests))
        return bool(np.mean(centre > critical * np.sqrt(np.maximum(variance, 0.0) / n)) >= POWER)


def _moved(spread: Floats, mean: float) -> Floats:
    """Shares around a mean that stay within [0, 1]: what is cut off at an end is made up for by the others."""
    moved = np.clip(mean + spread, 0.0, 1.0)
    for _ in range(20):
        moved = np.clip(moved + mean - moved.mean(), 0.0, 1.0)
    return moved


def _least(now: int, enough: Callable[[int], bool]) -> int:
    """How many more than now the least sufficient size has, by halving; 0 where now suffices, NEVER where none does."""
    if enough(now):
        return 0
    sizes = [now]
    while sizes[-1] < MOST * now:
        sizes.append(max(sizes[-1] + 1, int(np.ceil(sizes[-1] * 1.25))))
    low, high = 1, 1  # large designs cost much: they are tried last
    while not enough(sizes[high]):
        if high == len(sizes) - 1:
            return NEVER
        low, high = high + 1, min(2 * high, len(sizes) - 1)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(sizes[middle]) else (middle + 1, high)
    return sizes[high] - now
