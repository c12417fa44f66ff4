"""What a run's journals say while others write them: which studies run, how far they are, and how they ended."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from optarena.experiment import Study
from optarena.runner.attempt import Outcome
from optarena.runner.local import Progress
from optarena.runner.reasons import Reasons, reason_of
from optarena.store import RunFile, Store
from optarena.store.records import End, Start

MOST = 4_000_000
"""Bytes that are read of a journal at once."""


class _Rows(msgspec.Struct, tag_field="t", tag="e"):
    """Of rows, what progress needs."""

    s: int
    k: int
    y: list[msgspec.Raw]
    f: dict[int, tuple[str, str]] = {}


_decode = msgspec.json.Decoder(Start | _Rows | End).decode


class _Life:
    """A study in one journal."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.evaluations = self.failures = 0
        self.why = Reasons()


class Tail:
    """Tells a progress what is new in the journals of a store, each study's end once."""

    def __init__(self, store: Store, run: RunFile, todo: Iterable[Study], progress: Progress, skip: set[str]) -> None:
        """skip: journals that were there before the run."""
        self._store, self._run, self._progress, self._skip = store, run, progress, skip
        self.left = {study.id: study for study in todo}
        """The studies whose end was not told."""
        self.moves = 0
        """How many lines with rows and ends were read."""
        self.begun: set[str] = set()
        """The studies that were begun."""
        self._read: dict[str, int] = {}
        self._lives: dict[tuple[str, int], _Life] = {}
        """Journal and number in it -> a study of this run."""

    def look(self) -> None:
        for path in self._store.journal_paths():
            if path.name not in self._skip:
                with contextlib.suppress(OSError):  # it was compacted meanwhile
                    self._look_at(path)

    def _look_at(self, path: Path) -> None:
        offset = self._read.get(path.name, 0)
        if path.stat().st_size <= offset:
            return
        with path.open("rb") as file:
            file.seek(offset)
            data = file.read(MOST)
        data = data[: data.rfind(b"\n") + 1]
        self._read[path.name] = offset + len(data)
        moved: dict[int, _Life] = {}
        for line in data.splitlines():
            with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):  # another kind of line
                record = _decode(line)
                life = self._lives.get((path.name, record.s))
                if isinstance(record, Start):
                    self._begun(path.name, record)
                elif life is not None and isinstance(record, End):
                    moved.pop(record.s, None)
                    self.moves += 1
                    self._ended(life, record)
                elif life is not None and isinstance(record, _Rows):
                    life.evaluations = record.k + len(record.y) - 1
                    life.failures += len(record.f)
                    for kind, message in record.f.values():
                        life.why.add(reason_of(kind, message))
                    self.moves += 1
                    moved[record.s] = life
        for life in moved.values():
            if life.study.id in self.left:
                self._progress.tick(life.study, life.evaluations)

    def _begun(self, journal: str, start: Start) -> None:
        before = self._run.before.get(start.study, (-1, -1))
        if start.study in self.left and (start.attempt, start.life) > before:
            self._lives[journal, start.s] = _Life(self.left[start.study])
            self.begun.add(start.study)

    def _ended(self, life: _Life, end: End) -> None:
        if self.left.pop(life.study.id, None) is not None:
            self._progress.ended(
                life.study,
                Outcome(end.status, end.evaluations, end.reason, failures=life.failures, reasons=life.why.counts()),
            )
