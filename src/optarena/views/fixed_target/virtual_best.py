"""The virtual best solver: for each problem and target the optimizer with the least ERT (docs/scores.md 2.16)."""

from __future__ import annotations

import numpy as np
import polars as pl

from optarena.traces import Floats, Ints
from optarena.views.fixed_target.scored import Scored

CONTRIBUTIONS = {
    "optimizer": pl.String,
    "dimension": pl.Int64,
    "best": pl.Float64,
    "alone": pl.Float64,
    "slower": pl.Float64,
    "n": pl.Int64,
}


def erts_of(scored: Scored, table: pl.DataFrame) -> Floats:
    """(cells, targets): the ERTs of the table `ert`; NaN where a cell has no such target."""
    out = np.full(scored.targets.shape, np.nan)
    out[scored.given] = table["ert"].to_numpy()
    return out


def chosen(scored: Scored, erts: Floats) -> Ints:
    """(problems, targets): the cell with the least ERT, the first of equals; -1 where there is no such target."""
    return _cells(scored, np.where(np.isnan(erts), np.inf, erts))


def of_optimizer(scored: Scored, name: str) -> Ints:
    """(problems, targets): the cells of one optimizer; -1 on problems that it did not run."""
    mine = (scored.runs.cells["optimizer"] == name).to_numpy()
    out = _cells(scored, np.where(mine, 0.0, 1.0)[:, None] * np.ones(scored.targets.shape[1]))
    return np.where(mine[out] & (out >= 0), out, -1)


def _cells(scored: Scored, cost: Floats) -> Ints:
    """(problems, targets): the cell with the least cost. cost: (cells, targets)"""
    out = np.full((int(scored.problem.max()) + 1, scored.targets.shape[1]), -1)
    least = np.full(out.shape, np.nan)
    for c, p in enumerate(scored.problem.tolist()):
        better = scored.given[c] & ~(cost[c] >= least[p])
        out[p][better], least[p][better] = c, cost[c][better]
    return out


def contributions(scored: Scored, erts: Floats) -> pl.DataFrame:
    """What each optimizer gives the virtual best solver, by dimension, over the targets that anyone reached.

    `best`: the part of them where its ERT is the least (ties are shared); `alone`: where only it succeeded; `slower`:
    how many times as long the best of the others takes where it is best, the geometric mean over all targets that
    the others reach too; `n`: the targets. Of the functions in dimensions that all optimizers ran. docs/scores.md 2.16
    """
    cells = scored.runs.cells
    optimizers = list(dict.fromkeys(cells["optimizer"]))
    place = {name: i for i, name in enumerate(optimizers)}
    shape = (int(scored.problem.max()) + 1, len(optimizers), scored.targets.shape[1])
    cube = np.full(shape, np.inf)
    for c, (p, name) in enumerate(zip(scored.problem.tolist(), cells["optimizer"], strict=True)):
        cube[p, place[name]] = np.where(scored.given[c], erts[c], np.inf) if scored.alike[c] else np.inf
    dimension = np.full(shape[0], -1)
    dimension[scored.problem] = cells["dimension"].fill_null(-1).to_numpy()
    rows = []
    for d in np.unique(dimension).tolist():
        mine = cube[dimension == d].transpose(1, 0, 2).reshape(len(optimizers), -1)
        mine = mine[:, np.isfinite(mine).any(axis=0)]
        best = mine.min(axis=0, initial=np.inf)
        first = mine == best
        for i, name in enumerate(optimizers):
            others = np.delete(mine, i, axis=0).min(axis=0, initial=np.inf)
            both = np.isfinite(others)
            ratios = np.log(others[both & (best > 0)] / best[both & (best > 0)])
            rows.append(
                {
                    "optimizer": name,
                    "dimension": None if d < 0 else d,
                    "best": float((first[i] / np.maximum(first.sum(axis=0), 1)).mean()) if mine.size else None,
                    "alone": float((~both).mean()) if mine.size else None,
                    "slower": float(np.exp(ratios.mean())) if len(ratios) else None,
                    "n": mine.shape[1],
                }
            )
    return pl.DataFrame(rows, schema=CONTRIBUTIONS)
