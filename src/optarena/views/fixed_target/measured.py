"""Which number of an evaluation counts: the value itself, or what COCO scores in its place (docs/scores.md 2.1).

Noisy problems: the value without noise. bbob-constrained: max(f - f_opt, 0) + the sum of what constraints are violated
by. bbob-biobj: the distance of the hypervolume to COCO's reference, the indicator. Elsewhere a point that violates a
constraint does not count.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from optarena.dataset import Dataset
from optarena.sense import signs
from optarena.staircase import coco_indicator
from optarena.traces import Bools, Floats, penalised
from optarena.views.selection import SEVERAL

NOISE_FREE = "noise_free"
"""The hidden metric that a noisy suite records beside the noisy value."""
INDICATOR = "indicator"
CONSTRAINED, BIOBJECTIVE = "bbob-constrained", "bbob-biobj"
DIFFERENCE = "f - f_opt"


@dataclass
class Measured:
    """What counts, for each row of `results.traces()` and each begun study."""

    values: Floats
    """(rows,): minimised; inf where the evaluation failed or does not count."""
    optimum: Floats
    """(studies,): minimised; NaN where none is known."""
    difference: Bools
    """(studies,): whether values are distances to the optimum already, so that it is 0."""
    indicator: Bools
    """(studies,): whether values are COCO's bi-objective indicator, which may pass its optimum."""
    unfit: dict[int, str] = field(default_factory=dict)
    """The studies that cannot be scored, and why."""


def measured(results: Dataset, frame: pl.DataFrame) -> Measured:
    """frame: the rows of `results.studies` that were begun."""
    traces = results.traces()
    sign = signs(frame["sense"])
    y = traces.values[:, 0].copy()
    counts = traces.feasible & ~np.isnan(y)
    out = Measured(
        y,
        frame["optimum"].to_numpy().astype(float) * sign,
        np.zeros(frame.height, dtype=bool),
        np.zeros(frame.height, dtype=bool),
    )
    told = results.attributes
    if "values" in told.columns:
        out.difference = (told["values"] == DIFFERENCE).fill_null(False).to_numpy().copy()
    partly = (frame["record"] != "all").to_numpy()
    if NOISE_FREE in results.metrics:
        true, has = results.metric(NOISE_FREE)
        rows = np.repeat(has, traces.lengths) & ~np.isnan(y)
        y[rows] = true[rows]
        _need_all(out, has & partly)
    suite = frame["suite"].fill_null("")
    ours = (suite == CONSTRAINED).to_numpy() & ~out.difference & ~np.isnan(out.optimum)
    if ours.any():
        rows = np.repeat(ours, traces.lengths)
        distance = penalised(y - np.repeat(out.optimum, traces.lengths), results.violation())
        y[rows] = distance[rows]
        counts[rows] = ~np.isnan(distance[rows])
        out.optimum[ours], out.difference[ours] = 0.0, True
        _need_all(out, ours & partly)
    several = frame["sense"].is_null().to_numpy()
    for i in np.flatnonzero(several).tolist():
        out.unfit[i] = SEVERAL
    two = suite.str.starts_with(BIOBJECTIVE).to_numpy()
    if two.any():
        _indicate(results, frame, out, counts, two, several)
    out.values = np.where(counts & ~np.isnan(y) & (y > -np.inf), y, np.inf)
    return out


def _need_all(out: Measured, studies: Bools) -> None:
    """Improvements of what the optimizer saw are not those that count here."""
    for i in np.flatnonzero(studies).tolist():
        out.unfit[i] = "only its improvements were recorded, which are not those that count (--record all)"


def _indicate(results: Dataset, frame: pl.DataFrame, out: Measured, counts: Bools, two: Bools, several: Bools) -> None:
    """COCO's indicator for every row at which it is known or falls."""
    traces, cards = results.traces(), results.cards
    logged, has = results.metric(INDICATOR)
    for i in np.flatnonzero(two).tolist():
        rows = slice(traces.offsets[i], traces.offsets[i + 1])
        known = cards[i].known
        if not several[i]:
            if cards[i].objectives[0].name != INDICATOR:
                continue
        elif has[i]:
            out.values[rows] = logged[rows]
            counts[rows] = ~np.isnan(logged[rows])
        elif known.hypervolume is None or known.ideal is None or known.nadir is None:
            out.unfit[i] = f"{frame['problem'][i]} has no reference hypervolume"
            continue
        else:
            points = traces.values[rows, :2]
            whole = ~np.isnan(points).any(axis=1) & traces.feasible[rows]
            found = np.full(len(points), np.nan)
            found[whole] = coco_indicator(points[whole], known.ideal, known.nadir, known.hypervolume)
            out.values[rows] = found
            counts[rows] = whole
        out.unfit.pop(i, None)
        out.optimum[i], out.difference[i], out.indicator[i] = 0.0, True, True
