"""The files of a folder, or of a zip or tar archive, by their names: read in memory, nothing is unpacked to a disk.

A name that points outside the folder is never opened: it is named, and left out. What an archive unpacks to is bounded.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import posixpath
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from optarena.errors import OptarenaError
from optarena.formats.limits import MAX_BYTES, MAX_FILES, read_at_most

ZIPS = (".zip",)
TARS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
_DAMAGE = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError, NotImplementedError)


class Folder:
    """Names (posix, relative) to files. `notices`: what was left out."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notices: list[str] = []
        self._files: dict[str, Callable[[], bytes]] = {}
        self._left = MAX_BYTES
        if path.is_dir():
            self._from_directory()
        elif path.name.lower().endswith(ZIPS + TARS):
            self._from_archive()
        elif path.exists():
            raise OptarenaError(f"{path}: expected a folder, or one as {', '.join(ZIPS + TARS[:3])}")
        else:
            raise OptarenaError(f"{path}: no such file or folder")

    def __contains__(self, name: str) -> bool:
        return name in self._files

    def names(self, *suffixes: str) -> list[str]:
        """The files whose names end so, sorted."""
        return sorted(name for name in self._files if name.endswith(suffixes))

    def read(self, name: str) -> bytes:
        try:
            return self._files[name]()
        except _DAMAGE as error:
            raise OptarenaError(f"{self.path}: {name} cannot be read ({error})") from error

    def beside(self, name: str, other: str) -> str | None:
        """The name of a file that another one refers to; None if that points outside the folder."""
        other = other.replace("\\", "/")
        if not _inside(other):
            return None
        return posixpath.normpath(posixpath.join(posixpath.dirname(name), other))

    def _from_directory(self) -> None:
        for path in sorted(self.path.rglob("*")):
            if path.is_file():
                self._files[path.relative_to(self.path).as_posix()] = path.read_bytes

    def _from_archive(self) -> None:
        try:
            found = self._zipped() if self.path.name.lower().endswith(ZIPS) else self._tarred()
            for count, (name, read) in enumerate(found):
                if count >= MAX_FILES:
                    raise OptarenaError(f"{self.path}: more than {MAX_FILES:,} files")
                plain = name.replace("\\", "/")
                if not _inside(plain):
                    self.notices.append(f"{self.path}: {name!r} points outside the archive; left out")
                    continue
                self._files[posixpath.normpath(plain)] = read
        except _DAMAGE as error:
            raise OptarenaError(f"{self.path}: cannot be unpacked ({error})") from error

    def _zipped(self) -> Iterator[tuple[str, Callable[[], bytes]]]:
        archive = zipfile.ZipFile(self.path)
        for info in archive.infolist():
            if not info.is_dir():
                yield info.filename, lambda info=info: self._bounded(archive.open(info))  # type: ignore[misc]

    def _tarred(self) -> Iterator[tuple[str, Callable[[], bytes]]]:
        """A tar is read through once: what is compressed cannot be read in any order."""
        data = self.path.read_bytes()
        packings: tuple[tuple[bytes, Any], ...] = (
            (b"\x1f\x8b", gzip.open),
            (b"BZh", bz2.open),
            (b"\xfd7zXZ", lzma.open),
        )
        for magic, opened in packings:
            if data.startswith(magic):
                data = self._bounded(opened(io.BytesIO(data)))
                break
        archive = tarfile.open(fileobj=io.BytesIO(data))  # noqa: SIM115
        for info in archive:
            if info.isfile():
                yield info.name, lambda info=info: archive.extractfile(info).read()  # type: ignore[misc,union-attr]
            elif not info.isdir():
                self.notices.append(f"{self.path}: {info.name!r} is a link or a device; left out")

    def _bounded(self, file: IO[bytes]) -> bytes:
        """All of it, unless the archive as a whole unpacks to too much."""
        with file:
            data = read_at_most(file, self._left, self.path)
        self._left -= len(data)
        return data


def _inside(name: str) -> bool:
    """Whether a relative name stays below where it starts."""
    parts = name.split("/")
    return bool(name) and not name.startswith("/") and ":" not in parts[0] and ".." not in parts and "\0" not in name
