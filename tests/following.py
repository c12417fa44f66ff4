"""Stores as a live page sees them: followed, and cut as if their runs had come only so far."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec

from optarena.facade import Results
from optarena.store import Store
from optarena.store.following import Follower, Stores


def followed(path: Path) -> Follower:
    follower = Follower(Stores([path]))
    follower.look()
    return follower


def unended(path: Path, keep: int) -> None:
    """Cut a store's journal after some ends, as if its run had come so far."""
    for journal in sorted(Store(path).journal_paths(), key=lambda one: one.stat().st_mtime_ns):
        lines = journal.read_bytes().splitlines(keepends=True)
        ends = [i for i, line in enumerate(lines) if b'"t":"end"' in line]
        if keep <= 0:
            journal.unlink()
        elif keep < len(ends):
            journal.write_bytes(b"".join(lines[: ends[keep - 1] + 1]))
        keep -= len(ends)


def after(path: Path, where: Path, ended: int, *, runs: int | None = None) -> Results:
    """A copy of a store as it was after so many ends; its last run has no end.

    runs: so many runs had begun; by default all.
    """
    shutil.copytree(path, where)
    unended(where, ended)
    begun = Store(where).runs()
    for run in begun[runs:] if runs is not None else []:
        (where / "runs" / f"{run.id}.json").unlink()
    last = begun[: runs or len(begun)][-1]
    Store(where)._write_run(msgspec.structs.replace(last, ended=None, how="", pid=0))
    return Results.of_follower(followed(where))
