"""Leases: which pilot runs which chunk of a plan, agreed on by names in a shared directory, without locks.

A pilot has one file, `alive/<pilot>`, whose time of change is its heartbeat. A lease is a symbolic link with the name
of the pilot as its text, `leases/<chunk>.<turn>`: making a link fails if the name exists, also on NFS, so that of two
pilots exactly one gets it. `<chunk>.done` says that a chunk is done. Nobody takes a lease away: when a pilot is lost,
another takes the next turn of its chunk. If the first one was only cut off, both run the chunk, and their
equal rows collapse. The last chunk is the end of the run: it is free when all others are done, so that one pilot looks
whether anything is missing, and ends the run.

Clocks of machines differ, so none is compared with another: a pilot is lost when its file did not change for some time
on the clock of the one who looks. A pilot that ends says so in its file, which gives back all its leases; a process of
this very machine that does not exist is lost at once.

A study may take its machine with it. What was running when a pilot was lost is run alone by the next one, which says so
by a file `alone/<study>.<pilot>` with the number of evaluations that were recorded before.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import secrets
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from optarena._process import alive, born, host, place
from optarena.errors import OptarenaError

BEAT_SECONDS = 5.0
EXPIRY_SECONDS = 60.0
WATCHED = 16
"""So many chunks of others a waiting pilot watches at least; all, if there are fewer."""
DONE = "done"
ENDED = b"ended\n"
LONGEST = 4096
_PILOT = re.compile(r"[0-9a-f]{12}")


def make_room(directory: Path) -> None:
    """Make the directories in which pilots agree; refused where the file system has no symbolic links."""
    try:
        for part in ("leases", "alive", "alone"):
            (directory / part).mkdir(parents=True)
        probe = directory / "probe"
        probe.symlink_to("here")
        probe.unlink()
    except OSError as error:
        raise OptarenaError(
            f"pilots cannot work in {directory.parent.parent}, since they agree by symbolic links ({error.strerror}):"
            " put the store on another file system"
        ) from error


def clear(directory: Path) -> None:
    """Remove them at once, so that no pilot finds a part of them and takes it for free."""
    gone = directory.with_name(f".{directory.name}-{secrets.token_hex(4)}")
    with contextlib.suppress(OSError):
        directory.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)


class Process(msgspec.Struct):
    """The process of a pilot."""

    host: str
    pid: int
    born: int
    place: str


class Lease(NamedTuple):
    """A chunk that this pilot runs."""

    chunk: int
    turn: int
    """How many pilots had it before."""


class _Seen(NamedTuple):
    changed: int
    size: int
    since: float
    """When this state was first seen, on our clock."""


class Leases:
    """The leases of one pilot, and its view of the others."""

    def __init__(self, directory: Path, chunks: int, first: int = 0, expiry: float = EXPIRY_SECONDS) -> None:
        """chunks: with the end. first: the chunk to begin with, so that pilots do not all want the same one.

        FileNotFoundError: the directory was removed, since the run is over.
        """
        self.pilot = secrets.token_hex(6)
        self.expiry = expiry
        self._leases, self._alive, self._alone = (directory / part for part in ("leases", "alive", "alone"))
        self._file = self._alive / self.pilot
        self._free = np.arange(chunks) < chunks - 1
        self._done = np.zeros(chunks, dtype=bool)
        self._turns: dict[int, int] = {}
        """Chunk -> its newest turn, of chunks that are not done."""
        self._mine: dict[int, int] = {}
        self._at = first % chunks
        self._watched: list[int] = []
        """Chunks of others that may be lost."""
        self._next_choice = 0.0
        self._random = random.Random(self.pilot)
        self._seen: dict[str, _Seen] = {}
        self._checked = time.monotonic()
        """When it last looked at the heartbeat of another."""
        self._beaten = time.monotonic()
        self._longest = 0.0
        """Between two beats, since it was last asked for."""
        process = Process(host(), os.getpid(), born(os.getpid()), place())
        try:
            self._file.write_bytes(msgspec.json.encode(process) + b"\n")
        except FileNotFoundError:
            raise
        except OSError as error:
            raise OptarenaError(f"cannot write to {directory}: {error.strerror}") from error

    # ---- being alive -------------------------------------------------------------------------------------------------

    def beat(self) -> None:
        """Show that this pilot is alive."""
        self._longest = max(self._longest, time.monotonic() - self._beaten)
        self._beaten = time.monotonic()
        with contextlib.suppress(OSError):  # the directory is gone when all is done; one beat may fail
            os.utime(self._file)

    def lost(self) -> list[int]:
        """Chunks of ours that others have taken since, because our heart did not beat for a while."""
        if self._longest < self.expiry / 2:
            return []
        self._longest = 0.0
        self.look()
        taken = [chunk for chunk, turn in self._mine.items() if self._done[chunk] or self._turns.get(chunk, 0) > turn]
        for chunk in taken:
            del self._mine[chunk]
        return taken

    def end(self) -> None:
        """Give back all leases."""
        with contextlib.suppress(OSError), self._file.open("ab") as file:
            file.write(ENDED)
            file.flush()
            os.fsync(file.fileno())

    # ---- studies that take their machine with them -------------------------------------------------------------------

    def losses(self, lease: Lease) -> int:
        """How many of the pilots that had this chunk before did not end in order."""
        holders = (_holder(self._name(lease.chunk, turn)) for turn in range(lease.turn))
        return sum(holder is not None and not self._ended(holder) for holder in holders)

    def alone(self, study: str, evaluations: int, pilot: str = "") -> None:
        """Say that a pilot (this one) runs nothing but this study, from so many evaluations on."""
        with contextlib.suppress(FileNotFoundError):  # the run was ended
            (self._alone / f"{study}.{pilot or self.pilot}").write_text(str(evaluations))

    def not_alone(self, study: str) -> None:
        """Say that it has survived it."""
        (self._alone / f"{study}.{self.pilot}").unlink(missing_ok=True)

    def lost_with(self, study: str, evaluations: int) -> int:
        """How many pilots were lost while they ran nothing but a study, and added no evaluation to it."""
        count = 0
        for path in self._alone.glob(f"{study}.*"):
            with contextlib.suppress(OSError, ValueError):
                count += int(path.read_text()) >= evaluations and not self._ended(path.suffix[1:])
        return count

    def _ended(self, pilot: str) -> bool:
        """Whether a pilot has ended in order."""
        try:
            return bool(_PILOT.fullmatch(pilot)) and (self._alive / pilot).read_bytes().endswith(ENDED)
        except OSError:
            return False

    # ---- claiming ----------------------------------------------------------------------------------------------------

    def claim(self) -> Lease | None:
        """A chunk that no pilot had before; None if there is none."""
        while self._free.any():
            chunk = self._at if self._free[self._at] else self._middle()
            self._free[chunk] = False
            self._at = (chunk + 1) % len(self._free)
            if self._take(chunk, 0):
                return Lease(chunk, 0)
            self.look()
        return None

    def claim_lost(self) -> Lease | None:
        """A chunk whose pilot is lost or has ended, after a new look; None if there is none.

        Of many open chunks each waiting pilot watches some, so that all of them together ask for as much as one would.
        """
        known = self._look_at(self._watched)
        if not known:
            self.look()
        if not known or time.monotonic() >= self._next_choice:
            self._watched = self._choice()
        for chunk in self._watched:
            turn = self._turns.get(chunk)
            if turn is not None and self._is_lost(chunk, turn) and self._take(chunk, turn + 1):
                return Lease(chunk, turn + 1)
        return None

    def again(self, lease: Lease) -> Lease | None:
        """The next turn of a chunk of which this pilot knows that whoever had it is lost; None if it is too late."""
        if os.path.lexists(self._name(lease.chunk, DONE)) or not self._take(lease.chunk, lease.turn + 1):
            return None
        self._free[lease.chunk] = False
        return Lease(lease.chunk, lease.turn + 1)

    def finish(self, lease: Lease) -> None:
        """Say that all studies of a chunk have ended."""
        self._mine.pop(lease.chunk, None)
        with contextlib.suppress(FileExistsError, FileNotFoundError):  # it is done twice, or the run was ended
            self._name(lease.chunk, DONE).symlink_to(self.pilot)
        self._turns.pop(lease.chunk, None)
        self._done[lease.chunk] = True

    @property
    def all_done(self) -> bool:
        """Whether every chunk is done, as far as the last look tells."""
        return bool(self._done.all())

    @property
    def done(self) -> int:
        """How many chunks are done, as far as the last look tells."""
        return int(self._done.sum())

    def look(self) -> None:
        """See which chunks are taken and done."""
        turns: dict[int, int] = {}
        done: list[int] = []
        try:
            names = os.listdir(self._leases)  # noqa: PTH208 (there may be many)
        except FileNotFoundError:  # the run was ended, and its leases are removed
            self._free[:], self._done[:] = False, True
            self._turns = {}
            return
        for name in names:
            number, _, turn = name.partition(".")
            if not number.isdecimal() or (chunk := int(number)) >= len(self._free):
                continue
            if turn == DONE:
                done.append(chunk)
            elif turn.isdecimal():
                turns[chunk] = max(turns.get(chunk, 0), int(turn))
        self._done[done] = True
        self._free[[*turns, *done]] = False
        for chunk in done:
            turns.pop(chunk, None)
        self._turns = turns
        self._free_end()

    def _look_at(self, chunks: Sequence[int]) -> bool:
        """The same for some chunks, without a list of all; False where a list is due: none of them is open."""
        for chunk in chunks:
            if chunk not in self._turns:
                continue
            if os.path.lexists(self._name(chunk, DONE)):
                self._done[chunk] = True
                del self._turns[chunk]
            else:
                while os.path.lexists(self._name(chunk, self._turns[chunk] + 1)):
                    self._turns[chunk] += 1
        self._free_end()
        left = any(chunk in self._turns and chunk not in self._mine for chunk in chunks)
        return left and self._leases.is_dir()

    def _choice(self) -> list[int]:
        """The open chunks of others that this pilot watches for a while: by chance, and three times what is its share.

        As many pilots wait as have a file and, as far as one can tell, no open chunk.
        """
        self._next_choice = time.monotonic() + 2 * self.expiry
        others = sorted(chunk for chunk in self._turns if chunk not in self._mine)
        if len(others) <= WATCHED:
            return others
        with contextlib.suppress(FileNotFoundError):
            waiting = max(1, len(os.listdir(self._alive)) - len(others))  # noqa: PTH208 (there may be many)
            return sorted(self._random.sample(others, min(len(others), max(WATCHED, 3 * len(others) // waiting))))
        return others

    def _free_end(self) -> None:
        end = len(self._free) - 1
        self._free[end] = bool(self._done[:end].all()) and not self._done[end] and end not in self._turns

    def _middle(self) -> int:
        """The middle of the longest row of free chunks: its first ones are the next of the pilot before it."""
        edges = np.flatnonzero(np.diff(np.concatenate(([False], self._free, [False]))))
        begins, ends = edges[::2], edges[1::2]
        longest = int(np.argmax(ends - begins))
        return int((begins[longest] + ends[longest]) // 2)

    def _take(self, chunk: int, turn: int) -> bool:
        name = self._name(chunk, turn)
        try:
            name.symlink_to(self.pilot)
        except FileExistsError:  # ours, perhaps: NFS may repeat a request whose answer was lost
            if _holder(name) != self.pilot:
                return False
        except FileNotFoundError:  # the run was ended
            return False
        self._turns[chunk] = self._mine[chunk] = turn
        return True

    def _name(self, chunk: int, turn: int | str) -> Path:
        return self._leases / f"{chunk}.{turn}"

    def _is_lost(self, chunk: int, turn: int) -> bool:
        holder = _holder(self._name(chunk, turn))
        if holder is None:  # the run was ended
            return False
        if not _PILOT.fullmatch(holder):
            return True
        try:
            # opened, so that NFS asks the server instead of telling what it knew
            with (self._alive / holder).open("rb") as file:
                facts = os.fstat(file.fileno())
                text = file.read(LONGEST)
        except FileNotFoundError:
            return self._unchanged(holder, 0, 0)
        if text.endswith(ENDED) or _is_dead(text):
            return True
        return self._unchanged(holder, facts.st_mtime_ns, facts.st_size)

    def _unchanged(self, holder: str, changed: int, size: int) -> bool:
        """Whether a pilot's file has not changed for so long that it is lost.

        Where this pilot itself did not look for a while, the file server may have hung, for the others, too: their
        time begins again.
        """
        now = time.monotonic()
        if now - self._checked > self.expiry / 2:
            self._seen.clear()
        self._checked = now
        seen = self._seen.get(holder)
        if seen is None or (seen.changed, seen.size) != (changed, size):
            seen = self._seen[holder] = _Seen(changed, size, now)
        return now - seen.since > self.expiry


def _holder(lease: Path) -> str | None:
    try:
        return str(lease.readlink())
    except OSError:
        return None


def _is_dead(text: bytes) -> bool:
    """Whether a pilot was a process of this machine, and is none any more."""
    try:
        process = msgspec.json.decode(text.partition(b"\n")[0], type=Process)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    here = process.host == host() and process.place == place()
    return here and bool(process.place) and not alive(process.pid, process.born)
