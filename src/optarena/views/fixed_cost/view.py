"""The view: a store in, the tables `problem`, `summary` and `baseline` out."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from optarena._numbers import counted
from optarena.dataset import Dataset
from optarena.errors import OptarenaError, one_of
from optarena.traces import Bools, Floats
from optarena.views._scores import Scores as TrialScores
from optarena.views._view import ORIGINALS, View
from optarena.views.coverage import Coverage
from optarena.views.fixed_cost.baseline import BAYESMARK, Baseline, Frame, compute, read_frame
from optarena.views.fixed_cost.curves import VISIBLE, Curves, curves
from optarena.views.fixed_cost.given import check
from optarena.views.fixed_cost.notes import exclude, find_left_out, tell_gaps, tell_undefined
from optarena.views.fixed_cost.scores import Scores, score, with_baseline_uncertainty
from optarena.views.fixed_cost.tables import baseline_rows, problem_rows, summary_rows
from optarena.views.summary import OVER, possible

MODES = ("exact", "bayesmark")
DIFFERENCES = {
    "exact": [
        "a hidden metric's baseline is read where the visible value is least",
        "problems where nothing beats random search's median are left out of summaries",
        "nan and -inf are failed evaluations",
        "a ratio to random search is undefined where that is next to the best value",
    ],
    "bayesmark": [],
}


@dataclass(repr=False)
class FixedCost(View):
    """Fixed-cost scores: tables `.problem`, `.summary`, `.baseline`; `.leaderboard()`; `.pinned`, a frame to save."""

    pinned: Frame | None = None
    optimizers: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    trials: dict[tuple[str, float], Floats] = field(default_factory=dict, repr=False)
    """(metric, part of the budget): the normalised values as (problems, optimizers, trials)."""
    raw: dict[str, Floats] = field(default_factory=dict, repr=False)
    """By metric: the values at the end as they are, minimised, as (problems, optimizers, trials)."""
    random: dict[tuple[str, float], Floats] = field(default_factory=dict, repr=False)
    """(metric, part of the budget): random search's own normalised mean on each problem."""
    dimensions: list[int | None] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    optimum: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    """(problems,): of the visible objective, minimised; NaN where it is not known."""
    _leaderboards: dict[str, pl.DataFrame] = field(default_factory=dict, init=False, repr=False, compare=False)
    name = "fixed-cost"

    @property
    def problem(self) -> pl.DataFrame:
        """One row per optimizer, problem, metric and iteration."""
        return self.tables["problem"]

    @property
    def summary(self) -> pl.DataFrame:
        """One row per optimizer, metric and iteration: over all problems."""
        return self.tables["summary"]

    @property
    def baseline(self) -> pl.DataFrame:
        """One row per problem, metric and iteration: what random search does."""
        return self.tables["baseline"]

    @property
    def metrics(self) -> list[str]:
        """The metrics that were scored, the visible objective first."""
        return list(dict.fromkeys(self.summary["metric"]))

    def leaderboard(self, metric: str | None = None) -> pl.DataFrame:
        """The last iteration's summary, best first, with the number of problems on which each is the best.

        `score` is `mean_normed`: 0 is the best known value, 1 is random search with the same budget. Its interval
        stays within what is possible; null: it is infinite. `bayesmark_score` is 100 (1 - `mean`).
        """
        metric = metric or self.metrics[0]
        one_of("metric", metric, self.metrics)
        if metric not in self._leaderboards:
            self._leaderboards[metric] = self._leaderboard(metric)
        return self._leaderboards[metric]

    def _leaderboard(self, metric: str) -> pl.DataFrame:
        rows = self.summary.filter(pl.col("metric") == metric)
        rows = rows.filter(pl.col("iteration") == pl.col("iteration").max())
        last = self.problem.filter((pl.col("metric") == metric) & pl.col("mean_normed").is_not_null())
        last = last.filter(pl.col("iteration") == pl.col("iteration").max().over("problem"))
        if self.mode == "exact":
            last = last.filter(~pl.col("problem").is_in(self.coverage["left_out"]))
        best = last.filter(pl.col("mean_normed") == pl.col("mean_normed").min().over("problem"))
        wins = best.group_by("optimizer").agg(best_on=pl.len())
        low, high = self.possible(metric)
        ends = {end: possible(f"mean_normed_{end}", low, high) for end in ("lb", "ub")}
        if self.over is None:  # the interval is that of the comparison
            names = {"mean_normed_lb": "score_lb", "mean_normed_ub": "score_ub"}
            shown = self.standings(metric).select("optimizer", *(pl.col(new).alias(old) for old, new in names.items()))
            rows = rows.drop(*names).join(shown, on="optimizer", how="left", maintain_order="left")
            defined = pl.col("mean_normed").is_not_null()
            rows = rows.with_columns(pl.when(defined).then(pl.col(name)).alias(name) for name in names)
        board = (
            rows.join(wins, on="optimizer", how="left")
            .with_columns(pl.col("best_on").fill_null(0), bayesmark_score="score", score="mean_normed")
            .with_columns(**{f"score_{end}": of for end, of in ends.items()})
            .with_columns(mean_normed_lb="score_lb", mean_normed_ub="score_ub")
        )
        by = ["mean"] if self.mode == "bayesmark" else ["score", "mean"]
        return board.sort(*by, "optimizer", nulls_last=True)

    @property
    def intervals(self) -> str:
        return super().intervals if self.over is None else str(self.frame["intervals"])

    def _ranked(self) -> pl.DataFrame:
        return self.leaderboard().select("optimizer", "score", "score_lb", "score_ub")

    def possible(self, metric: str) -> tuple[float, float]:
        """Between what a score at the end can lie: from the best known value to the median of random search.

        In the frame of another store nobody may know how good a value can be.
        """
        low = 0.0 if not (self.trials[metric, 1.0] < 0).any() else -np.inf
        level = self.level(metric) if self.mode == "exact" else 0.0
        return low, 1 / level if level > 0 else np.inf

    def level(self, metric: str) -> float:
        """By what normalised values are divided in the leaderboard: random search's own mean; 0 where it has none."""
        scale = self.random[metric, 1.0]
        counts = ~np.isin(self.problems, self.coverage["left_out"]) & ~np.isnan(scale)
        return float(np.mean(scale[counts])) if counts.any() else 0.0

    @property
    def units(self) -> str:
        """What is counted: evaluations, batches of so many, or another effort."""
        axis, batch = self.frame["axis"], self.frame["batch"]
        if axis != "batches" or batch is None:
            return str(axis)
        return "evaluations" if batch == 1 else f"batches of {batch} evaluations"

    def ending(self, metric: str) -> str:
        """When the scores of the leaderboard were taken: each problem at the end of its own budget."""
        scored = self.problem.filter((pl.col("metric") == metric) & pl.col("mean_normed").is_not_null())
        ends = scored.group_by("problem").agg(pl.col("effort").max())["effort"].to_list()
        low, high = min(ends, default=0.0), max(ends, default=0.0)
        if low == high:
            return f"after {high:g} {self.units}"
        return f"at the end of the budget ({low:g} to {high:g} {self.units})"

    def scores(self, metric: str | None = None, part: float = 1.0) -> TrialScores:
        """The normalised value of every trial at the end, or at a part of each problem's budget (0.5, 0.1)."""
        metric = metric or self.metrics[0]
        one_of("metric", metric, self.metrics)
        if (metric, part) not in self.trials:
            parts = ", ".join(f"{at:g}" for name, at in self.trials if name == metric)
            raise OptarenaError(f"trials are kept at these parts of the budget: {parts}; got {part:g}")
        when = self.ending(metric) if part == 1 else f"at {100 * part:g} % of the budget"
        hidden = "" if metric == VISIBLE else f" of {metric}"
        return TrialScores(
            view=self.name,
            metric=metric,
            what=f"normalised value{hidden} {when} (0 the best known, 1 the median of random search)",
            problems=self.problems,
            optimizers=self.optimizers,
            values=self.trials[metric, part],
            dimensions=self.dimensions,
            functions=self.functions,
            scale=self.random[metric, part],
        )

    def trial_scores(self, metric: str | None = None) -> TrialScores:
        """The best value of every trial at the end of its problem's budget, minimised, in the problem's own unit."""
        metric = metric or self.metrics[0]
        one_of("metric", metric, self.metrics)
        hidden = "" if metric == VISIBLE else f" of {metric}"
        return TrialScores(
            view=self.name,
            metric=metric,
            what=f"best value{hidden} {self.ending(metric)}",
            problems=self.problems,
            optimizers=self.optimizers,
            values=self.raw[metric],
            dimensions=self.dimensions,
            unit=False,
            functions=self.functions,
            optimum=self.optimum if metric == VISIBLE else np.full(len(self.problems), np.nan),
        )

    def ways(self, metric: str | None = None) -> list[tuple[str, TrialScores]]:
        """At the end, at half and at a tenth of the budget; other metrics at the end."""
        first = metric or self.metrics[0]
        parts = {1.0: "the end", 0.5: "half of the budget", 0.1: "a tenth of the budget"}
        out = [(f"fixed cost at {text}", self.scores(first, part)) for part, text in parts.items()]
        return out + [(f"fixed cost by {name}", self.scores(name)) for name in self.metrics if name != first]

    def to_xarray(self, metric: str | None = None) -> dict[str, Any]:
        """`baseline`, `agg_result` and `summary` as xarray datasets with Bayesmark's names and dimensions."""
        from optarena.views.fixed_cost.datasets import datasets

        if metric is not None:
            metric = VISIBLE if metric == "_visible_to_opt" else metric
            one_of("metric", metric, self.metrics)
        return datasets(self, metric)


def fixed_cost(
    results: Dataset,
    *,
    mode: str = "exact",
    metric: str | None = None,
    axis: str | None = None,
    over: str | None = None,
    frame: str | Path | Frame | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> FixedCost:
    """Score a store by what its optimizers had found after so many batches, evaluations or seconds (docs/scores.md 1).

    mode: `exact`, or `bayesmark` for its exact numbers. metric: a hidden metric, or `value`; all by default. axis: any
    of `results.axes`; by default batches, if all studies have batches of one size, else evaluations. over: whether
    intervals are for similar `problems`, or for new `trials` on exactly these; by default tables have the former and
    the leaderboard what a comparison claims (docs/scores.md 5.3). frame: a saved frame or a baseline of
    Bayesmark, instead of this store's own random search. bootstrap: how many resamplings of random search widen the
    intervals by the baseline's own uncertainty; none by default.
    """
    one_of("mode", mode, MODES)
    asked, over = over, over or "problems"
    one_of("over", over, OVER)
    if bootstrap == 1 or bootstrap < 0:
        raise OptarenaError(f"bootstrap must be 0 or at least 2 resamplings; got {bootstrap}")
    given = read_frame(frame) if isinstance(frame, (str, Path)) else frame
    every = curves(results, mode, given.axis if given is not None and axis is None else axis)
    if given is None and not every.random.any():
        raise OptarenaError(
            f"no RandomSearch with every evaluation recorded is among the studies of {results.path}: run it on the "
            "same problems (optarena run -o RandomSearch …), or give a baseline with --frame FILE"
        )
    unchecked = [] if given is None else check(given, every, bootstrap)
    every.notes += unchecked
    grid = (
        every.grid()
        if given is None
        else given.grid[: int(np.searchsorted(given.grid, every.furthest() * (1 + 1e-12), "right"))]
    )
    if given is not None and every.furthest() > given.grid[-1] * (1 + 1e-12):
        every.notes.append(f"the frame ends after {given.grid[-1]:g} {every.axis}: nothing is scored beyond")
    if not len(grid):
        raise OptarenaError(f"the frame begins after {given.grid[0]:g} {every.axis}, where every study has ended")  # type: ignore[union-attr]
    ends = _ends(every, grid, given)
    scores: dict[str, Scores] = {}
    names = _metrics(results, metric, given)
    for name in names:
        try:
            scores[name] = _one_metric(every, name, grid, given, ends, over=over, bootstrap=bootstrap, seed=seed)
        except OptarenaError as error:
            if len(names) == 1 or (name == names[-1] and not scores):
                raise
            every.excluded.append(
                {"optimizer": None, "problem": None, "trial": None, "metric": name, "reason": str(error)}
            )
    tell_gaps(every, scores)
    if mode == "exact":
        tell_undefined(every, scores, grid)
    used = given or Frame(
        axis=every.axis,
        batch=int(every.size.max()) if every.axis == "batches" else None,
        grid=grid,
        metrics={name: figures.baseline for name, figures in scores.items()},
        facts={
            "mode": mode,
            "optimizers": sorted(every.optimizers),
            "source": "RandomSearch",
            "ends": dict(zip(every.problems, ends.tolist(), strict=True)),
            "maximised": [name for name, sign in zip(every.problems, every.sign, strict=True) if sign < 0],
            "signatures": every.signatures(),
        },
    )
    return FixedCost(
        mode=mode,
        tables={
            "problem": pl.concat([problem_rows(every, name, one, grid) for name, one in scores.items()]),
            "summary": pl.concat([summary_rows(every, name, one, grid) for name, one in scores.items()]),
            "baseline": pl.concat([baseline_rows(every, name, one, grid) for name, one in scores.items()]),
        },
        frame={
            "hash": used.hash,
            "axis": used.axis,
            "batch": used.batch,
            "iterations": len(grid),
            "source": used.facts.get("source", ""),
            "optimizers": used.facts.get("optimizers", every.optimizers),
            "problems": len(every.problems),
            "random_evaluations": int(next(iter(scores.values())).baseline.draws.sum()),
            "intervals": f"95 % over {over}" + (f", {bootstrap} resamplings of random search" if bootstrap else ""),
            "differs_from_bayesmark": DIFFERENCES[mode][1 if used.facts.get("source") == BAYESMARK else 0 :],
            "unchecked": unchecked,
        },
        excluded=every.excluded,
        notes=list(dict.fromkeys(every.notes)),
        failures=every.failures,
        covered=_covered(every, next(iter(scores.values())), mode),
        results=results,
        over=asked or (over if bootstrap or mode != "exact" else None),
        pinned=used,
        optimizers=every.optimizers,
        problems=every.problems,
        trials={
            (name, part): every.cube(values) for name, one in scores.items() for part, values in one.trials.items()
        },
        raw={name: every.cube(one.raw) for name, one in scores.items()},
        random={(name, part): values for name, one in scores.items() for part, values in one.random.items()},
        dimensions=every.dimensions,
        functions=every.functions,
        optimum=every.optimum,
    )


def _covered(every: Curves, scores: Scores, mode: str) -> Coverage:
    scored = np.asarray(~np.isnan(scores.mean_normed.value).all(axis=(1, 2)))
    original = ORIGINALS.get(mode, "")
    return Coverage(every.problems, every.functions, every.optimizers, scores.has, scored, original)


# ---- what can be scored ---------------------------------------------------------------------------------------------


def _metrics(results: Dataset, metric: str | None, given: Frame | None) -> list[str]:
    known = [VISIBLE, *(name for name in results.metrics if name != VISIBLE)]
    if metric is not None:
        metric = VISIBLE if metric == "_visible_to_opt" else metric
        one_of("metric", metric, known)
        return [metric]
    there = known if given is None else [name for name in known if _baseline_of(given, name, asked=False)]
    if not there and given is not None:
        raise OptarenaError(f"the frame has baselines of {', '.join(given.metrics)}, none of {', '.join(known)}")
    return there


def _baseline_of(given: Frame, name: str, *, asked: bool) -> Baseline | None:
    """The frame's baseline of a metric. One without a name is the visible objective's, or that of the one asked for."""
    theirs = "_visible_to_opt" if name == VISIBLE else name
    nameless = given.metrics.get("") if name == VISIBLE or asked else None
    return given.metrics.get(name) or given.metrics.get(theirs) or nameless


def _ends(every: Curves, grid: Floats, given: Frame | None) -> Floats:
    """(problems,): where each problem's budget ends: in this store, or in the one that the frame is of.

    In mode exact the optimizers are compared at one effort: where budgets differ, at the least, which all have.
    """
    end = np.minimum(every.end, grid[-1])
    out = np.zeros(len(every.problems))
    np.maximum.at(out, every.problem, end)
    if every.mode == "exact":
        own = np.full((len(every.problems), len(every.optimizers)), -np.inf)
        sure = every.ended & ~every.unlimited  # a failure that stays as bad for ever says nothing of the budget
        np.maximum.at(own, (every.problem[sure], every.optimizer[sure]), end[sure])
        least = np.where(np.isfinite(own), own, np.inf).min(axis=1)
        shorter = np.isfinite(least) & (least < out * (1 - 1e-12)) & (least > 0)
        if shorter.any():
            some = every.problems[int(np.argmax(shorter))]
            every.notes.append(
                f"budgets differ on {counted(int(shorter.sum()), 'problem')} ({some}: {least[shorter][0]:g} to "
                f"{out[shorter][0]:g} {every.axis}): compared after the least, which all optimizers have"
            )
        out = np.where(shorter, least, out)
    pinned = {} if given is None else given.facts.get("ends", {})
    return np.array([pinned.get(name, out[i]) for i, name in enumerate(every.problems)])


def _one_metric(
    every: Curves,
    name: str,
    grid: Floats,
    given: Frame | None,
    ends: Floats,
    *,
    over: str,
    bootstrap: int,
    seed: int,
) -> Scores:
    hidden = None if name == VISIBLE else name
    use = _usable(every, hidden, name)
    best = every.best(grid, hidden)
    best[~use] = np.nan
    if given is not None:
        base = _baseline_of(given, name, asked=True)
        if base is None:
            raise OptarenaError(f"the frame has no baseline of {name!r}, only of {', '.join(given.metrics)}")
        base = base.select(every.problems, len(grid), short=given.facts.get("source") == BAYESMARK)
        left_out = find_left_out(every, base, name, None)
        return score(every, base, best, left_out, grid, over, ends)
    pools, draws = every.pools(hidden, use), every.draws(grid)
    base = compute(every.problems, pools, every.least(hidden, use), draws, mode=every.mode, hidden=hidden is not None)
    left_out = find_left_out(every, base, name, every.least(hidden, use & ~every.random))
    scores = score(every, base, best, left_out, grid, over, ends)
    if bootstrap:
        alone = sum(len(np.unique(pool.study)) == 1 for pool in pools)
        if alone:
            every.notes.append(f"random search has one study on {alone} problems: it cannot be resampled there")
        scores = with_baseline_uncertainty(
            scores,
            every,
            pools,
            draws,
            best,
            left_out,
            grid,
            ends,
            hidden=hidden is not None,
            times=bootstrap,
            seed=seed,
        )
    return scores


def _usable(every: Curves, hidden: str | None, name: str) -> Bools:
    """Which studies have the metric and, in Bayesmark's mode, only values at which it does not stop."""
    use = np.ones(len(every.kept), dtype=bool)
    if hidden is not None:
        use = every.hidden(hidden)[1]
        if every.mode == "exact":  # one without any value has no metric either, and is as bad in all of them
            use = use | (~every.valued & np.isin(every.problem, every.problem[use]))
        exclude(every, ~use, f"it has no metric {name!r}", name)
    if every.mode == "bayesmark":
        bad = every.undefined(hidden) & use
        exclude(every, bad, "a value is nan or -inf, at which Bayesmark stops", name)
        use = use & ~bad
    return use
