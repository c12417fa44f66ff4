"""Processes by their id: is this one alive, and is it the one that was meant?"""

from __future__ import annotations

import contextlib
import functools
import os
import socket
from pathlib import Path


@functools.cache
def host() -> str:
    """This machine's name, as journals and run files carry it."""
    return socket.gethostname()


def born(pid: int) -> int:
    """When a process began, in the kernel's ticks since boot; 0 where the system does not say."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return 0


def state(pid: int) -> str:
    """The kernel's letter for what a process does (R, S, T stopped, Z dead but not waited for); '' unknown."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def resident_bytes(pid: int) -> int:
    """The memory that a process holds; 0 where the system does not say."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


def _children(pid: int) -> list[int]:
    """The children of a process, whichever of its threads started them; none where the system does not say."""
    out = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError, ValueError):
            out += [int(word) for word in path.read_text().split()]
    return out


def tree_bytes(pid: int) -> int:
    """The memory that a process and all below it hold; 0 where the system does not say."""
    return resident_bytes(pid) + sum(map(tree_bytes, _children(pid)))


def children_seconds(pid: int) -> float:
    """CPU seconds of the living children of a process and of theirs, with what those have waited for."""
    total = 0.0
    for child in _children(pid):
        with contextlib.suppress(OSError, ValueError):
            ticks = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[11:15]
            total += sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK") + children_seconds(child)
    return total


def groups_of_session(session: int) -> list[int]:
    """The process groups of a session, where the system tells: a program that a worker started has its own."""
    out = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            group, its_session = path.read_text().rpartition(")")[2].split()[2:4]
        except (OSError, ValueError):
            continue
        if int(its_session) == session:
            out.append(int(group))
    return sorted(set(out))


def alive(pid: int, birth: int) -> bool:
    """Whether the process that had this id and birth on this machine still runs; 0 is nobody."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    now = born(pid)
    return (not now or not birth or now == birth) and state(pid) != "Z"
