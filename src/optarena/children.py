"""Programs that communicate by lines: started in their own process group, read, and ended with all their children.

    child = Child(["./simulate"], listens=True, longest=1 << 20)
    child.say(b'{"x": 1}\n')
    while (line := child.line()) is None and not child.quiet:
        child.look(0.05)
    child.end()

A child is never waited for beyond a deadline: its pipes do not block, and its stderr is read away but for the tail.
What its lines mean is for others to say: `problems.command` asks and is answered, `solvers` follow a stream.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

_now, _sleep = time.monotonic, time.sleep

LOOK = 0.05
"""Seconds between looks at whether a silent process is still there."""
GRACE = 1.0
"""Seconds to end by itself when its input has ended, and again when it was asked to."""
KEPT_OF_STDERR = 4096
BLOCK = 1 << 16
BLOCKS_AT_ONCE = 16


class TooLong(Exception):
    """More was said than anybody would read: `Child.heard` has its beginning."""


class Child:
    """One life of a program. It starts, or OSError says why not.

    listens: it has an input, and is expected to end with it; one that does not listen is killed when we die (on Linux).
    What a worker started is killed when its supervisor dies (`_process.ended_with_us`), listening or not.
    longest: how many bytes may wait to be taken as lines. added: to the environment.
    """

    def __init__(
        self,
        command: Sequence[str],
        directory: Path | None = None,
        added: Mapping[str, str] | None = None,
        *,
        listens: bool,
        longest: int,
    ) -> None:
        self._popen = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE if listens else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=directory,
            env={**os.environ, **(added or {})},
            bufsize=0,
            process_group=0,  # the session stays ours, so that who kills our session kills it too
            preexec_fn=None if listens or sys.platform != "linux" else _die_with_us,
        )
        assert self._popen.stdout is not None
        assert self._popen.stderr is not None
        self._in, self._out, self._err = self._popen.stdin, self._popen.stdout, self._popen.stderr
        self.heard = bytearray()
        """Its output that was not read yet."""
        self.quiet = False
        """Its output has ended, or it has and nothing more will come."""
        self._longest = longest
        self._searched = 0
        self._to_say = b""
        self._waits_to_say = False
        self._last = False
        self._complaints = b""
        self._code: int | None = None
        self._poll = select.poll()
        for pipe in (self._out, self._err):
            os.set_blocking(pipe.fileno(), False)
            self._poll.register(pipe, select.POLLIN)
        if self._in is not None:
            os.set_blocking(self._in.fileno(), False)

    # ---- talking -----------------------------------------------------------------------------------------------------

    def say(self, data: bytes, *, last: bool = False) -> None:
        """Give it this to read, what does not fit at once while `look` is called; last: its input then ends."""
        assert self._in is not None
        self._to_say, self._last = self._to_say + data, last
        self._write()

    def look(self, seconds: float) -> None:
        """Wait a moment, at most so long, for something to happen: hear what it says, give what it takes."""
        ready = dict(self._poll.poll(min(seconds, LOOK) * 1000))
        if self._in is not None and not self._in.closed and self._in.fileno() in ready:
            self._write()
        if self._err.fileno() in ready and not self._complain():
            self._poll.unregister(self._err)
        if self._out.fileno() in ready:
            self.listen()
        elif self.gone():  # its output may be held open by a child that it left behind
            self.listen()
            self.quiet = True

    def listen(self) -> None:
        """Take what its output holds, without waiting."""
        for _ in range(BLOCKS_AT_ONCE):
            try:
                block = os.read(self._out.fileno(), BLOCK)
            except BlockingIOError:
                return
            except OSError:
                block = b""
            if not block:
                self.quiet = True
                return
            self.heard += block
            if len(self.heard) > self._longest:
                raise TooLong(f"more than {self._longest >> 20} MB")

    def line(self) -> bytes | None:
        """The next complete line, without its end, or None as long as there is none."""
        at = self.heard.find(b"\n", self._searched)
        if at < 0:
            self._searched = len(self.heard)
            return None
        line = bytes(self.heard[:at])
        del self.heard[: at + 1]
        self._searched = 0
        return line

    def rest(self) -> bytes:
        """All of its output that was not read, as after its end."""
        text = bytes(self.heard)
        self.heard.clear()
        self._searched = 0
        return text

    def last_line(self) -> str:
        """What it wrote to stderr last; empty if nothing."""
        lines = self._complaints.decode("utf-8", "backslashreplace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def _write(self) -> None:
        """Write what the pipe takes; nothing is left to say to one that does not listen."""
        assert self._in is not None
        try:
            self._to_say = self._to_say[os.write(self._in.fileno(), self._to_say) :]
        except BlockingIOError:
            pass
        except OSError:
            self._to_say = b""
        if bool(self._to_say) != self._waits_to_say:
            self._waits_to_say = not self._waits_to_say
            if self._waits_to_say:
                self._poll.register(self._in, select.POLLOUT)
            else:
                self._poll.unregister(self._in)
        if not self._to_say and self._last:
            self._in.close()

    def _complain(self) -> bool:
        """Take what stderr holds, and keep the tail; False at its end."""
        while True:
            try:
                block = os.read(self._err.fileno(), BLOCK)
            except BlockingIOError:
                return True
            except (OSError, ValueError):
                return False
            if not block:
                return False
            self._complaints = (self._complaints + block)[-KEPT_OF_STDERR:]
            if len(block) < BLOCK:
                return True

    # ---- its end -----------------------------------------------------------------------------------------------------

    def gone(self) -> bool:
        """Whether it has ended; it is not waited for yet where the system can tell so, and so keeps its group's id."""
        if self._code is not None:
            return True
        if hasattr(os, "waitid"):
            return os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        self._code = self._popen.poll()
        return self._code is not None

    def wait(self, seconds: float | None) -> bool:
        """Wait for it to end, for ever without a limit; what it says goes nowhere: a full pipe would never let it."""
        deadline = None if seconds is None else _now() + seconds
        delay = 0.0002
        while not self.gone():
            if deadline is not None and _now() >= deadline:
                return False
            _sleep(delay)
            delay = min(2 * delay, 0.02)
            self.rest()
            with contextlib.suppress(TooLong):
                self.listen()
            self._complain()
        self._complain()
        return True

    def signal(self, number: int) -> None:
        """Send a signal to it and to all that it started, while its group's id is certainly its own."""
        if self._code is None or not hasattr(os, "waitid"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._popen.pid, number)

    def code(self) -> int:
        """Its exit code, waited for; what it left of its group is ended first."""
        if self._code is None:
            self.signal(signal.SIGKILL)
            self._code = self._popen.wait()
            _reap_group(self._popen.pid)
        return self._code

    def death(self) -> str:
        """The signal that killed it, or its exit code, in words; empty if all was well."""
        code = self.code()
        return signal_name(-code) if code < 0 else f"exit code {code}" if code else ""

    def end(self, *, now: bool = False) -> None:
        """End it and all that it started: its input ends, it is asked to end, it is killed; and no pipe stays open."""
        try:
            _close(self._in)
            if not self.wait(0.0 if now else GRACE):
                self.signal(signal.SIGTERM)
                self.wait(GRACE)
        finally:
            self.kill()

    def kill(self) -> None:
        """The same without asking."""
        self.signal(signal.SIGKILL)
        self._complain()
        self.code()
        for pipe in (self._in, self._out, self._err):
            _close(pipe)


def signal_name(number: int) -> str:
    """SIGKILL, say."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _reap_group(group: int) -> None:
    """Wait for what was left of a killed group and came to us, if we adopt orphans; never waits long."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-group, os.WNOHANG)[0]:
            pass


def _close(pipe: IO[Any] | None) -> None:
    if pipe is not None:
        pipe.close()


def _die_with_us() -> None:
    import ctypes

    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
