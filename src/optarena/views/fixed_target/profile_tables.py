"""Tables of profiles and of areas over convergence curves, made of the scored runs."""

from __future__ import annotations

import numpy as np
import polars as pl

from optarena.traces import Floats, Ints
from optarena.views.coverage import common
from optarena.views.fixed_target.distributions import grid
from optarena.views.fixed_target.profiles import area_over_convergence_curve, data_profile, performance_profile
from optarena.views.fixed_target.runs import Runs
from optarena.views.fixed_target.runtimes import first_hit
from optarena.views.fixed_target.scored import Scored
from optarena.views.selection import COUNTED

TAUS = 10.0 ** (np.arange(0, 61) / 20)
PROFILES = {"optimizer": pl.String, "kind": pl.String, **dict.fromkeys(("tolerance", "x", "fraction"), pl.Float64)}
TOLERANCES = (1e-1, 1e-3, 1e-5)


def profiles(scored: Scored, erts: Floats) -> pl.DataFrame:
    """Performance profiles of the ERTs over (problem, target), and data profiles of runs for three tolerances.

    See docs/scores.md 2.10, 2.11.
    """
    optimizers = scored.optimizers
    times = scored.by_problem(erts).swapaxes(1, 2)
    pairs = np.zeros(times.shape[:2], dtype=bool)
    pairs[scored.problem] = scored.given & scored.alike[:, None]
    alike = np.ones(int(scored.runs.problem.max()) + 1, dtype=bool)
    if scored.mode != "coco":  # instances that all ran
        alike = common(scored.having(scored.runs.problem)[1])
    rows: list[tuple[str, float | None, Floats, Floats]] = [
        ("performance", None, TAUS, performance_profile(times[pairs], TAUS))
    ]
    for tolerance in TOLERANCES:
        reached, dimensions = (figures[alike] for figures in _solved(scored, optimizers, tolerance))
        k = grid(scored)
        rows.append(("data", tolerance, k, data_profile(reached, dimensions, k)))
    return pl.concat(
        [
            pl.DataFrame(schema=PROFILES),
            *(
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
                if (pairs if tolerance is None else alike).any()
            ),
        ]
    )


def _solved(scored: Scored, optimizers: list[str], tolerance: float) -> tuple[Floats, Ints]:
    """(problems, optimizers): the median over trials of the effort to f <= f_best + tolerance (f_0 - f_best).

    A problem is an instance; f_best is the best of all its runs, f_0 the worst of their first values. Dimensions are
    those to divide by, less one: 0 where effort is not evaluations. See docs/scores.md 2.11.
    """
    runs = scored.runs
    problem, run = runs.problem, runs.owner
    count = int(problem.max()) + 1
    best, first = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(best, problem[run], runs.precision)
    some = np.diff(runs.offsets) > 0
    np.maximum.at(first, problem[some], runs.precision[runs.offsets[:-1][some]])
    with np.errstate(invalid="ignore"):
        target = best + tolerance * (first - best)
    when = first_hit(runs.precision, runs.effort, runs.offsets, target[problem])
    place = {name: o for o, name in enumerate(optimizers)}
    number = np.array([place[name] for name in runs.table["optimizer"]])
    times = np.full((count, len(optimizers)), np.inf)
    # trials of one optimizer on one problem lie together, the quickest first
    order = np.lexsort((when, number, problem))
    pair = problem[order] * len(optimizers) + number[order]
    start = np.flatnonzero(np.append(True, pair[1:] != pair[:-1]))
    length = np.diff(np.append(start, len(pair)))
    times.ravel()[pair[start]] = when[order][start + (length - 1) // 2]
    dimension = np.zeros(count, dtype=np.int64)
    if runs.axis == "evaluations":
        dimension[problem] = runs.table["dimension"].fill_null(1).to_numpy()
    return times, dimension


def aocc(scored: Scored) -> pl.DataFrame:
    """The area over the convergence curve of each run over its problem's largest budget, averaged by cell.

    See docs/scores.md 2.9.
    """
    runs = scored.runs
    problem = runs.problem
    budget = np.zeros(int(problem.max()) + 1)
    np.maximum.at(budget, problem, scored.spent)
    area = areas(runs, budget[problem])
    return runs.cells.with_columns(
        aocc=pl.Series([float(np.mean(area[part])) for part in scored.of_cell]).fill_nan(None),
        n_runs=pl.Series([len(part) for part in scored.of_cell], dtype=pl.Int64),
    )


def areas(runs: Runs, budget: Floats) -> Floats:
    """(runs,): the area over the convergence curve of each, over so much effort."""
    # evaluation t counts for [t - 1, t) of the budget; on other axes a value is in force from its own effort on
    shift = 1.0 if runs.axis in COUNTED else 0.0
    return area_over_convergence_curve(runs.precision, runs.effort, runs.offsets, budget, shift=shift)
