"""The scores of one run or of one instance, as pure functions on arrays; values are minimised.

See docs/scores.md 4.1, 4.3 to 4.6, 4.8.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from optarena.errors import OptarenaError
from optarena.traces import Floats, Ints, cumulative_minimum


def envelope(times: npt.ArrayLike, values: npt.ArrayLike, tolerance: float = 0.0) -> tuple[Floats, Floats]:
    """The best so far of one run: its strictly improving events, at equal times the best (docs/scores.md 4.1).

    tolerance: by how much an event must be better than the one before it to count. Values that are not finite are no
    solutions.
    """
    t, v = np.asarray(times, dtype=float), np.asarray(values, dtype=float)
    if t.shape != v.shape or t.ndim != 1:
        raise OptarenaError(f"times and values must be two lists of the same length; got {t.shape} and {v.shape}")
    order = np.argsort(t, kind="stable")
    kept, best = improving(t[order], v[order], np.array([0, len(t)]), tolerance)
    return t[order][kept], best


def improving(times: Floats, values: Floats, offsets: Ints, tolerance: float = 0.0) -> tuple[Ints, Floats]:
    """The rows where the envelopes of all runs fall, and the best value then (docs/scores.md 4.1).

    Run i owns rows offsets[i] to offsets[i+1], by time. Of equal times the last row stands for all.
    """
    if not tolerance >= 0:
        raise OptarenaError(f"a tolerance is 0 or more; got {tolerance}")
    if np.isnan(times).any():
        raise OptarenaError("a time is NaN: every event needs its place on the axis")
    run = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    best = cumulative_minimum(np.where(np.isfinite(values), values, np.inf), offsets)
    following = np.append((run[1:] == run[:-1]) & (times[1:] == times[:-1]), False)[: len(run)]
    kept = np.flatnonzero((best < np.inf) & ~following)  # the last of equal times has the best of them
    best, run = best[kept], run[kept]
    first = np.append(True, run[1:] != run[:-1])[: len(run)]
    better = first | (best < np.append(np.inf, best[:-1])[: len(best)])
    kept, best, run, first = kept[better], best[better], run[better], first[better]
    if tolerance == 0 or not len(kept):
        return kept, best
    # from each event the next that is better by more than the tolerance: values fall within a run, so bisect
    ends = np.searchsorted(run, run, side="right")
    low, high = np.arange(len(kept)) + 1, ends.copy()
    while (low < high).any():
        middle = (low + high) // 2
        enough = best[np.minimum(middle, len(best) - 1)] < best - tolerance
        open_ = low < high
        high = np.where(open_ & enough, middle, high)
        low = np.where(open_ & ~enough, middle + 1, low)
    chosen = np.zeros(len(kept), dtype=bool)
    here = np.flatnonzero(first)
    while len(here):
        chosen[here] = True
        here = low[here][low[here] < ends[here]]
    return kept[chosen], best[chosen]


def objective_score(best: npt.ArrayLike, worst: npt.ArrayLike, value: npt.ArrayLike | None) -> Any:
    """Where a run's last value lies between the best of all (0) and the worst first value of all (1); 1: no solution.

    best, worst: of all that take part, minimised. Where they are the same, whoever solved it scores 0. Numbers, or
    arrays of many runs; None and NaN are no solution. See docs/scores.md 4.3.
    """
    low, high = np.asarray(best, dtype=float), np.asarray(worst, dtype=float)
    last = np.asarray(value, dtype=float)  # None is NaN
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.where(high == low, 0.0, (last - low) / (high - low))
    out = np.where(np.isfinite(last), part, 1.0)
    return out if out.ndim else float(out)


def area_score(
    times: npt.ArrayLike, values: npt.ArrayLike, best: float, worst: float, start: float, end: float
) -> float | None:
    """The area under a run's envelope, as a part of the box from start to end and from best to worst.

    Before its first solution a run stands at the worst, after its last at its own best. Events after `end` are
    dropped. None where the horizon has no width; 1 without a solution. See docs/scores.md 4.4.
    """
    t, v, (low, high) = _curve(times, values, start, end)
    spans = spans_of(t, np.array([0, len(t)]), low, high)
    over = spans.integral(v - best)
    area = float(area_scores(spans.wait, over, np.array([best]), np.array([worst]), low, high)[0])
    return None if math.isnan(area) else area


def area_scores(wait: Floats, over: Floats, best: Floats, worst: Floats, start: Floats, end: Floats) -> Floats:
    """(runs,): the area score of each run; NaN where the horizon has no width (docs/scores.md 4.4).

    wait: how long it had no solution; over: the integral of value - best from then to the end.
    """
    height, width = worst - best, end - start
    with np.errstate(invalid="ignore", divide="ignore"):
        area = np.where(height == 0, wait / width, wait / width + over / height / width)
    return np.where(width > 0, area, np.nan)


class Spans(NamedTuple):
    """How long each event of many runs is the best; what every integral over the horizon is made of."""

    run: Ints
    """(events,): the run of each."""
    width: Floats
    """(events,)"""
    wait: Floats
    """(runs,): from the start to the first event; the whole horizon without one."""

    def integral(self, heights: Floats) -> Floats:
        """(runs,): of a quantity of the events, from the first event to the end."""
        total: Floats = np.bincount(self.run, weights=heights * self.width, minlength=len(self.wait)).astype(float)
        return total


def spans_of(times: Floats, offsets: Ints, start: Floats, end: Floats) -> Spans:
    """times: of the events of envelopes, run after run; start, end: (runs,), the horizons (docs/scores.md 4.4)."""
    some = np.diff(offsets) > 0
    run = np.repeat(np.arange(len(some)), np.diff(offsets))
    inside = np.clip(times, start[run], end[run])
    stop = np.append(inside[1:], np.nan)[: len(inside)]
    stop[offsets[1:][some] - 1] = end[some]
    first = end.copy()
    first[some] = inside[offsets[:-1][some]]
    return Spans(run, stop - inside, first - start)


def _curve(times: npt.ArrayLike, values: npt.ArrayLike, start: float, end: float | None) -> tuple[Floats, Floats, Any]:
    """The envelope of one run up to the end (None: its last event), and its horizon as arrays."""
    t, v = envelope(times, values)
    stop = end if end is not None else float(t[-1]) if len(t) else start
    kept = t <= stop
    return t[kept], v[kept], (np.array([start], dtype=float), np.array([stop], dtype=float))


def primal_gap(value: float | None, best: float) -> float:
    """How far a value is from the best known: 0 at it, 1 without a solution or where the signs differ (Berthold).

    See docs/scores.md 4.5.
    """
    return float(primal_gaps(np.array([np.nan if value is None else value]), np.array([best]))[0])


def primal_gaps(values: Floats, best: Floats) -> Floats:
    """The primal gap of each value to its best known; 1 where the value is not finite (docs/scores.md 4.5)."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        larger, away = np.maximum(np.abs(values), np.abs(best)), np.abs(values - best)
        # the difference is exact where the two are near; it may overflow where they are not
        gap = np.where(np.isfinite(away), away / larger, np.abs(values / larger - best / larger))
        apart = ~np.isfinite(values) | (np.sign(values) * np.sign(best) < 0)
    return np.where(apart, 1.0, np.where(values == best, 0.0, gap))


def primal_integral(
    times: npt.ArrayLike, values: npt.ArrayLike, best: float, start: float = 0.0, end: float | None = None
) -> float:
    """The integral of the primal gap from start to end (by default the last event), not divided by its length.

    See docs/scores.md 4.6.
    """
    t, v, (low, high) = _curve(times, values, start, end)
    spans = spans_of(t, np.array([0, len(t)]), low, high)
    return float(primal_integrals(spans, primal_gaps(v, np.full(len(v), best)))[0])


def primal_integrals(spans: Spans, gaps: Floats) -> Floats:
    """(runs,): the integral of the gaps of the events, 1 before the first (docs/scores.md 4.6)."""
    return spans.wait + spans.integral(gaps)


def borda(
    times: npt.ArrayLike,
    values: npt.ArrayLike | None = None,
    proved: npt.ArrayLike | None = None,
    proofs: npt.ArrayLike | None = None,
) -> Floats:
    """(optimizers,): the points of each over all instances, one for every other that it beats (MiniZinc challenge).

    times: (instances, optimizers), when each had its best, inf or NaN where it found nothing. values: what it had
    then, minimised; the same for all by default. proved: whether it proved that nothing is better; proofs: when, by
    default with its best.

    Per pair and instance the better value gets 1 and the other 0, of equal values the one with a proof; else each gets
    the other's share of their times (of the proofs where both have one), 1/2 where both are 0. Who found nothing gets
    0. See docs/scores.md 4.8.
    """
    t = np.asarray(times, dtype=float)  # None is NaN
    if t.ndim != 2:
        raise OptarenaError(f"times are (instances, optimizers); got the shape {t.shape}")
    t = np.where(np.isnan(t), np.inf, t)
    v = np.zeros_like(t) if values is None else np.asarray(values, dtype=float)
    p = np.zeros(t.shape, dtype=bool) if proved is None else np.asarray(proved, dtype=bool)
    when = t if proofs is None else np.asarray(proofs, dtype=float)
    return borda_points(t[:, :, None], v[:, :, None], p[:, :, None], when[:, :, None]).sum(axis=0)


def borda_points(times: Floats, values: Floats, proved: npt.NDArray[np.bool_], proofs: Floats) -> Floats:
    """(instances, optimizers): Borda points, averaged over all pairs of trials. All are (…, …, trials); NaN or inf
    times where a trial found nothing, NaN values where there is no such trial. proofs: the times of the proofs.
    See docs/scores.md 4.8."""
    out = np.zeros(times.shape[:2])
    exists = ~np.isnan(values) | ~np.isnan(times)
    solved = np.isfinite(times) & ~np.isnan(values)
    for a in range(times.shape[1]):
        for b in range(a + 1, times.shape[1]):
            one, two = (slice(None), a, slice(None), None), (slice(None), b, None, slice(None))
            proof = proved[one] & proved[two]
            t, t2 = (np.where(proof, proofs[who], times[who]) for who in (one, two))
            first = _pair(t, values[one], proved[one], t2, values[two], proved[two])
            both = solved[one] & solved[two]
            points_a = np.where(both, first, np.where(solved[one], 1.0, 0.0))
            points_b = np.where(both, 1.0 - first, np.where(solved[two], 1.0, 0.0))
            pairs = exists[one] & exists[two]
            count = np.maximum(pairs.sum(axis=(1, 2)), 1)
            out[:, a] += np.where(pairs, points_a, 0.0).sum(axis=(1, 2)) / count
            out[:, b] += np.where(pairs, points_b, 0.0).sum(axis=(1, 2)) / count
    return out


def _pair(
    t: Floats, v: Floats, p: npt.NDArray[np.bool_], t2: Floats, v2: Floats, p2: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    """The first's points where both solved the instance."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(t + t2 > 0, t2 / (t + t2), 0.5)
    equal = np.where(p == p2, share, np.where(p, 1.0, 0.0))
    return np.where(v < v2, 1.0, np.where(v > v2, 0.0, equal))
