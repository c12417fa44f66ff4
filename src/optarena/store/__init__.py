"""The store: a directory with the traces of any number of experiments (`journal` writes, `results` reads)."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

from optarena._files import cannot_write, remove_abandoned_in, write_atomically
from optarena._json import strict
from optarena._process import alive, born, host, place
from optarena.errors import OptarenaError, WorkError
from optarena.store.checks import DIFFERS, SEALED, has_check, is_first, sealed
from optarena.store.damage import Damage, place_of
from optarena.store.records import FORMAT_VERSION, refuse_newer, version_of

if TYPE_CHECKING:
    from optarena.experiment import Experiment, Plan

PARTS = ("journal", "shards", "runs")
MADE = ("journal", "runs")
IN_DATABASE = "optarena"
"""The folder of the store in a database of Bayesmark."""
PAUSED = ".paused"
"""While a store has this file, its runs begin no further study."""
STALE_SECONDS = 60.0  # a heartbeat comes every two seconds
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
"""What a file system without locks says."""

_ID = re.compile(r"[0-9a-f]{12}")
_ended: set[str] = set()
"""The runs that ended in this process, whether or not that could be written."""


def _regular(paths: Iterator[Path]) -> Iterator[Path]:
    """Those that are files: no directory, pipe or link that somebody left in a store is ever opened."""
    return (path for path in paths if path.is_file() and not path.is_symlink())


class PlannedStudy(msgspec.Struct, array_like=True):
    """A study that a run means to do: what status needs to say that it is missing."""

    id: str
    optimizer: str
    problem: str
    trial: int


class Look(msgspec.Struct):
    """What was seen after a round of a race."""

    round: int
    evaluations: int
    """Made in the race so far."""
    live: list[str]
    """Who goes on."""
    pairs: list[tuple[str, str, float, float, float, str]]
    """Who against whom: the share of duels won, the natural logarithms of the e-values for better and for worse, and
    the verdict."""
    end: str = ""
    """Why the race is over; empty while it goes on."""


class RaceFile(msgspec.Struct):
    """A race, as far as it is known when one of its rounds is run: part of that round's run file."""

    optimizers: list[str]
    problems: list[str]
    view: str
    alpha: float
    rope: float
    max_trials: int
    max_evaluations: int | None = None
    leader_only: bool = False
    budgets: dict[str, int] = {}
    """Problem -> evaluations of a trial, where they are limited: what a trial made beyond them is not looked at."""
    looks: list[Look] = []
    """Those at this round, and at rounds before that no other run file has."""


class RunFile(msgspec.Struct):
    """What a run means to do, in `runs/<id>.json`."""

    id: str
    root: str
    time: float
    experiment: dict[str, Any]
    """What was asked for; the command line is not kept: it has names of directories and users."""
    studies: list[PlannedStudy]
    refused: list[tuple[str, str, str]]
    todo: list[str] = []
    """The studies that it runs; the others of its plan were finished before."""
    host: str = ""
    pid: int = 0
    born: int = 0
    ended: float | None = None
    how: str = ""
    """How it ended: done, interrupted, or failed with an error; empty where that was not recorded. Of a pilot also
    requeued: it stopped, and will be started again."""
    version: int = FORMAT_VERSION
    number: int = 0
    """Which run of the store it is, from 1 on: clocks may step back. 0: an older file does not say."""
    kernels: str = ""
    """The numeric kernels that were asked for: `pinned` or `native`; empty in older files."""
    before: dict[str, tuple[int, int]] = {}
    """Of studies that it continues: the newest attempt, and its last life, before this run."""
    place: str = ""
    """Where its pid means something: the boot of the machine and the PID namespace. Empty in older files."""
    race: RaceFile | None = None
    """Of a round of a race."""
    pilots: int = 0
    """Of a run that pilots do: how many it was announced for. It is live as long as one of them is."""
    of: str = ""
    """Of a pilot: the run that it works for."""
    pilot: int = 0
    """Of a pilot: its number, from 1 on. One that is started again has the number that it had."""
    machine: dict[str, Any] = {}
    """Of the machine that ran it: `cpu`, `cores`, and the `speed` that it measured. Empty in older files."""
    reason: str = ""
    """Of a pilot that failed: why."""


def is_id(text: str) -> bool:
    """Whether this may be the id of a run, and so a part of a path."""
    return _ID.fullmatch(text) is not None


def _shared(run: RunFile, other: RunFile) -> set[str]:
    """The studies that two runs would both do; of a race, also those of rounds that are to come."""
    found = set(run.todo) & set(other.todo)
    if found or run.root != other.root:
        return found
    for racing, one in ((run.race, other), (other.race, run)):
        if racing is not None:
            who, what, todo = set(racing.optimizers), set(racing.problems), set(one.todo)
            found |= {s.id for s in one.studies if s.id in todo and s.optimizer in who and s.problem in what}
    return found


def within_database(path: Path) -> Path:
    """The store of a database of Bayesmark, where the path is such a database and has one; else the path itself."""
    inside = path / IN_DATABASE
    return inside if _is_database(path) and inside.is_dir() else path


def _is_database(path: Path) -> bool:
    return all((path / part).is_dir() for part in ("eval", "derived")) and not (path / "journal").is_dir()


def _sign(run: RunFile) -> None:
    """Say that this process does it."""
    run.host, run.pid, run.born, run.place = host(), os.getpid(), born(os.getpid()), place()


class Store:
    """The paths of a store and its run files."""

    def __init__(self, path: str | Path) -> None:
        self.path = within_database(Path(path))
        self._ahead: tuple[float, float] | None = None
        """How far the clock of its file system is ahead of ours, and when that was found."""

    @property
    def journals(self) -> Path:
        return self.path / "journal"

    @property
    def shards(self) -> Path:
        return self.path / "shards"

    def journal_paths(self) -> Iterator[Path]:
        """The files that may be journals."""
        return _regular(self.journals.glob("*.jsonl"))

    def shard_paths(self) -> Iterator[Path]:
        return _regular(self.shards.glob("*.parquet"))

    def run_paths(self, id: str = "*") -> Iterator[Path]:
        return _regular((self.path / "runs").glob(f"{id}.json"))

    def pilots(self, run: str) -> Path:
        """The directory in which the pilots of a run find its plan and agree on who does what."""
        return self.path / "pilots" / run

    @property
    def exists(self) -> bool:
        return any((self.path / part).is_dir() for part in PARTS)

    def create(self) -> None:
        """Make the directories; a directory with other things in it, or one that cannot be written, is refused."""
        try:
            if self.path.exists() and not self.exists and any(self.path.iterdir()):
                raise OptarenaError(f"{self.path} is not a store and is not empty: name another directory")
            if not self.exists:
                self._create_at_once()
            for part in MADE:
                (self.path / part).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OptarenaError(f"cannot write to {self.path}: {error.strerror}") from error

    def _create_at_once(self) -> None:
        """Make the directories elsewhere and move them here, so that no reader finds an unfinished store."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # where that fails (another process was faster, the path is a link), they are made in place
        with (
            contextlib.suppress(OSError),
            tempfile.TemporaryDirectory(prefix=f".{self.path.name[:40]}-", dir=self.path.parent) as name,
        ):
            whole = Path(name) / "store"
            for part in MADE:
                (whole / part).mkdir(parents=True)
            whole.rename(self.path)

    def remove_stale(self) -> None:
        """Remove what processes that were killed while they wrote a file left of it, an hour ago or earlier."""
        for part in PARTS:
            remove_abandoned_in(self.path / part)

    @contextlib.contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Only one process at a time does what goes by this name in this store; the lock ends with its holder.

        On a file system without locks there is none: two commands must then not begin at the same moment.
        Whoever takes it is going to write, which a store with linked parts would do elsewhere.
        """
        for part in PARTS:
            if (self.path / part).is_symlink():
                raise OptarenaError(
                    f"{self.path / part} is a link, so data would be written elsewhere; link the complete store instead"
                )
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            file = os.open(self.path / f".{name}.lock", flags, 0o666)
        except OSError as error:
            raise OptarenaError(f"cannot write to {self.path}: {error.strerror}") from error
        try:
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
            except OSError as error:
                if error.errno not in NO_LOCKS:
                    raise OptarenaError(f"cannot lock {self.path}: {error.strerror}") from error
            yield
        finally:
            os.close(file)

    @property
    def paused(self) -> bool:
        """Whether runs begin no further studies for now."""
        return (self.path / PAUSED).exists()

    def pause(self) -> None:
        """Let what runs go on to its end, and begin nothing else until `resume`."""
        write_atomically(self.path / PAUSED, b"")

    def resume(self) -> None:
        with contextlib.suppress(OSError):
            (self.path / PAUSED).unlink()

    def lift_old_pause(self, runs: Sequence[RunFile]) -> None:
        """Resume where nothing runs: whoever paused an earlier run did not mean one that is about to begin."""
        if self.paused and not any(self.is_live(run) for run in runs):
            self.resume()

    def must_exist(self) -> None:
        if not self.exists:
            if self.path.is_file():
                how = f": 'optarena import csv {self.path} --store results' makes a store of a table"
                raise OptarenaError(f"{self.path} is a file, not a store{how * (self.path.suffix == '.csv')}")
            what = "is not a store" if self.path.exists() else "does not exist"
            if _is_database(self.path):
                raise OptarenaError(
                    f"{self.path} is a database of Bayesmark without a store: 'optarena import bayesmark {self.path}"
                    " --store results' makes one"
                )
            if self.path.exists() and any(self.path.iterdir()):
                raise OptarenaError(f"{self.path} {what}: give the directory that 'optarena run … --store' made")
            raise OptarenaError(f"store {self.path} {what}; 'optarena run … --store {self.path}' makes one")

    def runs(self, damage: list[Damage] | None = None, only: str = "*") -> list[RunFile]:
        """Every run that this store knows of, oldest first, or only one; damaged files go to `damage`."""
        out = []
        for path in sorted(self.run_paths(only)):
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                continue
            except OSError as error:
                raise OptarenaError(f"{path}: {error.strerror}") from error
            try:
                if has_check(data) and not is_first(data):
                    raise ValueError(DIFFERS)
                refuse_newer(path, data)
                if version_of(data) >= SEALED and not has_check(data):
                    raise ValueError(DIFFERS)
                run = msgspec.json.decode(data, type=RunFile)
                uuid.UUID(run.root)
                out.append(run)
            except (msgspec.MsgspecError, ValueError, RecursionError) as error:
                what = DIFFERS if str(error) == DIFFERS else f"not a run file ({error})"
                if damage is not None:
                    damage.append(Damage(place_of(path), what, size=len(data)))
        return sorted(out, key=lambda run: (run.number, run.time))

    def run(self, id: str) -> RunFile | None:
        """A run by its id; None if it is not here, or damaged."""
        return next((run for run in self.runs(only=id)), None) if is_id(id) else None

    def version_of_run(self, id: str) -> tuple[int, ...] | None:
        """What changes with a run file, which may be large; None if it is not here."""
        try:
            found = self._run_path(id).stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def root(self, experiment: Experiment) -> uuid.UUID | None:
        """The root of the newest run of this experiment, else of the newest run: the same command uses it again."""
        runs = self.runs() if self.exists else []
        same = [run for run in runs if run.experiment == strict(experiment.to_data())]
        return uuid.UUID((same or runs)[-1].root) if runs else None

    def begin_run(
        self,
        plan: Plan,
        todo: Sequence[str],
        kernels: str = "",
        before: Mapping[str, tuple[int, int]] = MappingProxyType({}),
        race: RaceFile | None = None,
        pilots: int = 0,
        machine: Mapping[str, Any] = MappingProxyType({}),
    ) -> RunFile:
        """Say what is going to be done, before it is done; a live run that does some of the same is not disturbed.

        Call it under the lock "run", with a `todo` that was found under the same lock. before: see `RunFile.before`.
        pilots: how many are going to do it; 0: this process. machine: its facts.
        """
        run = RunFile(
            id=uuid.uuid4().hex[:12],
            root=str(plan.root),
            time=time.time(),
            experiment=strict(plan.experiment.to_data()),
            studies=[PlannedStudy(s.id, s.optimizer.label, s.problem, s.trial) for s in plan.studies],
            refused=[(r.optimizer, r.problem, r.reason) for r in plan.refused],
            todo=list(todo),
            before={study: before[study] for study in todo if study in before},
            kernels=kernels,
            race=race,
            pilots=pilots,
            machine=dict(machine),
        )
        if not pilots:
            _sign(run)
        others = self.runs()
        run.number = max((other.number for other in others), default=0) + 1
        for other in others:
            shared = _shared(run, other)
            if shared and other.id not in _ended and self.is_live(other):
                who = f"process {other.pid} on {other.host}" if other.pid else "pilots"
                stop = "stop it" if other.pid else f"stop them (optarena cancel {self.path})"
                raise OptarenaError(
                    f"store {self.path} is being run by {who}, with {len(shared)} of these studies; wait, or {stop}"
                )
        self._write_run(run)
        return run

    def begin_pilot(
        self,
        run: str,
        root: str,
        number: int,
        pilot: int,
        machine: Mapping[str, Any] = MappingProxyType({}),
        kernels: str = "",
    ) -> RunFile:
        """Say that a pilot of a run, with this root and number, has begun."""
        mine = RunFile(
            id=uuid.uuid4().hex[:12],
            root=root,
            time=time.time(),
            experiment={},
            studies=[],
            refused=[],
            number=number,
            kernels=kernels,
            of=run,
            pilot=pilot,
            machine=dict(machine),
        )
        _sign(mine)
        self._write_run(mine)
        return mine

    def keep_pilot(self, run: RunFile, pilot: RunFile) -> None:
        """Keep the run file of a pilot that has a store of its own, or show that it is alive if nothing is new."""
        if pilot.of != run.id or not is_id(pilot.id):
            return
        kept = self.run(pilot.id)
        if kept is None or (kept.of == run.id and kept.ended != pilot.ended):
            self._write_run(pilot)
        elif kept.of == run.id and kept.ended is None:
            self.heartbeat(kept)

    def end_run(self, run: RunFile, how: str) -> None:
        """Say how a run ended. Where that cannot be written, this process still knows that it did."""
        _ended.add(run.id)
        run.ended, run.how = time.time(), how
        try:
            if not self.path.is_dir():  # unmounted, say: nothing is put where it was
                raise WorkError(f"store {self.path} is gone")
            self._write_run(run)
        except WorkError:
            if how == "done":
                raise
            # the error that ended it says more than this one

    def heartbeat(self, run: RunFile) -> None:
        """Show that a run is alive: its file's time of change."""
        with contextlib.suppress(OSError):
            os.utime(self._run_path(run.id))

    def is_live(self, run: RunFile) -> bool:
        """Whether a run is in progress: its process exists, or, of another machine or container, its heartbeat does."""
        if run.ended is not None:
            return False
        if run.pilots:
            return any(self.is_live(pilot) for pilot in self.runs() if pilot.of == run.id)
        if not run.pid:
            return False
        if run.host == host() and run.place == place():
            return alive(run.pid, run.born)
        if run.host == host() and not run.place:  # an older file: a pid of it may be another container's
            return alive(run.pid, run.born) or self._beats(run)
        return self._beats(run)

    def _beats(self, run: RunFile) -> bool:
        """Whether a run's heartbeat is recent, by the clock that dates it; this may have stepped back since."""
        try:
            return abs(self._now() - self._run_path(run.id).stat().st_mtime) < STALE_SECONDS
        except OSError:
            return False

    def _now(self) -> float:
        """The time by the clock that dates the files of this store, which is a file server's or another machine's.

        Where nothing can be written, this machine's clock must do.
        """
        if self._ahead is None or time.monotonic() - self._ahead[1] > STALE_SECONDS:
            ahead = 0.0
            with contextlib.suppress(OSError), tempfile.TemporaryFile(dir=self.path / "runs") as file:
                os.utime(file.fileno())
                ahead = os.fstat(file.fileno()).st_mtime - time.time()
            self._ahead = ahead, time.monotonic()
        return time.time() + self._ahead[0]

    def _run_path(self, id: str) -> Path:
        return self.path / "runs" / f"{id}.json"

    def _write_run(self, run: RunFile) -> None:
        """An atomic write; an error names the directory, since users do not know the ids of runs."""
        try:
            write_atomically(self._run_path(run.id), sealed([msgspec.json.encode(run)]))
        except WorkError as error:
            if isinstance(error.__cause__, OSError):
                raise cannot_write(self.path / "runs", error.__cause__, "What was evaluated before") from error
            raise
