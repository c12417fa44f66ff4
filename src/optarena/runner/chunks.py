"""Chunks of a run's studies, as a pilot gets them: by leases in a shared store, or given in a store of its own."""

from __future__ import annotations

import contextlib
import functools
import math
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import msgspec

from optarena._files import write_atomically
from optarena.dataset import Dataset
from optarena.experiment import Plan, Study
from optarena.runner.lacking import lacking, recorded
from optarena.runner.local import FEW_STUDIES
from optarena.runner.past import Past, Pasts
from optarena.runner.recorded import array, plain
from optarena.store import Store
from optarena.store.leases import EXPIRY_SECONDS, Lease, Leases, clear

UNASKED_SECONDS = 600.0
"""A pilot in a store of its own that has nothing to do ends when nobody has asked for its journals for so long."""
IDLE_SECONDS = 600.0
"""A pilot that had nothing to do for so long ends: others have all that is left."""
LOST_TOGETHER = 2
"""So many pilots may be lost with a study among others; then it is run alone."""
LOST_ALONE = 2
"""So many may be lost with it then."""


class Todo(NamedTuple):
    """What is to be done for a chunk."""

    studies: list[Study]
    pasts: Pasts | Mapping[str, Past]
    """What each continues from."""
    alone: Mapping[str, int] = MappingProxyType({})
    """Studies that may have taken a machine with them, with their recorded evaluations."""
    hopeless: Mapping[str, str] = MappingProxyType({})
    """Studies that are given up, and why."""


class PlanFile(msgspec.Struct):
    """What the pilots of a run must know, in `pilots/<run>/plan.json`; it goes with the run."""

    run: str
    root: str
    experiment: dict[str, Any]
    base: str
    """The directory in which users' files are looked up."""
    ranges: list[tuple[int, int]]
    """The studies to run, as places in the plan."""
    digest: str
    """Of their ids: a machine that plans other studies is refused."""
    facts: dict[str, str]
    """Packages that decide about values, with their versions."""
    sources: dict[str, str]
    size: int
    """Studies in a chunk."""
    pilots: int
    kernels: str
    """Those that all pilots must have."""
    wanted: str
    """Those that were asked for: pinned or native."""
    locks: dict[str, dict[str, str]] = {}
    """Optimizer -> the Python and the packages of its environment, where it has one."""
    environments: dict[str, dict[str, str]] = {}
    """The same by the keys of the environments: a pilot that has none makes it of the very same packages."""
    retry: bool = False
    continued: bool = False
    """Whether some of the studies were begun before this run."""
    expiry: float = EXPIRY_SECONDS
    number: int = 0
    """Of the run, from 1 on."""

    @property
    def chunks(self) -> int:
        """With the end."""
        return -(-sum(end - begin for begin, end in self.ranges) // self.size) + 1


class Chunks(Protocol):
    """Where a pilot gets its chunks from."""

    def beat(self) -> None: ...
    def end(self) -> None: ...
    def claim(self) -> Lease | None: ...
    def claim_lost(self) -> Lease | None: ...
    def lost(self) -> list[int]: ...
    def take(self, lease: Lease) -> Todo: ...
    def finish(self, lease: Lease) -> None: ...
    def alone(self, study: str, evaluations: int) -> None: ...
    def not_alone(self, study: str) -> None: ...
    @property
    def idle_seconds(self) -> float: ...
    @property
    def all_done(self) -> bool: ...
    @property
    def ended_the_run(self) -> bool: ...


class Shared(Leases):
    """Chunks by leases in a directory that all pilots see."""

    def __init__(self, store: Store, file: PlanFile, plan: Plan, todo: list[Study], number: int = 1) -> None:
        first = (file.chunks - 1) * (number - 1) // file.pilots
        super().__init__(store.pilots(file.run), file.chunks, first, file.expiry)
        self._store, self._plan_file, self._plan, self._todo = store, file, plan, todo
        self.ended_the_run = False

    def take(self, lease: Lease) -> Todo:
        """The studies of a chunk that are not finished, each with its past."""
        end = lease.chunk == self._plan_file.chunks - 1
        size = self._plan_file.size
        studies = self._todo if end else self._todo[lease.chunk * size : (lease.chunk + 1) * size]
        if end or lease.turn:
            ids = [study.id for study in studies] if len(studies) <= FEW_STUDIES else []
            before = Dataset.of_store(self._store.path, *ids)
            studies = list(lacking(studies, before, self._plan_file.retry and not end))
            return self._judged(lease, studies, before)
        return Todo(studies, self._first if self._plan_file.continued else {})

    def _judged(self, lease: Lease, studies: list[Study], before: Dataset) -> Todo:
        """Where pilots were lost: what two of them had begun is run alone, and given up when that was in vain.

        After the first loss all goes on as before: machines are lost more often than studies are deadly.
        """
        pasts = recorded(self._plan, before, studies)
        if lease.turn < LOST_TOGETHER or self.losses(lease) < LOST_TOGETHER:
            return Todo(studies, pasts)
        ids = {study.id for study in studies}
        made = dict(before.studies.select("study", "evaluations").iter_rows())
        starts = [one.start for one in before.attempts if one.start.study in ids]
        alone = {start.study: made[start.study] for start in starts if start.life > 1 or start.attempt}
        lost = {study: LOST_TOGETHER + self.lost_with(study, n) for study, n in alone.items()}
        why = {
            study: f"{count} pilots were lost while they ran it: it may have used all memory of their machines"
            for study, count in lost.items()
            if count >= LOST_TOGETHER + LOST_ALONE
        }
        return Todo(studies, pasts, alone, why)

    @property
    def idle_seconds(self) -> float:
        return IDLE_SECONDS

    @functools.cached_property
    def _first(self) -> Pasts:
        """What studies that were begun before the run continue from."""
        return recorded(self._plan, Dataset.of_store(self._store.path), self._todo)

    def finish(self, lease: Lease) -> None:
        """A chunk is done: its rows are on the disk. The last one ends the run."""
        end = lease.chunk == self._plan_file.chunks - 1
        if end:
            head = self._store.run(self._plan_file.run)
            if head is not None and head.ended is None:
                self._store.end_run(head, "done")
                self.ended_the_run = True
        super().finish(lease)
        if end:
            clear(self._store.pilots(self._plan_file.run))


class Part(msgspec.Struct):
    """A chunk as it is given to a pilot in a store of its own."""

    chunk: int
    turn: int
    studies: list[str]
    pasts: dict[str, Past] = {}
    alone: dict[str, int] = {}
    hopeless: dict[str, str] = {}


encode_part = msgspec.msgpack.Encoder(enc_hook=plain).encode
_decode_part = msgspec.msgpack.Decoder(Part, dec_hook=array).decode


class Given:
    """Chunks that somebody puts into a directory of a store that no other pilot sees.

    `given/<chunk>.<turn>` is a chunk to run, as long as the file exists; `done/<chunk>.<turn>` says that it is done;
    `taken` has the number of chunks that were taken, and a second one, larger by one, if another is wanted. The time
    of change of `asked` tells when somebody last asked what is new. `alone` has the study that is run alone, if any.
    """

    ended_the_run = False
    idle_seconds = math.inf

    def __init__(self, directory: Path, todo: list[Study]) -> None:
        self._given, self._done, self._said = directory / "given", directory / "done", directory / "taken"
        self._asked, self._alone = directory / "asked", directory / "alone"
        self._studies = {study.id: study for study in todo}
        self._parts: dict[int, tuple[str, Part]] = {}
        """Chunk -> the file that it came in, and what it had."""
        self._seen: set[str] = set()
        self._last = b""
        self.all_done = False

    @staticmethod
    def exists(directory: Path) -> bool:
        """Whether the chunks of a pilot are given to it."""
        return (directory / "given").is_dir()

    def beat(self) -> None: ...
    def end(self) -> None: ...

    def claim(self) -> Lease | None:
        for name in sorted(path.name for path in self._given.iterdir()):
            if name in self._seen or name.endswith(".tmp"):
                continue
            with contextlib.suppress(FileNotFoundError):
                part = _decode_part((self._given / name).read_bytes())
                self._seen.add(name)
                self._parts[part.chunk] = (name, part)
                self._say(hungry=False)
                return Lease(part.chunk, part.turn)
        self._say(hungry=True)
        return None

    def claim_lost(self) -> Lease | None:
        with contextlib.suppress(OSError):
            self.all_done = not self._parts and time.time() - self._asked.stat().st_mtime > UNASKED_SECONDS
        return None

    def _say(self, *, hungry: bool) -> None:
        text = f"{len(self._seen)} {len(self._seen) + hungry}".encode()
        if self._last != text:
            write_atomically(self._said, text, synced=False)
            self._last = text

    def lost(self) -> list[int]:
        """Chunks that were given and then taken back."""
        back = [chunk for chunk, (name, _) in self._parts.items() if not (self._given / name).exists()]
        for chunk in back:
            del self._parts[chunk]
        return back

    def take(self, lease: Lease) -> Todo:
        part = self._parts[lease.chunk][1]
        return Todo([self._studies[id] for id in part.studies], part.pasts, part.alone, part.hopeless)

    def alone(self, study: str, evaluations: int) -> None:
        write_atomically(self._alone, f"{study} {evaluations}".encode(), synced=False)

    def not_alone(self, study: str) -> None:  # noqa: ARG002 (there is one at a time)
        self._alone.unlink(missing_ok=True)

    def finish(self, lease: Lease) -> None:
        if lease.chunk in self._parts:
            name, _ = self._parts.pop(lease.chunk)
            write_atomically(self._done / name, b"")
