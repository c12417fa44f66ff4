"""COCO's table: ERTs as ratios to the reference, with dispersion, successes and stars (docs/scores.md 2.15).

It is made when it is asked for: no other table needs it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from optarena.traces import Bools, Floats, Ints
from optarena.views.fixed_target.percentiles import quantiles
from optarena.views.fixed_target.reference import reference_runs, where_known
from optarena.views.fixed_target.scored import Scored
from optarena.views.fixed_target.significance import best_cells, stars

KEYS = ("suite", "function", "dimension")
LOW, HIGH = 0.1, 0.9
JUST_ABOVE = 1e-9
NEARLY_ALL = 0.9
"""Of the runs must be faster than the ERT of the reference for `n_worse` to say how many are not."""


def ratios(scored: Scored, ert: pl.DataFrame, reference: pl.DataFrame) -> pl.DataFrame:
    """One row per optimizer, function, dimension and target (docs/scores.md 2.15).

    ert, reference: the tables of that name.
    """
    given, shape = scored.given, scored.targets.shape
    cells, spread = np.arange(shape[0]), scored.spread
    labels = ["target"] if scored.multiples is None else ["target", "k"]
    table = ert.select("optimizer", *KEYS, *labels, "ert", "n_success", "n_runs").join(
        _reference(reference, labels), on=[*KEYS, *labels], how="left", nulls_equal=True, maintain_order="left"
    )

    def column(values: Floats | Ints | Bools) -> pl.Series:
        return pl.Series(np.broadcast_to(values, shape)[given])

    erts, by = spread(table["ert"]), spread(table["reference_ert"])
    best = best_cells(scored, erts)
    low, high = _ends(scored)
    last = _last(scored)
    finite = np.where(np.isfinite(by) & (by > 0), by, np.nan)
    budgets = np.array([np.median(scored.spent[part]) for part in scored.of_cell])
    with np.errstate(invalid="ignore"):
        made = {
            "ratio": column(erts / finite).fill_nan(None),
            "dispersion": column(np.where(np.isfinite(high), (high - low) / 2, np.nan) / finite).fill_nan(None),
        }
    return table.select(
        "optimizer", *KEYS, *labels, "ert", "reference", "reference_ert", **made,
        p10=column(low),
        p90=column(high),
        n_success="n_success",
        n_runs="n_runs",
        budget=pl.when(pl.col("n_success") == 0).then(column(budgets[:, None])),
        best=column((erts == erts[best, np.arange(shape[1])]) & np.isfinite(erts)),
        stars=column(stars(scored, best)),
        n_worse=column(_worse(scored, erts, by)).fill_nan(None),
        final_target=column(scored.targets[cells, last][:, None]),
        final_success=column(spread(table["n_success"], 0)[cells, last][:, None].astype(np.int64)),
        **_reference_runs(scored, last, column),
    )  # fmt: skip


def _reference(table: pl.DataFrame, labels: list[str]) -> pl.DataFrame:
    """best 2009 where it is known, else the best of the store (docs/scores.md 2.8)."""
    return table.select(*KEYS, *labels, **where_known(pl.col("best_2009"), pl.col("best_of_store")))


def _reference_runs(scored: Scored, last: Ints, column: Callable[[Floats], pl.Series]) -> dict[str, pl.Series]:
    """How many runs of best 2009 reached the final target, of how many; null where that is not known."""
    found = np.full((len(last), 2), np.nan)
    if scored.runs.axis == "evaluations":
        for c, (suite, function, dimension) in enumerate(scored.runs.cells.select(KEYS).iter_rows()):
            known = reference_runs(suite, function, dimension or 0, float(scored.targets[c, last[c]]))
            found[c] = np.nan if known is None else known
    names = ("reference_success", "reference_runs")
    return {name: column(found[:, i, None]).fill_nan(None).cast(pl.Int64) for i, name in enumerate(names)}


def _ends(scored: Scored) -> tuple[Floats, Floats]:
    """(cells, targets) each: the 10th and the 90th percentile of runtimes with simulated restarts.

    Where the distribution has exactly this height between two jumps, cocopp takes their mean (docs/scores.md 2.15).
    """
    if scored.mode != "coco":
        found, _ = quantiles(scored, (LOW, HIGH))
        return found[..., 0], found[..., 1]
    found, _ = quantiles(scored, (LOW, LOW + JUST_ABOVE, HIGH, HIGH + JUST_ABOVE))
    return found[..., :2].mean(axis=-1), found[..., 2:].mean(axis=-1)


def _worse(scored: Scored, erts: Floats, by: Floats) -> Floats:
    """(cells, targets): the runs that are not faster than the ERT of the reference, where that is slower than ours.

    A run that is equal counts one half; NaN where more than a tenth of the runs are not faster.
    """
    out = np.full(erts.shape, np.nan)
    for batch in scored.batches():
        hits, at = scored.hits[batch.runs], by[batch.cells]
        faster = (hits < at).sum(axis=0) + (hits == at).sum(axis=0) / 2
        shown = (erts[batch.cells] < at) & (faster > NEARLY_ALL * len(hits))
        out[batch.cells] = np.where(shown, len(hits) - faster, np.nan)
    return out


def _last(scored: Scored) -> Ints:
    """(cells,): the place of the target whose successes are counted: the hardest; of indicators, the last above 0."""
    usual = scored.given.sum(axis=1) - 1
    above = (scored.targets > 0).sum(axis=1) - 1
    return np.where(above >= 0, above, usual)
