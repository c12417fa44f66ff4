"""A store in, a comparison out: which view answers, what it leaves out, and the values in the problem's own unit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from optarena._numbers import counted
from optarena.comparison.compare import OVER, Comparison, check_settings, compare_scores
from optarena.comparison.power import DETECT
from optarena.comparison.race import Race, by_trial, grown, race_of, ranks_among
from optarena.costs import is_cost
from optarena.dataset import Dataset
from optarena.dataset.facts import different_cards
from optarena.errors import OptarenaError, nearest
from optarena.sense import signs
from optarena.stats._result import RESAMPLES
from optarena.stats.estimates import ALPHA
from optarena.stats.improvement import ROPE, Simultaneous
from optarena.stats.sequences import sequence as at_every_look
from optarena.status import FINISHED
from optarena.traces import Floats
from optarena.views import score
from optarena.views._answering import kinds
from optarena.views._options import dashed, options_of, view_named
from optarena.views._scores import Scores
from optarena.views._view import ORIGINALS, View
from optarena.views.fixed_target import FixedTarget
from optarena.views.pareto import Pareto
from optarena.views.selection import ONE, SEVERAL
from optarena.views.trial_scores import trial_scores

UNSCALED = (
    "P(beats) is by the best value at the end of the budget, as in the race; the score is by fixed target, since only "
    "random search gives fixed cost a scale: they may differ."
)
SECOND = ("fixed_cost", "fixed_target")
"""Views whose order is looked at beside that of the main one."""


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
    sequence: bool | None = None,
    tests: int | None = None,
    views: Mapping[str, View] | None = None,
    **options: Any,
) -> Comparison:
    """Compare the optimizers of a store, or those named.

    view: by default the one that answers for this store (`optarena.views.answering`); a store with several kinds of
    problems has an answer for each. over: whether claims are about similar `problems` or about new `trials` on just
    these; by default problems, where there are enough functions to decide at all. rope: probabilities of improvement
    within 0.5 plus or minus it are equivalent. detect: the difference that advice on further runs is about. sequence:
    intervals that hold however often one looks, trials taken as rounds; by default where the store was run until
    decided. tests: for how many pairs together such intervals hold, where these are some of more. views: those that are
    scored already. Other options are those of the view that is compared: `mode`,
    `axis`, `targets`, …
    """
    if over is not None and over not in OVER:
        raise OptarenaError(f"a comparison is over {' or '.join(OVER)}; got {over!r}.{nearest(over, OVER)}")
    check_settings(rope, alpha, detect, resamples)
    _named(results, optimizers)
    asked = {name: value for name, value in options.items() if value is not None}
    settings: dict[str, Any] = {"over": over, "rope": rope, "alpha": alpha, "detect": detect, "seed": seed}
    settings |= {"resamples": resamples, "tests": tests}
    if sequence and over == "problems":
        raise OptarenaError("a sequence is about these problems: leave out --over problems, or --sequence")
    settings["sequence"] = sequence if over != "problems" else False
    parts: list[tuple[str, Dataset]] = [(view_named(view), results)] if view is not None else _parts(results)
    scored: Mapping[str, View] = views if views is not None and len(parts) == 1 else {}
    settings["race"] = None
    if len(parts) == 1 and settings["sequence"] is not False:
        settings["race"] = race = race_of(results)
        if view is None and not asked and metric is None:
            parts = [(_raced(race, results, optimizers) or parts[0][0], results)]
    made: list[Comparison] = []
    lost: list[str] = []
    for i, (kind, part) in enumerate(parts):
        names = [name for name in optimizers if len(parts) == 1 or name in set(part.studies["optimizer"])]
        if len(parts) > 1 and settings["sequence"] is not False:
            settings["race"] = race_of(part)
        try:
            made.append(_compare_by(part, names, kind, None if i else metric, asked, scored, settings, view is None))
        except OptarenaError as error:
            free = kind == "fixed_cost" and view is None and metric is None and not asked
            if free and (found := _by_targets(part, names, scored, settings, str(error))) is not None:
                made.append(found)
                continue
            if len(parts) == 1:
                raise
            lost.append(f"The studies for the {dashed(kind)} view have no answer: {error}.")
    if not made:
        raise OptarenaError(" ".join(lost))
    made[0].cautions += lost
    made[0].others = made[1:]
    return made[0]


def _raced(race: Race | None, results: Dataset, optimizers: Sequence[str]) -> str | None:
    """The view that decided the race of these optimizers; None where there is none, or where it was fixed cost."""
    if race is None or race.plan.view == "fixed_cost":
        return None
    return race.plan.view if set(optimizers or results.studies["optimizer"]) <= set(race.plan.optimizers) else None


def _by_targets(
    results: Dataset, optimizers: Sequence[str], scored: Mapping[str, View], settings: dict[str, Any], why: str
) -> Comparison | None:
    """Where random search gives no problem a scale: targets need none."""
    try:
        found = _compare_by(results, optimizers, "fixed_target", None, {}, scored, settings, True)
    except OptarenaError:
        return None
    found.cautions.insert(0, f"This is by fixed target, because there is no fixed-cost score: {why}.")
    return found


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
    free: bool,
) -> Comparison:
    """free: the view was not asked for, so that another one may say who won the duels of a race."""
    main = _view(results, kind, asked, scored)
    ways = main.ways(metric)
    names = list(optimizers) or sorted(ways[0][1].optimizers)
    scores, trials = ways[0][1].of(names), main.trial_scores(metric).of(names)
    beside = _Beside(results, kind, scored)
    whole = scores  # of a race, problems may be left out below

    def others() -> list[tuple[str, Scores]]:
        out = [*ways[1:], *(way for one in beside.views.values() for way in one.ways())]
        if len(set(whole.dimensions)) > 1:
            for d in sorted({d for d in whole.dimensions if d is not None}):
                out.append((f"dimension {d} alone", whole.on(np.array([one == d for one in whole.dimensions]))))
        return out

    def timed() -> FixedTarget | None:
        view = main if kind == "fixed_target" else beside.views.get("fixed_target")
        return view if isinstance(view, FixedTarget) else None

    settings = dict(settings)
    wanted = settings.pop("sequence")
    race: Race | None = settings.pop("race")
    tests: int | None = settings.pop("tests")
    sequences = None
    why: list[str] = []
    if wanted or race is not None:
        own = race is not None and metric is None and not asked and _decided_by(race, kind, free, names)
        race = race if own else None
        if race is not None and race.plan.view != kind:
            trials = trial_scores(results, race.plan.view, race.plan.budgets).of(names)
            why.append(UNSCALED)
        if race is not None and (further := sorted(set(trials.problems) - set(race.plan.problems))):
            scores, trials = (one.on(np.isin(one.problems, race.plan.problems)) for one in (scores, trials))
            some = ", ".join(further[:2]) + (", …" if len(further) > 2 else "")
            left_out = f"{counted(len(further), 'problem')} outside it {'is' if len(further) == 1 else 'are'} left out"
            why.append(f"This is about the race: {left_out} ({some}).")
        if race is not None and int(trials.trials.max()) > race.rounds:
            rounds = counted(race.rounds, "round")
            why.append(f"P(beats) is of the {rounds} of the race: trials beyond them count in the score only.")
        foreign = any(card.imported for card in different_cards(results))
        level: dict[str, Any] = {"alpha": settings["alpha"], "rope": settings["rope"], "tests": tests}

        def alone(part: Dataset) -> Scores:
            made: Scores = _view(part, kind, asked, {}).trial_scores(metric)
            return made

        each = _Rounds(results, alone) if race is None and _depends_on_others(main) else None
        sequences = _sequences(race, trials, foreign, each, **level)
    out = compare_scores(
        scores,
        trials=trials,
        others=others,
        runtimes=timed,
        sequences=sequences,
        **settings,
    )
    out.race = race if race is not None and race.whole else None
    out.note(why if sequences is not None else _extended(results), main.failures, ORIGINALS.get(main.mode, ""))
    out.frame, out.excluded, out.notes = main.frame, main.excluded, main.notes
    out.main_metric = metric is None
    out.cautions[:0] = _free(results.filter(optimizer=scores.optimizers), asked.get("axis"))
    out.cautions += _absent(main, optimizers)
    out.note_unscored(_unscored(main, scores.metric))
    one = results.studies.filter(pl.col("sense").is_not_null()).unique("problem")
    out.signs = dict(zip(one["problem"], signs(one["sense"]).tolist(), strict=True))
    if isinstance(main, Pareto) and (flat := int(main.without_volume.sum())):
        out.cautions.append(
            f"On {counted(flat, 'problem')} no front has any hypervolume: there IGD+ decides the duels."
        )
    if len(out.trials.problems) == 1:
        out.values = in_units(results, out)
    return out


def _decided_by(race: Race, kind: str, free: bool, names: Sequence[str]) -> bool:
    """Whether it is the race that a comparison of these optimizers by this view is about.

    Fixed cost has no scale without random search, so that another view has the score: the duels need none.
    """
    unscaled = free and (race.plan.view, kind) == ("fixed_cost", "fixed_target")
    return (race.plan.view == kind or unscaled) and set(names) <= set(race.plan.optimizers)


@dataclass(frozen=True)
class _Rounds:
    """Trials in their order, each scored by itself: later ones never change what was seen (docs/scores.md 6.1)."""

    results: Dataset
    score: Callable[[Dataset], Scores]

    def ranks(self, problems: Sequence[str], optimizers: Sequence[str]) -> list[Floats]:
        """Of each round, `ranks_among` these: inf for a trial without a score, which loses; NaN where there is none."""
        begun = self.results.studies.head(len(self.results.chosen)).with_row_index("at")
        begun = begun.filter(
            pl.col("problem").is_in(list(problems)),
            pl.col("optimizer").is_in(list(optimizers)),
            pl.col("status").is_in(list(FINISHED)),
        ).sort("trial", "at")
        begun = begun.with_columns(round=pl.int_range(pl.len()).over("problem", "optimizer"))
        rows, columns = ({name: i for i, name in enumerate(names)} for names in (problems, optimizers))
        out = []
        for _, part in begun.group_by("round", maintain_order=True):
            here = np.full((len(problems), len(optimizers), 1), np.nan)
            for problem, name in part.select("problem", "optimizer").iter_rows():
                here[rows[problem], columns[name]] = np.inf
            try:
                scores = self.score(self.results.select(part["at"].to_numpy().astype(np.int64)))
            except OptarenaError:  # nobody has a value: all tie
                out.append(here)
                continue
            ranks = ranks_among(scores, problems, optimizers)
            out.append(np.where(np.isnan(here) | np.isnan(ranks), here, ranks))
        return out


def _depends_on_others(view: View) -> bool:
    """Whether the score of a trial may change when other trials are added."""
    known = view.name == "fixed-target" and view.frame.get("optimum") == "known"
    return view.name != "fixed-cost" and not known


def _sequences(
    race: Race | None,
    trials: Scores,
    foreign: bool,
    rounds: _Rounds | None = None,
    *,
    alpha: float,
    rope: float,
    tests: int | None = None,
) -> Simultaneous:
    """Intervals of all pairs that hold at every look: from the rounds of a race, else from trials in their order.

    foreign: there are imported trials, of which one seed may have served all problems of a round. Then bets are on the
    mean of a round, which needs no independent problems. rounds: trials scored alone, where that matters.
    """
    if race is not None:
        values = race.values_of(trials.optimizers)
        return at_every_look(values, race.weights, alpha=alpha, rope=rope, tests=max(tests or 0, len(race.first)))
    common = _run_by_all(trials)
    if not len(common.problems):
        raise OptarenaError("no problem was run by all optimizers: rounds need problems that all have run")
    values, weights = by_trial(common, None if rounds is None else rounds.ranks(common.problems, common.optimizers))
    if foreign:
        values, weights = (values @ (weights / weights.sum()))[..., None], np.ones(1)
    return at_every_look(values, weights, alpha=alpha, rope=rope, tests=max(tests or 0, len(values)))


def _run_by_all(trials: Scores) -> Scores:
    """On the problems of which every optimizer has a trial."""
    return trials.on(np.asarray((trials.trials > 0).all(axis=1)))


def _extended(results: Dataset) -> list[str]:
    """What to say where trials were added by several runs, or by a race."""
    if any(run.race is not None for run in results.all_runs):
        return ["How many trials there are was decided by looking, in a race: these intervals do not cover that."]
    runs = grown(results)
    if runs < 2:
        return []
    text = f"Trials came in {runs} runs. If you looked in between, these intervals promise too much"
    return [f"{text}: --sequence gives those that hold however often one looks."]


def _free(compared: Dataset, axis: str | None) -> list[str]:
    """Who looks free on an axis of costs, since it reports none."""
    return [f"{note[0].upper()}{note[1:]}." for note in compared.notes_on(axis)] if axis and is_cost(axis) else []


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


def _unscored(view: View, metric: str) -> list[tuple[str, str]]:
    """Problems that were run and that the view cannot score, with the reason."""
    return [
        (one["problem"], one["reason"])
        for one in view.excluded
        if one["problem"] and not one["optimizer"] and one.get("metric") in (None, metric)
    ]


def _named(results: Dataset, optimizers: Sequence[str]) -> None:
    known = sorted(results.studies["optimizer"].unique())
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


@dataclass
class _Beside:
    """The other views of some studies, where the store allows them; scored when they are asked for."""

    results: Dataset
    kind: str
    scored: Mapping[str, View]

    @cached_property
    def views(self) -> dict[str, View]:
        each = ((name, _allowed(self.results, name, self.scored)) for name in SECOND if name != self.kind)
        return {name: view for name, view in each if view is not None}


def _allowed(results: Dataset, kind: str, scored: Mapping[str, View]) -> View | None:
    """Another view to look at beside the main one, where the store allows it."""
    try:
        return _view(results, kind, {}, scored)
    except OptarenaError:
        return None


def in_units(results: Dataset, made: Comparison) -> dict[str, dict[str, Any]]:
    """Best and median value of each optimizer on its one problem, in the problem's unit; a failure is the worst."""
    if own := made.own_values:  # what the duels are about
        return own
    begun = results.studies.filter(pl.col("status") != "missing").with_columns(least=pl.Series(_least(results)))
    here = (pl.col("problem") == made.trials.problems[0]) & pl.col("sense").is_not_null()
    rows = begun.filter(here & (pl.col("status").is_in(list(FINISHED)) | pl.col("least").is_finite()))
    out: dict[str, dict[str, Any]] = {}
    for name in made.optimizers:
        mine = rows.filter(pl.col("optimizer") == name)
        if not mine.height:
            return {}
        values = mine["least"].to_numpy()
        sign = signs(mine["sense"])[0]
        best, middle = (None if np.isinf(x) else float(x * sign) for x in (np.min(values), np.median(values)))
        out[name] = {"best": best, "median": middle, "trials": len(values)}
    return out


def _least(results: Dataset) -> Floats:
    """(started studies,): the least value that counts, minimised; inf without any (docs/scores.md 0.3)."""
    traces = results.traces()
    y = traces.values[:, 0]
    counts = traces.feasible & (results.row_statuses() == 0) & (y > -np.inf)
    out = np.full(len(traces), np.inf)
    np.minimum.at(out, np.repeat(np.arange(len(traces)), traces.lengths), np.where(counts, y, np.inf))
    return out
