"""Dask workers that do not see the store: their journals come back in pieces, and all ends as a local run does."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import random
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import optarena as oa
from optarena._process import descendants
from optarena.cli import main
from optarena.errors import WorkError
from optarena.runner import dask_pilots
from optarena.runner.pilot import announce
from optarena.store import Store
from pilot_runs import FILE, PLAN, ROOT, exported, local, rows
from waiting import wait_for

distributed = pytest.importorskip("distributed")

UNSHARE = ["unshare", "--mount", *([] if os.getuid() == 0 else ["--map-root-user"])]


def can_hide() -> bool:
    """Whether a process can have a view of the file system of its own here."""
    with contextlib.suppress(OSError):
        return subprocess.run([*UNSHARE, "true"], capture_output=True).returncode == 0
    return False


pytestmark = [
    pytest.mark.xdist_group("processes"),  # one after the other: they start many processes
    pytest.mark.skipif(not can_hide(), reason="no mount namespaces here"),
]


@pytest.fixture
def experiment() -> oa.Experiment:
    Path("mine.py").write_text(FILE)
    problems = ["mine.py:slow", "functions/sphere/d3"]
    return oa.Experiment(["RandomSearch", "QuasiRandom"], problems, 20, trials=6, seed=ROOT, base=Path.cwd())


class Cluster:
    """A scheduler, and workers for which the directory of the test is empty."""

    def __init__(self, elsewhere: Path) -> None:
        self.elsewhere = elsewhere
        self.file = elsewhere / "scheduler.json"
        self.scheduler = self._started("scheduler", "--host", "127.0.0.1", "--port", "0")
        wait_for(lambda: self.file.exists() and self.file.stat().st_size)
        self.address = json.loads(self.file.read_text())["address"]
        self.workers: list[subprocess.Popen] = []

    def _started(self, program: str, *words: str, before: str = "") -> subprocess.Popen:
        command = [sys.executable, "-m", f"distributed.cli.dask_{program}", "--no-dashboard", *words]
        command += ["--scheduler-file", str(self.file)]
        shell = ["sh", "-c", f"{before} exec {shlex.join(command)}"]
        options = {"cwd": self.elsewhere, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen([*UNSHARE, *shell] if before else shell, **options)

    def add(self) -> None:
        hide = f"mount -t tmpfs none {shlex.quote(str(Path.cwd()))} &&"
        words = ("--nthreads", "1", "--no-nanny", "--local-directory", str(self.elsewhere))
        self.workers.append(self._started("worker", *words, before=hide))

    def kill(self, worker: subprocess.Popen) -> None:
        self.workers.remove(worker)
        worker.kill()
        worker.wait()

    def send(self, worker: subprocess.Popen, number: int) -> None:
        """A signal to all processes of a machine."""
        for pid in (worker.pid, *descendants(worker.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def close(self) -> None:
        for one in (*self.workers, self.scheduler):
            self.send(one, signal.SIGCONT)
            one.kill()
            one.wait()


@pytest.fixture
def cluster(tmp_path_factory):
    made = Cluster(tmp_path_factory.mktemp("elsewhere"))
    try:
        made.add()
        made.add()
        yield made
    finally:
        made.close()


def test_workers_that_do_not_see_the_store_send_their_journals(experiment, cluster, capsys):
    assert main(["run", *PLAN, "--store", "shared", "--dask", cluster.address]) == 0
    assert "24 done" in capsys.readouterr().out
    assert exported("shared").equals(local(experiment))
    assert main(["verify", "shared"]) == 0
    (head,) = [run for run in Store("shared").runs() if run.pilots]
    pilots = [run for run in Store("shared").runs() if run.of == head.id]
    assert pilots
    assert {run.how for run in pilots} <= {"done", "interrupted"}
    assert all(run.machine["speed"] > 0 for run in pilots)
    capsys.readouterr()
    assert main(["run", *PLAN, "--store", "shared", "--dask", cluster.address]) == 0
    assert "nothing was left to do" in capsys.readouterr().out


def test_workers_killed_paused_and_restarted_at_random_lose_nothing(experiment, cluster, monkeypatch):
    monkeypatch.setattr(dask_pilots, "announce", functools.partial(announce, expiry=3.0))
    source = random.Random(5)
    did = []

    def disturb() -> None:
        for wanted in (10, 40, 80, 120):
            wait_for(lambda wanted=wanted: rows() >= wanted)
            worker = source.choice(cluster.workers)
            if source.random() < 0.5:
                cluster.kill(worker)
                cluster.add()
                did.append("killed")
            else:
                cluster.send(worker, signal.SIGSTOP)
                threading.Timer(source.choice([0.5, 5.0]), cluster.send, (worker, signal.SIGCONT)).start()
                did.append("paused")

    thread = threading.Thread(target=disturb)
    thread.start()
    with distributed.Client(cluster.address) as client:
        results = experiment.run("shared", client=client)
    thread.join()
    assert {"killed", "paused"} == set(did)
    assert set(results.studies["status"]) == {"done"}
    assert results.studies["conflicts"].sum() == 0
    assert exported("shared").equals(local(experiment))


def test_a_client_that_was_killed_comes_back_to_what_workers_have_written_meanwhile(experiment, cluster, capsys):
    command = [sys.executable, "-m", "optarena", "run", *PLAN, "--store", "shared", "--dask", cluster.address]
    client = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    wait_for(lambda: rows() > 5)
    assert main(command[3:]) == 2
    assert "another process runs this" in " ".join(capsys.readouterr().err.split())
    client.kill()
    client.wait()
    (run,) = [run for run in Store("shared").runs() if run.pilots]
    assert run.ended is None  # what the other client could not do did not end it
    assert main(command[3:]) == 0
    assert [other.id for other in Store("shared").runs() if other.pilots] == [run.id]
    assert exported("shared").equals(local(experiment))


def test_studies_begun_before_go_on_from_their_past(experiment, cluster):
    half = oa.Experiment(["RandomSearch", "QuasiRandom"], experiment.problems, 10, trials=6, seed=ROOT, base=Path.cwd())
    half.run("shared", workers=2)
    before = rows()
    with distributed.Client(cluster.address) as client:
        experiment.run("shared", client=client)
    assert rows() == 2 * before
    assert exported("shared").equals(local(experiment))


def test_what_is_neither_sent_nor_on_the_worker_is_refused_in_a_sentence(cluster):
    Path("deep").mkdir()
    Path("deep/data.py").write_text("HEIGHT = 2.0\n")
    needs = "import sys, pathlib\nsys.path.append(str(pathlib.Path(__file__).parent / 'deep'))\nimport data\n"
    Path("mine.py").write_text(needs + FILE)
    experiment = oa.Experiment("RandomSearch", "mine.py:slow", 5, base=Path.cwd())
    with distributed.Client(cluster.address) as client, pytest.raises(WorkError, match="No module named 'data'"):
        experiment.run("shared", client=client)
    assert rows() == 0
