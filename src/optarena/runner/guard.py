"""What a study must leave unchanged: the worker's descriptors, and what all studies of a process share.

User code runs in the worker and can reach all of it. So a worker looks at itself before and after each study:

- A descriptor of the harness that was closed or reused is *harm*: the worker says so and dies at once, the study is
  tried again in a fresh process, and fails if it does the same there.
- Anything else that later studies would feel (the current directory, signal handlers, limits, replaced functions,
  threads and processes left behind) is a *change*: the study counts, and the worker is not used for another one.
"""

from __future__ import annotations

import contextlib
import os
import random
import resource
import signal
import sys
import threading
import time
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import msgspec
import numpy as np

from optarena._process import carrying, descendants

EXIT_CODE = 86
"""Of a worker that dies because it was harmed."""

MARK = "OPTARENA_WORKER"
"""The variable by which the processes that a worker started are found again, wherever they went."""

FUNCTIONS: tuple[tuple[ModuleType, tuple[str, ...]], ...] = (
    (
        time,
        ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time", "sleep"),
    ),
    (os, ("write", "read", "open", "close", "fsync", "fstat", "fork", "getpid", "kill", "urandom")),
    (random, ("Random", "random", "seed", "getstate", "setstate")),
    (np.random, ("default_rng", "Generator", "PCG64", "SeedSequence", "RandomState", "seed", "rand", "randn")),
    (msgspec.json, ("Encoder", "Decoder", "encode", "decode")),
    (sys, ("stdin", "stdout", "stderr")),
)
SIGNALS = (
    *(signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD, signal.SIGUSR1, signal.SIGUSR2),
    *(signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGXCPU, signal.SIGXFSZ),
)
TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
LIMITS = {
    name: getattr(resource, name)
    for name in dir(resource)
    if name.startswith("RLIMIT_") and name != "RLIMIT_DATA"  # which the harness itself sets
}

_fstat, _umask, _getcwd = os.fstat, os.umask, os.getcwd


class Guard:
    """Call `begin()` before each study, `harm()` and `changes()` after it. descriptors: the worker's own."""

    def __init__(self, descriptors: Iterable[int]) -> None:
        self._descriptors = {descriptor: _identity(descriptor) for descriptor in descriptors}
        self._mark = f"{MARK}={os.environ[MARK]}" if MARK in os.environ else ""
        self.begin()

    def begin(self) -> None:
        """Remember how things are now."""
        self._state = _state()
        self._limits = _limits()
        self._threads = set(threading.enumerate())
        self._processes = descendants(os.getpid())
        self._faults = _faults_of_children()

    def harm(self) -> str:
        """What happened to the worker's own descriptors; empty if nothing."""
        if any(_identity(descriptor) != kept for descriptor, kept in self._descriptors.items()):
            return "a pipe between the worker and its supervisor was closed or replaced"
        return ""

    def lowered(self) -> list[str]:
        """The limits of the process that are lower than before."""
        now = _limits()
        return [f"{name} was lowered" for name, before in self._limits.items() if now[name] < before]

    def changes(self) -> list[str]:
        """What has changed, one text each."""
        now = _state()
        out = [f"{name} was changed" for name, before in self._state.items() if not _same(now[name], before)]
        out += self.lowered()
        if any(thread.is_alive() for thread in threading.enumerate() if thread not in self._threads):
            out.append("a thread was left behind")
        if self._left():
            out.append("a process was left behind")
        return out

    def _left(self) -> bool:
        """Whether a process that the study started still runs, below us or anywhere else."""
        if descendants(os.getpid()).keys() - self._processes.keys():
            return True
        # to look at all processes takes milliseconds: only when one was started and waited for
        started = _faults_of_children() != self._faults
        return started and bool(self._mark) and bool(carrying(self._mark).keys() - self._processes.keys())


def _identity(descriptor: int) -> tuple[int, int] | None:
    try:
        found = _fstat(descriptor)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _state() -> dict[str, Any]:
    """What can be compared, by the name that messages use."""
    out: dict[str, Any] = {
        f"{module.__name__}.{name}": getattr(module, name, None) for module, names in FUNCTIONS for name in names
    }
    out |= {f"the handler of {number.name}": signal.getsignal(number) for number in SIGNALS}
    out["the umask"] = _umask(0o077)
    _umask(out["the umask"])
    out["the current directory"] = ""
    with contextlib.suppress(OSError):  # it may have been removed
        out["the current directory"] = _getcwd()
    out["a timer"] = [signal.getitimer(timer)[0] > 0 for timer in TIMERS]
    out["np.seterr"] = np.geterr()
    return out


def _same(now: Any, before: Any) -> bool:
    return now is before or (type(now) is type(before) and isinstance(now, (str, int, list, dict)) and now == before)


def _limits() -> dict[str, float]:
    """Soft limits; no limit is infinite."""
    found = {name: resource.getrlimit(number)[0] for name, number in LIMITS.items()}
    return {name: float("inf") if limit == resource.RLIM_INFINITY else limit for name, limit in found.items()}


def _faults_of_children() -> int:
    """Grows with every child that was waited for."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
