"""All runs scored at once, between the bounds of their instances (docs/scores.md 4.2 to 4.7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from optarena.traces import Bools, Floats, Ints
from optarena.views.anytime.runs import Runs
from optarena.views.anytime.scores import area_scores, objective_score, primal_gaps, primal_integrals, spans_of


@dataclass
class Bounds:
    """What the scores of each instance are measured between; all are (instances,) and minimised."""

    best: Floats
    """The best value of all, NaN where no run solved the instance."""
    worst: Floats
    """The worst first value of all."""
    start: Floats
    end: Floats
    anchor: Floats
    """The better of the best known value and the best of the store: primal gaps are measured from it."""


@dataclass
class Scored:
    """Runs with their scores; all arrays are (runs,)."""

    runs: Runs
    bounds: Bounds
    solutions: Ints
    first_time: Floats
    """inf without a solution; `first_value`, `last_time`, `last_value` likewise."""
    first_value: Floats
    last_time: Floats
    last_value: Floats
    over_best: Floats
    """The integral of value - best from the first solution to the end."""
    objective: Floats
    area: Floats
    """NaN where the horizon has no width."""
    gap: Floats
    integral: Floats
    solved: Bools
    solved_at: Floats
    """When its gap was small enough, or when its proof came; inf if neither."""


def bounds_of(runs: Runs, horizon: str, without: int | None = None) -> Bounds:
    """Best, worst and horizon of each instance; `without` leaves an optimizer out (docs/scores.md 4.2)."""
    n = len(runs.instances)
    some = np.diff(runs.offsets) > 0
    if without is not None:
        some &= runs.optimizer != without
    at = runs.instance[some]
    first, last = runs.offsets[:-1][some], runs.offsets[1:][some] - 1
    best, worst = np.full(n, np.inf), np.full(n, -np.inf)
    np.minimum.at(best, at, runs.values[last])
    np.maximum.at(worst, at, runs.values[first])
    nobody = np.isinf(best)
    start, end = np.zeros(n), runs.budget.copy()
    if horizon == "box":
        start, end = np.full(n, np.inf), np.full(n, -np.inf)
        np.minimum.at(start, at, runs.times[first])
        np.maximum.at(end, at, runs.times[last])
    best, worst = np.where(nobody, np.nan, best), np.where(nobody, np.nan, worst)
    start, end = np.where(nobody & np.isinf(start), np.nan, start), np.where(nobody & np.isinf(end), np.nan, end)
    return Bounds(best, worst, start, end, np.fmin(best, runs.best_known))


def score(runs: Runs, bounds: Bounds, gap: float) -> Scored:
    """Every run's scores at once."""
    n, i = len(runs), runs.instance
    some = np.diff(runs.offsets) > 0
    first, last = runs.offsets[:-1][some], runs.offsets[1:][some] - 1

    def of(values: Floats, rows: Any, missing: float) -> Floats:
        out = np.full(n, missing)
        out[some] = values[rows]
        return out

    first_time, last_time = of(runs.times, first, np.inf), of(runs.times, last, np.inf)
    first_value, last_value = of(runs.values, first, np.nan), of(runs.values, last, np.nan)
    start, end = bounds.start[i], bounds.end[i]
    spans = spans_of(runs.times, runs.offsets, start, end)
    run, owner = spans.run, i[spans.run]
    with np.errstate(invalid="ignore"):
        over = spans.integral(runs.values - bounds.best[owner])
        gaps = primal_gaps(runs.values, bounds.anchor[owner])
        gaps[runs.values < bounds.anchor[owner]] = 0.0  # a frame's anchor may be worse than what was found since
    objective, area = relative(last_value, spans.wait, over, bounds, i)
    final = of(gaps, last, 1.0)
    nobody = np.isnan(bounds.best[i])
    near = np.flatnonzero(gaps <= gap)
    hit = np.full(n, np.inf)
    np.minimum.at(hit, run[near], runs.times[near])
    solved = ((final <= gap) | (runs.proved & some)) & ~runs.wrong
    hit[runs.wrong] = np.inf
    solved_at = np.where(np.isfinite(hit), hit, np.where(solved, np.fmax(runs.end, last_time), np.inf))
    return Scored(
        runs,
        bounds,
        np.diff(runs.offsets),
        first_time,
        first_value,
        last_time,
        last_value,
        over,
        objective,
        area,
        np.where(nobody, np.nan, final),
        np.where(nobody, np.nan, primal_integrals(spans, gaps)),
        solved & some,
        solved_at,
    )


def relative(last: Floats, wait: Floats, over: Floats, bounds: Bounds, i: Ints) -> tuple[Floats, Floats]:
    """Objective and area score of each run; NaN where no run solved its instance (docs/scores.md 4.3, 4.4).

    last: its last value, NaN without a solution; wait, over: see `area_scores`; i: its instance.
    """
    best, worst = bounds.best[i], bounds.worst[i]
    objective = np.where(np.isnan(worst - best), np.nan, objective_score(best, worst, last))
    return objective, area_scores(wait, over, best, worst, bounds.start[i], bounds.end[i])
