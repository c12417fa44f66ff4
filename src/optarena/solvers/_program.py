"""A solver that is a program: its lines as they come, its end when the budget is over, its death in words."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from optarena.children import GRACE, Child, TooLong
from optarena.solver import Crashed, Time

LATE = 0.3
"""Seconds after its budget until a program that is still running is asked to end.

It then has `GRACE`, less than the supervisor's own patience, so that its last lines are kept."""
LONGEST_LINE = 1 << 26


class Program:
    """A running program; use as a context manager, so that nothing of it is left behind."""

    def __init__(
        self, command: Sequence[str], directory: Path | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self._child = Child(command, directory, environment, listens=False, longest=LONGEST_LINE)
        self._asked = False

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.kill()

    def stop(self) -> None:
        """Ask it to end: what it has found is enough."""
        if not self._asked:
            self._asked = True
            self._child.signal(signal.SIGTERM)

    def lines(self, budget: Time) -> Iterator[bytes]:
        """Its lines until it ends or is ended; Crashed, if it died of something else than the end of its budget."""
        child = self._child
        end = time.monotonic() + budget.left() + LATE
        while not child.quiet:
            left = end - time.monotonic()
            if left > 0:
                try:
                    child.look(left)
                except TooLong:
                    raise Crashed("it prints an endless line") from None
                while (line := child.line()) is not None:
                    yield line
            elif self._asked:
                child.signal(signal.SIGKILL)
                break
            else:
                self.stop()
                end = time.monotonic() + GRACE
        torn = child.rest()
        how = child.death() if child.wait(GRACE) else ""  # one that closed its output and lives on is not judged
        if torn.strip() and not how:  # who dies in the middle of a line may have meant another number
            yield torn
        if how and not self._asked:
            words = child.last_line()
            raise Crashed(f"{how} ({words[:200]})" if words else how)
