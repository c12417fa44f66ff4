"""Every two optimizers: how often one beats the other, how sure that is, and on how many problems.

Arrays in, arrays out. A pair (i, j) is read "i against j"; scores are to be minimised. See docs/scores.md 5.3 and 5.11.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from optarena.stats._result import Seed
from optarena.stats.bayes import problem_weights as posterior_weights
from optarena.stats.bayes import signed_rank_votes
from optarena.stats.bootstrap import mean_intervals
from optarena.stats.corrections import holm
from optarena.stats.improvement import (
    BETTER,
    UNDECIDED,
    WORSE,
    Duels,
    Simultaneous,
    by_function,
    duels,
    over_functions,
    over_trials,
    problem_weights,
    verdicts,
)
from optarena.stats.ranks import tie_sums
from optarena.stats.signed_rank import signed_rank_p
from optarena.stats.stratified import stratified_differences, stratified_mann_whitney
from optarena.traces import Bools, Floats, Ints
from optarena.views._scores import Scores
from optarena.views.ranking import by_score, scale_of

MANY = 60
"""Beyond so many optimizers only the pairs with the leader are compared: the work grows with their number, not with
its square."""
BAYES = 4000
"""Samples of the Bayesian test of a pair."""
LEADER = "simultaneous over functions: the wider of t and binomial ends, Bonferroni"
SEQUENCE = "simultaneous at every look: betting confidence sequences over rounds, Bonferroni"
METHODS = {
    "problems": "simultaneous over functions: decided by flipping signs, the wider of t and binomial ends",
    "trials": "simultaneous over trials on these problems: t of placements, Bonferroni",
}


@dataclass(frozen=True)
class Levels:
    """Which function each problem belongs to: instances and dimensions repeat a function (docs/scores.md 0.4)."""

    names: list[str]
    """(functions,)"""
    function: Ints
    """(problems,): index into `names`."""

    @classmethod
    def of(cls, scores: Scores) -> Levels:
        names = list(dict.fromkeys(scores.functions))
        place = {name: i for i, name in enumerate(names)}
        return cls(names, np.array([place[name] for name in scores.functions], dtype=np.int64))

    def shares(self, values: Floats) -> Floats:
        """(functions, …) of (problems, …): sums scaled so that their mean over functions is the mean over problems."""
        out = np.zeros((len(self.names), *values.shape[1:]))
        np.add.at(out, self.function, values)
        return out * (len(self.names) / len(self.function))

    def means(self, values: Floats) -> Floats:
        """(functions, …) of (problems, …): the mean over the problems of each function."""
        out = np.zeros((len(self.names), *values.shape[1:]))
        np.add.at(out, self.function, values)
        return out / np.bincount(self.function).reshape(-1, *[1] * (values.ndim - 1))


@dataclass(frozen=True)
class Pairs:
    """All arrays are (pairs,) but where said; `first` and `second` are numbers of optimizers."""

    first: Ints
    second: Ints
    improvement: Floats
    """The probability that a trial of the first beats one of the second; NaN where they share no problem."""
    lower: Floats
    upper: Floats
    """The interval that decides, simultaneous for all pairs."""
    p: Floats
    """Of the same decision, corrected for all pairs: at most alpha just where the interval excludes 0.5."""
    verdict: list[str]
    """better, worse, equivalent or undecided: the first against the second."""
    wins: Ints
    """Problems on which the first beats the second with a probability above 0.5 + rope; `losses` likewise."""
    ties: Ints
    losses: Ints
    duels: Duels
    """(pairs, problems)"""
    difference: Floats
    """The first's mean score less the second's: below 0 the first is better; with its 95 % interval."""
    difference_lb: Floats
    difference_ub: Floats
    other_p: Floats
    """Of another test, corrected by Holm: `other_test`."""
    bayes: Floats
    """(pairs, 3): the probabilities that the first is better, equivalent, worse; NaN for a claim about trials."""
    other_test: str
    scope: str
    alpha: float
    tests: int
    """All pairs that there are: intervals and p-values hold for so many together."""
    at_every_look: bool = False
    """Whether intervals and verdicts hold however often one looks."""

    @property
    def method(self) -> str:
        """How the intervals were made, in words."""
        if self.at_every_look:
            return SEQUENCE
        return METHODS[self.scope] if self.all_are_here or self.scope == "trials" else LEADER

    @property
    def all_are_here(self) -> bool:
        """Whether every two optimizers are a pair here."""
        return len(self.first) == self.tests

    @cached_property
    def sign(self) -> Floats:
        """1: the first is better; -1: the second is; 0: neither is shown to be."""
        return signs_of(self.verdict)

    @property
    def decided(self) -> Bools:
        """Whether one of the two is better."""
        return self.sign != 0

    @property
    def undecided(self) -> Bools:
        return np.array([word == UNDECIDED for word in self.verdict], dtype=bool)

    def place(self, a: int, b: int) -> tuple[int, bool]:
        """Where a pair stands, and whether it stands there the other way round."""
        found = np.flatnonzero((self.first == min(a, b)) & (self.second == max(a, b)))
        if not len(found):
            raise KeyError((a, b))
        return int(found[0]), a > b

    def between(self, a: int, b: int) -> tuple[float, float, float, str]:
        """The probability that a beats b with its interval, and the verdict on a."""
        i, turned = self.place(a, b)
        value, lower, upper = float(self.improvement[i]), float(self.lower[i]), float(self.upper[i])
        word = self.verdict[i]
        if turned:
            value, lower, upper, word = 1 - value, 1 - upper, 1 - lower, TURNED.get(word, word)
        return value, lower, upper, word

    def matrix(self, values: Floats, mirrored: Floats | None = None, fill: float = np.nan) -> Floats:
        """(optimizers, optimizers): a figure of pairs both ways; `mirrored`: what it is the other way round."""
        k = int(self.second.max(initial=0)) + 1
        out = np.full((k, k), fill)
        out[self.first, self.second] = values
        out[self.second, self.first] = values if mirrored is None else mirrored
        return out


TURNED = {BETTER: WORSE, WORSE: BETTER}


def signs_of(verdict: list[str]) -> Floats:
    return np.array([1.0 if word == BETTER else -1.0 if word == WORSE else 0.0 for word in verdict])


def chosen_pairs(scores: Scores) -> tuple[Ints, Ints, int]:
    """First and second of every pair, and how many pairs there are; of very many, those with the leader."""
    k = len(scores.optimizers)
    if k <= MANY:
        return *all_pairs(k), k * (k - 1) // 2
    leader = by_score(scores)[0]
    others = np.delete(np.arange(k), leader)
    return np.minimum(leader, others), np.maximum(leader, others), k * (k - 1) // 2


def all_pairs(k: int) -> tuple[Ints, Ints]:
    first, second = np.triu_indices(k, 1)
    return first.astype(np.int64), second.astype(np.int64)


def pair_places(k: int) -> Ints:
    """(optimizers, optimizers): where a pair stands in `all_pairs`, either way round."""
    first, second = all_pairs(k)
    out = np.zeros((k, k), dtype=np.int64)
    out[first, second] = out[second, first] = np.arange(len(first))
    return out


def decide(
    found: Duels, levels: Levels, scope: str, alpha: float, tests: int, seed: Seed = 0, flips: int | None = None
) -> Simultaneous:
    """The simultaneous intervals of pairs that were all met on the same problems (docs/scores.md 5.3)."""
    if scope == "problems":
        shares = by_function(found.share, levels.function)
        return over_functions(shares, alpha=alpha, tests=tests, seed=seed, flips=flips)
    return over_trials(found, problem_weights(levels.function), alpha=alpha, tests=tests)


def compare_pairs(
    scores: Scores,
    trials: Scores,
    ranks: Floats,
    counts: Floats,
    *,
    scope: str,
    rope: float,
    alpha: float,
    seed: int,
    sequences: Simultaneous | None = None,
) -> Pairs:
    """The pairs of a complete cube (see `chosen_pairs`).

    trials, ranks: by what trials are ordered, and their ranks (problems, optimizers, trials); scores: of these problems
    or of some of them; counts: how often resamplings draw each function; scope: `problems` or `trials`. sequences: what
    decides all pairs, where it is not these trials taken together.
    """
    first, second, tests = chosen_pairs(scores)
    found = duels(ranks, first, second)
    over = Levels.of(trials)
    if sequences is None:
        made = decide(found, over, scope, alpha, tests, seed)
    else:
        place = pair_places(len(scores.optimizers))[first, second]
        made = Simultaneous(*(one[place] for one in sequences))
    levels = Levels.of(scores)
    apart = scores.means[:, first] - scores.means[:, second]
    unit = scale_of(scores)
    if scope == "problems":
        difference, lower, upper, _ = mean_intervals(levels.shares(apart), counts)
        other, _ = signed_rank_p(_rounded(levels.means(apart)).T)
        other_test = "Wilcoxon's signed ranks of functions"
        bayes = _bayes(by_function(found.share, over.function) - 0.5, rope, np.random.default_rng(seed))
    else:
        values = stratified_differences(scores.means, trial_variances(scores), scores.trials)
        difference, lower, upper = (one[first, second] for one in values)
        other, exact = stratified_mann_whitney(1.0 - found.share, *sizes_and_ties(ranks, first, second))
        other_test = f"Mann-Whitney within problems, {'exact' if exact else 'normal'}"
        bayes = np.full((len(first), 3), np.nan)
    return Pairs(
        first, second, made.value, made.lower, made.upper, made.p, verdicts(made.lower, made.upper, rope),
        *won_tied_lost(found.share, rope), found, difference / unit, lower / unit, upper / unit,
        holm(other, tests), bayes, other_test, scope, alpha, tests, sequences is not None,
    )  # fmt: skip


def compare_apart(trials: Scores, scopes: dict[tuple[int, int], str], *, rope: float, alpha: float, seed: int) -> Pairs:
    """Pairs where no problem has all optimizers: each on the problems that its two share, without means of scores."""
    k = len(trials.optimizers)
    first, second = all_pairs(k)
    tests = len(first)
    ranks = trials.ranked()
    found = duels(ranks, first, second)
    nothing = np.full(tests, np.nan)
    value, lower, upper, p = nothing.copy(), np.zeros(tests), np.ones(tests), np.ones(tests)
    for i, (a, b) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        shared = ~np.isnan(found.share[i])
        if not shared.any():
            continue
        mine = Duels(*(one[i : i + 1, shared] for one in found))
        one = decide(mine, Levels.of(trials.on(shared)), scopes[a, b], alpha, tests, seed)
        value[i], lower[i], upper[i], p[i] = one.value[0], one.lower[0], one.upper[0], one.p[0]
    scope = "trials" if "trials" in scopes.values() else "problems"
    return Pairs(
        first, second, value, lower, upper, p, verdicts(lower, upper, rope), *won_tied_lost(found.share, rope), found,
        nothing, nothing, nothing, nothing, np.full((tests, 3), np.nan), "", scope, alpha, tests,
    )  # fmt: skip


def won_tied_lost(share: Floats, rope: float) -> tuple[Ints, Ints, Ints]:
    """(pairs,) each, of shares (pairs, problems): problems that the first wins, that tie, that it loses."""
    edge = 1e-12
    with np.errstate(invalid="ignore"):
        won, lost = share > 0.5 + rope + edge, share < 0.5 - rope - edge
    return won.sum(axis=1), (~np.isnan(share) & ~won & ~lost).sum(axis=1), lost.sum(axis=1)


def sizes_and_ties(values: Floats, first: Ints, second: Ints) -> tuple[Ints, Ints, Floats]:
    """(pairs, problems) each: trials of the first, of the second, and `tie_sums` of both together."""
    count = np.sum(~np.isnan(values), axis=2)
    both = np.sort(np.concatenate((values[:, first], values[:, second]), axis=2), axis=2)  # NaN last
    return count[:, first].T, count[:, second].T, tie_sums(both).T


def trial_variances(scores: Scores) -> Floats:
    """(problems, optimizers): the variance over trials; 0 for a single trial."""
    n = scores.trials
    with np.errstate(invalid="ignore"):
        return np.nanvar(scores.values, axis=2) * n / np.maximum(n - 1, 1)


def _rounded(apart: Floats) -> Floats:
    """Differences of means that are rounding, and nothing else, made 0."""
    return np.where(np.abs(apart) <= 1e-12, 0.0, apart)


def _bayes(away: Floats, rope: float, rng: np.random.Generator) -> Floats:
    """(pairs, 3): the Bayesian signed-rank test of each; one set of weights of the functions serves all."""
    samples = BAYES if len(away) <= 200 else BAYES // 4
    weights = posterior_weights(away.shape[1], samples, rng)
    return np.array([signed_rank_votes(one, weights, rope) / samples for one in away]).reshape(-1, 3)
