"""Processes by their id: is this one alive, and is it the one that was meant?"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

ROUNDS = 5
"""How often processes are looked for and killed, at most."""


@functools.cache
def host() -> str:
    """This machine's name, as journals and run files carry it."""
    return socket.gethostname()


@functools.cache
def place() -> str:
    """Where a pid means something: this boot of this machine, and the PID namespace; empty where the system is silent.

    Two containers may have one host name, and the same pids for different processes.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


def usable_cores() -> int:
    """The cores that this process may use: a scheduler or a container may give it fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
    for thread in _numbers(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError, ValueError):
            out += [int(word) for word in Path(f"/proc/{pid}/task/{thread}/children").read_text().split()]
    return out


def descendants(pid: int) -> dict[int, int]:
    """All living processes below one, with their births; none where the system does not say."""
    out: dict[int, int] = {}
    for child in _children(pid):
        if state(child) not in ("", "Z"):
            out[child] = born(child)
        out |= descendants(child)
    return out


def carrying(mark: str) -> dict[int, int]:
    """All other processes whose environment has this NAME=TEXT, with their births: what a marked process started."""
    wanted, out = b"\0" + mark.encode() + b"\0", dict[int, int]()
    for pid in processes():
        with contextlib.suppress(OSError):
            found = wanted in b"\0" + Path(f"/proc/{pid}/environ").read_bytes()
            if found and pid != os.getpid() and state(pid) not in ("", "Z"):
                out[pid] = born(pid)
    return out


def kill_exactly(processes: Mapping[int, int]) -> None:
    """Kill processes, each only if it is the one that was born then."""
    for pid, birth in processes.items():
        if birth and born(pid) == birth:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def kill_all(find: Callable[[], Mapping[int, int]]) -> None:
    """Kill what `find` finds, until it finds nothing: processes that fork all the time need more than one look."""
    for _ in range(ROUNDS):
        if not (found := find()):
            return
        kill_exactly(found)


def end_descendants() -> None:
    """Kill all that this process and its children started; with `adopt_orphans` that is where they are."""
    kill_all(lambda: descendants(os.getpid()))


@contextlib.contextmanager
def ended_with_us(mark: str) -> Iterator[None]:
    """Whatever carries this NAME=TEXT is killed when we die, also by SIGKILL: a small process waits for that.

    The kernel can kill children with their parent, but setting that takes a fork of all our memory for each child, and
    what these start would not know of it.
    """
    if sys.platform != "linux":
        yield
        return
    command = [sys.executable, "-S", "-E", "-P", __file__, mark]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, start_new_session=True) as waits:
        try:
            yield
        finally:
            waits.kill()


def adopt_orphans() -> None:
    """Let what our descendants leave behind become our children, where they can be found (Linux)."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def processes() -> list[int]:
    """The ids of all processes; none where the system does not say."""
    return _numbers("/proc")


def _numbers(directory: str) -> list[int]:
    """The processes or threads that a directory of the kernel lists."""
    try:
        return [int(name) for name in os.listdir(directory) if name.isdecimal()]  # noqa: PTH208 (five times as fast)
    except OSError:
        return []


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
    for pid in processes():
        try:
            group, its_session = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[2:4]
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


if __name__ == "__main__":
    sys.stdin.read()
    kill_all(lambda: carrying(sys.argv[1]))
