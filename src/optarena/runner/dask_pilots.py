"""Pilots on the workers of a Dask cluster: long-lived tasks, one per worker, each with a pilot as its own process.

Scheduling, the life of workers and dashboards are Dask's. Workers that die take their pilot with them, workers that
come get one. When the client is killed, pilots go on; the same call comes back to them. Pilots write their results into
the store. On a worker that does not see it a pilot has a store of its own, and its journals come to the client in
pieces, as bytes (`optarena.runner.far_pilots`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from optarena.dataset import Dataset
from optarena.errors import OptarenaError, WorkError
from optarena.experiment import Experiment, Plan, Study
from optarena.runner.attempt import Outcome
from optarena.runner.ending import stop
from optarena.runner.far_crew import DEATHS, FarCrew
from optarena.runner.far_pilots import REFUSED, exchange
from optarena.runner.lacking import planned
from optarena.runner.local import Progress, Silent
from optarena.runner.pilot import announce, announced_before
from optarena.runner.tail import Tail
from optarena.store import RunFile, Store

if TYPE_CHECKING:
    from distributed import Client, Future

LOOK_SECONDS = 0.5
LISTEN_SECONDS = 0.02
CONNECT_SECONDS = 20
END_SECONDS = 30
GONE = ("error", "cancelled", "lost")
"""The states of a task that gave no answer."""
BLIND = "it does not see the store"
EXPECTED = "expected tcp://host:port, tls://host:port or local:4"
NO_CERTIFICATE = "Dask has no certificates: set distributed.comm.tls.ca-file, client.cert and client.key"
_flying: dict[tuple[str, str], int] = {}
"""In a process of Dask: store and run -> the pilot that it has."""


@contextmanager
def client_of(address: str) -> Iterator[Client]:
    """A client of the scheduler at an address; `local:4` is a cluster of four processes on this machine."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise OptarenaError("Dask is not installed: pip install 'optarena[dask]'") from None
    kind, _, rest = address.partition(":")
    if kind == "local":
        if not rest.isdecimal() or not int(rest):
            raise OptarenaError(f"--dask: {EXPECTED}, got {address!r}")
        options = {
            "threads_per_worker": 1,
            "processes": True,
            "host": "127.0.0.1",
            "silence_logs": logging.ERROR,  # it warns of pilots that still run when the run is over
            "scheduler_kwargs": {"dashboard": False, "dashboard_address": "127.0.0.1:0"},
        }
        with LocalCluster(n_workers=int(rest), **options) as cluster, Client(cluster) as client:
            yield client
        return
    try:
        asyncio.run(_knock(address))
        client = Client(address, timeout=CONNECT_SECONDS)
    except ValueError:
        raise OptarenaError(f"--dask: {EXPECTED}, got {address!r}") from None
    except (OSError, TypeError, MemoryError, struct.error) as error:  # also what Dask makes of another program's answer
        if isinstance(error, TypeError) and kind == "tls":
            raise OptarenaError(f"--dask {address}: {NO_CERTIFICATE}") from None
        why = f" ({error})" if isinstance(error, OSError) and str(error) else ""
        raise OptarenaError(f"--dask {address}: no Dask scheduler answers there{why}") from None
    with client:
        yield client


async def _knock(address: str) -> None:
    """Wait until somebody answers as Dask does: a client would wait forever where another program listens."""
    from distributed import Security
    from distributed.comm import connect

    arguments = Security().get_connection_args("client")
    async with asyncio.timeout(CONNECT_SECONDS + 1):
        comm = await connect(address, timeout=CONNECT_SECONDS, **arguments)
        await comm.close()


def run_on_dask(
    experiment: Experiment,
    store: str | Path,
    client: Client,
    *,
    workers: int | None = None,
    retry: bool = False,
    new: bool = False,
    kernels: str = "pinned",
    progress: Progress | None = None,
) -> None:
    """Run what the store lacks on the workers of a Dask cluster, whether or not they see the store's directory.

    workers: processes of each pilot, by default as many as the Dask worker has threads. Workers may come and go
    meanwhile. Where the scheduler is lost, the same call on another one continues.
    """
    from distributed.client import ClosedClientError

    progress = progress or Silent()
    place = Store(store)
    known = {path.name for path in place.journal_paths()}
    back = None if new else announced_before(experiment, place)
    run, plan, todo = _announced(back, experiment, place, client, retry, new, kernels)
    progress.begin(plan, todo, len(plan.studies) - len(todo), len(client.nthreads()))
    if run is None:
        return
    try:
        tail = Tail(place, run, todo, progress, known if back is None else set())
        with _Crew(place, run, plan, client, workers, progress) as crew:
            crew.watch(tail)
    except KeyboardInterrupt:
        stop(place.path, run.id)
        raise
    except (OSError, TimeoutError, CancelledError, ClosedClientError) as error:
        raise WorkError(f"the Dask scheduler is lost ({error}); what was evaluated is kept, run again") from error
    tail.look()
    _tell(place, list(tail.left.values()), progress)


def _announced(
    before: RunFile | None,
    experiment: Experiment,
    store: Store,
    client: Client,
    retry: bool,
    new: bool,
    kernels: str,
) -> tuple[RunFile | None, Plan, list[Study]]:
    """A run for as many pilots as there are workers; or the one that this experiment has here already."""
    if before is None:
        made = announce(
            experiment, store.path, pilots=max(1, len(client.nthreads())), retry=retry, new=new, kernels=kernels
        )
        run, plan = made.run, made.plan
    else:
        run, plan = before, planned(experiment, store, new)
    ids = set() if run is None else set(run.todo)
    return run, plan, [study for study in plan.studies if study.id in ids]


class _Crew:
    """A pilot on each worker of a cluster, until the run is done."""

    def __init__(
        self, store: Store, run: RunFile, plan: Plan, client: Client, workers: int | None, progress: Progress
    ) -> None:
        self.store, self.run, self.plan, self.client = store, run, plan, client
        self.workers, self.progress = workers, progress
        self._number = 0
        self._flights: dict[str, Future] = {}
        """Worker -> its pilot."""
        self._refused: dict[str, str] = {}
        """Worker -> why it cannot have a pilot."""
        self._far: dict[str, tuple[Future, float]] = {}
        """Worker that does not see the store -> the question that it was asked, and when."""
        self._deaths: dict[str, tuple[int, int, int]] = {}
        """Worker -> how many pilots died there one after the other, and what the run had done at the last death."""
        self._crew: FarCrew | None = None
        self._stack = contextlib.ExitStack()
        self._threads: dict[str, int] = {}
        self._next_look = 0.0
        self._seen: tuple[int, ...] | None = None
        """The version of the run file, which may be large, that was read last."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        """What pilots on workers that do not see the store have written last comes now, if it comes soon."""
        try:
            if self._crew is not None:
                self._end_far(self._crew)
        finally:
            self._stack.close()

    def watch(self, tail: Tail) -> None:
        """tail: tells the progress what is new, now and then."""
        while not self._over():
            if time.monotonic() >= self._next_look:
                self._next_look = time.monotonic() + LOOK_SECONDS
                self._look()
                tail.look()
            self._listen(tail)
            self._listen_far()
            time.sleep(LISTEN_SECONDS if self._far else LOOK_SECONDS)

    def _look(self) -> None:
        """See which workers have come and gone."""
        threads = self._threads = self.client.nthreads()
        for worker in [worker for worker in self._flights if worker not in threads]:
            self._flights.pop(worker).cancel()
        for worker in [worker for worker in self._far if worker not in threads]:
            self._far.pop(worker)[0].cancel()
            if self._crew is not None:
                self._crew.gone(worker)
        for worker, count in threads.items():
            if worker not in self._flights and worker not in self._refused and worker not in self._far:
                self._flights[worker] = self._send(worker, count)
        if self._crew is not None and not self._far:  # others must be able to take what it holds
            self._stack.close()
            self._crew = None
        if threads and all(worker in self._refused for worker in threads):
            stop(self.store.path, self.run.id)
            raise WorkError(f"no worker of Dask can have a pilot: {next(iter(self._refused.values()))}")

    def _over(self) -> bool:
        seen = self.store.version_of_run(self.run.id)
        if seen is not None and seen == self._seen:
            return False
        head = self.store.run(self.run.id)
        if head is not None and head.how == "interrupted":
            raise WorkError("the run was cancelled; what was evaluated is kept")
        if head is None:
            raise WorkError(f"the file of run {self.run.id} in {self.store.path} is gone, or damaged; run again")
        self._seen = seen
        return head.ended is not None

    def _send(self, worker: str, threads: int) -> Future:
        place = str(self.store.path.resolve())
        self._number += 1
        return self._submit(worker, fly, place, self.run.id, self._number, self.workers or threads)

    def _submit(self, worker: str, what: Callable[..., Any], *given: Any) -> Future:
        key = f"optarena-pilot-{self.run.id}-{time.time_ns()}"
        return self.client.submit(what, *given, key=key, workers=[worker], pure=False, retries=0)

    def _listen(self, tail: Tail) -> None:
        for worker, flight in list(self._flights.items()):
            if flight.status == "finished":
                code, why = flight.result()
                del self._flights[worker]
                if why == BLIND:
                    self._ask(worker)
                elif code == REFUSED:
                    self._refuse(worker, why)
                elif code:
                    self._died(worker, code, why, tail)
            elif flight.status in GONE:
                del self._flights[worker]
                self._stumbled(worker, flight)

    def _died(self, worker: str, code: int, why: str, tail: Tail) -> None:
        """A pilot died, and its worker did not: another one is begun there, unless that is in vain.

        One that was killed may be a study's victim, which is given up after some of them; one with an error is not.
        """
        tried = len(tail.begun) + sum(1 for _ in self.store.pilots(self.run.id).glob("alone/*"))
        deaths, moves, before = self._deaths.get(worker, (0, tail.moves, tried))
        in_vain = moves == tail.moves and (code > 0 or before == tried)
        deaths = deaths + 1 if in_vain else 1
        self._deaths[worker] = (deaths, tail.moves, tried)
        if deaths >= DEATHS:
            why = why or f"exit code {code}"
            self._refuse(worker, f"its pilot died {DEATHS} times without having done anything: {why}")

    def _stumbled(self, worker: str, future: Future) -> None:
        """A task did not end: its worker was lost, and perhaps comes back; or what it ran has raised an error."""
        from distributed.comm import CommClosedError
        from distributed.scheduler import KilledWorker

        if future.status != "error" or worker not in self.client.nthreads():
            return
        error = future.exception()
        if not isinstance(error, KilledWorker | CommClosedError | TimeoutError):
            self._refuse(worker, f"{type(error).__name__}: {error}")

    def _refuse(self, worker: str, why: str) -> None:
        self._refused[worker] = why
        self.progress.notice(f"{worker} has no pilot: {why}")

    # ---- workers that do not see the store ---------------------------------------------------------------------------

    def _ask(self, worker: str) -> None:
        if self._crew is None:
            try:
                self._crew = self._stack.enter_context(FarCrew(self.store, self.run, self.plan, self.progress.notice))
            except FileNotFoundError:  # the run is over
                return
        asked = self._crew.ask(worker, self.workers or self._threads.get(worker, 1))
        self._far[worker] = (self._submit(worker, exchange, asked), time.monotonic())

    def _listen_far(self) -> None:
        for worker, (future, since) in list(self._far.items()):
            assert self._crew is not None
            if future.status == "finished":
                why = self._crew.heard(worker, future.result())
                if why:
                    self._crew.gone(worker)
                    del self._far[worker]
                    self._refuse(worker, why)
                else:
                    self._ask(worker)
            elif future.status in GONE:
                self._crew.gone(worker)
                del self._far[worker]
                self._stumbled(worker, future)
            elif time.monotonic() - since > self._crew.file.expiry:
                self._crew.silent(worker)

    def _end_far(self, crew: FarCrew) -> None:
        from distributed.client import ClosedClientError

        with contextlib.suppress(OSError, TimeoutError, CancelledError, ClosedClientError):  # no scheduler any more
            for future, _ in self._far.values():
                future.cancel()
            present = [worker for worker in self._far if worker in self.client.nthreads()]
            left = {worker: self._submit(worker, exchange, crew.ask(worker, 1, end=True)) for worker in present}
            deadline = time.monotonic() + END_SECONDS
            while left and time.monotonic() < deadline:
                for worker, future in list(left.items()):
                    if future.status == "finished" and not crew.heard_last(worker, future.result()):
                        left[worker] = self._submit(worker, exchange, crew.ask(worker, 1, end=True))
                    elif future.status != "pending":
                        del left[worker]
                time.sleep(LISTEN_SECONDS)


def fly(store: str, run: str, number: int, workers: int) -> tuple[int, str]:
    """In a worker of Dask: a pilot, until it ends; its exit code, and what it said of an error."""
    if not (Store(store).pilots(run) / "plan.json").exists() and Store(store).run(run) is None:
        return 0, BLIND
    if (store, run) in _flying:  # a client that was lost had sent it
        while (store, run) in _flying:
            time.sleep(LOOK_SECONDS)
        return 0, ""
    command = [sys.executable, "-m", "optarena", "pilot", store, run, "--number", str(number)]
    command += ["--workers", str(workers), "--parent", str(os.getpid())]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    _flying[store, run] = process.pid
    try:
        _, said = process.communicate()
    finally:
        del _flying[store, run]
    return process.returncode, said[-500:].strip().removeprefix("optarena: ")


def _tell(store: Store, todo: list[Study], progress: Progress) -> None:
    """Say how studies ended whose journals are compacted already."""
    if not todo:
        return
    found: dict[str, dict[str, Any]] = {
        row["study"]: row
        for row in Dataset.of_store(store.path)
        .studies.select("study", "status", "evaluations", "reason", "failures")
        .iter_rows(named=True)
    }
    for study in todo:
        row = found[study.id]
        progress.ended(study, Outcome(row["status"], row["evaluations"], row["reason"] or "", failures=row["failures"]))
