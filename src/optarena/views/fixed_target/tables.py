"""The tables of the fixed-target view, each made of the scored runs: here those of expected running times.

Distributions live in `distributions`, profiles and areas in `profile_tables`, percentiles in `percentiles`, tests in
`significance`; `ratios` is made when it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from optarena.stats.bootstrap import draws
from optarena.traces import Floats
from optarena.views.fixed_target import distributions, percentiles, profile_tables, significance
from optarena.views.fixed_target.reference import reference_ert, where_known
from optarena.views.fixed_target.runtimes import ert
from optarena.views.fixed_target.scored import MOST_AT_ONCE, Scored
from optarena.views.fixed_target.virtual_best import least_ert

TABLES = ("ert", "ecdf", "precision", "profiles", "aocc", "percentiles", "reference", "differences")


def make(scored: Scored, wanted: Sequence[str] = TABLES) -> dict[str, pl.DataFrame]:
    """All of them, or some."""
    erts, ert_table = _ert(scored)
    best, known, reference = _reference(scored, erts)
    out = {"ert": _with_loss(ert_table, scored, erts, best, known), "reference": reference}
    if "ecdf" in wanted or "differences" in wanted:
        ecdf_table, out["differences"] = distributions.ecdf_tables(scored)
        out["ecdf"] = distributions.with_reference(ecdf_table, reference, scored)
    if "precision" in wanted:
        out["precision"] = distributions.precision(scored)
    if "profiles" in wanted:
        out["profiles"] = profile_tables.profiles(scored, erts)
    if "aocc" in wanted:
        out["aocc"] = profile_tables.aocc(scored)
    if "percentiles" in wanted:
        out["percentiles"] = percentiles.percentiles(scored)
    if scored.mode == "coco":
        out["ranksum"] = significance.rank_sum_table(scored)
    return {name: out[name] for name in (*TABLES, "ranksum") if name in out}


def _ert(scored: Scored) -> tuple[Floats, pl.DataFrame]:
    """(cells, targets), and the table (docs/scores.md 2.4)."""
    cells, width = scored.targets.shape
    figures = {name: np.full((cells, width), np.nan) for name in ("ert", "ert_lb", "ert_ub", "rt_s", "rt_f", "median")}
    counts, wins = np.zeros((cells, width), dtype=np.int64), np.zeros((cells, width), dtype=np.int64)
    for batch in scored.batches():
        hits, spent, size = batch.hits, batch.spent, len(batch.hits)
        hit = np.isfinite(hits)
        n = hit.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = {
                "ert": ert(hits, spent),
                "rt_s": np.where(hit, hits, 0.0).sum(axis=0) / np.where(n > 0, n, np.nan),
                "rt_f": np.where(hit, 0.0, spent).sum(axis=0) / np.where(n < size, size - n, np.nan),
            }
        ordered = np.sort(hits, axis=0)
        low, high = ordered[(size - 1) // 2], ordered[size // 2]
        found["median"] = np.where(low == high, low, (low + high) / 2)
        if scored.bootstrap and size > 1:  # one run shows no spread
            found["ert_lb"], found["ert_ub"] = _ert_interval(hits, spent, scored.bootstrap, scored.seed)
        for name, values in found.items():
            figures[name][batch.cells] = values[batch.column]
        counts[batch.cells], wins[batch.cells] = size, n[batch.column]
    keep = scored.given.ravel()
    of = np.repeat(np.arange(cells), width)[keep]

    def column(values: Any) -> pl.Series:
        return pl.Series(values.ravel()[keep])

    table = scored.runs.cells[of].with_columns(
        **scored.labels(),
        n_runs=column(counts),
        n_success=column(wins),
        success_rate=column(wins / counts),
        ert=column(figures["ert"]),
        ert_lb=column(figures["ert_lb"]).fill_nan(None),
        ert_ub=column(figures["ert_ub"]).fill_nan(None),
        rt_success=column(figures["rt_s"]).fill_nan(None),
        rt_failure=column(figures["rt_f"]).fill_nan(None),
        median=column(figures["median"]),
    )
    return figures["ert"], table


def _ert_interval(hits: Floats, spent: Floats, times: int, seed: int) -> tuple[Floats, Floats]:
    """Percentiles of the ERT over resamples of the runs; inf where a resample has no success (docs/scores.md 2.4)."""
    runs, columns = hits.shape
    drawn = draws(runs, times, seed)
    at = [max(0, int(np.floor(0.025 * times))), min(times - 1, int(np.ceil(0.975 * times)) - 1)]
    out = np.empty((2, columns))
    at_once = max(1, MOST_AT_ONCE // times)
    for low in range(0, columns, at_once):
        some = slice(low, low + at_once)
        out[:, some] = np.partition(ert(hits[:, some], spent[:, some], drawn), at, axis=0)[at]
    return out[0], out[1]


def _reference(scored: Scored, erts: Floats) -> tuple[Floats, Floats, pl.DataFrame]:
    """The best ERT of the store for each problem and target, and best 2009 where it is known (docs/scores.md 2.8).

    Both as (cells, targets), and as a table with a row for each problem and target.
    """
    cells = scored.runs.cells
    keys = cells.select("suite", "function", "dimension")
    _, first = np.unique(scored.problem, return_index=True)
    best = least_ert(erts, scored.problem)[0]
    known = np.full(best.shape, np.nan)
    for p, cell in enumerate(first.tolist() if scored.runs.axis == "evaluations" else ()):
        suite, function, dimension = keys.row(cell)
        given = scored.given[cell]
        known[p, given] = reference_ert(suite, function, dimension or 0, scored.targets[cell, given])
    keep = scored.given[first]
    table = keys[np.repeat(first, keep.sum(axis=1))].with_columns(
        **scored.labels(first),
        best_of_store=pl.Series(best[keep]),
        best_2009=pl.Series(known[keep]).fill_nan(None),
    )
    return best[scored.problem], known[scored.problem], table


def _with_loss(table: pl.DataFrame, scored: Scored, erts: Floats, best: Floats, known: Floats) -> pl.DataFrame:
    """How many times the ERT of the reference, best 2009 where it is known, else the best of the store.

    See docs/scores.md 2.8.
    """
    both = pl.DataFrame({"known": pl.Series(known[scored.given]).fill_nan(None), "best": best[scored.given]})
    used = both.select(**where_known(pl.col("known"), pl.col("best")))
    reference = scored.spread(used["reference_ert"])
    some = np.isfinite(reference) & (reference > 0)
    loss = (erts / np.where(some, reference, np.nan))[scored.given]
    return table.with_columns(loss=pl.Series(loss).fill_nan(None), reference=used["reference"])
