"""What a line of a journal cost: nanoseconds of wall and of CPU time in three phases.

Six numbers in this order: wall and CPU time of suggesting, of evaluating, and of the observe before the line. A phase
is named by the place of its wall time; its CPU time follows.
"""

from __future__ import annotations

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
