"""How fast this machine is: a fixed piece of work, timed once per process and kept in the files of runs and pilots.

Seconds of two machines can be compared by these speeds (docs/scores.md 0.6).
"""

from __future__ import annotations

import os
import time
from functools import cache
from typing import Any

import numpy as np

from optarena.runner.environment import cpu

PIECES = 100
STEPS, SWEEPS, SIZE = 3000, 100, 1024


@cache
def machine() -> dict[str, Any]:
    """The facts of this machine that a run file has: its CPU, its cores, and its `speed` in pieces of work per second.

    The fastest of 100 pieces counts, in CPU time of this thread: about 0.1 s in all. Other processes disturb it least.
    """
    least = min(_timed() for _ in range(PIECES))
    return {"cpu": cpu(), "cores": os.cpu_count(), "speed": round(1e9 / max(least, 1), 3)}


def _timed() -> int:
    begin = time.thread_time_ns()
    piece()
    return time.thread_time_ns() - begin


def piece() -> tuple[int, float]:
    """The same work everywhere: interpreted Python, then small arrays, without BLAS."""
    state, table = 0, {}
    for i in range(STEPS):
        state = (state * 31 + i) & 0xFFFF
        table[state & 255] = state
    values, total = np.linspace(0.0, 1.0, SIZE), 0.0
    for _ in range(SWEEPS):
        values = values * 0.5 + 0.25
        total += float(np.cumsum(values)[-1])
    return sum(table.values()), total
