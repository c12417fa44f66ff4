"""A small piece of memory that a worker shares with its supervisor: where it is, since when, and how far.

A worker writes plain numbers; the supervisor reads them at any moment, even after the worker has died.
"""

from __future__ import annotations

import mmap
import tempfile
import time
from typing import IO

SIZE = 64

# places in the cell
SERIAL, PHASE, EVALUATION, SINCE, DONE, ROWS, STARTED = range(7)

# phases
IDLE, SETUP, SUGGEST, EVALUATE, OBSERVE, CLOSE = range(6)
# what a study replaces in `time` must not change the clock that its supervisor compares with
_now = time.monotonic_ns

PHASES = ("idle", "setting up", "suggest", "evaluate", "observe", "closing")


def memory() -> IO[bytes]:
    """A new piece of memory, as a file that no directory has."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 (who asked closes it)
    file.write(bytes(SIZE))  # not only its size: a full disk is an error now, and not a death later
    file.flush()
    return file


class Cell:
    """Opened by both sides on the same piece of memory, of which the mapping is all that they keep."""

    def __init__(self, descriptor: int) -> None:
        self._map = mmap.mmap(descriptor, SIZE)
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
    """Without a supervisor: a study in this process."""

    def start(self) -> None:
        pass

    def enter(self, phase: int) -> None:
        pass

    def evaluate(self, k: int, rows: int) -> None:
        pass
