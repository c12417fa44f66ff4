"""Indicators of all studies in, tables with their intervals out: the statistics of fixed cost on fronts.

See docs/scores.md 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from optarena.optimizer import is_random_search
from optarena.stats import estimates
from optarena.stats.estimates import Estimate
from optarena.traces import Bools, Floats, Ints
from optarena.views.coverage import common
from optarena.views.pareto.attainment import surface
from optarena.views.pareto.frame import Frame
from optarena.views.pareto.measures import GREATER, INDICATORS, RANKED
from optarena.views.pareto.studies import Studies
from optarena.views.summary import by_trials, empty_estimate, mean_over_problems, over_problems, put, standing

FIGURES = (
    *("median", "median_lb", "median_ub", "mean", "mean_lb", "mean_ub"),
    *("mean_normed", "mean_normed_lb", "mean_normed_ub"),
)
MOST_POINTS = 3000
"""Of all fronts of an optimizer on a problem with three objectives, for their attainment surfaces."""


class Scores(NamedTuple):
    """Problem figures are [problems, optimizers, moments, indicators], those over all problems lack the first."""

    median: Estimate
    mean: Estimate
    normed: Estimate
    overall_median: Estimate
    overall_mean: Estimate
    overall_normed: Estimate
    shown: Bools
    """[optimizers, moments, indicators]: who has a value on any problem."""


def score(every: Studies, values: Floats, best: Floats, grid: Floats, over: str) -> Scores:
    """values [studies, moments, indicators]: the last moment is the end; best [problems, indicators]: of references."""
    shape = (len(every.problems), len(every.optimizers), *values.shape[1:])
    median, mean = empty_estimate(shape), empty_estimate(shape)
    for p, o, studies in by_trials(every):
        x = np.moveaxis(values[studies], 1, -1)
        put(median, p, o, estimates.median(x))
        put(mean, p, o, estimates.mean(x))
    normed = _normed(every, values, best, mean)
    at = _standing(every, grid)
    has = having(every)
    alike = common(has)[:, None, None, None]  # like is compared with like (docs/scores.md 0.4)

    def of_all(estimate: Estimate) -> Estimate:
        return estimate._replace(value=np.where(alike, estimate.value, np.nan))

    return Scores(
        median,
        mean,
        normed,
        _overall(of_all(median), lambda each: estimates.median(over_problems(each.value, at))),
        _overall(of_all(mean), lambda each: mean_over_problems(each, at, over)),
        _overall(of_all(normed), lambda each: mean_over_problems(each, at, over)),
        np.asarray(~np.isnan(np.take_along_axis(mean.value, at[:, None, :, None], axis=2)).all(axis=0)),
    )


def having(every: Studies) -> Bools:
    """[problems, optimizers]: who ran what."""
    out = np.zeros((len(every.problems), len(every.optimizers)), dtype=bool)
    out[every.problem, every.optimizer] = True
    return out


def _normed(every: Studies, values: Floats, best: Floats, mean: Estimate) -> Estimate:
    """0 is the reference set, 1 is what random search has at the same effort; NaN where nobody can tell.

    See docs/scores.md 3.15.
    """
    random = np.array([is_random_search(name) for name in every.optimizers], dtype=bool)[every.optimizer]
    level = np.full((len(every.problems), *values.shape[1:]), np.nan)
    for p in np.unique(every.problem[random]).tolist():
        level[p] = estimates.mean(np.moveaxis(values[random & (every.problem == p)], 0, -1)).value
    with np.errstate(invalid="ignore", divide="ignore"):
        width = level - best[:, None, :]
        right = np.isin(INDICATORS, RANKED) & (np.where(np.isin(INDICATORS, GREATER), -width, width) > 0)
        width = np.where(right & np.isfinite(width), width, np.nan)[:, None]
        value, lower, upper = ((figure - best[:, None, None, :]) / width for figure in mean[:3])
    return Estimate(value, np.fmin(lower, upper), np.fmax(lower, upper), mean.n)


def _standing(every: Studies, grid: Floats) -> Ints:
    """[problems, moments]: a problem whose budget ended stands where it was; the end is the end of each."""
    last = np.zeros(len(every.problems))
    np.maximum.at(last, every.problem, np.minimum(every.end, grid[-1]))
    return np.column_stack((standing(last, grid), np.full(len(last), len(grid))))


def _overall(estimate: Estimate, statistic: Callable[[Estimate], Estimate]) -> Estimate:
    """[optimizers, moments, indicators]: a statistic of the problems' figures, indicator by indicator."""
    parts = [statistic(estimate.part((..., k))) for k in range(estimate.value.shape[-1])]
    return Estimate(*(np.stack(figures, axis=-1) for figures in zip(*parts, strict=True)))


# ---- tables ---------------------------------------------------------------------------------------------------------


def _names(known: list[str] | tuple[str, ...], at: Ints) -> pl.Series:
    return pl.Series(list(known), dtype=pl.String).gather(at)


def _columns(estimates: tuple[Estimate, Estimate, Estimate], at: tuple[Any, ...]) -> dict[str, pl.Series]:
    figures = [figure[at] for estimate in estimates for figure in estimate[:3]]
    columns = {name: pl.Series(name, values).fill_nan(None) for name, values in zip(FIGURES, figures, strict=True)}
    return {**columns, "n": pl.Series(estimates[1].n[at])}


def problem_table(every: Studies, scores: Scores) -> pl.DataFrame:
    """At the end: one row per optimizer, problem and indicator."""
    p, o, k = np.nonzero(scores.mean.n[:, :, -1, :] > 0)
    at = (p, o, np.full(len(p), -1), k)
    return pl.DataFrame(
        {
            "optimizer": _names(every.optimizers, o),
            "problem": _names(every.problems, p),
            "indicator": _names(INDICATORS, k),
            **_columns((scores.median, scores.mean, scores.normed), at),
        }
    )


def summary_table(every: Studies, scores: Scores) -> pl.DataFrame:
    """At the end, over all problems: one row per optimizer and indicator."""
    o, k = np.nonzero(scores.shown[:, -1, :])
    at = (o, np.full(len(o), -1), k)
    return pl.DataFrame(
        {
            "optimizer": _names(every.optimizers, o),
            "indicator": _names(INDICATORS, k),
            **_columns((scores.overall_median, scores.overall_mean, scores.overall_normed), at),
        }
    )


def anytime_table(every: Studies, scores: Scores, grid: Floats) -> pl.DataFrame:
    """Over effort: one row per optimizer, problem, indicator and effort; the problem is null over all problems."""
    p, o, t, k = np.nonzero(scores.mean.n[:, :, :-1, :] > 0)
    each = pl.DataFrame(
        {
            "optimizer": _names(every.optimizers, o),
            "problem": _names(every.problems, p),
            "indicator": _names(INDICATORS, k),
            "effort": grid[t],
            **_columns((scores.median, scores.mean, scores.normed), (p, o, t, k)),
        }
    )
    o, t, k = np.nonzero(scores.shown[:, :-1, :])
    overall = pl.DataFrame(
        {
            "optimizer": _names(every.optimizers, o),
            "problem": pl.Series([None] * len(o), dtype=pl.String),
            "indicator": _names(INDICATORS, k),
            "effort": grid[t],
            **_columns((scores.overall_median, scores.overall_mean, scores.overall_normed), (o, t, k)),
        }
    )
    return pl.concat([overall, each])


def study_table(every: Studies, values: Floats, scored: Bools) -> pl.DataFrame:
    """One row per study: what it counts, and its indicators at the end."""
    figures = [pl.Series(name, values[:, -1, k]).fill_nan(None) for k, name in enumerate(INDICATORS)]
    return every.counts.with_columns(figures).filter(scored)


def attainment_table(every: Studies, frame: Frame) -> pl.DataFrame:
    """The surfaces that the best run, half of the runs and all runs attain; two or three objectives."""
    wide = max((len(one.senses) for one in frame.problems.values() if len(one.senses) <= 3), default=2)
    names: list[tuple[str, str, str]] = []
    parts: list[Floats] = []
    for p, o in sorted(set(zip(every.problem.tolist(), every.optimizer.tolist(), strict=True))):
        problem, optimizer = every.problems[p], every.optimizers[o]
        one = frame.problems.get(problem)
        if one is None or len(one.senses) > 3:
            continue
        mine = np.flatnonzero((every.problem == p) & (every.optimizer == o)).tolist()
        fronts = [every.points(i, every.final[i]) for i in mine]
        if len(one.senses) == 3 and sum(map(len, fronts)) > MOST_POINTS:
            every.notes.append(f"{problem}: the fronts of {optimizer} have too many points for attainment surfaces")
            continue
        for level, count in (("best", 1), ("median", (len(mine) + 1) // 2), ("worst", len(mine))):
            points = surface(fronts, count) * one.signs + 0.0
            names.append((optimizer, problem, level))
            parts.append(np.pad(points, ((0, 0), (0, wide - points.shape[1])), constant_values=np.nan))
    lengths = [len(part) for part in parts]
    values = np.concatenate([np.zeros((0, wide)), *parts])
    columns = zip(("optimizer", "problem", "level"), zip(*names, strict=True) if names else ((), (), ()), strict=True)
    return pl.DataFrame(
        {
            **{
                name: pl.Series(list(texts), dtype=pl.String).gather(np.repeat(np.arange(len(names)), lengths))
                for name, texts in columns
            },
            **{f"f{j + 1}": pl.Series(values[:, j]).fill_nan(None) for j in range(wide)},
        }
    )
