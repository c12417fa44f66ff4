"""A pilot on a machine that does not see the store: it runs in a store of its own, whose journals come back in pieces.

Whoever sees the store (the client of a Dask cluster) calls `exchange` on the other machine again and again, with bytes
that say what the pilot is to run and which parts of its journals are on the disk here. The answer has what follows
them, and the chunks that are done. Both say what is, not what has changed, so that a call that is lost or made twice
does no harm.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from optarena._files import write_atomically
from optarena._scratch import Scratch, remove_abandoned
from optarena.errors import OptarenaError
from optarena.experiment import Plan
from optarena.optimizers.command import Manifest
from optarena.registry import Reference
from optarena.runner.chunks import PlanFile
from optarena.solver import is_solver
from optarena.store import RunFile, Store
from optarena.store.checks import sealed
from optarena.store.pieces import Piece, cut, is_closed, sizes

LOOK_SECONDS = 0.02
END_SECONDS = 20.0
DESERTED_SECONDS = 60.0
"""A pilot for which nobody asked for so long ends when one of a later run of its store begins."""
NONE, FLYING, ENDED = "none", "flying", "ended"
REFUSED = 2
"""The exit code of a pilot that cannot fly on its machine."""


class Beginning(msgspec.Struct):
    """What a new pilot must have."""

    head: RunFile
    plan: PlanFile
    number: int
    workers: int
    files: dict[str, bytes] = {}
    """Users' files, by their names in the plan's directory."""
    programs: list[str] = []
    """Those of them that can be executed."""


class Ask(msgspec.Struct):
    """What is wanted of a machine."""

    store: str
    run: str
    known: dict[str, int] = {}
    """Journals, with the bytes that are acknowledged."""
    hold: dict[str, bytes | None] | None = None
    """All chunks that the pilot is to have, with what it does not know yet; None: those that it has."""
    beginning: Beginning | None = None
    """Begin a pilot if there is none, or if it has ended."""
    nothing: bool = False
    """There is nothing more to give, just now."""
    wait: float = 1.0
    """Seconds to wait for news."""
    end: bool = False
    """End the pilot; of what it has written, send what there is."""


class Report(msgspec.Struct):
    """What a machine has."""

    state: str = NONE
    code: int = 0
    said: str = ""
    has: list[str] = []
    """The chunks that were given, and not taken back."""
    done: list[str] = []
    whole: bool = False
    """Whether the pieces have all that was written when these chunks were done."""
    given: int = 0
    taken: int = 0
    hungry: bool = False
    journals: dict[str, int] = {}
    pieces: list[Piece] = []
    pilot: bytes = b""
    """The pilot's run file."""
    alone: str = ""
    """The study that it runs alone, and the evaluations that this had."""


encode, decode_report = msgspec.msgpack.encode, msgspec.msgpack.Decoder(Report).decode
_decode_ask = msgspec.msgpack.Decoder(Ask).decode


def beginning(head: RunFile, file: PlanFile, plan: Plan, number: int, workers: int) -> Beginning:
    """For a pilot elsewhere: the plan, with the users' files that it names."""
    mine = msgspec.structs.replace(head, studies=[], todo=[], before={}, race=None)
    base = Path(file.base)
    within = msgspec.structs.replace(file, experiment=_relative(file.experiment, f"{base}{os.sep}"))
    files = _files(plan, base)
    return Beginning(mine, within, number, workers, files, executable(files, base))


def executable(files: Iterable[str], base: Path) -> list[str]:
    """Those of some files that are programs."""
    return [name for name in files if os.access(base / name, os.X_OK)]


def _relative(data: Any, base: str) -> Any:
    """An experiment whose files are named relative to its directory, which is another one on another machine."""
    if isinstance(data, dict):
        return {key: _relative(value, base) for key, value in data.items()}
    if isinstance(data, list):
        return [_relative(value, base) for value in data]
    return data.removeprefix(base) if isinstance(data, str) else data


def _files(plan: Plan, base: Path) -> dict[str, bytes]:
    """Files within the directory of an experiment that it names; what else it needs must be on the other machine."""
    optimizers = [Reference.of(item.use, base) for item in plan.experiment.optimizers]
    places: list[str | Path] = [
        found.place
        for found in [*optimizers, *(Reference.of(name, base) for name in plan.references.values())]
        if found.on_disk
    ]
    for found, item in zip(optimizers, plan.experiment.optimizers, strict=True):
        if found.kind == "manifest" and not is_solver(item.use, base):
            places += Manifest.load(found.path).parts
    out = {}
    for place in map(Path, places):
        if place.is_absolute():
            with contextlib.suppress(ValueError):
                place = place.relative_to(base)
        if not place.is_absolute() and ".." not in place.parts and (base / place).is_file():
            out[str(place)] = (base / place).read_bytes()
    return out


# ---- on the other machine --------------------------------------------------------------------------------------------


class _Flight:
    """A pilot in a store of its own, of this process."""

    def __init__(self, begin: Beginning) -> None:
        remove_abandoned()
        self.lock = threading.Lock()
        self.asked = time.monotonic()
        self._scratch = Scratch("pilot")
        self.store = Store(Path(self._scratch.name) / "store")
        self.store.create()
        self.directory = self.store.pilots(begin.head.id)
        for part in ("given", "done"):
            (self.directory / part).mkdir(parents=True)
        (self.directory / "asked").touch()
        file = begin.plan
        if not all(_same(Path(file.base) / name, data) for name, data in begin.files.items()):
            for name, data in begin.files.items():
                write_atomically(Path(self._scratch.name) / "files" / name, data)
            for name in begin.programs:
                (Path(self._scratch.name) / "files" / name).chmod(0o755)
            file = msgspec.structs.replace(file, base=str(Path(self._scratch.name) / "files"))
        write_atomically(self.directory / "plan.json", msgspec.json.encode(file))
        path = self.store.path / "runs" / f"{begin.head.id}.json"
        write_atomically(path, sealed([msgspec.json.encode(begin.head)]))
        self.run = begin.head.id
        self._names: set[str] = set()
        """The chunks that were given."""
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 (as long as the pilot)
        command = [sys.executable, "-m", "optarena", "pilot", str(self.store.path), self.run]
        command += ["--number", str(begin.number), "--workers", str(begin.workers), "--parent", str(os.getpid())]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self._said)

    def give(self, hold: dict[str, bytes | None]) -> None:
        """Put chunks that are new into the pilot's directory, and take those away that it is no longer to have."""
        for path in (self.directory / "given").iterdir():
            if path.name not in hold and not path.name.endswith(".tmp"):
                path.unlink(missing_ok=True)
        for name, data in hold.items():
            if data is not None and name not in self._names:
                write_atomically(self.directory / "given" / name, data, synced=False)
                self._names.add(name)

    def done(self) -> list[str]:
        return sorted(path.name for path in (self.directory / "done").iterdir() if not path.name.endswith(".tmp"))

    def wants(self) -> tuple[int, bool]:
        """How many chunks the pilot has taken, and whether it wants more than were given."""
        try:
            taken, wanted = (self.directory / "taken").read_text().split()
        except FileNotFoundError:
            return 0, False
        return int(taken), int(wanted) > len(self._names)

    def report(self, known: dict[str, int]) -> Report:
        over = self.process.poll()  # before its files are looked at: what it wrote last is there then
        done, (taken, hungry), found = self.done(), self.wants(), sizes(self.store.journals)
        for journal in [name for name, size in found.items() if known.get(name) == size]:
            if is_closed(self.store.journals / journal):
                (self.store.journals / journal).unlink()
                del found[journal]
        pieces, whole = cut(self.store.journals, found, known)
        return Report(
            state=FLYING if over is None else ENDED,
            code=over or 0,
            said="" if over is None else self._last_words(),
            has=sorted(path.name for path in (self.directory / "given").iterdir() if path.name in self._names),
            done=done,
            whole=whole,
            given=len(self._names),
            taken=taken,
            hungry=hungry,
            journals=found,
            pieces=pieces,
            pilot=self._pilot(),
            alone=self._runs_alone(),
        )

    def _runs_alone(self) -> str:
        try:
            return (self.directory / "alone").read_text()
        except FileNotFoundError:
            return ""

    def _pilot(self) -> bytes:
        paths = [path for path in self.store.run_paths() if path.stem != self.run]
        return paths[0].read_bytes() if paths else b""

    def _last_words(self) -> str:
        self._said.seek(0)
        return self._said.read()[-500:].decode(errors="replace").strip()

    def stop(self) -> None:
        """In order, if that takes no longer than it should."""
        with contextlib.suppress(OSError):
            write_atomically(self.directory / "stop", b"")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(END_SECONDS)
        self.process.kill()
        self.process.wait()

    def remove(self) -> None:
        self._said.close()
        self._scratch.cleanup()


_flights: dict[tuple[str, str], _Flight] = {}
"""In a process of the other machine: store and run -> its pilot."""


def exchange(asked: bytes) -> bytes:
    """In a process of the other machine: do what is asked, wait for news, and report."""
    ask = _decode_ask(asked)
    key = (ask.store, ask.run)
    flight = _flights.get(key)
    if flight is None and (ask.beginning is None or ask.end):
        return encode(Report())
    if flight is None or (ask.beginning is not None and flight.process.poll() is not None):
        assert ask.beginning is not None
        _end_deserted(ask.store)
        if flight is not None:
            _flights.pop(key).remove()
        try:
            flight = _flights[key] = _Flight(ask.beginning)
        except (OSError, OptarenaError) as error:
            return encode(Report(ENDED, REFUSED, f"it cannot have a store of its own: {error}"))
    with flight.lock:
        return encode(_answer(flight, ask))


def _answer(flight: _Flight, ask: Ask) -> Report:
    flight.asked = time.monotonic()
    (flight.directory / "asked").touch()
    if ask.hold is not None:
        flight.give(ask.hold)
    if ask.end:
        flight.stop()
        report = flight.report(ask.known)
        if report.whole:
            _flights.pop((ask.store, ask.run), None)
            flight.remove()
        return report
    deadline, hold = time.monotonic() + ask.wait, set(ask.hold or ())
    while time.monotonic() < deadline:
        hungry = flight.wants()[1] and not ask.nothing
        if hungry or flight.process.poll() is not None or hold & set(flight.done()):
            break
        time.sleep(LOOK_SECONDS)
    return flight.report(ask.known)


def _end_deserted(store: str) -> None:
    """End pilots of earlier runs whose client did not come back."""
    for key, flight in list(_flights.items()):
        if key[0] == store and time.monotonic() - flight.asked > DESERTED_SECONDS:
            del _flights[key]
            flight.stop()
            flight.remove()


def _same(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() == data
    except OSError:
        return False
