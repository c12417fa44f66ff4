"""Ranks on each problem by each measure: who is how good where, in one table (docs/scores.md 5.7).

    results.ranks("hypervolume", "igd", "spread")

On each problem, the trials of all optimizers are ranked by Scott-Knott; medians and interquartile ranges stand beside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from optarena._services import service
from optarena._text import screen_width
from optarena.comparison.numbers import chart
from optarena.dataset import Dataset
from optarena.errors import OptarenaError
from optarena.stats.scott_knott import scott_knott
from optarena.traces import Floats
from optarena.views import score
from optarena.views._answering import kinds
from optarena.views._options import dashed, options_of, view_named
from optarena.views._view import View
from optarena.views.coverage import some
from optarena.views.pareto import Pareto

ALPHA = 0.05


@dataclass(repr=False)
class Ranks:
    """`table`: one row per problem, measure and optimizer, the best first. It prints itself."""

    view: str
    metrics: list[str]
    table: pl.DataFrame
    """problem, metric, better, rank, optimizer, n, missing (trials without a value), median, iqr, q10 … q90."""
    charts: list[str]
    """Of each row, its quantiles on the scale of its problem and measure."""
    test: str
    alpha: float
    frame: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        """A table per problem and measure, as text that fits the terminal."""
        text: str = service("ranks as text")(self, screen_width())
        return text

    def _repr_html_(self) -> str:
        html: str = service("ranks as HTML")(self)
        return html

    def to_data(self) -> dict[str, Any]:
        """Plain data; an undefined number is null."""
        clean = self.table.with_columns(pl.selectors.float().fill_nan(None))
        return {
            "view": self.view,
            "by": "problem",
            "metrics": self.metrics,
            "test": f"Scott-Knott, {self.test}",
            "alpha": self.alpha,
            "frame": self.frame.get("hash"),
            "notes": self.notes,
            "ranks": clean.to_dicts(),
        }


def ranks_by_problem(
    results: Dataset,
    metrics: Sequence[str] = (),
    *,
    optimizers: Sequence[str] = (),
    view: str | None = None,
    alpha: float = ALPHA,
    seed: int = 0,
    **options: Any,
) -> Ranks:
    """The ranks of a store's optimizers, or of those named, on each problem by each measure.

    metrics: those of the view's scores; by default its main one. Of fronts any indicator, `spread` for Deb's with two
    objectives and the generalised one with more; it needs hypervolume or IGD+ beside it. view: the one that answers
    for this store by default. Other options are those of the view.
    """
    if not 0 < alpha < 1:
        raise OptarenaError(f"alpha lies between 0 and 1, as 0.05; got {alpha}")
    kind = view_named(view) if view is not None else next(iter(kinds(results)), "fixed_cost")
    asked = {name: value for name, value in options.items() if value is not None}
    main: View = score(results, kind, **options_of(kind, asked))
    if len(set(metrics)) != len(metrics):
        raise OptarenaError(f"a metric is named twice: {', '.join(metrics)}")
    measured = [main.measured(metric) for metric in metrics or (None,)]
    if isinstance(main, Pareto):
        main.not_by_spread_alone([one.metric for one in measured])
    names = list(optimizers) or sorted(measured[0].optimizers)
    rows: list[dict[str, Any]] = []
    charts: list[str] = []
    notes = _told(main)
    test = ""
    for p, problem in enumerate(measured[0].problems):
        for one in measured:
            values = one.of(names).values[p]
            here = [name for o, name in enumerate(names) if not np.isnan(values[o]).all()]
            if not here:
                continue
            found = _ranked(one.of(here).values[p], one.signs[p], here, alpha, seed)
            test = found.test
            for row, drawn in zip(found.rows, found.charts, strict=True):
                facts = {
                    "problem": problem,
                    "metric": one.names[p],
                    "better": "higher" if one.signs[p] < 0 else "lower",
                }
                rows.append(facts | row)
                charts.append(drawn)
            if one.said[p]:
                notes.append(f"{problem}: {one.said[p]}")
    if not rows:
        raise OptarenaError(f"no trial of store {results.path} can be ranked")
    table = pl.DataFrame(rows, infer_schema_length=None)
    return Ranks(dashed(kind), [one.metric for one in measured], table, charts, test, alpha, main.frame, notes)


def _told(view: View) -> list[str]:
    """What failed and what is not ranked. Each problem ranks who ran it, so nothing is left out for being partial."""
    partial = [] if view.covered is None else view.covered.notes()
    notes = [note for note in view.warnings if note not in partial]
    if partial:
        notes.append("some optimizers did not run on all problems: each problem ranks those that ran on it")
    reasons: dict[str, list[str]] = {}
    for one in view.excluded:
        reasons.setdefault(one["reason"], []).append(one["problem"])
    return notes + [f"not ranked: {some(list(dict.fromkeys(names)))} ({why})" for why, names in reasons.items()]


@dataclass
class _Found:
    rows: list[dict[str, Any]]
    charts: list[str]
    test: str


def _ranked(values: Floats, sign: float, names: list[str], alpha: float, seed: int) -> _Found:
    """values (optimizers, trials): NaN where there is no such trial, inf where it has no value, which is the worst."""
    cube = np.where(np.isinf(values), np.inf, sign * values)[None]
    knots = scott_knott(cube, names, over="trials", alpha=alpha, seed=seed)
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    rows, charts = [], []
    for name in [name for group in knots.groups for name in group]:
        mine = values[names.index(name)]
        mine = mine[~np.isnan(mine)]
        missing = int(np.isinf(mine).sum())
        ordered = np.sort(np.where(np.isinf(mine), np.inf, sign * mine))
        q = [_quantile(ordered, share) * sign for share in (0.1, 0.25, 0.5, 0.75, 0.9)]
        there = all(np.isfinite(q))
        spread = abs(q[3] - q[1]) if np.isfinite(q[1]) and np.isfinite(q[3]) else np.nan
        numbers = [value if np.isfinite(value) else None for value in q]
        facts = {"rank": knots.ranks[name], "optimizer": name, "n": len(mine), "missing": missing}
        facts |= {"median": numbers[2], "iqr": None if np.isnan(spread) else spread}
        rows.append(facts | dict(zip(("q10", "q25", "q50", "q75", "q90"), numbers, strict=True)))
        charts.append(chart(tuple(sorted(q)), low, high) if there else "")
    return _Found(rows, charts, knots.test)


def _quantile(ordered: Floats, share: float) -> float:
    """The linear quantile; infinite where one of its neighbours is."""
    at = share * (len(ordered) - 1)
    low, part = int(at), at - int(at)
    if part == 0 or ordered[low] == ordered[min(low + 1, len(ordered) - 1)]:
        return float(ordered[low])
    return float(ordered[low] + part * (ordered[low + 1] - ordered[low]))
