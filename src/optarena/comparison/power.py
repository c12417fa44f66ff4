"""How many more trials, or more problems, would be expected to settle a pair: by simulation from the data.

A design is enough when at least 80 % of its simulated experiments find the observed difference, in its direction, at
the level that the pair would need among all tests that are still open. See docs/scores.md 5.12.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from optarena.comparison.pairs import MANY, Pairs, differences, trial_variances
from optarena.stats.effects import a12_of, ordering, weighted_a12
from optarena.stats.signed_rank import least_p, signed_rank_p, signed_rank_p_of_counts
from optarena.stats.stratified import stratified_mann_whitney
from optarena.traces import Floats, Ints
from optarena.views._scores import Scores

POWER = 0.8
SIMULATIONS = 200
NEVER, UNKNOWN = -1, -2
MOST = 64
"""Designs up to so many times the present one are tried."""


@dataclass(frozen=True)
class Power:
    """(pairs,): further trials and further problems that would be expected to settle a pair.

    0 for a decided pair; NEVER where even 64 times the present design would not; UNKNOWN where it cannot be said.
    """

    trials: Ints
    problems: Ints
    level: float
    """The uncorrected p-value that an open pair must stay below."""


def power(scores: Scores, pairs: Pairs, *, over: str, rng: np.random.Generator) -> Power:
    """For every pair that is not decided; of very many optimizers, for the pairs of the leader with the next best."""
    n = len(scores.problems)
    open_pairs = np.flatnonzero(~pairs.decided)
    level = pairs.alpha / max(1, pairs.tests - int(pairs.decided.sum()))
    trials, problems = np.zeros(len(pairs.first), dtype=np.int64), np.zeros(len(pairs.first), dtype=np.int64)
    if not len(open_pairs):
        return Power(trials, problems, level)
    apart = differences(scores.means, pairs.first, pairs.second)
    variances = trial_variances(scores)
    per_cell = int(np.median(scores.trials))
    more_problems = _sizes(n)
    counts = [rng.multinomial(size, np.full(n, 1 / n), size=SIMULATIONS).astype(float) for size in more_problems]
    more_trials = _sizes(per_cell)
    noise = rng.standard_normal((SIMULATIONS, n))
    if not pairs.all_are_here:
        trials[open_pairs] = problems[open_pairs] = UNKNOWN
        totals = scores.means.sum(axis=0)
        other = np.maximum(totals[pairs.first], totals[pairs.second])[open_pairs]  # the leader has the lesser
        open_pairs = np.sort(open_pairs[np.argsort(other, kind="stable")[:MANY]])
    for i in open_pairs.tolist():
        d = apart[:, i]
        lean = float(np.sign(np.sum(d))) or 1.0
        a, b = int(pairs.first[i]), int(pairs.second[i])
        problems[i] = trials[i] = UNKNOWN
        if n > 2:  # two problems tell next to nothing of others
            problems[i] = _least(more_problems, n, partial(_enough_problems, d, counts, lean, level))
        if per_cell > 1 and over == "trials":
            trials[i] = _least(more_trials, per_cell, _Trials(scores, a, b, more_trials, level, rng).enough)
        elif per_cell > 1 and level > least_p(n):
            core, error = _without_noise(scores, variances, d, a, b)
            errors = [error * np.sqrt(per_cell / size) for size in more_trials]
            trials[i] = _least(more_trials, per_cell, partial(_enough_trials, core, errors, noise, lean, level))
    return Power(trials, problems, level)


def _sizes(now: int) -> list[int]:
    """Designs to try, each a quarter larger."""
    out = [now]
    while out[-1] < MOST * now:
        out.append(max(out[-1] + 1, int(np.ceil(out[-1] * 1.25))))
    return out


def _least(sizes: list[int], now: int, enough: Callable[[int], bool]) -> int:
    """How many more than now the least sufficient size has, by halving; NEVER where none suffices."""
    low, high = 0, len(sizes) - 1
    if not enough(high):
        return NEVER
    while low < high:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle + 1
    return max(1, sizes[high] - now)


def _enough_problems(apart: Floats, counts: list[Floats], lean: float, level: float, size: int) -> bool:
    if least_p(int(counts[size][0].sum())) >= level:  # the normal approximation knows no least p
        return False
    p, sign = signed_rank_p_of_counts(apart, counts[size])
    return bool(np.mean((p < level) & (sign == lean)) >= POWER)


def _without_noise(scores: Scores, variances: Floats, apart: Floats, a: int, b: int) -> tuple[Floats, Floats]:
    """What a pair's differences would be without the noise of trials: drawn together, as much as that noise explains.

    The variance over problems of the observed differences is that of the true ones plus that of the noise.
    """
    error = np.sqrt(np.sum(variances[:, [a, b]] / scores.trials[:, [a, b]], axis=1))
    total = float(np.var(apart, ddof=1)) if len(apart) > 1 else 0.0
    true = max(0.0, total - float(np.mean(error**2)))
    shrink = np.sqrt(true / total) if total > 0 else 0.0
    return apart.mean() + shrink * (apart - apart.mean()), error


def _enough_trials(core: Floats, errors: list[Floats], noise: Floats, lean: float, level: float, size: int) -> bool:
    p, sign = signed_rank_p(core + noise * errors[size])
    return bool(np.mean((p < level) & (sign == lean)) >= POWER)


class _Trials:
    """Simulated trials of a pair on these problems: a trial drawn so often counts so often."""

    def __init__(
        self, scores: Scores, a: int, b: int, sizes: list[int], level: float, rng: np.random.Generator
    ) -> None:
        x, y = scores.values[:, a], scores.values[:, b]
        self.order = ordering(x, y)
        there = [(~np.isnan(v)).astype(float) for v in (x, y)]
        self.chances = [v / v.sum(axis=1, keepdims=True) for v in there]
        self.lean = np.sign(a12_of(x, y).mean() - 0.5)
        self.sizes, self.level, self.rng = sizes, level, rng

    def enough(self, size: int) -> bool:
        trials, problems = self.sizes[size], len(self.order)
        first, second = (
            np.swapaxes(self.rng.multinomial(trials, c, size=(SIMULATIONS, problems)), 0, 1) / trials
            for c in self.chances
        )
        above = weighted_a12(self.order, first, second).T
        each = np.full(above.shape, trials)
        p, _ = stratified_mann_whitney(above, each, each, np.ones(above.shape))  # ties: drawn trials repeat
        return bool(np.mean((p < self.level) & (np.sign(above.mean(axis=1) - 0.5) == self.lean)) >= POWER)
