"""A small piece of memory that a worker shares with its supervisor: where it is, since when, and how far.

A worker writes plain numbers; the supervisor reads them at any moment, even after the worker has died.
"""

from __future__ import annotations

import mmap
import time
from pathlib import Path

SIZE = 64

# places in the cell
SERIAL, PHASE, EVALUATION, SINCE, DONE, ROWS, STARTED = range(7)

# phases
IDLE, SETUP, SUGGEST, EVALUATE, OBSERVE, CLOSE = range(6)
# what a study replaces in `time` must not change the clock that its supervisor compares with
_now = time.monotonic_ns

PHASES = ("idle", "setting up", "suggest", "evaluate", "observe", "closing")


class Cell:
    """Opened by both sides on the same file."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        if create:
            path.write_bytes(bytes(SIZE))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), SIZE)
        self.view = memoryview(self._map).cast("q")

    def take(self, serial: int) -> None:
        """A task was taken; the clock of its study stands still while its problem and its library are loaded."""
        view = self.view
        view[DONE] = view[STARTED] = 0
        view[SERIAL] = serial  # last: what stands above must not be taken for the new task's

    def start(self) -> None:
        """The clock of the study starts: its optimizer is about to be created. A second attempt does not restart it."""
        self.view[STARTED] = self.view[STARTED] or _now()

    def enter(self, phase: int) -> None:
        view = self.view
        view[SINCE] = _now()
        view[PHASE] = phase

    def evaluate(self, k: int, rows: int) -> None:
        """Evaluation k begins, or k to k + rows - 1 as one matrix."""
        view = self.view
        view[EVALUATION] = k
        view[ROWS] = rows
        view[SINCE] = _now()
        view[PHASE] = EVALUATE

    def close(self) -> None:
        self.view.release()
        self._map.close()


class NoCell:
    """Where nobody watches: a study in this very process."""

    def start(self) -> None:
        pass

    def enter(self, phase: int) -> None:
        pass

    def evaluate(self, k: int, rows: int) -> None:
        pass
