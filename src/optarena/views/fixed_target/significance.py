"""COCO's rank-sum test on scored runs: of every two optimizers, and of the best against all others.

See docs/scores.md 2.13 and 2.15.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from optarena.traces import Floats, Ints
from optarena.views.fixed_target.ranksum import common_end, rank_sum_tests
from optarena.views.fixed_target.scored import MOST_AT_ONCE, Scored
from optarena.views.fixed_target.virtual_best import least_ert

LEVEL = 0.05
MOST_STARS = 9


def rank_sum_table(scored: Scored) -> pl.DataFrame:
    """The rank-sum test of every two optimizers on each problem and target, as COCO makes it (docs/scores.md 2.13)."""
    schema = {"optimizer": pl.String, "other": pl.String, "suite": pl.String, "function": pl.String}
    empty = pl.DataFrame(schema={**schema, "dimension": pl.Int64, **dict.fromkeys(("target", "z", "p"), pl.Float64)})
    out = [empty]
    runs = _once(scored)
    sizes = np.array([len(part) for part in runs])
    for _, b, both in scored.runs.opponents():
        cells = both.select("cell", "cell_right").to_numpy()
        z, p = np.full((2, len(cells), scored.targets.shape[1]), np.nan)
        for rows in _alike(sizes[cells]):
            first, second = (np.array([runs[c] for c in cells[rows, i].tolist()]).T for i in (0, 1))
            z[rows], p[rows] = _rank_sums(scored, (first, second), (scored.hits[first], scored.hits[second]))
        given = scored.given[cells[:, 0]]
        at = np.nonzero(given)[0]
        out.append(
            both[at].select(
                "optimizer", "suite", "function", "dimension",
                other=pl.lit(b), **scored.labels(cells[:, 0]),
                z=pl.Series(z[given]), p=pl.Series(p[given]),
            ).select(*empty.columns, *(["k"] if scored.multiples is not None else []))
        )  # fmt: skip
    return pl.concat(out[1:] or out)


def best_cells(scored: Scored, erts: Floats) -> Ints:
    """(cells, targets): the cell of the same problem with the least ERT, the first of equals (docs/scores.md 2.15).

    Where no optimizer reached the target, the one with the least median of the final precisions. erts: (cells, targets)
    """
    final = np.array([np.median(scored.runs.final[part]) for part in _once(scored)])
    least, quickest = least_ert(erts, scored.problem)
    most_precise = least_ert(final, scored.problem)[1]
    return np.where(np.isfinite(least), quickest, most_precise[:, None])[scored.problem]


def stars(scored: Scored, best: Ints) -> Ints:
    """(cells, targets): k where the best is better than every other at p <= 10^-k, corrected; else 0.

    1 stands for p < 0.05. p is the greatest of the rank-sum tests against the others, times the number of functions of
    the suite in this dimension. best: of `best_cells`. See docs/scores.md 2.15.
    """
    pairs = [np.empty((0, 3), dtype=np.int64)]  # the best, another, the target
    for members in _members(scored):
        targets = np.flatnonzero(scored.given[members[0]])
        grid = np.array(np.meshgrid(members, targets, indexing="ij")).reshape(2, -1)
        mine = np.column_stack((best[members[0], grid[1]], grid[0], grid[1]))
        pairs.append(mine[mine[:, 0] != mine[:, 1]])
    tested = np.concatenate(pairs)
    greatest = np.zeros(best.shape)
    np.maximum.at(greatest, (tested[:, 0], tested[:, 2]), _p_of_the_first(scored, tested))
    alone = np.ones(best.shape, dtype=bool)
    alone[tested[:, 0], tested[:, 2]] = False
    with np.errstate(divide="ignore"):
        corrected = np.where(alone, 1.0, greatest * _functions(scored)[:, None])
        found = np.where(corrected < LEVEL, np.minimum(-np.ceil(np.log10(corrected)), MOST_STARS), 0)
    return found.astype(np.int64)


def _p_of_the_first(scored: Scored, tested: Ints) -> Floats:
    """(pairs,): p of the rank-sum test, 1 where the first is not better. tested: (pairs, 3), two cells and a target."""
    runs = _once(scored)
    sizes = np.array([len(part) for part in runs])[tested[:, :2]]
    out = np.ones(len(tested))
    for rows in _alike(sizes):
        at_once = max(1, MOST_AT_ONCE // int(sizes[rows[0]].sum()))
        for low in range(0, len(rows), at_once):
            some = rows[low : low + at_once]
            first, second = (np.array([runs[c] for c in tested[some, i].tolist()]).T for i in (0, 1))
            target = tested[some, 2]
            z, p = _rank_sums(scored, (first, second), (scored.hits[first, target], scored.hits[second, target]))
            out[some] = np.where(z > 0, p, 1.0)
    return out


def _rank_sums(scored: Scored, runs: tuple[Ints, Ints], hits: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """z and p of two optimizers. runs: (runs, cells) of each; hits: the same, perhaps with an axis of targets."""
    spent = scored.spent[runs[0]], scored.spent[runs[1]]
    end = common_end(hits, spent)
    more = (1,) * (hits[0].ndim - runs[0].ndim)
    one, two = (scored.runs.best_at(part.reshape(*part.shape, *more), end) for part in runs)
    return rank_sum_tests(hits, spent, (one, two))


def _once(scored: Scored) -> list[Ints]:
    """The runs of each cell, each once: COCO does not balance instances for its test."""
    return [np.unique(part) for part in scored.of_cell]


def _alike(sizes: Ints) -> Iterator[Ints]:
    """The rows with the same numbers of runs. sizes: (rows, 2)"""
    kinds, of = np.unique(sizes, axis=0, return_inverse=True)
    for kind in range(len(kinds)):
        yield np.flatnonzero(of.ravel() == kind)


def _members(scored: Scored) -> list[Ints]:
    """The cells of each problem, a function in a dimension."""
    order = np.argsort(scored.problem, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(scored.problem[order])) + 1)


def _functions(scored: Scored) -> Ints:
    """(cells,): how many functions its suite has in its dimension."""
    number = pl.col("function").n_unique().over("suite", "dimension")
    return scored.runs.cells.select(number).to_series().to_numpy().astype(np.int64)
