"""Journals: append-only files of JSON lines, each written by one process and never reopened.

A process begins another when one is large, between two studies: a journal can be compacted when it is closed.

Acknowledged means that `write()` returned: the line survives the death of any process. fsync comes about every
second, from outside timed sections, at a study's end (shared by studies that end within the same fifth of a second),
and before a worker waits.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from optarena._files import moved_up
from optarena._json import numbers
from optarena._process import born, host
from optarena._source import source_hash, versions_of
from optarena._version import __version__
from optarena.errors import Harmed, OptarenaError, WorkError
from optarena.problem import Problem, Subject
from optarena.store.checks import Chain
from optarena.store.records import (
    FORMAT_VERSION,
    Close,
    End,
    Header,
    PlainRow,
    ProblemCard,
    Record,
    Start,
)

_encode = msgspec.json.Encoder().encode
# bound before anybody's code is loaded: what a study replaces in `os` or `time` does nothing here
_write, _fsync, _fstat, _lstat = os.write, os.fsync, os.fstat, os.lstat
_now, _clock = time.monotonic, time.time
_forks = 0
"""How many forks lie between the first process and this one."""


def _after_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_after_fork)
SYNC_SECONDS = 1.0
SHARED_SECONDS = 0.2
SHARD_BYTES = 64_000_000
"""Of the lines that go into one shard; one study alone may have twice as many."""
JOURNAL_BYTES = SHARD_BYTES // 4
"""From this size on a journal is closed when a study ends."""


class Journal:
    """Writes one journal. Every method writes complete lines, one `write()` each."""

    def __init__(self, directory: Path, environment: dict[str, Any]) -> None:
        pid = os.getpid()
        name = re.sub(r"[^A-Za-z0-9.]", "_", host())[:40] or "host"
        self.path = directory / f"{name}-{pid}-{secrets.token_hex(4)}.jsonl"
        try:
            self._fd = moved_up(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666))
        except OSError as error:
            raise OptarenaError(f"cannot write to {directory}: {error.strerror}") from error
        self._place = self.path.absolute()  # whatever directory a study goes to
        self._forks = _forks
        self._file = _identity(_fstat(self._fd))
        self._chain = Chain()
        self._size = self._synced = 0
        self._dirty = False
        self._last_sync = _now()
        self._cards: set[str] = set()
        self._studies = 0
        self._broken = False
        locked = _lock(self._fd)
        try:
            self.write(Header(FORMAT_VERSION, __version__, host(), pid, _clock(), environment, born(pid), locked))
        except WorkError:
            with contextlib.suppress(OSError):  # nothing is in it
                self.path.unlink()
            raise

    def write(self, record: Record | PlainRow) -> None:
        """Append one line; a full disk leaves no torn line behind and is reported."""
        if self._broken:  # the error was raised where it happened; what follows it has nowhere to go
            return
        if _forks != self._forks:  # a problem forked, and its child came back: the journal is its parent's
            os._exit(70)
        line = self._chain.seal(_encode(record))
        try:
            written = _write(self._fd, line)
            while written < len(line):  # a full disk may take a part; the next try then says so
                written += _write(self._fd, line[written:])
        except OSError as error:
            self._give_up(self._size)
            raise WorkError(
                f"cannot write to {self.path}: {error.strerror}. What was evaluated before is safe;"
                " free some space and run the same command again"
            ) from error
        self._size += len(line)
        self._dirty = True

    def _give_up(self, size: int) -> None:
        """Write no more, and keep only the bytes that are certain."""
        self._broken = True
        with contextlib.suppress(OSError):
            if _identity(_fstat(self._fd)) == self._file:  # what others opened under this number is not ours
                os.ftruncate(self._fd, size)
        self._size = size  # what is missing from now on is no harm that others did

    def start(self, start: Start, card: ProblemCard) -> int:
        """Write a study's card (the problem's once a journal) and return its number."""
        if card.hash not in self._cards:
            self.write(card)
            self._cards.add(card.hash)
        start.s = self._studies
        self._studies += 1
        self.write(start)
        return start.s

    def end(self, end: End) -> None:
        """Write how a study ended, and sync; studies that follow each other within a moment share a sync."""
        self.write(end)
        self._check(ended=True)
        self.sync_if_due(SHARED_SECONDS)

    def sync_if_due(self, seconds: float = SYNC_SECONDS) -> None:
        if self._dirty and _now() >= self._last_sync + seconds:
            self.sync()

    def sync(self) -> None:
        """Ask the disk to hold what was written."""
        if self._dirty and not self._broken:
            self._check()
            try:
                _fsync(self._fd)
            except OSError as error:
                self._give_up(self._synced)
                raise WorkError(
                    f"{self.path}: the disk did not store what was written ({error.strerror}). Earlier data is safe;"
                    " the same command evaluates the rest again"
                ) from error
            self._dirty = False
            self._synced = self._size
            self._last_sync = _now()

    def harm(self, *, ended: bool = False) -> str:
        """What others' code did to the file or its descriptor; empty if nothing.

        ended: no process is writing now, so the file has exactly the bytes that were written.
        """
        size = self._size
        try:
            found = _fstat(self._fd)
        except OSError:
            return "its descriptor was closed"
        if _identity(found) != self._file:
            return "its descriptor was closed, and another file has it now"
        if not found.st_nlink:
            return "the file was removed"
        try:
            if _identity(_lstat(self._place)) != self._file:
                return "another file has its name now"
        except FileNotFoundError:
            return "the file was renamed"
        except OSError:  # a directory on the way cannot be searched any more; the file exists
            pass
        if found.st_size < size:
            return f"it has {found.st_size:,} bytes, {size:,} were written"
        return f"it has {found.st_size:,} bytes, only {size:,} were written" if ended and found.st_size > size else ""

    def _check(self, *, ended: bool = False) -> None:
        """Refuse to go on with a journal that others' code has changed: what was written since may be elsewhere."""
        if not self._broken and (harm := self.harm(ended=ended)):
            self._broken = True
            raise Harmed(f"journal {self.path.name} was changed by other code than the harness: {harm}")

    @property
    def full(self) -> bool:
        """Whether the next study should have another journal."""
        return self._size >= JOURNAL_BYTES

    def close(self) -> None:
        """End the journal in order; one whose process dies has no last line, and is as good."""
        if self._fd >= 0:
            with contextlib.suppress(WorkError):
                self.write(Close())
            try:
                self.sync()
            finally:
                with contextlib.suppress(OSError):
                    if _identity(_fstat(self._fd)) == self._file:  # what others opened under this number is not ours
                        os.close(self._fd)
                self._fd = -1


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _lock(descriptor: int) -> bool:
    """Hold a lock until this process ends: a process that can take it knows that the writer has ended."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # the file system has none
        return False
    return True


def problem_card(problem: Subject, *, signed: bool = True) -> ProblemCard:
    """What scoring needs of a problem, so that views import no problem; equal cards have equal hashes.

    It is made once a problem and kept with it. A signature may cost evaluations: `signed=False` goes without.
    """
    kept: ProblemCard | None = vars(problem).get("_card")
    if kept is not None and kept.id == problem.id:
        return kept
    card = ProblemCard(
        hash="",
        id=problem.id,
        version=problem.version,
        space={},
        dimension=problem.dimension,
        objectives=problem.objectives,
        suite=problem.suite,
        function=problem.function,
        instance=problem.instance,
        known=problem.known,
        versions=versions_of(problem.packages),
        source=source_hash(problem.source) if problem.source is not None else problem.code(),
        signature=tuple(numbers(list(problem.signature()))) if signed else (),
    )
    if isinstance(problem, Problem):
        card.space = problem.space.config
        card.constraints, card.metrics = problem.constraints, problem.metrics
        card.stateless, card.noisy = problem.stateless, problem.noisy
    card.hash = hashlib.sha256(_encode(card)).hexdigest()[:16]
    if signed:
        vars(problem)["_card"] = card
    return card


# ---- reading --------------------------------------------------------------------------------------------------------


def mentions(path: Path, texts: Sequence[str]) -> bool:
    """Whether a journal has one of the texts (ids of problems or studies)."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise OptarenaError(f"{path}: {error.strerror}") from error
    return any(_encode(text) in data for text in texts)
