"""How long to a target: runtimes, expected running times and their distributions, as pure functions.

>>> import numpy as np
>>> hits = runtimes([5.0, 0.5, 2.0, 0.01], [1.0, 0.1, 1e-3])   # after 2 and 4 evaluations; the last never
>>> hits.tolist()
[2.0, 4.0, inf]
>>> ert([2.0, 4.0, np.inf], [10, 10, 10])                       # two successes, one failure that spent 10
8.0

See docs/scores.md 2.3 to 2.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from optarena.errors import OptarenaError
from optarena.traces import Bools, Floats, Ints

TOLERANCE = 1e-9
"""A target counts as reached at target + 1e-9 |target|: values in files have ten digits."""
MOST_JUMPS = 1_000_000
NEGLIGIBLE = 1e-16


def reachable(targets: npt.ArrayLike, tolerance: float = TOLERANCE) -> Floats:
    """The greatest value that counts as having reached each target (docs/scores.md 2.3)."""
    targets = np.asarray(targets, dtype=float)
    return targets + tolerance * np.abs(targets)


def runtimes(trace: Any, targets: npt.ArrayLike) -> Any:
    """What a run had spent when it first reached each target; inf where it never did (docs/scores.md 2.3).

    `trace`: the value of every evaluation in turn, or a pair (efforts, values) with non-decreasing efforts. Values are
    precisions, f - f_opt, if targets are.
    """
    if isinstance(trace, tuple) and len(trace) == 2 and np.ndim(trace[1]) > 0:
        effort, values = (np.asarray(part, dtype=float) for part in trace)
    else:
        values = np.asarray(trace, dtype=float)
        effort = np.arange(1.0, len(values) + 1)
    if values.ndim != 1 or effort.shape != values.shape:
        raise OptarenaError(
            f"a trace is a row of values, or a pair of efforts and values of one length; got shapes "
            f"{effort.shape} and {values.shape}"
        )
    values = np.where(np.isnan(values), np.inf, values)
    out = first_hits(values, effort, np.array([0, len(values)], dtype=np.int64), targets)[0]
    return out if np.ndim(targets) else float(out[0])


def first_hits(
    values: Floats, effort: Floats, offsets: Ints, targets: npt.ArrayLike, tolerance: float = TOLERANCE
) -> Floats:
    """(runs, targets): `runtimes` of many runs at once, laid end to end: run i owns rows offsets[i] to offsets[i+1].

    For sorted targets, how many are reached at each row tells how many are new there; one `repeat` gives every hit.
    See docs/scores.md 2.3.
    """
    wanted = np.asarray(targets, dtype=float).ravel()
    order = np.argsort(-wanted, kind="stable")
    easy_to_hard = reachable(wanted[order], tolerance)
    runs, width = len(offsets) - 1, len(wanted)
    out = np.full((runs, width), np.inf)
    if not width or not len(values):
        return out
    # targets >= value, counted from the easiest
    reached = np.searchsorted(-easy_to_hard, -values, side="right")
    lengths = np.diff(offsets)
    run = np.repeat(np.arange(runs), lengths)
    # the running maximum within each run, by lifting every run above the one before it
    lifted = np.maximum.accumulate(reached + run * (width + 1))
    so_far = lifted - run * (width + 1)
    first = np.zeros(len(values), dtype=bool)
    first[offsets[:-1][lengths > 0]] = True
    before = np.where(first, 0, np.concatenate(([0], so_far[:-1])))
    new = so_far - before
    at = np.repeat(np.arange(len(values)), new)
    if len(at):
        place = np.arange(len(at)) - np.repeat(np.cumsum(new) - new, new) + np.repeat(before, new)
        out[run[at], order[place]] = effort[at]
    return out


def ert(runtimes: npt.ArrayLike, budgets: npt.ArrayLike) -> Any:
    """The expected running time: what all runs spent until the target, failures all of *their own* effort, per success.

    runtimes: (runs,) or (runs, targets), inf for failures; budgets: what each run spent in all. inf without a success.
    See docs/scores.md 2.4.
    """
    times = np.asarray(runtimes, dtype=float)
    spent = np.asarray(budgets, dtype=float).reshape(-1, *[1] * (times.ndim - 1))
    hit = np.isfinite(times)
    total = np.where(hit, times, spent).sum(axis=0)
    successes = hit.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        out = np.where(successes > 0, total / successes, np.inf)
    return out if np.ndim(out) else float(out)


def ecdf(runtimes: npt.ArrayLike, x: npt.ArrayLike) -> Any:
    """The fraction of all runtimes that are at most x; those that are inf never are. No restarts.

    See docs/scores.md 2.6.
    """
    times = np.sort(np.ravel(np.asarray(runtimes, dtype=float)))
    out = np.searchsorted(times, np.asarray(x, dtype=float), side="right") / max(1, len(times))
    return out if np.ndim(out) else float(out)


def restart_ecdf(runtimes: npt.ArrayLike, budgets: npt.ArrayLike, x: npt.ArrayLike) -> Any:
    """The distribution at x of the runtime with simulated restarts, for one target, computed and not sampled.

    A run is drawn; while it is a failure, another is drawn; the sum of all their efforts is the runtime. So
    F(x) = [#{successes <= x} + sum over failures u of F(x - u)]/n (docs/scores.md 2.5).
    runtimes: inf for failures; budgets: what each run spent in all. Raises where more than a million jump points would
    be needed: see `simulated_restarts`.
    """
    points = np.asarray(x, dtype=float)
    out = restart_ecdf_or_none(runtimes, budgets, points)
    if out is None:
        raise OptarenaError(
            f"the exact distribution up to {points.max():g} has more than {MOST_JUMPS:,} jumps: "
            "use simulated_restarts, or a smaller x"
        )
    return out if out.ndim else float(out)


def restart_ecdf_or_none(runtimes: npt.ArrayLike, budgets: npt.ArrayLike, x: Floats) -> Floats | None:
    """`restart_ecdf`, or None where it has too many jumps to be computed exactly."""
    times, spent = _runs(runtimes, budgets)
    out = np.zeros(x.shape)
    hit = np.isfinite(times)
    if not hit.any() or not x.size:
        return out
    successes = np.sort(times[hit])
    n = len(times)
    waits, chances = failed_sums(spent[~hit], n, float(x.max()) - successes[0])
    if waits is None or chances is None:
        return None
    if len(waits) * x.size <= 20_000_000:
        counts = np.searchsorted(successes, x.ravel()[:, None] - waits[None, :], side="right")
        return (counts @ chances / n).reshape(x.shape)
    for wait, chance in zip(waits.tolist(), chances.tolist(), strict=True):
        out += chance * np.searchsorted(successes, x - wait, side="right") / n
    return out


def failed_sums(failures: Floats, n: int, most: float) -> tuple[Floats | None, Floats | None]:
    """All sums up to `most` of the efforts of failures in a row, 0 first, and the chance of each; None if too many.

    See docs/scores.md 2.5.
    """
    efforts, counts = np.unique(failures, return_counts=True)
    if len(efforts) == 1:
        return _equal_sums(efforts[0], counts[0] / n, most)
    sums: Floats = np.zeros(1)
    chances: Floats = np.ones(1)
    all_sums, all_chances, found = [sums], [chances], 1
    while len(sums) and len(efforts) and chances.sum() > NEGLIGIBLE:
        sums = np.add.outer(sums, efforts).ravel()
        chances = np.multiply.outer(chances, counts / n).ravel()
        keep = sums <= most
        sums, back = np.unique(sums[keep], return_inverse=True)
        chances = np.bincount(back, weights=chances[keep], minlength=len(sums)).astype(float)
        found += len(sums)
        if found > MOST_JUMPS or len(sums) * len(efforts) > 20 * MOST_JUMPS:
            return None, None
        all_sums.append(sums)
        all_chances.append(chances)
    return np.concatenate(all_sums), np.concatenate(all_chances)


def _equal_sums(effort: float, chance: float, most: float) -> tuple[Floats | None, Floats | None]:
    """The same where every failure spent as much: multiples of it."""
    with np.errstate(divide="ignore"):
        few = min(most / effort, np.log(NEGLIGIBLE) / np.log(chance)) if 0 < chance < 1 else most / effort
    if not few < MOST_JUMPS:
        return None, None
    times = np.arange(max(0, int(few)) + 2)
    sums = effort * times
    keep = (sums <= most) | (times == 0)
    return sums[keep], chance ** times[keep].astype(float)


def restart_quantile(runtimes: npt.ArrayLike, budgets: npt.ArrayLike, q: float) -> float:
    """The least x at which `restart_ecdf` reaches q; inf without a success (docs/scores.md 2.5)."""
    if not 0 < q < 1:
        raise OptarenaError(f"a quantile lies between 0 and 1; got {q}")
    times, spent = _runs(runtimes, budgets)
    hit = np.isfinite(times)
    if not hit.any():
        return float("inf")
    if hit.all():
        return float(np.sort(times)[max(0, int(np.ceil(q * len(times) - 1e-12)) - 1)])
    most = times[hit].max() + spent[~hit].max()
    while True:
        waits, chances = failed_sums(spent[~hit], len(times), most)
        if waits is None or chances is None:
            raise OptarenaError("the exact distribution has too many jumps: use simulated_restarts")
        jumps = np.add.outer(waits, times[hit]).ravel()
        mass = np.repeat(chances / len(times), hit.sum())
        order = np.argsort(jumps, kind="stable")
        # sums up to `most` are whole, and so is the distribution up to there
        total = np.cumsum(mass[order])
        at = int(np.searchsorted(total, q - 1e-12))
        if at < len(total) and jumps[order[at]] <= most:
            return float(jumps[order[at]])
        most *= 2


def one_cost(times: Floats, spent: Floats) -> tuple[Bools, Floats, Floats, Ints]:
    """(targets,): whether all failures that cost anything cost the same, and no success took longer; then that cost,
    the share of failures and the number of runs.

    Then k failures in a row end at k times that cost B, before which all is decided:
    F(k B + x) = 1 - r^k + r^k #{successes <= x}/n for 0 <= x < B, with the failures' share r. See docs/scores.md 2.5.
    """
    spent = spent if spent.ndim == 2 else spent[:, None]
    hit = np.isfinite(times)
    failed = ~hit & (spent > 0)
    n, wins = (hit | failed).sum(axis=0), hit.sum(axis=0)
    cost = np.where(failed, spent, -np.inf).max(axis=0, initial=-np.inf)
    least = np.where(failed, spent, np.inf).min(axis=0, initial=np.inf)
    slowest = np.where(hit, times, -np.inf).max(axis=0, initial=-np.inf)
    plain = ~failed.any(axis=0) | ((cost == least) & (slowest <= cost))
    return plain, np.where(np.isfinite(cost), cost, np.inf), (n - wins) / np.maximum(n, 1), n


def restart_ecdfs(runtimes: npt.ArrayLike, budgets: npt.ArrayLike, x: Floats) -> Floats:
    """(targets, x): `restart_ecdf` of many targets at once, where `one_cost` holds; NaN where it does not.

    runtimes: (runs, targets). See docs/scores.md 2.5.
    """
    times, spent = np.asarray(runtimes, dtype=float), np.asarray(budgets, dtype=float)
    plain, cost, share, n = one_cost(times, spent)
    rounds = np.floor(x[None, :] / cost[:, None])
    with np.errstate(invalid="ignore"):
        rest = np.where(rounds > 0, x[None, :] - rounds * cost[:, None], x[None, :])
    counts = (times[:, :, None] <= rest[None, :, :]).sum(axis=0)
    left = share[:, None] ** rounds
    out = 1 - left + left * counts / np.maximum(n, 1)[:, None]
    out[~np.isfinite(times).any(axis=0)] = 0.0
    out[~plain] = np.nan
    return out


def restart_quantiles(runtimes: npt.ArrayLike, budgets: npt.ArrayLike, q: Sequence[float]) -> Floats:
    """(targets, q): `restart_quantile` of many targets at once, where `one_cost` holds; NaN where it does not.

    runtimes: (runs, targets); budgets: (runs,), or of the same shape. See docs/scores.md 2.5.
    """
    times, spent = np.asarray(runtimes, dtype=float), np.asarray(budgets, dtype=float)
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
        out[:, i] = np.where(wins > 0, np.where(plain, value, np.nan), np.inf)
    return out


def simulated_restarts(runtimes: npt.ArrayLike, budgets: npt.ArrayLike, draws: int, seed: int = 0) -> Floats:
    """Seeded draws of the runtime with simulated restarts, as COCO samples it; inf without a success.

    See docs/scores.md 2.5.
    """
    times, spent = _runs(runtimes, budgets)
    rng = np.random.default_rng(seed)
    out = np.zeros(draws)
    if not np.isfinite(times).any():
        return np.full(draws, np.inf)
    waiting = np.arange(draws)
    while len(waiting):
        drawn = rng.integers(len(times), size=len(waiting))
        hit = np.isfinite(times[drawn])
        out[waiting] += np.where(hit, times[drawn], spent[drawn])
        waiting = waiting[~hit]
    return out


def _runs(runtimes: npt.ArrayLike, budgets: npt.ArrayLike) -> tuple[Floats, Floats]:
    """The runs that say anything: failures that spent nothing leave the draw (docs/scores.md 2.5)."""
    times = np.asarray(runtimes, dtype=float)
    spent = np.broadcast_to(np.asarray(budgets, dtype=float), times.shape)
    if times.ndim != 1:
        raise OptarenaError(f"runtimes of one target are a row, a number a run; got the shape {times.shape}")
    if np.isnan(times).any() or np.isnan(spent).any():
        raise OptarenaError("a runtime or budget is nan; a failure's runtime is inf")
    keep = np.isfinite(times) | (spent > 0)
    return times[keep], spent[keep]
