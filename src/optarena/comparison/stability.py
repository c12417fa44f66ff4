"""Which conclusions change when one optimizer, problem or trial is left out, or another view is taken.

See docs/scores.md 5.13.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from optarena.comparison.pairs import (
    Pairs,
    differences,
    improvements,
    settled,
    sizes_and_ties,
    stratified_test,
    trials_test,
)
from optarena.stats.bootstrap import all_but_one
from optarena.stats.corrections import holm
from optarena.stats.ranks import kendall_tau, ranks_of
from optarena.stats.signed_rank import signed_rank_p
from optarena.traces import Bools, Floats
from optarena.views._scores import Scores

MOST_WORK = 2e8
"""Comparisons of single trials that leaving out may cost; beyond, its tests are not repeated, and that is said."""

Named = tuple[str, str]
"""A pair of optimizers, the better first."""


@dataclass(frozen=True)
class Change:
    """What one other way of looking concludes."""

    kind: str
    """optimizer, problem, trial (left out), or ranking (another view, targets or budget)."""
    label: str
    order: list[str]
    """The optimizers by mean score (by average rank, where an optimizer is left out), the best first."""
    places: list[int]
    """Of each in that order, from 1; equal ones share the lesser."""
    tau: float
    """Kendall's tau with the order that it is compared to: 1 the same, -1 the reverse."""
    reversed: list[Named] = field(default_factory=list)
    """Decided here and there, but the other way round: the second was the better one."""
    lost: list[Named] = field(default_factory=list)
    """Decided before, not here."""
    gained: list[Named] = field(default_factory=list)
    """Decided here, not before."""
    same_first: bool = True
    """Whether the first of those that are left is still the first."""
    tested: bool = True


def stability(scores: Scores, pairs: Pairs, others: Sequence[tuple[str, Scores]], *, over: str) -> list[Change]:
    """Everything that may be left out, in turn, then the other ways of scoring."""
    return [
        *_without_optimizers(scores, pairs),
        *_without_problems(scores, pairs, over),
        *_without_trials(scores, pairs, over),
        *(_another(scores, pairs, label, other) for label, other in others),
    ]


def decisions(p: Floats, sign: Floats, alpha: float, tests: int | None = None) -> Floats:
    """(…, pairs): 1 where the first is decidedly better, -1 where the second is, 0 where it is open.

    tests: how many to correct for, where these are some of them.
    """
    flat = p.reshape(-1, p.shape[-1])
    corrected = np.array([holm(row, tests) for row in flat]).reshape(p.shape)
    return np.where(corrected < alpha, sign, 0.0)


def _without_optimizers(scores: Scores, pairs: Pairs) -> list[Change]:
    """The ranks of the others move, and there are fewer tests to correct for. The frame of the scores stays."""
    k = len(scores.optimizers)
    if k < 3 or not pairs.all_are_here:
        return []
    means = settled(scores.means)
    before = np.where(pairs.decided, pairs.sign, 0.0)
    average = ranks_of(means, axis=1).mean(axis=0)
    out = []
    for o in range(k):
        rest = [i for i in range(k) if i != o]
        after = ranks_of(means[:, rest], axis=1).mean(axis=0)
        mine = (pairs.first != o) & (pairs.second != o)
        now = np.zeros(len(before))
        now[mine] = decisions(pairs.p[mine], pairs.sign[mine], pairs.alpha)
        order, places = _ordered([scores.optimizers[i] for i in rest], after)
        tau, same = (
            kendall_tau(average[rest], after),
            scores.optimizers[rest[int(np.argmin(average[rest]))]] == order[0],
        )
        out.append(
            _change(scores, pairs, "optimizer", scores.optimizers[o], order, places, tau, before, now, mine, same)
        )
    return out


def _without_problems(scores: Scores, pairs: Pairs, over: str) -> list[Change]:
    n = len(scores.problems)
    if n < 3:
        return []
    means = scores.means
    before = np.where(pairs.decided, pairs.sign, 0.0)
    if over == "problems":
        apart = differences(means, pairs.first, pairs.second)
        rows = np.swapaxes(apart[all_but_one(n)], 1, 2).reshape(-1, n - 1)  # (left out, pairs), problems
        p, sign = signed_rank_p(rows)
        now = decisions(p.reshape(n, -1), -sign.reshape(n, -1), pairs.alpha, pairs.tests)
    else:
        now = _again_without_problems(scores, pairs)
    whole = means.mean(axis=0)
    return [
        _moved(
            scores,
            pairs,
            "problem",
            scores.problems[i],
            whole,
            np.delete(means, i, axis=0).mean(axis=0),
            before,
            now[i],
        )
        for i in range(n)
    ]


def _without_trials(scores: Scores, pairs: Pairs, over: str) -> list[Change]:
    """The first trial of every cell, then the second, and so on."""
    trials = scores.values.shape[2]
    if int(scores.trials.min()) < 3:
        return []
    before = np.where(pairs.decided, pairs.sign, 0.0)
    kept = [np.arange(trials) != t for t in range(trials)]
    means = [replace(scores, values=scores.values[:, :, keep]).means for keep in kept]
    if over == "problems":
        tests = [signed_rank_p(differences(m, pairs.first, pairs.second).T) for m in means]
        now = decisions(np.array([p for p, _ in tests]), -np.array([s for _, s in tests]), pairs.alpha, pairs.tests)
    else:
        now = _again_without_trials(scores, pairs, kept)
    whole = scores.means.mean(axis=0)
    return [
        _moved(scores, pairs, "trial", f"trial {t + 1} of each", whole, means[t].mean(axis=0), before, now[t])
        for t in range(trials)
    ]


def _too_much(scores: Scores, pairs: Pairs, parts: int) -> bool:
    problems, _, trials = scores.values.shape
    return parts * len(pairs.first) * problems * trials**2 > MOST_WORK


def _again_without_problems(scores: Scores, pairs: Pairs) -> Floats:
    """(problems, pairs): the decisions of the tests of trials without each problem; NaN where they are not repeated."""
    n = len(scores.problems)
    if _too_much(scores, pairs, n):
        return np.full((n, len(pairs.first)), np.nan)
    figures = (pairs.each, *sizes_and_ties(scores.values, pairs.first, pairs.second))
    tests = [stratified_test(*(one[:, keep] for one in figures)) for keep in all_but_one(n)]  # type: ignore[arg-type]
    return np.array([decisions(p, sign, pairs.alpha, pairs.tests) for p, sign, _ in tests])


def _again_without_trials(scores: Scores, pairs: Pairs, kept: list[Bools]) -> Floats:
    """(trials, pairs): the same with only the kept trials of each cell."""
    if _too_much(scores, pairs, len(kept)):
        return np.full((len(kept), len(pairs.first)), np.nan)
    out = []
    for keep in kept:
        values = scores.values[:, :, keep]
        each = improvements(values, pairs.first, pairs.second)
        p, sign, _ = trials_test(values, each, pairs.first, pairs.second)
        out.append(decisions(p, sign, pairs.alpha, pairs.tests))
    return np.array(out)


def _another(scores: Scores, pairs: Pairs, label: str, other: Scores) -> Change:
    """Another way of scoring the same optimizers: its order by mean score, and its own tests over problems."""
    means = other.means
    p, sign = signed_rank_p(differences(means, pairs.first, pairs.second).T)
    now = decisions(p, -sign, pairs.alpha, pairs.tests)
    before = np.where(pairs.decided, pairs.sign, 0.0)
    return _moved(scores, pairs, "ranking", label, scores.means.mean(axis=0), means.mean(axis=0), before, now)


def _moved(
    scores: Scores, pairs: Pairs, kind: str, label: str, whole: Floats, part: Floats, before: Floats, now: Floats
) -> Change:
    order, places = _ordered(scores.optimizers, part)
    same = order[0] == scores.optimizers[int(np.argmin(whole))]
    every = np.ones(len(before), dtype=bool)
    return _change(scores, pairs, kind, label, order, places, kendall_tau(whole, part), before, now, every, same)


def _change(
    scores: Scores, pairs: Pairs, kind: str, label: str, order: list[str], places: list[int], tau: float,
    before: Floats, now: Floats, mine: Bools, same_first: bool,
) -> Change:  # fmt: skip
    if np.isnan(now).any():
        return Change(kind, label, order, places, tau, same_first=same_first, tested=False)

    def named(which: Bools, sign: Floats) -> list[Named]:
        out = []
        for i in np.flatnonzero(which & mine).tolist():
            a, b = scores.optimizers[pairs.first[i]], scores.optimizers[pairs.second[i]]
            out.append((a, b) if sign[i] > 0 else (b, a))
        return out

    return Change(
        kind, label, order, places, tau,
        reversed=named(before * now < 0, now),
        lost=named((before != 0) & (now == 0), before),
        gained=named((before == 0) & (now != 0), now),
        same_first=same_first,
    )  # fmt: skip


def _ordered(names: Sequence[str], figures: Floats) -> tuple[list[str], list[int]]:
    """Names by their figures, the least first, with their places; equal ones share the lesser place."""
    rounded = np.round(figures, 12)
    order = np.argsort(rounded, kind="stable")
    places = 1 + np.searchsorted(rounded[order], rounded[order], "left")
    return [names[i] for i in order.tolist()], places.tolist()
