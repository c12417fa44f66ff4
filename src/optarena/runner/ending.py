"""Runs that pilots do, and that end before they are done: by another run of the same studies, or because somebody asks.

Pilots learn it from the run's directory: it is gone, or has a file `stop`.
"""

from __future__ import annotations

from pathlib import Path

from optarena._files import write_atomically
from optarena.store import RunFile, Store
from optarena.store.leases import clear


def end_lost(store: Store, run: RunFile) -> None:
    """End the runs that pilots should have done and whose studies a new run does; leave nothing of those that ended.

    Call it under the lock "run", when the new run has begun: pilots of the others would do its studies once more.
    """
    todo = set(run.todo)
    for other in store.runs():
        if not other.pilots or other.id == run.id:
            continue
        if other.ended is not None:
            clear(store.pilots(f"slurm-{other.id}"))
        elif todo & set(other.todo):  # its jobs may still be in SLURM's queue, and read these files to learn its end
            store.end_run(other, "interrupted")
        if other.ended is not None:
            clear(store.pilots(other.id))


def stop(store: str | Path, only: str = "", how: str = "interrupted") -> list[RunFile]:
    """Ask the pilots of all runs of a store, or of one, to stop, and end these runs; those that were not over."""
    place = Store(store)
    place.must_exist()
    out = []
    for run in place.runs(only=only or "*"):
        if run.pilots and run.ended is None:
            directory = place.pilots(run.id)
            if directory.is_dir():
                write_atomically(directory / "stop", b"")
            place.end_run(run, how)
            out.append(run)
    return out


def is_stopped(store: Store, run: str) -> bool:
    """Whether the pilots of a run are to stop; not where the run is done, which they see for themselves."""
    directory = store.pilots(run)
    if not _is_missing(directory / "stop"):
        return True
    if not _is_missing(directory):
        return False
    head = store.run(run)
    return head is None or head.how != "done"


def _is_missing(path: Path) -> bool:
    try:
        path.lstat()
    except FileNotFoundError:
        return True
    return False
