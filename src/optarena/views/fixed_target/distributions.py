"""Distributions over runs and problems: ECDFs of runtimes and of precision, their differences and background."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import numpy as np
import polars as pl

from optarena.stats._result import LEVEL, percentile_ends
from optarena.stats.bootstrap import draws
from optarena.traces import Floats, Ints, product
from optarena.views.fixed_target.groups import groups_of
from optarena.views.fixed_target.restarts import restart_ecdfs, simulated_restarts
from optarena.views.fixed_target.runtimes import ecdf, ecdfs, reachable, weighted_ecdf
from optarena.views.fixed_target.scored import MOST_AT_ONCE, Scored

SAMPLES = 1000
ENDS = (1e1, 1e-1, 1e-4, 1e-8)
PRECISION = {"optimizer": pl.String, "panel": pl.String, "of": pl.Float64, "ratio": pl.Float64, "fraction": pl.Float64}
RATIOS = 10.0 ** (np.arange(0, 51) / 5)
LEAST = 1e-8
"""Precisions below are drawn there: COCO's hardest target."""


PROBLEM = ("suite", "function", "dimension")
Key = tuple[str | None, str, int | None]
"""The suite, the function and the dimension of a problem."""
Curve = tuple[Floats, Floats]
"""Where it jumps, and its values there; before the first it is 0."""
Pool = tuple[str, int | None]
"""A group of functions, and their dimension (None: all)."""


def grid(scored: Scored) -> Floats:
    """Efforts, per dimension where they are evaluations: nice numbers on a log grid, to ten times the budget."""
    if scored.grid is None:
        scored.grid = _grid(scored)
    return scored.grid


def _grid(scored: Scored) -> Floats:
    unit, per_decade = scored.runs.per_dimension, scored.per_decade
    spent = scored.spent / unit
    finite = spent[(spent > 0) & np.isfinite(spent)]
    if not len(finite):
        return np.array([1.0])
    top = np.ceil(np.log10(finite.max()) + 1)
    bottom = 0.0 if scored.runs.axis == "evaluations" else np.floor(np.log10(finite.min())) - 2
    steps = 10.0 ** (np.arange(int(bottom) * per_decade, int(top) * per_decade + 1) / per_decade)
    nice = [m * 10.0**k for k in range(int(bottom), int(top)) for m in (1, 2, 3, 5)]
    return np.unique([float(f"{value:.9g}") for value in (*steps.tolist(), *nice)])


def with_restarts(scored: Scored) -> Floats:
    """(cells, x): the distribution with simulated restarts, the mean over targets (docs/scores.md 2.5)."""
    if scored.fractions is None:
        scored.fractions = _restarts(scored, grid(scored))
    return scored.fractions


def _restarts(scored: Scored, x: Floats) -> Floats:
    runs, cells = scored.runs, len(scored.targets)
    parts, of = scored.of_cell, np.arange(cells)
    if scored.mode == "coco" and runs.indicator.any():  # cocopp restarts two objectives on their own instance
        parts, of = _instances(scored)
    out, sampled = np.zeros((cells, len(x))), 0
    weight = np.bincount(of, minlength=cells)
    for batch in scored.batches(parts, len(x)):
        cell = of[batch.cells]
        given = scored.given[cell]
        at = x * runs.per_dimension[batch.runs[0]][batch.of, None]
        each, unknown = filled(scored, batch.hits, batch.spent, at)
        sampled += int(np.isin(batch.column[given], unknown).sum())
        total = np.where(given[:, :, None], each[batch.column], 0.0).sum(axis=1)
        np.add.at(out, cell, total / given.sum(axis=1)[:, None] / weight[cell][:, None])
    if sampled:
        scored.notes.append(
            f"{sampled} restart distributions have too many jumps to be exact: {SAMPLES} seeded draws each"
        )
    return out


def filled(scored: Scored, hits: Floats, spent: Floats, at: Floats) -> tuple[Floats, Ints]:
    """(columns, x): distributions with restarts; seeded draws where there are too many jumps, and which these are."""
    each = restart_ecdfs(hits, spent, at)
    unknown = np.flatnonzero(np.isnan(each).any(axis=1))
    for some in np.array_split(unknown, 1 + len(unknown) * SAMPLES // MOST_AT_ONCE):
        drawn = simulated_restarts(hits[:, some], spent[:, some], SAMPLES, scored.seed)
        for t, runtimes in zip(some.tolist(), drawn, strict=True):
            each[t] = ecdf(runtimes, at[t])
    return each, unknown


def _instances(scored: Scored) -> tuple[list[Ints], Ints]:
    """The runs of each instance of cells with two objectives, all runs of other cells; and the cell of each part."""
    runs = scored.runs
    instance = runs.table["instance"].fill_null(-1).to_numpy()
    parts, of = [], []
    for c, part in enumerate(scored.of_cell):
        apart = np.unique(instance[part]) if runs.indicator[part[0]] else [None]
        parts += [part if i is None else part[instance[part] == i] for i in apart]
        of += [c] * len(apart)
    return parts, np.array(of)


def _no_restarts(scored: Scored, x: Floats) -> Floats:
    """(cells, x): the fraction of runtimes of at most x (docs/scores.md 2.6)."""
    runs = scored.runs
    out = np.zeros((runs.cells.height, len(x)))
    unit = runs.per_dimension[[part[0] for part in scored.of_cell]]
    given = scored.given.sum(axis=1)
    for batch in scored.batches():
        kinds = np.column_stack((unit, given))[batch.cells]
        for one, targets in np.unique(kinds, axis=0).tolist():
            mine = batch.cells[(kinds == (one, targets)).all(axis=1)]
            some = np.array([scored.of_cell[c] for c in mine.tolist()])
            out[mine] = ecdfs(scored.hits[some][:, :, : int(targets)].reshape(len(mine), -1), x * one)
    return out


def ecdf_tables(scored: Scored) -> tuple[pl.DataFrame, pl.DataFrame]:
    """`ecdf` and `differences` (docs/scores.md 2.6)."""
    x = grid(scored)
    restarted, without = with_restarts(scored), _no_restarts(scored, x)
    members = members_of(scored)
    effort = scored.spent / scored.runs.per_dimension
    ends = [np.median(effort[np.concatenate([scored.of_cell[c] for c in mine])]) for mine in members.values()]
    table = _blocks(members, ("optimizer", "group", "dimension"), x).with_columns(
        fraction=np.concatenate([restarted[mine].mean(axis=0) for mine in members.values()]),
        fraction_no_restarts=np.concatenate([without[mine].mean(axis=0) for mine in members.values()]),
        budget=np.repeat(ends, len(x)),
    )
    return table, _differences(scored, x, restarted)


def members_of(scored: Scored) -> dict[tuple[str, str, int | None], list[int]]:
    """By optimizer, group and dimension: the cells that are pooled."""
    pools = _pools(scored)
    out: dict[tuple[str, str, int | None], list[int]] = {}
    for c, (optimizer, *key) in enumerate(scored.runs.cells.select("optimizer", *PROBLEM).iter_rows()):
        for pool in pools[key[0], key[1], key[2]]:
            out.setdefault((optimizer, *pool), []).append(c)
    return out


def problems_of_pools(scored: Scored) -> dict[Pool, list[Key]]:
    """By group and dimension: the functions in dimensions that are pooled."""
    out: dict[Pool, list[Key]] = {}
    for key, pools in _pools(scored).items():
        for pool in pools:
            out.setdefault(pool, []).append(key)
    return out


def _pools(scored: Scored) -> dict[Key, list[Pool]]:
    """By function in a dimension: where it is pooled; one that not all optimizers ran is shown alone."""
    several = scored.runs.cells["suite"].n_unique() > 1
    out: dict[Key, list[Pool]] = {}
    for (suite, function, dimension), alike in zip(
        scored.runs.cells.select(PROBLEM).iter_rows(), scored.alike.tolist(), strict=True
    ):
        groups = groups_of(suite, function, several=several)
        wide = [(group, d) for group in groups for d in dict.fromkeys((dimension, None))]
        out[suite, function, dimension] = wide if alike else [(groups[0], dimension)]
    return out


def _blocks(keys: Iterable[tuple[str | int | None, ...]], names: tuple[str, ...], x: Floats) -> pl.DataFrame:
    """A row for every key and effort."""
    columns = list(zip(*keys, strict=True))
    kinds = {"dimension": pl.Int64}
    head = {
        name: pl.Series(name, column, dtype=kinds.get(name, pl.String)).gather(
            np.repeat(np.arange(len(column)), len(x))
        )
        for name, column in zip(names, columns, strict=True)
    }
    return pl.DataFrame({**head, "effort": np.tile(x, len(columns[0]))})


def _differences(scored: Scored, x: Floats, fractions: Floats) -> pl.DataFrame:
    """For each pair of optimizers the difference of their ECDFs over the problems that both have, with its interval.

    Problems are resampled, each whole: they are the unit of replication (docs/scores.md 2.6).
    """
    out = []

    @functools.cache
    def weights(n: int) -> Floats:
        """(resamples, problems): how often each of n problems is drawn; the same for all pairs."""
        return draws(n, max(scored.bootstrap, 1000), scored.seed)

    for a, b, both in scored.runs.opponents():
        gap = fractions[both["cell"].to_numpy()] - fractions[both["cell_right"].to_numpy()]
        n = len(gap)
        lower = upper = np.full(len(x), np.nan)
        if scored.bootstrap and n > 1:
            lower, upper = percentile_ends(product(weights(n), gap) / n, LEVEL)
        out.append(
            pl.DataFrame(
                {
                    "optimizer": [a] * len(x),
                    "other": [b] * len(x),
                    "effort": x,
                    "difference": gap.mean(axis=0),
                    "difference_lb": pl.Series(lower).fill_nan(None),
                    "difference_ub": pl.Series(upper).fill_nan(None),
                    "n_problems": [n] * len(x),
                }
            )
        )
    return pl.concat(out) if out else pl.DataFrame(schema={"optimizer": pl.String, "other": pl.String})


def with_reference(table: pl.DataFrame, reference: pl.DataFrame, scored: Scored) -> pl.DataFrame:
    """The background of an ECDF: for what fraction of its (problem, target) pairs the ERT of a reference is within x.

    Null where the reference is not known for all of them: a fraction of some would be of other targets.
    See docs/scores.md 2.8.
    """
    x, pools = grid(scored), problems_of_pools(scored)
    mean = _blocks(pools, ("group", "dimension"), x)
    for name in ("best_of_store", "best_2009"):
        found = erts_of_reference(scored, reference, name)
        heights = [_height(found[pool], reachable(x)) if pool in found else np.full(len(x), np.nan) for pool in pools]
        mean = mean.with_columns(pl.Series(name, np.concatenate(heights)).fill_nan(None))
    on = ["group", "dimension", "effort"]
    return table.join(mean, on=on, how="left", nulls_equal=True, maintain_order="left")


def _height(curve: Curve, x: Floats) -> Floats:
    """(x,): how high the curve is there."""
    return np.append(0.0, curve[1])[np.searchsorted(curve[0], x, side="right")]


def erts_of_reference(scored: Scored, reference: pl.DataFrame, name: str) -> dict[Pool, Curve]:
    """By group and dimension: the fraction of targets whose ERT by the reference is within an effort per dimension.

    Only where the reference is known for all of them. name: its column in the table `reference`. docs/scores.md 2.8
    """
    table = reference.group_by(*PROBLEM, maintain_order=True).agg(name)
    erts = {tuple(row[:3]): np.array(row[3], dtype=float) for row in table.iter_rows()}  # null is NaN
    counted = scored.runs.axis == "evaluations"
    out = {}
    for pool, problems in problems_of_pools(scored).items():
        found = [erts[key] / (max(key[2] or 1, 1) if counted else 1) for key in problems]
        every = np.concatenate(found)
        if np.isnan(every).any():
            continue
        weight = np.concatenate([np.full(len(part), 1.0 / (len(part) * len(found))) for part in found])
        some = np.isfinite(every)
        out[pool] = weighted_ecdf(every[some], weight[some])
    return out


def precision(scored: Scored) -> pl.DataFrame:
    """ECDFs of df/10^k at the end of each run, and of df/1e-8 at budgets of D, 10 D, 100 D, … (docs/scores.md 2.7)."""
    runs = scored.runs
    unit = runs.per_dimension
    last = runs.final
    panels: list[tuple[str, float, float, Floats]] = [("end", end, end, last) for end in ENDS]
    largest = float(np.max(scored.spent / unit, initial=1.0))
    for k in range(int(np.ceil(np.log10(max(largest, 1.0)))) + 1):
        panels.append(("budget", 10.0**k, 1e-8, runs.best_at(np.arange(len(runs)), 10.0**k * unit)))
    optimizer = runs.table["optimizer"]
    alike = scored.alike[runs.cell]
    out = [pl.DataFrame(schema=PRECISION)]
    for name in dict.fromkeys(optimizer.filter(alike)):
        mine = (optimizer == name).to_numpy() & alike
        for panel, of, scale, values in panels:
            out.append(
                pl.DataFrame(
                    {
                        "optimizer": [name] * len(RATIOS),
                        "panel": [panel] * len(RATIOS),
                        "of": [of] * len(RATIOS),
                        "ratio": RATIOS,
                        "fraction": ecdf(values[mine] / scale, reachable(RATIOS)),
                    }
                )
            )
    return pl.concat(out)
