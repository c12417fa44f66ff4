"""Which journals are at rest: closed, or their process is dead, so that no process writes to them any more.

A writer holds a lock on its journal as long as it lives: that is evidence for every process of the machine, in whatever
container. A process id is none, as another container may have the same. Where a file system has no locks, a run's
heartbeat decides.
"""

from __future__ import annotations

import fcntl
import math
import os
import stat
import time
from pathlib import Path

import msgspec

from optarena._process import alive, host
from optarena.store import Store
from optarena.store.damage import Damage
from optarena.store.lines import UNREADABLE, verify_checks
from optarena.store.records import Close, Header, Record, refuse_newer

TAIL_BYTES = 1 << 16
YOUNG_SECONDS = 60.0  # a journal's header follows its creation at once; whoever has none for so long is dead

DAMAGED = "damaged"
_decode = msgspec.json.Decoder(Record).decode


def resting(store: Store) -> tuple[list[Path], list[tuple[str, str]]]:
    """The journals that are at rest, oldest first; and the others, with the reason."""
    live = [run for run in store.runs() if store.is_live(run)]
    since = max((run.time for run in live), default=-math.inf)
    hosts = {run.host for run in live}
    found: list[tuple[float, Path]] = []
    left: list[tuple[str, str]] = []
    for path in sorted(store.journal_paths()):
        try:
            began, reason = _rest(path, hosts)
        except FileNotFoundError:
            continue
        if reason is None and began < since:
            reason = "a live run may still read it"
        if reason is None:
            found.append((began, path))
        else:
            left.append((path.name, reason))
    return [path for _, path in sorted(found)], left


def why_not_at_rest(store: Store, path: Path) -> str | None:
    """Why a process may still write to a journal that may be damaged; None if none does."""
    _, reason = _rest(path, {run.host for run in store.runs() if store.is_live(run)})
    return None if reason is None or reason.startswith(DAMAGED) else reason


def _rest(path: Path, live_hosts: set[str]) -> tuple[float, str | None]:
    """When a journal began, and why it is not at rest, if so."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return 0.0, "it is not a file"
        lock = _locked(descriptor)
        first, last = _ends(path)
    finally:
        os.close(descriptor)
    if lock == "held":
        return 0.0, "its process is running"
    if not first:
        young = time.time() - path.stat().st_mtime < YOUNG_SECONDS
        return 0.0, "it has only just started" if young else None
    damage: list[Damage] = []
    verify_checks(path, damage)
    if damage:
        return 0.0, f"{DAMAGED}: {damage[0].what} (optarena repair)"
    refuse_newer(path, first)
    try:
        header, record = _decode(first), _decode(last) if last else None
    except UNREADABLE as error:
        return 0.0, f"{DAMAGED}: not a journal, {error} (optarena repair)"
    if not isinstance(header, Header):
        return 0.0, f"{DAMAGED}: a journal must begin with a header (optarena repair)"
    if isinstance(record, Close):
        return header.time, None
    if header.host != host():
        return header.time, f"not closed, and its process is on {header.host}"
    if alive(header.pid, header.born):
        return header.time, "its process is running"
    if not (header.locked and lock == "free") and header.host in live_hosts:
        return header.time, "not closed, and a live run may still write to it"
    return header.time, None


def _locked(descriptor: int) -> str:
    """Whether another process holds the lock of a file: held, free, or none where there are no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return "held"
    except OSError:
        return "none"
    return "free"


def _ends(path: Path) -> tuple[bytes, bytes]:
    """The first and the last complete line of a journal, the last only if it is short: one with points is not."""
    with path.open("rb") as file:
        first = file.readline()
        size = file.seek(0, 2)
        file.seek(max(0, size - TAIL_BYTES))
        lines = file.read().split(b"\n")[:-1]
    if not first.endswith(b"\n"):
        return b"", b""
    if size > TAIL_BYTES:
        lines = lines[1:]  # of which only the end was read
    return first, lines[-1] if lines else b""
