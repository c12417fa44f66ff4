"""The figures of one metric: curves and a baseline in, arrays with their intervals out (docs/scores.md 1.6 to 1.9)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from optarena.dataset import Pool
from optarena.errors import OptarenaError
from optarena.stats.estimates import Estimate, mean, median, normal_half
from optarena.traces import Bools, Floats, Ints
from optarena.views.coverage import common
from optarena.views.fixed_cost.baseline import Baseline, compute
from optarena.views.fixed_cost.curves import Curves
from optarena.views.summary import by_trials, empty_estimate, mean_over_problems, over_problems, put, standing

PARTS = (1.0, 0.5, 0.1)
"""Of the budget: where single trials are kept for comparisons."""
NEAR = 1e-6
"""In mode exact a ratio is undefined where random search is nearer to the best value than this, in units of
clip - best (docs/scores.md 1.6): the quotient would show the rounding of `best`, not the optimizer."""


@dataclass
class Scores:
    """Problem figures are [problems, optimizers, iterations], those over all problems [optimizers, iterations]."""

    baseline: Baseline
    median: Estimate
    median_normed: Floats
    mean: Estimate
    mean_normed: Estimate
    overall_median: Estimate
    overall_mean: Estimate
    overall_normed: Estimate
    """The mean divided by what random search's own would be, on the same problems."""
    undefined: Bools
    """[problems, iterations]: where random search is too near to the best value for `median_normed`."""
    trials: dict[float, Floats]
    """(studies,) at parts of each problem's budget: the normalised value of every trial, whose mean is above."""
    random: dict[float, Floats]
    """(problems,) at the same parts: random search's own normalised mean, by which the means are divided."""
    has: Bools
    """[problems, optimizers]: who has values to the end of the budget, or any, where it has none to the end at all."""
    shown: Bools
    """[optimizers, iterations]: who has a normalised value on any problem."""
    raw: Floats
    """(studies,): the value at the end of its problem's budget, minimised; inf without any, NaN if it ended before."""


def score(
    every: Curves, base: Baseline, best: Floats, left_out: Bools, grid: Floats, over: str, last: Floats
) -> Scores:
    """Score `best` [studies, iterations] against a baseline; problems in `left_out` are not normalised.

    `last` (problems,): where each problem's budget ends; in the summary it stands there from then on.
    See docs/scores.md 1.6 to 1.8.
    """
    exact = every.mode == "exact"
    shape = (len(every.problems), len(every.optimizers), len(grid))
    medians, means, normed = empty_estimate(shape), empty_estimate(shape), empty_estimate(shape)
    low, width = base.best, base.width
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for p, o, studies in by_trials(every):
            x = best[studies].transpose(0, 2, 1)  # [pairs, iterations, trials]
            clipped = np.where(np.isnan(x), np.nan, np.minimum(x, base.clip[p][:, None, None]))
            scaled = rescale(x, low[p][:, None, None], width[p][:, None, None], exact)
            put(medians, p, o, median(x))
            put(means, p, o, mean(clipped, scaled=exact))
            put(normed, p, o, mean(np.clip(scaled, -1.0, 1.0)))
        room = base.median - low[:, None]
        undefined = exact & (room < NEAR * width[:, None]) & ~left_out[:, None]
        room = np.where(np.isfinite(room) & ~undefined, room, np.nan)
        median_normed = rescale(medians.value, low[:, None, None], room[:, None, :], exact)
        random = rescale(base.mean, low[:, None], width[:, None], exact)
    if not exact:
        _refuse_overflow(every, means, left_out)
    for values in (median_normed, normed.value, normed.lower, normed.upper):
        values[left_out] = np.nan
    at = standing(last, grid)
    raw = best[np.arange(len(best)), at[:, -1][every.problem]]
    has = _having(every, best, raw)
    shown = ~np.isnan(over_problems(normed.value, at)).all(axis=-1)
    # over problems like is compared with like; Bayesmark averages each optimizer over its own (docs/scores.md 0.4)
    alike = common(has)[:, None, None] if exact else np.True_
    of_all = normed._replace(value=np.where(alike, normed.value, np.nan))
    each = over_problems(of_all.value, at)
    there = ~np.isnan(each)
    overall = mean_over_problems(of_all, at, over)
    of_random = over_problems(np.broadcast_to(random[:, None, :], shape), at)
    both = there & ~np.isnan(of_random)  # the same problems above and below the line
    with np.errstate(divide="ignore", invalid="ignore"):
        normaliser = mean(np.where(both, of_random, np.nan)).value
        if exact:
            normaliser = np.where(normaliser < NEAR, np.nan, normaliser)
        same = mean(np.where(both, each, np.nan)).value if (both != there).any() else overall.value
        value = same / normaliser
        overall_normed = Estimate(
            value,
            value - (overall.value - overall.lower) / normaliser,
            value + (overall.upper - overall.value) / normaliser,
            both.sum(axis=-1),
        )
    overall_median = median(over_problems(np.where(alike, median_normed, np.nan), at))
    trials, of_random_at = {}, {}
    for part in PARTS:
        stands = standing(part * last, grid)[:, -1]
        of_random_at[part] = np.where(left_out, np.nan, random[np.arange(len(random)), stands])
        at_part = best[np.arange(len(best)), stands[every.problem]]
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            scaled = np.clip(rescale(at_part, low[every.problem], width[every.problem], exact), -1.0, 1.0)
        trials[part] = np.where(left_out[every.problem], np.nan, scaled)
    return Scores(
        base, medians, median_normed, means, normed, overall_median, overall, overall_normed, undefined, trials,
        of_random_at, has, shown, raw,
    )  # fmt: skip


def _having(every: Curves, best: Floats, raw: Floats) -> Bools:
    """[problems, optimizers]: see `Scores.has`."""
    out = np.zeros((2, len(every.problems), len(every.optimizers)), dtype=bool)
    for k, studies in enumerate((~np.isnan(raw), ~np.isnan(best).all(axis=1))):
        out[k, every.problem[studies], every.optimizer[studies]] = True
    to_the_end, any_at_all = out
    return np.where(to_the_end.any(axis=0), to_the_end, any_at_all)


def rescale(x: Floats, low: Floats, width: Floats, exact: bool) -> Floats:
    """0 at `low`, 1 at `low + width`. Bayesmark multiplies by the inverse, which may overflow.

    See docs/scores.md 1.7 and 1.10.
    """
    return (x - low) / width if exact else (x - low) * (1.0 / width)


def with_baseline_uncertainty(
    scores: Scores,
    every: Curves,
    pools: list[Pool],
    draws: Ints,
    best: Floats,
    left_out: Bools,
    grid: Floats,
    last: Floats,
    *,
    hidden: bool,
    times: int,
    seed: int,
) -> Scores:
    """Widen the intervals over all problems by what resampling random search's trials does to them.

    See docs/scores.md 1.9.
    """
    rng = np.random.default_rng(seed)
    base = scores.baseline
    means, normed = [], []
    for _ in range(times):
        again = [_resampled(pool, rng) for pool in pools]
        other = compute(every.problems, again, base.seen, draws, mode=every.mode, hidden=hidden)
        unusable = left_out | ~np.isfinite(other.clip) | other.constant()
        one = score(every, other, best, unusable, grid, "problems", last)
        means.append(one.overall_mean.value)
        normed.append(one.overall_normed.value)

    def wider(estimate: Estimate, replicates: list[Floats]) -> Estimate:
        half = np.hypot(estimate.upper - estimate.value, normal_half(_spread(np.array(replicates))))
        return Estimate(estimate.value, estimate.value - half, estimate.value + half, estimate.n)

    return replace(
        scores, overall_mean=wider(scores.overall_mean, means), overall_normed=wider(scores.overall_normed, normed)
    )


def _spread(replicates: Floats) -> Floats:
    """The standard deviation over the first axis of what is defined; NaN where fewer than two are."""
    there = ~np.isnan(replicates)
    enough = there.sum(axis=0) > 1
    return np.where(enough, np.nanstd(np.where(enough, replicates, 0.0), axis=0, ddof=1), np.nan)


def _resampled(pool: Pool, rng: np.random.Generator) -> Pool:
    """As many studies as there are, drawn with replacement, each whole."""
    studies = np.unique(pool.study)
    if len(studies) < 2:
        return pool
    rows = np.concatenate([np.flatnonzero(pool.study == s) for s in rng.choice(studies, len(studies))])
    return Pool(pool.visible[rows], pool.values[rows], pool.study[rows])


def _refuse_overflow(every: Curves, mean: Estimate, left_out: Bools) -> None:
    bad = np.argwhere(np.isinf(mean.value) & ~left_out[:, None, None])
    if len(bad):
        raise OptarenaError(
            f"the mean on {every.problems[bad[0][0]]} overflows, at which Bayesmark stops: score in mode exact"
        )
