"""What a run's journals say while others write them: which studies run, how far they are, and how they ended."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from optarena.experiment import Study
from optarena.runner.attempt import Outcome
from optarena.runner.local import Progress
from optarena.runner.reasons import Reasons, reason_of
from optarena.store import RunFile, Store
from optarena.store.records import End, ProblemCard, Start

MOST = 4_000_000
"""Bytes that are read of a journal at once."""


class _Rows(msgspec.Struct, tag_field="t", tag="e"):
    """Of rows, what progress needs."""

    s: int
    k: int
    y: list[msgspec.Raw]
    f: dict[int, tuple[str, str]] = {}


_decode = msgspec.json.Decoder(Start | _Rows | End).decode


class _FailedRows(msgspec.Struct, tag_field="t", tag="e"):
    """Of rows, what tells which failed, why, and at which point."""

    s: int
    f: dict[int, tuple[str, str]] = {}
    x: list[list[Any]] = []


_decode_failed = msgspec.json.Decoder(Start | ProblemCard | _FailedRows).decode
_TOLD = (b'"f":{', b'"t":"start"', b'"t":"problem"')
"""What the lines contain that tell of a failure, or what it is of."""


@dataclass(frozen=True)
class Failed:
    """An evaluation that failed."""

    optimizer: str
    problem: str
    reason: str
    point: dict[str, Any]


class FirstFailure:
    """Finds the first evaluation that fails in the journals that are new in a store. Only what was written since the
    last look is read, and nothing of it is kept."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._before = {path.name for path in store.journal_paths()} if store.exists else set()
        self._read: dict[str, int] = {}
        self._starts: dict[tuple[str, int], Start] = {}
        self._cards: dict[str, ProblemCard] = {}

    def look(self) -> Failed | None:
        for path in self._store.journal_paths() if self._store.exists else ():
            if path.name not in self._before:
                with contextlib.suppress(OSError):  # it was compacted meanwhile
                    if found := self._look_at(path):
                        return found
        return None

    def _look_at(self, path: Path) -> Failed | None:
        for line in _new_lines(path, self._read):
            if not any(sign in line for sign in _TOLD):
                continue
            with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):  # another kind of line
                record = _decode_failed(line)
                if isinstance(record, Start):
                    self._starts[path.name, record.s] = record
                elif isinstance(record, ProblemCard):
                    self._cards[record.hash] = record
                elif record.f and (start := self._starts.get((path.name, record.s))) is not None:
                    row, (kind, message) = next(iter(record.f.items()))
                    card = self._cards.get(start.problem)
                    values = record.x[row] if row < len(record.x) else []
                    names = list(card.space or ()) if card is not None else []
                    point = dict(zip(names, values, strict=True)) if len(names) == len(values) else {}
                    problem = start.problem if card is None else card.id
                    return Failed(start.optimizer, problem, reason_of(kind, message), point)
        return None


def _new_lines(path: Path, read: dict[str, int]) -> list[bytes]:
    """The whole lines that a journal has got since it was read; `read`: how far, by its name."""
    offset = read.get(path.name, 0)
    if path.stat().st_size <= offset:
        return []
    with path.open("rb") as file:
        file.seek(offset)
        data = file.read(MOST)
    data = data[: data.rfind(b"\n") + 1]
    read[path.name] = offset + len(data)
    return data.splitlines()


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
        moved: dict[int, _Life] = {}
        for line in _new_lines(path, self._read):
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
