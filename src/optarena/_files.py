"""Atomic writes, and texts and TOML files whose mistakes are named.

Temporary files have names that cannot be guessed, are made anew and follow no link. The rename replaces a link by the
file: what the link pointed to is not touched.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import resource
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from optarena._damage import damage_named
from optarena.errors import OptarenaError, WorkError

ABANDONED_SECONDS = 3600.0  # nobody takes so long to write a temporary file
MAX_NESTING = 100
"""Levels of tables and lists in a TOML file."""
_TEMPORARY = re.compile(r"\.[0-9a-f]{8}\.tmp\Z")
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


def write_atomically(path: Path, data: bytes, *, synced: bool = True) -> None:
    """An atomic write: readers see all of the file or none of it. `synced`: it survives a power failure, too."""
    write_together({path: data}, synced=synced)


def write_together(files: Mapping[Path, bytes], *, synced: bool = True) -> None:
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
            (_write_synced if synced else _write_new)(written[path], data)
        for path, beside in written.items():
            existed = os.path.lexists(path)
            beside.rename(path)
            new += [] if existed else [path]
        for directory in {path.parent for path in written} if synced else ():
            _sync_directory(directory)
    except BaseException as error:
        for left in [*written.values(), *new]:
            with contextlib.suppress(OSError):
                left.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise cannot_write(path, error) from error
        raise


def write_once(path: Path, data: bytes) -> bool:
    """An atomic write of a file that nobody has written yet; False if it exists, which is then as it was."""
    beside = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        _write_synced(beside, data)
        try:
            os.link(beside, path)
        except FileExistsError:
            return False
        except OSError:  # a file system without links
            if os.path.lexists(path):
                return False
            beside.rename(path)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        beside.unlink(missing_ok=True)
    return True


def must_be_writable(path: Path) -> None:
    """Refuse a path that cannot be written, before the work whose result goes there. Leaves nothing behind."""
    if path.is_dir():
        raise cannot_write(path, IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR)))
    above = next(parent for parent in path.absolute().parents if os.path.lexists(parent))
    if not above.is_dir():
        raise cannot_write(path, NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)))
    probe = above / f".{secrets.token_hex(4)}.tmp"  # what os.access says of root, /proc and the like is no promise
    try:
        with probe.open("xb"):
            pass
        probe.unlink()
    except OSError as error:
        raise cannot_write(path, error) from error


def cannot_write(path: Path, error: OSError, safe: str = "") -> WorkError:
    """The error of a failed write; `safe` says what it does not touch, such as "What was evaluated before"."""
    text = f"cannot write to {path}: {error.strerror}"
    if safe:
        does = "make room" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "make it writable"
        text += f". {safe} is safe; {does} and run the same command again"
    return WorkError(text)


def _write_synced(path: Path, data: bytes) -> None:
    with _new(path) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _write_new(path: Path, data: bytes) -> None:
    with _new(path) as file:
        file.write(data)


def _new(path: Path) -> IO[bytes]:
    """A file that was not there before."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    return os.fdopen(descriptor, "wb")


def remove_abandoned_beside(path: Path) -> None:
    """Remove what processes that were killed while they wrote this very file left beside it, an hour ago or earlier."""
    remove_abandoned_in(path.parent, path.name)


def remove_abandoned_in(directory: Path, name: str = "") -> None:
    """Remove what is left of files that nobody finished writing; name: only of this file."""
    with contextlib.suppress(OSError):
        for left in directory.iterdir():
            ours = _TEMPORARY.fullmatch(left.name[len(name) :]) if name else _TEMPORARY.search(left.name)
            if ours and left.name.startswith(name):
                with contextlib.suppress(OSError):
                    if time.time() - left.lstat().st_mtime > ABANDONED_SECONDS:
                        left.unlink()


def _sync_directory(path: Path) -> None:
    directory = os.open(path, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


@contextlib.contextmanager
def locked(path: Path, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Only one process at a time does what needs this lock. waiting: called if another has it.

    path: a directory, or a file, which is made and stays: on NFS only what is open for writing can be locked. There is
    no lock where a file system has none, or the path cannot be opened.
    """
    as_file = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY if path.is_dir() else as_file, 0o666)
            held.callback(os.close, descriptor)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if waiting is not None:
                    waiting()
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


def user_cache() -> Path:
    """Where to keep what can be made again."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(given) if given.startswith("/") else Path.home() / ".cache") / "optarena"


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

    with damage_named(path, "valid TOML"):
        # what stands before a "=" may be a dotted key; the parser's time grows with the square of its length
        if any(part.rpartition("\n")[2].count(".") > 10 * MAX_NESTING for part in text.split("=")[:-1]):
            raise OptarenaError(f"{path}: nested more than {MAX_NESTING} levels deep")
        try:
            found = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise OptarenaError(f"{path}: not valid TOML: {error}") from error
        _refuse_odd(found, path, "", MAX_NESTING)
    return found


def _refuse_odd(value: Any, path: Path, field: str, levels: int) -> None:
    """Refuse tables within tables without end, and whole numbers that JSON readers cannot hold."""
    if not levels:
        raise OptarenaError(f"{path}: nested more than {MAX_NESTING} levels deep")
    if isinstance(value, int) and abs(value) >= 2**63:
        raise OptarenaError(f"{path}: {field}: a whole number beyond 64 bits")
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        _refuse_odd(item, path, f"{field}.{key}" if field else str(key), levels - 1)


def read_toml(path: Path) -> dict[str, Any]:
    """What a TOML file says."""
    return parse_toml(read_text(path), path)
