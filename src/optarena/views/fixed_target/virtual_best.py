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


def least_ert(erts: Floats, problem: Ints) -> tuple[Floats, Ints]:
    """(problems, …): the least ERT of each problem, and the cell that has it, the first of equals.

    inf and -1 where no cell has the target. erts: (cells, …), NaN for a target that a cell lacks; problem: (cells,).
    See docs/scores.md 2.16.
    """
    shape = (int(problem.max(initial=-1)) + 1, *erts.shape[1:])
    least, cell = np.full(shape, np.inf), np.full(shape, len(erts))
    np.minimum.at(least, problem, np.where(np.isnan(erts), np.inf, erts))
    number = np.arange(len(erts)).reshape(-1, *[1] * (erts.ndim - 1))
    np.minimum.at(cell, problem, np.where(erts == least[problem], number, len(erts)))
    return least, np.where(cell < len(erts), cell, -1)


def of_optimizer(scored: Scored, name: str) -> Ints:
    """(problems, targets): the cells of one optimizer; -1 on problems that it did not run."""
    mine = (scored.runs.cells["optimizer"] == name).to_numpy()
    return least_ert(np.where(scored.given & mine[:, None], 0.0, np.nan), scored.problem)[1]


def contributions(scored: Scored, erts: Floats) -> pl.DataFrame:
    """What each optimizer gives the virtual best solver, by dimension, over the targets that anyone reached.

    `best`: the part of them where its ERT is the least (ties are shared); `alone`: where only it succeeded; `slower`:
    how many times as long the best of the others takes where it is best, the geometric mean over all targets that
    the others reach too; `n`: the targets. Of the functions in dimensions that all optimizers ran. docs/scores.md 2.16
    """
    cells = scored.runs.cells
    optimizers = scored.optimizers
    cube = scored.by_problem(np.where(scored.given & scored.alike[:, None], erts, np.inf))
    dimension = np.full(len(cube), -1)
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
