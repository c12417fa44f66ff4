"""Every two optimizers: by how much one is better, on how many problems, and whether a test can tell.

Arrays in, arrays out. A pair (i, j) is read "i against j"; scores are to be minimised. See docs/scores.md 5.11.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optarena.stats._result import LEVEL
from optarena.stats.bayes import problem_weights, signed_rank_votes
from optarena.stats.bootstrap import mean_intervals
from optarena.stats.corrections import holm
from optarena.stats.effects import a12_of, score_interval
from optarena.stats.ranks import ranks_of, tie_sums
from optarena.stats.signed_rank import signed_rank_p
from optarena.stats.stratified import stratified_differences, stratified_mann_whitney
from optarena.traces import Bools, Floats, Ints
from optarena.views._scores import Scores

EQUAL = 1e-12
"""Scores nearer to each other than this are equal: sums in another order differ by as much."""
MANY = 60
"""Beyond so many optimizers only the pairs with the leader are compared: the work grows with their number, not with
its square."""
WORK = 4_000_000
"""Comparisons of single trials that are made at once."""
BAYES = 4000
"""Samples of the Bayesian test of a pair."""


@dataclass(frozen=True)
class Pairs:
    """All arrays are (pairs,) but where said; `first` and `second` are numbers of optimizers."""

    first: Ints
    second: Ints
    improvement: Floats
    """The probability that a trial of the first is better than one of the second, mean over problems; with its ends."""
    improvement_lb: Floats
    improvement_ub: Floats
    difference: Floats
    """Mean over problems of the first's score less the second's: below 0 the first is better."""
    difference_lb: Floats
    difference_ub: Floats
    wins: Ints
    ties: Ints
    losses: Ints
    p: Floats
    p_holm: Floats
    sign: Floats
    """1: the test leans to the first; -1: to the second."""
    bayes: Floats
    """(pairs, 3): the probabilities that the first is better, equivalent, worse; NaN for a claim about trials."""
    each: Floats
    """(pairs, problems): the probability of improvement on each problem."""
    test: str
    intervals: str
    alpha: float
    tests: int
    """Pairs that p-values are corrected for: all that there are, also where only those with the leader are here."""

    @property
    def all_are_here(self) -> bool:
        """Whether every two optimizers are a pair here."""
        return len(self.first) == self.tests

    @property
    def decided(self) -> Bools:
        """Whether the corrected p-value is below alpha."""
        return self.p_holm < self.alpha

    def matrix(self, values: Floats, mirrored: Floats | None = None, fill: float = np.nan) -> Floats:
        """(optimizers, optimizers): a figure of pairs both ways; `mirrored`: what it is the other way round."""
        k = int(self.second.max(initial=0)) + 1
        out = np.full((k, k), fill)
        out[self.first, self.second] = values
        out[self.second, self.first] = values if mirrored is None else mirrored
        return out


def settled(means: Floats) -> Floats:
    """Means that are equal but for rounding made equal, so that they tie."""
    return np.round(means, 12)


def by_mean(means: Floats) -> Ints:
    """Numbers of optimizers by their mean over problems (problems, optimizers), the best first; ties by rank."""
    order: Ints = np.lexsort((ranks_of(means, axis=1).mean(axis=0), means.mean(axis=0)))
    return order


def chosen_pairs(scores: Scores) -> tuple[Ints, Ints, int]:
    """First and second of every pair, and how many pairs there are; of very many, those with the leader."""
    k = len(scores.optimizers)
    if k <= MANY:
        return *all_pairs(k), k * (k - 1) // 2
    leader = by_mean(settled(scores.means))[0]
    others = np.delete(np.arange(k), leader)
    return np.minimum(leader, others), np.maximum(leader, others), k * (k - 1) // 2


def all_pairs(k: int) -> tuple[Ints, Ints]:
    first, second = np.triu_indices(k, 1)
    return first.astype(np.int64), second.astype(np.int64)


def compare_pairs(
    scores: Scores, counts: Floats, *, over: str, rope: float, alpha: float, rng: np.random.Generator
) -> Pairs:
    """The pairs of a complete cube (see `chosen_pairs`).

    over: `problems` or `trials`; counts: how often resamplings draw each problem.
    """
    values, means = scores.values, scores.means
    first, second, tests = chosen_pairs(scores)
    apart = differences(means, first, second)
    each = improvements(values, first, second)
    if over == "problems":
        p, sign = signed_rank_p(apart.T)
        test, sign = "Wilcoxon's signed ranks over problems", -sign
        difference, lower, upper, intervals = mean_intervals(apart, counts)
        improvement, i_lower, i_upper, _ = mean_intervals(each.T, counts)
        i_lower, i_upper = _unanimous(improvement, np.clip(i_lower, 0.0, 1.0), np.clip(i_upper, 0.0, 1.0), len(apart))
        bayes = _bayes(apart, rope, rng)
    else:
        p, sign, exact = trials_test(values, each, first, second)
        test = f"Mann-Whitney within problems, {'exact' if exact else 'normal'}"
        trials = scores.trials
        d, dl, du = stratified_differences(means, trial_variances(scores), trials)
        difference, lower, upper = d[first, second], dl[first, second], du[first, second]
        improvement = each.mean(axis=1)
        i_lower, i_upper = score_interval(improvement, trials[:, first].T, trials[:, second].T)
        intervals = "t (Welch) and score intervals over trials within these problems"
        bayes = np.full((len(first), 3), np.nan)
    return Pairs(
        first, second, improvement, i_lower, i_upper, difference, lower, upper,
        np.sum(apart < -rope, axis=0), np.sum(np.abs(apart) <= rope, axis=0), np.sum(apart > rope, axis=0),
        p, holm(p, tests), sign, bayes, each, test, intervals, alpha, tests,
    )  # fmt: skip


def differences(means: Floats, first: Ints, second: Ints) -> Floats:
    """(problems, pairs) of means (problems, optimizers)."""
    a, b = means[:, first], means[:, second]
    with np.errstate(invalid="ignore"):
        out: Floats = a - b
    return np.where((np.abs(out) <= EQUAL) | (a == b), 0.0, out)  # two empty fronts are infinitely far, and equal


def improvements(values: Floats, first: Ints, second: Ints) -> Floats:
    """(pairs, problems): how often a trial of the first has the lesser score, ties half (docs/scores.md 5.2)."""
    problems, _, trials = values.shape
    block = max(1, WORK // max(1, problems * trials * trials))
    parts = (slice(start, start + block) for start in range(0, len(first), block))
    found = [a12_of(values[:, second[part]], values[:, first[part]], equal=EQUAL).T for part in parts]
    return np.concatenate([np.empty((0, problems)), *found])


def trials_test(values: Floats, each: Floats, first: Ints, second: Ints) -> tuple[Floats, Floats, bool]:
    """p-values, signs and whether they are exact, of trials within problems (docs/scores.md 5.3)."""
    return stratified_test(each, *sizes_and_ties(values, first, second))


def stratified_test(each: Floats, m: Ints, n: Ints, ties: Floats) -> tuple[Floats, Floats, bool]:
    """The same from the probabilities of improvement, the numbers of trials and the ties, all (pairs, problems)."""
    p, exact = stratified_mann_whitney(1.0 - each, m, n, ties)
    return p, np.sign(np.round(each.mean(axis=1) - 0.5, 12)), exact


def sizes_and_ties(values: Floats, first: Ints, second: Ints) -> tuple[Ints, Ints, Floats]:
    """(pairs, problems) each: trials of the first, of the second, and `tie_sums` of both together."""
    count = np.sum(~np.isnan(values), axis=2)
    both = np.sort(np.concatenate((values[:, first], values[:, second]), axis=2), axis=2)  # NaN last
    return count[:, first].T, count[:, second].T, tie_sums(both, equal=EQUAL).T


def trial_variances(scores: Scores) -> Floats:
    """(problems, optimizers): the variance over trials; 0 for a single trial."""
    n = scores.trials
    with np.errstate(invalid="ignore"):
        return np.nanvar(scores.values, axis=2) * n / np.maximum(n - 1, 1)


def _unanimous(value: Floats, lower: Floats, upper: Floats, n: int) -> tuple[Floats, Floats]:
    """Where all n problems say 1 (or 0) they show no spread, yet the interval is not empty.

    Of numbers between 0 and 1 with the mean mu, n are all 1 with probability mu^n at most: 0.025 of it bounds mu.
    """
    least = (0.5 - LEVEL / 2) ** (1 / n)
    return np.where(value == 1, np.minimum(lower, least), lower), np.where(
        value == 0, np.maximum(upper, 1 - least), upper
    )


def _bayes(apart: Floats, rope: float, rng: np.random.Generator) -> Floats:
    """(pairs, 3): the Bayesian signed-rank test of each; one set of weights of the problems serves all."""
    weights = problem_weights(len(apart), BAYES, rng)
    return np.array([signed_rank_votes(-d, weights, rope) / BAYES for d in apart.T]).reshape(-1, 3)
