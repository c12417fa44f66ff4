"""A store in, a comparison out: which optimizers differ, by how much, and how sure that is (docs/scores.md 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from optarena._numbers import counted
from optarena._services import service
from optarena.comparison.answer import SCALES, Answer, answer
from optarena.comparison.overall import Overall, rate
from optarena.comparison.pairs import MANY, Pairs, compare_apart, compare_pairs, scale_of
from optarena.comparison.power import DETECT, UNKNOWN, Power, power
from optarena.comparison.ratios import Ratios, expected, runtime_ratios
from optarena.comparison.stability import Change, stability
from optarena.dataset import Dataset
from optarena.errors import OptarenaError, nearest
from optarena.sense import signs
from optarena.stats._result import RESAMPLES
from optarena.stats.bootstrap import draws
from optarena.stats.improvement import ROPE, enough_functions
from optarena.status import FINISHED
from optarena.traces import Bools
from optarena.views import score
from optarena.views._answering import kinds
from optarena.views._options import dashed, options_of, view_named
from optarena.views._scores import Scores
from optarena.views._view import ORIGINALS, View
from optarena.views.fixed_target import FixedTarget
from optarena.views.pareto import Pareto
from optarena.views.selection import ONE, SEVERAL, failure_notes

OVER = ("problems", "trials")
ALPHA = 0.05
SECOND = ("fixed_cost", "fixed_target")
"""Views whose order is looked at beside that of the main one."""


@dataclass
class Comparison:
    """`print(it)` is the answer; `.tables` has all that is behind it, `.to_data()` the same as plain data."""

    scores: Scores
    """The view's main score of each trial, on the problems that are compared."""
    trials: Scores
    """By what trials are ordered against each other: on all problems that all have run, scored or not."""
    rope: float
    alpha: float
    resamples: int
    seed: int
    pairs: Pairs
    overall: Overall | None
    """None where no problem has all optimizers: there is no ranking then."""
    ratios: Ratios | None
    power: Power
    changes: list[Change]
    left_out: list[str] = field(default_factory=list)
    """Problems that not all optimizers have run."""
    failed: dict[str, dict[str, int]] = field(default_factory=dict)
    """Of each optimizer: studies that failed, of how many, and evaluations that failed."""
    failures: list[str] = field(default_factory=list)
    """The same in words, the worst first; nothing where nothing failed."""
    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    """With one problem: best and median of each optimizer in the problem's own unit."""
    frame: dict[str, Any] = field(default_factory=dict)
    cautions: list[str] = field(default_factory=list)
    """What limits the comparison as a whole: too few functions, missing scores, no baseline."""
    notes: list[str] = field(default_factory=list)
    """What the view has to say."""
    excluded: list[dict[str, Any]] = field(default_factory=list)
    others: list[Comparison] = field(default_factory=list)
    """Of a store with several kinds of problems: the answers to the other kinds."""

    @property
    def optimizers(self) -> list[str]:
        return self.scores.optimizers

    @property
    def rated(self) -> Overall:
        """The ranking; an error where there is none."""
        if self.overall is None:
            raise OptarenaError("there is no ranking: no problem was run by all optimizers")
        return self.overall

    @property
    def over(self) -> str:
        """What claims are about: similar `problems`, or new `trials` on just these."""
        return self.pairs.scope

    @cached_property
    def answer(self) -> Answer:
        """What to use, who beats whom, and what to know of that; `.to_data()` is plain data."""
        return answer(self)

    @property
    def scale(self) -> str:
        """What the main score means, in words."""
        if self.scores.view == "fixed-cost" and scale_of(self.scores) == 1.0:
            return "0 = best known value, 1 = median of random points (random search itself is at the best value)"
        if not self.main_metric:
            return f"{self.scores.what}; less is better"
        return SCALES.get(self.scores.view, self.scores.what)

    main_metric: bool = True
    """Whether the score is the view's own, not another metric that was asked for."""

    @property
    def sentences(self) -> list[str]:
        """The answer without its table: the headline, every warning, what is undecided."""
        from optarena.comparison.words import sentences

        return sentences(self)

    def text(self, width: int | None = None, command: str = "") -> str:
        """The answer as text that fits a width, one per kind of problems; command: how it was asked."""
        from optarena.comparison.words import text

        if not self.others:
            return text(self, width, command)
        return "\n\n".join(f"By {one.scores.view}\n{text(one, width, command)}" for one in [self, *self.others])

    def __str__(self) -> str:
        return self.text()

    @cached_property
    def tables(self) -> dict[str, pl.DataFrame]:
        """optimizers, pairs, rankings, stability, groups, scott_knott, profiles, problems; computed once."""
        from optarena.comparison.tables import tables

        return tables(self)

    def on(self, which: Bools) -> Comparison:
        """The same on some of the problems, without looking at what changes when something is left out."""
        settings: dict[str, Any] = {
            "rope": self.rope,
            "alpha": self.alpha,
            "detect": self.power.detect,
            "seed": self.seed,
        }
        here = np.isin(self.scores.problems, [p for p, kept in zip(self.trials.problems, which, strict=True) if kept])
        out = compare_scores(
            self.scores.on(here), trials=self.trials.on(which), resamples=100, stable=False, **settings
        )
        out.frame, out.main_metric = self.frame, self.main_metric
        return out

    def table(self, name: str) -> pl.DataFrame:
        """A table by its name."""
        if name not in self.tables:
            known = ", ".join(self.tables)
            raise OptarenaError(f"no table {name!r}.{nearest(name, self.tables)} (a comparison has {known})")
        return self.tables[name]

    def to_data(self) -> dict[str, Any]:
        """What `optarena compare --format json` prints."""
        from optarena.comparison.tables import to_data

        return to_data(self)

    def to_latex(self) -> str:
        """The optimizers and the pairs for a paper: booktabs, ready to `\\input`."""
        latex: str = service("comparison as LaTeX")(self)
        return latex

    def _repr_html_(self) -> str:
        html: str = service("comparison as HTML")(self)
        return html


def compare(
    results: Dataset,
    optimizers: Sequence[str] = (),
    *,
    view: str | None = None,
    metric: str | None = None,
    over: str | None = None,
    rope: float = ROPE,
    alpha: float = ALPHA,
    detect: float = DETECT,
    resamples: int = RESAMPLES,
    seed: int = 0,
    views: Mapping[str, View] | None = None,
    **options: Any,
) -> Comparison:
    """Compare the optimizers of a store, or those named.

    view: by default the one that answers for this store (`optarena.views.answering`); a store with several kinds of
    problems has an answer for each. over: whether claims are about similar `problems` or about new `trials` on just
    these; by default problems, where there are enough functions to decide at all. rope: probabilities of improvement
    within 0.5 plus or minus it are equivalent. detect: the difference that advice on further runs is about. views:
    those that are scored already. Other options are those of the view that is compared: `mode`, `axis`, `targets`, …
    """
    if over is not None and over not in OVER:
        raise OptarenaError(f"a comparison is over {' or '.join(OVER)}; got {over!r}.{nearest(over, OVER)}")
    _named(results, optimizers)
    asked = {name: value for name, value in options.items() if value is not None}
    settings = {"over": over, "rope": rope, "alpha": alpha, "detect": detect, "resamples": resamples, "seed": seed}
    parts: list[tuple[str, Dataset]] = [(view_named(view), results)] if view is not None else _parts(results)
    scored = dict(views or {}) if len(parts) == 1 else {}
    made: list[Comparison] = []
    lost: list[str] = []
    for i, (kind, part) in enumerate(parts):
        names = [name for name in optimizers if len(parts) == 1 or name in set(part.studies["optimizer"])]
        try:
            made.append(_compare_by(part, names, kind, None if i else metric, asked, scored, settings))
        except OptarenaError as error:
            if len(parts) == 1:
                raise
            lost.append(f"The studies for the {dashed(kind)} view have no answer: {error}.")
    if not made:
        raise OptarenaError(" ".join(lost))
    made[0].cautions += lost
    made[0].others = made[1:]
    return made[0]


def _parts(results: Dataset) -> list[tuple[str, Dataset]]:
    """The studies of each kind, with the view that answers for them."""
    found = kinds(results)
    if len(found) < 2:
        return [(one, results) for one in found or ("fixed_cost",)]
    return [(view, results.select(np.flatnonzero(mine))) for view, mine in found.items()]


def _compare_by(
    results: Dataset,
    optimizers: Sequence[str],
    kind: str,
    metric: str | None,
    asked: dict[str, Any],
    scored: Mapping[str, View],
    settings: dict[str, Any],
) -> Comparison:
    main = _view(results, kind, asked, scored)
    ways = main.ways(metric)
    names = list(optimizers) or sorted(ways[0][1].optimizers)
    scores, trials = ways[0][1].of(names), main.trial_scores(metric).of(names)
    beside = {name: found for name in SECOND if name != kind and (found := _allowed(results, name, scored)) is not None}
    others = [*ways[1:], *(way for one in beside.values() for way in one.ways())]
    timed = main if kind == "fixed_target" else beside.get("fixed_target")
    if len(set(scores.dimensions)) > 1:
        for d in sorted({d for d in scores.dimensions if d is not None}):
            others.append((f"dimension {d} alone", scores.on(np.array([one == d for one in scores.dimensions]))))
    out = compare_scores(
        scores,
        trials=trials,
        others=others,
        runtimes=timed if isinstance(timed, FixedTarget) else None,
        **settings,
    )
    out.failed = {name: main.failed[name] for name in names if name in main.failed}
    mine = main.failures.filter(pl.col("optimizer").is_in(names))
    out.failures = [
        f"{text}.".replace("failed eval", "Failed eval", 1)
        for text in failure_notes(mine, ORIGINALS.get(main.mode, ""))
    ]
    out.frame, out.excluded, out.notes = main.frame, main.excluded, main.notes
    out.main_metric = metric is None
    out.cautions += [*_absent(main, optimizers), *_unscored(main, scores.metric)]
    if isinstance(main, Pareto) and (flat := int(main.without_volume.sum())):
        out.cautions.append(
            f"On {counted(flat, 'problem')} no front has any hypervolume: there IGD+ decides the duels."
        )
    if len(out.trials.problems) == 1:
        out.values = in_units(results, out.trials.problems[0], out.optimizers)
    return out


def _absent(view: View, asked: Sequence[str]) -> list[str]:
    """Optimizers that have studies of this kind, none of which could be scored."""
    there = set(view.scores().optimizers)
    reasons: dict[str, list[str]] = {}
    for one in view.excluded:
        name = one["optimizer"]
        if name and name not in there and (not asked or name in asked) and one["reason"] not in (SEVERAL, ONE):
            reasons.setdefault(name, []).append(one["reason"])
    return [
        f"{name} is missing: {counted(len(why), 'study')} without a value ({why[0]})." for name, why in reasons.items()
    ]


def _unscored(view: View, metric: str) -> list[str]:
    """Problems that were run and that the view cannot score, with the first reason."""
    gone = [
        one for one in view.excluded if one["problem"] and not one["optimizer"] and one.get("metric") in (None, metric)
    ]
    if not gone:
        return []
    some = ", ".join(one["problem"] for one in gone[:2]) + (", …" if len(gone) > 2 else "")
    verb = "is" if len(gone) == 1 else "are"
    return [f"{counted(len(gone), 'problem')} {verb} not in the score ({some}): {gone[0]['reason']}."]


def compare_scores(
    scores: Scores,
    *,
    trials: Scores | None = None,
    over: str | None = None,
    rope: float = ROPE,
    alpha: float = ALPHA,
    detect: float = DETECT,
    resamples: int = RESAMPLES,
    seed: int = 0,
    others: Sequence[tuple[str, Scores]] = (),
    runtimes: FixedTarget | None = None,
    stable: bool = True,
) -> Comparison:
    """The same for scores of any origin.

    trials: by what trials are ordered against each other, if not by the scores themselves. others: other ways of
    scoring the same optimizers, by name. runtimes: a view that has expected running times of the same problems.
    stable: look at what changes when something is left out.
    """
    for name, value, good, right in (
        ("rope", rope, 0 <= rope < 0.5, "at least 0 and below 0.5"),
        ("alpha", alpha, 0 < alpha < 1, "between 0 and 1"),
        ("detect", detect, 0.5 < detect < 1, "between 0.5 and 1"),
        ("resamples", resamples, resamples >= 100, "at least 100"),
    ):
        if not good:
            raise OptarenaError(f"{name} must be {right}; got {value:g}")
    trials = scores if trials is None else trials
    k = len(scores.optimizers)
    if k < 2:
        raise OptarenaError(f"a comparison needs two optimizers or more; got {', '.join(scores.optimizers) or 'none'}")
    some = np.asarray((trials.trials > 0).any(axis=1))
    common = np.asarray((trials.trials > 0).all(axis=1))
    if not some.any() or not (scores.trials > 0).any():
        raise OptarenaError(
            f"no problem has a score ({scores.metric}) to compare: optarena score shows what the view has"
        )
    left_out = [trials.problems[p] for p in np.flatnonzero(some & ~common).tolist()]
    if not common.any():
        return _apart(trials.on(some), over, rope, alpha, resamples, seed, detect, left_out)
    ordered = trials.on(common)  # duels need no scale: a problem that has no score counts all the same
    whole = scores.on(np.isin(scores.problems, ordered.problems)).complete()
    if not len(whole.problems):
        raise OptarenaError(f"no problem that all optimizers ran has a score ({scores.metric}): name those to compare")
    _finite(whole)
    notes: list[str] = []
    tests = k * (k - 1) // 2
    scope, why = _scope(ordered, tests, alpha, over)
    if why:
        notes.append(why)
    rng = np.random.default_rng(seed)
    counts = draws(len(set(whole.functions)), resamples, rng)
    ranks = ordered.ranked()
    pairs = compare_pairs(whole, ordered, ranks, counts, scope=scope, rope=rope, alpha=alpha, seed=seed)
    overall = rate(whole, ordered, ranks, pairs, counts, alpha=alpha, resamples=resamples, rng=rng)
    if not pairs.all_are_here:
        notes.append(
            f"{k:,} optimizers are {tests:,} pairs: only those of the leader with each other one are compared, "
            f"corrected for all, and what would settle them is said of the best {MANY}."
        )
    ratios = None
    if runtimes is not None:
        erts, axis = expected(runtimes, whole.optimizers, ordered.problems)
        ratios = runtime_ratios(erts, axis, pairs.first, pairs.second, resamples, seed)
    return Comparison(
        whole, ordered, rope, alpha, resamples, seed, pairs, overall, ratios,
        power(ordered, pairs, detect=detect, seed=seed),
        stability(whole, ordered, ranks, pairs, _comparable(others, whole), rope=rope, seed=seed) if stable else [],
        left_out=left_out,
        cautions=notes,
    )  # fmt: skip


def _scope(scores: Scores, tests: int, alpha: float, over: str | None) -> tuple[str, str]:
    """What claims can be about, and why not about similar problems where nothing was asked (docs/scores.md 5.3)."""
    functions, trials = len(set(scores.functions)), int(scores.trials.max())
    if over == "problems" and functions < 2:
        raise OptarenaError("one function says nothing of others: compare over trials, or run more functions")
    if over == "trials" and trials < 2:
        where = "one problem" if len(scores.problems) == 1 else f"each of {len(scores.problems)} problems"
        raise OptarenaError(
            f"one trial on {where} tells nothing of the noise: run more trials (-r 5)"
            f"{', or compare over problems with --over problems' if functions > 1 else ' and more problems'}"
        )
    enough = enough_functions(functions, tests, alpha)
    if over == "trials" or enough:
        return over or "problems", ""
    need = int(np.ceil(1 + np.log2(tests / alpha) - 1e-9))
    few = (
        f"{counted(functions, 'function')} {'is' if functions == 1 else 'are'} too few for claims about other problems "
        f"({need} would be enough)"
    )
    if over == "problems":
        return over, f"{few}: nothing can be decided."
    if trials > 1:
        return (
            "trials",
            f"{few}: this is about just {'this problem' if len(scores.problems) == 1 else 'these problems'}.",
        )
    if functions < 2:
        raise OptarenaError(
            "one trial on one problem tells nothing of the noise: run more trials (-r 5) and more problems"
        )
    return "problems", f"{few}, and one trial each says nothing of these: run more trials (-r 5)."


def _apart(
    trials: Scores, over: str | None, rope: float, alpha: float, resamples: int, seed: int, detect: float,
    left_out: list[str],
) -> Comparison:  # fmt: skip
    """Where no problem has all optimizers: no ranking, each pair on the problems that it shares."""
    k = len(trials.optimizers)
    tests = k * (k - 1) // 2
    scopes: dict[tuple[int, int], str] = {}
    shared = 0
    for a in range(k):
        for b in range(a + 1, k):
            both = np.asarray((trials.trials[:, [a, b]] > 0).all(axis=1))
            part = trials.on(both)
            shared += int(both.sum())
            enough = enough_functions(len(set(part.functions)), tests, alpha)
            scopes[a, b] = over or ("problems" if enough else "trials")
    if not shared:
        raise OptarenaError("no two optimizers have run on the same problem: there is nothing to compare")
    pairs = compare_apart(trials, scopes, rope=rope, alpha=alpha, seed=seed)
    nothing = np.full(len(pairs.first), UNKNOWN, dtype=np.int64)
    return Comparison(
        trials,
        trials,
        rope,
        alpha,
        resamples,
        seed,
        pairs,
        None,
        None,
        Power(nothing, nothing, detect),
        [],
        left_out=left_out,
    )


def _named(results: Dataset, optimizers: Sequence[str]) -> None:
    known = sorted(set(results.studies["optimizer"]))
    for name in optimizers:
        if name not in known:
            raise OptarenaError(
                f"store {results.path} has no optimizer {name!r}.{nearest(name, known)} (it has {', '.join(known)})"
            )
    if len(set(optimizers)) != len(optimizers):
        raise OptarenaError("an optimizer is named twice: name each once")


def _view(results: Dataset, kind: str, asked: dict[str, Any], scored: Mapping[str, View]) -> View:
    options = options_of(kind, asked)
    if not asked and kind in scored:
        return scored[kind]
    only = {"bootstrap": 0, "only": ("ert",)} if kind == "fixed_target" else {}
    made: View = score(results, kind, **only | options)
    return made


def _allowed(results: Dataset, kind: str, scored: Mapping[str, View]) -> View | None:
    """Another view to look at beside the main one, where the store allows it."""
    try:
        return _view(results, kind, {}, scored)
    except OptarenaError:
        return None


def _comparable(others: Sequence[tuple[str, Scores]], scores: Scores) -> list[tuple[str, Scores]]:
    """Those that have all the optimizers on some problem."""
    out = []
    for label, one in others:
        if not set(scores.optimizers) <= set(one.optimizers):
            continue
        part = one.of(scores.optimizers).complete()
        if len(part.problems):
            out.append((label, part))
    return out


def _finite(scores: Scores) -> None:
    """Refuse infinite scores (an empty front is infinitely far): they have no mean that could be compared."""
    found = np.argwhere(np.isinf(scores.values))
    if len(found):
        p, o, _ = found[0].tolist()
        raise OptarenaError(
            f"{scores.metric} of {scores.optimizers[o]} on {scores.problems[p]} is infinite, and so is its mean: "
            "compare by a metric that is always finite, as the view's own"
        )


def in_units(results: Dataset, problem: str, optimizers: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Best and median value of each optimizer on a problem of one objective, in its unit; a failure is the worst."""
    rows = results.studies.filter(
        (pl.col("problem") == problem) & pl.col("sense").is_not_null() & pl.col("status").is_in(list(FINISHED))
    )
    out: dict[str, dict[str, Any]] = {}
    for name in optimizers:
        mine = rows.filter(pl.col("optimizer") == name)
        if not mine.height:
            return {}
        sign = signs(mine["sense"])[0]
        values = np.sort(np.where(mine["best"].is_null(), np.inf, mine["best"].fill_null(0.0).to_numpy() * sign))
        best, middle = (None if np.isinf(x) else float(x * sign) for x in (values[0], np.median(values)))
        out[name] = {"best": best, "median": middle, "trials": mine.height}
    return out
