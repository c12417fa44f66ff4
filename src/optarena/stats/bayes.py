"""Bayesian tests over problems with a region of practical equivalence, the rope (SCORES 5).

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
from optarena.traces import Floats

SAMPLES = 50_000
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
    prior: float = 0.5,
    samples: int = SAMPLES,
    seed: Seed = 0,
) -> Posterior:
    """Benavoli's signed-rank test: a Dirichlet process over the differences y - x, one a problem.

    Each sample weighs the problems, and one pseudo-problem without a difference that has the weight `prior`; it votes
    for where the weighted mean of two differences mostly lies. Assumes independent problems. Without a rope nothing is
    equivalent, and a mean of exactly 0 counts half.
    """
    d = np.concatenate(([0.0], _differences(x, y, rope)))
    order = np.argsort(d, kind="stable")
    d = d[order]
    alpha = np.where(order == 0, prior, 1.0)
    # in sorted order the partners of each difference that lift their sum over the rope are a tail
    above = _tails(d, 2 * rope)
    below = _tails(-d[::-1], 2 * rope)
    votes = np.zeros(3)
    rng = generator(seed)
    for start in range(0, samples, max(1, CHUNK // len(d))):
        times = min(max(1, CHUNK // len(d)), samples - start)
        weights = rng.standard_gamma(alpha, size=(times, len(d)))
        weights /= weights.sum(axis=1, keepdims=True)
        right, left = _weight(weights, above), _weight(weights[:, ::-1], below)
        middle = 1 - left - right if rope > 0 else np.full(times, -1.0)
        votes += np.bincount(np.argmax(np.column_stack((right, middle, left)), axis=1), minlength=3)
    better, equivalent, worse = (votes / samples).tolist()
    return Posterior(better, equivalent, worse, len(d) - 1, samples)


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

    Counts problems, whatever the sizes of their differences. Assumes independent problems.
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


def _tails(d: Floats, threshold: float) -> tuple[np.ndarray, np.ndarray]:
    """For each of the ascending d: from which place on its sum with another exceeds the threshold, or equals it."""
    need = threshold - d
    # sums, not differences, are compared: as the definition does, rounding included
    sums = d[:, None] + d[None, :] if len(d) <= 512 else None
    if sums is not None:
        return np.sum(sums <= threshold, axis=1), np.sum(sums < threshold, axis=1)
    return np.searchsorted(d, need, "right"), np.searchsorted(d, need, "left")


def _weight(weights: Floats, tails: tuple[np.ndarray, np.ndarray]) -> Floats:
    """The weight of all pairs whose sum exceeds the threshold; those that equal it count half."""
    upto = np.concatenate((np.zeros((len(weights), 1)), np.cumsum(weights, axis=1)), axis=1)
    total = upto[:, -1:]
    tail = total - (upto[:, tails[0]] + upto[:, tails[1]]) / 2
    return np.einsum("ij,ij->i", weights, tail)
