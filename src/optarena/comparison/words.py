"""The verdict in plain sentences, each with the numbers behind it. What the words mean is in docs/compare.md."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from optarena._numbers import counted, interval, number, p_said, rough
from optarena.comparison.power import MOST, NEVER
from optarena.stats.effects import magnitude

if TYPE_CHECKING:
    from optarena.comparison.compare import Comparison
    from optarena.comparison.stability import Change

TOLD = 5
"""Rivals of the first, and undecided pairs, that are told one by one."""


def verdict(made: Comparison) -> list[str]:
    """Who wins, by how much, how sure; what is undecided; what would change it."""
    cautions = [f"{text[:1].upper()}{text[1:]}." for text in made.cautions]
    return [head(made), *cautions, *_against(made), *_undecided(made), *careful(made)]


def head(made: Comparison) -> str:
    """Who comes first, on what, and whether that is decided."""
    first = int(made.overall.order[0])
    name = made.optimizers[first]
    k, n = len(made.optimizers), len(made.scores.problems)
    beaten = sum(_lean(made, first, other) > 0 for other in range(k) if other != first)
    trials = made.scores.trials
    each = f"{trials.min()}" if trials.min() == trials.max() else f"{trials.min()} to {trials.max()}"
    scope = "new problems of this kind" if made.over == "problems" else "new trials on just these"
    each = f"{each} {'trial' if each == '1' else 'trials'} each"
    where = f"{counted(n, 'problem')} ({made.scores.view}, {each}; speaking of {scope})"
    value, lower, upper = (float(end[first]) for end in made.overall.score)
    score = f"mean score {number(value)} {interval(lower, upper)}"
    better = [made.optimizers[o] for o in range(k) if o != first and _lean(made, first, o) < 0]
    if better:  # means and signed ranks can disagree: a few large losses outweigh many small wins
        return (
            f"{name} has the best {score} of {k} on {where}, yet {better[0]} beats it problem by problem "
            f"({len(better)} of {k - 1} do): what is best depends on whether large or many differences count."
        )
    others = "the other" if k == 2 else "both others" if k == 3 else f"all {k - 1} others"
    others = others if beaten == k - 1 else f"{beaten} of the {k - 1} others"
    if beaten == k - 1:
        return f"{name} is the best of {k} on {where}: it beats {others}; {score}."
    lead = f"{name} comes first of {k} on {where}, {score}"
    if beaten:
        open_ones = k - 1 - beaten
        return f"{lead}; it beats {others}, and against {open_ones} it is undecided."
    return (
        f"{lead}, but whether it is better than {'the other' if k == 2 else 'any other'} is undecided (0 of {k - 1})."
    )


def _against(made: Comparison) -> list[str]:
    """The first against each of those that it beats; then the other decided pairs, counted."""
    first = int(made.overall.order[0])
    rivals = [int(o) for o in made.overall.order[1:] if _lean(made, first, int(o)) > 0]
    above = [int(o) for o in made.overall.order[1:] if _lean(made, first, int(o)) < 0]
    out = [f"{made.optimizers[o]} beats {pair_sentence(made, o, first)}" for o in above[:TOLD]]
    out += [
        f"{made.optimizers[first]} beats {pair_sentence(made, first, other)}" for other in rivals[: TOLD - len(out)]
    ]
    rivals = above + rivals
    if len(rivals) > TOLD:
        out.append(f"{len(rivals) - TOLD} more pairs with it are decided: the table of pairs has their numbers.")
    rest = int(made.pairs.decided.sum()) - len(rivals)
    if rest > 0:
        total = len(made.pairs.first)
        without = total - len(made.optimizers) + 1
        out.append(
            f"Of the {counted(without, 'pair')} without it {rest} {'is' if rest == 1 else 'are'} decided "
            f"({made.pairs.test}; {correction(made)}; the table of pairs has the effect sizes)."
        )
    return out


def pair_sentence(made: Comparison, a: int, b: int) -> str:
    """'B on 19 of 24 problems, ties on 3, loses on 2; …': everything about a pair, read from a."""
    p = made.pairs
    i, sign = place(made, a, b)
    wins, losses = (p.wins[i], p.losses[i]) if sign > 0 else (p.losses[i], p.wins[i])
    n = len(made.scores.problems)
    tie = f", ties on {p.ties[i]} (within {made.rope:g})" if p.ties[i] else ""
    return (
        f"{made.optimizers[b]} on {wins} of {counted(n, 'problem')}{tie}, loses on {losses}; "
        f"{improvement(made, a, b)}; {difference(made, a, b)}{ratio(made, a, b)}. {test(made, a, b)}."
    )


def improvement(made: Comparison, a: int, b: int) -> str:
    i, sign = place(made, a, b)
    p = made.pairs
    value, lower, upper = float(p.improvement[i]), float(p.improvement_lb[i]), float(p.improvement_ub[i])
    if sign < 0:
        value, lower, upper = 1 - value, 1 - upper, 1 - lower
    would = "which would be " if lower <= 0.5 <= upper else ""
    return f"probability of improvement {number(value)} {interval(lower, upper)}, {would}a {magnitude(value)} effect"


def difference(made: Comparison, a: int, b: int) -> str:
    i, sign = place(made, a, b)
    p = made.pairs
    value, lower, upper = float(p.difference[i]), float(p.difference_lb[i]), float(p.difference_ub[i])
    if sign < 0:
        value, lower, upper = -value, -upper, -lower
    word = "lower" if value <= 0 else "higher"
    low, high = (-upper, -lower) if value <= 0 else (lower, upper)
    return f"its mean score is {number(abs(value))} {interval(low, high)} {word}"


def ratio(made: Comparison, a: int, b: int) -> str:
    """'; to the targets that both reach it needs 0.42 times the evaluations [0.32, 0.56]', where that is known."""
    if made.ratios is None:
        return ""
    i, sign = place(made, a, b)
    r = made.ratios
    value, lower, upper = float(r.ratio[i]), float(r.lower[i]), float(r.upper[i])
    if math.isnan(value):
        return ""
    if sign < 0:
        value, lower, upper = 1 / value, 1 / upper if upper else math.inf, 1 / lower if lower else math.inf
    alone = (int(r.only_first[i]), int(r.only_second[i]))
    alone = alone if sign > 0 else alone[::-1]
    return (
        f"; it needs {number(value)} times the other's {r.axis} {interval(lower, upper)} to the {r.both[i]:,} targets "
        f"that both reach (it alone reaches {alone[0]:,}, the other alone {alone[1]:,})"
    )


def test(made: Comparison, a: int, b: int) -> str:
    i, _ = place(made, a, b)
    return f"{made.pairs.test}: {p_said(made.pairs.p_holm[i])} ({correction(made)})"


def correction(made: Comparison) -> str:
    n = made.pairs.tests
    return f"Holm, {counted(n, 'test')}"


def _undecided(made: Comparison) -> list[str]:
    """Pairs that no test tells apart, those of the first before the others, with what would settle them."""
    p = made.pairs
    rank = {int(o): r for r, o in enumerate(made.overall.order)}
    pairs = [
        sorted((int(p.first[i]), int(p.second[i])), key=lambda o: rank[o]) for i in np.flatnonzero(~p.decided).tolist()
    ]
    pairs.sort(key=lambda pair: (rank[pair[0]], rank[pair[1]]))
    out = []
    for a, b in pairs[:TOLD]:
        out.append(
            f"Undecided: {made.optimizers[a]} against {made.optimizers[b]}, {improvement(made, a, b)}; "
            f"{test(made, a, b)}. {settles(made, a, b)}"
        )
    if len(pairs) > TOLD:
        out.append(
            f"Undecided too: {len(pairs) - TOLD} more of {len(p.first)} pairs (the table of pairs has their numbers)."
        )
    return out


def settles(made: Comparison, a: int, b: int) -> str:
    """How many more trials or problems would be expected to show the difference."""
    i, _ = place(made, a, b)
    trials, problems = int(made.power.trials[i]), int(made.power.problems[i])
    needs = []
    if trials > 0:
        needs.append(f"about {rough(trials)} more {'trial' if trials == 1 else 'trials'} each")
    if problems > 0:
        needs.append(f"about {rough(problems)} more {'problem' if problems == 1 else 'problems'}")
    said = "would be expected to show a difference of this size (80 % of simulated experiments)"
    if len(needs) == 2:
        return f"{needs[0][:1].upper()}{needs[0][1:]}, or {needs[1]}, {said}."
    never = [what for what, count in (("trials", trials), ("problems", problems)) if count == NEVER]
    if needs:
        rest = f"; {MOST} times the {never[0]} would not" if never else ""
        return f"{needs[0][:1].upper()}{needs[0][1:]} {said}{rest}."
    if never:
        return f"{MOST} times the {' or '.join(never)} would not be expected to show it."
    return "What would settle it cannot be said: one trial shows no noise, one problem no others."


def careful(made: Comparison) -> list[str]:
    """Conclusions that change when something is left out, and rankings that disagree."""
    first = made.optimizers[int(made.overall.order[0])]
    out = []
    for kind, noun in (("optimizer", "optimizer"), ("problem", "problem"), ("trial", "trial of each")):
        mine = [change for change in made.changes if change.kind == kind]
        if mine:
            out.append(_left_out(mine, noun, first, made))
    rankings = [change for change in made.changes if change.kind == "ranking"]
    if rankings:
        out += _rankings(rankings, first, made)
    return out


def _left_out(changes: list[Change], noun: str, first: str, made: Comparison) -> str:
    """One sentence about leaving out each of its kind in turn."""
    n = len(changes)
    without = f"Without any one {noun} ({n} tried)"
    decided = int(made.pairs.decided.sum())
    other = [c for c in changes if not c.same_first]
    lost, turned = [c for c in changes if c.lost], [c for c in changes if c.reversed]
    parts = []
    by = " by average rank" if noun == "optimizer" else ""  # means do not move when another leaves
    if other:
        parts.append(f"another comes first{by} in {len(other)} (without {other[0].label}: {other[0].order[0]})")
    if lost:
        pair = lost[0].lost[0]
        parts.append(
            f"a decided pair becomes undecided in {len(lost)} (without {lost[0].label}: {pair[0]} against {pair[1]})"
        )
    if turned:
        pair = turned[0].reversed[0]
        parts.append(
            f"a decided pair turns round in {len(turned)} (without {turned[0].label}: {pair[0]} beats {pair[1]})"
        )
    tested = "" if all(c.tested for c in changes) else " (tests not repeated: too many trials)"
    if not parts:
        kept = f"all {decided} decided pairs stay decided" if decided > 1 else "the decided pair stays decided"
        kept = kept if decided else "nothing was decided that could change"
        stays = f"{first} stays first" if not by else "the first by average rank stays the first of those left"
        return f"Stable: {without.lower()} {stays} and {kept}{tested}."
    return f"Careful: {without.lower()} {' and '.join(parts)}{tested}."


def _rankings(changes: list[Change], first: str, made: Comparison) -> list[str]:
    """Other ways of scoring: those that agree are counted, those that disagree are named."""
    shared = [c for c in changes if c.places.count(1) > 1]
    differ = [c for c in changes if c not in shared and c.order[0] != first]
    agree = [c for c in changes if c not in shared and c not in differ]
    against = [c for c in changes if c.reversed]
    out = []
    if differ:
        named = "; ".join(f"{c.label} puts {c.order[0]} first" for c in differ[:TOLD])
        out.append(f"Careful, rankings disagree: {named} ({len(differ)} of {len(changes)} other ways of scoring).")
    elif agree:
        all_of = f"all {len(changes)}" if not shared else f"{len(agree)} of {len(changes)}"
        out.append(f"Stable: {first} comes first in {all_of} other ways of scoring that were tried.")
    if shared:
        out.append(
            f"{len(shared)} of {len(changes)} other ways of scoring cannot tell who comes first: "
            f"{shared[0].label} has {shared[0].places.count(1)} in the first place."
        )
    for c in against[:TOLD]:
        found = ", ".join(f"{better} beats {worse}" for better, worse in c.reversed[:3])
        more = f" and {len(c.reversed) - 3} more" if len(c.reversed) > 3 else ""
        how = f"Wilcoxon's signed ranks over problems; {correction(made)}"
        out.append(f"Careful: by {c.label} {found}{more}, against the verdict above ({how}).")
    return out


# ---- pairs -----------------------------------------------------------------------------------------------------------


def place(made: Comparison, a: int, b: int) -> tuple[int, int]:
    """Where a pair stands, and -1 where it stands the other way round."""
    sign = 1 if a < b else -1
    low, high = min(a, b), max(a, b)
    return int(np.flatnonzero((made.pairs.first == low) & (made.pairs.second == high))[0]), sign


def _lean(made: Comparison, a: int, b: int) -> int:
    """1: a beats b; -1: b beats a; 0: undecided."""
    i, sign = place(made, a, b)
    return int(sign * made.pairs.sign[i]) if made.pairs.decided[i] else 0
