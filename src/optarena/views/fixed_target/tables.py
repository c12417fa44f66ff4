"""The tables of the fixed-target view, each made of the scored runs."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from optarena.traces import Floats, Ints
from optarena.views.fixed_target.profiles import area_over_convergence_curve, data_profile, performance_profile
from optarena.views.fixed_target.ranksum import common_end, rank_sum_test
from optarena.views.fixed_target.reference import BEST_2009, reference_ert
from optarena.views.fixed_target.runtimes import ecdf, restart_ecdf_or_none, simulated_restarts

if TYPE_CHECKING:
    from optarena.views.fixed_target.view import Scored

PER_DECADE = 10
SAMPLES = 1000
ENDS = (1e1, 1e-1, 1e-4, 1e-8)
RATIOS = 10.0 ** (np.arange(0, 51) / 5)
TAUS = 10.0 ** (np.arange(0, 61) / 20)
TOLERANCES = (1e-1, 1e-3, 1e-5)
GROUPS = {
    "bbob": (
        ("separable", 1, 5),
        ("moderate", 6, 9),
        ("ill-conditioned", 10, 14),
        ("multi-modal", 15, 19),
        ("weakly structured", 20, 24),
    ),
    "bbob-noisy": (
        ("moderate noise", 101, 106),
        ("severe noise", 107, 121),
        ("severe noise, multi-modal", 122, 130),
    ),
}


def make(scored: Scored) -> dict[str, pl.DataFrame]:
    """All of them."""
    erts, ert_table = _ert(scored)
    reference = _reference(scored, erts)
    ecdf_table, differences = _ecdf(scored)
    return {
        "ert": _with_loss(ert_table, reference),
        "ecdf": _with_reference(ecdf_table, reference, grid(scored), scored.runs.axis == "evaluations"),
        "precision": _precision(scored),
        "profiles": _profiles(scored, erts),
        "aocc": _aocc(scored),
        "reference": reference,
        "differences": differences,
        **({"ranksum": _ranksum(scored)} if scored.mode == "coco" else {}),
    }


# ---- expected running times ------------------------------------------------------------------------------------------


def _ert(scored: Scored) -> tuple[Floats, pl.DataFrame]:
    """(cells, targets), and the table."""
    cells, width = scored.targets.shape
    figures = {name: np.full((cells, width), np.nan) for name in ("ert", "ert_lb", "ert_ub", "rt_s", "rt_f", "median")}
    counts, wins = np.zeros((cells, width), dtype=np.int64), np.zeros((cells, width), dtype=np.int64)
    by_size: dict[int, list[int]] = {}
    for cell, part in enumerate(scored.of_cell):
        by_size.setdefault(len(part), []).append(cell)
    for size, members in by_size.items():  # cells with as many runs make one array
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
        if scored.bootstrap:
            lower, upper = _ert_interval(cost, hit, scored.bootstrap, scored.seed)
            figures["ert_lb"][members], figures["ert_ub"][members] = lower, upper
    of = np.repeat(np.arange(cells), width)
    table = scored.runs.cells[of].with_columns(
        target=pl.Series(scored.targets.ravel()),
        n_runs=pl.Series(counts.ravel()),
        n_success=pl.Series(wins.ravel()),
        success_rate=pl.Series((wins / counts).ravel()),
        ert=pl.Series(figures["ert"].ravel()),
        ert_lb=pl.Series(figures["ert_lb"].ravel()).fill_nan(None),
        ert_ub=pl.Series(figures["ert_ub"].ravel()).fill_nan(None),
        rt_success=pl.Series(figures["rt_s"].ravel()).fill_nan(None),
        rt_failure=pl.Series(figures["rt_f"].ravel()).fill_nan(None),
        median=pl.Series(figures["median"].ravel()),
    )
    return figures["ert"], table


def _ert_interval(cost: Floats, hit: Any, times: int, seed: int) -> tuple[Floats, Floats]:
    """Percentiles of the ERT over resamplings of the runs; inf where a resampling has no success."""
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
    """The best ERT of the store for each problem and target, and best 2009 where it is known."""
    cells = scored.runs.cells
    keys = cells.select("suite", "function", "dimension")
    problem = keys.select(pl.struct(pl.all()).rank("dense") - 1).to_series().to_numpy().astype(np.int64)
    rows = []
    for p in range(int(problem.max()) + 1):
        mine = np.flatnonzero(problem == p)
        suite, function, dimension = keys.row(int(mine[0]))
        targets = scored.targets[mine[0]]
        known = reference_ert(suite, function, dimension or 0, targets)
        rows.append(
            pl.DataFrame(
                {
                    "suite": [suite] * len(targets),
                    "function": [function] * len(targets),
                    "dimension": [dimension] * len(targets),
                    "target": targets,
                    "best_of_store": erts[mine].min(axis=0),
                    "best_2009": pl.Series(known).fill_nan(None),
                },
                schema_overrides={"suite": pl.String, "function": pl.String, "dimension": pl.Int64},
            )
        )
    return pl.concat(rows)


def _with_loss(table: pl.DataFrame, reference: pl.DataFrame) -> pl.DataFrame:
    """How many times the ERT of the reference, best 2009 where it is known, else the best of the store."""
    joined = table.join(
        reference, on=["suite", "function", "dimension", "target"], how="left", nulls_equal=True, maintain_order="left"
    )
    best = pl.coalesce("best_2009", "best_of_store")
    return joined.with_columns(
        loss=pl.when(best.is_finite()).then(pl.col("ert") / best),
        reference=pl.when(pl.col("best_2009").is_not_null()).then(pl.lit(BEST_2009)).otherwise(pl.lit("best of store")),
    ).drop("best_2009", "best_of_store")


# ---- distributions ---------------------------------------------------------------------------------------------------


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
    return np.unique(np.round(np.concatenate((steps, nice)), 9))


def groups_of(suite: str | None, function: str) -> list[str]:
    """The groups that a function is counted in: itself, its group in the suite, all."""
    number = function[1:] if function[:1] == "f" and function[1:].isdigit() else ""
    named = [name for name, low, high in GROUPS.get(suite or "", ()) if number and low <= int(number) <= high]
    return [function, *named, "all"]


def _ecdf(scored: Scored) -> tuple[pl.DataFrame, pl.DataFrame]:
    x = grid(scored)
    cells = scored.runs.cells
    unit = scored.runs.per_dimension
    with_restarts, without = np.zeros((cells.height, len(x))), np.zeros((cells.height, len(x)))
    sampled = 0
    for c, part in enumerate(scored.of_cell):
        at = x * unit[part[0]]
        hits, spent = scored.hits[part], scored.spent[part]
        without[c] = ecdf(hits, at)
        # targets with the same runtimes have the same distribution
        columns, counts = np.unique(hits, axis=1, return_counts=True)
        for column, count in zip(columns.T, counts.tolist(), strict=True):
            one = restart_ecdf_or_none(column, spent, at)
            if one is None:
                sampled += count
                one = ecdf(simulated_restarts(column, spent, SAMPLES, scored.seed), at)
            with_restarts[c] += count * one / hits.shape[1]
    if sampled:
        scored.notes.append(
            f"{sampled} restart distributions have too many jumps to be exact: {SAMPLES} seeded draws each"
        )
    rows = [
        {"optimizer": row["optimizer"], "group": group, "dimension": dimension, "cell": c}
        for c, row in enumerate(cells.to_dicts())
        for group in groups_of(row["suite"], row["function"])
        for dimension in (row["dimension"], None)
    ]
    member = pl.DataFrame(rows, schema_overrides={"dimension": pl.Int64}).unique(maintain_order=True)
    keys = ["optimizer", "group", "dimension"]
    out = []
    for (optimizer, group, dimension), members in member.group_by(keys, maintain_order=True):
        mine = members["cell"].to_numpy()
        end = np.concatenate([scored.of_cell[c] for c in mine.tolist()])
        out.append(
            pl.DataFrame(
                {
                    "optimizer": [optimizer] * len(x),
                    "group": [group] * len(x),
                    "dimension": [dimension] * len(x),
                    "effort": x,
                    "fraction": with_restarts[mine].mean(axis=0),
                    "fraction_no_restarts": without[mine].mean(axis=0),
                    "budget": np.full(len(x), float(np.median(scored.spent[end] / unit[end]))),
                },
                schema_overrides={"dimension": pl.Int64},
            )
        )
    return pl.concat(out), _differences(scored, x, with_restarts)


def _differences(scored: Scored, x: Floats, fractions: Floats) -> pl.DataFrame:
    """For each pair of optimizers the difference of their ECDFs over the problems that both have, with its interval.

    Problems are resampled, each whole: they are the unit of replication (SCORES 5).
    """
    cells = scored.runs.cells.with_row_index("cell")
    optimizers = list(dict.fromkeys(cells["optimizer"]))
    keys = ["suite", "function", "dimension"]
    out = []
    for a, b in itertools.combinations(optimizers, 2):
        both = cells.filter(pl.col("optimizer") == a).join(
            cells.filter(pl.col("optimizer") == b), on=keys, nulls_equal=True, maintain_order="left"
        )
        if not both.height:
            continue
        gap = fractions[both["cell"].to_numpy()] - fractions[both["cell_right"].to_numpy()]
        n = len(gap)
        lower = upper = np.full(len(x), np.nan)
        if scored.bootstrap and n > 1:
            drawn = np.random.default_rng(scored.seed).multinomial(
                n, np.full(n, 1 / n), size=max(scored.bootstrap, 1000)
            )
            lower, upper = np.quantile(drawn @ gap / n, [0.025, 0.975], axis=0)
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


def _with_reference(table: pl.DataFrame, reference: pl.DataFrame, x: Floats, per_dimension: bool) -> pl.DataFrame:
    """The background of an ECDF: for what fraction of its (problem, target) pairs the ERT of a reference is within x.

    Null where the reference is not known for all of them: a fraction of some would be of other targets.
    """
    keys = ["suite", "function", "dimension"]
    each = []
    for (suite, function, dimension), part in reference.group_by(keys, maintain_order=True):
        unit = max(int(dimension or 1), 1) if per_dimension else 1
        row = {}
        for name in ("best_of_store", "best_2009"):
            erts = part[name].to_numpy()
            within = (erts[:, None] / unit <= x * (1 + 1e-9)).mean(axis=0)
            row[name] = np.full(len(x), np.nan) if np.isnan(erts).any() else within
        each += [
            pl.DataFrame(
                {"group": [group] * len(x), "dimension": [wide] * len(x), "effort": x, **row},
                schema_overrides={"dimension": pl.Int64},
            )
            for group in groups_of(suite, str(function))
            for wide in dict.fromkeys((dimension, None))
        ]
    on = ["group", "dimension", "effort"]
    mean = pl.concat(each).group_by(on).agg(pl.col("best_of_store", "best_2009").mean().fill_nan(None))
    return table.join(mean, on=on, how="left", nulls_equal=True, maintain_order="left")


def _precision(scored: Scored) -> pl.DataFrame:
    """ECDFs of df/10^k at the end of each run, and of df/1e-8 at budgets of D, 10 D, 100 D, … (SCORES 2)."""
    runs = scored.runs
    unit = runs.per_dimension
    last = np.full(len(runs), np.inf)
    some = np.diff(runs.offsets) > 0
    last[some] = runs.precision[runs.offsets[1:][some] - 1]
    panels: list[tuple[str, float, float, Floats]] = [("end", end, end, last) for end in ENDS]
    largest = float(np.max(scored.spent / unit, initial=1.0))
    for k in range(int(np.ceil(np.log10(max(largest, 1.0)))) + 1):
        panels.append(("budget", 10.0**k, 1e-8, best_at(scored, np.arange(len(runs)), 10.0**k * unit)))
    optimizer = runs.table["optimizer"]
    out = []
    for name in dict.fromkeys(optimizer):
        mine = (optimizer == name).to_numpy()
        for panel, of, scale, values in panels:
            ratio = np.sort(values[mine] / scale)
            out.append(
                pl.DataFrame(
                    {
                        "optimizer": [name] * len(RATIOS),
                        "panel": [panel] * len(RATIOS),
                        "of": [of] * len(RATIOS),
                        "ratio": RATIOS,
                        "fraction": np.searchsorted(ratio, RATIOS * (1 + 1e-9), side="right") / mine.sum(),
                    }
                )
            )
    return pl.concat(out)


def best_at(scored: Scored, part: Ints, effort: Floats) -> Floats:
    """The best precision of some runs by so much effort, a number a run; inf before its first."""
    runs = scored.runs
    starts, lengths = runs.offsets[part], runs.offsets[part + 1] - runs.offsets[part]
    run = np.repeat(np.arange(len(part)), lengths)
    rows = np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
    count = np.bincount(run[runs.effort[rows] <= effort[run]], minlength=len(part))
    padded = np.append(runs.precision, np.inf)
    return np.where(count > 0, padded[starts + count - 1], np.inf)


# ---- profiles --------------------------------------------------------------------------------------------------------


def _profiles(scored: Scored, erts: Floats) -> pl.DataFrame:
    """Performance profiles of the ERTs over (problem, target), and data profiles of runs for three tolerances."""
    cells = scored.runs.cells
    optimizers = list(dict.fromkeys(cells["optimizer"]))
    keys = cells.select("suite", "function", "dimension")
    problem = keys.select(pl.struct(pl.all()).rank("dense") - 1).to_series().to_numpy().astype(np.int64)
    width = scored.targets.shape[1]
    times = np.full((int(problem.max()) + 1, width, len(optimizers)), np.inf)
    for c, name in enumerate(cells["optimizer"]):
        times[problem[c], :, optimizers.index(name)] = erts[c]
    rows: list[tuple[str, float | None, Floats, Floats]] = [
        ("performance", None, TAUS, performance_profile(times.reshape(-1, len(optimizers)), TAUS))
    ]
    for tolerance in TOLERANCES:
        reached, dimensions = _solved(scored, optimizers, tolerance)
        k = grid(scored)
        rows.append(("data", tolerance, k, data_profile(reached, dimensions, k)))
    return pl.concat(
        [
            pl.DataFrame(
                {
                    "optimizer": [name] * len(x),
                    "kind": [kind] * len(x),
                    "tolerance": [tolerance] * len(x),
                    "x": x,
                    "fraction": fractions[o],
                },
                schema_overrides={"tolerance": pl.Float64},
            )
            for kind, tolerance, x, fractions in rows
            for o, name in enumerate(optimizers)
        ]
    )


def _solved(scored: Scored, optimizers: list[str], tolerance: float) -> tuple[Floats, Ints]:
    """(problems, optimizers): the median over trials of the effort to f <= f_best + tolerance (f_0 - f_best).

    A problem is an instance; f_best is the best of all its runs, f_0 the worst of their first values.
    """
    runs = scored.runs
    key = runs.table.select(pl.struct("problem", "instance").rank("dense") - 1).to_series().to_numpy().astype(np.int64)
    count = int(key.max()) + 1
    best, first = np.full(count, np.inf), np.full(count, -np.inf)
    run = np.repeat(np.arange(len(runs)), np.diff(runs.offsets))
    np.minimum.at(best, key[run], runs.precision)
    np.maximum.at(first, key, np.where(np.isfinite(runs.first), runs.first, -np.inf))
    with np.errstate(invalid="ignore"):
        target = best + tolerance * (first - best)
    within = runs.precision <= target[key[run]]
    when = np.full(len(runs), np.inf)
    np.minimum.at(when, run[within], runs.effort[within])
    times = np.full((count, len(optimizers)), np.inf)
    number = np.array([optimizers.index(name) for name in runs.table["optimizer"]])
    for p, o in {(int(p), int(o)) for p, o in zip(key, number, strict=True)}:
        mine = np.sort(when[(key == p) & (number == o)])
        times[p, o] = mine[(len(mine) - 1) // 2]
    dimension = np.ones(count, dtype=np.int64)
    dimension[key] = runs.table["dimension"].fill_null(1).to_numpy()
    return times, dimension


def _aocc(scored: Scored) -> pl.DataFrame:
    """The area over the convergence curve of each run over its problem's largest budget, averaged by cell."""
    runs = scored.runs
    problem = runs.table["problem"].rank("dense").to_numpy().astype(np.int64) - 1
    budget = np.zeros(int(problem.max()) + 1)
    np.maximum.at(budget, problem, scored.spent)
    area = area_over_convergence_curve(runs.precision, runs.effort, runs.offsets, budget[problem])
    return runs.cells.with_columns(
        aocc=pl.Series([float(np.mean(area[part])) for part in scored.of_cell]),
        n_runs=pl.Series([len(part) for part in scored.of_cell], dtype=pl.Int64),
    )


# ---- COCO's test -----------------------------------------------------------------------------------------------------


def _ranksum(scored: Scored) -> pl.DataFrame:
    """The rank-sum test of every two optimizers on each problem and target, as COCO makes it."""
    cells = scored.runs.cells.with_row_index("cell")
    optimizers = list(dict.fromkeys(cells["optimizer"]))
    keys = ["suite", "function", "dimension"]
    rows = []
    for a, b in itertools.combinations(optimizers, 2):
        both = cells.filter(pl.col("optimizer") == a).join(
            cells.filter(pl.col("optimizer") == b), on=keys, nulls_equal=True, maintain_order="left"
        )
        for pair in both.iter_rows(named=True):
            parts = [scored.of_cell[pair[name]] for name in ("cell", "cell_right")]
            for t, target in enumerate(scored.targets[pair["cell"]].tolist()):
                hits = [scored.hits[part, t] for part in parts]
                spent = [scored.spent[part] for part in parts]
                end = common_end(hits, spent)
                first, second = (best_at(scored, part, np.full(len(part), end)) for part in parts)
                z, p = rank_sum_test((hits[0], hits[1]), (spent[0], spent[1]), (first, second))
                named = {"optimizer": a, "other": b, **{key: pair[key] for key in keys}}
                rows.append({**named, "target": target, "z": z, "p": p})
    schema = {"optimizer": pl.String, "other": pl.String, "suite": pl.String, "function": pl.String}
    return pl.DataFrame(
        rows, schema={**schema, "dimension": pl.Int64, **dict.fromkeys(("target", "z", "p"), pl.Float64)}
    )
