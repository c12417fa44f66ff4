"""Two runs, versions or stores against each other: what changed, for each optimizer and on each problem.

Each optimizer of the one side meets itself of the other, as two optimizers meet in a comparison (docs/scores.md 5.3);
the level is shared by all optimizers.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from optarena._json import strict
from optarena._numbers import probability, short, typeset
from optarena._text import visible
from optarena.comparison import Comparison, compare
from optarena.errors import OptarenaError
from optarena.facade import Results
from optarena.serve.choice import Choice
from optarena.serve.pages import Pages
from optarena.serve.sides import marks_of, stores_of
from optarena.stats.estimates import ALPHA
from optarena.stats.improvement import BETTER, EQUIVALENT, ROPE, WORSE
from optarena.status import FINISHED
from optarena.store import RunFile
from optarena.views._options import view_named

NEW, OLD = "B", "A"
MOST_PROBLEMS = 500
NO_ROUND = "a run goes on, and no trial is complete on both sides yet"
WORDS = {BETTER: "better", WORSE: "worse", EQUIVALENT: "equivalent"}


def versus(pages: Pages, choice: Choice, a: str, b: str) -> dict[str, Any]:
    """What changed from side a to side b; without sides, only those that there are."""
    offered = pages.sides
    if not a or not b:
        return {"sides": offered}
    labels = {one["key"]: one["label"] for one in offered}
    for key in (a, b):
        if key not in labels:
            raise OptarenaError("there is no such run, version or store")
    if a == b:
        raise OptarenaError("choose two different sides")
    results = choice.apply(pages.results)
    stores = stores_of(pages.results)

    def of(key: str) -> list[int]:
        return [
            i
            for i, attempt in enumerate(results.attempts)
            if key in marks_of(attempt) or stores.get(attempt.start.study) == key
        ]

    places = {OLD: of(a), NEW: of(b)}
    names = {side: {results.attempts[i].start.optimizer for i in some} for side, some in places.items()}
    both = sorted(names[OLD] & names[NEW])
    if not both:
        raise OptarenaError("no optimizer was run on both sides")
    whole = pages.whole()
    options: dict[str, Any] = {}
    if whole.comparison is not None:
        options["view"] = view_named(whole.comparison.scores.view)
        if options["view"] == "fixed_cost" and whole.fixed_cost is not None:
            options["frame"] = whole.fixed_cost.pinned
    options |= {"alpha": ALPHA / len(both), "sequence": bool(pages.going) or None}
    if pages.going:
        rounds = _Rounds(pages.results, pages.going.runs, {OLD: a, NEW: b}, stores)
        options["alpha"] = ALPHA / max(len(both), rounds.optimizers)
        found = [_one(results, rounds.complete(results, places, name), name, options) for name in both]
    else:
        found = [_one(results, places, name, options) for name in both]
    out: dict[str, Any] = strict(
        {
            "sides": offered,
            "a": labels[a],
            "b": labels[b],
            "optimizers": found,
            "only": {side: [visible(one) for one in sorted(names[side] - set(both))] for side in (OLD, NEW)},
        }
    )
    return out


@dataclass(frozen=True)
class _Rounds:
    """While a run goes on: the first trials that are complete on both sides, so that what comes later changes none."""

    results: Results
    """Of everything, also what was not chosen."""
    runs: Sequence[RunFile]
    keys: dict[str, str]
    """Side -> its mark."""
    stores: dict[str, str]

    def _planned(self, side: str) -> set[tuple[str, str]]:
        """(optimizer, problem) that runs may still add to a side; which version will run a study is not known."""
        kind, _, value = self.keys[side].partition(":")
        runs = [run for run in self.runs if kind != "root" or run.root == value]
        return {(study.optimizer, study.problem) for run in runs for study in run.studies}

    @property
    def optimizers(self) -> int:
        """How many are on both sides, or will be: they share the level, whichever are chosen."""
        names = []
        for side, key in self.keys.items():
            begun = {
                attempt.start.optimizer
                for attempt in self.results.attempts
                if key in marks_of(attempt) or self.stores.get(attempt.start.study) == key
            }
            names.append(begun | {name for name, _ in self._planned(side)})
        return len(names[0] & names[1])

    def complete(self, results: Results, places: dict[str, list[int]], name: str) -> dict[str, list[int]]:
        """The places of an optimizer's studies in the trials that are complete on both sides: equally many of each."""
        status = results.studies["status"]
        sides: dict[str, dict[int, dict[str, int]]] = {}
        problems = []
        for side, some in places.items():
            trials = sides[side] = {}
            for i in some:
                attempt = results.attempts[i]
                if attempt.start.optimizer == name:
                    trials.setdefault(attempt.start.trial, {})[attempt.card.id] = i
            begun = {problem for of in trials.values() for problem in of}
            problems.append(begun | {problem for other, problem in self._planned(side) if other == name})
        need = problems[0] & problems[1] & set(results.studies["problem"])
        whole: dict[str, list[list[int]]] = {side: [] for side in sides}
        for side, trials in sides.items():
            for trial in sorted(trials):
                of = trials[trial]
                if not need or not all(problem in of and status[of[problem]] in FINISHED for problem in need):
                    break
                whole[side].append([of[problem] for problem in need])
        both = min(map(len, whole.values()))
        return {side: [i for trial in rounds[:both] for i in trial] for side, rounds in whole.items()}


def _one(results: Results, places: dict[str, list[int]], name: str, options: dict[str, Any]) -> dict[str, Any]:
    """One optimizer, before and after."""
    if not all(places.values()):
        return {"optimizer": visible(name), "said": f"Nothing can be said: {NO_ROUND}.", "problems": []}
    try:
        made = compare(_renamed(results, places, name), **options)
    except OptarenaError as error:
        return {"optimizer": visible(name), "said": f"Nothing can be said: {error}.", "problems": []}
    i, j = (made.optimizers.index(side) for side in (NEW, OLD))
    if made.pairs.all_are_here and np.isnan(made.pairs.improvement).all():
        return {"optimizer": visible(name), "said": "Both sides share no problem.", "problems": []}
    value, lower, upper, word = made.pairs.between(i, j)
    told = WORDS.get(word, "undecided")
    interval = f"P(B beats A) {probability(value)} [{probability(lower)}, {probability(upper)}]"
    return {
        "optimizer": visible(name),
        "verdict": told,
        "said": f"{interval}, over {made.pairs.scope}",
        "value": value,
        "lower": lower,
        "upper": upper,
        "problems": _problems(made)[:MOST_PROBLEMS],
    }


def _problems(made: Comparison) -> list[dict[str, Any]]:
    """Each problem: how often B won, and the mean score before and after; what changed most comes first."""
    at, turned = made.pairs.place(made.optimizers.index(NEW), made.optimizers.index(OLD))
    share = made.pairs.duels.share[at]
    share = 1.0 - share if turned else share
    scores = {(row["problem"], row["optimizer"]): row for row in made.tables["problems"].iter_rows(named=True)}
    out = []
    for problem, p in zip(made.trials.problems, share.tolist(), strict=True):
        before, after = (scores.get((problem, side), {}) for side in (OLD, NEW))
        won = "better" if p > 0.5 + ROPE else "worse" if p < 0.5 - ROPE else "same"
        out.append(
            {
                "problem": visible(problem),
                "p": p,
                "verdict": won,
                "before": typeset(short(before.get("score"))),
                "after": typeset(short(after.get("score"))),
                "trials": [before.get("trials", 0), after.get("trials", 0)],
            }
        )
    return sorted(out, key=lambda row: -abs(row["p"] - 0.5))


def _renamed(results: Results, places: dict[str, list[int]], name: str) -> Results:
    """The studies of one optimizer, called by their sides."""
    columns = copy.copy(results.columns)
    columns.attempts = list(columns.attempts)
    chosen = []
    for side, some in places.items():
        for i in some:
            at = results.chosen[i]
            attempt = columns.attempts[at]
            if attempt.start.optimizer == name:
                renamed = copy.copy(attempt)
                renamed.start = msgspec.structs.replace(attempt.start, optimizer=side)
                columns.attempts[at] = renamed
                chosen.append(at)
    return results._with(columns, sorted(chosen), [])
