"""Processes by their id: is this one alive, and is it the one that was meant?"""

from __future__ import annotations

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


def session_bytes(session: int) -> int:
    """The memory that all processes of a session hold together; 0 where the system does not say."""
    total = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(path.read_text().rpartition(")")[2].split()[3]) == session:
                total += resident_bytes(int(path.parent.name))
        except (OSError, ValueError, IndexError):
            continue
    return total


def children_seconds(pid: int) -> float:
    """CPU seconds of the living children of a process and of theirs, with what those have waited for."""
    total = 0.0
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return 0.0
    for child in map(int, children):
        try:
            ticks = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[11:15]
        except OSError:
            continue
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
    """Whether the process that had this id and birth on this machine still runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    now = born(pid)
    return (not now or not birth or now == birth) and state(pid) != "Z"
