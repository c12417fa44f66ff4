"""The figures of one metric as tables: one row per optimizer, problem and iteration, values in their own sense."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from optarena.traces import Floats, Ints
from optarena.views.fixed_cost.curves import Curves
from optarena.views.fixed_cost.scores import Scores


def _rows(
    every: Curves,
    name: str,
    grid: Floats,
    t: Ints,
    columns: dict[str, Any],
    o: Ints | None = None,
    p: Ints | None = None,
) -> pl.DataFrame:
    n = len(t)
    nothing = pl.Series([None] * n, dtype=pl.String)
    return pl.DataFrame(
        {
            "optimizer": nothing if o is None else pl.Series(every.optimizers, dtype=pl.String).gather(o),
            "problem": nothing if p is None else pl.Series(every.problems, dtype=pl.String).gather(p),
            "metric": pl.Series([name]).new_from_index(0, n),
            "iteration": grid[t].astype(np.int64) if every.counted else t + 1,
            "effort": grid[t],
            **columns,
        }
    )


def _figures(median: Any, median_normed: Any, mean: Any, normed: Any, score: Any) -> dict[str, Any]:
    names = (
        *("median", "median_lb", "median_ub", "median_normed", "mean", "mean_lb", "mean_ub"),
        *("mean_normed", "mean_normed_lb", "mean_normed_ub", "score"),
    )
    figures = (*median[:3], median_normed, *mean[:3], *normed[:3], score)
    columns = {name: pl.Series(name, figure).fill_nan(None) for name, figure in zip(names, figures, strict=True)}
    return {**columns, "n": mean[3]}


def problem_rows(every: Curves, name: str, scores: Scores, grid: Floats) -> pl.DataFrame:
    p, o, t = np.nonzero(scores.mean.n > 0)
    sign = every.sign[p]

    def restored(estimate: Any) -> list[Any]:
        value, lower, upper, count = (figure[p, o, t] for figure in estimate)
        down = sign < 0
        return [value * sign, np.where(down, -upper, lower), np.where(down, -lower, upper), count]

    normed = [figure[p, o, t] for figure in scores.mean_normed]
    figures = _figures(
        restored(scores.median), scores.median_normed[p, o, t], restored(scores.mean), normed, 100 * (1 - normed[0])
    )
    return _rows(every, name, grid, t, figures, o, p)


def summary_rows(every: Curves, name: str, scores: Scores, grid: Floats) -> pl.DataFrame:
    o, t = np.nonzero(scores.shown)
    median, mean, normed = (
        [figure[o, t] for figure in estimate]
        for estimate in (scores.overall_median, scores.overall_mean, scores.overall_normed)
    )
    figures = _figures(median, np.full(len(t), np.nan), mean, normed, 100 * (1 - mean[0]))
    return _rows(every, name, grid, t, figures, o)


def baseline_rows(every: Curves, name: str, scores: Scores, grid: Floats) -> pl.DataFrame:
    base = scores.baseline
    p, t = np.nonzero(np.isfinite(base.clip)[:, None] & np.ones(len(grid), dtype=bool)[None, :])
    sign = every.sign[p]
    figures = {
        "median": pl.Series(base.median[p, t] * sign).fill_nan(None),
        "mean": pl.Series(base.mean[p, t] * sign).fill_nan(None),
        "clip": base.clip[p] * sign,
        "best": base.best[p] * sign,
        "n": base.draws[p],
    }
    return _rows(every, name, grid, t, figures, None, p).drop("optimizer")
