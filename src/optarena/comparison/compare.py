"""Scores in, a comparison out: which optimizers differ, by how much, and how sure that is (docs/scores.md 5)."""

from __future__ import annotations

from collections.abc import Sequence
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
from optarena.comparison.pairs import MANY, Pairs, compare_apart, compare_pairs, scale_of
from optarena.comparison.power import DETECT, UNKNOWN, Power, power
from optarena.comparison.ratios import Ratios, expected, runtime_ratios
from optarena.comparison.stability import Change, stability
from optarena.errors import OptarenaError, nearest
from optarena.stats._result import RESAMPLES
from optarena.stats.bootstrap import draws
from optarena.stats.improvement import ROPE, Simultaneous, enough_functions
from optarena.traces import Bools
from optarena.views._scores import Scores
from optarena.views.fixed_target import FixedTarget

if TYPE_CHECKING:
    from optarena.comparison.race import Race

OVER = ("problems", "trials")
ALPHA = 0.05
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
    ratios: Ratios | None
    power: Power
    changes: list[Change]
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
    others: Sequence[tuple[str, Scores]] = (),
    runtimes: FixedTarget | None = None,
    stable: bool = True,
    sequences: Simultaneous | None = None,
) -> Comparison:
    """The same for scores of any origin.

    trials: by what trials are ordered against each other, if not by the scores themselves. others: other ways of
    scoring the same optimizers, by name. runtimes: a view that has expected running times of the same problems.
    stable: look at what changes when something is left out. sequences: intervals of all pairs that hold at every look
    and decide instead of the usual ones; the claim is then about these problems.
    """
    check_settings(rope, alpha, detect, resamples)
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
    ratios = None
    if runtimes is not None:
        erts, axis = expected(runtimes, whole.optimizers, ordered.problems)
        ratios = runtime_ratios(erts, axis, pairs.first, pairs.second, resamples, seed)
    return Comparison(
        whole, ordered, rope, alpha, resamples, seed, pairs, overall, ratios,
        power(ordered, pairs, overall.order, detect=detect, seed=seed),
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
    noun = "problem" if functions == len(scores.problems) else "function"
    few = (
        f"{counted(functions, noun)} {'is' if functions == 1 else 'are'} too few for claims about other problems "
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
