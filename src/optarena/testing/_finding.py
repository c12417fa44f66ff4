"""What a check says, and where in the user's file it looks."""

from __future__ import annotations

import contextlib
import inspect
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

import optarena

PACKAGE = str(Path(optarena.__file__).parent)
ADAPTERS = tuple(str(Path(PACKAGE) / room) for room in ("optimizers", "problems", "solvers"))
LIBRARIES = tuple(dict.fromkeys(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")))


class Finding(msgspec.Struct, frozen=True):
    """One thing that is not as the contract says."""

    check: str
    where: str
    problem: str
    fix: str
    place: str = ""
    """The file and the line to look at: `mine.py:12`."""
    traceback: str = ""
    """The user's own part of it, and where it was raised."""

    def __str__(self) -> str:
        at = f"{self.place}: " if self.place else ""
        shown = f"\n{self.traceback}" if self.traceback else ""
        return f"{at}{self.check} ({self.where}): {self.problem}. {self.fix}{shown}"


def once(findings: Sequence[Finding]) -> list[Finding]:
    """Each finding once: the same fault may show in several checks, and on several spaces."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for one in findings:
        kind = one.problem.partition(":")[0]
        groups.setdefault((one.place, kind) if one.traceback else (one.check, one.fix), []).append(one)
    out = []
    for same in groups.values():
        checks = "; ".join(dict.fromkeys(one.check for one in same))
        out.append(
            msgspec.structs.replace(same[0], check=checks, where=_all(list(dict.fromkeys(s.where for s in same))))
        )
    return out


def _all(places: list[str]) -> str:
    """'real, integer and mixed space'."""
    if len(places) == 1:
        return places[0]
    stems = [place.removesuffix(" space") for place in places[:-1]]
    return f"{', '.join(stems)} and {places[-1]}"


# ---- where ---------------------------------------------------------------------------------------------------------


def blame(error: BaseException) -> tuple[str, str]:
    """The place in the user's file, and the traceback with the user's frames alone and the last; empty without any."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith(("<", PACKAGE, *LIBRARIES))]
    own = own or [frame for frame in frames if frame.filename.startswith(ADAPTERS)]
    if not own:
        return "", ""
    shown = list(own)
    if not frames[-1].filename.startswith(PACKAGE) and frames[-1] is not own[-1]:
        shown.append(frames[-1])
    lines = []
    for frame in shown:
        lines.append(f"{_short(frame.filename)}:{frame.lineno}, in {frame.name}")
        lines += [f"  {frame.line}"] if frame.line else []
    return f"{_short(own[-1].filename)}:{own[-1].lineno}", "\n".join(lines)


def place_of(function: Any) -> str:
    """Where a function or a method is defined."""
    code = getattr(inspect.unwrap(getattr(function, "__func__", function)), "__code__", None)
    return "" if code is None else f"{_short(code.co_filename)}:{code.co_firstlineno}"


def _short(path: str) -> str:
    """As seen from the current directory, where it lies there; a file of a library by its last names."""
    here = Path(path)
    for library in LIBRARIES:
        if path.startswith(library):
            return str(Path(*here.parts[-2:]))
    with contextlib.suppress(ValueError, OSError):
        return str(here.resolve().relative_to(Path.cwd()))
    return path


# ---- progress ------------------------------------------------------------------------------------------------------

_listeners: list[Callable[[str], None]] = []


@contextlib.contextmanager
def announced(to: Callable[[str], None]) -> Iterator[None]:
    """Tell somebody what is being checked, step by step."""
    _listeners.append(to)
    try:
        yield
    finally:
        _listeners.remove(to)


def announce(step: str) -> None:
    for listener in _listeners:
        listener(step)
