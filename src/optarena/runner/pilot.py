"""Pilots: long-lived supervisors with their workers, on any number of machines, that do one run together.

`announce` writes what is to be done into the store: the run file, and in `pilots/<run>/` the plan. A `pilot` plans the
same studies, claims chunks of them (`optarena.store.leases`), runs them with the same worker program as a local run,
and writes its own journals. No process is in charge: pilots may come, go and die at any time, and the last chunk is a
look at the store, which runs what is still missing and ends the run.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import os
import platform
import random
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from optarena._files import write_atomically
from optarena._json import strict, unstrict
from optarena._process import usable_cores
from optarena._scratch import remove_abandoned
from optarena._source import versions_of
from optarena._version import __version__
from optarena.environments import Environment, different, make_as
from optarena.errors import OptarenaError, WorkError
from optarena.experiment import Experiment, Plan, Study
from optarena.optimizers.command import CommandOptimizer
from optarena.runner import kernels as kernels_
from optarena.runner.attempt import Outcome
from optarena.runner.calibration import machine
from optarena.runner.chunks import Chunks, Given, PlanFile, Shared
from optarena.runner.compacting import Compacting
from optarena.runner.ending import end_lost, is_stopped
from optarena.runner.lacking import lacking, left_failed, objects_here, planned, refuse_empty, settled
from optarena.runner.local import Progress, Silent
from optarena.runner.past import Past, Pasts
from optarena.runner.signing import signatures
from optarena.runner.supervisor import Supervisor
from optarena.store import RunFile, Store, is_id
from optarena.store.leases import BEAT_SECONDS, EXPIRY_SECONDS, Lease, make_room

CHUNKS_PER_PILOT = 32
"""So that the last chunk of a pilot is a small part of its work; a chunk costs two requests to the file system."""
LARGEST_CHUNK = 256
QUICK_SECONDS = 1.0
"""Studies that take less are given to workers ahead; of others, each goes to the first pilot that is free."""
MOST_CHUNKS = 100_000


class Announced(NamedTuple):
    """A run that is ready for pilots; none where there is nothing left to do."""

    run: RunFile | None
    plan: Plan
    todo: int


class Flight(NamedTuple):
    """What a pilot did."""

    studies: int
    how: str
    """done: the run is; stopped: somebody asked for that; over: it had ended before; idle: others have what is left."""


class Stopped(BaseException):
    """The pilot was asked to stop: it ends its workers in order, and others go on."""


class Requeued(Stopped):
    """It was, and will be started again."""


def announce(
    experiment: Experiment,
    store: str | Path,
    *,
    pilots: int,
    retry: bool = False,
    new: bool = False,
    kernels: str = "pinned",
    expiry: float = EXPIRY_SECONDS,
) -> Announced:
    """Write into the store what pilots are to do; an earlier run that lost all its pilots ends by that.

    pilots: how many there may be; the run is for at most as many as there are studies.
    """
    chosen = kernels_.chosen(kernels)
    if pilots < 1:
        raise OptarenaError(f"pilots: expected a whole number of at least 1, got {pilots}")
    if type(experiment) is not Experiment or experiment.race is not None:
        raise OptarenaError("a race or a launch of Bayesmark runs on one machine: its plan depends on results")
    place = Store(store)
    plan = planned(experiment, place, new)
    refuse_empty(plan)
    if here := objects_here(plan):
        raise OptarenaError(f"{here[0]} is an object of this process: put it in a file and name it 'file.py:name'")
    remove_abandoned()
    place.create()
    with place.lock("run"):
        sign = functools.partial(signatures, kernels=chosen)
        plan, before = settled(experiment, place, plan, sign, new=new, retry=retry)
        place.lift_old_pause(before.runs)
        todo = list(lacking(plan.studies, before, retry))
        plan.notices += left_failed(plan, before, todo)
        if not todo:
            return Announced(None, plan, 0)
        pilots = min(pilots, len(todo))
        newest = {a.start.study: (a.start.attempt, a.start.life) for a in before.attempts}
        run = place.begin_run(plan, [study.id for study in todo], kernels, newest, pilots=pilots)
        end_lost(place, run)
        ids = {study.id for study in todo}
        size = max(1, min(LARGEST_CHUNK, len(todo) // (CHUNKS_PER_PILOT * pilots)), len(todo) // MOST_CHUNKS)
        file = PlanFile(
            run=run.id,
            root=run.root,
            number=run.number,
            experiment=run.experiment,
            base=str((experiment.base or Path.cwd()).resolve()),
            ranges=_ranges([i for i, study in enumerate(plan.studies) if study.id in ids]),
            digest=_digest(todo),
            facts=_facts(plan),
            sources=plan.sources,
            locks={label: found.versions for label, found in _locks(plan).items()},
            environments={found.key: found.versions for found in _locks(plan).values()},
            size=size,
            pilots=pilots,
            kernels=chosen,
            wanted=kernels,
            retry=retry,
            continued=bool(run.before),
            expiry=expiry,
        )
        try:
            make_room(place.pilots(run.id))
            write_atomically(place.pilots(run.id) / "plan.json", msgspec.json.encode(file))
        except OptarenaError:
            place.end_run(run, "failed")
            raise
    return Announced(run, plan, len(todo))


def announced_before(experiment: Experiment, store: Store) -> RunFile | None:
    """The run of this very experiment that pilots are doing now: whoever announced it was lost."""
    wanted = strict(experiment.to_data())
    runs = store.runs() if store.exists else []
    same = [run for run in runs if run.pilots and run.ended is None and run.experiment == wanted]
    fits = [run for run in same if experiment.seed is None or run.root == str(experiment.seed)]
    return next((run for run in reversed(fits) if store.is_live(run)), None)


def _ranges(places: Sequence[int]) -> list[tuple[int, int]]:
    """Numbers that rise, as ranges."""
    out: list[tuple[int, int]] = []
    for i in places:
        if out and out[-1][1] == i:
            out[-1] = (out[-1][0], i + 1)
        else:
            out.append((i, i + 1))
    return out


def _digest(studies: Sequence[Study]) -> str:
    return hashlib.sha256("\n".join(study.id for study in studies).encode()).hexdigest()


def _facts(plan: Plan) -> dict[str, str]:
    packages = {name for found in (*plan.classes.values(), *plan.problems.values()) for name in found.packages}
    own = {"optarena": __version__, "python": ".".join(platform.python_version_tuple()[:2])}
    always = {name: importlib.metadata.version(name) for name in ("numpy", "scipy")}
    return {**versions_of(sorted(packages)), **own, **always}


def _apart(plan: Plan) -> dict[str, type[CommandOptimizer]]:
    """The optimizers that are programs: each may have an environment of its own, or the trouble with it."""
    return {label: cls for label, cls in plan.classes.items() if issubclass(cls, CommandOptimizer)}


def _locks(plan: Plan) -> dict[str, Environment]:
    return {label: cls.environment for label, cls in _apart(plan).items() if cls.environment is not None}


def pilot(
    store: str | Path,
    run: str,
    *,
    number: int = 1,
    workers: int | None = None,
    parent: int | None = None,
    progress: Progress | None = None,
) -> Flight:
    """Do a part of an announced run; returns when all of it is done, or when somebody asked to stop.

    number: of the pilot, from 1 on. workers: processes, by default one per core. parent: a process with which this
    pilot ends.
    """
    place = Store(store)
    place.must_exist()
    file = read_plan(place, run)
    if file is None or is_stopped(place, run):
        return Flight(0, "over")
    try:
        plan, todo = _planned(file)
        _refuse_other_machine(file, plan, todo)
    except OptarenaError as error:
        mine = place.begin_pilot(file.run, file.root, file.number, number, kernels=file.wanted)
        mine.reason = str(error)
        place.end_run(mine, "failed")
        raise
    crew = min(len(todo), workers or usable_cores())
    chunks: Chunks
    if Given.exists(place.pilots(run)):
        chunks = Given(place.pilots(run), todo)
    else:
        try:
            chunks = Shared(place, file, plan, todo, number)
        except FileNotFoundError:
            return Flight(0, "over")
    mine = place.begin_pilot(file.run, file.root, file.number, number, machine(), file.wanted)
    work = _Work(place, file, plan, chunks, progress or Silent(), parent)
    how = "failed"
    try:
        with beating([chunks.beat, functools.partial(place.heartbeat, mine)], file.expiry):
            work.run(crew)
        how = "done"
    except (Stopped, KeyboardInterrupt, SystemExit) as error:
        how = "requeued" if isinstance(error, Requeued) else "interrupted"
        if not isinstance(error, Stopped):
            raise
    except Exception as error:
        mine.reason = str(error) or type(error).__name__
        raise
    finally:
        chunks.end()
        place.end_run(mine, how)
    if chunks.ended_the_run:
        Compacting(place, work.progress.notice).finish()
    return Flight(work.ended_studies, "stopped" if how != "done" else "idle" if work.idle else "done")


def read_plan(store: Store, run: str) -> PlanFile | None:
    """The plan; None if the run has ended. The run file, which has all studies, is not read if there is a plan."""
    if not is_id(run):
        raise OptarenaError(f"store {store.path} has no run {run} for pilots")
    path = store.pilots(run) / "plan.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=PlanFile)
    except FileNotFoundError:
        head = store.run(run)
        if head is None or not head.pilots:
            raise OptarenaError(f"store {store.path} has no run {run} for pilots") from None
        if head.ended is not None:
            return None
        raise OptarenaError(f"there is no file {path}; 'optarena run' again makes a new plan") from None
    except OSError as error:
        raise OptarenaError(f"{path}: {error.strerror}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise OptarenaError(f"{path}: not a plan for pilots ({error})") from error


def _planned(file: PlanFile) -> tuple[Plan, list[Study]]:
    experiment = Experiment.from_data(unstrict(file.experiment), base=Path(file.base))
    make_as(file.environments)
    plan = experiment.plan(uuid.UUID(file.root))
    return plan, [study for begin, end in file.ranges for study in plan.studies[begin:end]]


def _refuse_other_machine(file: PlanFile, plan: Plan, todo: Sequence[Study]) -> None:
    """Where packages or users' files differ, studies would not be the same on all machines."""
    facts = _facts(plan)
    for name in sorted({*facts, *file.facts}):
        if facts.get(name) != file.facts.get(name):
            raise OptarenaError(
                f"this machine has {name} {facts.get(name)}, the run was announced with {file.facts.get(name)}: pilots"
                " need the same packages"
            )
    for label, cls in _apart(plan).items():
        if label not in file.locks:
            continue  # it could not be made where the run was announced: whoever can do its studies does them
        if cls.environment is None:
            raise OptarenaError(f"this machine cannot run {label}: {cls.said.trouble}")
        if differing := different(cls.environment.versions, file.locks[label]):
            raise OptarenaError(
                f"the environment of {label} on this machine has other packages than the run was announced with:"
                f" {differing}. 'optarena env remove {cls.environment.key}' there, and a pilot makes it of the same"
            )
    for label in sorted({*plan.sources, *file.sources}):
        if plan.sources.get(label) != file.sources.get(label):
            raise OptarenaError(f"{label}: its source has changed since the run was announced")
    if _digest(todo) != file.digest:
        raise OptarenaError("this machine plans other studies than were announced: some problems differ")
    if kernels_.chosen(file.wanted) != file.kernels:
        raise OptarenaError(f"this machine has no numeric kernels {file.kernels}; use --kernels native for the run")


@contextlib.contextmanager
def beating(hearts: Sequence[Callable[[], None]], expiry: float) -> Iterator[None]:
    """Show that a pilot is alive, also while it reads a large store."""
    over = threading.Event()

    def beats() -> None:
        while not over.wait(min(BEAT_SECONDS, expiry / 6)):
            for beat in hearts:
                beat()

    thread = threading.Thread(target=beats, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class _Work:
    """Claims chunks, gives their studies to a supervisor, and says when a chunk is done."""

    def __init__(
        self,
        store: Store,
        file: PlanFile,
        plan: Plan,
        chunks: Chunks,
        progress: Progress,
        parent: int | None,
    ) -> None:
        self.store, self.file, self.chunks = store, file, chunks
        self.progress, self.parent = progress, parent
        self.supervisor = Supervisor(
            store, plan, plan.experiment, self, self._heart, file.kernels, file.retry, in_turn=False
        )
        self.crew = 1
        self.ended_studies = 0
        self.idle = False
        """Whether it had nothing to do for so long that it ended."""
        self._hand: deque[tuple[Study, int, Pasts | Mapping[str, Past], int | None]] = deque()
        """Studies of claimed chunks that no worker has yet; a last number: to be run alone, from that evaluation on."""
        self._alone = ""
        self._busy = time.monotonic()
        """When it last had something to do."""
        self._chunk: dict[str, int] = {}
        self._left: dict[int, tuple[Lease, set[str]]] = {}
        """Chunk -> its studies that have not ended."""
        self._pause = self._shortest = min(1.0, file.expiry / 10)
        self._next_look = self._next_heart = 0.0
        self._began = time.monotonic()

    def run(self, crew: int) -> None:
        self.crew = crew
        self.supervisor.run(self._batches(), crew)

    # ---- what comes next ---------------------------------------------------------------------------------------------

    def _batches(self) -> Iterator[tuple[list[Study], Pasts | Mapping[str, Past]] | None]:
        """Study after study, as long as there are any; None where others have all that is left."""
        while True:
            if self._alone:
                yield None
            elif not self._hand and not self._claim():
                if (self.chunks.all_done and not self._left) or self._is_idle():
                    return
                yield None
            elif self._hand and self._hand[0][3] is not None:
                if self.supervisor.open:
                    yield None
                    continue
                study, _, pasts, begun = self._hand.popleft()
                self._alone = study.id
                self.chunks.alone(study.id, begun or 0)
                yield [study], pasts
            elif self._hand and self._enough():
                yield None
            elif self._hand:
                study, _, pasts, _ = self._hand.popleft()
                yield [study], pasts

    def _is_idle(self) -> bool:
        """Whether others have had all that is left for a long time: this machine may be of more use elsewhere."""
        if self._left or self.supervisor.open:
            self._busy = time.monotonic()
        self.idle = time.monotonic() - self._busy > self.chunks.idle_seconds
        return self.idle

    def _enough(self) -> bool:
        """Whether all workers are busy and studies take long: then the next one may be free for another pilot."""
        if self.supervisor.open < self.crew:
            return False
        spent = (time.monotonic() - self._began) * self.crew
        return spent > QUICK_SECONDS * self.ended_studies

    def _claim(self) -> bool:
        lease = self.chunks.claim()
        if lease is None and time.monotonic() >= self._next_look:
            lease = self.chunks.claim_lost()
            self._pause = min(self._pause * 1.5, self.file.expiry / 4)
            self._next_look = time.monotonic() + self._pause * random.uniform(0.5, 1.5)
        if lease is None:
            return False
        self._pause = self._shortest
        self._take(lease)
        return True

    def _take(self, lease: Lease) -> None:
        """Put the studies of a chunk that are not finished into the hand, each with its past."""
        studies, pasts, alone, hopeless = self.chunks.take(lease)
        self._left[lease.chunk] = (lease, {study.id for study in studies})
        self._chunk |= dict.fromkeys((study.id for study in studies), lease.chunk)
        rest = sorted((study for study in studies if study.id not in hopeless), key=lambda study: study.id in alone)
        self._hand.extend((study, lease.chunk, pasts, alone.get(study.id)) for study in rest)
        for study in studies:
            if study.id in hopeless:
                self.supervisor.give_up(study, pasts, hopeless[study.id])
        if not studies:
            self._finish(lease.chunk)

    # ---- what the supervisor tells -----------------------------------------------------------------------------------

    def tick(self, study: Study, evaluations: int) -> None:
        self.progress.tick(study, evaluations)

    def notice(self, text: str) -> None:
        self.progress.notice(text)

    def ended(self, study: Study, outcome: Outcome) -> None:
        self.ended_studies += 1
        self.progress.ended(study, outcome)
        if study.id == self._alone:
            self._alone = ""
            self.chunks.not_alone(study.id)
        chunk = self._chunk.pop(study.id)
        if chunk in self._left:
            self._left[chunk][1].discard(study.id)
            if not self._left[chunk][1]:
                self._finish(chunk)

    def _finish(self, chunk: int) -> None:
        """A chunk is done when its rows are on the disk: until then another pilot may have to run it."""
        for name in self.supervisor.journals:
            _sync(self.store.journals / name)
        self.supervisor.journals.clear()
        lease, _ = self._left.pop(chunk)
        self.chunks.finish(lease)

    def _heart(self) -> None:
        """Now and then: should this pilot stop, and has somebody taken what it has?"""
        if self.parent is not None and os.getppid() != self.parent:
            raise Stopped
        if time.monotonic() < self._next_heart:
            return
        self._next_heart = time.monotonic() + min(BEAT_SECONDS, self.file.expiry / 6)
        with contextlib.suppress(OSError):  # the file server does not answer just now
            if is_stopped(self.store, self.file.run):
                raise Stopped
        for chunk in self.chunks.lost():
            self._left.pop(chunk, None)
            self._hand = deque(item for item in self._hand if item[1] != chunk)


def _sync(path: Path) -> None:
    """Wait until the disk has a journal; one that is gone was compacted, and its shard was synced."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise WorkError(
            f"{path}: the disk did not store what was written ({error.strerror}). Earlier data is safe; another pilot"
            " does these studies again"
        ) from error
