"""One number for an optimizer over all problems, as rliable has them: IQM, mean, median, optimality gap, profiles.

>>> import numpy as np
>>> iqm(np.arange(8.0).reshape(4, 2))
3.5

Arrays are (trials, problems), more is better (a score that is to be minimised enters as 1 - score); axes before these
two are kept, so that all resamplings are one call. NaN is a trial that is not there (docs/scores.md 5.10).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from optarena.errors import OptarenaError
from optarena.stats._result import LEVEL, RESAMPLES, Interval, Seed, generator, percentile_ends
from optarena.stats.bootstrap import OVER, mean_of_means, resampled, trial_means
from optarena.stats.effects import a12_of, draw_weights, ordering, weighted_a12
from optarena.traces import Floats, product

TRIMMED = 0.25
BLOCKS = 64
CACHED = 50_000
"""Values that are trimmed at once: what they need fits into a processor's cache."""


def iqm(x: npt.ArrayLike) -> Any:
    """The interquartile mean: of all values but the lowest and the highest quarter (each rounded down), pooled.

    See docs/scores.md 5.10.
    """
    data = np.asarray(x, dtype=float)
    if not data.size or np.isnan(data).all(axis=(-1, -2)[: data.ndim]).any():
        raise OptarenaError("an interquartile mean needs at least one value")
    pooled = data.reshape(-1, int(np.prod(data.shape[-2:])))
    step = max(1, CACHED // pooled.shape[1])
    parts = (np.sort(pooled[start : start + step], axis=-1) for start in range(0, len(pooled), step))  # NaN last
    found = np.concatenate([_trimmed_mean(part, ~np.isnan(part)) for part in parts])
    return _plain(found.reshape(data.shape[:-2]))


def mean(x: npt.ArrayLike) -> Any:
    """The mean over problems of each one's mean over trials (docs/scores.md 5.10)."""
    return _plain(mean_of_means(_by_problem(x)))


def median(x: npt.ArrayLike) -> Any:
    """The median over problems of each one's mean over trials (docs/scores.md 5.10)."""
    return _plain(np.median(trial_means(_by_problem(x)), axis=-1))


def optimality_gap(x: npt.ArrayLike, threshold: float = 1.0) -> Any:
    """By how much values stay below a threshold on average, those above it counting as it; less is better.

    See docs/scores.md 5.10.
    """
    return _plain(threshold - mean_of_means(np.minimum(_by_problem(x), threshold)))


def probability_of_improvement(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """The mean over problems of P(X > Y) + P(X = Y)/2 over trials: how often x does better on a random problem.

    `improvement_interval` has its interval. See docs/scores.md 5.2.
    """
    a, b = _table(x), _table(y)
    if a.shape[1] != b.shape[1]:
        raise OptarenaError(f"both have one column per problem; got {a.shape[1]} and {b.shape[1]} problems")
    return float(a12_of(a.T, b.T).mean())


def score_distribution(x: npt.ArrayLike, tau: npt.ArrayLike) -> Floats:
    """For each tau the part of all trials with a score above it, each problem counting the same (a profile).

    See docs/scores.md 5.10.
    """
    data = _table(x)
    at = np.asarray(tau, dtype=float)
    above = np.where(np.isnan(data)[:, :, None], np.nan, data[:, :, None] > at)
    return np.nanmean(above, axis=0).mean(axis=0)


def average_score_distribution(x: npt.ArrayLike, tau: npt.ArrayLike) -> Floats:
    """For each tau the part of the problems whose mean score lies above it (docs/scores.md 5.10)."""
    return np.mean(trial_means(_table(x).T)[:, None] > np.asarray(tau, dtype=float)[None, :], axis=0)


def stratified_bootstrap(
    x: npt.ArrayLike,
    aggregate: Callable[[Any], Any] = iqm,
    *,
    over: str = "trials",
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    seed: Seed = 0,
) -> Interval:
    """Any aggregate with its percentile interval: trials are resampled within each problem, as rliable does it.

    over: `trials` speaks of new trials on these problems; `problems` resamples problems with their trials whole.
    See docs/scores.md 5.5.
    """
    if over not in OVER:
        raise OptarenaError(f"an interval is over {', '.join(OVER)}; got {over!r}")
    data = _table(x)
    value = float(aggregate(data))
    n = int(np.max(np.sum(~np.isnan(data), axis=0))) if over == "trials" else data.shape[1]
    if n < 2:
        return Interval(value, -np.inf, np.inf, n, "percentile", f"one {over.rstrip('s')}: no interval")
    drawn = resampled(
        _first(data.T), lambda d: aggregate(np.swapaxes(d, -1, -2)), over, resamples, generator(seed)
    )[0]  # fmt: skip
    lower, upper = percentile_ends(drawn, level)
    return Interval(value, float(lower), float(upper), n, f"percentiles of {resamples:,} resamplings of {over}")


def improvement_interval(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    resamples: int = 2000,
    level: float = LEVEL,
    seed: Seed = 0,
) -> Interval:
    """The probability of improvement with its interval from resampling the trials of both within each problem.

    See docs/scores.md 5.2, 5.5.
    """
    value = probability_of_improvement(x, y)
    a, b = _first(_table(x).T), _first(_table(y).T)
    rng = generator(seed)
    total = np.zeros(resamples)
    for p, q in zip(a, b, strict=True):
        p, q = p[~np.isnan(p)], q[~np.isnan(q)]
        total += weighted_a12(ordering(p, q), *(draw_weights(len(s), resamples, rng) for s in (p, q)))
    lower, upper = percentile_ends(total / len(a), level)
    method = f"percentiles of {resamples:,} resamplings of trials"
    return Interval(value, float(lower), float(upper), len(a), method)


def iqm_of_counts(x: Floats, counts: Floats) -> Floats:
    """(resamples,): the IQM where problem p of x (trials, problems) is drawn counts[:, p] times.

    See docs/scores.md 5.10.
    """
    blocks = _Blocks(x)
    step = max(1, CACHED // blocks.values.shape[1])
    parts = (counts[start : start + step] for start in range(0, len(counts), step))
    return np.concatenate([_trimmed_mean(*blocks.drawn(part)) for part in parts])


def _trimmed_mean(ordered: Floats, weight: npt.NDArray[Any]) -> Floats:
    """(…): the mean of the middle half of sorted values (…, n), of which each counts `weight` times, a whole number.

    The IQM (docs/scores.md 5.10).
    """
    upto = np.cumsum(weight, axis=-1, dtype=float)
    total = upto[..., -1:]
    cut = np.floor(TRIMMED * total)
    inside = np.diff(np.maximum(np.minimum(upto, total - cut), cut), axis=-1, prepend=cut)
    kept = np.where(inside > 0, ordered, 0.0)  # what is trimmed may be infinite
    return np.sum(kept * inside, axis=-1) / (total - 2 * cut)[..., 0]


class _Blocks:
    """The sorted values of (trials, problems) in blocks, to find trimmed means of many resamplings of problems.

    A product of matrices gives the weight and the sum of every block in every resampling. Only the two blocks in which
    the trimming ends are looked into; what lies between them counts as its mean.
    """

    def __init__(self, x: Floats) -> None:
        problems = x.shape[1]
        there = ~np.isnan(x.ravel())
        order = np.argsort(x.ravel()[there], kind="stable")
        values, owner = x.ravel()[there][order], np.tile(np.arange(problems), len(x))[there][order]
        wide = -(-len(values) // BLOCKS)
        block = np.arange(len(values)) // wide
        pad = BLOCKS * wide - len(values)
        self.values = np.append(values, np.zeros(pad)).reshape(BLOCKS, wide)
        self.owners = np.append(owner, np.full(pad, problems)).reshape(BLOCKS, wide)  # padding: a problem never drawn
        self.weight, self.total = np.zeros((2, problems, BLOCKS + 1))
        np.add.at(self.weight, (owner, block + 1), 1.0)
        np.add.at(self.total, (owner, block + 1), values)

    def drawn(self, counts: Floats) -> tuple[Floats, Floats]:
        """Few sorted values and weights (resamples, …) with the same trimmed mean as all that are drawn."""
        upto, sums = (
            np.cumsum(product(counts, each), axis=1) for each in (self.weight, self.total)
        )  # before each block
        n = np.rint(upto[:, -1])
        cut = np.floor(TRIMMED * n)
        low, high = (np.minimum(np.sum(upto[:, 1:] < k[:, None] - 0.5, axis=1), BLOCKS - 1) for k in (cut, n - cut))
        row, two = np.arange(len(n)), low < high
        middle, middle_sum = (np.where(two, each[row, high] - each[row, low + 1], 0.0) for each in (upto, sums))
        counts = np.column_stack((counts, np.zeros(len(counts))))
        in_low, in_high = (counts[row[:, None], self.owners[one]] for one in (low, high))
        none = np.zeros(len(n))
        return (
            np.column_stack((none, self.values[low], middle_sum / np.maximum(middle, 1), self.values[high], none)),
            np.column_stack((upto[row, low], in_low, middle, in_high * two[:, None], n - upto[row, high + 1])),
        )


def _first(data: Floats) -> Floats:
    """Trials that are there before those that are not: (problems, trials)."""
    return np.take_along_axis(data, np.argsort(np.isnan(data), axis=1, kind="stable"), axis=1)


def _by_problem(x: npt.ArrayLike) -> Floats:
    """(…, problems, trials) of (…, trials, problems), each problem with a trial."""
    data = np.asarray(x, dtype=float)
    data = np.swapaxes(data[:, None] if data.ndim == 1 else data, -1, -2)
    if not data.size or np.isnan(data).all(axis=-1).any():
        raise OptarenaError("a problem has no trial: leave it out")
    return data


def _table(x: npt.ArrayLike) -> Floats:
    data = np.asarray(x, dtype=float)
    data = data[:, None] if data.ndim == 1 else data
    if data.ndim != 2 or not data.size:
        raise OptarenaError(f"scores are (trials, problems); got the shape {data.shape}")
    if np.isnan(data).all(axis=0).any():
        raise OptarenaError(f"problem {int(np.argmax(np.isnan(data).all(axis=0)))} has no trial: leave it out")
    return data


def _plain(value: Any) -> Any:
    return float(value) if np.ndim(value) == 0 else value
