"""Simulated restarts: how long an optimizer takes that restarts until it succeeds (docs/scores.md 2.5).

A run is drawn; while it is a failure, another is drawn; the sum of all their efforts is the runtime. All functions work
on many targets at once; those for one target call them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from optarena.errors import OptarenaError
from optarena.traces import Bools, Floats, Ints
from optarena.views.fixed_target.waits import MOST_JUMPS, failures_in_a_row

HIT = -1.0
MOST_HALVINGS = 200
"""Of an interval of floats: more never are left."""


def restart_ecdf(runtimes: npt.ArrayLike, budgets: npt.ArrayLike, x: npt.ArrayLike) -> Any:
    """The distribution at x of the runtime with simulated restarts, for one target, computed and not sampled.

    F(x) = [#{successes <= x} + sum over failures u of F(x - u)]/n (docs/scores.md 2.5).
    runtimes: inf for failures; budgets: what each run spent in all. Raises where more than a million jump points would
    be needed: see `simulated_restarts`.
    """
    points = np.asarray(x, dtype=float)
    out = restart_ecdfs(_one_target(runtimes), budgets, points.ravel())[0].reshape(points.shape)
    if np.isnan(out).any():
        raise OptarenaError(
            f"the exact distribution up to {points.max():g} has more than {MOST_JUMPS:,} jumps: "
            "use simulated_restarts, or a smaller x"
        )
    return out if out.ndim else float(out)


def restart_ecdfs(runtimes: npt.ArrayLike, budgets: npt.ArrayLike, x: Floats) -> Floats:
    """(targets, x): `restart_ecdf` of many targets at once; NaN where one has too many jumps.

    runtimes: (runs, targets); budgets: (runs,), or of the same shape; x: (x,), or (targets, x).
    See docs/scores.md 2.5.
    """
    times, spent = _columns(runtimes, budgets)
    x = np.minimum(np.broadcast_to(x, (times.shape[1], np.shape(x)[-1])), np.finfo(float).max)
    if not x.size:
        return np.zeros(x.shape)
    plain, cost, share, n = one_cost(times, spent)
    rounds = np.floor(x / cost[:, None])
    with np.errstate(invalid="ignore"):
        rest = np.where(rounds > 0, x - rounds * cost[:, None], x)
    counts = np.zeros(x.shape)
    for one in times:
        counts += one[:, None] <= rest
    left = share[:, None] ** rounds
    out = 1 - left + left * counts / np.maximum(n, 1)[:, None]
    out[~np.isfinite(times).any(axis=0)] = 0.0
    for same in _same_failures(times, spent, ~plain):
        hits, budget = times[:, same], spent[:, same[0]]
        hit = np.isfinite(hits[:, 0])
        at = x[same]
        waits = failures_in_a_row(budget[~hit], int(n[same[0]]), float((at.max(axis=1) - hits.min(axis=0)).max()))
        if waits is None:
            out[same] = np.nan
            continue
        # F(x) = sum over successes s of P(the failures before it spent at most x - s)/n
        out[same] = sum(waits.within(at - one[:, None]) for one in hits[hit]) / n[same[0]]
    return out


def restart_quantile(runtimes: npt.ArrayLike, budgets: npt.ArrayLike, q: float) -> float:
    """The least x at which `restart_ecdf` reaches q; inf without a success (docs/scores.md 2.5)."""
    if not 0 < q < 1:
        raise OptarenaError(f"a quantile lies between 0 and 1; got {q}")
    out = float(restart_quantiles(_one_target(runtimes), budgets, [q])[0, 0])
    if np.isnan(out):
        raise OptarenaError("the exact distribution has too many jumps: use simulated_restarts")
    return out


def restart_quantiles(runtimes: npt.ArrayLike, budgets: npt.ArrayLike, q: Sequence[float]) -> Floats:
    """(targets, q): `restart_quantile` of many targets at once; NaN where one has too many jumps.

    runtimes: (runs, targets); budgets: (runs,), or of the same shape. See docs/scores.md 2.5.
    """
    times, spent = _columns(runtimes, budgets)
    plain, cost, share, n = one_cost(times, spent)
    wins = np.isfinite(times).sum(axis=0)
    share = np.where(wins > 0, share, 0.0)
    cost = np.where(share > 0, cost, 0.0)
    ordered = np.sort(times, axis=0)
    out = np.full((times.shape[1], len(q)), np.inf)
    for i, level in enumerate(q):
        with np.errstate(divide="ignore"):
            rounds = np.where(share > 0, np.floor(np.log1p(-(level - 1e-12)) / np.log(share)), 0.0)
        left = share**rounds
        place = np.ceil(n * (level - 1e-12 - (1 - left)) / left).astype(np.int64) - 1
        place = np.clip(place, 0, np.maximum(wins - 1, 0))
        value = rounds * cost + np.take_along_axis(ordered, place[None, :], axis=0)[0]
        out[:, i] = np.where(wins > 0, value, np.inf)
    for same in _same_failures(times, spent, ~plain):
        out[same] = _quantiles(times[:, same], spent[:, same[0]], int(n[same[0]]), np.asarray(q, dtype=float))
    return out


def _quantiles(times: Floats, spent: Floats, n: int, q: Floats) -> Floats:
    """(targets, q): where failures differ, of targets that the same runs fail; NaN where there are too many jumps.

    F is computed up to an effort at which it is surely above q; where it reaches q is found by halving.
    """
    hit = np.isfinite(times[:, 0])
    hits, failures = times[hit], spent[~hit]
    out = np.full((times.shape[1], len(q)), np.nan)
    share = 1 - hit.sum() / n
    whole = bool((hits == np.floor(hits)).all() and (failures == np.floor(failures)).all())
    for i, level in enumerate(q.tolist()):
        rounds = np.floor(np.log1p(-(level - 1e-12)) / np.log(share)) + 1
        most = float(hits.max() + rounds * failures.max())
        waits = failures_in_a_row(failures, n, most)
        if waits is None:
            continue
        low, high = np.zeros(times.shape[1]), np.full(times.shape[1], most)
        for _ in range(MOST_HALVINGS):
            middle = np.floor((low + high) / 2) if whole else (low + high) / 2
            enough = waits.within(middle - hits).sum(axis=0) / n >= level - 1e-12
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
            if (high - low <= (1.0 if whole else 1e-15 * high)).all():
                break
        out[:, i] = high
    return out


def one_cost(times: Floats, spent: Floats) -> tuple[Bools, Floats, Floats, Ints]:
    """(targets,): whether all failures that cost anything cost the same, and no success took longer; then that cost,
    the share of failures and the number of runs.

    Then k failures in a row end at k times that cost B, before which all is decided:
    F(k B + x) = 1 - r^k + r^k #{successes <= x}/n for 0 <= x < B, with the failures' share r. See docs/scores.md 2.5.
    """
    hit = np.isfinite(times)
    failed = ~hit & (spent > 0)
    n, wins = (hit | failed).sum(axis=0), hit.sum(axis=0)
    cost = np.where(failed, spent, -np.inf).max(axis=0, initial=-np.inf)
    least = np.where(failed, spent, np.inf).min(axis=0, initial=np.inf)
    slowest = np.where(hit, times, -np.inf).max(axis=0, initial=-np.inf)
    plain = ~failed.any(axis=0) | ((cost == least) & (slowest <= cost))
    return plain, np.where(np.isfinite(cost), cost, np.inf), (n - wins) / np.maximum(n, 1), n


def simulated_restarts(runtimes: npt.ArrayLike, budgets: npt.ArrayLike, draws: int, seed: int = 0) -> Floats:
    """Seeded draws of the runtime with simulated restarts, as COCO samples it; inf without a success.

    runtimes: (runs,), or (runs, targets) for (targets, draws); every target has the same stream of random numbers.
    See docs/scores.md 2.5.
    """
    if np.ndim(runtimes) == 1:
        return simulated_restarts(_one_target(runtimes), budgets, draws, seed)[0]
    times, spent = _columns(runtimes, budgets)
    out = np.full((times.shape[1], draws), np.inf)
    hit = np.isfinite(times)
    kinds = np.where(hit, 2, np.where(spent > 0, 1, 0)).astype(np.int8)
    if not kinds.size:
        return out
    # what is drawn depends only on which runs fail
    patterns, of = np.unique(kinds, axis=1, return_inverse=True)
    order = np.argsort(of.ravel(), kind="stable")
    for pattern, same in zip(patterns.T, np.split(order, np.cumsum(np.bincount(of.ravel()))[:-1]), strict=True):
        if not (pattern == 2).any():
            continue
        runs = np.flatnonzero(pattern)
        failures, last = _drawn(pattern[runs] == 2, draws, seed)
        out[same] = (failures @ np.where(hit, 0.0, spent)[np.ix_(runs, same)]).T + times[np.ix_(runs[last], same)].T
    return out


def _drawn(hit: Bools, draws: int, seed: int) -> tuple[Floats, Ints]:
    """(draws, runs): how often each run is drawn before the first success; (draws,): the run that succeeds."""
    rng = np.random.default_rng(seed)
    failures, last = np.zeros((draws, len(hit))), np.zeros(draws, dtype=np.int64)
    waiting = np.arange(draws)
    while len(waiting):
        drawn = rng.integers(len(hit), size=len(waiting))
        done = hit[drawn]
        last[waiting[done]] = drawn[done]
        waiting, drawn = waiting[~done], drawn[~done]
        failures[waiting, drawn] += 1
    return failures, last


def _same_failures(times: Floats, spent: Floats, wanted: Bools) -> Iterator[Ints]:
    """The wanted targets that are reached at all, those with the same failures together where they are neighbours."""
    some = np.flatnonzero(wanted & np.isfinite(times).any(axis=0))
    if len(some):
        pattern = np.where(np.isfinite(times[:, some]), HIT, spent[:, some])
        yield from np.split(some, np.flatnonzero((pattern[:, 1:] != pattern[:, :-1]).any(axis=0)) + 1)


def _columns(runtimes: npt.ArrayLike, budgets: npt.ArrayLike) -> tuple[Floats, Floats]:
    """(runs, targets) each; failures that spent nothing leave the draw (docs/scores.md 2.5)."""
    times, spent = np.asarray(runtimes, dtype=float), np.asarray(budgets, dtype=float)
    if times.ndim != 2:
        raise OptarenaError(f"runtimes of many targets are (runs, targets); got the shape {times.shape}")
    spent = np.broadcast_to(spent if spent.ndim == 2 else spent.reshape(-1, 1), times.shape)
    if np.isnan(times).any() or np.isnan(spent).any():
        raise OptarenaError("a runtime or budget is nan; a failure's runtime is inf")
    return times, spent


def _one_target(runtimes: npt.ArrayLike) -> Floats:
    """(runs, 1)."""
    times = np.asarray(runtimes, dtype=float)
    if times.ndim != 1:
        raise OptarenaError(f"runtimes of one target are a list, one number per run; got the shape {times.shape}")
    return times[:, None]
