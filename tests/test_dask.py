"""Runs on a Dask cluster: what a local run gives, whichever workers, schedulers and clients are lost meanwhile."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import optarena as oa
from optarena.cli import main
from optarena.errors import OptarenaError, WorkError
from optarena.runner import dask_pilots
from optarena.runner.local import Silent
from optarena.runner.pilot import announce
from optarena.runner.tail import Tail
from optarena.store import Store
from pilot_runs import FILE, PLAN, ROOT, exported, local, rows
from waiting import wait_for

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")

pytestmark = pytest.mark.xdist_group("processes")  # one after the other: they start many processes


@pytest.fixture
def experiment() -> oa.Experiment:
    Path("mine.py").write_text(FILE)
    problems = ["mine.py:slow", "functions/sphere/d3"]
    return oa.Experiment(["RandomSearch", "QuasiRandom"], problems, 20, trials=6, seed=ROOT, base=Path.cwd())


@pytest.fixture
def cluster():
    options = {"threads_per_worker": 1, "processes": True, "host": "127.0.0.1", "dashboard_address": None}
    with distributed.LocalCluster(n_workers=2, **options) as made:
        yield made


def test_a_cluster_of_this_machine_by_a_flag_gives_what_a_local_run_gives(experiment, capsys):
    assert main(["run", *PLAN, "--store", "shared", "--dask", "local:2"]) == 0
    assert "24 done" in capsys.readouterr().out
    assert exported("shared").equals(local(experiment))
    assert main(["run", *PLAN, "--store", "shared", "--dask", "local:1"]) == 0
    assert "nothing was left to do" in capsys.readouterr().out


def test_workers_that_are_killed_and_restarted_at_random_lose_nothing(experiment, cluster):
    source = random.Random(3)
    killed = []

    def kill() -> None:
        for wanted in (10, 60, 120):
            wait_for(lambda wanted=wanted: rows() >= wanted)
            pids = [nanny.pid for nanny in cluster.workers.values() if nanny.pid]
            if pids:
                os.kill(source.choice(pids), signal.SIGKILL)
                killed.append(wanted)

    thread = threading.Thread(target=kill)
    thread.start()
    with distributed.Client(cluster) as client:
        results = experiment.run("shared", client=client)
    thread.join()
    assert killed == [10, 60, 120]
    assert set(results.studies["status"]) == {"done"}
    assert exported("shared").equals(local(experiment))


def test_a_client_that_was_killed_comes_back_to_its_pilots(experiment, cluster):
    command = [sys.executable, "-m", "optarena", "run", *PLAN, "--store", "shared", "--dask", cluster.scheduler_address]
    client = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    wait_for(lambda: rows() > 5)
    client.kill()
    client.wait()
    (run,) = [run for run in Store("shared").runs() if run.pilots]
    seen = rows()
    wait_for(lambda: rows() > seen or Store("shared").run(run.id).ended)
    assert main(command[3:]) == 0
    assert [other.id for other in Store("shared").runs() if other.pilots] == [run.id]
    assert exported("shared").equals(local(experiment))


def started(program: str, *words: str) -> subprocess.Popen:
    command = [sys.executable, "-m", f"distributed.cli.dask_{program}", "--no-dashboard", *words]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def test_where_the_scheduler_is_lost_another_one_continues(experiment, cluster):
    scheduler = started("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", "scheduler.json")
    wait_for(lambda: Path("scheduler.json").exists() and Path("scheduler.json").stat().st_size)
    worker = started("worker", "--scheduler-file", "scheduler.json", "--nthreads", "1", "--no-nanny")
    address = json.loads(Path("scheduler.json").read_text())["address"]
    command = [sys.executable, "-m", "optarena", "run", *PLAN, "--store", "shared", "--dask", address]
    client = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: rows() > 5)
    for one in (scheduler, worker, client):
        one.kill()
        one.wait()
    store = Store("shared")
    wait_for(lambda: not any(store.is_live(run) for run in store.runs()))
    with distributed.Client(cluster) as again:
        experiment.run("shared", client=again)
    assert exported("shared").equals(local(experiment))


def test_a_client_whose_scheduler_is_lost_says_so_in_a_sentence_and_the_same_command_continues(experiment):
    scheduler = started("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", "scheduler.json")
    wait_for(lambda: Path("scheduler.json").exists() and Path("scheduler.json").stat().st_size)
    words = ("--nthreads", "1", "--no-nanny", "--death-timeout", "5")
    worker = started("worker", "--scheduler-file", "scheduler.json", *words)
    address = json.loads(Path("scheduler.json").read_text())["address"]
    command = [sys.executable, "-m", "optarena", "run", *PLAN, "-n", "500", "--store", "shared", "--dask", address]
    quick = os.environ | {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "3s"}
    client = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=quick)
    wait_for(lambda: rows() > 5)
    scheduler.kill()
    scheduler.wait()
    said = " ".join(client.communicate(timeout=200)[0].split())
    assert client.returncode == 1
    assert "the Dask scheduler is lost" in said
    assert said.endswith("what was evaluated is kept, run again")
    worker.kill()
    worker.wait()
    store = Store("shared")
    wait_for(lambda: not any(store.is_live(run) for run in store.runs()))
    assert main(["run", *PLAN, "--store", "shared", "--workers", "2"]) == 0
    assert set(oa.open("shared").studies["status"]) == {"done"}


@pytest.mark.parametrize("address", ["local:", "local:0", "tcp://127.0.0.1:1", "tls://127.0.0.1:1", "http://a", ""])
def test_an_address_without_a_scheduler_is_refused_in_a_sentence(address, experiment, monkeypatch):
    monkeypatch.setattr(dask_pilots, "CONNECT_SECONDS", 1)
    with pytest.raises(OptarenaError, match="--dask"), dask_pilots.client_of(address):
        pass
    assert not Path("shared").exists()


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.0 400 Bad request\r\n", b"\1" + bytes(15)])
def test_another_program_that_listens_is_refused_instead_of_waited_for(answer, monkeypatch):
    monkeypatch.setattr(dask_pilots, "CONNECT_SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as other:

        def greet() -> None:
            connection, _ = other.accept()
            with connection:
                connection.sendall(answer)
                while connection.recv(1000):
                    pass

        thread = threading.Thread(target=greet)
        thread.start()
        address = f"tcp://127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(OptarenaError, match="no Dask scheduler answers"), dask_pilots.client_of(address):
            pass
        thread.join()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_a_cluster_with_tls_runs_for_whoever_has_the_certificate(experiment):
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem"]
    made += ["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(made, check=True, capture_output=True)
    flags = ["--tls-ca-file", "cert.pem", "--tls-cert", "cert.pem", "--tls-key", "key.pem"]
    where = ["--host", "127.0.0.1", "--port", "0", "--protocol", "tls", "--scheduler-file", "scheduler.json"]
    scheduler = started("scheduler", *where, *flags)
    wait_for(lambda: Path("scheduler.json").exists() and Path("scheduler.json").stat().st_size)
    worker = started("worker", "--scheduler-file", "scheduler.json", "--nthreads", "1", "--no-nanny", *flags)
    address = json.loads(Path("scheduler.json").read_text())["address"]
    assert address.startswith("tls://127.0.0.1:")
    run = ["run", *PLAN, "--store", "shared", "--dask", address]
    cert, key = str(Path("cert.pem").resolve()), str(Path("key.pem").resolve())
    tls = {"ca-file": cert, "client.cert": cert, "client.key": key}
    try:
        assert main(run) == 2  # without the certificate nothing is run
        assert not Path("shared").exists()
        with dask.config.set({f"distributed.comm.tls.{name}": file for name, file in tls.items()}):
            assert main(run) == 0
    finally:
        for one in (worker, scheduler):
            one.terminate()
            one.wait(30)
    assert exported("shared").equals(local(experiment))


def test_pilots_that_die_in_vain_end_the_run_in_a_sentence(experiment, monkeypatch):
    monkeypatch.setattr(dask_pilots, "fly", lambda *_: (1, "No space left on device"))
    options = {"processes": False, "threads_per_worker": 1, "dashboard_address": None}
    with (
        distributed.Client(n_workers=2, **options) as client,
        pytest.raises(WorkError, match="No space left on device"),
    ):
        experiment.run("shared", client=client)
    (run,) = Store("shared").runs()
    assert run.how == "interrupted"


def test_a_task_that_raises_ends_the_run_with_its_reason(experiment, monkeypatch):
    def raises(*_: object) -> None:
        raise ImportError("No module named 'optarena'")

    monkeypatch.setattr(dask_pilots, "fly", raises)
    options = {"processes": False, "threads_per_worker": 1, "dashboard_address": None}
    with (
        distributed.Client(n_workers=2, **options) as client,
        pytest.raises(WorkError, match="no worker of Dask can have a pilot: ImportError: No module named 'optarena'"),
    ):
        experiment.run("shared", client=client)


def test_an_interrupt_of_one_run_leaves_others_of_the_store_alone(experiment, monkeypatch):
    other = announce(oa.Experiment("RandomSearch", "functions/sphere/d7", 5), "shared", pilots=1).run

    def interrupts(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(dask_pilots._Crew, "watch", interrupts)
    options = {"processes": False, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.Client(n_workers=1, **options) as client, pytest.raises(KeyboardInterrupt):
        experiment.run("shared", client=client)
    assert Store("shared").run(other.id).ended is None
    assert [run.how for run in Store("shared").runs() if run.pilots and run.id != other.id] == ["interrupted"]


def test_a_study_that_kills_its_pilot_is_given_up_on_the_only_worker(experiment):
    kill = (
        "import os\n"
        "    if b'optarena' in Path(f'/proc/{os.getppid()}/cmdline').read_bytes():  # no other parent\n"
        "        os.kill(os.getppid(), 9)\n"
        "    time.sleep(60)"
    )
    Path("mine.py").write_text("from pathlib import Path\n" + FILE.replace("time.sleep(0.02)", kill))
    deadly = oa.Experiment("RandomSearch", experiment.problems, 5, trials=2, seed=ROOT, base=Path.cwd())
    with dask_pilots.client_of("local:1") as client:
        results = deadly.run("shared", client=client)
    ended = dict(results.studies.select("problem", "status").iter_rows())
    assert ended == {"mine.py:slow": "failed", "functions/sphere/d3": "done"}
    assert results.studies.filter(status="failed")["reason"].str.contains("4 pilots were lost").all()


class Heard(Silent):
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.ticks: list[tuple[str, int]] = []
        self.ends: list[tuple[str, str, int, int]] = []

    def tick(self, study, evaluations) -> None:
        self.ticks.append((study.id, evaluations))

    def ended(self, study, outcome) -> None:
        self.ends.append((study.id, outcome.status, outcome.evaluations, outcome.failures))


def test_progress_is_told_from_the_journals_while_they_grow_and_every_end_once(experiment):
    Path("shared").mkdir()
    heard, store = Heard(), Store("shared")
    run = announce(experiment, "shared", pilots=1).run
    plan = experiment.plan(experiment.seed)
    tail = Tail(store, run, plan.studies, heard, set())
    one = subprocess.Popen([sys.executable, "-m", "optarena", "pilot", "shared", run.id], stdout=subprocess.DEVNULL)
    while one.poll() is None:
        tail.look()
    tail.look()
    assert sorted(heard.ends) == sorted((study.id, "done", 20, 0) for study in plan.studies)
    assert not tail.left
    assert all(1 <= k <= 20 for _, k in heard.ticks)
    assert heard.ticks
    larger = oa.Experiment(experiment.optimizers, experiment.problems, 30, trials=6, seed=ROOT, base=Path.cwd())
    again = announce(larger, "shared", pilots=1).run
    tail = Tail(store, again, plan.studies, heard, set())
    tail.look()
    assert len(tail.left) == len(plan.studies)  # what ended before this run is not told
