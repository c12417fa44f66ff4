"""A store in, a comparison out: which optimizers differ, by how much, and how sure that is (docs/scores.md 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from optarena._services import service
from optarena.comparison.overall import Overall, rate
from optarena.comparison.pairs import MANY, Pairs, compare_pairs
from optarena.comparison.power import Power, power
from optarena.comparison.ratios import Ratios, expected, runtime_ratios
from optarena.comparison.stability import Change, stability
from optarena.dataset import Dataset
from optarena.errors import OptarenaError, nearest
from optarena.stats._result import RESAMPLES
from optarena.stats.bootstrap import draws
from optarena.stats.signed_rank import least_p
from optarena.traces import Floats
from optarena.views import score
from optarena.views._options import dashed, options_of, view_named
from optarena.views._scores import Scores
from optarena.views._view import View
from optarena.views.fixed_target import FixedTarget

OVER = ("problems", "trials")
ROPE = 0.01
ALPHA = 0.05


@dataclass
class Comparison:
    """`print(it)` is the verdict in words; `.tables` has all that is behind it, `.to_data()` the same as plain data."""

    scores: Scores
    over: str
    rope: float
    alpha: float
    resamples: int
    seed: int
    overall: Overall
    pairs: Pairs
    ratios: Ratios | None
    power: Power
    changes: list[Change]
    frame: dict[str, Any] = field(default_factory=dict)
    cautions: list[str] = field(default_factory=list)
    """What limits the comparison as a whole: too few problems, missing scores, no baseline."""
    notes: list[str] = field(default_factory=list)
    """The cautions, then what the view has to say."""
    excluded: list[dict[str, Any]] = field(default_factory=list)

    @property
    def optimizers(self) -> list[str]:
        return self.scores.optimizers

    @property
    def sentences(self) -> list[str]:
        """The verdict: who wins, by how much, how sure; what is undecided; what would change it."""
        from optarena.comparison.words import verdict

        return verdict(self)

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    @cached_property
    def tables(self) -> dict[str, pl.DataFrame]:
        """optimizers, pairs, rankings, stability, groups, scott_knott, profiles, problems; computed once."""
        from optarena.comparison.tables import tables

        return tables(self)

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


def compare(
    results: Dataset,
    optimizers: Sequence[str] = (),
    *,
    view: str | None = None,
    metric: str | None = None,
    over: str | None = None,
    rope: float = ROPE,
    alpha: float = ALPHA,
    resamples: int = RESAMPLES,
    seed: int = 0,
    views: Mapping[str, View] | None = None,
    **options: Any,
) -> Comparison:
    """Compare the optimizers of a store, or those named.

    view: by default `fixed-cost`, where there is a baseline, else `fixed-target`, else `pareto`. over: whether claims
    are about new `problems` of this kind or about new `trials` on just these; by default problems, where there are
    enough that the test could tell a difference. rope: score differences up to it are ties. views: those that are
    scored already.
    Other options are those of the view that is compared: `mode`, `axis`, `frame`, `targets`, `horizon`, …
    """
    if over is not None and over not in OVER:
        raise OptarenaError(f"a comparison is over {' or '.join(OVER)}; got {over!r}.{nearest(over, OVER)}")
    view = None if view is None else dashed(view_named(view))
    asked = {name: value for name, value in options.items() if value is not None}
    _named(results, optimizers)
    made, notes = _views(results, view, asked, views or {})
    main = made[0]
    ways = main.ways(metric)
    scores = ways[0][1]
    scores = scores.of(list(optimizers) or sorted(scores.optimizers))
    others = [*ways[1:], *(way for one in made[1:] for way in one.ways())]
    if len(set(scores.dimensions)) > 1:
        for d in sorted({d for d in scores.dimensions if d is not None}):
            others.append((f"dimension {d} alone", scores.on(np.array([one == d for one in scores.dimensions]))))
    timed = next((one for one in made if isinstance(one, FixedTarget)), None)
    out = compare_scores(
        scores,
        over=over,
        rope=rope,
        alpha=alpha,
        resamples=resamples,
        seed=seed,
        others=others,
        runtimes=None if timed is None else (expected(timed, scores.optimizers), str(timed.frame["axis"])),
    )
    out.frame, out.excluded = main.frame, main.excluded
    out.cautions = [*notes, *out.cautions]
    out.notes = [*out.cautions, *main.notes]
    return out


def compare_scores(
    scores: Scores,
    *,
    over: str | None = None,
    rope: float = ROPE,
    alpha: float = ALPHA,
    resamples: int = RESAMPLES,
    seed: int = 0,
    others: Sequence[tuple[str, Scores]] = (),
    runtimes: tuple[Floats, str] | None = None,
) -> Comparison:
    """The same for scores of any origin.

    others: other ways of scoring the same optimizers, by name. runtimes: expected running times (problems, targets,
    optimizers) and what they count.
    """
    if not rope >= 0 or not 0 < alpha < 1 or resamples < 100:
        raise OptarenaError(
            f"give a rope >= 0, alpha between 0 and 1, at least 100 resamples; got {rope}, {alpha}, {resamples}"
        )
    notes: list[str] = []
    whole = scores.complete()
    _complete(scores, whole, notes)
    _finite(whole)
    k, n = len(whole.optimizers), len(whole.problems)
    if k < 2:
        raise OptarenaError(f"a comparison needs two optimizers or more; got {', '.join(whole.optimizers) or 'none'}")
    tests = k * (k - 1) // 2
    if over is None:
        over = "problems" if least_p(n) * tests < alpha else "trials"
        if over == "trials":
            need = int(np.ceil(1 + np.log2(tests / alpha) + 1e-9))
            notes.append(
                f"{n} {'problem is' if n == 1 else 'problems are'} too few to speak of new problems ({need} would be "
                f"needed for {tests} {'test' if tests == 1 else 'tests'}): all is about new trials on just these"
            )
    if over == "trials" and int(whole.trials.max()) < 2:
        where = "one problem" if n == 1 else f"each of {n} problems"
        raise OptarenaError(
            f"one trial on {where} tells nothing of the noise: run more trials (-r 5)"
            f"{', or compare over problems with --over problems' if n > 1 else ' and more problems'}"
        )
    rng = np.random.default_rng(seed)
    counts = draws(n, resamples, rng)
    pairs = compare_pairs(whole, counts, over=over, rope=rope, alpha=alpha, rng=rng)
    overall = rate(whole, pairs, counts, over=over, alpha=alpha, resamples=resamples, rng=rng)
    if not pairs.all_are_here:
        notes.append(
            f"{k:,} optimizers are {tests:,} pairs: only those of the leader with each other one are compared, "
            f"corrected for all, and what would settle them is told of the best {MANY}; the groups tell of the rest, "
            "and strengths have no intervals"
        )
    ratios = None if runtimes is None else runtime_ratios(*runtimes, pairs.first, pairs.second, resamples, seed)
    return Comparison(
        whole, over, rope, alpha, resamples, seed, overall, pairs, ratios,
        power(whole, pairs, over=over, rng=rng),
        stability(whole, pairs, _comparable(others, whole, notes), over=over),
        cautions=notes,
        notes=list(notes),
    )  # fmt: skip


def _named(results: Dataset, optimizers: Sequence[str]) -> None:
    known = sorted(set(results.studies["optimizer"]))
    for name in optimizers:
        if name not in known:
            raise OptarenaError(
                f"store {results.path} has no optimizer {name!r}.{nearest(name, known)} (it has {', '.join(known)})"
            )
    if len(set(optimizers)) != len(optimizers):
        raise OptarenaError("an optimizer is named twice: name each once")


def _views(
    results: Dataset, view: str | None, asked: dict[str, Any], scored: Mapping[str, View]
) -> tuple[list[View], list[str]]:
    """The view to compare by, then others, where the store allows them."""
    notes: list[str] = []
    made: list[View] = []
    # without a name: by fixed cost, or, where that is not to be had, by fixed target, or by fronts
    names = [*_SECOND, "pareto"] if view is None else [view, *(v for v in _SECOND if v != view)]
    for name in names:
        main = not made
        if name == "pareto" and view is None and made:
            break
        try:
            made.append(_view(results, name, asked if main else {}, scored))
        except OptarenaError as error:
            if main and (view is not None or name == names[-1]):
                raise
            if main and name == "fixed-cost":
                notes.append(f"not compared by fixed cost: {error}")
    return made, notes


_SECOND = ("fixed-cost", "fixed-target")


def _view(results: Dataset, name: str, asked: dict[str, Any], scored: Mapping[str, View]) -> View:
    method = view_named(name)
    options = options_of(method, asked)
    if not asked and method in scored:
        return scored[method]
    only = {"bootstrap": 0, "only": ("ert",)} if name == "fixed-target" else {}
    made: View = score(results, method, **only | options)
    return made


def _comparable(others: Sequence[tuple[str, Scores]], scores: Scores, notes: list[str]) -> list[tuple[str, Scores]]:
    """Those that have all the optimizers on some problem."""
    out = []
    for label, one in others:
        if not set(scores.optimizers) <= set(one.optimizers):
            continue
        part = one.of(scores.optimizers).complete()
        if len(part.problems):
            out.append((label, part))
        else:
            notes.append(f"{label}: no problem has all optimizers")
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


def _complete(scores: Scores, whole: Scores, notes: list[str]) -> None:
    """Say which problems are left out because some optimizer has no score there; refuse where none is left."""
    scores = scores.on(np.asarray((scores.trials > 0).any(axis=1)))  # the view names those that it could not score
    if not len(scores.problems):
        raise OptarenaError(
            f"no problem has a score ({scores.metric}) to compare: optarena score shows what the view has"
        )
    if len(whole.problems) == len(scores.problems):
        return
    lacking = np.sum(scores.trials == 0, axis=0)
    worst = int(np.argmax(lacking))
    if not len(whole.problems):
        raise OptarenaError(
            f"no problem has scores of all {len(scores.optimizers)} optimizers ({scores.optimizers[worst]} lacks "
            f"{lacking[worst]} of {len(scores.problems)}): name those to compare"
        )
    names = ", ".join(f"{scores.optimizers[o]} lacks {lacking[o]}" for o in np.flatnonzero(lacking).tolist()[:3])
    notes.append(
        f"compared on {len(whole.problems)} of {len(scores.problems)} problems, where all have scores ({names})"
    )
