"""The tables of the fixed-target view, each made of the scored runs: here those of expected running times.

Distributions live in `distributions`, profiles and areas in `profile_tables`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from optarena.traces import Floats
from optarena.views.fixed_target import distributions, profile_tables
from optarena.views.fixed_target.ranksum import common_end, rank_sum_test
from optarena.views.fixed_target.reference import BEST_2009, reference_ert
from optarena.views.fixed_target.runtimes import restart_quantiles, simulated_restarts

if TYPE_CHECKING:
    from optarena.views.fixed_target.view import Scored

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


TABLES = ("ert", "ecdf", "precision", "profiles", "aocc", "percentiles", "reference", "differences")


def make(scored: Scored, wanted: Sequence[str] = TABLES) -> dict[str, pl.DataFrame]:
    """All of them, or some."""
    erts, ert_table = _ert(scored)
    reference = _reference(scored, erts)
    out = {"ert": _with_loss(ert_table, reference), "reference": reference}
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
        out["percentiles"] = _percentiles(scored)
    if scored.mode == "coco":
        out["ranksum"] = _ranksum(scored)
    return {name: out[name] for name in (*TABLES, "ranksum") if name in out}


def _by_size(scored: Scored) -> dict[int, list[int]]:
    """Cells with as many runs: they make one array."""
    out: dict[int, list[int]] = {}
    for cell, part in enumerate(scored.of_cell):
        out.setdefault(len(part), []).append(cell)
    return out


def _ert(scored: Scored) -> tuple[Floats, pl.DataFrame]:
    """(cells, targets), and the table (docs/scores.md 2.4)."""
    cells, width = scored.targets.shape
    figures = {name: np.full((cells, width), np.nan) for name in ("ert", "ert_lb", "ert_ub", "rt_s", "rt_f", "median")}
    counts, wins = np.zeros((cells, width), dtype=np.int64), np.zeros((cells, width), dtype=np.int64)
    for size, members in _by_size(scored).items():
        rows = np.array([scored.of_cell[cell] for cell in members])
        hits, spent = scored.hits[rows], scored.spent[rows][:, :, None]  # [cells, runs, targets]
        hit = np.isfinite(hits)
        n = hit.sum(axis=1)
        cost = np.where(hit, hits, spent)
        with np.errstate(divide="ignore", invalid="ignore"):
            figures["ert"][members] = np.where(n > 0, cost.sum(axis=1) / n, np.inf)
            figures["rt_s"][members] = np.where(hit, hits, 0.0).sum(axis=1) / np.where(n > 0, n, np.nan)
            figures["rt_f"][members] = np.where(hit, 0.0, spent).sum(axis=1) / np.where(n < size, size - n, np.nan)
        ordered = np.sort(hits, axis=1)
        low, high = ordered[:, (size - 1) // 2], ordered[:, size // 2]
        figures["median"][members] = np.where(low == high, low, (low + high) / 2)
        counts[members], wins[members] = size, n
        if scored.bootstrap and size > 1:  # one run shows no spread
            lower, upper = _ert_interval(cost, hit, scored.bootstrap, scored.seed)
            figures["ert_lb"][members], figures["ert_ub"][members] = lower, upper
    keep = scored.given.ravel()
    of = np.repeat(np.arange(cells), width)[keep]

    def column(values: Any) -> pl.Series:
        return pl.Series(values.ravel()[keep])

    table = scored.runs.cells[of].with_columns(
        target=column(scored.targets),
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


def _ert_interval(cost: Floats, hit: Any, times: int, seed: int) -> tuple[Floats, Floats]:
    """Percentiles of the ERT over resamplings of the runs; inf where a resampling has no success.

    See docs/scores.md 2.4.
    """
    runs = cost.shape[1]
    drawn = np.random.default_rng(seed).multinomial(runs, np.full(runs, 1 / runs), size=times).astype(float)
    lower, upper = np.empty((len(cost), cost.shape[2])), np.empty((len(cost), cost.shape[2]))
    for i in range(len(cost)):
        wins = drawn @ hit[i].astype(float)
        with np.errstate(divide="ignore", invalid="ignore"):
            again = np.sort(np.where(wins > 0, (drawn @ cost[i]) / wins, np.inf), axis=0)
        lower[i] = again[max(0, int(np.floor(0.025 * times)))]
        upper[i] = again[min(times - 1, int(np.ceil(0.975 * times)) - 1)]
    return lower, upper


def _reference(scored: Scored, erts: Floats) -> pl.DataFrame:
    """The best ERT of the store for each problem and target, and best 2009 where it is known (docs/scores.md 2.8)."""
    cells = scored.runs.cells
    keys = cells.select("suite", "function", "dimension")
    problem = keys.select(pl.struct(pl.all()).rank("dense") - 1).to_series().to_numpy().astype(np.int64)
    _, first, back = np.unique(problem, return_index=True, return_inverse=True)
    best = np.full((len(first), scored.targets.shape[1]), np.inf)
    np.minimum.at(best, back, erts)
    known = np.full(best.shape, np.nan)
    for p, cell in enumerate(first.tolist() if scored.runs.axis == "evaluations" else ()):
        suite, function, dimension = keys.row(cell)
        given = scored.given[cell]
        known[p, given] = reference_ert(suite, function, dimension or 0, scored.targets[cell, given])
    keep = scored.given[first].ravel()
    of = np.repeat(first, best.shape[1])[keep]
    return keys[of].with_columns(
        target=pl.Series(scored.targets[first].ravel()[keep]),
        best_of_store=pl.Series(best.ravel()[keep]),
        best_2009=pl.Series(known.ravel()[keep]).fill_nan(None),
    )


def _with_loss(table: pl.DataFrame, reference: pl.DataFrame) -> pl.DataFrame:
    """How many times the ERT of the reference, best 2009 where it is known, else the best of the store.

    See docs/scores.md 2.8.
    """
    joined = table.join(
        reference, on=["suite", "function", "dimension", "target"], how="left", nulls_equal=True, maintain_order="left"
    )
    best = pl.coalesce("best_2009", "best_of_store")
    return joined.with_columns(
        loss=pl.when(best.is_finite()).then(pl.col("ert") / best),
        reference=pl.when(pl.col("best_2009").is_not_null()).then(pl.lit(BEST_2009)).otherwise(pl.lit("best of store")),
    ).drop("best_2009", "best_of_store")


def _percentiles(scored: Scored) -> pl.DataFrame:
    """How far runtimes with simulated restarts scatter: computed where all failures of a problem spent the same.

    Elsewhere from seeded draws, and `sampled` says so. See docs/scores.md 2.5.
    """
    cells, width = scored.targets.shape
    found = np.full((cells, width, len(QUANTILES)), np.nan)
    for size, members in _by_size(scored).items():
        rows = np.array([scored.of_cell[cell] for cell in members])
        hits = np.moveaxis(scored.hits[rows], 1, 0).reshape(size, -1)
        some = restart_quantiles(hits, np.repeat(scored.spent[rows].T, width, axis=1), QUANTILES)
        found[members] = some.reshape(len(members), width, -1)
    sampled = np.isnan(found).any(axis=2) & scored.given
    for cell in np.flatnonzero(sampled.any(axis=1)).tolist():
        hits, spent = scored.hits[scored.of_cell[cell]], scored.spent[scored.of_cell[cell]]
        for t in np.flatnonzero(sampled[cell]).tolist():
            drawn = np.sort(simulated_restarts(hits[:, t], spent, distributions.SAMPLES, scored.seed))
            at = np.ceil(np.array(QUANTILES) * len(drawn) - 1e-9).astype(np.int64) - 1
            found[cell, t] = drawn[at]
    keep = scored.given.ravel()
    table = scored.runs.cells[np.repeat(np.arange(cells), width)[keep]].with_columns(
        target=pl.Series(scored.targets.ravel()[keep]),
        **{f"p{100 * q:.0f}": pl.Series(found[:, :, i].ravel()[keep]) for i, q in enumerate(QUANTILES)},
        sampled=pl.Series(sampled.ravel()[keep]),
    )
    if sampled.any():
        scored.notes.append(
            f"percentiles of {int(sampled.sum())} problems and targets, whose failures spent different efforts, "
            f"are of {distributions.SAMPLES} seeded draws each"
        )
    return table


# ---- COCO's test -----------------------------------------------------------------------------------------------------


def _ranksum(scored: Scored) -> pl.DataFrame:
    """The rank-sum test of every two optimizers on each problem and target, as COCO makes it (docs/scores.md 2.13)."""
    rows = []
    for a, b, both in scored.runs.opponents():
        for pair in both.iter_rows(named=True):
            parts = [scored.of_cell[pair[name]] for name in ("cell", "cell_right")]
            for t, target in enumerate(scored.targets[pair["cell"]][scored.given[pair["cell"]]].tolist()):
                hits = [scored.hits[part, t] for part in parts]
                spent = [scored.spent[part] for part in parts]
                end = common_end(hits, spent)
                first, second = (distributions.best_at(scored, part, np.full(len(part), end)) for part in parts)
                z, p = rank_sum_test((hits[0], hits[1]), (spent[0], spent[1]), (first, second))
                named = {"optimizer": a, "other": b, **{key: pair[key] for key in ("suite", "function", "dimension")}}
                rows.append({**named, "target": target, "z": z, "p": p})
    schema = {"optimizer": pl.String, "other": pl.String, "suite": pl.String, "function": pl.String}
    return pl.DataFrame(
        rows, schema={**schema, "dimension": pl.Int64, **dict.fromkeys(("target", "z", "p"), pl.Float64)}
    )
