"""A solver that is a program: its lines as they come, its end when the budget is over, its death in words."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from optarena.solver import Crashed, Time

LATE = 0.3
"""Seconds after its budget until a program that goes on is asked to end."""
GRACE = 1.0
"""Seconds that it then has; less than the supervisor's own patience, so that its last lines are kept."""
LONGEST_LINE = 1 << 26


class Program:
    """A running program; use as a context manager, so that nothing of it is left behind."""

    def __init__(
        self, command: Sequence[str], directory: Path | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - it ends with us
        self._asked = False
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=directory,
            env={**os.environ, **(environment or {})},
            process_group=0,  # of its own, so that it can be ended with its children
            preexec_fn=_die_with_us if sys.platform == "linux" else None,
        )

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self._signal(signal.SIGKILL)
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._errors.close()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def stop(self) -> None:
        """Ask it to end: what it has found is enough."""
        if not self._asked:
            self._asked = True
            self._signal(signal.SIGTERM)

    def lines(self, budget: Time) -> Iterator[bytes]:
        """Its lines until it ends or is ended; Crashed, if it died of something else than the end of its budget."""
        assert self._process.stdout is not None
        out = self._process.stdout.fileno()
        pending = b""
        end = time.monotonic() + budget.left() + LATE
        while True:
            if not select.select([out], [], [], max(0.0, end - time.monotonic()))[0]:
                if self._asked:
                    self._signal(signal.SIGKILL)
                    break
                self.stop()
                end = time.monotonic() + GRACE
                continue
            block = os.read(out, 1 << 16)
            if not block:
                break
            *lines, pending = (pending + block).split(b"\n")
            yield from lines
            if len(pending) > LONGEST_LINE:
                raise Crashed("it prints a line without an end")
        code = self._code()
        if pending.strip() and not code:  # who dies in the middle of a line may have meant another number
            yield pending
        self._judge(code)

    def _code(self) -> int:
        try:
            return self._process.wait(timeout=GRACE)
        except subprocess.TimeoutExpired:  # it closed its output and lives on
            self._signal(signal.SIGKILL)
            return 0

    def _judge(self, code: int) -> None:
        if code and not self._asked:
            name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            raise Crashed(f"{name}{self.last_words()}")

    def last_words(self) -> str:
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - 4096))
        words = self._errors.read().decode(errors="replace").strip().splitlines()
        return f" ({words[-1][:200]})" if words else ""


def _die_with_us() -> None:
    import ctypes

    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
