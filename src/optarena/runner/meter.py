"""What a study is charged: wall and CPU time of each call of others' code, until a line takes the sum with it.

And what that code says that it spent beside time: tokens, money, joules."""

from __future__ import annotations

import time
from collections.abc import Mapping

from optarena.costs import added
from optarena.store.costs import no_costs

SHORT_NS = 10_000
"""What takes less has no time to wait or to use a second core: its CPU time is its wall time."""
TRUST_NS = 1_000_000
"""How long CPU time may be counted on by such short pieces until it is read again."""

_wall = time.perf_counter_ns
_cpu = time.process_time_ns


class Meter:
    """Call `start()` before a call of others' code, and `stop(phase)` after it.

    `spent` is the wall time charged so far. While `free`, nothing is charged: what is recorded was already paid.

    Reading CPU time is a system call that costs more than many an evaluation. So it is read where a call took long, or
    the harness did between two calls; short pieces are counted on from there.
    """

    __slots__ = ("_cpu", "_pending", "_read", "_wall", "costs", "free", "spent")

    def __init__(self, spent: int = 0) -> None:
        self.spent = spent
        self.free = False
        self.costs: dict[str, float] = {}
        """What was reported since the study began."""
        self._pending = no_costs()
        self._wall = self._read = _wall()
        self._cpu = _cpu()

    def start(self) -> None:
        """A call begins."""
        now = _wall()
        own = now - self._wall
        if own < SHORT_NS and now - self._read < TRUST_NS:
            self._cpu += own
        else:
            self._cpu, self._read = _cpu(), now
        self._wall = now

    def stop(self, phase: int) -> None:
        """The call has ended: charge it to a phase (`optarena.store.costs`)."""
        now = _wall()
        used = wall = now - self._wall
        self._wall = now
        if wall < SHORT_NS:
            self._cpu += wall
        else:
            cpu = _cpu()
            used = max(0, cpu - self._cpu)
            self._cpu, self._read = cpu, now
        if not self.free:
            pending = self._pending
            pending[phase] += wall
            pending[phase + 1] += used
            self.spent += wall

    def report(self, costs: Mapping[str, float]) -> None:
        """Others' code says that it spent this."""
        self.costs = added(self.costs, costs)

    def pending(self) -> list[int]:
        """The costs since the last line, for the next one."""
        costs, self._pending = self._pending, no_costs()
        return costs
