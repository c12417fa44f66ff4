"""Intervals by resampling: problems with their trials whole, or trials within fixed problems. All seeded.

>>> import numpy as np
>>> scores = np.random.default_rng(1).normal(size=(30, 5))     # problems, trials
>>> interval = bootstrap(scores, over="problems")
>>> bool(interval.lower < scores.mean() < interval.upper)
True

The unit of replication is the problem: `over="problems"` speaks of new problems of the same kind, `over="trials"` of
new trials on just these. Resampling both double-counts the noise of trials; it is done only when asked for.
See docs/scores.md 5.5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from optarena.errors import OptarenaError
from optarena.stats._result import FEW, LEVEL, RESAMPLES, Interval, Seed, generator, level_of
from optarena.stats.estimates import t_half
from optarena.traces import Floats, Ints, product

Statistic = Callable[[Floats], Any]
"""From arrays (…, problems, trials) to arrays (…): all resamplings at once."""

OVER = ("problems", "trials", "both")
METHODS = ("bca", "percentile", "studentised", "t")
CHUNK = 4_000_000
"""Numbers in one block of resamplings."""


def mean_of_means(x: Floats) -> Floats:
    """(…): the mean over problems of each one's mean over trials (…, problems, trials); NaN is a missing trial."""
    return trial_means(x).mean(axis=-1)


def trial_means(x: Floats) -> Floats:
    """(…, problems): the mean over the trials of each problem; NaN where there is none."""
    there = ~np.isnan(x)
    if there.all() and x.shape[-1]:
        return x.mean(axis=-1)
    with np.errstate(invalid="ignore"):
        return np.where(there, x, 0.0).sum(axis=-1) / there.sum(axis=-1)


def bootstrap(
    x: npt.ArrayLike,
    statistic: Statistic = mean_of_means,
    *,
    over: str = "problems",
    method: str | None = None,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    seed: Seed = 0,
) -> Interval:
    """The interval of a statistic of scores (problems, trials); a list of numbers is one trial each.

    method: `bca` (bias-corrected and accelerated), `percentile`, `studentised` (by the jackknife's standard error of
    each resampling) or `t` (plus or minus t times the jackknife's standard error). By default BCa at levels widened as
    t is, since resampling few values knows too little spread; over fewer than 20 problems t, which `note` says. A
    statistic that no resampling changes gives an empty interval, and says so. See docs/scores.md 5.5.
    """
    data = _table(x)
    if over not in OVER:
        raise OptarenaError(f"an interval is over {', '.join(OVER)}; got {over!r}")
    if method is not None and method not in METHODS:
        raise OptarenaError(f"the method of an interval is one of {', '.join(METHODS)}; got {method!r}")
    if resamples < 2:
        raise OptarenaError(f"an interval needs 2 resamplings or more; got {resamples}")
    units = _count(data, over)
    note = ""
    if method is None:
        method = "widened bca"
        if over == "problems" and len(data) < FEW:
            method, note = "t", f"fewer than {FEW} problems: a t interval"
    value = float(statistic(data))
    if units < 2:
        return Interval(value, -np.inf, np.inf, units, method, f"one {over.rstrip('s')}: no interval")
    left_out = jackknife(data, statistic, over)
    error = _jackknife_error(left_out, _strata(data, over))
    tail = (1 - level_of(level)) / 2
    if method == "t":
        half = float(special.stdtrit(units - 1, 1 - tail)) * error
        return Interval(value, value - half, value + half, units, "t", note or _flat(error))
    drawn = resampled(data, statistic, over, resamples, generator(seed), errors=method == "studentised")
    if method == "studentised":
        t = drawn[0] - value
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(t == 0, 0.0, t / drawn[1])
        low, high = np.quantile(t, [tail, 1 - tail], method="nearest")
        ends = value - high * error, value - low * error
    elif method == "percentile":
        ends = tuple(np.quantile(drawn[0], [tail, 1 - tail]))
    else:
        plain = special.ndtri(np.array([tail, 1 - tail]))
        ends = _bca_of_one(drawn[0], value, left_out, plain if method == "bca" else widened(units, tail))
    return Interval(value, float(ends[0]), float(ends[1]), units, f"{method}, {resamples:,} resamplings", _flat(error))


def resampled(
    data: Floats, statistic: Statistic, over: str, resamples: int, rng: np.random.Generator, *, errors: bool = False
) -> list[Floats]:
    """The statistic of each resampling, and its jackknife standard error if wanted: arrays (resamples,)."""
    problems, trials = data.shape
    block = max(1, CHUNK // data.size)
    out: list[list[Floats]] = [[], []]
    for start in range(0, resamples, block):
        times = min(block, resamples - start)
        p = np.arange(problems)[None, :, None]
        if over != "trials":
            p = rng.integers(problems, size=(times, problems))[:, :, None]
        t = np.arange(trials)[None, None, :]
        if over != "problems":
            counts = np.sum(~np.isnan(data), axis=1)  # trials that are there stand first
            t = (rng.random((times, problems, trials)) * counts[p]).astype(np.int64)
            t = np.where(np.arange(trials) < counts[p], t, trials - 1)
        drawn = data[p, t]
        out[0].append(np.asarray(statistic(drawn)))
        if errors:
            strata = _strata(data, over)
            out[1].append(np.array([_jackknife_error(jackknife(one, statistic, over), strata) for one in drawn]))
    return [np.concatenate(part) for part in out if part]


def jackknife(data: Floats, statistic: Statistic, over: str) -> Floats:
    """The statistic with one trial left out, each in turn; with one problem where problems are drawn."""
    if over != "trials":
        return np.asarray(statistic(data[all_but_one(len(data))]), dtype=float)
    places = np.argwhere(~np.isnan(data) & (np.sum(~np.isnan(data), axis=1) > 1)[:, None])
    block = max(1, CHUNK // data.size)
    out = []
    for start in range(0, len(places), block):
        part = places[start : start + block]
        less = np.repeat(data[None], len(part), axis=0)
        less[np.arange(len(part)), part[:, 0], part[:, 1]] = np.nan
        out.append(np.asarray(statistic(less), dtype=float))
    return np.concatenate(out)


def all_but_one(n: int) -> Ints:
    """(n, n - 1): the places of all rows but one, each left out in turn."""
    places = np.arange(n - 1)[None, :]
    return places + (places >= np.arange(n)[:, None])


def bca(
    drawn: Floats, value: Floats, away: Floats, normal: Floats, slack: Floats | float = 0.0
) -> tuple[Floats, Floats]:
    """Both ends of Efron's bias-corrected and accelerated intervals of columns (docs/scores.md 5.5).

    drawn (resamples, columns); value (columns,); away (units, columns): the mean of the jackknife's values less each of
    them, in any unit; normal: the quantiles of the two levels; slack: by how much equal values may differ.
    """
    below = (np.mean(drawn < value - slack, axis=0) + np.mean(drawn <= value + slack, axis=0)) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        acceleration = np.nan_to_num(np.sum(away**3, axis=0) / (6 * np.sum(away**2, axis=0) ** 1.5))
    bias = special.ndtri(np.clip(below, 1e-6, 1 - 1e-6))
    z = bias[None, :] + normal[:, None]
    lower, upper = _quantiles(np.sort(drawn, axis=0), special.ndtr(bias + z / (1 - acceleration * z)))
    return lower, upper


def _bca_of_one(
    drawn: Floats, value: float, left_out: Floats, normal: Floats, slack: float = 0.0
) -> tuple[float, float]:
    """`bca` of one statistic; left_out: its values with one unit left out."""
    lower, upper = bca(drawn[:, None], np.array([value]), (left_out.mean() - left_out)[:, None], normal, slack)
    return float(lower[0]), float(upper[0])


# ---- many means at once ----------------------------------------------------------------------------------------------


def draws(n: int, resamples: int, seed: Seed) -> Floats:
    """(resamples, n): how often each of n problems is drawn. One set of draws serves all figures of a comparison.

    See docs/scores.md 5.5.
    """
    return generator(seed).multinomial(n, np.full(n, 1 / n), size=resamples).astype(float)


def mean_intervals(x: npt.ArrayLike, counts: Floats, *, level: float = LEVEL) -> tuple[Floats, Floats, Floats, str]:
    """Means of columns over rows (problems), their ends and the method: BCa, under 20 rows t (docs/scores.md 5.5).

    counts: from `draws`. The means of all resamplings of all columns are one product of matrices.
    """
    data = np.asarray(x, dtype=float)
    n = len(data)
    value = data.mean(axis=0)
    tail = (1 - level_of(level)) / 2
    if n < 2:
        nothing = np.full(value.shape, np.inf)
        return value, -nothing, nothing, "one problem: no interval"
    if n < FEW:
        half = t_half(data.std(axis=0, ddof=1), n, tail)
        return value, value - half, value + half, f"t over problems (fewer than {FEW} problems)"
    drawn = product(counts, data) / n
    slack = 1e-12 * np.max(np.abs(data), axis=0, initial=0.0)  # sums in another order: equal all the same
    ends = bca(drawn, value, data - value, widened(n, tail), slack)
    flat = np.ptp(data, axis=0) == 0
    lower, upper = np.where(flat, value, ends[0]), np.where(flat, value, ends[1])
    return value, lower, upper, f"BCa over problems, {len(counts):,} resamplings"


def interval_of_counts(statistic: Callable[[Floats], Floats], counts: Floats, *, level: float = LEVEL) -> Interval:
    """The interval over problems of any statistic of how often each is drawn: BCa, under 20 problems t.

    statistic: from counts (resamples, problems) to (resamples,).
    """
    n = counts.shape[1]
    value = float(statistic(np.ones((1, n)))[0])
    tail = (1 - level_of(level)) / 2
    if n < 2:
        return Interval(value, -np.inf, np.inf, n, "t", "one problem: no interval")
    left_out = np.asarray(statistic(1.0 - np.eye(n)))
    if n < FEW:
        half = float(special.stdtrit(n - 1, 1 - tail)) * _jackknife_error(left_out, np.array([n]))
        return Interval(value, value - half, value + half, n, "t", f"fewer than {FEW} problems: a t interval")
    drawn = statistic(counts)
    slack = 1e-12 * float(np.abs(drawn).max())  # sums in another order: equal all the same
    lower, upper = _bca_of_one(drawn, value, left_out, widened(n, tail), slack)
    return Interval(value, lower, upper, n, f"widened bca, {len(counts):,} resamplings")


def widened(n: int, tail: float) -> Floats:
    """The normal quantiles of both ends, widened as t intervals are: resampling n values knows too little spread."""
    end = np.sqrt(n / (n - 1)) * special.stdtrit(n - 1, 1 - tail)
    return np.array([-end, end])


def _quantiles(ordered: Floats, levels: Floats) -> Floats:
    """(levels, columns) of sorted columns, each with levels of its own; linear between order statistics."""
    place = np.clip(levels, 0, 1) * (len(ordered) - 1)
    low = np.floor(place).astype(np.int64)
    high = np.minimum(low + 1, len(ordered) - 1)
    part = place - low
    return np.take_along_axis(ordered, low, 0) * (1 - part) + np.take_along_axis(ordered, high, 0) * part


# ---- the small things ------------------------------------------------------------------------------------------------


def _table(x: npt.ArrayLike) -> Floats:
    data = np.asarray(x, dtype=float)
    data = data[:, None] if data.ndim == 1 else data
    if data.ndim != 2 or not data.size:
        raise OptarenaError(f"scores are (problems, trials); got the shape {data.shape}")
    there = ~np.isnan(data)
    if not there.any(axis=1).all():
        raise OptarenaError(f"problem {int(np.argmin(there.any(axis=1)))} has no trial: leave it out")
    order: Ints = np.argsort(~there, axis=1, kind="stable")
    return np.take_along_axis(data, order, axis=1)


def _count(data: Floats, over: str) -> int:
    return len(data) if over != "trials" else int(np.max(np.sum(~np.isnan(data), axis=1)))


def _strata(data: Floats, over: str) -> Ints:
    """How many units `jackknife` leaves out in each stratum: problems are one, the trials of each problem are one."""
    counts = np.sum(~np.isnan(data), axis=1)
    return counts[counts > 1] if over == "trials" else np.array([len(data)])


def _jackknife_error(left_out: Floats, strata: Ints) -> float:
    """The standard error: strata are independent, so their variances add up."""
    starts = np.concatenate(([0], np.cumsum(strata)[:-1]))
    away = left_out - np.repeat(np.add.reduceat(left_out, starts) / strata, strata)
    return float(np.sqrt(np.sum(np.repeat((strata - 1) / strata, strata) * away**2)))


def _flat(error: float) -> str:
    return "" if error > 0 else "no resampling changes it"
