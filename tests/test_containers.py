"""Two containers on one store, with one host name and the same process ids: neither harms what the other writes."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import optarena as oa
from optarena._process import host, place
from optarena.store import RunFile, Store
from waiting import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("processes")]  # one after the other: they measure time and kill

ROOT = "00000000-0000-0000-0000-000000000005"
CONTAINER = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
PROGRAM = [sys.executable, "-m", "optarena"]
FLAGS = ["-o", "RandomSearch", "-p", "mine.py:slow", "-n", "40", "-r", "4", "--workers", "2", "--seed", ROOT]
MINE = """
import os, time
import optarena as oa

@oa.as_problem({"x": {"type": "real", "space": "linear", "range": [-1.0, 1.0]}})
def slow(x):
    time.sleep(0.002 if os.path.exists("quick") else 0.3)    # until a test lets it go on
    return x["x"] ** 2
"""


def _refused() -> str:
    """Why there are no containers here; empty if there are."""
    if shutil.which("unshare") is None:
        return "there is no program unshare"
    tried = subprocess.run([*CONTAINER, "true"], capture_output=True, text=True, check=False, timeout=60)
    return "" if tried.returncode == 0 else f"unshare is not permitted ({tried.stderr.strip()})"


REFUSED = _refused()
in_containers = pytest.mark.skipif(bool(REFUSED), reason=REFUSED or "containers work")


@pytest.fixture(autouse=True)
def mine(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)


@contextlib.contextmanager
def running(store="s"):
    """The experiment in a container of its own, until a file `quick` lets it go on."""
    command = [*CONTAINER, *PROGRAM, "run", *FLAGS, "--store", store]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        wait_for(lambda: _rows(store) >= 4 or process.poll() is not None)
        assert process.poll() is None, process.communicate()[0].decode()[-2000:]
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)


def _rows(store):
    return sum(path.read_bytes().count(b'"t":"e"') for path in Path(store).glob("journal/*.jsonl"))


def traces(store):
    results = oa.open(store)
    return {
        study: [(row["evaluation"], row["parameters"], row["values"]) for row in results.points(study)]
        for study in sorted(results.studies["study"])
    }


def finish(process):
    Path("quick").touch()
    out, _ = process.communicate(timeout=240)
    assert process.returncode == 0, out.decode()[-2000:]


@in_containers
@pytest.mark.parametrize("where", ["outside", "in another container"])
def test_compacting_leaves_the_journals_of_a_live_run_in_a_container(where):
    before = [] if where == "outside" else CONTAINER
    with running() as process:
        names = {path.name for path in Path("s/journal").glob("*.jsonl")}
        for _ in range(3):
            subprocess.run([*before, *PROGRAM, "compact", "s"], check=True, capture_output=True, timeout=240)
            assert names <= {path.name for path in Path("s/journal").glob("*.jsonl")}
        finish(process)
    assert oa.open("s").studies.select("status", "evaluations", "conflicts").unique().rows() == [("done", 40, 0)]
    subprocess.run([*PROGRAM, "run", *FLAGS, "--store", "calm"], check=True, capture_output=True, timeout=240)
    assert traces("s") == traces("calm")
    subprocess.run([*PROGRAM, "compact", "s"], check=True, capture_output=True, timeout=240)
    assert traces("s") == traces("calm")


@in_containers
@pytest.mark.parametrize("where", ["outside", "in another container"])
def test_a_run_in_a_container_is_live_for_others_with_the_same_host_name(where):
    before = [] if where == "outside" else CONTAINER
    with running() as process:
        command = [*before, *PROGRAM, "run", *FLAGS, "--store", "s"]
        other = subprocess.run(command, check=False, capture_output=True, text=True, timeout=240)
        assert other.returncode == 2
        assert "is being run by process" in other.stderr + other.stdout
        finish(process)
    assert set(oa.open("s").studies["status"]) == {"done"}


@in_containers
def test_a_run_that_was_killed_with_its_container_is_over_when_its_heartbeat_is():
    with running():
        pass
    store = Store("s")
    (run,) = store.runs()
    assert store.is_live(run)  # nobody can know yet
    past = time.time() - 3600
    os.utime(f"s/runs/{run.id}.json", (past, past))
    assert not store.is_live(run)
    Path("quick").touch()
    subprocess.run([*PROGRAM, "run", *FLAGS, "--store", "s"], check=True, capture_output=True, timeout=240)
    assert oa.open("s").studies.select("status", "evaluations", "conflicts").unique().rows() == [("done", 40, 0)]


def a_run(**fields):
    run = RunFile("r", "root", 0.0, [], {}, [], [], host=host(), pid=os.getpid(), place=place())
    for name, value in fields.items():
        setattr(run, name, value)
    return run


def test_a_pid_is_evidence_only_where_it_means_the_same():
    store = Store("s")
    store.create()
    path = Path("s/runs/r.json")
    path.write_text("{}")
    past = time.time() - 3600
    dead = 2**22 + 1  # above every pid
    elsewhere = "another boot pid:[1]"
    os.utime(path, (past, past))  # no heartbeat: only a pid of this very place tells of life
    assert store.is_live(a_run())
    assert not store.is_live(a_run(pid=dead))
    assert not store.is_live(a_run(place=elsewhere))
    assert not store.is_live(a_run(host="elsewhere"))
    assert not store.is_live(a_run(ended=1.0))
    path.touch()  # a heartbeat: only a pid of this very place tells of death
    assert not store.is_live(a_run(pid=dead))
    assert store.is_live(a_run(pid=dead, place=elsewhere))
    assert store.is_live(a_run(pid=dead, host="elsewhere"))
    assert store.is_live(a_run(pid=dead, place=""))  # a file of an older version does not say where
