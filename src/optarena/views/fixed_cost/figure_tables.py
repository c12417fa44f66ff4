"""Tidy tables that the figures of the fixed-cost view draw: the score over efforts, at the end, on each problem.

`views`: the view over all problems and perhaps over parts of them, by the name of their scope.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from optarena.dataset.tables import by_name
from optarena.traces import Floats
from optarena.views.convergence import POINTS
from optarena.views.fixed_cost.scores import NEAR
from optarena.views.fixed_cost.view import FixedCost
from optarena.views.summary import possible


def normalised(views: Mapping[str, FixedCost], metric: str, points: int = POINTS) -> pl.DataFrame:
    """The normalised score over efforts, thinned to what a screen shows: optimizer, scope, effort, score, …"""
    parts = []
    for scope, view in views.items():
        table = view.summary.filter(pl.col("metric") == metric)
        efforts = table["effort"].unique().sort()
        kept = efforts.gather(_thinned(efforts.to_numpy(), points))
        low = view.possible(metric)[0]
        shown = table.filter(pl.col("effort").is_in(kept.implode()))
        parts.append(_scored(shown.with_columns(pl.col("mean_normed_lb").clip(low)), scope))
    return pl.concat(parts).sort("scope", "optimizer", "effort")


def over_efforts(view: FixedCost, metric: str, statistic: str, points: int = POINTS) -> pl.DataFrame:
    """The `median` or `mean` score over efforts with its interval, thinned: optimizer, scope, effort, score, …"""
    table = view.summary.filter(pl.col("metric") == metric)
    efforts = table["effort"].unique().sort()
    kept = efforts.gather(_thinned(efforts.to_numpy(), points))
    shown = table.filter(pl.col("effort").is_in(kept.implode()))
    return _scored(shown, "", statistic).sort("optimizer", "effort")


def final(views: Mapping[str, FixedCost], metric: str) -> pl.DataFrame:
    """The leaderboard of every scope, best first; without those whose score is undefined."""
    boards = pl.concat([_scored(view.leaderboard(metric), scope) for scope, view in views.items()])
    return boards.filter(pl.col("score").is_not_null())


def by_problem(view: FixedCost, metric: str) -> pl.DataFrame:
    """The last iteration of each optimizer on each problem: normalised mean with its interval, in the leaderboard's
    unit: the mean over problems is the leaderboard's score."""
    table = view.problem.filter(pl.col("metric") == metric)
    last = table.filter(pl.col("iteration") == pl.col("iteration").max().over("problem"))
    low = view.possible(metric)[0]
    unit = level if (level := view.level(metric)) >= NEAR else 1.0
    return last.select(
        "optimizer",
        "problem",
        "effort",
        score=pl.col("mean_normed") / unit,
        lower=possible("mean_normed_lb", low, 1.0) / unit,
        upper=possible("mean_normed_ub", low, 1.0) / unit,
        median="median",
        median_lb="median_lb",
        median_ub="median_ub",
        mean="mean",
        n="n",
    ).sort(by_name(last), "score", "optimizer", nulls_last=True)


def _finite(column: str) -> pl.Expr:
    return pl.when(pl.col(column).is_finite()).then(pl.col(column)).alias(column)


def _scored(table: pl.DataFrame, scope: str, score: str = "mean_normed") -> pl.DataFrame:
    return table.select(
        "optimizer",
        pl.lit(scope).alias("scope"),
        "effort",
        score=pl.col(score),
        lower=_finite(f"{score}_lb"),
        upper=_finite(f"{score}_ub"),
        n="n",
    )


def _thinned(values: Floats, points: int) -> list[int]:
    """Places of at most so many values, the first and the last among them, dense where the values are small."""
    n = len(values)
    if n <= points:
        return list(range(n))
    return np.unique(np.round(np.geomspace(1, n, points)).astype(int) - 1).tolist()
