"""How far runtimes with simulated restarts scatter: percentiles of every cell and target (docs/scores.md 2.5)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from optarena.traces import Bools, Floats
from optarena.views.fixed_target import distributions
from optarena.views.fixed_target.restarts import restart_quantiles, simulated_restarts
from optarena.views.fixed_target.scored import MOST_AT_ONCE, Scored

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


def percentiles(scored: Scored) -> pl.DataFrame:
    """The table, computed; seeded draws where there are too many jumps, which `sampled` says."""
    found, sampled = quantiles(scored, QUANTILES)
    cells, width = scored.targets.shape
    keep = scored.given.ravel()
    table = scored.runs.cells[np.repeat(np.arange(cells), width)[keep]].with_columns(
        **scored.labels(),
        **{f"p{100 * q:.0f}": pl.Series(found[:, :, i].ravel()[keep]) for i, q in enumerate(QUANTILES)},
        sampled=pl.Series(sampled.ravel()[keep]),
    )
    if sampled.any():
        scored.notes.append(
            f"percentiles of {int(sampled.sum())} problems and targets have too many jumps to be exact: "
            f"{distributions.SAMPLES} seeded draws each"
        )
    return table


def quantiles(scored: Scored, q: Sequence[float]) -> tuple[Floats, Bools]:
    """(cells, targets, q), and (cells, targets): where they are of seeded draws (docs/scores.md 2.5)."""
    cells, width = scored.targets.shape
    found = np.full((cells, width, len(q)), np.nan)
    sampled = np.zeros((cells, width), dtype=bool)
    for batch in scored.batches():
        values = restart_quantiles(batch.hits, batch.spent, q)
        many = np.asarray(np.isnan(values).any(axis=1))
        values[many] = _drawn(batch.hits[:, many], batch.spent[:, many], q, scored.seed)
        found[batch.cells], sampled[batch.cells] = values[batch.column], many[batch.column]
    return found, sampled & scored.given


def _drawn(hits: Floats, spent: Floats, q: Sequence[float], seed: int) -> Floats:
    """(columns, quantiles): of seeded draws (docs/scores.md 2.5)."""
    draws = distributions.SAMPLES
    at = np.ceil(np.array(q) * draws - 1e-9).astype(np.int64) - 1
    out = np.empty((hits.shape[1], len(at)))
    at_once = MOST_AT_ONCE // draws
    for low in range(0, len(out), at_once):
        some = slice(low, low + at_once)
        out[some] = np.partition(simulated_restarts(hits[:, some], spent[:, some], draws, seed), at, axis=1)[:, at]
    return out
