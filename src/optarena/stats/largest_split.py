"""The permutation test of the largest split of optimizers, which Scott-Knott repeats (docs/scores.md 5.7).

The split is chosen from the data, so it is chosen again for every permutation: sorting, cutting and testing are one
statistic. All of it is computed for many permutations at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from optarena.stats.effects import a12_of
from optarena.stats.improvement import by_function, problem_weights
from optarena.stats.ranks import ranks_of
from optarena.traces import Bools, Floats, Ints

CHUNK = 2_000_000
FIRST = 50
"""Permutations before the first look at whether the split can still be kept."""

Statistic = Callable[[int], Floats]
"""(times,): the statistic of so many permutations."""


class LargestSplit(NamedTuple):
    """The best `at` of `order` (numbers of optimizers by mean rank) against the others."""

    order: list[int]
    at: int
    p: float
    effect: float
    """The probability that a trial of the left part is better than one of the right part."""


def largest_split(
    values: Floats,
    functions: Ints,
    *,
    over: str,
    enough: float,
    permutations: int,
    rng: np.random.Generator,
) -> LargestSplit:
    """Test the largest split of values (problems, optimizers, trials); NaN is a missing trial (docs/scores.md 5.7).

    functions: (problems,), the number of each problem's function. over: `functions` or `trials`, which are exchanged.
    enough: permutations stop early once p is known to be at least that (Besag and Clifford 1991).
    """
    function = np.unique(functions, return_inverse=True)[1]
    weights = problem_weights(function)
    if over == "functions":
        observed, left, order, draw = _over_functions(values, function, rng)
    else:
        observed, left, order, draw = _over_trials(values, weights, rng)
    done = extreme = 0
    while done < permutations and (1 + extreme) < enough * (1 + permutations):
        times = min(max(FIRST, done), permutations - done)
        extreme += int(np.sum(draw(times) >= observed * (1 - 1e-9)))
        done += times
    one, others = (values[:, side].reshape(len(values), -1) for side in (left, ~left))
    effect = float(weights @ (1 - a12_of(one, others)))
    return LargestSplit(order.tolist(), int(left.sum()), (1 + extreme) / (1 + done), effect)


def largest_cut(sums: Floats, sizes: Floats) -> Ints:
    """(…): after how many of the parts (…, parts) the between-group sum of squares is largest; the first of equals.

    sums, sizes: of the values of each part, in order. See docs/scores.md 5.7.
    """
    n, total = np.cumsum(sizes, axis=-1), np.cumsum(sums, axis=-1)
    all_n, all_total = n[..., -1:], total[..., -1:]
    n, total = n[..., :-1], total[..., :-1]
    between = (total - all_total * n / all_n) ** 2 * (1 / n + 1 / (all_n - n))
    return np.asarray(np.argmax(between, axis=-1) + 1)


def _cuts(means: Floats, sizes: Floats) -> tuple[Bools, Ints]:
    """(times, optimizers): who stands left of the largest cut; and the order by mean."""
    order = np.argsort(means, axis=1, kind="stable")
    size = sizes[order]
    cut = largest_cut(np.take_along_axis(means, order, axis=1) * size, size)
    left = np.empty(means.shape, dtype=bool)
    np.put_along_axis(left, order, np.arange(means.shape[1]) < cut[:, None], axis=1)
    return left, order


def _ratio(squared: Floats, variance: Floats) -> Floats:
    return np.divide(squared, variance, out=np.zeros_like(squared), where=variance > 0)


# ---- over functions --------------------------------------------------------------------------------------------------


def _over_functions(values: Floats, functions: Ints, rng: np.random.Generator) -> tuple[float, Bools, Ints, Statistic]:
    """The mean ranks of a function are exchanged between the optimizers, all its problems and trials together."""
    ranks = by_function(mean_ranks(values).T, functions).T
    n, k = ranks.shape
    pooled = float(np.mean(ranks**2))

    def statistic(drawn: Floats) -> tuple[Floats, Bools, Ints]:
        means = drawn.mean(axis=1)
        square = np.einsum("bfo,bfo->bo", drawn, drawn) - n * means**2
        variance = np.maximum(square, 0.0) + pooled  # as if one more function had the variance of all ranks
        left, order = _cuts(means, np.ones(k))
        a, b = left / left.sum(axis=1, keepdims=True), ~left / np.sum(~left, axis=1, keepdims=True)
        return _ratio(np.sum(means * (a - b), axis=1) ** 2, np.sum(variance * (a * a + b * b), axis=1)), left, order

    def draw(times: int) -> Floats:
        out = []
        for part in _parts(times, n * k):
            places = rng.random((part, n, k)).argsort(axis=2)
            out.append(statistic(np.take_along_axis(ranks[None], places, axis=2))[0])
        return np.concatenate(out)

    found, left, order = statistic(ranks[None])
    return float(found[0]), left[0], order[0], draw


def mean_ranks(values: Floats) -> Floats:
    """(problems, optimizers): the mean rank of each one's trials among all trials of a problem, within -1/2 and 1/2."""
    p, k, t = values.shape
    there = ~np.isnan(values)
    ranks = ranks_of(values.reshape(p, k * t), axis=1).reshape(p, k, t)  # missing trials come last
    sums = np.sum(np.where(there, ranks, 0.0), axis=2)
    return (sums / there.sum(axis=2) - 0.5) / there.sum(axis=(1, 2))[:, None] - 0.5


# ---- over trials -----------------------------------------------------------------------------------------------------


class _Sorted(NamedTuple):
    """The trials of each problem by value, (problems, places); missing ones come last."""

    who: Ints
    """Whose trial it is."""
    there: Bools
    first: Ints
    """The first and the last place of those that tie with it."""
    last: Ints

    @classmethod
    def of(cls, values: Floats) -> _Sorted:
        p, k, t = values.shape
        flat = values.reshape(p, k * t)
        order = np.argsort(flat, axis=1, kind="stable")
        ordered = np.take_along_axis(flat, order, axis=1)
        place = np.broadcast_to(np.arange(k * t), ordered.shape)
        new = np.ones(ordered.shape, dtype=bool)
        new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
        first = np.maximum.accumulate(np.where(new, place, 0), axis=1)
        ends = np.concatenate((new[:, 1:], np.ones((p, 1), dtype=bool)), axis=1)
        last = np.minimum.accumulate(np.where(ends, place, k * t)[:, ::-1], axis=1)[:, ::-1]
        return cls(order // t, ~np.isnan(ordered), first, last)

    def placements(self, left: Bools) -> tuple[Floats, Floats]:
        """(times, problems): P(left > right) + P(equal)/2, and its squared standard error (Brunner and Munzel 2000).

        A12 of many permutations at once, as the mean of the placements whose variances the statistic needs anyway.
        left: (times, problems, places). The variances count one more trial with that of a uniform distribution, 1/12.
        """
        is_left, is_right = left & self.there, ~left & self.there
        below = np.cumsum(is_left, axis=2, dtype=np.int32)
        below = np.concatenate((np.zeros((*below.shape[:2], 1), dtype=np.int32), below), axis=2)
        rows = np.arange(len(self.who))[:, None]
        lefts = (below[:, rows, self.first] + below[:, rows, self.last + 1]) / 2
        rights = (self.first + self.last + 1) / 2 - lefts
        n_left, n_right = below[:, :, -1].astype(float), is_right.sum(axis=2)
        place = np.where(is_left, rights / n_right[..., None], lefts / n_left[..., None])
        error = np.zeros(n_left.shape)
        mean = np.zeros(n_left.shape)
        for which, n in ((is_right, n_right), (is_left, n_left)):
            of_these = np.where(which, place, 0.0)
            mean = of_these.sum(axis=2) / n
            square = np.einsum("bpi,bpi->bp", of_these, of_these) - n * mean**2
            error += (np.maximum(square, 0.0) + 1 / 12) / n**2
        return mean, error


def _over_trials(values: Floats, weights: Floats, rng: np.random.Generator) -> tuple[float, Bools, Ints, Statistic]:
    """The trials of a problem are exchanged between the optimizers; problems are fixed."""
    _, k, _ = values.shape
    found = _Sorted.of(values)
    trials = np.sum(~np.isnan(values), axis=2)
    n = found.there.sum(axis=1, keepdims=True)
    rank = np.where(found.there, (found.first + found.last + 1) / (2 * n), 0.0) * weights[:, None]
    sizes = trials.sum(axis=0).astype(float)
    rows = np.arange(len(values))[:, None]

    def statistic(who: Ints) -> tuple[Floats, Bools, Ints]:
        """who: (times, problems, places)."""
        times = len(who)
        at = (who + k * np.arange(times)[:, None, None]).ravel()
        means: Floats = np.bincount(at, (rank / trials[rows, who]).ravel(), minlength=times * k).astype(float)
        left, order = _cuts(means.reshape(times, k), sizes)
        chosen = left[np.arange(times)[:, None, None], who]
        more, error = found.placements(chosen)
        return _ratio((more @ weights - 0.5) ** 2, error @ weights**2), left, order

    def draw(times: int) -> Floats:
        out = []
        for part in _parts(times, found.who.size):
            keys = np.where(found.there, rng.random((part, *found.who.shape)), 2.0)  # missing trials stay last
            out.append(statistic(found.who[rows, keys.argsort(axis=2)])[0])
        return np.concatenate(out)

    value, left, order = statistic(found.who[None])
    return float(value[0]), left[0], order[0], draw


def _parts(times: int, size: int) -> list[int]:
    block = max(1, CHUNK // size)
    return [min(block, times - start) for start in range(0, times, block)]
