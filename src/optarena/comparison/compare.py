"""A store in, a comparison out: which optimizers differ, by how much, and how sure that is (SCORES 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from optarena.comparison.overall import Overall, rate
from optarena.comparison.pairs import Pairs, all_pairs, compare_pairs
from optarena.comparison.power import Power, power
from optarena.comparison.ratios import Ratios, runtime_ratios
from optarena.comparison.stability import Change, stability
from optarena.errors import OptarenaError, nearest
from optarena.stats._result import RESAMPLES
from optarena.stats.bootstrap import draws
from optarena.stats.signed_rank import least_p
from optarena.store.results import Results
from optarena.views._scores import Scores
from optarena.views._view import View

VIEWS = ("fixed-cost", "fixed-target")
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
    notes: list[str] = field(default_factory=list)
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

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """optimizers, pairs, stability, rankings, profiles, scott_knott, scores."""
        from optarena.comparison.tables import tables

        return tables(self)

    def table(self, name: str) -> pl.DataFrame:
        """A table by its name."""
        made = self.tables
        if name not in made:
            raise OptarenaError(f"no table {name!r}.{nearest(name, made)} (a comparison has {', '.join(made)})")
        return made[name]

    def to_data(self) -> dict[str, Any]:
        """What `optarena compare --format json` prints."""
        from optarena.comparison.tables import to_data

        return to_data(self)

    def to_latex(self) -> str:
        """The optimizers and the pairs for a paper: booktabs, ready to `\\input`."""
        from optarena.comparison.tables import latex

        return latex(self)


def compare(
    results: Results,
    optimizers: Sequence[str] = (),
    *,
    view: str | None = None,
    metric: str | None = None,
    over: str | None = None,
    rope: float = ROPE,
    alpha: float = ALPHA,
    resamples: int = RESAMPLES,
    seed: int = 0,
    frame: str | Path | None = None,
    targets: str | None = None,
) -> Comparison:
    """Compare the optimizers of a store, or those named.

    view: `fixed-cost` (default, where there is a baseline) or `fixed-target`. over: whether claims are about new
    `problems` of this kind or about new `trials` on just these; by default problems, where there are enough that the
    test could tell a difference. rope: score differences up to it are ties. frame, targets: as the views have them.
    """
    if over is not None and over not in OVER:
        raise OptarenaError(f"a comparison is over {' or '.join(OVER)}; got {over!r}.{nearest(over, OVER)}")
    if view is not None and view not in VIEWS:
        raise OptarenaError(f"view must be one of {', '.join(VIEWS)}; got {view!r}.{nearest(view, VIEWS)}")
    _named(results, optimizers)
    made, notes = _views(results, view, frame, targets)
    main = made[0]
    every = main.scores(metric)
    scores = every.of(list(optimizers) or sorted(every.optimizers))
    ratios_of = next((one for one in made if one.name == "fixed-target"), None)
    out = compare_scores(
        scores,
        over=over,
        rope=rope,
        alpha=alpha,
        resamples=resamples,
        seed=seed,
        others=_others(made, scores, metric),
        runtimes=ratios_of,
    )
    out.frame, out.excluded = main.frame, main.excluded
    out.notes = [*notes, *out.notes, *main.notes]
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
    runtimes: Any = None,
) -> Comparison:
    """The same for scores of any origin; `others`: other ways of scoring the same optimizers, with their names."""
    if not rope >= 0 or not 0 < alpha < 1 or resamples < 100:
        raise OptarenaError(
            f"give a rope >= 0, alpha between 0 and 1, at least 100 resamples; got {rope}, {alpha}, {resamples}"
        )
    notes: list[str] = []
    whole = scores.complete()
    _complete(scores, whole, notes)
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
        raise OptarenaError(
            f"one trial on each of {n} problems tells nothing of the noise: run more trials (-r 5), or compare over "
            "problems with --over problems"
        )
    rng = np.random.default_rng(seed)
    counts = draws(n, resamples, rng)
    pairs = compare_pairs(whole, counts, over=over, rope=rope, alpha=alpha, rng=rng)
    overall = rate(whole, pairs, counts, over=over, alpha=alpha, resamples=resamples, rng=rng)
    first, second = all_pairs(k)
    ratios = None if runtimes is None else runtime_ratios(runtimes, whole.optimizers, first, second, resamples, seed)
    return Comparison(
        whole, over, rope, alpha, resamples, seed, overall, pairs, ratios,
        power(whole, pairs, over=over, rng=rng),
        stability(whole, pairs, _comparable(others, whole, notes), over=over),
        notes=notes,
    )  # fmt: skip


def _named(results: Results, optimizers: Sequence[str]) -> None:
    known = sorted(set(results.studies["optimizer"]))
    for name in optimizers:
        if name not in known:
            raise OptarenaError(
                f"store {results.path} has no optimizer {name!r}.{nearest(name, known)} (it has {', '.join(known)})"
            )
    if len(set(optimizers)) != len(optimizers):
        raise OptarenaError("an optimizer is named twice: name each once")


def _views(
    results: Results, view: str | None, frame: str | Path | None, targets: str | None
) -> tuple[list[View], list[str]]:
    """The view to compare by, then the other, where the store allows it."""
    notes: list[str] = []
    made: list[View] = []
    first = view or ("fixed-target" if targets is not None else "fixed-cost")
    for name in (first, *(other for other in VIEWS if other != first)):
        main = name == first
        try:
            if name == "fixed-cost":
                if main and targets is not None:
                    raise OptarenaError("--targets is an option of the fixed-target view")
                made.append(results.fixed_cost(frame=frame if main else None))
            else:
                made.append(
                    results.fixed_target(targets=targets, bootstrap=0, only=("ert",), frame=frame if main else None)
                )
        except OptarenaError as error:
            if main and (view is not None or frame is not None or targets is not None):
                raise
            if main:
                notes.append(f"compared by fixed targets, as there is no fixed-cost score: {error}")
            elif not made:
                raise
    return made, notes


def _others(made: list[View], scores: Scores, metric: str | None) -> list[tuple[str, Scores]]:
    """The other ways of scoring this store: budgets, views, halves of the targets, areas."""
    from optarena.views.fixed_cost import FixedCost
    from optarena.views.fixed_target import FixedTarget

    out: list[tuple[str, Scores]] = []
    for view in made:
        if isinstance(view, FixedCost):
            shown = [name for name in view.metrics if name == scores.metric] if view is made[0] else view.metrics[:1]
            for name in shown:
                out += [
                    (f"fixed cost at {100 * part:g} % of the budget", view.scores(name, part))
                    for part in (1.0, 0.5, 0.1)
                ]
            if view is made[0]:
                out += [(f"fixed cost by {name}", view.scores(name)) for name in view.metrics if name != scores.metric]
        elif isinstance(view, FixedTarget):
            out += [(f"fixed target, {part} targets", view.scores("area", part)) for part in ("all", "easy", "hard")]
            out.append(("area over the convergence curve", view.scores("aocc")))
    mine = {"fixed-cost": "fixed cost at 100 % of the budget", "fixed-target": "fixed target, all targets"}[scores.view]
    if metric in (None, "area", scores.metric) and scores.metric in ("value", "area", metric):
        out = [(label, one) for label, one in out if label != mine or one.metric != scores.metric]
    out = [(label.replace("at 100 % of", "at the end of"), one) for label, one in out]
    for d in sorted({d for d in scores.dimensions if d is not None}) if len(set(scores.dimensions)) > 1 else []:
        out.append((f"only dimension {d}", scores.on(np.array([one == d for one in scores.dimensions]))))
    return out


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


def _complete(scores: Scores, whole: Scores, notes: list[str]) -> None:
    """Say which problems are left out because some optimizer has no score there; refuse where none is left."""
    scores = scores.on(np.asarray((scores.trials > 0).any(axis=1)))  # the view names those that it could not score
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
