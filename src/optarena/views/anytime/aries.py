"""The numbers of plaans/aries-bench itself (docs/scores.md 4.12): mode `aries` of the anytime view.

Its columns keep their names: `objective_lb` and `_ub` (least and greatest objective of a run), `_bb` and `_wb` (best
and worst), `time_fsol` and `time_lsol` (when the first and the last solution came; here in seconds), `autc_score` and
`audc_score` (areas under the curve by time and by decisions).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from optarena._numbers import counted
from optarena.dataset import Dataset
from optarena.traces import Floats, Ints
from optarena.views.selection import SEVERAL, Candidates, Selection

AXES = {"seconds": ("time", "autc_score"), "decisions": ("num_decisions", "audc_score")}
"""Its two efforts: our name, its name, and the area score by it."""
SCORES = ("objective_score", "autc_score", "audc_score")


@dataclass
class Original:
    """The runs and their scores, one number per run; NaN where that tool has none."""

    chosen: Selection
    solutions: Ints
    scores: dict[str, Floats]
    """By name, see SCORES."""
    table: pl.DataFrame
    notes: list[str]


def original(results: Dataset) -> Original:
    """Score every run as aries-bench does: all its solutions by time, no horizon, no proofs, no audit."""
    found = Candidates(results)
    found.leave_out(found.table["sense"].is_null().to_numpy(), SEVERAL)
    traces, study = results.traces(), found.study_of_row
    y = np.where(traces.feasible & np.isfinite(traces.values[:, 0]), traces.values[:, 0], np.nan)
    seconds = results.efforts("seconds")
    found.leave_out(found.lacking("seconds", ~np.isnan(y)), "it has no seconds")
    found.settle(found.having(~np.isnan(y)))
    found.lost = ~found.valued & found.usable  # no score
    chosen = found.selection("seconds", Selection, "can be scored as aries-bench does")
    number = np.full(len(traces), -1, dtype=np.int64)
    number[chosen.kept] = np.arange(len(chosen))
    rows = np.flatnonzero(~np.isnan(y) & found.usable[study])
    rows = rows[np.lexsort((seconds[rows], number[study[rows]]))]
    run, y = number[study[rows]], y[rows]
    n, instance = len(chosen), chosen.problem
    low, high = _ends(run, y, n)
    best, worst = _over(instance, low, np.fmin), _over(instance, high, np.fmax)
    scores = {"objective_score": _ratio(low - best[instance], (worst - best)[instance])}
    columns: dict[str, Floats] = {}
    for axis, (name, score) in AXES.items():
        effort = results.efforts(axis)[rows] if axis in results.axes else np.full(len(rows), np.nan)
        first, last = _ends(run, effort, n)
        complete = np.bincount(run[np.isnan(effort)], minlength=n) == 0
        first, last = (np.where(complete, x, np.nan) for x in (first, last))
        scores[score] = _area(run, y, effort, (low, high), (first, last), (best, worst), instance)
        columns |= {f"{name}_fsol": first, f"{name}_lsol": last}
    sign = chosen.sign[instance]
    ends = {"objective_lb": np.where(sign > 0, low, -high), "objective_ub": np.where(sign > 0, high, -low)}
    counts = np.bincount(run, minlength=n).astype(np.int64)
    frame = {**ends, "objective_bb": low * sign, "objective_wb": high * sign, **columns, **scores}
    table = chosen.table.select("optimizer", "problem", "trial").with_columns(
        num_solutions=counts, **{name: pl.Series(values).fill_nan(None) for name, values in frame.items()}
    )
    return Original(chosen, counts, scores, table, _notes(run, y, counts, chosen))


def _ends(run: Ints, values: Floats, n: int) -> tuple[Floats, Floats]:
    """(runs,): the least and the greatest value of each run; NaN without any."""
    low, high = np.full(n, np.nan), np.full(n, np.nan)
    np.fmin.at(low, run, values)
    np.fmax.at(high, run, values)
    return low, high


def _over(instance: Ints, values: Floats, way: np.ufunc) -> Floats:
    """(instances,): the least or the greatest of its runs."""
    out = np.full(int(instance.max()) + 1, np.nan)
    way.at(out, instance, values)
    return out


def _ratio(above: Floats, below: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(below > 0, above / below, np.nan)


def _area(
    run: Ints,
    y: Floats,
    effort: Floats,
    ends: tuple[Floats, Floats],
    times: tuple[Floats, Floats],
    bounds: tuple[Floats, Floats],
    instance: Ints,
) -> Floats:
    """(runs,): between two solutions the *later* one counts, before the first the worst, after the last the best.

    The box goes from the least to the greatest objective and from the first to the last solution of all.
    """
    (low, high), (first, last), (best, worst) = ends, times, bounds
    same = run[1:] == run[:-1]
    steps = np.where(same, y[1:] * (effort[1:] - effort[:-1]), 0.0)
    under: Floats = np.bincount(run[1:], weights=np.nan_to_num(steps), minlength=len(low)).astype(float)
    start, end = _over(instance, first, np.fmin)[instance], _over(instance, last, np.fmax)[instance]
    under = under + (first - start) * high + (end - last) * low - (end - start) * best[instance]
    return _ratio(under, (worst - best)[instance] * (end - start))


def _notes(run: Ints, y: Floats, counts: Ints, chosen: Selection) -> list[str]:
    """Where aries-bench itself would stop, or has no score."""
    notes = []
    step = np.where(run[1:] == run[:-1], np.diff(y), 0.0)
    turning = len(np.intersect1d(run[1:][step > 0], run[1:][step < 0]))
    if turning:
        notes.append(f"the objectives of {counted(turning, 'run')} rise and fall: aries-bench refuses such runs")
    if nothing := int((counts == 0).sum()):
        notes.append(f"{counted(nothing, 'run')} without a solution: no score, as in aries-bench")
    pair = chosen.problem * len(chosen.optimizers) + chosen.optimizer
    if np.bincount(pair).max() > 1:
        notes.append("aries-bench has one run per configuration and instance: here each trial is a run")
    return notes


def tables(of: Original) -> dict[str, pl.DataFrame]:
    """`summary`: quartiles over runs, as its box plots show them; `instance`: means over trials; `runs`."""
    instance = of.table.group_by("optimizer", "problem", maintain_order=True).agg(
        pl.len().alias("trials"), *(pl.col(name).mean() for name in SCORES)
    )
    cells = [pl.len().alias("runs"), (pl.col("num_solutions") > 0).sum().alias("solved")]
    for name in SCORES:
        cells += [
            pl.col(name).quantile(q, "linear").alias(f"{name}_{word}")
            for word, q in (("median", 0.5), ("q1", 0.25), ("q3", 0.75))
        ]
    summary = of.table.group_by("optimizer", maintain_order=True).agg(*cells)
    return {
        "instance": instance,
        "summary": summary.sort("objective_score_median", "autc_score_median", "optimizer", nulls_last=True),
        "runs": of.table,
    }
