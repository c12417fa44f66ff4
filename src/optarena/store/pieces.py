"""Journals that come from another machine in pieces: byte ranges with a checksum, written in order and acknowledged.

What is acknowledged of a journal is the size that its copy has, so that whoever goes on later knows it, too. A piece
that comes twice, or overlaps with what is known, is one piece; one that does not follow what is known is left alone,
and asked for again. Pieces end with a line, as long as their writer lives.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from optarena.errors import WorkError

LARGEST = 8_000_000
"""Bytes of the pieces that go at once, unless a line is longer."""
NAME = re.compile(r"[A-Za-z0-9._]+-[0-9]+-[0-9a-f]+\.jsonl")
CLOSED = b'"t":"close"'


class Piece(msgspec.Struct, array_like=True):
    """A part of a journal."""

    journal: str
    offset: int
    data: bytes
    check: str

    @classmethod
    def of(cls, journal: str, offset: int, data: bytes) -> Piece:
        return cls(journal, offset, data, hashlib.sha256(data).hexdigest())

    @property
    def intact(self) -> bool:
        return hashlib.sha256(self.data).hexdigest() == self.check


def sizes(directory: Path) -> dict[str, int]:
    """The journals of a directory, with the bytes that they have now."""
    out = {}
    with os.scandir(directory) as entries:
        for entry in entries:
            if NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                out[entry.name] = entry.stat().st_size
    return out


def cut(directory: Path, wanted: Mapping[str, int], known: Mapping[str, int]) -> tuple[list[Piece], bool]:
    """What follows the known bytes of journals, in pieces; and whether that is all up to the wanted sizes."""
    out: list[Piece] = []
    room, whole = LARGEST, True
    for journal, size in sorted(wanted.items()):
        offset = known.get(journal)
        if offset is None or (offset < size and room <= 0):
            whole = False
        elif offset < size:
            data, all_read = _lines(directory / journal, offset, size, room)
            whole = whole and all_read
            room -= len(data)
            if data:
                out.append(Piece.of(journal, offset, data))
    return out, whole


def _lines(path: Path, offset: int, size: int, room: int) -> tuple[bytes, bool]:
    """Complete lines from an offset on: about as many bytes as there is room, but one line at least; and if it is all.

    The rest of a last line that its writer, who was killed, did not complete is nothing.
    """
    with path.open("rb") as file:
        file.seek(offset)
        data = file.read(min(room, size - offset))
        while b"\n" not in data and offset + len(data) < size:
            data += file.read(min(room, size - offset - len(data)))
    return data[: data.rfind(b"\n") + 1], offset + len(data) >= size


def is_closed(path: Path) -> bool:
    """Whether a journal has its last line."""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 200))
        return CLOSED in file.read().rstrip(b"\n").rpartition(b"\n")[2]


class Received:
    """Writes the journals of others into a directory; holds their locks, so that no process takes them for finished."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._open: dict[str, int] = {}
        self._certain: dict[str, int] = {}
        """Journal -> the bytes that the disk has."""

    def size(self, journal: str) -> int:
        """The bytes that are acknowledged."""
        if NAME.fullmatch(journal) is None:
            return 0
        try:
            if journal not in self._open and not (self._directory / journal).exists():
                return 0
            self._descriptor(journal)
        except OSError as error:
            raise self._failed(error) from error
        return self._certain[journal]

    def take(self, pieces: Iterable[Piece]) -> bool:
        """Write pieces, and wait until the disk has them; whether that was possible for all of them."""
        every = True
        for piece in pieces:
            if NAME.fullmatch(piece.journal) is None or not piece.intact:
                every = False
                continue
            try:
                descriptor = self._descriptor(piece.journal)
                size = self._certain[piece.journal]
                if piece.offset > size:
                    every = False
                elif rest := memoryview(piece.data)[size - piece.offset :]:
                    self._append(descriptor, rest, size)
                    self._certain[piece.journal] = size + len(rest)
            except OSError as error:
                raise self._failed(error) from error
        return every

    def _append(self, descriptor: int, data: memoryview, size: int) -> None:
        """Add to a file of a size; after an error it has this size again: whoever goes on takes that for certain."""
        try:
            while data:
                data = data[os.write(descriptor, data) :]
            os.fsync(descriptor)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, size)
            raise

    def _failed(self, error: OSError) -> WorkError:
        return WorkError(
            f"cannot write to {self._directory}: {error.strerror}. What was acknowledged before is safe;"
            " the same command goes on"
        )

    def _descriptor(self, journal: str) -> int:
        if journal not in self._open:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(self._directory / journal, flags, 0o666)
            try:
                size = os.fstat(descriptor).st_size
                if size:  # whoever wrote it may have been lost before the disk had it
                    os.fsync(descriptor)
            except OSError:
                os.close(descriptor)
                raise
            self._open[journal], self._certain[journal] = descriptor, size
            with contextlib.suppress(OSError):  # the file system has no locks, or somebody looks at it just now
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return self._open[journal]

    def forget(self, journals: Iterable[str]) -> None:
        """Nothing more comes of these."""
        for journal in journals:
            if journal in self._open:
                os.close(self._open.pop(journal))
                del self._certain[journal]

    def close(self) -> None:
        self.forget(list(self._open))
