"""Runs on a Dask cluster: what a local run gives, whichever workers, schedulers and clients are lost meanwhile."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import polars as pl
import pytest

import optarena as oa
from optarena.cli import main
from optarena.errors import OptarenaError, WorkError
from optarena.store import Store
from waiting import wait_for

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")

pytestmark = pytest.mark.xdist_group("processes")  # one after the other: they start many processes

ROOT = "00000000-0000-0000-0000-00000000abcd"
FILE = """
import time
import optarena as oa

@oa.as_problem({"x": {"type": "real", "space": "linear", "range": [-5.0, 5.0]}})
def slow(x):
    time.sleep(0.02)
    return x["x"] ** 2
"""
PLAN = ["-o", "RandomSearch", "-o", "QuasiRandom", "-p", "mine.py:slow", "-p", "functions/sphere/d3", "-n", "20"]
PLAN += ["-r", "6", "--seed", ROOT]


@pytest.fixture
def experiment() -> oa.Experiment:
    Path("mine.py").write_text(FILE)
    problems = ["mine.py:slow", "functions/sphere/d3"]
    return oa.Experiment(["RandomSearch", "QuasiRandom"], problems, 20, trials=6, seed=ROOT, base=Path.cwd())


def exported(store: str) -> pl.DataFrame:
    assert main(["export", "csv", store, "-O", f"{store}.csv"]) == 0
    return pl.read_csv(f"{store}.csv", infer_schema_length=None).drop("seconds")


def local(experiment: oa.Experiment) -> pl.DataFrame:
    experiment.run("local", workers=2)
    return exported("local")


def rows(store: str = "shared") -> int:
    """Lines with evaluations."""
    return sum(path.read_bytes().count(b'"t":"e"') for path in Store(store).journal_paths())


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


def test_workers_that_do_not_see_the_store_are_refused(experiment, cluster, monkeypatch):
    with distributed.Client(cluster) as client:
        client.run(_blind)
        with pytest.raises(WorkError, match="no worker of Dask can have a pilot: it does not see the directory"):
            experiment.run("shared", client=client)
    assert rows() == 0


def _blind() -> None:
    from optarena.store import Store

    Store.pilots = lambda self, run: Path("/nowhere") / run
    Store.run = lambda self, run: None


@pytest.mark.parametrize("address", ["local:", "local:0", "tcp://127.0.0.1:1"])
def test_an_address_without_a_scheduler_is_refused_in_a_sentence(address, experiment, monkeypatch):
    from optarena.runner import dask_pilots

    monkeypatch.setattr(dask_pilots, "CONNECT_SECONDS", 1)
    with pytest.raises(OptarenaError, match="--dask"), dask_pilots.client_of(address):
        pass
    assert not Path("shared").exists()


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
