"""What a line of a journal cost: nanoseconds of wall and of CPU time in three phases.

Six numbers in this order: wall and CPU time of suggesting, of evaluating, and of the observe before the line. A phase
is named by the place of its wall time; its CPU time follows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from optarena.traces import Ints

SUGGEST, EVALUATE, OBSERVE = 0, 2, 4
WALL = [SUGGEST, EVALUATE, OBSERVE]
CPU = [place + 1 for place in WALL]
NUMBERS = 6
SECONDS = 1e-9  # of a nanosecond
NANOSECONDS = 1e9  # of a second


def no_costs() -> list[int]:
    """The costs of a line that cost nothing, or of which nothing is known."""
    return [0] * NUMBERS


def costs_of(phase: int, wall: int, cpu: int) -> list[int]:
    """The costs of a single phase."""
    out = no_costs()
    out[phase], out[phase + 1] = wall, cpu
    return out


def spread(costs: Ints, rows: Sequence[int] | Ints) -> Ints:
    """The costs of lines as costs of their rows: whole nanoseconds, whose sum is that of the line.

    A line's evaluating is shared by its rows; its suggesting and the observe before it fall to the first.
    costs: (lines, 6); rows: how many each line has.
    """
    n = np.asarray(rows, dtype=np.int64)
    if (n == 1).all():
        return costs
    whole, rest = np.divmod(costs[:, EVALUATE : EVALUATE + 2], np.maximum(n, 1)[:, None])
    first = np.cumsum(n) - n
    place = np.arange(int(n.sum())) - np.repeat(first, n)
    out = np.zeros((len(place), NUMBERS), dtype=np.int64)
    for phase in (SUGGEST, OBSERVE):
        out[first[n > 0], phase : phase + 2] = costs[n > 0, phase : phase + 2]
    out[:, EVALUATE : EVALUATE + 2] = np.repeat(whole, n, axis=0)
    out[:, EVALUATE : EVALUATE + 2] += place[:, None] < np.repeat(rest, n, axis=0)
    return out
