"""Pilots on the workers of a Dask cluster: long-lived tasks, one per worker, each with a pilot as its own process.

Scheduling, the life of workers and dashboards are Dask's; results do not pass through it. Workers that die take their
pilot with them, workers that come get one. When the client is killed, pilots go on; the same call comes back to them.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optarena.dataset import Dataset
from optarena.errors import OptarenaError, WorkError
from optarena.experiment import Experiment, Plan, Study
from optarena.runner.attempt import Outcome
from optarena.runner.lacking import planned
from optarena.runner.local import Progress, Silent
from optarena.runner.pilot import announce, announced_before, stop
from optarena.store import RunFile, Store

if TYPE_CHECKING:
    from distributed import Client, Future

LOOK_SECONDS = 0.5
CONNECT_SECONDS = 20
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
            raise OptarenaError(f"--dask: expected tcp://host:port, tls://host:port or local:4, got {address!r}")
        options = {"threads_per_worker": 1, "processes": True, "host": "127.0.0.1", "dashboard_address": None}
        with LocalCluster(n_workers=int(rest), **options) as cluster, Client(cluster) as client:
            yield client
        return
    try:
        client = Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError, TypeError) as error:
        raise OptarenaError(f"--dask {address}: no scheduler answers there ({error})") from None
    with client:
        yield client


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
    """Run what the store lacks on the workers of a Dask cluster; the store is a directory that all of them see.

    workers: processes of each pilot, by default as many as the Dask worker has threads. Workers may come and go
    meanwhile. Where the scheduler is lost, the same call on another one continues.
    """
    progress = progress or Silent()
    place = Store(store)
    run, plan, todo = _announced(experiment, place, client, retry, new, kernels)
    progress.begin(plan, todo, len(plan.studies) - len(todo), len(client.nthreads()))
    if run is None:
        return
    try:
        _Crew(place, run, client, workers, progress).watch()
    except KeyboardInterrupt:
        stop(place.path)
        raise
    except (OSError, TimeoutError) as error:
        raise WorkError(f"the Dask scheduler is lost ({error}); what was evaluated is kept, run again") from error
    _tell(place, todo, progress)


def _announced(
    experiment: Experiment, store: Store, client: Client, retry: bool, new: bool, kernels: str
) -> tuple[RunFile | None, Plan, list[Study]]:
    """A run for as many pilots as there are workers; or the one that this experiment has here already."""
    before = None if new else announced_before(experiment, store)
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

    def __init__(self, store: Store, run: RunFile, client: Client, workers: int | None, progress: Progress) -> None:
        self.store, self.run, self.client = store, run, client
        self.workers, self.progress = workers, progress
        self._number = 0
        self._flights: dict[str, Future] = {}
        """Worker -> its pilot."""
        self._refused: dict[str, str] = {}
        """Worker -> why it cannot have a pilot."""

    def watch(self) -> None:
        while not self._over():
            threads: dict[str, int] = self.client.nthreads()
            for worker in [worker for worker in self._flights if worker not in threads]:
                self._flights.pop(worker).cancel()
            for worker, count in threads.items():
                if worker not in self._flights and worker not in self._refused:
                    self._flights[worker] = self._send(worker, count)
            self._listen()
            if threads and all(worker in self._refused for worker in threads):
                stop(self.store.path)
                raise WorkError(f"no worker of Dask can have a pilot: {next(iter(self._refused.values()))}")
            time.sleep(LOOK_SECONDS)

    def _over(self) -> bool:
        head = self.store.run(self.run.id)
        if head is not None and head.how == "interrupted":
            raise WorkError("the run was cancelled; what was evaluated is kept")
        return head is None or head.ended is not None

    def _send(self, worker: str, threads: int) -> Future:
        self._number += 1
        return self.client.submit(
            fly,
            str(self.store.path.resolve()),
            self.run.id,
            self._number,
            self.workers or threads,
            key=f"optarena-pilot-{self.run.id}-{self._number}-{time.time_ns()}",
            workers=[worker],
            pure=False,
            retries=0,
        )

    def _listen(self) -> None:
        for worker, flight in list(self._flights.items()):
            if flight.status == "finished":
                why = flight.result()
                if why:
                    self._refused[worker] = why
                    self.progress.notice(f"{worker} has no pilot: {why}")
                del self._flights[worker]
            elif flight.status in ("error", "cancelled", "lost"):
                del self._flights[worker]  # its worker was lost, and perhaps comes back


def fly(store: str, run: str, number: int, workers: int) -> str:
    """In a worker of Dask: a pilot, until it ends; empty, or why it cannot fly here."""
    import os

    if not (Store(store).pilots(run) / "plan.json").exists() and Store(store).run(run) is None:
        return f"it does not see the directory {store}"
    if (store, run) in _flying:  # a client that was lost had sent it
        while (store, run) in _flying:
            time.sleep(LOOK_SECONDS)
        return ""
    command = [sys.executable, "-m", "optarena", "pilot", store, run, "--number", str(number)]
    command += ["--workers", str(workers), "--parent", str(os.getpid())]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    _flying[store, run] = process.pid
    try:
        _, said = process.communicate()
    finally:
        del _flying[store, run]
    if process.returncode == 2:
        return said.strip().removeprefix("optarena: ")
    if process.returncode:
        raise RuntimeError(f"pilot {number} ended with {process.returncode}: {said.strip()[-500:]}")
    return ""


def _tell(store: Store, todo: list[Study], progress: Progress) -> None:
    """Say how the studies ended."""
    found: dict[str, dict[str, Any]] = {
        row["study"]: row
        for row in Dataset.of_store(store.path)
        .studies.select("study", "status", "evaluations", "reason", "failures")
        .iter_rows(named=True)
    }
    for study in todo:
        row = found[study.id]
        progress.ended(study, Outcome(row["status"], row["evaluations"], row["reason"] or "", failures=row["failures"]))
