"""Workers and their supervisor: the same results whatever dies, and every death recorded as what it was."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import optarena as oa
from journals import lines_of, rewrite
from optarena.cli import main
from optarena.errors import OptarenaError
from optarena.report import how
from waiting import wait_for

pytestmark = pytest.mark.xdist_group("processes")  # one after the other: they measure time and kill

ROOT = uuid.UUID(int=7)
HERE = Path(__file__).parent

MINE = """
import ctypes, os, sys, time
import numpy as np
import optarena as oa

LINE = {"type": "real", "space": "linear", "range": [-1.0, 1.0]}
S = {"x": LINE, "y": LINE}

def value(x):
    return x["x"] ** 2 + x["y"] ** 2

@oa.as_problem(S)
def plain(x):
    return value(x)

@oa.as_problem(S)
def slow(x):
    time.sleep(0.002 if os.path.exists("quick") else 0.3)    # until a test lets it go on
    return value(x)

@oa.as_problem(S)
def sleeps(x):
    if x["x"] > 0.3:
        time.sleep(3600)
    return value(x)

@oa.as_problem(S)
def segfaults(x):
    if x["x"] > 0.3:
        ctypes.string_at(0)
    return value(x)

@oa.as_problem(S)
def exits(x):
    if x["x"] > 0.3:
        os._exit(3)
    return value(x)

@oa.as_problem(S)
def interrupts(x):
    if x["x"] > 0.3:
        raise KeyboardInterrupt("not by the user")
    return value(x)

class InterruptsMatrix(oa.Problem):
    array_native = True
    def __init__(self):
        self.space = oa.Space(S)
    def evaluate_matrix(self, X):
        if (X[:, 0] > 0.3).any():
            raise KeyboardInterrupt("not by the user")
        return (X**2).sum(axis=1)

@oa.as_problem(S)
def eats(x):
    if x["x"] > 0.3:
        keep = []
        while True:
            keep.append(np.ones(10**7))
    return value(x)

@oa.as_problem(S)
def forks(x):
    if x["x"] > 0.3:
        os.fork()                     # the child comes back too
    if x["x"] < -0.7 and os.fork() == 0:
        time.sleep(3600)              # the child stays
    return value(x)

@oa.as_problem(S)
def prints(x):
    block = "x" * 10**6
    for _ in range(20):
        print(block)
        print(block, file=sys.stderr)
    os.write(1, b"not json\\n")
    return value(x)

@oa.as_problem(S)
def reads(x):
    import subprocess
    assert sys.stdin.read() == ""
    subprocess.run(["cat"], check=True)
    os.close(0)
    return value(x)

@oa.as_problem(S, metrics=["clock"])
def hides(x):
    return oa.Evaluation([value(x)], metrics={"clock": time.time()})

class Counter(oa.Problem):
    "Stateful, and cannot be reset."
    stateless = False
    def __init__(self):
        self.space = oa.Space(S)
        self.n = 0
    def evaluate(self, x):
        self.n += 1
        return value(x) + self.n

@oa.as_problem(S, stateless=False)
def sleepy_state(x):
    if x["x"] > 0.3:
        time.sleep(3600)
    return value(x)

@oa.as_problem(S, noisy=True)
def noisy(x, rng):
    return value(x) + 0.1 * rng.normal()

@oa.as_problem(S, stateless=False)
def clocked(x):
    return time.time_ns() % 1000003

class Population(oa.Optimizer):
    \"\"\"Half of the points near the best so far: what it suggests depends on all that it observed.\"\"\"
    def __init__(self, space, *, objectives=1, rng=None):
        super().__init__(space, objectives=objectives, rng=rng)
        self.seen = []
    def suggest(self, n):
        u = self.rng.random((n, self.space.dimension))
        if self.seen:
            best = min(self.seen, key=lambda pair: pair[0])[1]
            u[::2] = np.clip(best + 0.1 * (u[::2] - 0.5), 0, 1)
        return self.space.to_dicts(self.space.from_unit(u))
    def observe(self, X, y):
        for x, v in zip(self.space.to_unit(self.space.to_matrix(X)), y[:, 0]):
            if v == v:
                self.seen.append((v, x))

class Heavy(Population):
    capabilities = oa.Capabilities(own_process=True)
    calls = 0
    def suggest(self, n):
        type(self).calls += 1          # would show in a second study of the same process
        if type(self).calls > 10:
            raise RuntimeError("not alone")
        return super().suggest(n)

class InterruptsInObserve(Population):
    def observe(self, X, y):
        raise KeyboardInterrupt

class DiesInSuggest(Population):
    def suggest(self, n):
        if len(self.seen) >= 6:
            ctypes.string_at(0)
        return super().suggest(n)

class Unrepeatable(oa.Optimizer):
    def suggest(self, n):
        return self.space.to_dicts(self.space.sample(n, np.random.default_rng()))
"""


@pytest.fixture(autouse=True)
def mine(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)


def run(problems, optimizers=("mine.py:Population",), budget=30, store="s", workers=2, **fields):
    options = {key: fields.pop(key) for key in ("retry", "new") if key in fields}
    fields.setdefault("seed", ROOT)
    names = [
        f"mine.py:{name}" if "/" not in name else name
        for name in ([problems] if isinstance(problems, str) else problems)
    ]
    return oa.Experiment(list(optimizers), names, budget, **fields).run(store, workers=workers, **options)


def traces(results):
    """Every scored row of every study: point, values, status."""
    return {
        study: [
            (row["evaluation"], row["parameters"], str(row["values"]), row["status"]) for row in results.points(study)
        ]
        for study in sorted(results.studies["study"])
    }


def test_in_this_process_with_one_worker_and_with_two_it_is_the_same():
    problems = ["plain", "noisy", "functions/mixed-tuning/d9", "bbob/f3/d5/i1"]
    made = [
        run(problems, ["mine.py:Population", "RandomSearch"], store=f"s{n}", workers=n, batch=4, trials=3)
        for n in (0, 1, 2)
    ]
    assert set(made[0].studies["status"]) == {"done"}
    assert traces(made[0]) == traces(made[1]) == traces(made[2])


def test_hard_limits_on_an_evaluation():
    results = run(["sleeps", "plain"], budget=12, batch=4, limits={"evaluation": 3})
    rows = results.failures()
    assert set(rows["status"]) == {"timed out"}
    assert set(rows["message"]) == {"more than 3 s"}
    assert results.studies["status"].to_list() == ["done", "done"]
    assert results.studies["evaluations"].to_list() == [12, 12]
    for row in results.points(rows["study"][0]):
        assert (row["status"] == "timed out") == (row["parameters"]["x"] > 0.3)


SLOW_TO_LOAD = """
import os, time
if os.environ.get("PYTHONHASHSEED") == "0":  # in a worker
    time.sleep(2)
import optarena as oa
from mine import Population, S, value

class Slow(Population):
    pass

class SlowToCreate(Population):
    def __init__(self, space, **more):
        super().__init__(space, **more)
        time.sleep(30)

class Signed(oa.Problem):
    id = "signed"
    def __init__(self):
        time.sleep(1)
        self.space = oa.Space(S)
    def evaluate(self, x):
        return value(x)
"""


def test_a_studys_limit_starts_when_its_optimizer_is_created(tmp_path):
    (tmp_path / "late.py").write_text(SLOW_TO_LOAD)
    names = ["late.py:Slow", "late.py:SlowToCreate"]
    experiment = oa.Experiment(names, "late.py:Signed", 20, limits={"study": 1.2}, seed=ROOT)
    status = {row["optimizer"]: row["status"] for row in experiment.run("s", workers=1).studies.iter_rows(named=True)}
    assert status == {"Slow": "done", "SlowToCreate": "timed out"}


def test_a_hard_limit_on_a_study_keeps_what_it_did():
    results = run(["slow", "plain"], budget=100, limits={"study": 5}, workers=2)
    slow, plain = results.studies.sort("problem", descending=True).iter_rows(named=True)
    assert (slow["status"], slow["reason"]) == ("timed out", "more than 5 s")
    assert 0 < slow["evaluations"] < 100
    assert plain["status"] == "done"
    Path("quick").touch()
    again = run("slow", budget=100)
    assert (
        again.studies.filter(pl.col("problem") == "mine.py:slow")["evaluations"][0] == slow["evaluations"]
    )  # finished
    more = run("slow", budget=slow["evaluations"] + 50, retry=True)
    assert more.studies.filter(pl.col("problem") == "mine.py:slow")["status"][0] == "done"
    assert more.studies["conflicts"].sum() == 0


@pytest.mark.parametrize(("problem", "said"), [("segfaults", "SIGSEGV"), ("exits", "exit code 3")])
@pytest.mark.slow
def test_a_fault_is_retried_once_and_then_a_crash_of_that_evaluation(problem, said):
    results = run([problem, "plain"], budget=20, batch=4)
    rows = results.failures()
    assert set(rows["status"]) == {"crashed"}
    assert all(said in message for message in rows["message"])
    assert results.studies["status"].to_list() == ["done", "done"]
    study = rows["study"][0]
    for row in results.points(study):
        assert (row["status"] == "crashed") == (row["parameters"]["x"] > 0.3)


@pytest.mark.parametrize("problem", ["interrupts", "InterruptsMatrix"])
def test_a_keyboard_interrupt_that_a_problem_raises_is_that_evaluations_failure(problem):
    results = run([problem, "plain"], budget=20, batch=4, workers=1)
    assert results.studies.select("status", "evaluations", "attempt").unique().rows() == [("done", 20, 0)]
    rows = results.failures()
    assert set(rows["status"]) == {"error"}
    assert {text.partition(" (")[0] for text in rows["message"]} == {"KeyboardInterrupt: not by the user"}
    for row in results.points(rows["study"][0]):
        assert (row["status"] == "error") == (row["parameters"]["x"] > 0.3)


def test_a_keyboard_interrupt_that_an_optimizer_raises_is_its_studys_failure():
    results = run("plain", ["mine.py:InterruptsInObserve", "mine.py:Population"], budget=5, workers=1)
    assert sorted(results.studies.select("status", "reason").rows()) == [
        ("done", ""),
        ("failed", "observe: KeyboardInterrupt"),
    ]


def test_an_interrupt_of_a_worker_ends_it_and_another_one_goes_on():
    process = start(*FLAGS)
    wait_for(begun)
    child = wait_for(lambda: workers_of(process.pid))[0]
    os.kill(child, signal.SIGINT)
    wait_for(lambda: not Path(f"/proc/{child}").exists())
    Path("quick").touch()
    assert process.wait(timeout=240) == 0
    assert not len(oa.open("s").failures())
    assert traces(oa.open("s")) == traces(run("slow", budget=80, trials=4, store="whole"))


def test_memory_is_limited():
    results = run(["eats", "plain"], budget=20, batch=4, limits={"memory": 900})
    rows = results.failures()
    assert rows.height > 0
    assert all(status in ("error", "crashed") for status in rows["status"])
    assert all("emory" in message for message in rows["message"])
    assert results.studies["status"].to_list() == ["done", "done"]


def test_a_problem_that_forks_is_recorded_once_and_leaves_nothing():
    results = run("forks", budget=30, batch=4, workers=1)
    assert results.studies.select("status", "evaluations", "conflicts").rows() == [("done", 30, 0)]

    def nothing_left():
        left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
        return not any("optarena.runner.worker" in line and str(Path.cwd()) in line for line in left.splitlines())

    wait_for(nothing_left)


def test_what_a_problem_prints_goes_nowhere(capfd):
    results = run("prints", budget=10, workers=1)
    assert results.studies["status"].to_list() == ["done"]
    out, err = capfd.readouterr()
    assert "xxx" not in out + err


def test_a_process_of_its_own_for_each_study():
    results = run("plain", ["mine.py:Heavy", "mine.py:Population"], budget=8, trials=3, workers=2)
    assert results.studies["status"].to_list() == ["done"] * 6
    shared = oa.Experiment(["mine.py:Heavy"], ["mine.py:plain"], 8, trials=3, seed=ROOT).run("here", workers=0)
    assert "failed" in shared.studies["status"].to_list()  # in one process it really does show


def test_an_optimizer_that_kills_its_process_fails_its_study_only():
    results = run("plain", ["mine.py:DiesInSuggest", "mine.py:Population"], budget=20)
    bad, good = results.studies.iter_rows(named=True)
    assert (bad["status"], bad["evaluations"]) == ("failed", 6)
    assert bad["reason"].startswith("its process died in suggest: SIGSEGV")
    assert good["status"] == "done"


# ---- going on -------------------------------------------------------------------------------------------------------


def test_a_larger_budget_and_more_trials_extend_by_replay():
    run("plain", budget=10, batch=4)
    longer = run("plain", budget=30, batch=4, trials=2)
    whole = run("plain", budget=30, batch=4, trials=2, store="whole")
    assert longer.studies["conflicts"].sum() == 0
    # the batch that was a remainder is asked for again as a whole one, so the old rows may be left behind
    assert traces(longer) == traces(whole)
    exact = run("plain", budget=12, batch=4, store="t")
    run("plain", budget=24, batch=4, store="t")
    assert oa.open("t").studies["attempt"].to_list() == [0]
    assert (
        traces(oa.open("t"))[exact.studies["study"][0]]
        == traces(run("plain", budget=24, batch=4, store="u"))[exact.studies["study"][0]]
    )


def cut(store, rows):
    """A store as it is when its processes die after so many evaluation lines."""
    for path in (Path(store) / "journal").glob("*.jsonl"):
        lines = path.read_bytes().splitlines(keepends=True)
        kept, seen = [], 0
        for line in lines:
            seen += line.startswith(b'{"t":"e"')
            if seen > rows:
                break
            kept.append(line)
        path.write_bytes(b"".join(kept))


@pytest.mark.parametrize("record", ["all", "improvements"])
@pytest.mark.parametrize(
    "problem",
    ["plain", "noisy", "functions/mixed-tuning/d9", "functions/failing/d2", "functions/g06/d2", "bbob/f3/d5/i1"],
)
@pytest.mark.slow
def test_what_was_cut_off_goes_on_to_the_same_end(problem, record):
    optimizers = ["QuasiRandom"] if problem == "functions/g06/d2" else ["mine.py:Population", "QuasiRandom"]
    whole = run(problem, optimizers, batch=3, record=record, store="whole", workers=0)
    for rows in (0, 2, 7):
        run(problem, optimizers, batch=3, record=record, store=f"cut{rows}", workers=0)
        cut(f"cut{rows}", rows)
        again = run(problem, optimizers, batch=3, record=record, store=f"cut{rows}", workers=1)
        assert again.studies.select("status", "attempt", "conflicts").rows() == [("done", 0, 0)] * len(optimizers)
        assert traces(again) == traces(whole)


def test_replay_is_not_charged():
    Path("quick").touch()
    first = run("slow", budget=30, workers=0)
    spent = first.studies["evaluate_seconds"][0]
    longer = run("slow", budget=35, workers=0)
    assert spent < longer.studies["evaluate_seconds"][0] < spent + 0.2


def test_what_does_not_repeat_begins_a_new_attempt_and_twice_it_has_failed():
    run("plain", ["mine.py:Unrepeatable"], budget=10, workers=0)
    second = run("plain", ["mine.py:Unrepeatable"], budget=20, workers=1)
    assert second.studies.select("status", "attempt", "evaluations").rows() == [("done", 1, 20)]
    third = run("plain", ["mine.py:Unrepeatable"], budget=30, workers=1)
    row = third.studies.row(0, named=True)
    assert row["status"] == "failed"
    assert row["reason"].startswith("not repeatable: evaluation 1: suggested ")


@pytest.mark.parametrize("age", ["new", "old"])
def test_a_retry_of_what_does_not_repeat_begins_anew_whether_its_end_has_a_word_or_only_a_reason(age):
    for budget in (10, 20, 30):
        run("plain", ["mine.py:Unrepeatable"], budget=budget, workers=0)
    with_word = [path for path in Path("s/journal").iterdir() if b'"word":"not repeatable"' in path.read_bytes()]
    assert len(with_word) == 1
    if age == "old":
        for path in with_word:
            rewrite(path, [{key: told for key, told in line.items() if key != "word"} for line in lines_of(path)])
    again = run("plain", ["mine.py:Unrepeatable"], budget=30, workers=0, retry=True)
    assert again.studies.select("status", "attempt", "evaluations").rows() == [("done", 2, 30)]


def test_a_stateful_problem_is_evaluated_again_and_must_agree():
    run("clocked", budget=10, workers=0)
    second = run("clocked", budget=20, workers=0)
    assert second.studies.select("status", "attempt", "evaluations").rows() == [("done", 1, 20)]


def test_retry_runs_failed_studies_again(tmp_path):
    (tmp_path / "moody.py").write_text(
        "import os, optarena as oa\n"
        "class Moody(oa.Optimizer):\n    def suggest(self, n):\n"
        "        if not os.path.exists('licence') and getattr(self, 'calls', 0) == 5:\n"
        "            raise OSError('no licence')\n"
        "        self.calls = getattr(self, 'calls', 0) + 1\n"
        "        return self.space.to_dicts(self.space.sample(n, self.rng))\n"
    )
    first = run("plain", ["moody.py:Moody"])
    assert first.studies.select("status", "evaluations").rows() == [("failed", 5)]
    Path("licence").touch()
    assert run("plain", ["moody.py:Moody"]).studies["status"].to_list() == ["failed"]  # finished until asked for
    again = run("plain", ["moody.py:Moody"], retry=True)
    assert again.studies.select("status", "evaluations", "attempt", "conflicts").rows() == [("done", 30, 0, 0)]


def test_a_large_past_does_not_hold_up_the_supervisor():
    """More than a pipe takes, for a worker that is busy with an evaluation that must be killed."""
    run("plain", budget=3000, batch=4, workers=0)
    results = run(["sleeps", "plain"], budget=3004, batch=4, workers=1, limits={"evaluation": 3, "study": 20})
    frame = results.studies.sort("problem")
    assert frame["status"].to_list() == ["done", "timed out"]
    assert frame["evaluations"][0] == 3004


def test_a_problem_finds_no_input_and_may_close_it():
    results = run("reads", budget=3, trials=6, workers=2)
    assert set(results.studies["status"]) <= {"done", "failed"}  # failed: all three read again what another closed
    assert results.studies["evaluations"].to_list() == [3] * 6
    assert results.studies["failures"].sum() > 0


def test_the_limit_on_a_study_goes_on_when_its_worker_is_replaced():
    results = run("sleeps", budget=40, batch=4, workers=1, limits={"evaluation": 2, "study": 5})
    assert results.studies["status"].to_list() == ["timed out"]  # no worker lives for five seconds
    assert results.studies["failures"][0] >= 2


def test_what_was_lost_is_said_and_made_again():
    whole = run("plain", budget=40, batch=4, store="whole", workers=0)
    run("plain", budget=20, batch=4, workers=0)
    (first,) = Path("s/journal").iterdir()
    run("plain", budget=40, batch=4, workers=0)
    first.unlink()
    row = oa.open("s").studies.row(0, named=True)
    assert (row["status"], row["reason"], row["evaluations"]) == ("interrupted", "20 evaluations are lost", 20)
    again = run("plain", budget=40, batch=4, workers=1)
    assert again.studies.select("status", "evaluations", "conflicts").rows() == [("done", 40, 0)]
    assert traces(again) == traces(whole)


@pytest.mark.slow
def test_a_problem_that_cannot_be_reset_gets_a_process_of_its_own():
    made = [run("Counter", budget=5, trials=4, store=f"s{n}", workers=n) for n in (1, 2)]
    assert traces(made[0]) == traces(made[1])
    longer = run("Counter", budget=8, trials=4, store="s1", workers=2)
    assert longer.studies.select("status", "attempt").unique().rows() == [("done", 0)]


def test_replay_compares_what_is_hidden_and_answers_what_was_killed():
    from optarena.runner.again import replay

    results = run("hides", budget=5, workers=1)
    verdict = replay("s", results.studies["study"][0])
    assert not verdict.same
    assert verdict.difference.startswith("evaluation 1: gave metrics")
    late = run("sleepy_state", budget=8, batch=4, store="late", workers=1, limits={"evaluation": 3})
    assert late.studies["failures"][0] > 0
    assert replay("late", late.studies["study"][0]).same


def test_a_late_evaluation_that_was_in_time_before_begins_a_new_attempt():
    """Never two rows for one evaluation: where it is evaluated again and is late only now, the past is left behind."""
    Path("quick").touch()
    Path("moody.py").write_text(
        "import os, time, optarena as oa\n"
        "@oa.as_problem({'x': {'type': 'real', 'space': 'linear', 'range': [0, 1]}}, stateless=False)\n"
        "def moody(x):\n    time.sleep(0 if os.path.exists('quick') or x['x'] < 0.5 else 3600)\n    return x['x']\n"
    )

    def go(budget):
        experiment = oa.Experiment("RandomSearch", "moody.py:moody", budget, limits={"evaluation": 3}, seed=ROOT)
        return experiment.run("m", workers=1)

    go(6)
    Path("quick").unlink()
    row = go(8).studies.row(0, named=True)
    assert (row["status"], row["attempt"], row["evaluations"], row["conflicts"]) == ("done", 1, 8, 0)
    assert row["failures"] > 0


def test_counted_evaluations_are_not_charged_again():
    Path("tick.py").write_text(
        "import time, optarena as oa\n"
        "@oa.as_problem({'x': {'type': 'real', 'space': 'linear', 'range': [0, 1]}})\n"
        "def tick(x):\n    time.sleep(0.02)\n    return x['x']\n"
    )

    def go(seconds):
        experiment = oa.Experiment(
            "mine.py:Population", "tick.py:tick", seconds=seconds, record="improvements", seed=ROOT
        )
        return experiment.run("t", workers=1).studies.row(0, named=True)

    first = go(2.5)
    longer = go(8.0)
    assert longer["evaluations"] >= first["evaluations"] + 10
    assert longer["evaluate_seconds"] < 10.0  # 10.5 if the first part were charged twice


# ---- killing --------------------------------------------------------------------------------------------------------


def start(*arguments):
    code = "from optarena.cli import main; raise SystemExit(main())"
    return subprocess.Popen(
        [sys.executable, "-c", code, "run", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def workers_of(pid):
    out = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False).stdout
    return [int(word) for word in out.split()]


FLAGS = [
    "-o",
    "mine.py:Population",
    "-p",
    "mine.py:slow",
    "-n",
    "80",
    "-r",
    "4",
    "--workers",
    "2",
    "--seed",
    str(ROOT),
    "--store",
    "s",
]


def runs_of_report(store):
    """The report's table of runs: planned, to run, finished, state."""
    return [row[2:6] for row in how.runs(oa.open(store)).rows]


def test_the_report_tells_a_killed_run_from_those_that_ended():
    process = start(*FLAGS)
    wait_for(begun)
    assert runs_of_report("s")[0][3] == "running"
    process.kill()
    process.wait()
    wait_for(lambda: runs_of_report("s")[0][3] != "running")
    frame = oa.open("s").studies
    done = int((frame["status"] == "done").sum())
    assert done < 4
    run("slow", budget=80, trials=4)
    assert runs_of_report("s") == [[4, 4, done, "killed: no end was recorded"], [4, 4 - done, 4 - done, "ended"]]


def begun(rows=5):
    return Path("s").exists() and (oa.open("s").studies["evaluations"].sum() or 0) >= rows


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.slow
def test_a_clean_end_takes_the_children_along(number):
    process = start(*FLAGS)
    wait_for(begun)
    children = workers_of(process.pid)
    assert children
    process.send_signal(number)
    _, err = process.communicate(timeout=240)
    assert process.returncode == 130
    assert "Continue: optarena run -o mine.py:Population" in err
    for child in children:
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)
    frame = oa.open("s").studies
    assert set(frame["status"]) <= {"interrupted", "missing", "done"}
    Path("quick").touch()
    done = int((frame["status"] == "done").sum())
    assert runs_of_report("s") == [[4, 4, done, "interrupted"]]
    whole = run("slow", budget=80, trials=4, store="whole")
    assert traces(run("slow", budget=80, trials=4)) == traces(whole)


def test_when_the_supervisor_is_killed_its_workers_die_and_the_same_command_goes_on():
    process = start(*FLAGS)
    wait_for(begun)
    children = workers_of(process.pid)
    process.kill()
    process.communicate(timeout=240)
    wait_for(lambda: not any(Path(f"/proc/{child}").exists() for child in children))
    acknowledged = traces(oa.open("s"))
    frame = oa.open("s").studies
    assert "interrupted" in set(frame["status"])
    Path("quick").touch()
    again = run("slow", budget=80, trials=4)
    assert again.studies.select("status", "attempt", "conflicts").unique().rows() == [("done", 0, 0)]
    finished = traces(again)
    for study, rows in acknowledged.items():
        assert finished[study][: len(rows)] == rows
    assert finished == traces(run("slow", budget=80, trials=4, store="whole"))


def test_killed_and_stopped_workers_are_replaced():
    process = start(*FLAGS)
    wait_for(begun)
    for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGSEGV, signal.SIGKILL):
        children = wait_for(lambda: workers_of(process.pid))
        with contextlib.suppress(ProcessLookupError):  # it may have ended since
            os.kill(children[0], number)
        time.sleep(0.5)
    Path("quick").touch()
    process.communicate(timeout=240)
    assert process.returncode == 0
    results = oa.open("s")
    assert results.studies.select("status", "conflicts", "failures").unique().rows() == [("done", 0, 0)]
    assert traces(results) == traces(run("slow", budget=80, trials=4, store="whole"))


def test_workers_that_are_killed_or_stopped_at_their_start_are_replaced():
    process = start(*FLAGS)
    for number in (signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGSTOP):
        seen = set(workers_of(process.pid))
        child = wait_for(
            lambda seen=seen: next(iter(set(workers_of(process.pid)) - seen), None) or next(iter(seen), None)
        )
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)
        time.sleep(0.15)
    Path("quick").touch()
    process.communicate(timeout=240)
    assert process.returncode == 0
    assert set(oa.open("s").studies["status"]) == {"done"}


def test_an_overlapping_run_is_refused_and_a_disjoint_one_is_welcome():
    process = start(*FLAGS)
    wait_for(begun)
    with pytest.raises(OptarenaError, match=rf"being run by process {process.pid} on .*, with [1-4] of these studies"):
        run("slow", budget=80, trials=4)
    other = run("plain", budget=5)
    Path("quick").touch()
    assert other.studies.filter(pl.col("problem") == "mine.py:plain")["status"].to_list() == ["done"]
    assert process.wait(timeout=240) == 0
    assert set(run("slow", budget=80, trials=4).studies["status"]) == {"done"}


def test_a_closure_runs_here_and_cannot_go_to_a_worker():
    local = oa.as_problem({"x": {"type": "bool"}}, id="closure")(lambda x: float(x["x"]))
    experiment = oa.Experiment("RandomSearch", local, 5)
    assert experiment.run("c").studies["status"].to_list() == ["done"]
    with pytest.raises(OptarenaError, match="is an object of this process"):
        experiment.run("c", workers=2)
    with pytest.raises(OptarenaError, match="workers: expected"):
        experiment.run("c", workers=-1)


def test_a_store_that_cannot_be_written_in_a_worker_is_one_sentence(monkeypatch):
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, limits[1]))
    try:
        from optarena.errors import WorkError

        with pytest.raises(WorkError, match="File too large"):
            run("functions/sphere/d5", ["RandomSearch"], budget=3000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert run("functions/sphere/d5", ["RandomSearch"], budget=3000).studies["status"].to_list() == ["done"]


def test_facts_of_workers_are_kept():
    results = run("plain")
    environment = results.columns.headers[-1].environment
    assert environment["variables"]["OPENBLAS_NUM_THREADS"] == "1"
    assert environment["variables"]["PYTHONHASHSEED"] == "0"
    assert np.isfinite(results.studies["cpu_seconds"].to_numpy()).all()


def test_a_larger_budget_goes_on_with_a_study_that_failed_in_full_as_if_it_had_been_given_at_once(capsys):
    Path("unlucky.py").write_text(
        "import optarena as oa\n"
        "@oa.as_problem({'x': {'type': 'real', 'space': 'linear', 'range': [0, 1]}})\n"
        "def unlucky(x):\n    if x['x'] > 0.3:\n        raise ValueError(f'{x} is too much')\n    return x['x']\n"
    )

    def go(budget, store, **options):
        return oa.Experiment("RandomSearch", "unlucky.py:unlucky", budget, trials=8, seed=ROOT).run(store, **options)

    first = go(2, "s", workers=1)
    assert {"failed", "done"} == set(first.studies["status"])
    assert main(["run", "-o", "RandomSearch", "-p", "unlucky.py:unlucky", "-n", "2", "-r", "8", "--store", "s"]) == 0
    assert "not run again: " in capsys.readouterr().out
    longer, whole = go(20, "s", workers=2), go(20, "whole", workers=1)
    assert traces(longer) == traces(whole)
    assert longer.studies.select("status", "attempt", "conflicts").unique().rows() == [("done", 0, 0)]


def test_reasons_of_failures_are_counted_by_kind_and_add_up(capsys):
    Path("says.py").write_text(
        "import optarena as oa\n"
        "@oa.as_problem({'x': {'type': 'real', 'space': 'linear', 'range': [0, 1]}})\n"
        "def says(x):\n"
        "    if x['x'] < 0.5:\n        raise ValueError(f\"{x['x']} is too small\")\n"
        "    if x['x'] < 0.8:\n        raise KeyError('one of ' + chr(97 + int(x['x'] * 1000) % 26) * 3)\n"
        "    return x['x']\n"
    )
    assert main(["run", "-o", "RandomSearch", "-p", "says.py:says", "-n", "60", "-r", "2", "--workers", "2"]) == 0
    out = capsys.readouterr().out
    rows = oa.open("results").failures()
    small = rows["message"].str.contains("too small").sum()
    assert f"{rows.height} of 120 evaluations failed, in 2 studies:\n" in out
    assert f"{small} × such as ValueError: 0." in out
    counts = [int(line.split(" × ")[0]) for line in out.splitlines() if " × " in line and line.startswith("  ")]
    assert sum(counts) == rows.height
