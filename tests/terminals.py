"""Commands in a real terminal of a given width, and what is on its screen then."""

import fcntl
import os
import pty
import re
import signal
import struct
import sys
import termios
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path

CONTROL = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|\x1b[()][A-Z0-9]|\x1b[=>]")


def cells(text: str) -> int:
    """How wide a text is on a screen."""
    return sum(0 if unicodedata.combining(s) else 1 + (unicodedata.east_asian_width(s) in "WF") for s in text)


class Screen:
    """As much of a terminal as our output needs: text, line ends, moves of the cursor, erasing; no wrapping."""

    def __init__(self) -> None:
        self.lines: list[list[str]] = [[]]
        self.row = self.column = 0
        self.hidden = False
        """Whether the cursor is."""

    def feed(self, text: str) -> None:
        at = 0
        while at < len(text):
            if found := CONTROL.match(text, at):
                self._control(found[1] or "", found[2] or "")
                at = found.end()
                continue
            if text[at] == "\r":
                self.column = 0
            elif text[at] == "\n":
                self.row += 1
                while len(self.lines) <= self.row:
                    self.lines.append([])
            else:
                line = self.lines[self.row]
                line += [" "] * (self.column + 1 - len(line))
                line[self.column] = text[at]
                self.column += 1
            at += 1

    def _control(self, given: str, kind: str) -> None:
        n = int(given) if given.isdecimal() else 1
        if kind == "A":
            self.row = max(0, self.row - n)
        elif kind == "K":
            self.lines[self.row] = [] if given == "2" else self.lines[self.row][: self.column]
        elif kind == "J":
            del self.lines[self.row + 1 :]
        elif given == "?25":
            self.hidden = kind == "l"

    @property
    def text(self) -> str:
        return "\n".join("".join(line).rstrip() for line in self.lines).rstrip()


def on_terminal(
    *words: str,
    width: int = 80,
    seen: Callable[[Screen], bool] | None = None,
    seconds: float = 120.0,
    stdout: Path | None = None,
) -> tuple[int, Screen, list[str]]:
    """Run `optarena words…` on a terminal: its exit code, the screen at the end, and all lines that were ever written.

    seen: press Ctrl-C when this is true of the screen. stdout: a file that takes standard output, as a pipe would.
    """
    pid, fd = pty.fork()
    if pid == 0:
        os.environ |= {"TERM": "xterm"}
        os.environ.pop("COLUMNS", None)
        os.environ.pop("NO_COLOR", None)
        if stdout is not None:
            os.dup2(os.open(stdout, os.O_WRONLY | os.O_CREAT, 0o600), 1)
        time.sleep(0.05)  # until the terminal has its size
        os.execv(sys.executable, [sys.executable, "-m", "optarena", *words])
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    screen, written, rest = Screen(), "", b""
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            try:
                block = os.read(fd, 65536)
            except OSError:
                break
            if not block:
                break
            text = (rest + block).decode(errors="ignore")
            rest = b""
            screen.feed(text)
            written += text
            if seen is not None and seen(screen):
                os.write(fd, b"\x03")
                seen = None
        else:
            os.kill(pid, signal.SIGKILL)
            raise AssertionError(f"did not end in {seconds} s:\n{screen.text}")
    finally:
        os.close(fd)
        _, status = os.waitpid(pid, 0)
    plain = CONTROL.sub("", written)
    return os.waitstatus_to_exitcode(status), screen, [line for line in re.split(r"[\r\n]+", plain) if line]


def too_wide(lines: list[str], width: int) -> list[str]:
    """The lines that a terminal of this width would break."""
    return [line for line in lines if cells(line) > width]
