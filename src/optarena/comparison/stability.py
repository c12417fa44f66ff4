"""Which conclusions change when one optimizer, function or trial is left out, or another view is taken.

See docs/scores.md 5.13.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from optarena.comparison.pairs import Levels, Pairs, decide, signs_of
from optarena.stats.improvement import Duels, by_function, duels, over_functions, shares_without, verdicts
from optarena.stats.ranks import kendall_tau, ranks_of
from optarena.traces import Bools, Floats
from optarena.views._scores import Scores
from optarena.views.ranking import settled

MOST_WORK = 3e9
"""Multiplications that leaving out may cost; beyond, its decisions are not repeated, and that is said."""
FLIPS = 1000
"""Random patterns of signs when something is left out: fewer than for the answer itself."""

Named = tuple[str, str]
"""A pair of optimizers, the better first."""


@dataclass(frozen=True)
class Change:
    """What one other way of looking concludes."""

    kind: str
    """optimizer, function, trial (left out), or ranking (another view, targets or budget)."""
    label: str
    order: list[str]
    """The optimizers by mean score (by average rank, where an optimizer is left out), the best first."""
    places: list[int]
    """Of each in that order, from 1; equal ones share the lesser."""
    tau: float
    """Kendall's tau-b with the order that it is compared to: 1 the same, -1 the reverse."""
    reversed: list[Named] = field(default_factory=list)
    """Decided here and there, but the other way round: the second was the better one."""
    lost: list[Named] = field(default_factory=list)
    """Decided before, not here."""
    gained: list[Named] = field(default_factory=list)
    """Decided here, not before."""
    same_first: bool = True
    """Whether the first of those that are left is still the first."""
    tested: bool = True


@dataclass(frozen=True)
class _Base:
    """What all the other ways of looking are compared with."""

    scores: Scores
    trials: Scores
    ranks: Floats
    pairs: Pairs
    levels: Levels
    rope: float
    seed: int

    def signs(self, found: Duels, levels: Levels, pairs: int | None = None) -> Floats:
        """(pairs,): 1 where the first is better, -1 where the second is, 0 where neither is shown to be."""
        tests = self.pairs.tests if pairs is None else pairs
        made = decide(found, levels, self.pairs.scope, self.pairs.alpha, tests, self.seed, FLIPS)
        return signs_of(verdicts(made.lower, made.upper, self.rope))

    def signs_by_functions(self, shares: Floats) -> Floats:
        """The same of shares (pairs, problems), which are all that a claim about similar problems needs."""
        by = by_function(shares, self.levels.function)
        tests, alpha = self.pairs.tests, self.pairs.alpha
        made = over_functions(by, alpha=alpha, tests=tests, seed=self.seed, flips=FLIPS)
        return signs_of(verdicts(made.lower, made.upper, self.rope))

    def too_much(self, parts: int) -> bool:
        """Whether deciding so many times again would take too long."""
        work = len(self.pairs.first) * len(self.levels.names) * parts
        return work * (FLIPS if self.pairs.scope == "problems" else 1) > MOST_WORK


def stability(
    scores: Scores,
    trials: Scores,
    ranks: Floats,
    pairs: Pairs,
    others: Sequence[tuple[str, Scores]],
    *,
    rope: float,
    seed: int,
) -> list[Change]:
    """Everything that may be left out, in turn, then the other ways of scoring."""
    base = _Base(scores, trials, ranks, pairs, Levels.of(trials), rope, seed)
    if pairs.at_every_look:  # what a race would have decided without something cannot be known: it would have gone on
        return [_another(base, label, other) for label, other in others]
    return [
        *_without_optimizers(base),
        *_without_functions(base),
        *_without_trials(base),
        *(_another(base, label, other) for label, other in others),
    ]


def _without_optimizers(base: _Base) -> list[Change]:
    """The ranks of the others move, and fewer pairs are decided together. The frame of the scores stays."""
    scores, pairs = base.scores, base.pairs
    k = len(scores.optimizers)
    if k < 3 or not pairs.all_are_here:
        return []
    means = settled(scores.means)
    levels = Levels.of(scores)
    average = levels.means(ranks_of(means, axis=1)).mean(axis=0)
    skipped = base.too_much(k)
    out = []
    for o in range(k):
        rest = [i for i in range(k) if i != o]
        after = levels.means(ranks_of(means[:, rest], axis=1)).mean(axis=0)
        mine = (pairs.first != o) & (pairs.second != o)
        now = np.zeros(len(mine))
        left = Duels(*(one[mine] for one in pairs.duels))
        now[mine] = np.nan if skipped else base.signs(left, base.levels, int(mine.sum()))
        order, places = ordered([scores.optimizers[i] for i in rest], after)
        same = scores.optimizers[rest[int(np.argmin(average[rest]))]] == order[0]
        tau = kendall_tau(average[rest], after)
        out.append(_change(base, "optimizer", scores.optimizers[o], order, places, tau, now, mine, same))
    return out


def _without_functions(base: _Base) -> list[Change]:
    n = len(base.levels.names)
    if n < 3:
        return []
    out = []
    means = base.scores.means
    skipped = base.too_much(n)
    for f, name in enumerate(base.levels.names):
        keep = base.levels.function != f
        now = np.full(len(base.pairs.first), np.nan)
        if not skipped:
            left = Duels(*(one[:, keep] for one in base.pairs.duels))
            now = base.signs(left, Levels.of(base.trials.on(keep)))
        rest = np.array([one != name for one in base.scores.functions], dtype=bool)
        out.append(_moved(base, "function", name, means[rest if rest.any() else ~rest].mean(axis=0), now))
    return out


def _without_trials(base: _Base) -> list[Change]:
    """The first trial of every cell, then the second, and so on."""
    trials = base.ranks.shape[2]
    if int(base.scores.trials.min()) < 3:
        return []
    skipped = base.too_much(trials)
    by_problems = base.pairs.scope == "problems"
    shares = shares_without(base.ranks, base.pairs.first, base.pairs.second) if by_problems and not skipped else None
    values = base.scores.values
    there = ~np.isnan(values)
    total, count = np.where(there, values, 0.0).sum(axis=2), there.sum(axis=2)
    out = []
    for t in range(trials):
        now = np.full(len(base.pairs.first), np.nan)
        if shares is not None:
            now = base.signs_by_functions(shares[t])
        elif not skipped:
            keep = np.arange(trials) != t
            now = base.signs(duels(base.ranks[:, :, keep], base.pairs.first, base.pairs.second), base.levels)
        means = (total - np.where(there[:, :, t], values[:, :, t], 0.0)) / (count - there[:, :, t])
        out.append(_moved(base, "trial", f"trial {t + 1} of each", means.mean(axis=0), now))
    return out


def _another(base: _Base, label: str, other: Scores) -> Change:
    """Another way of scoring the same optimizers: its order by mean score, and its own decisions in the same scope."""
    now = np.full(len(base.pairs.first), np.nan)
    if not base.pairs.at_every_look:
        now = base.signs(duels(other.ranked(), base.pairs.first, base.pairs.second), Levels.of(other))
    return _moved(base, "ranking", label, other.means.mean(axis=0), now)


def _moved(base: _Base, kind: str, label: str, means: Floats, now: Floats) -> Change:
    whole = base.scores.means.mean(axis=0)
    order, places = ordered(base.scores.optimizers, means)
    same = order[0] == base.scores.optimizers[int(np.argmin(settled(whole)))]
    every = np.ones(len(now), dtype=bool)
    return _change(base, kind, label, order, places, kendall_tau(settled(whole), settled(means)), now, every, same)


def _change(
    base: _Base, kind: str, label: str, order: list[str], places: list[int], tau: float, now: Floats, mine: Bools,
    same_first: bool,
) -> Change:  # fmt: skip
    if np.isnan(now).any():
        return Change(kind, label, order, places, tau, same_first=same_first, tested=False)
    before, pairs, names = base.pairs.sign, base.pairs, base.scores.optimizers

    def named(which: Bools, sign: Floats) -> list[Named]:
        out = []
        for i in np.flatnonzero(which & mine).tolist():
            a, b = names[pairs.first[i]], names[pairs.second[i]]
            out.append((a, b) if sign[i] > 0 else (b, a))
        return out

    return Change(
        kind, label, order, places, tau,
        reversed=named(before * now < 0, now),
        lost=named((before != 0) & (now == 0), before),
        gained=named((before == 0) & (now != 0), now),
        same_first=same_first,
    )  # fmt: skip


def ordered(names: Sequence[str], figures: Floats) -> tuple[list[str], list[int]]:
    """Names by their figures, the least first, with their places; equal ones share the lesser place."""
    rounded = settled(figures)
    order = np.argsort(rounded, kind="stable")
    places = 1 + np.searchsorted(rounded[order], rounded[order], "left")
    return [names[i] for i in order.tolist()], places.tolist()
