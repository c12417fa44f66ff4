"""User code that attacks its worker: its own study may fail, with a clear reason; all others are as if it had not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import polars as pl
import pytest

import optarena as oa
from optarena.errors import Harmed, WorkError
from optarena.store import Store
from optarena.store.journal import Journal
from waiting import wait_for

pytestmark = pytest.mark.xdist_group("processes")  # one after the other: they measure time and kill

ROOT = uuid.UUID(int=20)

ATTACKS = '''
import gc, mmap, os, random, resource, signal, subprocess, sys, threading, time
import msgspec
import numpy as np
import optarena as oa
from optarena.problems.tsp import Tsp

LINE = {"type": "real", "space": "linear", "range": [-1.0, 1.0]}
S = {"x": LINE, "y": LINE}

def value(x):
    return x["x"] ** 2 + x["y"] ** 2

@oa.as_problem(S)
def plain(x):
    return value(x)

@oa.as_problem(S, noisy=True)
def noisy(x, rng):
    return value(x) + rng.normal()

square = Tsp(np.array([[0.0, 0.0], [0.0, 9.0], [9.0, 9.0], [9.0, 0.0], [20.0, 5.0]]), 60.0)
square.known = oa.Known(optimum=(square.cost([0, 1, 2, 4, 3]),))

class Plain(oa.Optimizer):
    def __init__(self, space, *, objectives=1, rng=None):
        super().__init__(space, objectives=objectives, rng=rng)
        self.n = 0
    def suggest(self, n):
        return self.space.to_dicts(self.space.sample(n, self.rng))
    def observe(self, X, y):
        self.n += 1

class PlainSolver(oa.Solver):
    takes = ("tsp",)
    def solve(self, instance, budget, emit):
        emit(instance.cost([0, 1, 2, 4, 3]), [0, 1, 2, 4, 3])
        return "feasible"

def descriptors():
    """Those of the harness: the journal, and the pipes to and from the supervisor."""
    out = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            out[int(name)] = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            pass
    return {fd: target for fd, target in out.items() if fd > 2}

def journals():
    return [fd for fd, target in descriptors().items() if target.endswith(".jsonl")]

def pipes():
    return [fd for fd, target in descriptors().items() if target.startswith("pipe:")]

def into_pipes(data):
    for fd in pipes():
        try:
            os.write(fd, data)
        except OSError:
            pass

def store():
    return next(os.path.dirname(target) for target in descriptors().values() if target.endswith(".jsonl"))

# ---- changes

def clocks():
    for name in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time_ns"):
        setattr(time, name, lambda: 1)

def writes():
    os.write = os.fsync = os.fstat = os.read = lambda *args: 0

def directory():
    os.chdir("/")

def mask():
    os.umask(0o777)

def handlers():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_REAL, 600)

def randomness():
    np.random.default_rng = np.random.Generator = np.random.PCG64 = np.random.SeedSequence = None
    random.Random = None

def encoder():
    msgspec.json.encode = msgspec.json.Encoder = msgspec.json.Decoder = None

def output():
    sys.stdout = sys.stderr = sys.stdin = None

def errors():
    np.seterr(all="raise")

def thread():
    threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()

def orphan():
    """A process of another session whose parent is gone."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            open(f"orphan-{os.getpid()}", "w").close()
            time.sleep(3600)
        os._exit(0)
    os.wait()

def nameless():
    """The same by another program, without our environment."""
    subprocess.run(["sh", "-c", "env -i setsid sh -c 'touch orphan-$$; exec sleep 3600' &"], cwd=os.getcwd())
    time.sleep(1)    # so that it is seen

def litter():
    """What is no journal, where journals are."""
    os.makedirs(store() + "/directory.jsonl", exist_ok=True)
    open(store() + "/notes.txt", "w").write("hello")
    open(store() + "/notes.jsonl", "w").write("hello")
    os.mkfifo(store() + "/fifo.jsonl")
    os.symlink("/dev/zero", store() + "/link.jsonl")

# ---- harms

def closes():
    os.closerange(3, 4096)

def closes_journal():
    for fd in journals():
        os.close(fd)

def reuses_journal():
    for fd in journals():
        other = os.open("stolen", os.O_WRONLY | os.O_CREAT)
        os.dup2(other, fd)
        os.close(other)

def removes_journal():
    for target in descriptors().values():
        if target.endswith(".jsonl"):
            os.unlink(target)

def writes_journal():
    for fd in journals():
        os.write(fd, b"foreign")

def limits():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

def garbage():
    into_pipes(b"garbage\\\\n")

def binary():
    into_pipes(bytes(range(256)) + b"\\\\n" + b"[" * 2000 + b"\\\\n")

def forged():
    into_pipes(b'{"serial":1,"what":"ended","status":"done","evaluations":7}\\\\n'
               b'{"serial":1,"what":"broken","reason":"ha"}\\\\n')

def flood():
    block = b"x" * (1 << 16)
    for fd in pipes():
        try:
            for _ in range(300):
                os.write(fd, block)
        except OSError:
            pass

def closes_pipes():
    for fd in pipes():
        os.close(fd)

def overwrites_cell():
    for found in gc.get_objects():
        if type(found) is memoryview and found.format == "q":
            found[0] = found[1] = 2**60
    time.sleep(3600)

# ---- deaths

def releases_cell():
    for found in gc.get_objects():
        if type(found).__name__ == "Cell":
            found.view.release()

def exits():
    os._exit(0)

def too_large():
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    limits()

# ---- harmless

def comes_back_twice():
    os.fork()
'''

CHANGES = {
    "clocks": "time.time was changed",
    "writes": "os.write was changed",
    "directory": "the current directory was changed",
    "mask": "the umask was changed",
    "handlers": "the handler of SIGTERM was changed",
    "randomness": "numpy.random.default_rng was changed",
    "encoder": "msgspec.json.Encoder was changed",
    "output": "sys.stdout was changed",
    "errors": "np.seterr was changed",
    "thread": "a thread was left behind",
    "orphan": "a process was left behind",
    "nameless": "a process was left behind",
}
HARMS = {
    "closes": "it harmed its worker: ",
    "closes_journal": "its descriptor was closed",
    "reuses_journal": "another file has it now",
    "removes_journal": "the file was removed",
    "writes_journal": "bytes, only",
    "limits": "RLIMIT_FSIZE was lowered",
    "garbage": "unexpected data was written",
    "binary": "unexpected data was written",
    "forged": "unexpected data was written",
    "flood": "an endless line",
    "closes_pipes": "a pipe between the worker and its supervisor was closed or replaced",
    "overwrites_cell": "the memory that its worker shares with the supervisor was overwritten",
}
DEATHS = {"releases_cell": "exit code 1", "exits": "exit code 0", "too_large": "SIGXFSZ"}
BUDGET = 6


class Notices:
    """Keeps what a run tells beside its results."""

    def __init__(self):
        self.texts = []

    def begin(self, plan, todo, finished, workers): ...
    def tick(self, study, evaluations): ...
    def ended(self, study, outcome): ...

    def notice(self, text):
        self.texts.append(text)


@pytest.fixture(autouse=True)
def attacks(tmp_path):
    """A problem, an optimizer and a solver for each attack: they do it at their third evaluation, or in the middle."""
    text = ATTACKS.replace("\\\\n", "\\n")
    for name in (*CHANGES, *HARMS, *DEATHS, "comes_back_twice", "litter"):
        text += f"""
@oa.as_problem(S)
def p_{name}(x):
    if p_{name}.evaluation == 3:
        {name}()
    return value(x)

class O_{name}(Plain):
    def observe(self, X, y):
        super().observe(X, y)
        if self.n == 3:
            {name}()

class S_{name}(PlainSolver):
    def solve(self, instance, budget, emit):
        emit(instance.cost([0, 2, 1, 3, 4]), [0, 2, 1, 3, 4])
        {name}()
        return super().solve(instance, budget, emit)
"""
    (tmp_path / "attacks.py").write_text(text)
    yield
    orphans = [int(path.name.partition("-")[2]) for path in tmp_path.glob("orphan-*")]
    wait_for(lambda: not any(map(_lives, orphans)), 60)


def _lives(pid):
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def run(problems, optimizers=("attacks.py:Plain",), store="s", **options):
    options.setdefault("budget", BUDGET)
    experiment = oa.Experiment(
        list(optimizers), [f"attacks.py:{name}" for name in problems], seed=ROOT, trials=1, **options
    )
    from optarena.runner.local import run as run_plan

    notices = Notices()
    run_plan(experiment, store, workers=1, progress=notices)
    return oa.open(store), notices.texts


def rows_of(results, *problems):
    studies = results.studies.filter(pl.col("problem").is_in([f"attacks.py:{name}" for name in problems]))
    return [
        [(row["parameters"], row["values"], row["status"]) for row in results.points(study)]
        for study in studies.sort("study")["study"]
    ]


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    """What the innocent studies give where nobody attacks."""
    place = tmp_path_factory.mktemp("calm")
    (place / "attacks.py").write_text(ATTACKS.replace("\\\\n", "\\n"))
    before = Path.cwd()
    os.chdir(place)
    try:
        return rows_of(run(("plain", "noisy"))[0], "plain", "noisy")
    finally:
        os.chdir(before)


def check_innocent(results, calm):
    innocent = results.studies.filter(pl.col("problem").is_in(["attacks.py:plain", "attacks.py:noisy"]))
    innocent = innocent.filter(pl.col("optimizer").str.ends_with("Plain"))
    assert innocent.select("status", "evaluations", "conflicts").unique().rows() == [("done", BUDGET, 0)]
    ids = set(innocent["study"])
    assert [
        [(row["parameters"], row["values"], row["status"]) for row in results.points(study)] for study in sorted(ids)
    ] == calm


def by_problem(results):
    return {row["problem"].partition("p_")[2]: row for row in results.studies.iter_rows(named=True)}


@pytest.mark.slow
def test_a_problem_that_changes_its_process_keeps_its_results_and_gets_no_successor_there(calm):
    results, notices = run([*(f"p_{name}" for name in CHANGES), "plain", "noisy"])
    check_innocent(results, calm)
    rows = by_problem(results)
    for name, reason in CHANGES.items():
        assert (rows[name]["status"], rows[name]["evaluations"]) == ("done", BUDGET)
        assert any(f"p_{name}:" in text and reason in text for text in notices), (name, notices)


@pytest.mark.slow
def test_a_problem_that_harms_its_worker_fails_with_the_reason_and_alone(calm):
    results, _ = run([*(f"p_{name}" for name in HARMS), "plain", "noisy"])
    check_innocent(results, calm)
    rows = by_problem(results)
    for name, reason in HARMS.items():
        if rows[name]["status"] == "done":  # its third evaluation was recorded, and so not made again
            assert rows[name]["evaluations"] == BUDGET, name
        elif name == "writes_journal":  # what it damaged is missing, and named
            assert rows[name]["status"] in ("failed", "interrupted")
            assert results.damage
        else:
            assert rows[name]["status"] == "failed", name
            assert reason in rows[name]["reason"], name
    assert {name for name in HARMS if rows[name]["status"] == "failed"} >= {"closes", "reuses_journal", "limits"}


def test_a_problem_that_kills_its_worker_has_a_crashed_evaluation_and_goes_on(calm):
    results, _ = run([*(f"p_{name}" for name in DEATHS), "plain", "noisy"])
    check_innocent(results, calm)
    rows = by_problem(results)
    for name, reason in DEATHS.items():
        assert rows[name]["status"] == "done", name
        assert rows[name]["evaluations"] == BUDGET, name
        failed = results.failures().filter(pl.col("study") == rows[name]["study"])
        if name != "releases_cell":  # which is noticed after the evaluation was recorded
            assert failed["status"].to_list() == ["crashed"], name
        assert all(reason in message for message in failed["message"]), name


@pytest.mark.slow
def test_an_optimizer_is_watched_like_a_problem(calm):
    chosen = [*CHANGES, *HARMS]
    results, _ = run(["plain", "noisy"], [*(f"attacks.py:O_{name}" for name in chosen), "attacks.py:Plain"])
    check_innocent(results, calm)
    for row in results.studies.iter_rows(named=True):
        name = row["optimizer"].partition("O_")[2]
        if name == "writes_journal":  # what it damaged is missing, and named
            assert row["status"] in ("failed", "interrupted")
        elif name in HARMS:
            assert row["status"] == "failed", name
            assert HARMS[name] in row["reason"], name
        elif name in CHANGES:
            assert (row["status"], row["evaluations"]) == ("done", BUDGET), name


@pytest.mark.slow
def test_a_solver_is_watched_like_a_problem():
    chosen = [*CHANGES, *HARMS]
    results, _ = run(
        ["square"],
        [*(f"attacks.py:S_{name}" for name in chosen), "attacks.py:PlainSolver"],
        budget=None,
        seconds=20,
    )
    for row in results.studies.iter_rows(named=True):
        name = row["optimizer"].partition("S_")[2]
        if name == "writes_journal":  # what it damaged is missing, and named
            assert row["status"] in ("failed", "interrupted")
        elif name in HARMS:
            assert row["status"] == "failed", name
            assert HARMS[name] in row["reason"], (name, row["reason"])
        else:
            assert (row["status"], row["reason"], row["evaluations"]) == ("done", "feasible", 2 if name else 1), name


def test_a_child_that_comes_back_writes_nothing_twice(calm):
    results, _ = run(["p_comes_back_twice", "plain", "noisy"], [f"attacks.py:{name}" for name in ("Plain",)])
    check_innocent(results, calm)
    assert results.studies.select("status", "evaluations", "conflicts").unique().rows() == [("done", BUDGET, 0)]


def test_what_a_study_leaves_beside_journals_is_not_read(calm):
    results, _ = run(["p_litter", "plain", "noisy"])
    check_innocent(results, calm)
    done = subprocess.run(
        [sys.executable, "-m", "optarena", "compact", "s"], check=False, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    check_innocent(oa.open("s"), calm)


def test_a_journal_says_what_was_done_to_it(tmp_path):
    store = Store(tmp_path / "s")
    store.create()
    journal = Journal(store.journals, {})
    assert journal.harm() == journal.harm(ended=True) == ""
    with journal.path.open("ab") as file:
        file.write(b"foreign\n")
    assert journal.harm() == ""  # somebody may be writing just now
    assert "only" in journal.harm(ended=True)
    journal.path.write_bytes(b"")
    assert "bytes" in journal.harm()
    moved = journal.path.rename(tmp_path / "moved")
    assert journal.harm() == "the file was renamed"
    moved.rename(journal.path)
    journal.path.unlink()
    assert journal.harm() == "the file was removed"
    with pytest.raises(Harmed, match="was changed by other code than the harness: the file was removed"):
        journal.sync()
    assert issubclass(Harmed, WorkError)  # in a process without workers it ends the run with one sentence
    journal.close()


def test_a_disk_that_fails_is_not_taken_for_harm(tmp_path, monkeypatch):
    def fails(_):
        raise OSError(5, "Input/output error")

    journal = Journal(tmp_path, {})
    monkeypatch.setattr("optarena.store.journal._fsync", fails)
    with pytest.raises(WorkError, match="Input/output error") as raised:
        journal.sync()
    assert not isinstance(raised.value, Harmed)
    assert journal.harm() == journal.harm(ended=True) == ""
    journal.close()


def test_a_forked_process_writes_a_journal_of_its_own_and_not_its_parents(tmp_path):
    code = (
        "import os, pathlib; from optarena.store.journal import Journal\n"
        f"place = pathlib.Path({str(tmp_path)!r}); parents = Journal(place, {{}})\n"
        "if os.fork() == 0:\n"
        "    Journal(place, {}).close()\n"
        "    parents.close()\n"
        "    os._exit(0)\n"
        "code = os.waitstatus_to_exitcode(os.wait()[1])\nparents.close()\nprint(code)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert out.stdout.split() == ["70"]
    assert [path.read_bytes().count(b"\n") for path in tmp_path.glob("*.jsonl")] == [2, 2]


def test_closing_all_low_descriptors_does_not_reach_a_journal(tmp_path):
    code = (
        "import os, pathlib; from optarena.store.journal import Journal\n"
        f"journal = Journal(pathlib.Path({str(tmp_path)!r}), {{}})\n"
        "os.closerange(3, 256)\njournal.close()\nprint(journal.path.read_text().count(chr(10)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert out.stdout.split() == ["2"]


def test_what_an_orphaned_process_of_a_killed_worker_does_ends_with_it():
    Path("lone.py").write_text(
        "import os, time\nimport optarena as oa\n"
        "@oa.as_problem({'x': {'type': 'real', 'space': 'linear', 'range': [0, 1]}})\n"
        "def lone(x):\n"
        "    if not os.path.exists('done'):\n"
        "        open('done', 'w').close()\n"
        "        if os.fork() == 0:\n"
        "            os.setsid()\n"
        "            if os.fork() == 0:\n"
        "                open(f'orphan-{os.getpid()}', 'w').close()\n"
        "                time.sleep(3600)\n"
        "            os._exit(0)\n"
        "        os.wait()\n"
        "        while not any(name.startswith('orphan-') for name in os.listdir('.')):\n"
        "            time.sleep(0.01)\n"
        "        os.kill(os.getpid(), 9)\n"
        "    return x['x']\n"
    )
    results = oa.Experiment("RandomSearch", "lone.py:lone", 5, seed=ROOT).run("s", workers=1)
    assert results.studies.select("status", "failures").rows() == [("done", 0)]
    orphans = [int(path.name.partition("-")[2]) for path in Path().glob("orphan-*")]
    assert len(orphans) == 1
    wait_for(lambda: not _lives(orphans[0]), 60)


LEAVES = """#!/bin/sh
env -i PATH="$PATH" setsid sh -c 'touch "$1/orphan-$$"; exec sleep 3600' sh "$PWD_OF_TEST" </dev/null >/dev/null 2>&1 &
while ! ls "$PWD_OF_TEST" | grep -q orphan-; do sleep 0.01; done
"""


@pytest.mark.parametrize("kind", ["problem", "solver"])
def test_what_a_program_leaves_in_another_session_ends_with_its_study(kind, tmp_path):
    ends = {"problem": "while read line; do echo 1.5; done\n", "solver": "echo 0.1 50\n"}
    (tmp_path / "leaves").write_text(LEAVES + ends[kind])
    (tmp_path / "leaves").chmod(0o755)
    told = f'command = ["./leaves"]\nenvironment = {{PWD_OF_TEST = "{tmp_path}"}}\n'
    space = '[problem.space.x]\ntype = "real"\nspace = "linear"\nrange = [0, 1]\n' if kind == "problem" else ""
    (tmp_path / "leaves.toml").write_text(f"[{kind}]\n{told}{space}")
    if kind == "problem":
        results = oa.Experiment("RandomSearch", ["leaves.toml"], 4, seed=ROOT).run("s", workers=1)
    else:
        results = oa.Experiment("leaves.toml", "tsp/n7/i1", seconds=20, seed=ROOT).run("s", workers=1)
    assert results.studies.height == 1
    orphans = [int(path.name.partition("-")[2]) for path in tmp_path.glob("orphan-*")]
    assert len(orphans) == 1
    wait_for(lambda: not _lives(orphans[0]), 60)


def test_a_problem_that_signals_its_supervisor_interrupts_the_run_and_loses_nothing():
    Path("rude.py").write_text(
        "import os, signal\nimport optarena as oa\n"
        "@oa.as_problem({'x': {'type': 'real', 'space': 'linear', 'range': [0, 1]}})\n"
        "def rude(x):\n"
        "    if not os.path.exists('done') and rude.evaluation == 4:\n"
        "        open('done', 'w').close()\n"
        "        os.kill(os.getppid(), signal.SIGKILL)\n"
        "    return x['x']\n"
    )
    command = [sys.executable, "-m", "optarena", "run", "-o", "RandomSearch", "-p", "rude.py:rude", "-n", "10"]
    command += ["--workers", "1", "--store", "s"]
    first = subprocess.run(command, capture_output=True, check=False, timeout=240)
    assert first.returncode == -signal.SIGKILL
    assert subprocess.run(command, capture_output=True, check=False, timeout=240).returncode == 0
    assert oa.open("s").studies.select("status", "evaluations", "conflicts").rows() == [("done", 10, 0)]
