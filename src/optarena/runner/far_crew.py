"""Pilots on machines that do not see the store, seen from one that does: chunks go out, journals come back in pieces.

A crew claims chunks for all its pilots, as one holder of leases, and gives them to those that want more. A chunk is
done when its rows are on the disk here. A pilot that is lost, or silent for too long, loses its chunks to others.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

import msgspec

from optarena.errors import OptarenaError
from optarena.experiment import Plan
from optarena.runner.chunks import LOST_ALONE, LOST_TOGETHER, Part, PlanFile, Shared, encode_part
from optarena.runner.far_pilots import ENDED, NONE, REFUSED, Ask, Report, beginning, decode_report, encode
from optarena.runner.past import Pasts
from optarena.runner.pilot import beating, read_plan
from optarena.store import RunFile, Store
from optarena.store.leases import Lease
from optarena.store.pieces import NAME, Received

QUICK_SECONDS = 5.0
"""Where a chunk takes less, the next one is given ahead."""
DEATHS = LOST_TOGETHER + LOST_ALONE + 1
"""A machine whose pilots died so often, one after the other and in vain, gets no more; a study is given up before."""
ROUND_SECONDS = 1.0
PER_SECOND = 50
"""Answers of all machines together, at most about so many."""
_CHUNK = re.compile(r"(\d{1,9})\.(\d{1,9})")


class _Far:
    """A machine, as far as the crew knows."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.known = False
        """Whether it has said which chunks it has."""
        self.begin = False
        """Whether it is to begin a pilot."""
        self.holding: dict[str, Lease] = {}
        self.unsent: dict[str, bytes] = {}
        self.given: dict[str, float] = {}
        """When a chunk was given."""
        self.journals: set[str] = set()
        self.deaths = 0
        self.alone = ""
        """The study that it runs alone, and the evaluations that this had."""
        self.quick = self.nothing = False


class FarCrew:
    """Decides what each machine is asked, and acts on what it answers; how both travel is up to others."""

    def __init__(self, store: Store, run: RunFile, plan: Plan, notice: Callable[[str], None]) -> None:
        """FileNotFoundError: the run is over."""
        self.store, self.run, self.plan, self.notice = store, run, plan, notice
        file = read_plan(store, run.id)
        if file is None:
            raise FileNotFoundError(run.id)
        self.file: PlanFile = file
        self._todo = [study for begin, end in file.ranges for study in plan.studies[begin:end]]
        self._far: dict[str, _Far] = {}
        self._back: list[Lease] = []
        """Chunks whose machine was lost."""
        self._received = Received(store.journals)
        self._next_look = 0.0
        self._number = 0
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        """Only one crew at a time: two would write the same journals."""
        directory = self.store.pilots(self.run.id)
        lock = os.open(directory / "crew.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        self._stack.callback(os.close, lock)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._stack.close()
            raise OptarenaError(
                f"another process runs this with --dask, and gives work to machines that do not see {self.store.path};"
                " wait for it, or stop it"
            ) from None
        except OSError:  # the file system has no locks
            pass
        self._stack.callback(self._received.close)
        self._shared = Shared(self.store, self.file, self.plan, self._todo)
        self._stack.callback(self._shared.end)
        self._stack.enter_context(beating([self._shared.beat], self.file.expiry))
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    # ---- what a machine is asked -------------------------------------------------------------------------------------

    def ask(self, name: str, workers: int, *, end: bool = False) -> bytes:
        """The next question to a machine."""
        if name not in self._far:
            self._number += 1
            self._far[name] = _Far(self._number)
        far = self._far[name]
        return encode(
            Ask(
                store=str(Path(self.store.path).resolve()),
                run=self.run.id,
                known={journal: self._received.size(journal) for journal in far.journals},
                hold={chunk: far.unsent.get(chunk) for chunk in far.holding} if far.known and not end else None,
                beginning=beginning(self.run, self.file, self.plan, far.number, workers) if far.begin else None,
                nothing=far.nothing,
                wait=max(ROUND_SECONDS, len(self._far) / PER_SECOND),
                end=end,
            )
        )

    def silent(self, name: str) -> None:
        """A machine does not answer, or is gone: others get its chunks."""
        if name in self._far:
            self._give_back(self._far[name])
            self._far[name].known = False

    def gone(self, name: str) -> None:
        self.silent(name)
        if name in self._far:
            self._blame(self._far[name])
            self._received.forget(self._far.pop(name).journals)

    def _blame(self, far: _Far) -> None:
        """A pilot was lost while it ran one study alone."""
        study, _, evaluations = far.alone.partition(" ")
        if evaluations.isdecimal() and any(study == one.id for one in self._todo):
            self._shared.alone(study, int(evaluations), secrets.token_hex(6))
        far.alone = ""

    def _give_back(self, far: _Far) -> None:
        self._back += far.holding.values()
        far.holding.clear()
        far.unsent.clear()

    # ---- what it answers ---------------------------------------------------------------------------------------------

    def heard(self, name: str, answer: bytes) -> str:
        """Keep what came, and think of what comes next; why this machine can have no pilot, or nothing."""
        report, far = decode_report(answer), self._far[name]
        whole = self._keep(far, report) and report.whole
        self._drop_taken()
        if report.state == NONE:
            self._give_back(far)
            far.known = far.begin = True
            return ""
        far.begin = False
        for chunk in report.has if not far.known else ():
            self._adopt(far, chunk)
        far.known = True
        for chunk in (*report.has, *report.done):
            far.unsent.pop(chunk, None)
        if whole:
            self._finish(far, report)
        if report.state == ENDED:
            return self._ended(far, report) if whole else ""
        far.nothing = False
        if report.hungry or (far.quick and report.taken >= report.given):
            far.nothing = not self._give(far)
        return ""

    def heard_last(self, name: str, answer: bytes) -> bool:
        """Keep what came of a pilot that was ended; whether that is all."""
        report = decode_report(answer)
        kept = self._keep(self._far[name], report)
        return (kept and report.whole) or report.state == NONE

    def _keep(self, far: _Far, report: Report) -> bool:
        """Write the pieces, which are acknowledged with the next question; whether all of them are written."""
        known = [piece for piece in report.pieces if piece.journal in far.journals]
        kept = self._received.take(known) and len(known) == len(report.pieces)
        journals = {journal for journal in report.journals if NAME.fullmatch(journal)}
        self._received.forget(far.journals - journals)
        far.journals = journals
        far.alone = report.alone
        if report.pilot:
            with contextlib.suppress(msgspec.MsgspecError):
                self.store.keep_pilot(self.run, msgspec.json.decode(report.pilot, type=RunFile))
        return kept

    def _finish(self, far: _Far, report: Report) -> None:
        for chunk in report.done:
            if chunk in far.holding:
                self._shared.finish(far.holding.pop(chunk))
                far.quick = time.monotonic() - far.given.pop(chunk, 0.0) < QUICK_SECONDS
                far.deaths = 0

    def _ended(self, far: _Far, report: Report) -> str:
        """A pilot that has ended though there is work: a new one is begun, unless it could not or will not do."""
        if report.code < 0 and far.alone:  # killed; one that ends by an error, such as a full disk, says so
            self._blame(far)
        else:
            far.deaths += report.code != 0
        self._give_back(far)
        why = report.said.removeprefix("optarena: ")
        if report.code == REFUSED:
            return why
        if far.deaths >= DEATHS:
            return f"its pilot died {DEATHS} times without having done anything: {why or f'exit code {report.code}'}"
        far.begin = True
        return ""

    # ---- chunks ------------------------------------------------------------------------------------------------------

    def _drop_taken(self) -> None:
        """Chunks that others have taken, because this process slept."""
        taken = set(self._shared.lost())
        if taken:
            self._back = [lease for lease in self._back if lease.chunk not in taken]
            for far in self._far.values():
                far.holding = {name: lease for name, lease in far.holding.items() if lease.chunk not in taken}

    def _adopt(self, far: _Far, name: str) -> None:
        """Leave a machine what it was given by a client that is lost, or before it was silent."""
        found = _CHUNK.fullmatch(name)
        if found is None or int(found[1]) >= self.file.chunks:
            return
        chunk, turn = int(found[1]), int(found[2])
        kept = next((lease for lease in self._back if lease.chunk == chunk), None)
        if kept is not None:
            self._back.remove(kept)
        held = any(lease.chunk == chunk for other in self._far.values() for lease in other.holding.values())
        lease = kept or (None if held else self._shared.again(Lease(chunk, turn)))
        if lease is not None:
            far.holding[name] = lease

    def _give(self, far: _Far) -> bool:
        """Whether there was a chunk for this machine."""
        while (lease := self._claim()) is not None:
            studies, pasts, alone, hopeless = self._shared.take(lease)
            if not studies:
                self._shared.finish(lease)
                continue
            whole = {}
            if isinstance(pasts, Pasts):
                found = {study.id: pasts.whole(study, self.file.retry) for study in studies}
                whole = {id: past for id, past in found.items() if past is not None}
            part = Part(lease.chunk, lease.turn, [study.id for study in studies], whole, dict(alone), dict(hopeless))
            name = f"{lease.chunk}.{lease.turn}"
            far.holding[name], far.unsent[name] = lease, encode_part(part)
            far.given[name] = time.monotonic()
            return True
        return False

    def _claim(self) -> Lease | None:
        while self._back:
            lease = self._shared.again(self._back.pop())
            if lease is not None:
                return lease
        lease = self._shared.claim()
        if lease is None and time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + min(1.0, self.file.expiry / 10)
            lease = self._shared.claim_lost()
        return lease
