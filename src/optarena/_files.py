"""Atomic writes, and texts and TOML files whose mistakes are named."""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from optarena.errors import OptarenaError, WorkError

HIGH = 512
"""Descriptors of ours are moved here, where code that closes all it does not know hardly ever reaches."""


def moved_up(descriptor: int) -> int:
    """The same open file under a high number, if the system has one for it; children do not inherit it."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    lowest = HIGH if most == resource.RLIM_INFINITY else min(HIGH, most // 2)
    try:
        new = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, lowest)
    except OSError:
        return descriptor
    os.close(descriptor)
    return new


def write_whole(path: Path, data: bytes) -> None:
    """An atomic write: readers see all of the file or none of it."""
    write_together({path: data})


def write_together(files: Mapping[Path, bytes]) -> None:
    """Write files under temporary names, sync them, and rename them when all are written.

    What fails before the first rename, or in one, leaves none of the new files behind.
    """
    written: dict[Path, Path] = {}
    new: list[Path] = []
    path = Path()
    try:
        for path, data in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            written[path] = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
            _write_synced(written[path], data)
        for path, beside in written.items():
            existed = path.exists()
            beside.rename(path)
            new += [] if existed else [path]
        for directory in {path.parent for path in written}:
            _sync_directory(directory)
    except BaseException as error:
        for left in [*written.values(), *new]:
            with contextlib.suppress(OSError):
                left.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise WorkError(f"cannot write to {path}: {error.strerror}") from error
        raise


def _write_synced(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_directory(path: Path) -> None:
    directory = os.open(path, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Only one process at a time does what needs this lock, which leaves no file.

    There is no lock where a file system has none, or a directory cannot be read.
    """
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):
            descriptor = os.open(directory, os.O_RDONLY)
            held.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


def read_text(path: Path) -> str:
    """A file's text in UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise OptarenaError(f"there is no file {path}") from None
    except OSError as error:
        raise OptarenaError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise OptarenaError(f"{path}: not UTF-8 ({error})") from error


def parse_toml(text: str, path: Path) -> dict[str, Any]:
    """What the text of a TOML file says."""
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise OptarenaError(f"{path}: not valid TOML: {error}") from error


def read_toml(path: Path) -> dict[str, Any]:
    """What a TOML file says."""
    return parse_toml(read_text(path), path)
