"""Telling an interrupt from a KeyboardInterrupt that a problem or an optimizer raises by itself.

A worker has handlers of its own, so it knows whether a signal came. In the user's own process (`workers=0`) they are
not ours to replace, and every KeyboardInterrupt passes for the user's.
"""

from __future__ import annotations

import signal
from types import FrameType
from typing import NoReturn

_watching = False
_came = False


def watch() -> None:
    """Make SIGINT and SIGTERM interrupts, once: a second one does not disturb the end that the first one begins."""
    global _watching
    _watching = True
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGINT, _interrupt)


def is_interrupt(error: BaseException) -> bool:
    """Whether an exception means that somebody wants this process to end."""
    return isinstance(error, KeyboardInterrupt) and (_came or not _watching)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    global _came
    _came = True
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt
