"""The answer: what to use, who beats whom, what failed, what it is about; plain data behind every screen.

Everything that a terminal, the report, a notebook and JSON say first is made here, once.
See docs/compare.md and docs/scores.md 5.11.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from optarena._numbers import ABSENT, counted, number, probability
from optarena._widths import middle_cut
from optarena.stats.improvement import BETTER, EQUIVALENT, ROPE, UNDECIDED, WORSE

if TYPE_CHECKING:
    from optarena.comparison.compare import Comparison
    from optarena.comparison.stability import Change

LONG = 40
"""Characters of a name that a sentence shows."""
WIDEST = 6
"""Characters of a probability that a cell of the matrix has room for."""
TENTH = "a tenth of the budget"
SIGNS = {BETTER: "▲", WORSE: "▼", EQUIVALENT: "≈", UNDECIDED: "?"}
SCALES = {
    "fixed-cost": "0 = best known value, 1 = random search with the same budget",
    "fixed-target": "0 = all targets reached at once, 1 = none reached",
    "pareto": "0 = as much hypervolume as the reference set, 1 = none",
    "anytime": "0 = the best value at once, 1 = nothing found",
}


@dataclass(frozen=True)
class Answer:
    """What to use and how sure that is. `pairs` are read "a against b", the better by score first."""

    winner: str | None
    """The one that is better than all others, or equivalent to some of them and ahead; None: undecided."""
    scope: str
    """problems: about similar problems too; trials: about just these."""
    view: str
    scale: str
    """What the score means, in words."""
    score: dict[str, list[float | None]]
    """The view's main score with its interval; None where there is no end."""
    order: list[str]
    """By score, the best first; empty where no problem has all optimizers."""
    pairs: list[dict[str, Any]]
    failed: dict[str, dict[str, int]]
    coverage: dict[str, Any]
    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    """With one problem: best and median value of each in the problem's own unit."""
    headline: str = ""
    """The first sentence: what to use."""
    at_every_look: bool = False
    """Whether intervals and verdicts hold however often one looks: those of a race, or of trials in their order."""
    first: list[str] = field(default_factory=list)
    """The warnings that belong above everything: what failed, and problems that not all have run."""
    find_others: Callable[[], list[str]] = field(default=list, repr=False, compare=False)
    """Finds the other warnings, for which more is computed than for the answer."""

    @cached_property
    def others(self) -> list[str]:
        """The warnings after the first."""
        return self.find_others()

    @property
    def warnings(self) -> list[str]:
        """What may mislead, the gravest first."""
        return [*self.first, *self.others]

    def to_data(self) -> dict[str, Any]:
        """As plain data, the keys as documented."""
        out: dict[str, Any] = {
            "winner": self.winner,
            "headline": self.headline,
            "scope": self.scope,
            "view": self.view,
            "scale": self.scale,
            "score": self.score,
            "order": self.order,
            "pairs": self.pairs,
            "failed": self.failed,
            "coverage": self.coverage,
            "warnings": self.warnings,
            "at_every_look": self.at_every_look,
        }
        return out | ({"values": self.values} if self.values else {})

    @cached_property
    def met(self) -> dict[tuple[str, str], dict[str, Any]]:
        """Every pair as read from either side."""
        return {(one["a"], one["b"]): one for pair in self.pairs for one in (pair, turned(pair))}

    def against(self, a: str, b: str) -> dict[str, Any]:
        """The pair as read from a; no such pair: a KeyError."""
        return self.met[a, b]

    def cell(self, row: str, column: str) -> str:
        """A cell of the matrix: '▲ 0.90'; a dot on the diagonal, a dash where the two share no problem."""
        pair = self.met.get((row, column))
        if pair is None:
            return "·" if row == column else ""
        if pair["pi"] is None:
            return ABSENT
        figure = probability(pair["pi"])
        return f"{SIGNS[pair['verdict']]} {figure if len(figure) <= WIDEST else format(pair['pi'], '.2f')}"


def turned(pair: dict[str, Any]) -> dict[str, Any]:
    """The same pair as read from the other side."""
    other = {BETTER: WORSE, WORSE: BETTER}
    flip = [None if pair[key] is None else 1 - pair[key] for key in ("pi", "upper", "lower")]
    return {
        "a": pair["b"],
        "b": pair["a"],
        **dict(zip(("pi", "lower", "upper"), flip, strict=True)),
        "verdict": other.get(pair["verdict"], pair["verdict"]),
    }


def answer(made: Comparison) -> Answer:
    """Of a comparison."""
    order = [made.optimizers[o] for o in made.overall.order] if made.overall is not None else []
    scores: dict[str, list[float | None]] = {}
    if made.overall is not None:
        ends = np.column_stack(made.overall.score)
        scores = {made.optimizers[o]: [_known(x) for x in ends[o]] for o in made.overall.order}
    pairs = _pairs(made)
    common = made.overall is not None
    coverage = {
        "problems": len(made.trials.problems) if common else 0,
        "functions": len(set(made.trials.functions)) if common else 0,
        "trials": [int(made.trials.trials.min()), int(made.trials.trials.max())],
        "left_out": made.left_out,
    }
    found = Answer(
        winner=_winner(order, pairs),
        scope=made.pairs.scope,
        view=made.scores.view,
        scale=made.scale,
        score=scores,
        order=order,
        pairs=pairs,
        failed={name: made.failed[name] for name in order or made.optimizers if name in made.failed},
        coverage=coverage,
        values={name: made.values[name] for name in order if name in made.values},
        at_every_look=made.pairs.at_every_look,
    )

    def others() -> list[str]:
        return [*made.cautions, *([] if made.overall is None else _doubts(made, found))]

    first = [*made.failures, *_coverage(made, found)]
    return replace(found, first=first, find_others=others, headline=headline(found))


def _pairs(made: Comparison) -> list[dict[str, Any]]:
    place = np.arange(len(made.optimizers)) if made.overall is None else np.argsort(made.overall.order)
    out: list[dict[str, Any]] = []
    for i in range(len(made.pairs.first)):
        a, b = sorted((int(made.pairs.first[i]), int(made.pairs.second[i])), key=lambda o: int(place[o]))
        value, lower, upper, verdict = made.pairs.between(a, b)
        known = not np.isnan(value)
        out.append(
            {
                "a": made.optimizers[a],
                "b": made.optimizers[b],
                "pi": value if known else None,
                "lower": lower if known else None,
                "upper": upper if known else None,
                "verdict": verdict if known else UNDECIDED,
            }
        )
    at = {made.optimizers[o]: int(p) for o, p in enumerate(place)}
    return sorted(out, key=lambda pair: (at[pair["a"]], at[pair["b"]]))


def _winner(order: list[str], pairs: list[dict[str, Any]]) -> str | None:
    ahead = {name: i for i, name in enumerate(order)}
    good = dict.fromkeys(order, 0)
    for pair in pairs:
        if not order:
            return None
        better = min(pair["a"], pair["b"], key=ahead.__getitem__)
        if pair["verdict"] in (BETTER, WORSE):
            good[pair["a"] if pair["verdict"] == BETTER else pair["b"]] += 1
        elif pair["verdict"] == EQUIVALENT:
            good[better] += 1
    return next((name for name in order if good[name] == len(order) - 1), None)


def headline(found: Answer) -> str:
    """What to use, in one sentence that needs no statistics."""
    if not found.order:
        return "No ranking: no problem was run by all optimizers. Each pair is compared on the problems that it shares."
    k = len(found.order)
    first = found.winner or found.order[0]
    leader = _said(first)
    others = [found.met[first, name] for name in found.order if (first, name) in found.met]
    groups = {word: [pair["b"] for pair in others if pair["verdict"] == word] for word in VERBS}
    if found.winner is not None:
        if not groups[EQUIVALENT]:
            return f"{leader} is best: it beats {all_others(k - 1)}."
        beats = f"it beats {_names(groups[BETTER])}, and " if groups[BETTER] else ""
        return f"Use {leader}: {beats}{_names(groups[EQUIVALENT])} {_are(groups[EQUIVALENT])} equivalent."
    if groups[WORSE]:
        return (
            f"No single winner: {leader} has the best score, but {_names(groups[WORSE])} "
            f"{'beats' if len(groups[WORSE]) == 1 else 'beat'} it more often than not."
        )
    tied = [name for name in found.order if found.score[name][0] == found.score[first][0]]
    if len(tied) > 1:
        return f"No winner: {_names(tied)} share the best score."
    if not groups[BETTER]:
        rest = "the other" if k == 2 else "any other"
        return f"No winner yet: {leader} leads, but it is not shown to be better than {rest}."
    rest = _names([*groups[EQUIVALENT], *groups[UNDECIDED]])
    return f"No winner yet: {leader} leads and beats {_names(groups[BETTER])}; {rest} may be as good or better."


VERBS = (BETTER, WORSE, EQUIVALENT, UNDECIDED)


def all_others(n: int) -> str:
    return "the other" if n == 1 else "both others" if n == 2 else f"all {n} others"


def _names(names: list[str]) -> str:
    names = [_said(name) for name in names]
    if len(names) > 3:
        return f"{', '.join(names[:2])} and {len(names) - 2} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _said(name: str) -> str:
    """A name in a sentence: a very long one is cut."""
    return middle_cut(name, LONG)


def _are(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


# ---- warnings --------------------------------------------------------------------------------------------------------


def _doubts(made: Comparison, found: Answer) -> list[str]:
    """What could mislead, the gravest first: contradictions, other ways of scoring, decisions that hang on little."""
    return [*_contradictions(made, found), *_other_ways(made, found), *_fragile(made, found)]


def _coverage(made: Comparison, found: Answer) -> list[str]:
    left = found.coverage["left_out"]
    if not left or not found.order:
        return []
    some = ", ".join(left[:2]) + (", …" if len(left) > 2 else "")
    common = counted(len(made.trials.problems), "problem")
    gone = f"{counted(len(left), 'problem')} {_are(left)} left out ({some})"
    return [f"The optimizers did not run on the same problems: this is about the {common} that all have run; {gone}."]


def _contradictions(made: Comparison, found: Answer) -> list[str]:
    """Where the order by score and the duels disagree, the decided ones first."""
    decided, open_ones = [], []
    if made.scores.view != made.trials.view:  # two measures: a caution says so
        return []
    followed = found.order if made.race is None else made.race.live  # who has left a race is not followed further
    for pair in found.pairs:  # a has the better score, or an equal one
        a, b = pair["a"], pair["b"]
        if pair["pi"] is None or found.score[a][0] == found.score[b][0]:
            continue
        if pair["verdict"] == WORSE:
            decided.append(
                f"{b} beats {a} in {100 * (1 - pair['pi']):.0f} % of duels, yet {a} has the better score: {b} wins "
                "more often, but where it loses, it loses by more."
            )
        elif pair["pi"] < 0.5 - ROPE and a in followed and b in followed:
            open_ones.append(
                f"{a} has a better score than {b} ({_of(found, a)} against {_of(found, b)}), but wins only "
                f"{100 * pair['pi']:.0f} % of their duels so far: where {b} loses, it loses by more."
            )
    return decided + open_ones


def _of(found: Answer, name: str) -> str:
    return number(found.score[name][0])


def _other_ways(made: Comparison, found: Answer) -> list[str]:
    """Other views, budgets or targets that put another first."""
    first = found.winner or found.order[0]
    differ = [
        c
        for c in made.changes
        if c.kind == "ranking"
        and c.order[0] != first
        and c.places.count(1) == 1
        # the first few evaluations say little: they count only where they decide
        and (TENTH not in c.label or any(first == worse for _, worse in [*c.reversed, *c.gained]))
    ]
    if not differ:
        return []
    by: dict[str, list[str]] = {}
    for change in differ:
        way, _, part = change.label.partition(", ")
        by.setdefault(change.order[0], []).append(f"{way} ({part})" if part else way)
    said = [f"{name} comes first by {_names(labels)}" for name, labels in by.items()]
    return [f"Other ways of scoring disagree: {'; '.join(said[:2])}."]


def _fragile(made: Comparison, found: Answer) -> list[str]:
    """Decisions about the first that hang on a single function, trial or optimizer."""
    if found.winner is None:
        return []
    out = []
    for noun in ("function", "trial", "optimizer"):
        hurt = [c for c in made.changes if c.kind == noun and c.tested and _involves(c, found.winner)]
        total = sum(c.kind == noun for c in made.changes)
        if hurt:
            more = f"one of {len(hurt) - 1} other {noun}s" if len(hurt) > 2 else f"one other {noun}"
            others = f", or without {more} (of {total})" if len(hurt) > 1 else ""
            out.append(f"Without {hurt[0].label}{others}, {found.winner} would not be shown to be best.")
    return out


def _involves(change: Change, name: str) -> bool:
    return any(name in pair for pair in [*change.lost, *change.reversed])


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
