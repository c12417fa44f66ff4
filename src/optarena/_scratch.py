"""Temporary directories that only their owner can read, and that are removed: at the end, or by a later run.

A name cannot be guessed, and a link under it is never followed (`tempfile.mkdtemp`). Whoever has a directory holds a
lock on it: one that nobody holds belonged to a process that was killed.

>>> with Scratch("replay") as folder:
...     Path(folder).is_dir()
True
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
import time
import weakref
from pathlib import Path

PREFIX = "optarena-"
WITHIN = "OPTARENA_SCRATCH"
"""The variable that names the directory of a run, in which its workers make theirs."""
ABANDONED_SECONDS = 3600.0


class Scratch(tempfile.TemporaryDirectory[str]):
    """A directory for a purpose. As a context manager it gives its path."""

    def __init__(self, purpose: str) -> None:
        within = os.environ.get(WITHIN)
        place = within if within and _is_ours(Path(within)) else None
        super().__init__(prefix=f"{PREFIX}{purpose}-", dir=place, ignore_cleanup_errors=True)
        descriptor = os.open(self.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._unlock = weakref.finalize(self, os.close, descriptor)

    def cleanup(self) -> None:
        super().cleanup()
        self._unlock()


def _is_ours(path: Path) -> bool:
    """Whether a path is a directory of this user, and no link to one."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def remove_abandoned() -> None:
    """Remove the directories of processes that were killed an hour ago or earlier; those of others are left alone."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        with contextlib.suppress(OSError):
            if _is_ours(path) and time.time() - path.lstat().st_mtime > ABANDONED_SECONDS:
                descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # an error where somebody has it
                    shutil.rmtree(path, ignore_errors=True)
                finally:
                    os.close(descriptor)
