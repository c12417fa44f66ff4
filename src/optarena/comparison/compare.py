"""Scores in, a comparison out: which optimizers differ, by how much, and how sure that is (docs/scores.md 5)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from optarena._json import strict
from optarena._numbers import counted
from optarena._services import service
from optarena._text import screen_width
from optarena.comparison.answer import SCALES, Answer, answer
from optarena.comparison.overall import SOME, Overall, rate
from optarena.comparison.pairs import MANY, Pairs, all_pairs, compare_apart, compare_pairs
from optarena.comparison.power import DETECT, UNKNOWN, Power, power
from optarena.comparison.ratios import Ratios, expected, runtime_ratios
from optarena.comparison.stability import Change, stability
from optarena.errors import OptarenaError, nearest
from optarena.stats._result import RESAMPLES
from optarena.stats.bootstrap import draws
from optarena.stats.estimates import ALPHA
from optarena.stats.improvement import ROPE, Simultaneous, enough_functions
from optarena.views._scores import Scores
from optarena.views.fixed_target import FixedTarget
from optarena.views.ranking import claims_about, scale_of
from optarena.views.selection import FAILURES, by_optimizer, failed_evaluations, failed_studies

if TYPE_CHECKING:
    from optarena.comparison.race import Race

OVER = ("problems", "trials")
FEW = 2000
"""Resamples where there are more than `SOME` optimizers."""


@dataclass(repr=False)
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
    find_ratios: Callable[[], Ratios | None] = field(repr=False)
    power: Power
    find_changes: Callable[[], list[Change]] = field(repr=False)
    left_out: list[str] = field(default_factory=list)
    """Problems that not all optimizers have run."""
    failed: dict[str, dict[str, int]] = field(default_factory=dict)
    """Of each optimizer: studies that failed, of how many, and evaluations that failed."""
    failures: list[str] = field(default_factory=list)
    """The failed studies in words, the worst first; nothing where none failed."""
    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    """With one problem: best and median of each optimizer in the problem's own unit."""
    frame: dict[str, Any] = field(default_factory=dict)
    cautions: list[str] = field(default_factory=list)
    """What limits the comparison as a whole: too few functions, missing scores, no baseline."""
    notes: list[str] = field(default_factory=list)
    """What the view has to say."""
    excluded: list[dict[str, Any]] = field(default_factory=list)
    race: Race | None = None
    """Of a store that was run until decided: the race, whose looks decide."""
    others: list[Comparison] = field(default_factory=list)
    """Of a store with several kinds of problems: the answers to the other kinds."""
    given: tuple[Scores, Scores] | None = field(default=None, repr=False)
    """Scores and trials as they were given, with the problems that not all optimizers have run: for `part`."""
    failures_on: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=FAILURES), repr=False)
    """What failed, one row per problem and optimizer."""
    original: str = ""
    """The tool whose rules are kept, where one is."""
    standing: list[str] = field(default_factory=list)
    """The cautions that hold for every part, too."""
    unscored: list[tuple[str, str]] = field(default_factory=list)
    """Problems that were run and that the view cannot score, with the reason."""
    signs: Mapping[str, float] = field(default_factory=dict, repr=False)
    """By problem with one objective: -1 where more is better."""

    @cached_property
    def ratios(self) -> Ratios | None:
        """Of expected running times, where a view has them."""
        return self.find_ratios()

    @cached_property
    def changes(self) -> list[Change]:
        """What else one would conclude without an optimizer, a function or a trial, or by another view."""
        return self.find_changes()

    @property
    def optimizers(self) -> list[str]:
        """The names of those that are compared."""
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
        return self.scale_for(scale_of(self.scores))

    def scale_for(self, unit: float) -> str:
        """The same where mean scores are divided by so much."""
        if self.scores.view == "fixed-cost" and unit == 1.0:
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

    def text(self, width: int | None = None, command: str = "", *, wide: bool = False) -> str:
        """The answer as text that fits a width, one per kind of problems; command: how it was asked; wide: with the
        whole matrix, whatever the width."""
        from optarena.comparison.words import text

        if not self.others:
            return text(self, width, command, wide=wide)
        return "\n\n".join(
            f"By {one.scores.view}\n{text(one, width, command, wide=wide)}" for one in [self, *self.others]
        )

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        """The answer, as text that fits the terminal."""
        return self.text(screen_width())

    @cached_property
    def tables(self) -> dict[str, pl.DataFrame]:
        """optimizers, pairs, rankings, stability, groups, scott_knott, profiles, problems; computed once."""
        from optarena.comparison.tables import tables

        return tables(self)

    def part(self, optimizers: Collection[str] = (), problems: Collection[str] | None = None) -> Comparison:
        """The same for some of the optimizers on some of the problems, in the same frame; all of them by default.

        Without looking at what changes when something is left out. Of a race, only optimizers can be chosen.
        """
        scores, trials = self.given or (self.scores, self.trials)
        names = [name for name in trials.optimizers if not optimizers or name in optimizers]
        sequences = None
        if self.pairs.at_every_look:
            if problems is not None and not set(trials.problems) <= set(problems):
                raise OptarenaError("a race is about all its problems: choose optimizers only")
            here = [self.optimizers.index(name) for name in names]
            at = [self.pairs.place(here[a], here[b])[0] for a, b in zip(*all_pairs(len(here)), strict=True)]
            p = self.pairs
            sequences = Simultaneous(p.improvement[at], p.lower[at], p.upper[at], p.p[at])
        if problems is not None:
            scores, trials = (one.on(np.isin(one.problems, list(problems))) for one in (scores, trials))
        out = compare_scores(
            scores.of(names), trials=trials.of(names), sequences=sequences, rope=self.rope, alpha=self.alpha,
            detect=self.power.detect, seed=self.seed, resamples=100, stable=False,
        )  # fmt: skip
        out.frame, out.main_metric, out.race, out.signs = self.frame, self.main_metric, self.race, self.signs
        kept = pl.lit(True) if problems is None else pl.col("problem").is_in(list(problems))
        out.note(self.standing, self.failures_on.filter(kept), self.original)
        out.note_unscored([one for one in self.unscored if problems is None or one[0] in problems])
        if len(out.trials.problems) == 1:
            out.values = out.own_values
        return out

    def note(self, standing: list[str], failures: pl.DataFrame, original: str = "") -> None:
        """Keep what failed, in numbers and in words. standing: what is to be said of every part."""
        self.standing, self.failures_on, self.original = standing, failures, original
        mine = failures.filter(pl.col("optimizer").is_in(self.optimizers))
        counts = by_optimizer(mine).select("optimizer", "studies", "of", "evaluations").iter_rows(named=True)
        found = {row.pop("optimizer"): row for row in counts}
        self.failed = {name: found[name] for name in self.optimizers if name in found}
        self.failures = [f"{text}." for text in failed_studies(mine, original)]
        self.failures += [f"{text[:1].upper()}{text[1:]}." for text in failed_evaluations(mine)]
        self.cautions += standing

    def note_unscored(self, unscored: list[tuple[str, str]]) -> None:
        """Keep which problems have no score, and say so."""
        self.unscored = unscored
        if unscored:
            some = ", ".join(name for name, _ in unscored[:2]) + (", …" if len(unscored) > 2 else "")
            verb = "is" if len(unscored) == 1 else "are"
            what = f"{counted(len(unscored), 'problem')} {verb} not in the score ({some}): {unscored[0][1]}."
            self.cautions.append(what)

    @property
    def own_values(self) -> dict[str, dict[str, Any]]:
        """Best and median of each optimizer on its one problem, in the problem's unit; a trial without a value is last.

        Nothing where the trials are not ordered by their values.
        """
        if (self.trials.view, self.trials.metric) != ("fixed-cost", "value") or not self.trials.trials[0].all():
            return {}
        sign = self.signs.get(self.trials.problems[0], 1.0)
        out: dict[str, dict[str, Any]] = {}
        for name, values in zip(self.optimizers, self.trials.values[0], strict=True):
            there = values[~np.isnan(values)]
            best, middle = (None if np.isinf(x) else float(x * sign) for x in (np.min(there), np.median(there)))
            out[name] = {"best": best, "median": middle, "trials": len(there)}
        return out

    def table(self, name: str) -> pl.DataFrame:
        """A table by its name."""
        if name not in self.tables:
            known = ", ".join(self.tables)
            raise OptarenaError(f"no table {name!r}.{nearest(name, self.tables)} (a comparison has {known})")
        return self.tables[name]

    def to_data(self) -> dict[str, Any]:
        """What `optarena compare --format json` prints: an infinite number is the text "inf", an undefined one None."""
        from optarena.comparison.tables import to_data

        data: dict[str, Any] = strict(to_data(self))
        return data

    def to_latex(self) -> str:
        """The optimizers and the pairs for a paper: booktabs, ready to `\\input`."""
        latex: str = service("comparison as LaTeX")(self)
        return latex

    def _repr_html_(self) -> str:
        html: str = service("comparison as HTML")(self)
        return html


def check_settings(rope: float, alpha: float, detect: float, resamples: int) -> None:
    """Refuse what no comparison can be made with."""
    for name, value, good, right in (
        ("rope", rope, 0 <= rope < 0.5, "at least 0 and below 0.5"),
        ("alpha", alpha, 0 < alpha < 1, "between 0 and 1"),
        ("detect", detect, 0.5 < detect < 1, "between 0.5 and 1"),
        ("resamples", resamples, resamples >= 100, "at least 100"),
    ):
        if not good:
            raise OptarenaError(f"{name} must be {right}; got {value:g}")


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
    others: Sequence[tuple[str, Scores]] | Callable[[], Sequence[tuple[str, Scores]]] = (),
    runtimes: Callable[[], FixedTarget | None] = lambda: None,
    stable: bool = True,
    sequences: Simultaneous | None = None,
) -> Comparison:
    """The same for scores of any origin.

    trials: by what trials are ordered against each other, if not by the scores themselves. others: other ways of
    scoring the same optimizers, by name, or what gives them when they are needed. runtimes: gives a view that has
    expected running times of the same problems, when these are needed.
    stable: look at what changes when something is left out. sequences: intervals of all pairs that hold at every look
    and decide instead of the usual ones; the claim is then about these problems.
    """
    check_settings(rope, alpha, detect, resamples)
    trials = scores if trials is None else trials
    given = (scores, trials)
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
        apart = _apart(trials.on(some), over, rope, alpha, resamples, seed, detect, left_out)
        apart.given = given
        return apart
    ordered = trials.on(common)  # duels need no scale: a problem that has no score counts all the same
    whole = scores.on(np.isin(scores.problems, ordered.problems)).complete()
    if not len(whole.problems):
        raise OptarenaError(f"no problem that all optimizers ran has a score ({scores.metric}): name those to compare")
    _finite(whole)
    notes: list[str] = []
    tests = k * (k - 1) // 2
    scope, why = ("trials", "") if sequences is not None else _scope(ordered, tests, alpha, over)
    if why:
        notes.append(why)
    if k > SOME:
        resamples = min(resamples, FEW)
    rng = np.random.default_rng(seed)
    counts = draws(len(set(whole.functions)), resamples, rng)
    ranks = ordered.ranked()
    pairs = compare_pairs(
        whole, ordered, ranks, counts, scope=scope, rope=rope, alpha=alpha, seed=seed, sequences=sequences
    )
    overall = rate(whole, ordered, ranks, pairs, counts, alpha=alpha, resamples=resamples, rng=rng)
    if not pairs.all_are_here:
        notes.append(
            f"{k:,} optimizers are {tests:,} pairs: only those of the leader with each other one are compared, "
            f"corrected for all, and what would settle them is said of the best {MANY}."
        )

    def ratios() -> Ratios | None:
        if (timed := runtimes()) is None:
            return None
        erts, axis = expected(timed, whole.optimizers, ordered.problems)
        return runtime_ratios(erts, axis, pairs.first, pairs.second, resamples, seed)

    def changes() -> list[Change]:
        if not stable:
            return []
        found = _comparable(others() if callable(others) else others, whole)
        return stability(whole, ordered, ranks, pairs, found, rope=rope, seed=seed)

    return Comparison(
        whole, ordered, rope, alpha, resamples, seed, pairs, overall, ratios,
        power(ordered, pairs, overall.order, detect=detect, seed=seed),
        changes,
        left_out=left_out,
        cautions=notes,
        given=given,
    )  # fmt: skip


def _scope(scores: Scores, tests: int, alpha: float, over: str | None) -> tuple[str, str]:
    """What claims can be about, and why not about similar problems where nothing was asked (docs/scores.md 5.3)."""
    functions, trials = len(set(scores.functions)), int(scores.trials.max())
    if over == "problems" and functions < 2:
        raise OptarenaError("one function says nothing of others: compare over trials, or run more functions")
    if over == "trials" and trials < 2:
        where = "one problem" if len(scores.problems) == 1 else f"each of {len(scores.problems)} problems"
        raise OptarenaError(
            f"one trial on {where} does not show the noise: run more trials (-r 5)"
            f"{', or compare over problems with --over problems' if functions > 1 else ' and more problems'}"
        )
    enough = enough_functions(functions, tests, alpha)
    if over == "trials" or enough:
        return over or "problems", ""
    need = int(np.ceil(1 + np.log2(tests / alpha) - 1e-9))
    noun = "problem" if functions == len(scores.problems) else "function"
    few = (
        f"{counted(functions, noun)} {'is' if functions == 1 else 'are'} too few for claims about other problems "
        f"({need} would be enough)"
    )
    if over == "problems":
        return over, f"{few}: nothing can be decided."
    scope = claims_about(scores, alpha)
    if scope == "trials":
        return scope, f"{few}: this is about just {'this problem' if len(scores.problems) == 1 else 'these problems'}."
    if functions < 2:
        raise OptarenaError(
            "one trial on one problem does not show the noise: run more trials (-r 5) and more problems"
        )
    return scope, f"{few}, and one trial each says nothing of these: run more trials (-r 5)."


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
        lambda: None,
        Power(nothing, nothing, detect),
        list,
        left_out=left_out,
    )


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
