"""Each optimizer over all problems: mean score, rank, interquartile mean, strength, Scott-Knott group.

See docs/scores.md 5.5 to 5.10.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from optarena.comparison.pairs import EQUAL, MANY, Pairs, by_mean, settled
from optarena.stats import estimates
from optarena.stats._result import Interval
from optarena.stats.aggregates import (
    iqm,
    iqm_of_counts,
    mean,
    median,
    optimality_gap,
    score_distribution,
    stratified_bootstrap,
)
from optarena.stats.bootstrap import interval_of_counts, mean_intervals
from optarena.stats.ranks import Friedman, Nemenyi, friedman, groups, nemenyi, ranks_of
from optarena.stats.scott_knott import PERMUTATIONS, ScottKnott, scott_knott
from optarena.stats.strengths import bradley_terry_interval
from optarena.traces import Floats, Ints
from optarena.views._scores import Scores

Ends = tuple[Floats, Floats, Floats]
"""Values (optimizers,) and the ends of their intervals."""

FEWER = 1000
"""Resamplings of each optimizer where there are very many of them."""
FEW_PERMUTATIONS = 399
"""Of Scott-Knott, where there are very many optimizers."""
TAU = np.linspace(0.0, 1.0, 51)


@dataclass(frozen=True)
class Overall:
    """All arrays are (optimizers,)."""

    score: Ends
    """The mean over problems of the mean over trials; less is better."""
    rank: Ends
    """The mean over problems of the rank of the mean score; 1 is best."""
    iqm: Ends
    """Of 1 - score, as rliable has it: more is better; `median` and `gap` (optimality gap) likewise."""
    median: Ends
    gap: Ends
    strength: Ends
    """Bradley-Terry: log odds of winning a problem, half a virtual win each way; more is better."""
    best_on: Ints
    """Problems on which nobody has a lesser mean."""
    group: Ints
    """Scott-Knott, 1 for the best."""
    order: Ints
    """Numbers of optimizers by mean score, the best first."""
    friedman: Friedman | None
    """None where there is one problem."""
    nemenyi: Nemenyi | None
    nemenyi_groups: list[list[int]]
    test_groups: list[list[int]]
    """Runs, by average rank, in which no pairwise test tells two apart; none where only some pairs were tested."""
    scott_knott: ScottKnott
    profile: Floats
    """(optimizers, tau): the part of the trials with 1 - score above tau, each problem counting the same."""
    intervals: str


def rate(
    scores: Scores, pairs: Pairs, counts: Floats, *, over: str, alpha: float, resamples: int, rng: np.random.Generator
) -> Overall:
    """Rate the optimizers of a complete cube."""
    means = settled(scores.means)
    k = len(scores.optimizers)
    ranks = ranks_of(means, axis=1)
    if k > MANY:
        resamples, counts = min(resamples, FEWER), counts[:FEWER]
    good = 1.0 - scores.values  # problems, optimizers, trials
    if over == "problems":
        score = mean_intervals(means, counts)
        iqms = _ends([interval_of_counts(partial(iqm_of_counts, good[:, o].T), counts) for o in range(k)])
        medians = _medians(1 - means)
        gap = mean_intervals(optimality_gap(good[..., None]), counts)[:3]  # of each problem by itself
        ends, how = score[:3], score[3]
    else:
        drawn = [
            {
                f: stratified_bootstrap(good[:, o].T, f, resamples=resamples, seed=rng)
                for f in (mean, iqm, median, optimality_gap)
            }
            for o in range(k)
        ]
        iqms, medians, gap = (_ends([one[f] for one in drawn]) for f in (iqm, median, optimality_gap))
        value, lower, upper = _ends([one[mean] for one in drawn])
        ends, how = (1 - value, 1 - upper, 1 - lower), f"percentiles, {resamples:,} resamplings of trials"
    rank = mean_intervals(ranks, counts)[:3] if over == "problems" else _alone(ranks.mean(axis=0))
    test = friedman(means) if len(means) > 1 and k > 1 else None
    post = nemenyi(means, alpha) if test is not None else None
    apart = pairs.matrix(pairs.decided.astype(float), fill=0.0) > 0 if k > 1 else np.zeros((1, 1), dtype=bool)
    knots = scott_knott(
        scores.values,
        scores.optimizers,
        over="functions" if over == "problems" else "trials",
        alpha=alpha,
        permutations=PERMUTATIONS if k <= MANY else FEW_PERMUTATIONS,
        seed=rng,
    )
    drawn_too = over == "problems" and k <= MANY  # each resampling is a system of k equations
    strength = bradley_terry_interval(_wins(means), counts if drawn_too else counts[:2])
    strength = strength if drawn_too else _alone(strength[0])
    return Overall(
        score=ends,
        rank=rank,
        iqm=iqms,
        median=medians,
        gap=gap,
        strength=strength,
        best_on=np.sum(means <= means.min(axis=1, keepdims=True) + EQUAL, axis=0),
        group=np.array([knots.ranks[name] for name in scores.optimizers], dtype=np.int64),
        order=by_mean(means),
        friedman=test,
        nemenyi=post,
        nemenyi_groups=[] if post is None else groups(post.ranks, post.p < alpha),
        test_groups=groups(rank[0], apart) if pairs.all_are_here else [],
        scott_knott=knots,
        profile=np.array([score_distribution(good[:, o].T, TAU) for o in range(k)]),
        intervals=how,
    )


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
