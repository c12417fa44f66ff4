"""Probability of improvement: how often a trial of one optimizer beats a trial of another (docs/scores.md 5.3).

>>> import numpy as np
>>> values = np.array([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]])  # one problem, two optimizers, three trials; less is better
>>> duels(values, np.array([0]), np.array([1])).share
array([[1.]])

A pair (i, j) is read "i against j". Intervals hold for all pairs together, never leave [0, 1], and decide: the first is
better where its interval lies above 0.5.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from optarena.stats._result import Seed, generator
from optarena.stats.effects import ordering, share_from_counts
from optarena.stats.estimates import effective_freedom
from optarena.traces import Floats, Ints

ROPE = 0.06
"""Probabilities of improvement from 0.44 to 0.56 are equivalent in practice (negligible, Vargha and Delaney 2000)."""
BETTER, WORSE, EQUIVALENT, UNDECIDED = "better", "worse", "equivalent", "undecided"
ENUMERATED = 13
"""Up to so many functions every pattern of signs is tried; beyond, random ones."""
FLIPS = (5_000, 20_000)
"""Random patterns of signs, at least and at most; they are the same for all data, so a few would favour one side."""
FLIP_WORK = 400_000_000
"""Multiplications that more than the least may cost."""
APART = 0.006
"""How far from 0.5 the end of an interval stays where the test of signs has excluded 0.5."""
ROUNDED = 12
"""Decimals of a mean share that mean anything: sums in another order differ beyond."""
WORK = 4_000_000
"""Comparisons of single trials that are made at once."""
Counts = npt.NDArray[np.integer[Any]]


class Duels(NamedTuple):
    """Trials of pairs against each other, problem by problem; all arrays are (pairs, problems)."""

    share: Floats
    """How often a trial of the first has the lesser value; ties count half."""
    variance: Floats
    """Of the share, over trials."""
    squares: Floats
    """For the degrees of freedom: the sum of squared variances, each divided by its own."""


class Simultaneous(NamedTuple):
    """Probabilities of improvement (pairs,) with intervals and p-values that hold for all pairs together."""

    value: Floats
    lower: Floats
    upper: Floats
    p: Floats


def duels(values: Floats, first: Ints, second: Ints) -> Duels:
    """Every trial of the first of each pair against every trial of the second (docs/scores.md 5.3).

    values: (problems, optimizers, trials), less is better; NaN is a missing trial, inf loses to every number and ties
    with inf. NaN where one of the two has no trial. The variance is that of the placements of trials, to which half a
    trial at each end of the scale is added: two samples that do not overlap still have one.
    """
    problems, optimizers, trials = values.shape
    if trials * len(first) > 4 * optimizers**2:  # many trials: count, rather than compare each with each
        return _of_placements(values, first, second, *placements(values, first, second))
    block = max(1, WORK // max(1, problems * trials * trials))
    parts = [_duels(values, first[at : at + block], second[at : at + block]) for at in range(0, len(first), block)]
    if not parts:
        return Duels(*(np.empty((0, problems)) for _ in range(3)))
    return Duels(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _duels(values: Floats, first: Ints, second: Ints) -> Duels:
    x, y = _sides(values, first, second)
    order = ordering(x, y)  # 1: the trial of the first has the greater value, so it loses
    lost, won = (order.sum(axis=axis, dtype=np.int64) for axis in (-1, -2))
    return _of_placements(values, first, second, lost, won)


def _sides(values: Floats, first: Ints, second: Ints) -> tuple[Floats, Floats]:
    """(pairs, problems, trials): the values of the first and of the second of each pair."""
    x, y = (np.swapaxes(values[:, which], 0, 1) for which in (first, second))
    return x, y


def _of_placements(values: Floats, first: Ints, second: Ints, lost: Counts, won: Counts) -> Duels:
    x, y = _sides(values, first, second)
    here, there = ~np.isnan(x), ~np.isnan(y)
    n, m = here.sum(axis=-1), there.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        away = [
            np.where(here, -0.5 * lost / m[..., None], 0.0),
            np.where(there, -0.5 * won / n[..., None], 0.0),
        ]
        each = [_variance(one, size) / size for one, size in zip(away, (n, m), strict=True)]
        squares = sum(v**2 / np.maximum(size - 1, 1) for v, size in zip(each, (n, m), strict=True))
    missing = (n == 0) | (m == 0)
    share = share_from_counts(-lost.sum(axis=-1, dtype=np.int64), n, m)
    return Duels(share, np.where(missing, np.nan, each[0] + each[1]), np.where(missing, np.nan, squares))


def placements(values: Floats, first: Ints, second: Ints) -> tuple[Counts, Counts]:
    """(pairs, problems, trials) each: of every trial of the first, how many more trials of the second it loses to than
    it beats; of every trial of the second, how many more of the first it beats than it loses to. 0 where it is missing.

    Values are sorted once for each problem, and trials counted up to each of them: the work does not grow with the
    square of the trials.
    """
    problems, optimizers, trials = values.shape
    lost, won = np.zeros((2, len(first), problems, trials), dtype=np.int32)
    width = optimizers * trials + 1
    block = max(1, WORK // max(1, optimizers * width))
    for at in range(0, problems, block):
        code = _codes(values[at : at + block])
        rows = len(code) * optimizers
        place = np.arange(rows)[:, None] * width + code.reshape(rows, trials)
        count = np.bincount(place.ravel(), minlength=rows * width).reshape(rows, width).astype(np.int32)
        count[:, 0] = 0  # missing trials
        upto = np.cumsum(count, axis=1, dtype=np.int32)
        more = 2 * upto - count - upto[:, -1:]  # those below each value, less those above it
        more[:, 0] = 0
        flat, step = more.reshape(len(code), optimizers * width), width * np.arange(optimizers)
        for p, (table, mine) in enumerate(zip(flat, code, strict=True), at):
            lost[:, p] = table[step[second, None] + mine[first]]
            won[:, p] = table[step[first, None] + mine[second]]
    return lost, -won


def _codes(values: Floats) -> Ints:
    """(problems, optimizers, trials): 1 for the least values of a problem, 2 for the next, …; 0 where it is NaN."""
    flat = values.reshape(len(values), -1)
    order = np.argsort(flat, axis=1, kind="stable")  # NaN last
    ordered = np.take_along_axis(flat, order, axis=1)
    rises = np.column_stack((np.ones(len(flat), dtype=bool), ordered[:, 1:] != ordered[:, :-1]))
    codes = np.empty(flat.shape, dtype=np.int64)
    np.put_along_axis(codes, order, np.where(np.isnan(ordered), 0, np.cumsum(rises, axis=1)), axis=1)
    return codes.reshape(values.shape)


def shares_without(values: Floats, first: Ints, second: Ints) -> Floats:
    """(trials, pairs, problems): the shares of `duels` where the first trial of every cell is left out, the second, …

    NaN where nothing is left."""
    x, y = _sides(values, first, second)
    here, there = ~np.isnan(x), ~np.isnan(y)
    n, m = (one.sum(axis=-1, keepdims=True) - one for one in (here, there))
    lost, won = placements(values, first, second)
    itself = (y < x).astype(np.int64) - (y > x)
    left = lost.sum(axis=-1, keepdims=True) - lost - won + itself
    return np.moveaxis(share_from_counts(-left, n, m), -1, 0)


def _variance(away: Floats, n: npt.ArrayLike) -> Floats:
    """(…): of n probabilities (…, n), given less 0.5, with half an observation at 0 and half a one at 1."""
    size = np.asarray(n) + 1.0
    out: Floats = (np.sum(away**2, axis=-1) + 0.25) / size - (away.sum(axis=-1) / size) ** 2
    return np.maximum(out, 0.0)


def by_function(share: Floats, function: Ints) -> Floats:
    """(pairs, functions): the mean over the problems of each function, of (pairs, problems) (docs/scores.md 5.3)."""
    count = int(function.max(initial=-1)) + 1
    total = np.zeros((count, len(share)))
    np.add.at(total, function, share.T)
    return total.T / np.bincount(function, minlength=count)


def problem_weights(function: Ints) -> Floats:
    """(problems,): what a problem counts where every function counts the same; they sum to 1."""
    sizes = np.bincount(function)
    return 1.0 / (sizes[function] * len(sizes))


def enough_functions(functions: int, pairs: int, alpha: float = 0.05) -> bool:
    """Whether so many functions could decide a pair among so many at all: 6 for one, 9 for ten (docs/scores.md 5.3)."""
    return pairs * 2.0 ** (1 - functions) <= alpha


def over_functions(
    shares: Floats, *, alpha: float = 0.05, tests: int | None = None, seed: Seed = 0, flips: int | None = None
) -> Simultaneous:
    """The mean over functions of shares (pairs, functions), for claims about similar problems (docs/scores.md 5.3).

    Decided by flipping signs: under the null a function is as likely to favour one optimizer as the other, so all pairs
    are flipped together, function by function, and the greatest statistic of all pairs counts. The ends of intervals
    are the wider of a t interval and a binomial interval, kept on their side of 0.5 by that decision. tests: how many
    pairs there are, where these are only some: those are corrected by Bonferroni. flips: random patterns of signs;
    by default as many as are quickly tried.
    """
    pairs, n = shares.shape
    tests = pairs if tests is None else tests
    value = np.round(shares.mean(axis=1), ROUNDED)
    away = shares - 0.5
    centre = 0.5 + away.sum(axis=1) / (n + 1)
    variance = _variance(away, n)
    tail = alpha / (2 * max(1, tests))
    error = np.sqrt(variance / n)
    half = special.stdtrit(max(n - 1, 1), 1 - tail) * error
    worth = n * centre * (1 - centre) / variance  # so many draws of 0 or 1 would vary as much
    low, high = _binomial(value, worth, tail)
    lower, upper = np.minimum(centre - half, low), np.maximum(centre + half, high)
    if tests == pairs:
        p = flipped_p(away, seed, flips)
    else:
        student = 2 * special.stdtr(max(n - 1, 1), -np.abs(centre - 0.5) / error)
        p = np.minimum(1.0, tests * np.maximum(student, _binomial_p(value, worth)))
    return Simultaneous(value, *_decided(value, lower, upper, p <= alpha), p)


def flipped_p(away: Floats, seed: Seed = 0, flips: int | None = None) -> Floats:
    """(pairs,): p-values of shares less 0.5 (pairs, functions), corrected for all pairs, by flipping signs.

    The statistic of a pair is |sum| / sqrt(sum of squares + 1/4): a monotone function of its t. See docs/scores.md 5.3.
    """
    n = away.shape[1]
    if flips is None:
        flips = int(np.clip(FLIP_WORK // max(1, away.size), *FLIPS))
    scaled = away / np.sqrt(np.sum(away**2, axis=1) + 0.25)[:, None]
    seen = np.abs(scaled.sum(axis=1)) * (1 - 1e-9)
    greatest = np.concatenate([np.abs(scaled @ signs.T).max(axis=0, initial=0.0) for signs in _signs(n, seed, flips)])
    greatest.sort()
    return 1.0 - np.searchsorted(greatest, seen, "left") / len(greatest)


def _signs(n: int, seed: Seed, flips: int) -> list[Floats]:
    """Patterns of signs (flips, n) in blocks, the data's own among them; the first sign stays: |sum| is symmetric."""
    return _same_signs(n, seed, flips) if isinstance(seed, int) else _drawn_signs(n, seed, flips)


def _drawn_signs(n: int, seed: Seed, flips: int) -> list[Floats]:
    if n <= ENUMERATED:
        number = np.arange(2 ** (n - 1))
        return [np.where((number[:, None] << 1 >> np.arange(n)) & 1, -1.0, 1.0)]
    rng = generator(seed)
    blocks = [np.where(rng.integers(0, 2, (1000, n)), -1.0, 1.0) for _ in range(max(1, flips // 1000))]
    blocks[0][0] = 1.0
    return blocks


_same_signs = lru_cache(maxsize=4)(_drawn_signs)
"""A seed gives the same patterns each time: whoever leaves out one thing after another needs them often."""


def over_trials(found: Duels, weights: Floats, *, alpha: float = 0.05, tests: int | None = None) -> Simultaneous:
    """The weighted mean over problems, for claims about just these problems: what varies is the trials.

    t intervals with Welch and Satterthwaite's degrees of freedom, corrected by Bonferroni (docs/scores.md 5.3).
    """
    tests = len(found.share) if tests is None else tests
    value = np.round(found.share @ weights, ROUNDED)
    variance = found.variance @ weights**2
    freedom = effective_freedom(variance, found.squares @ weights**4)
    error = np.sqrt(variance)
    half = special.stdtrit(freedom, 1 - alpha / (2 * max(1, tests))) * error
    p = np.minimum(1.0, tests * 2 * special.stdtr(freedom, -np.abs(value - 0.5) / error))
    return Simultaneous(value, *_decided(value, value - half, value + half, p <= alpha), p)


def verdicts(lower: Floats, upper: Floats, rope: float = ROPE) -> list[str]:
    """better, worse, equivalent or undecided, by the interval alone (docs/scores.md 5.3)."""
    return [
        BETTER if low > 0.5
        else WORSE if high < 0.5
        else EQUIVALENT if low >= 0.5 - rope and high <= 0.5 + rope
        else UNDECIDED
        for low, high in zip(lower.tolist(), upper.tolist(), strict=True)
    ]  # fmt: skip


def _decided(value: Floats, lower: Floats, upper: Floats, rejected: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """The ends of intervals, on one side of 0.5 where the test has excluded it, else around it; within [0, 1]."""
    near = np.minimum(APART, np.abs(value - 0.5) / 2)
    lower, upper = np.minimum(lower, value), np.maximum(upper, value)
    lower = np.where(rejected & (value > 0.5), np.maximum(lower, 0.5 + near), np.minimum(lower, 0.5))
    upper = np.where(rejected & (value < 0.5), np.minimum(upper, 0.5 - near), np.maximum(upper, 0.5))
    return np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)


def _binomial(value: Floats, n: Floats, tail: float) -> tuple[Floats, Floats]:
    """Clopper and Pearson's interval of a share of n draws, which need not be a whole number."""
    hits, misses = value * n, (1 - value) * n
    with np.errstate(invalid="ignore"):
        low = np.where(hits > 0, special.betaincinv(np.maximum(hits, 1e-9), misses + 1, tail), 0.0)
        high = np.where(misses > 0, special.betaincinv(hits + 1, np.maximum(misses, 1e-9), 1 - tail), 1.0)
    return low, high


def _binomial_p(value: Floats, n: Floats) -> Floats:
    """Two-sided, of the hypothesis that the share is 0.5: it is below 2 tail where `_binomial` excludes 0.5."""
    most, least = np.maximum(value, 1 - value) * n, np.minimum(value, 1 - value) * n
    return np.minimum(1.0, 2 * special.betainc(np.maximum(most, 1e-9), least + 1, 0.5))
