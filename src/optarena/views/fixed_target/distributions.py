"""Distributions over runs and problems: ECDFs of runtimes and of precision, their differences and background."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import numpy as np
import polars as pl

from optarena.traces import Floats, Ints, product
from optarena.views.fixed_target.groups import groups_of
from optarena.views.fixed_target.restarts import restart_ecdfs, simulated_restarts
from optarena.views.fixed_target.runtimes import TOLERANCE, ecdf, ecdfs, first_hits
from optarena.views.fixed_target.scored import MOST_AT_ONCE, Scored

PER_DECADE = 10
SAMPLES = 1000
ENDS = (1e1, 1e-1, 1e-4, 1e-8)
PRECISION = {"optimizer": pl.String, "panel": pl.String, "of": pl.Float64, "ratio": pl.Float64, "fraction": pl.Float64}
RATIOS = 10.0 ** (np.arange(0, 51) / 5)
LEAST = 1e-8
"""Precisions below are drawn there: COCO's hardest target."""
FURTHEST = 1e10
"""From a target, as a multiple of it: what is further is not drawn."""


def grid(scored: Scored) -> Floats:
    """Efforts, per dimension where they are evaluations: nice numbers on a log grid, to ten times the budget."""
    unit = scored.runs.per_dimension
    spent = scored.spent / unit
    finite = spent[(spent > 0) & np.isfinite(spent)]
    if not len(finite):
        return np.array([1.0])
    top = np.ceil(np.log10(finite.max()) + 1)
    bottom = 0.0 if scored.runs.axis == "evaluations" else np.floor(np.log10(finite.min())) - 2
    steps = 10.0 ** (np.arange(int(bottom) * PER_DECADE, int(top) * PER_DECADE + 1) / PER_DECADE)
    nice = [m * 10.0**k for k in range(int(bottom), int(top)) for m in (1, 2, 3, 5)]
    return np.unique([float(f"{value:.9g}") for value in (*steps.tolist(), *nice)])


def _restarts(scored: Scored, x: Floats) -> Floats:
    """(cells, x): the distribution with simulated restarts, the mean over targets (docs/scores.md 2.5)."""
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
        each = restart_ecdfs(batch.hits, batch.spent, at)
        unknown = np.flatnonzero(np.isnan(each).any(axis=1))
        sampled += int(np.isin(batch.column[given], unknown).sum())
        for some in np.array_split(unknown, 1 + len(unknown) * SAMPLES // MOST_AT_ONCE):
            drawn = simulated_restarts(batch.hits[:, some], batch.spent[:, some], SAMPLES, scored.seed)
            for t, runtimes in zip(some.tolist(), drawn, strict=True):
                each[t] = ecdf(runtimes, at[t])
        total = np.where(given[:, :, None], each[batch.column], 0.0).sum(axis=1)
        np.add.at(out, cell, total / given.sum(axis=1)[:, None] / weight[cell][:, None])
    if sampled:
        scored.notes.append(
            f"{sampled} restart distributions have too many jumps to be exact: {SAMPLES} seeded draws each"
        )
    return out


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
    with_restarts, without = _restarts(scored, x), _no_restarts(scored, x)
    members = _members(scored)
    effort = scored.spent / scored.runs.per_dimension
    ends = [np.median(effort[np.concatenate([scored.of_cell[c] for c in mine])]) for mine in members.values()]
    table = _blocks(members, ("optimizer", "group", "dimension"), x).with_columns(
        fraction=np.concatenate([with_restarts[mine].mean(axis=0) for mine in members.values()]),
        fraction_no_restarts=np.concatenate([without[mine].mean(axis=0) for mine in members.values()]),
        budget=np.repeat(ends, len(x)),
    )
    return table, _differences(scored, x, with_restarts)


def _members(scored: Scored) -> dict[tuple[str, str, int | None], list[int]]:
    """By optimizer, group and dimension: the cells that are pooled."""
    cells = scored.runs.cells
    several = cells["suite"].n_unique() > 1
    out: dict[tuple[str, str, int | None], list[int]] = {}
    for c, row in enumerate(cells.iter_rows(named=True)):
        groups = groups_of(row["suite"], row["function"], several=several)
        for group, dimension in _pools(groups, row["dimension"], bool(scored.alike[c])):
            out.setdefault((row["optimizer"], group, dimension), []).append(c)
    return out


def steps(scored: Scored, table: pl.DataFrame, reference: pl.DataFrame, name: str, points: int) -> pl.DataFrame:
    """Curves of the table `ecdf` with every jump, up to where the first restart may begin; from there on as they were.

    Before that the distribution with restarts is the plain one, whose jumps are the runtimes. `reference`: the fraction
    of targets whose ERT by a reference is within the effort, with its jumps; name: its column in the table `reference`.
    points: of a curve, at most, evenly along its length. See docs/scores.md 2.6.
    """
    behind = _background(scored, reference, name)
    members, unit = _members(scored), scored.runs.per_dimension
    keys = ("optimizer", "group", "dimension")
    out = []
    for key, part in table.group_by(keys, maintain_order=True):
        mine = members[key[0], key[1], key[2]]
        hits, weights, limit = [], [], np.inf
        for c in mine:
            runs = scored.of_cell[c]
            times = scored.hits[runs][:, scored.given[c]]
            failed = ~np.isfinite(times).all(axis=1)
            limit = min(limit, float((scored.spent[runs] / unit[runs])[failed].min(initial=np.inf)))
            reached = np.isfinite(times)
            hits.append((times / unit[runs][:, None])[reached])
            weights.append(np.full(int(reached.sum()), 1.0 / (times.size * len(mine))))
        at, weight = np.concatenate(hits), np.concatenate(weights)
        early = at < limit
        x, place = np.unique(at[early], return_inverse=True)
        y: Floats = np.cumsum(np.bincount(place, weights=weight[early], minlength=len(x))).astype(float)
        effort, fraction = part["effort"].to_numpy(), part["fraction"].to_numpy()
        later = effort >= limit
        first = effort[:1][effort[:1] < x.min(initial=np.inf)]  # the axis begins where it did
        x = np.concatenate((first, x, effort[later]))
        y = np.concatenate((np.zeros(len(first)), np.minimum(y, 1.0), fraction[later]))
        jumps, levels = behind.get((key[1], key[2]), (np.zeros(0), np.zeros(1)))
        both = np.union1d(x, jumps[jumps <= x[-1]])
        both = both[both >= x[0]]
        y = y[np.searchsorted(x, both, side="right") - 1]
        kept = _even(both, y, points)
        reference = levels[np.searchsorted(jumps, both[kept], side="right")]
        rows = part.select(*keys, *(name for name in part.columns if name not in (*keys, "effort", "fraction")))
        out.append(
            rows[[0] * len(kept)].with_columns(
                effort=pl.Series(both[kept]),
                fraction=pl.Series(y[kept]),
                reference=pl.Series(reference) if len(jumps) else pl.lit(None, dtype=pl.Float64),
            )
        )
    return pl.concat(out) if out else table


def _background(
    scored: Scored, reference: pl.DataFrame, name: str
) -> dict[tuple[str, int | None], tuple[Floats, Floats]]:
    """By group and dimension: the ERTs of a reference per dimension, ascending, and the fraction that is within each.

    The first fraction, 0, is that before any. Only where the reference is known for all of them.
    """
    several = scored.runs.cells["suite"].n_unique() > 1
    keys = ["suite", "function", "dimension"]
    alike = {key: bool(scored.alike[c]) for c, key in enumerate(scored.runs.cells.select(keys).iter_rows())}
    found: dict[tuple[str, int | None], list[Floats]] = {}
    for *key, erts in reference.group_by(keys, maintain_order=True).agg(pl.col(name)).iter_rows():
        suite, function, dimension = key
        unit = max(dimension or 1, 1) if scored.runs.axis == "evaluations" else 1
        values = np.array(erts, dtype=float) / unit  # null is NaN
        for pool in _pools(groups_of(suite, function, several=several), dimension, alike[suite, function, dimension]):
            found.setdefault(pool, []).append(values)
    out = {}
    for pool, parts in found.items():
        every = np.concatenate(parts)
        if not np.isnan(every).any():
            weight = np.concatenate([np.full(len(part), 1.0 / (len(part) * len(parts))) for part in parts])
            x, place = np.unique(every, return_inverse=True)
            y = np.cumsum(np.bincount(place, weights=weight))
            some = np.isfinite(x)
            out[pool] = x[some], np.concatenate(([0.0], np.minimum(y[some], 1.0)))
    return out


def _even(x: Floats, y: Floats, points: int) -> Ints:
    """So many of the points of a curve, evenly along its length on a logarithmic axis; its ends are among them."""
    if len(x) <= points:
        return np.arange(len(x))
    log = np.log10(np.maximum(x, 1e-300))
    length = np.cumsum(np.abs(np.diff(log, prepend=log[0])) / max(log[-1] - log[0], 1e-9) + np.diff(y, prepend=y[0]))
    return np.unique(np.searchsorted(length, np.linspace(0.0, length[-1] * (1 - 1e-12), points)))


def _pools(groups: list[str], dimension: int | None, alike: bool) -> list[tuple[str, int | None]]:
    """The groups and dimensions (None: all) that a function in a dimension is pooled in; alone it is always shown."""
    if not alike:
        return [(groups[0], dimension)]
    return [(group, wide) for group in groups for wide in dict.fromkeys((dimension, None))]


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
        """(problems, resamples): how often each of n problems is drawn; the same for all pairs."""
        rng = np.random.default_rng(scored.seed)
        drawn: Floats = rng.multinomial(n, np.full(n, 1 / n), size=max(scored.bootstrap, 1000)).T.astype(float)
        return drawn

    for a, b, both in scored.runs.opponents():
        gap = fractions[both["cell"].to_numpy()] - fractions[both["cell_right"].to_numpy()]
        n = len(gap)
        lower = upper = np.full(len(x), np.nan)
        if scored.bootstrap and n > 1:
            lower, upper = np.quantile(product(gap.T, weights(n)) / n, [0.025, 0.975], axis=1)
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
    x, names = grid(scored), ("best_of_store", "best_2009")
    several = scored.runs.cells["suite"].n_unique() > 1
    keys = ["suite", "function", "dimension"]
    problems = reference.group_by(keys, maintain_order=True).agg(pl.col(names))
    unit = problems["dimension"].fill_null(1).clip(1).to_numpy() if scored.runs.axis == "evaluations" else 1
    reached = np.full((len(names), problems.height, len(x)), np.nan)
    lengths = problems[names[0]].list.len().to_numpy()
    for i, name in enumerate(names):
        for length in np.unique(lengths).tolist():
            rows = np.flatnonzero(lengths == length)
            erts = np.array(problems[name][rows].to_list(), dtype=float)  # null is NaN
            erts /= np.broadcast_to(unit, problems.height)[rows, None]
            reached[i, rows] = np.where(np.isnan(erts).any(axis=1)[:, None], np.nan, ecdfs(erts, x * (1 + 1e-9)))
    within: dict[tuple[str, int | None], list[int]] = {}
    alike = {key: bool(scored.alike[c]) for c, key in enumerate(scored.runs.cells.select(keys).iter_rows())}
    for p, key in enumerate(problems.select(keys).iter_rows()):
        for pool in _pools(groups_of(*key[:2], several=several), key[2], alike[key]):
            within.setdefault(pool, []).append(p)
    mean = _blocks(within, ("group", "dimension"), x).with_columns(
        pl.Series(name, np.concatenate([each[some].mean(axis=0) for some in within.values()])).fill_nan(None)
        for name, each in zip(names, reached, strict=True)
    )
    on = ["group", "dimension", "effort"]
    return table.join(mean, on=on, how="left", nulls_equal=True, maintain_order="left")


def cuts(scored: Scored) -> tuple[str, pl.DataFrame, pl.DataFrame]:
    """The two ways to measure, on the runs of the first function in its first dimension: its name, runs, and cuts.

    Runs: `optimizer`, `run`, `effort`, `precision`, every improvement and the end. A cut at half of the longest effort
    (on a logarithmic axis) gives a precision for every run: fixed cost. One at the median of these gives a runtime for
    those that reach it: fixed target. Cuts: `optimizer`, `kind`, `effort`, `precision`. See docs/scores.md 2.7.
    """
    runs = scored.runs
    problem = scored.problem == scored.problem[0]
    mine = np.flatnonzero(problem[runs.cell])
    row = runs.cells.row(int(runs.cell[mine[0]]), named=True)
    name = "/".join(str(part) for part in (row["suite"], row["function"]) if part)
    name += f" in dimension {row['dimension']}" if row["dimension"] else ""
    unit = runs.per_dimension[mine]
    budget = float(np.sqrt(np.max(scored.spent[mine] / unit, initial=1.0)))
    at = np.maximum(runs.best_at(mine, budget * unit), LEAST)
    target = float(np.median(at[np.isfinite(at)])) if np.isfinite(at).any() else 1.0
    curves, points = [], []
    for i, run in enumerate(mine.tolist()):
        part = slice(int(runs.offsets[run]), int(runs.offsets[run + 1]))
        effort, value = runs.effort[part] / unit[i], np.maximum(runs.precision[part], LEAST)
        whose = runs.table["optimizer"][run]
        if len(effort):
            end = float(scored.spent[run] / unit[i])
            xs, ys = [*effort.tolist(), end], [*value.tolist(), float(value[-1])]
            curves += [(whose, run, x, y) for x, y in zip(xs, ys, strict=True)]
        if np.isfinite(at[i]):
            points.append((whose, "fixed cost", budget, float(at[i])))
        hit = np.flatnonzero(value <= target * (1 + TOLERANCE))
        if len(hit):
            points.append((whose, "fixed target", float(effort[hit[0]]), target))
    columns = {"optimizer": pl.String, "run": pl.Int64, "effort": pl.Float64, "precision": pl.Float64}
    kinds = {"optimizer": pl.String, "kind": pl.String, "effort": pl.Float64, "precision": pl.Float64}
    return name, pl.DataFrame(curves, columns, orient="row"), pl.DataFrame(points, kinds, orient="row")


def transition(scored: Scored) -> tuple[pl.DataFrame, pl.DataFrame]:
    """For the targets 10^k: the fraction of runs that reach it by an effort; and, of how far the others are from it.

    The first ends at the success probability, where the second, of df/10^k from 1 on, begins: it continues the first.
    Every jump is a row: `optimizer`, `target`, `x`, `fraction`. Of the functions in dimensions that all optimizers ran.
    See docs/scores.md 2.7.
    """
    runs = scored.runs
    hits = first_hits(runs.precision, runs.effort, runs.offsets, ENDS) / runs.per_dimension[:, None]
    last = runs.final
    alike = scored.alike[runs.cell]
    optimizer = runs.table["optimizer"]
    left: list[tuple[str, float, Floats, Floats]] = []
    right: list[tuple[str, float, Floats, Floats]] = []
    begin, end = 1.0, float(np.max(scored.spent / runs.per_dimension, initial=1.0))
    begin = min(begin, float(hits.min(initial=begin)))
    for name in dict.fromkeys(optimizer.filter(alike)):
        mine = (optimizer == name).to_numpy() & alike
        for i, target in enumerate(ENDS):
            times, ratios = hits[mine, i], last[mine] / target
            reached = np.isfinite(times)
            ratios = np.where(reached, 1.0, np.maximum(ratios, 1.0))
            for out, values, first, final in ((left, times, begin, end), (right, ratios, 1.0, FURTHEST)):
                inside = values[np.isfinite(values) & (values <= final)]
                x = np.unique(np.concatenate(([first], inside, [final])))
                out.append((name, target, x, ecdf(values, x)))
    return _jumps(left), _jumps(right)


def _jumps(curves: list[tuple[str, float, Floats, Floats]]) -> pl.DataFrame:
    count = np.repeat(np.arange(len(curves)), [len(x) for _, _, x, _ in curves])
    return pl.DataFrame(
        {
            "optimizer": pl.Series([curve[0] for curve in curves], dtype=pl.String).gather(count),
            "target": np.array([curve[1] for curve in curves])[count] if curves else np.zeros(0),
            "x": np.concatenate([curve[2] for curve in curves] or [np.zeros(0)]),
            "fraction": np.concatenate([curve[3] for curve in curves] or [np.zeros(0)]),
        }
    )


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
                        "fraction": ecdf(values[mine] / scale, RATIOS * (1 + 1e-9)),
                    }
                )
            )
    return pl.concat(out)
