"""Distributions as they are drawn: with every jump, with a background, with bands (docs/scores.md 2.6, 2.7)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from optarena.stats._result import LEVEL, percentile_ends
from optarena.stats.bootstrap import draws
from optarena.traces import Floats, Ints, product
from optarena.views.fixed_target.distributions import (
    ENDS,
    LEAST,
    PROBLEM,
    Curve,
    Pool,
    filled,
    grid,
    members_of,
    problems_of_pools,
    with_restarts,
)
from optarena.views.fixed_target.reference import reference_ert
from optarena.views.fixed_target.runtimes import ecdf, ert, first_hits, reachable, weighted_ecdf
from optarena.views.fixed_target.scored import MOST_AT_ONCE, Scored
from optarena.views.fixed_target.virtual_best import least_ert

FURTHEST = 1e10
"""From a target, as a multiple of it: what is further is not drawn."""
BEST_2009, BEST_OF_STORE, NOTHING = BACKGROUNDS = ("best-2009", "best-of-store", "none")
"""Names of backgrounds, also where an optimizer is called so."""
RESAMPLES = 1000


@dataclass(frozen=True)
class Part:
    """Some targets of a cell, whose runtimes are pooled; `share`: of the curve, that of each target."""

    cell: int
    targets: Ints
    share: float


def steps(scored: Scored, table: pl.DataFrame, behind: dict[Pool, Curve], points: int) -> pl.DataFrame:
    """Curves of the table `ecdf` with every jump, up to the first success that may follow a restart; then as they were.

    Before that the distribution with restarts is the plain one, whose jumps are the runtimes. `reference`: what is
    drawn behind. points: of a curve, at most, evenly along its length and that of what is behind; the end of the
    budget is always one more. See docs/scores.md 2.6.
    """
    members = members_of(scored)
    keys = ("optimizer", "group", "dimension")
    out = []
    for key, part in table.group_by(keys, maintain_order=True):
        mine = members[key[0], key[1], key[2]]
        effort, fraction = part["effort"].to_numpy(), part["fraction"].to_numpy()
        x, y = _exact(scored, [_whole(scored, c, len(mine)) for c in mine], effort, fraction)
        jumps, levels = behind.get((key[1], key[2]), (np.zeros(0), np.zeros(0)))
        # the axis begins and ends where it did, also where every run succeeds
        both = np.unique(np.concatenate((x, effort[[0, -1]], jumps)))
        both = both[(both >= min(effort[0], x.min(initial=np.inf))) & (both <= effort[-1])]
        end = np.clip(part["budget"][0], both[0], both[-1])
        both = np.unique(np.append(both, end))
        y, levels = (np.concatenate(([0.0], part)) for part in (y, levels))
        y = y[np.searchsorted(x, both, side="right")]
        back = levels[np.searchsorted(jumps, both, side="right")]
        kept = np.union1d(_even(both, y + back, points), np.searchsorted(both, end))
        rows = part.select(*keys, *(name for name in part.columns if name not in (*keys, "effort", "fraction")))
        out.append(
            rows[[0] * len(kept)].with_columns(
                effort=pl.Series(both[kept]),
                fraction=pl.Series(y[kept]),
                reference=pl.Series(back[kept]) if len(jumps) else pl.lit(None, dtype=pl.Float64),
            )
        )
    return pl.concat(out) if out else table.with_columns(reference=pl.lit(None, dtype=pl.Float64))


def _whole(scored: Scored, cell: int, cells: int) -> Part:
    """All targets of a cell, one of so many that are pooled."""
    targets = np.flatnonzero(scored.given[cell])
    return Part(cell, targets, 1.0 / (len(targets) * cells))


def _exact(scored: Scored, parts: Iterable[Part], effort: Floats, fraction: Floats) -> Curve:
    """The jumps before the first success that follows a restart, then the curve that is given on a grid."""
    unit = scored.runs.per_dimension
    hits, weights, limit = [np.zeros(0)], [np.zeros(0)], np.inf
    for part in parts:
        runs = scored.of_cell[part.cell]
        times = scored.hits[runs][:, part.targets]
        reached = np.isfinite(times)
        failed = ~reached.all(axis=1)
        # a run that follows a failed one takes as long as the fastest, or longer
        again = times.min(axis=None, initial=np.inf) / unit[runs[0]]
        limit = min(limit, float((scored.spent[runs] / unit[runs])[failed].min(initial=np.inf)) + again)
        hits.append((times / unit[runs][:, None])[reached])
        weights.append(np.full(int(reached.sum()), part.share / len(runs)))
    at, weight = np.concatenate(hits), np.concatenate(weights)
    early = at < limit
    x, y = weighted_ecdf(at[early], weight[early])
    later = effort >= limit
    return np.concatenate((x, effort[later])), np.concatenate((y, fraction[later]))


def _even(x: Floats, y: Floats, points: int) -> Ints:
    """So many of the points of a curve, evenly along its length on a logarithmic axis; its ends are among them."""
    if len(x) <= points:
        return np.arange(len(x))
    log = np.log10(np.maximum(x, 1e-300))
    length = np.cumsum(np.abs(np.diff(log, prepend=log[0])) / max(log[-1] - log[0], 1e-9) + np.diff(y, prepend=y[0]))
    return np.unique(np.searchsorted(length, np.linspace(0.0, length[-1] * (1 - 1e-12), points)))


# ---- what is drawn behind --------------------------------------------------------------------------------------------


def runtimes_of(scored: Scored, choice: Ints) -> dict[Pool, Curve]:
    """By group and dimension: the ECDF of the runtimes, with restarts, of a cell for each problem and target.

    choice: (problems, targets), as `least_ert` gives it; a problem with -1 has none, and its pools neither.
    """
    x, cells = grid(scored), scored.runs.cells
    on_grid = _of_pairs(scored, choice, x)
    number = dict(zip(cells.select(PROBLEM).iter_rows(), scored.problem.tolist(), strict=True))
    out = {}
    for pool, problems in problems_of_pools(scored).items():
        mine = [number[key] for key in problems]
        if any(choice[p, 0] < 0 for p in mine):
            continue
        parts = [part for p in mine for part in _chosen_parts(choice[p], len(mine))]
        out[pool] = _exact(scored, parts, x, on_grid[mine].mean(axis=0))
    return out


def _chosen_parts(row: Ints, problems: int) -> Iterator[Part]:
    given = np.flatnonzero(row >= 0)
    for cell in np.unique(row[given]).tolist():
        yield Part(cell, np.flatnonzero(row == cell), 1.0 / (len(given) * problems))


def _of_pairs(scored: Scored, choice: Ints, x: Floats) -> Floats:
    """(problems, x): the mean over targets of the distribution with restarts of each chosen cell."""
    out = np.zeros((len(choice), len(x)))
    count = np.maximum((choice >= 0).sum(axis=1), 1)
    problem, target = np.nonzero(choice >= 0)
    cell = choice[problem, target]
    sizes = np.array([len(part) for part in scored.of_cell])[cell]
    for size in np.unique(sizes).tolist():
        members = np.flatnonzero(sizes == size)
        for some in np.array_split(members, 1 + len(members) * max(size, len(x)) // MOST_AT_ONCE):
            runs = np.array([scored.of_cell[c] for c in cell[some].tolist()]).T
            at = x * scored.runs.per_dimension[runs[0]][:, None]
            each, _ = filled(scored, scored.hits[runs, target[some]], scored.spent[runs], at)
            np.add.at(out, problem[some], each / count[problem[some]][:, None])
    return out


# ---- how sure --------------------------------------------------------------------------------------------------------


def bands(scored: Scored) -> pl.DataFrame:
    """For each curve of the table `ecdf` its 95 % band: percentiles over resamples of the functions.

    `optimizer`, `group`, `dimension`, `effort`, `lower`, `upper`; none for a curve of one function. docs/scores.md 2.6
    """
    x, fractions = grid(scored), with_restarts(scored)
    rng = np.random.default_rng(scored.seed)
    drawn: dict[int, Floats] = {}
    out = []
    for (optimizer, group, dimension), mine in members_of(scored).items():
        n = len(mine)
        if n < 2:
            continue
        if n not in drawn:
            drawn[n] = draws(n, RESAMPLES, rng) / n
        lower, upper = percentile_ends(product(drawn[n], fractions[mine]), LEVEL)
        out.append(
            pl.DataFrame({"effort": x, "lower": lower, "upper": upper}).with_columns(
                optimizer=pl.lit(optimizer), group=pl.lit(group), dimension=pl.lit(dimension, dtype=pl.Int64)
            )
        )
    empty = dict.fromkeys(("effort", "lower", "upper"), pl.Float64)
    return (
        pl.concat(out)
        if out
        else pl.DataFrame(schema={**empty, "optimizer": pl.String, "group": pl.String, "dimension": pl.Int64})
    )


# ---- runs one by one -------------------------------------------------------------------------------------------------


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
    hits = first_hits(runs.precision, runs.effort, runs.offsets, [target])[mine, 0] / unit
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
        if np.isfinite(hits[i]):
            points.append((whose, "fixed target", float(hits[i]), target))
    columns = {"optimizer": pl.String, "run": pl.Int64, "effort": pl.Float64, "precision": pl.Float64}
    kinds = {"optimizer": pl.String, "kind": pl.String, "effort": pl.Float64, "precision": pl.Float64}
    return name, pl.DataFrame(curves, columns, orient="row"), pl.DataFrame(points, kinds, orient="row")


def transition(scored: Scored, background: str | None = None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """For the targets 10^k: the fraction of runs that reach it by an effort; and, of how far the others are from it.

    The first ends at the success probability, where the second, of df/10^k from 1 on, begins: it continues the first.
    Every jump is a row: `optimizer`, `dimension`, `target`, `x`, `fraction`. Of the functions in dimensions that all
    optimizers ran. background: an optimizer, `best-of-store` (on each function the runs of the one with the least ERT)
    or `best-2009` (its ERTs, one for each function), whose rows have no optimizer. See docs/scores.md 2.7.
    """
    runs = scored.runs
    hits = first_hits(runs.precision, runs.effort, runs.offsets, ENDS) / runs.per_dimension[:, None]
    last, left, right = runs.final, [], []
    end = float(np.max(scored.spent / runs.per_dimension, initial=1.0))
    begin = min(1.0, float(hits.min(initial=1.0)))
    front = ((name, dimension, mine, range(len(ENDS))) for name, dimension, mine in _repeated(scored))
    for name, dimension, mine, targets in itertools.chain(front, _runs_behind(scored, background, hits)):
        for i in targets:
            times, ratios = hits[mine, i], last[mine] / ENDS[i]
            ratios = np.where(np.isfinite(times), 1.0, np.maximum(ratios, 1.0))
            left.append(Jumps(name, dimension, ENDS[i], *_between(times, begin, end)))
            right.append(Jumps(name, dimension, ENDS[i], *_between(ratios, 1.0, FURTHEST)))
    if background == BEST_2009:
        left += [Jumps(None, *key, *_between(erts, begin, end)) for key, erts in _erts_2009(scored)]
    return _rows(left, "target", "x"), _rows(right, "target", "x")


def _runs_behind(
    scored: Scored, background: str | None, hits: Floats
) -> Iterator[tuple[None, int | None, Ints, Sequence[int]]]:
    """The runs that are drawn behind, by dimension and target."""
    if background == BEST_OF_STORE:
        spent = scored.spent / scored.runs.per_dimension
        erts = np.array([ert(hits[part], spent[part][:, None] * np.ones(len(ENDS))) for part in scored.of_cell])
        best = least_ert(erts, scored.problem)[1]
        problems: dict[int | None, dict[int, None]] = {}  # each once, in order
        for c in np.flatnonzero(scored.alike).tolist():
            problems.setdefault(scored.runs.cells["dimension"][c], {})[int(scored.problem[c])] = None
        for dimension, some in problems.items():
            for i in range(len(ENDS)):
                yield None, dimension, np.concatenate([scored.of_cell[c] for c in best[list(some), i].tolist()]), [i]
    elif background not in BACKGROUNDS:
        for name, dimension, mine in _repeated(scored):
            if name == background:
                yield None, dimension, mine, range(len(ENDS))


def _erts_2009(scored: Scored) -> Iterator[tuple[tuple[int | None, float], Floats]]:
    """By dimension and target: the ERTs per dimension of best 2009, one for each function."""
    keys = scored.runs.cells.filter(scored.alike).select(PROBLEM).unique(maintain_order=True)
    for (dimension,), part in keys.group_by(["dimension"], maintain_order=True):
        erts = [
            reference_ert(suite, function, dimension or 0, np.array(ENDS)) / max(dimension or 1, 1)
            for suite, function in part.select("suite", "function").iter_rows()
        ]
        for i, target in enumerate(ENDS):
            yield (dimension, target), np.array([one[i] for one in erts])


def precision(scored: Scored, lowest: float, highest: float) -> pl.DataFrame:
    """The fraction of runs that are as precise: at their end, and after D, 10 D, 100 D, … while most of them run.

    Every jump is a row: `optimizer`, `dimension`, `budget` (inf: the end), `precision`, `fraction`. docs/scores.md 2.7
    """
    runs, unit = scored.runs, scored.runs.per_dimension
    effort = scored.spent / unit
    out: list[Jumps] = []
    for name, dimension, mine in _repeated(scored):
        counts = range(int(np.ceil(np.log10(max(np.median(effort[mine]), 1.0)))))
        for budget in (*(10.0**k for k in counts), np.inf):
            values = runs.best_at(mine, np.minimum(budget * unit[mine], scored.spent[mine]))
            out.append(Jumps(name, dimension, budget, *_between(values, lowest, highest)))
    return _rows(out, "budget", "precision")


def _repeated(scored: Scored) -> Iterator[tuple[str, int | None, Ints]]:
    """Each optimizer in each dimension: its runs on functions that all optimizers ran there."""
    runs = scored.runs
    where = runs.table.select("optimizer", "dimension").with_row_index("run").filter(scored.alike[runs.cell])
    for (name, dimension), part in where.sort("dimension", maintain_order=True).group_by(
        "optimizer", "dimension", maintain_order=True
    ):
        yield name, dimension, part["run"].to_numpy().astype(np.int64)


@dataclass(frozen=True)
class Jumps:
    """A distribution over runs; `of`: the target or budget that it is about."""

    optimizer: str | None
    dimension: int | None
    of: float
    x: Floats
    fraction: Floats


def _between(values: Floats, first: float, last: float) -> Curve:
    """Where the distribution of values jumps from one end of an axis to the other, and its values there."""
    inside = values[(values > first) & (values < last)]
    x = np.unique(np.concatenate(([first], inside, [last])))
    return x, ecdf(values, reachable(x))


def _rows(curves: list[Jumps], of: str, x: str) -> pl.DataFrame:
    count = np.repeat(np.arange(len(curves)), [len(one.x) for one in curves])
    return pl.DataFrame(
        {
            "optimizer": pl.Series([one.optimizer for one in curves], dtype=pl.String).gather(count),
            "dimension": pl.Series([one.dimension for one in curves], dtype=pl.Int64).gather(count),
            of: np.array([one.of for one in curves])[count] if curves else np.zeros(0),
            x: np.concatenate([one.x for one in curves] or [np.zeros(0)]),
            "fraction": np.concatenate([one.fraction for one in curves] or [np.zeros(0)]),
        }
    )
