"""Two runs, versions or stores against each other: what changed, for each optimizer and on each problem.

Each optimizer of the one side meets itself of the other, as two optimizers meet in a comparison (docs/scores.md 5.3);
the level is shared by all optimizers.
"""

from __future__ import annotations

import copy
import time
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
from optarena.stats.improvement import BETTER, EQUIVALENT, ROPE, WORSE
from optarena.store.columns import Attempt
from optarena.views._options import view_named
from optarena.views.ranking import ALPHA

NEW, OLD = "B", "A"
MOST_PROBLEMS = 500
WORDS = {BETTER: "better", WORSE: "worse", EQUIVALENT: "equivalent"}


def sides(results: Results) -> list[dict[str, str]]:
    """What can be compared: roots (runs that began anew), versions of packages, stores; of each kind two or more."""
    kinds: dict[str, dict[str, str]] = {}
    begun = {run.root: run.time for run in reversed(results.all_runs)}
    for attempt in results.attempts:
        for key in _marks(attempt):
            kind, _, value = key.partition(":")
            when = begun.get(value, attempt.start.time)
            told = f"run of {time.strftime('%Y-%m-%d %H:%M', time.localtime(when))} (root {value[:8]})"
            kinds.setdefault(kind, {})[key] = told if kind == "root" else visible(value)
    for key in set(_stores(results).values()):
        kinds.setdefault("store", {})[key] = f"store {visible(key.partition(':')[2])}"
    return [{"key": key, "label": label} for some in kinds.values() if len(some) > 1 for key, label in some.items()]


def versus(pages: Pages, choice: Choice, a: str, b: str) -> dict[str, Any]:
    """What changed from side a to side b; without sides, only those that there are."""
    offered = sides(pages.results)
    if not a or not b:
        return {"sides": offered}
    labels = {one["key"]: one["label"] for one in offered}
    for key in (a, b):
        if key not in labels:
            raise OptarenaError("there is no such run, version or store")
    if a == b:
        raise OptarenaError("choose two different sides")
    results = choice.apply(pages.results)
    stores = _stores(results)

    def of(key: str) -> list[int]:
        return [
            i
            for i, attempt in enumerate(results.attempts)
            if key in _marks(attempt) or stores.get(attempt.start.study) == key
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
    found = [
        _one(results, places, name, {**options, "alpha": ALPHA / len(both), "sequence": bool(pages.live) or None})
        for name in both
    ]
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


def _one(results: Results, places: dict[str, list[int]], name: str, options: dict[str, Any]) -> dict[str, Any]:
    """One optimizer, before and after."""
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


def _marks(attempt: Attempt) -> set[str]:
    """The sides that an attempt may be on."""
    versions = {f"{package}:{package} {version}" for package, version in attempt.start.versions.items()}
    versions |= {f"optarena:optarena {header.optarena}" for header in attempt.headers if header.optarena}
    return {f"root:{attempt.start.root}", *versions}


def _stores(results: Results) -> dict[str, str]:
    """Study -> the store that has its rows."""
    columns = results.columns
    first = np.unique(columns.owner, return_index=True)
    out = {}
    for owner, row in zip(*(one.tolist() for one in first), strict=True):
        path = columns.sources[int(columns.source[row])].path
        out[columns.attempts[owner].start.study] = f"store:{path.parent.parent.name}"
    return out
