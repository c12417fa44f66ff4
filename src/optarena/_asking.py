"""Asking a program that is running: one line to it, one line from it, never waited for beyond a deadline."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from optarena._json import printable
from optarena.children import GRACE, LOOK, Child, TooLong
from optarena.costs import as_costs


class CommandError(Exception):
    """The program failed, or its answer is not valid."""

    def __init__(self, text: str, costs: Mapping[str, float] = MappingProxyType({})) -> None:
        """costs: what it says that it spent nevertheless."""
        super().__init__(text)
        self.costs = costs


def answered_costs(answer: Mapping[str, Any]) -> dict[str, float]:
    """What an answer says that it cost beside time; nothing if it says nothing."""
    try:
        given = answer.get("cost")
        return as_costs({} if given is None else given)
    except (TypeError, ValueError) as error:
        raise CommandError(f"answered a wrong cost: {error}") from None


def start(command: Sequence[str], directory: Path, added: Mapping[str, str] | None = None, *, longest: int) -> Child:
    """The program, running; CommandError says why it does not start."""
    try:
        return Child(command, directory, added, listens=True, longest=longest)
    except OSError as error:
        raise CommandError(f"{command[0]} does not start: {error.strerror}") from error


def ask(child: Child, request: bytes, seconds: float | None, *, once: bool) -> bytes:
    """Write a line and give the line that answers it; `once`: all that is said until its output ends."""
    try:
        if not once:
            child.listen()
            if child.heard:
                raise CommandError(f"wrote {short(child.rest())} before it was asked (one line per evaluation)")
        child.say(request, last=once)
        line = Patience(seconds).line(child, once=once)
    except TooLong as error:
        raise too_long(child, error) from None
    if child.heard:
        raise CommandError(f"wrote more than one line, {short(child.rest())} after {short(line)}")
    if not line.strip():
        raise CommandError("answered nothing")
    return line


class Patience:
    """So many seconds from now; None: for ever."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._deadline = None if seconds is None else time.monotonic() + seconds

    def left(self) -> float | None:
        return None if self._deadline is None else self._deadline - time.monotonic()

    def line(self, child: Child, *, once: bool = False) -> bytes:
        """The next line of a child; `once`: all that it says until its output ends."""
        line = None if once else child.line()
        while line is None and not child.quiet:
            left = self.left()
            if left is not None and left <= 0:
                raise TimeoutError(f"no answer within {self.seconds:g} s")
            child.look(LOOK if left is None else left)
            line = None if once else child.line()
        if line is None:
            line = child.rest()
            self._must_have_ended_well(child, once)
        return line

    def _must_have_ended_well(self, child: Child, once: bool) -> None:
        """Its output has ended: so must the process, with exit code 0 and, where more is to come, not at all."""
        patience: float | None = GRACE
        if once:
            left = self.left()
            patience = None if left is None else max(0.0, left)
        if not child.wait(patience):
            if once:
                raise TimeoutError(f"no end within {self.seconds:g} s")
            raise CommandError("closed its output without an answer")
        if child.code():
            raise CommandError(f"killed by {child.death()}" if child.code() < 0 else child.death())
        if not once:
            raise CommandError("ended without an answer")


def too_long(child: Child, error: TooLong) -> CommandError:
    """What is said of more output than anybody would read."""
    return CommandError(f"answered with {error}, beginning {short(bytes(child.heard[:200]))}")


def last_words(child: Child) -> str:
    """What it wrote to stderr last, to stand behind a failure's text."""
    last = child.last_line()
    return f": {printable(last)[:300]}" if last else ""


def short(value: Any) -> str:
    """What a program said, in a message."""
    text = value.decode("utf-8", "backslashreplace").strip() if isinstance(value, bytes) else str(value)
    return printable(repr(text if len(text) <= 80 else text[:77] + "…"))
