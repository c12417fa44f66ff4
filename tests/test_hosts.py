"""Several hosts on a network, one of them cut off and joined again: the run ends with what a local run gives."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import hosts
import optarena as oa
import pilot_runs
from optarena._process import descendants, kill_exactly
from optarena.runner.pilot import announce
from optarena.store import Store
from pilot_runs import PLAN, ROOT, exported
from waiting import wait_for

pytest.importorskip("distributed")
pytestmark = pytest.mark.xdist_group("processes")  # one after the other: they start many processes

FILE = pilot_runs.FILE.replace("sleep(0.02)", "sleep(0.05)")  # long enough to be cut off
QUICK = {
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "6s",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "12s",
}
"""So that Dask gives up a worker that is cut off within seconds."""


@pytest.fixture
def network():
    if lacks := hosts.missing():
        pytest.skip(f"no hosts: {', '.join(lacks)}")
    Path("mine.py").write_text(FILE)
    with hosts.hosts(3) as made, contextlib.ExitStack() as stack:
        started: list[subprocess.Popen] = []

        def start(host: hosts.Host, *command: str, hidden: Path | None = None) -> subprocess.Popen:
            log = stack.enter_context(Path(f"log-{len(started)}.txt").open("wb"))
            options = {"stdout": log, "stderr": log, "env": os.environ | QUICK}
            started.append(host.start([sys.executable, "-m", *command], hidden, **options))
            return started[-1]

        def end() -> None:
            for one in started:
                below = descendants(one.pid)
                one.kill()
                kill_exactly(below)
                one.wait()

        stack.callback(end)
        yield made, start


def experiment() -> oa.Experiment:
    problems = ["mine.py:slow", "functions/sphere/d3"]
    return oa.Experiment(["RandomSearch", "QuasiRandom"], problems, 20, trials=6, seed=ROOT, base=Path.cwd())


def local() -> pl.DataFrame:
    experiment().run("local", workers=2)
    return exported("local")


def rows() -> int:
    return sum(path.read_bytes().count(b'"t":"e"') for path in Store("shared").journal_paths())


def head():
    return next((run for run in Store("shared").runs() if run.pilots), None) if Path("shared").exists() else None


def ran_on() -> set[str]:
    return {run.host for run in Store("shared").runs() if run.of}


@pytest.mark.parametrize("sees", [True, False], ids=["sees the store", "does not see the store"])
def test_a_dask_worker_that_is_cut_off_and_joined_again_changes_nothing(sees, network, tmp_path_factory):
    (first, second, third), start = network
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    words = ("--no-dashboard", "--host", first.address, "--port", "8786", "--scheduler-file", str(elsewhere / "ready"))
    start(first, "distributed.cli.dask_scheduler", *words)
    wait_for(lambda: (elsewhere / "ready").exists())
    address = f"tcp://{first.address}:8786"
    for host in (second, third):
        worker = ("--host", host.address, "--nthreads", "1", "--no-dashboard", "--local-directory", str(elsewhere))
        start(host, "distributed.cli.dask_worker", address, *worker, hidden=None if sees else Path.cwd())
    client = start(first, "optarena", "run", *PLAN, "--store", "shared", "--dask", address)
    wait_for(lambda: head() and {"host2", "host3"} <= ran_on() and rows() > 5)
    third.cut_off()
    seen = rows()
    wait_for(lambda: rows() > seen + 40 or head().ended)
    third.join()
    assert client.wait(240) == 0
    assert head().how == "done"
    assert oa.open("shared").studies["conflicts"].sum() == 0
    assert exported("shared").equals(local())


def test_pilots_of_different_hosts_take_over_from_one_that_is_lost(network):
    machines, start = network
    run = announce(experiment(), "shared", pilots=3, expiry=4.0).run
    crew = [start(host, "optarena", "pilot", "shared", run.id, "--number", str(host.number)) for host in machines]
    wait_for(lambda: ran_on() == {"host1", "host2", "host3"} and rows() > 5)
    kill_exactly(descendants(crew[0].pid))
    crew[0].kill()
    assert [one.wait(240) for one in crew[1:]] == [0, 0]
    assert Store("shared").run(run.id).how == "done"
    assert exported("shared").equals(local())
