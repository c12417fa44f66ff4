"""What failures in a row spend before a success: the exact part of simulated restarts (docs/scores.md 2.5)."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from optarena.traces import Floats, Ints

MOST_JUMPS = 1_000_000
NEGLIGIBLE = 1e-16
MOST_BLOCKS = 10_000
CELLS = 2000


class Waits(NamedTuple):
    """What failures in a row may have spent together before a success."""

    sums: Floats
    """All possible sums, ascending, 0 first."""
    chance: Floats
    """The expected number of rows of failures with at most this sum, each counted with its chance."""

    def within(self, effort: Floats) -> Floats:
        """`chance` at any effort; 0 below 0."""
        return np.append(self.chance, 0.0)[np.searchsorted(self.sums, effort, side="right") - 1]


def failures_in_a_row(failures: Floats, n: int, most: float) -> Waits | None:
    """All sums up to `most` of the efforts of failures in a row, of n runs; None if there are too many.

    See docs/scores.md 2.5.
    """
    efforts, counts = np.unique(failures[failures > 0], return_counts=True)
    chances = counts / n
    if not len(efforts) or most < efforts[0]:
        return Waits(np.zeros(1), np.ones(1))
    # longer rows of failures are as good as impossible
    longest = 1 + int(np.ceil(np.log(NEGLIGIBLE) / np.log(chances.sum())))
    most = min(most, efforts[-1] * longest)
    if (efforts == np.floor(efforts)).all():
        unit = int(np.gcd.reduce(efforts.astype(np.int64)))
        if most // unit < MOST_JUMPS:
            found = _whole_numbers(efforts.astype(np.int64) // unit, chances, int(most // unit))
            sums = np.flatnonzero(found)
            return Waits(sums.astype(float) * unit, np.cumsum(found[sums]))
    if math.comb(longest + len(efforts), longest) > MOST_JUMPS and _fewest_sums(efforts, most) > MOST_JUMPS:
        return None
    return _any_numbers(efforts, chances, longest, most)


def _fewest_sums(efforts: Floats, most: float) -> float:
    """A lower bound of the number of sums up to `most`, each with how often it takes which effort: efforts rounded up.

    For each effort in turn: the ways to reach a sum, and those to reach it with one more of this effort.
    """
    ways = np.zeros(CELLS + 1)
    ways[0] = 1.0
    for step in np.ceil(efforts / most * CELLS).astype(np.int64).tolist():
        for low in range(step, CELLS + 1, step):
            high = min(low + step, CELLS + 1)
            ways[low:high] += ways[low - step : high - step]
    return float(ways.sum())


def _whole_numbers(efforts: Ints, chances: Floats, most: int) -> Floats:
    """(most + 1,): W(w) = [w = 0] + sum over failures u of chance_u W(w - u).

    Blocks as long as the least effort depend only on what lies before them.
    """
    out = np.zeros(most + 1)
    out[0] = 1.0
    step = int(efforts[0])
    if most // step > MOST_BLOCKS:
        return _series_inverse(efforts, chances, most)
    pairs = list(zip(efforts.tolist(), chances.tolist(), strict=True))
    for low in range(step, most + 1, step):
        high = min(low + step, most + 1)
        for effort, chance in pairs:
            if effort >= high:
                break
            begin = max(low, effort)
            out[begin:high] += chance * out[begin - effort : high - effort]
    return out


def _series_inverse(efforts: Ints, chances: Floats, most: int) -> Floats:
    """The same as the series 1/(1 - sum of chance_u z^u), by Newton's steps, each of twice the length."""
    series = np.zeros(most + 1)
    series[0] = 1.0
    inside = efforts <= most
    series[efforts[inside]] = -chances[inside]
    out = np.ones(1)
    while len(out) < most + 1:
        length = min(2 * len(out), most + 1)
        size = 4 * len(out)
        spectrum = np.fft.rfft(out, size)
        wrong = np.fft.irfft(spectrum * np.fft.rfft(series[:length], size), size)[:length]
        step = np.fft.irfft(spectrum * np.fft.rfft(-wrong, size), size)[:length]
        step[: len(out)] += 2 * out
        out = step
    return np.where(np.abs(out) > NEGLIGIBLE, np.maximum(out, 0.0), 0.0)


def _any_numbers(efforts: Floats, chances: Floats, longest: int, most: float) -> Waits | None:
    """The same for efforts that are not whole numbers: for each effort in turn, it once more, twice more, …"""
    sums, counts, weights = np.zeros(1), np.zeros(1), np.ones(1)
    for effort, chance in zip(efforts.tolist(), chances.tolist(), strict=True):
        parts, found = [(sums, counts, weights)], len(sums)
        for times in itertools.count(1):
            keep = (sums + effort <= most) & (counts < longest)
            sums, counts = sums[keep] + effort, counts[keep] + 1
            # of the orders that a row of failures may have: count!/(times! …)
            weights = weights[keep] * chance * counts / times
            found += len(sums)
            if found > MOST_JUMPS:
                return None
            if not len(sums):
                break
            parts.append((sums, counts, weights))
        sums, counts, weights = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(sums, kind="stable")
    return Waits(sums[order], np.cumsum(weights[order]))
