"""Intervals and e-values that hold at every look, so that whoever looks may also stop (docs/scores.md 6).

>>> import numpy as np
>>> rounds = np.ones((1, 12, 1))  # one pair, twelve rounds, one problem: the first won every time
>>> found = sequence(rounds, np.ones(1))
>>> bool(found.lower[0] > 0.5), bool(found.lower[0] < 0.8)
(True, True)

A hypothesis about a mean is tested by betting against it, with money that cannot be borrowed: where the hypothesis is
true, no way of betting is likely to multiply it by 20, however often one looks (Ville 1939). What the bets have made of
one unit is the e-value; the means that are not yet refuted are the confidence sequence (Waudby-Smith and Ramdas 2024).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optarena.stats.improvement import BETTER, EQUIVALENT, ROPE, UNDECIDED, WORSE, Simultaneous
from optarena.traces import Bools, Floats

FRACTIONS: Floats = np.geomspace(0.12, 0.85, 5)
"""Ways of betting, each with the same money: which part of all that may be lost is put on one problem.

Without ties the least gains most where the mean is 0.56, where equivalence ends, and the greatest where it is 0.93."""
STEADY = 4.0
"""So many rounds the mean of all problems counts where the mean of a single one is estimated."""
STEPS = 13
"""Halvings in the search for the end of an interval: to 1e-4."""
AT_ONCE = 32
"""Factors that are multiplied before a logarithm is taken: their product stays a normal number."""
LEAST = 1e-5
"""No mean below is tested, nor any above 1 less this."""


class Evidence(NamedTuple):
    """Logarithms of e-values, (pairs, levels): against a mean of at most the level, and of at least the level."""

    above: Floats
    below: Floats


class Bets:
    """Bets on the weighted mean over problems of values from 0 to 1, round by round, of many pairs at once.

    weights: (problems,), what each problem counts. levels: the means that are bet against, (pairs, levels).

    A round gives one value per problem; problems are independent of each other, rounds too. In a round every bet is the
    same part of the money at hand, problem after problem. A problem may be known to be won more often than others: bets
    are on how far its value is from the mean that it would have if the level were true, `level + offset`, where offsets
    come from earlier rounds and have the weighted mean 0. The product over the problems then has an expectation of at
    most 1 where the level is true, since a geometric mean is never above the arithmetic one.
    """

    def __init__(self, weights: Floats, levels: Floats) -> None:
        self.weights = weights / weights.sum()
        self.levels = levels
        pairs = len(levels)
        self.total = np.zeros((pairs, len(weights)))
        """Sums of values so far."""
        self.rounds = np.zeros(pairs)
        self._above, self._below = (np.zeros((*levels.shape, len(FRACTIONS))) for _ in range(2))

    def add(self, values: Floats) -> None:
        """A round: (pairs, problems). A pair whose values are NaN does not take part in it."""
        here = ~np.isnan(values).any(axis=1)
        x, offset, level = values[here], self._offsets()[here], self.levels[here]
        self._above[here] += _logs(x, offset, level, self.weights)
        self._below[here] += _logs(1.0 - x, -offset, 1.0 - level, self.weights)
        self.total[here] += x
        self.rounds[here] += 1

    def _offsets(self) -> Floats:
        """(pairs, problems): the mean of each problem less that of all, drawn towards 0 while rounds are few."""
        expected = (self.total @ self.weights)[:, None]
        return (self.total - expected) / (self.rounds + STEADY)[:, None]

    @property
    def evidence(self) -> Evidence:
        return Evidence(*(_log_mean(one) for one in (self._above, self._below)))

    @property
    def means(self) -> Floats:
        """(pairs,): the weighted mean over problems and rounds so far; NaN before the first round."""
        with np.errstate(invalid="ignore"):
            return (self.total @ self.weights) / self.rounds


def _logs(x: Floats, offset: Floats, level: Floats, weights: Floats) -> Floats:
    """(pairs, levels, fractions): the logarithm of what a round makes of one unit, bet on means above the levels.

    The most that may be lost on a problem is all: where its value is 0 and its own mean the greatest.
    """
    share = weights / weights.max()
    most = level + offset.max(axis=1, keepdims=True)
    gain = share * (x[:, None] - level[..., None] - offset[:, None]) / most[..., None]  # at least -1
    out = np.zeros((*level.shape, len(FRACTIONS)))
    for at in range(0, len(weights), AT_ONCE):
        out += np.log(np.prod(1.0 + FRACTIONS[:, None] * gain[:, :, None, at : at + AT_ONCE], axis=-1))
    return out


def _log_mean(logs: Floats) -> Floats:
    """The logarithm of the mean over the last axis."""
    most = logs.max(axis=-1)
    return most + np.log(np.mean(np.exp(logs - most[..., None]), axis=-1))


def log_threshold(alpha: float, tests: int) -> float:
    """From which log e-value on a one-sided hypothesis is refuted: alpha is shared by all pairs and both sides."""
    return float(np.log(2 * max(1, tests) / alpha))


def levels_of(pairs: int, rope: float = ROPE) -> Floats:
    """(pairs, 3): the means that verdicts depend on: the ends of the region of equivalence, and 0.5 between them."""
    return np.tile([0.5 - rope, 0.5, 0.5 + rope], (pairs, 1))


def refuted(found: Evidence, alpha: float, tests: int) -> tuple[Bools, Bools]:
    """(pairs, levels): whether the mean is above each level, and whether it is below."""
    least = log_threshold(alpha, tests)
    return found.above >= least, found.below >= least


def words(found: Evidence, alpha: float, tests: int) -> list[str]:
    """better, worse, equivalent or undecided, of evidence at `levels_of`: what the intervals of `sequence` say, too."""
    above, below = refuted(found, alpha, tests)
    return [
        BETTER if more[1] else WORSE if less[1] else EQUIVALENT if more[0] and less[2] else UNDECIDED
        for more, less in zip(above, below, strict=True)
    ]


def sequence(
    values: Floats, weights: Floats, *, alpha: float = 0.05, tests: int | None = None, rope: float = ROPE
) -> Simultaneous:
    """The mean of each pair with an interval that holds at every look, for all pairs together (docs/scores.md 6).

    values: (pairs, rounds, problems), from 0 to 1; NaN where a pair did not take part in a round. tests: how many pairs
    there are, where these are only some. p is an anytime-valid p-value of the hypothesis that the mean is 0.5. Without
    a round the interval is [0, 1] and the mean NaN.
    """
    pairs = len(values)
    tests = pairs if tests is None else tests

    def bets(levels: Floats) -> Bets:
        made = Bets(weights, levels)
        for r in range(values.shape[1]):
            made.add(values[:, r])
        return made

    first = bets(levels_of(pairs, rope))
    mean, found = first.means, first.evidence
    above, below = refuted(found, alpha, tests)
    known = np.where(np.isnan(mean), 0.5, mean)
    # every end is a mean that is refuted: the true end lies a little further in
    lower = np.max(np.where(above, first.levels, 0.0), axis=1)
    upper = np.min(np.where(below, first.levels, 1.0), axis=1)
    inside = np.column_stack((np.maximum(lower, known), np.minimum(upper, known)))
    for _ in range(STEPS):
        middle = (np.column_stack((lower, upper)) + inside) / 2
        now = bets(np.clip(middle, LEAST, 1 - LEAST)).evidence
        out = np.column_stack((now.above[:, 0], now.below[:, 1])) >= log_threshold(alpha, tests)
        lower, upper = (np.where(out[:, side], middle[:, side], end) for side, end in ((0, lower), (1, upper)))
        inside = np.where(out, inside, middle)
    strongest = np.maximum(found.above[:, 1], found.below[:, 1])
    p = np.exp(np.minimum(0.0, np.log(2 * max(1, tests)) - strongest))
    # the wealth against 0.5 may reach the threshold exactly: 0.5 is then refuted, and no mean beside it
    lower = np.where(above[:, 1], np.maximum(lower, np.nextafter(0.5, 1.0)), lower)
    upper = np.where(below[:, 1], np.minimum(upper, np.nextafter(0.5, 0.0)), upper)
    return Simultaneous(mean, lower, upper, p)
