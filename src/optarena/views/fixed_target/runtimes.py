"""How long to a target: runtimes, expected running times and ECDFs, as pure functions.

>>> import numpy as np
>>> hits = runtimes([5.0, 0.5, 2.0, 0.01], [1.0, 0.1, 1e-3])   # after 2 and 4 evaluations; the last never
>>> hits.tolist()
[2.0, 4.0, inf]
>>> ert([2.0, 4.0, np.inf], [10, 10, 10])                       # two successes, one failure that spent 10
8.0

Simulated restarts are in `restarts`. See docs/scores.md 2.3, 2.4, 2.6.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from optarena.errors import OptarenaError
from optarena.traces import Floats, Ints, product

TOLERANCE = 1e-9
"""A target counts as reached at target + 1e-9 |target|: values in files have ten digits."""


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
            f"a trace is a list of values, or a pair of efforts and values of equal length; got shapes "
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


def first_hit(values: Floats, effort: Floats, offsets: Ints, targets: Floats) -> Floats:
    """(runs,): `runtimes` of many runs at once, each to a target of its own, (runs,); see `first_hits`."""
    reached = values <= np.repeat(reachable(targets), np.diff(offsets))
    return first_hits(np.where(reached, 0.0, 1.0), effort, offsets, [0.0])[:, 0]


def ert(runtimes: npt.ArrayLike, budgets: npt.ArrayLike, weights: Floats | None = None) -> Any:
    """The expected running time: what all runs spent until the target, failures all of *their own* effort, per success.

    runtimes: (runs,), (runs, targets) or more axes, inf for failures; budgets: what each run spent in all, (runs,) or
    with more axes of `runtimes`. weights: (resamples, runs), how often each resample draws each run; the result then
    has one row per resample. inf without a success. See docs/scores.md 2.4.
    """
    times, spent = np.asarray(runtimes, dtype=float), np.asarray(budgets, dtype=float)
    hit = np.isfinite(times)
    cost = np.where(hit, times, spent.reshape(*spent.shape, *[1] * (times.ndim - spent.ndim)))
    if weights is None:
        total, successes = cost.sum(axis=0), hit.sum(axis=0)
    else:  # resamples last in memory: percentiles are taken over them
        total, successes = (
            product(each.T.reshape(-1, len(times)), weights.T).reshape(*each.T.shape[:-1], -1).T
            for each in (cost, hit.astype(float))
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        out = np.where(successes > 0, total / successes, np.inf)
    return out if np.ndim(out) else float(out)


def ecdf(runtimes: npt.ArrayLike, x: npt.ArrayLike) -> Any:
    """The fraction of all runtimes that are at most x; those that are inf never are. No restarts.

    See docs/scores.md 2.6.
    """
    out = ecdfs(np.ravel(np.asarray(runtimes, dtype=float))[None, :], x)[0]
    return out if np.ndim(out) else float(out)


def weighted_ecdf(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Where the distribution of weighted values jumps, and its heights there, at most 1 (docs/scores.md 2.6)."""
    x, place = np.unique(values, return_inverse=True)
    y: Floats = np.cumsum(np.bincount(place, weights=weights, minlength=len(x))).astype(float)
    return x, np.minimum(y, 1.0)


def ecdfs(values: Floats, x: npt.ArrayLike) -> Floats:
    """(rows, x): for each row of `values` the fraction that is at most x; 0 of no values (docs/scores.md 2.6).

    Each value is put where it belongs in the sorted x, once; counts add up from left to right.
    """
    points = np.asarray(x, dtype=float)
    order = np.argsort(points, axis=None, kind="stable")
    rows, width = len(values), points.size + 1
    place = np.searchsorted(points.ravel()[order], values, side="left") + width * np.arange(rows)[:, None]
    counts = np.bincount(place.ravel(), minlength=rows * width).reshape(rows, width)[:, :-1]
    out = np.empty((rows, points.size))
    out[:, order] = counts.cumsum(axis=1) / max(1, values.shape[1])
    return out.reshape(rows, *points.shape)
