"""A run compacts what it has finished by itself, so that users need not do it.

It does so in a process of its own, at a low priority, when the journals of the store have grown by as much as goes into
one shard, and when it ends. Smaller stores stay journals: those open in less than a second, can be read with any
editor, and the process alone would cost more than it gives. What it cannot do (the disk is full, say) is a notice and
never the end of a run; it may be killed at any moment.

    python -m optarena.runner.compacting STORE LEAST_BYTES
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from optarena.errors import OptarenaError, WorkError
from optarena.store import Store
from optarena.store.journal import SHARD_BYTES

LOOK_SECONDS = 5.0


class Compacting:
    """Checks a store's journals regularly, and has them compacted; `notice` gets what went wrong."""

    def __init__(self, store: Store, notice: Callable[[str], None]) -> None:
        self._store, self._notice = store, notice
        self._process: subprocess.Popen[str] | None = None
        self._left = _bytes(store)
        """The size of the journals that were there when there was nothing to compact."""
        self._next = 0.0

    def __call__(self) -> None:
        """Begin to compact, if it is worth it; never waits."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + LOOK_SECONDS
        if self._process is not None:
            if self._process.poll() is None:
                return
            self._end()
        if _bytes(self._store) - self._left >= SHARD_BYTES:
            self._begin()

    def finish(self) -> None:
        """Compact what is left, when the run has ended and its last journals are closed."""
        try:
            self._end()
            if _bytes(self._store) >= SHARD_BYTES:
                self._begin()
                self._end()
        finally:
            self.stop()

    def stop(self) -> None:
        """Compact no more; what is half done is done again another time."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _begin(self) -> None:
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(self._store.path.resolve()), str(SHARD_BYTES)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                env=os.environ | {"POLARS_MAX_THREADS": "1"},  # the cores are for the workers
                start_new_session=True,
            )
        except OSError as error:
            self._failed(str(error))

    def _end(self) -> None:
        """Wait until it has ended, and say what it could not do."""
        if self._process is None:
            return
        _, said = self._process.communicate()
        if self._process.returncode:
            self._failed((said.strip().splitlines() or [f"exit code {self._process.returncode}"])[-1])
        self._process = None
        self._left = _bytes(self._store)

    def _failed(self, why: str) -> None:
        self._left = _bytes(self._store)
        self._notice(f"journals were not compacted ({why}); nothing is lost, 'optarena compact' tries again")


def _bytes(store: Store) -> int:
    """The size of all journals of a store."""
    total = 0
    try:
        with os.scandir(store.journals) as entries:
            for entry in entries:
                try:
                    if entry.is_file(follow_symlinks=False):
                        total += entry.stat(follow_symlinks=False).st_size
                except OSError:  # it was compacted meanwhile
                    continue
    except OSError:
        return 0
    return total


def main() -> None:
    """Compact a store's journals, if those at rest are worth it."""
    from optarena.store.compaction import compact

    os.nice(10)
    try:
        compact(Store(Path(sys.argv[1])), least=int(sys.argv[2]))
    except (OptarenaError, WorkError) as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
