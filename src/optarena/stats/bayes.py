"""Bayesian tests over problems with a region of practical equivalence, the rope (docs/scores.md 5.8).

>>> bayesian_sign([1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 4.0, 5.0], rope=0.1, seed=1).better > 0.9
True

Three probabilities: that x is better (less, by more than the rope), that the two are equivalent, that x is worse.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from optarena.errors import OptarenaError
from optarena.stats._result import Seed, generator, paired
from optarena.traces import Floats, Ints

SAMPLES = 50_000
PRIOR = 0.5
"""The weight of the pseudo-problem without a difference; each problem has 1."""
CHUNK = 4_000_000


class Posterior(NamedTuple):
    """The probabilities that x is better than y, equivalent to it, or worse. Less is better."""

    better: float
    equivalent: float
    worse: float
    n: int
    samples: int


def bayesian_signed_rank(
    x: npt.ArrayLike,
    y: npt.ArrayLike | None = None,
    rope: float = 0.0,
    *,
    prior: float = PRIOR,
    samples: int = SAMPLES,
    seed: Seed = 0,
) -> Posterior:
    """Benavoli's signed-rank test: a Dirichlet process over differences y - x, one per problem (docs/scores.md 5.8).

    Each sample weighs the problems, and one pseudo-problem without a difference that has the weight `prior`; it votes
    for where the weighted mean of two differences mostly lies. Assumes independent problems. Without a rope nothing is
    equivalent, and a mean of exactly 0 counts half.
    """
    d = _differences(x, y, rope)
    votes = np.zeros(3)
    rng = generator(seed)
    block = max(1, CHUNK // (1 + len(d)))
    for start in range(0, samples, block):
        weights = problem_weights(len(d), min(block, samples - start), rng, prior)
        votes += signed_rank_votes(d, weights, rope)
    better, equivalent, worse = (votes / samples).tolist()
    return Posterior(better, equivalent, worse, len(d), samples)


def problem_weights(n: int, samples: int, rng: np.random.Generator, prior: float = PRIOR) -> Floats:
    """(1 + problems, samples): Dirichlet weights of the pseudo-problem and of n problems (docs/scores.md 5.8)."""
    weights = rng.standard_gamma(np.append(prior, np.ones(n)), size=(samples, 1 + n))
    return np.ascontiguousarray((weights / weights.sum(axis=1, keepdims=True)).T)


def signed_rank_votes(d: Floats, weights: Floats, rope: float) -> Floats:
    """How many of the weightings (1 + problems, samples) vote for better, equivalent, worse (docs/scores.md 5.8).

    The first weight is the prior's, and differences above 0 speak for better.
    """
    d = np.append(0.0, d)
    order = np.argsort(d, kind="stable")
    d, w = d[order], weights[order]
    # in sorted order the partners of each difference that lift their sum over the rope are a tail
    right = _weight(w, _tails(d, 2 * rope))
    left = _weight(w[::-1], _tails(-d[::-1], 2 * rope))
    middle = 1 - left - right if rope > 0 else np.full(w.shape[1], -1.0)
    even = np.isclose(right, left, rtol=0, atol=1e-12) & (right > middle)  # no difference at all, and no rope
    found = np.argmax(np.column_stack((right, middle, left)), axis=1)[~even]
    return np.bincount(found, minlength=3) + np.array([0.5, 0.0, 0.5]) * np.count_nonzero(even)


def bayesian_sign(
    x: npt.ArrayLike,
    y: npt.ArrayLike | None = None,
    rope: float = 0.0,
    *,
    prior: float = 1.0,
    samples: int = SAMPLES,
    seed: Seed = 0,
) -> Posterior:
    """The sign test with a Dirichlet posterior over better, equivalent, worse; the prior's weight lies in the rope.

    Counts problems, whatever the sizes of their differences. Assumes independent problems. See docs/scores.md 5.8.
    """
    d = _differences(x, y, rope)
    counts = np.array([np.sum(d > rope), np.sum(np.abs(d) <= rope) + prior, np.sum(d < -rope)], dtype=float)
    weights = generator(seed).standard_gamma(counts + 1e-4, size=(samples, 3))
    better, equivalent, worse = (np.bincount(np.argmax(weights, axis=1), minlength=3) / samples).tolist()
    return Posterior(better, equivalent, worse, len(d), samples)


def _differences(x: npt.ArrayLike, y: npt.ArrayLike | None, rope: float) -> Floats:
    """y - x: above 0 where x is better."""
    if not rope >= 0:
        raise OptarenaError(f"a region of practical equivalence is 0 or wider; got {rope}")
    return -paired(x, y)


def _tails(d: Floats, threshold: float) -> tuple[Ints, Ints]:
    """For each of the ascending d: from which place on its sum with another exceeds the threshold, or reaches it."""
    if len(d) <= 512:  # sums are compared, as the definition does, rounding included
        sums = d[:, None] + d[None, :]
        return np.sum(sums <= threshold, axis=1), np.sum(sums < threshold, axis=1)
    return np.searchsorted(d, threshold - d, "right"), np.searchsorted(d, threshold - d, "left")


def _weight(weights: Floats, tails: tuple[Ints, Ints]) -> Floats:
    """(samples,): the weight of all pairs whose sum exceeds the threshold; those that equal it count half."""
    upto = np.concatenate((np.zeros((1, weights.shape[1])), np.cumsum(weights, axis=0)))
    tail = upto[-1] - (upto[tails[0]] + upto[tails[1]]) / 2
    return np.einsum("ij,ij->j", weights, tail)
