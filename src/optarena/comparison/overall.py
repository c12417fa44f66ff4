"""Each optimizer over all problems: mean score, rank, interquartile mean, strength, Scott-Knott group.

See docs/scores.md 5.5 to 5.10.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from optarena.comparison.pairs import MANY, Levels, Pairs
from optarena.stats import estimates
from optarena.stats._result import Interval
from optarena.stats.aggregates import (
    iqm,
    iqm_of_counts,
    median,
    optimality_gap,
    score_distribution,
    stratified_bootstrap,
)
from optarena.stats.bootstrap import interval_of_counts, mean_intervals
from optarena.stats.diagram import TESTS, RankDiagram, rank_diagram
from optarena.stats.ranks import Friedman, friedman, ranks_of
from optarena.stats.scott_knott import PERMUTATIONS, ScottKnott, scott_knott
from optarena.stats.strengths import bradley_terry_interval
from optarena.traces import Floats, Ints
from optarena.views._scores import Scores
from optarena.views.ranking import Ends, by_score, main_score, settled

SOME = 20
"""Beyond so many optimizers what costs much per pair is resampled less."""
FEWER = 1000
"""Resamplings of each optimizer where there are very many of them."""
FEW_PERMUTATIONS = 399
"""Of Scott-Knott, where there are very many optimizers."""
TAU = np.linspace(0.0, 1.0, 51)


@dataclass(frozen=True)
class Details:
    """What costs more than the main score. All arrays are (optimizers,)."""

    rank: Ends
    """The mean over functions of the rank of the mean score; 1 is best."""
    iqm: Ends
    """Of 1 - score, as rliable has it: more is better; `median` and `gap` (optimality gap) likewise."""
    median: Ends
    gap: Ends
    strength: Ends
    """Bradley-Terry: log odds of winning a problem, half a virtual win each way; more is better."""
    best_on: Ints
    """Problems on which no optimizer has a lower mean."""
    group: Ints
    """Scott-Knott, 1 for the best."""
    friedman: Friedman | None
    """None where there is one function."""
    diagrams: dict[str, RankDiagram]
    """Bars of the critical-difference diagram by test, Wilcoxon-Holm and Nemenyi; none where there is one function."""
    scott_knott: ScottKnott
    profile: Floats
    """(optimizers, tau): the part of the trials with 1 - score above tau, each problem counting the same."""


@dataclass(frozen=True)
class Overall:
    """All arrays are (optimizers,). `details` are computed when they are asked for."""

    score: Ends
    """The view's main score: the mean over problems of the mean over trials, in units of random search's own where
    the view has one; less is better. Its interval stays within what is possible; NaN where it has no end."""
    order: Ints
    """Numbers of optimizers by mean score, the best first."""
    intervals: str
    find_details: Callable[[], Details]

    @cached_property
    def details(self) -> Details:
        return self.find_details()


def rate(
    scores: Scores,
    trials: Scores,
    placed: Floats,
    pairs: Pairs,
    counts: Floats,
    *,
    alpha: float,
    resamples: int,
    rng: np.random.Generator,
) -> Overall:
    """Rate the optimizers of a complete cube.

    trials, placed: by what trials are ordered, and their ranks; counts: how often resamplings draw each function.
    """

    def details() -> Details:
        return _details(scores, trials, placed, pairs, counts, alpha=alpha, resamples=resamples, rng=rng)

    return Overall(main_score(scores, pairs.scope), by_score(scores), f"95 % over {pairs.scope}", details)


def _details(
    scores: Scores,
    trials: Scores,
    placed: Floats,
    pairs: Pairs,
    counts: Floats,
    *,
    alpha: float,
    resamples: int,
    rng: np.random.Generator,
) -> Details:
    means = settled(scores.means)
    k = len(scores.optimizers)
    levels = Levels.of(scores)
    functions = settled(levels.means(means))
    ranks = ranks_of(functions, axis=1)
    if k > MANY:
        resamples, counts = min(resamples, FEWER), counts[:FEWER]
    good = 1.0 - scores.values  # problems, optimizers, trials
    over_functions = pairs.scope == "problems"
    if over_functions:
        iqms = _ends(
            [interval_of_counts(partial(_iqm_of_functions, good[:, o].T, levels.function), counts) for o in range(k)]
        )
        medians = _medians(1 - means)
        gap = mean_intervals(levels.shares(optimality_gap(good[..., None])), counts)[:3]  # of each problem by itself
    else:
        drawn = [
            {
                f: stratified_bootstrap(good[:, o].T, f, resamples=resamples, seed=rng)
                for f in (iqm, median, optimality_gap)
            }
            for o in range(k)
        ]
        iqms, medians, gap = (_ends([one[f] for one in drawn]) for f in (iqm, median, optimality_gap))
    rank = mean_intervals(ranks, counts)[:3] if over_functions else _alone(ranks.mean(axis=0))
    several = len(functions) > 1
    knots = scott_knott(
        placed,
        scores.optimizers,
        functions=trials.functions,
        over="functions" if over_functions else "trials",
        alpha=alpha,
        permutations=PERMUTATIONS if k <= MANY else FEW_PERMUTATIONS,
        seed=rng,
    )
    drawn_too = over_functions and k <= MANY  # each resampling is a system of k equations
    strength = bradley_terry_interval(
        levels.means(_wins(means)), counts[: FEWER if k > SOME else None] if drawn_too else counts[:2]
    )
    strength = strength if drawn_too else _alone(strength[0])
    return Details(
        rank=rank,
        iqm=iqms,
        median=medians,
        gap=gap,
        strength=strength,
        best_on=np.sum(means <= means.min(axis=1, keepdims=True), axis=0),
        group=np.array([knots.ranks[name] for name in scores.optimizers], dtype=np.int64),
        friedman=friedman(functions) if several else None,
        diagrams={test: rank_diagram(functions, test=test, alpha=alpha) for test in TESTS} if several else {},
        scott_knott=knots,
        profile=np.array([score_distribution(good[:, o].T, TAU) for o in range(k)]),
    )


def _iqm_of_functions(good: Floats, function: Ints, counts: Floats) -> Floats:
    """(resamples,): the IQM where each function is drawn so often, with all its problems."""
    return iqm_of_counts(good, counts[:, function])


def _alone(values: Floats) -> Ends:
    """Figures of problems, which have no interval over trials."""
    nothing = np.full(len(values), np.nan)
    return values, nothing, nothing


def _medians(values: Floats) -> Ends:
    """Of each column, with the interval that holds for any distribution: few problems give infinite ends.

    See docs/scores.md 1.2.
    """
    found = estimates.median(values.T)
    return np.median(values, axis=0), found.lower, found.upper


def _ends(intervals: list[Interval]) -> Ends:
    return (
        np.array([one.value for one in intervals]),
        np.array([one.lower for one in intervals]),
        np.array([one.upper for one in intervals]),
    )


def _wins(means: Floats) -> Floats:
    """(problems, optimizers, optimizers): 1 where the row's mean is less, 1/2 where they are equal."""
    a, b = means[:, :, None], means[:, None, :]
    out = (a < b) + 0.5 * (a == b)
    return out * (1 - np.eye(means.shape[1]))
