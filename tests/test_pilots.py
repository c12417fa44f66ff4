"""Several pilots do one run: the same rows as a local run, whoever dies, is paused or comes late."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import optarena as oa
from optarena.cli import main
from optarena.errors import OptarenaError, WorkError
from optarena.runner import chunks
from optarena.runner import pilot as pilots_module
from optarena.runner.ending import stop
from optarena.runner.local import Silent
from optarena.runner.pilot import Requeued, announce, pilot
from optarena.store import Store
from optarena.store.runs import pilots as pilots_of
from pilot_runs import ROOT, exported, local, rows
from waiting import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("processes")]  # one after the other: they start many processes

FILE = """
import time
import optarena as oa

LINE = {"type": "real", "space": "linear", "range": [-5.0, 5.0]}

@oa.as_problem({"x0": LINE, "x1": LINE})
def slow(x):
    time.sleep(0.01)
    return x["x0"] ** 2 + x["x1"] ** 2

@oa.as_problem({"x0": LINE, "x1": LINE}, noisy=True)
def noisy(x, rng):
    if x["x0"] > 4:
        raise ValueError("too far")
    return x["x0"] ** 2 + rng.normal()
"""


@pytest.fixture
def experiment() -> oa.Experiment:
    Path("mine.py").write_text(FILE)
    problems = ["mine.py:slow", "mine.py:noisy", "functions/sphere/d3"]
    return oa.Experiment(["RandomSearch", "QuasiRandom"], problems, 20, trials=4, seed=ROOT, base=Path.cwd())


def started(run: str, number: int, store: str = "shared") -> subprocess.Popen:
    command = [sys.executable, "-m", "optarena", "pilot", store, run, "--number", str(number), "--workers", "1"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_three_pilots_give_what_a_local_run_gives_and_leave_no_leases(experiment):
    run = announce(experiment, "shared", pilots=3).run
    crew = [started(run.id, i) for i in (1, 2, 3)]
    said = [one.communicate()[0] for one in crew]
    assert [one.returncode for one in crew] == [0, 0, 0], said
    assert sum(int(text.partition(": ")[2].split()[0]) for text in said) == 24
    assert exported("shared").equals(local(experiment))
    assert not list(Path("shared/pilots").iterdir())
    store = Store("shared")
    assert store.run(run.id).how == "done"
    assert pilots_of(store, store.run(run.id), store.runs()) == {"ended": 3}
    assert main(["verify", "shared"]) == 0
    assert pilot("shared", run.id).how == "over"
    assert announce(experiment, "shared", pilots=3).run is None


def test_pilots_that_are_killed_paused_and_replaced_at_random_lose_nothing(experiment):
    source = random.Random(7)
    run = announce(experiment, "shared", pilots=3, expiry=1.5).run
    crew = {i: started(run.id, i) for i in (1, 2, 3)}
    kills = 0
    for wanted in (40, 120, 200, 280, 360):
        wait_for(lambda wanted=wanted: rows() >= wanted or Store("shared").run(run.id).ended)
        number = source.choice(list(crew))
        if crew[number].poll() is None:
            how = source.choice([signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM])
            crew[number].send_signal(how)
            kills += 1
            if how == signal.SIGSTOP:
                crew[len(crew) + 1] = crew[number]
            crew[number] = started(run.id, number)
    assert kills
    wait_for(lambda: Store("shared").run(run.id).ended)
    for one in crew.values():
        if one.poll() is None:
            one.send_signal(signal.SIGCONT)
        one.communicate()
    assert exported("shared").equals(local(experiment))
    assert main(["verify", "shared"]) == 0


def test_a_pilot_that_was_cut_off_comes_back_and_its_equal_rows_collapse(experiment):
    expected = local(experiment)
    run = announce(experiment, "shared", pilots=2, expiry=1.0).run
    first = started(run.id, 1)
    wait_for(lambda: rows() > 5)
    first.send_signal(signal.SIGSTOP)
    second = started(run.id, 2)
    assert "the run is done" in second.communicate()[0]
    assert exported("shared").equals(expected)
    first.send_signal(signal.SIGCONT)
    assert first.communicate()[0].endswith("the run is done\n")
    assert exported("shared").equals(expected)
    assert oa.open("shared").studies["conflicts"].sum() == 0


def test_a_run_that_lost_all_pilots_is_continued_by_run_and_by_its_own_pilots(experiment, capsys):
    run = announce(experiment, "shared", pilots=2).run
    one = started(run.id, 1)
    wait_for(lambda: rows() > 5)
    with pytest.raises(OptarenaError, match="is being run by pilots"):
        announce(experiment, "shared", pilots=2)
    one.kill()
    one.communicate()
    capsys.readouterr()
    assert main(["status", "shared"]) == 0
    assert "lost its pilots (pilots: 1 queued, 1 lost)" in capsys.readouterr().out
    again = announce(experiment, "shared", pilots=1).run
    assert Store("shared").run(run.id).how == "interrupted"
    assert pilot("shared", run.id).how == "over"
    assert "the run is done" in started(again.id, 1).communicate()[0]
    assert exported("shared").equals(local(experiment))


def test_a_local_run_ends_an_announced_one_whose_pilots_then_add_nothing(experiment, capsys):
    run = announce(experiment, "shared", pilots=2).run
    experiment.run("shared", workers=2)
    before = rows()
    assert Store("shared").run(run.id).how == "interrupted"
    assert main(["pilot", "shared", run.id]) == 0
    assert "0 studies" in capsys.readouterr().out
    assert pilot("shared", run.id).how == "over"
    assert rows() == before
    assert exported("shared").equals(local(experiment))


def test_a_pilot_of_a_run_that_was_cancelled_stops_though_a_new_one_was_announced(experiment):
    experiment = oa.Experiment("RandomSearch", "mine.py:slow", 1500, trials=4, seed=ROOT, base=Path.cwd())
    run = announce(experiment, "shared", pilots=2, expiry=6.0).run
    one = started(run.id, 1)
    wait_for(lambda: rows() > 5)
    stop("shared")
    announce(experiment, "shared", pilots=2)
    assert not Path("shared/pilots", run.id).exists()  # with the file that said it
    assert "other pilots continue" in one.communicate()[0]
    assert set(oa.open("shared").studies["status"]) <= {"interrupted", "missing"}  # none is done


def test_a_refused_pilot_is_told_with_its_reason_and_does_not_count_as_queued(experiment, capsys):
    run = announce(experiment, "shared", pilots=1).run
    path = Path("shared/pilots") / run.id / "plan.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"digest": "0"}))
    with pytest.raises(OptarenaError, match="plans other studies"):
        pilot("shared", run.id)
    assert main(["status", "shared"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "(pilots: 1 failed); a pilot failed: this machine plans other studies" in told


def test_a_pilot_reads_no_run_file_which_may_be_large(experiment, monkeypatch):
    run = announce(experiment, "shared", pilots=1).run
    read = []
    monkeypatch.setattr(
        Store, "runs", lambda self, *args, runs=Store.runs, **kw: (read.append(1), runs(self, *args, **kw))[1]
    )

    class AtOnce(Silent):
        def ended(self, study, outcome):
            assert not read
            raise Requeued

    assert pilot("shared", run.id, workers=1, progress=AtOnce()).how == "stopped"


def test_a_journal_that_the_disk_did_not_store_is_an_error_and_its_chunk_is_not_done(experiment, monkeypatch):
    run = announce(experiment, "shared", pilots=1).run

    def fails(_path):
        raise WorkError("the disk did not store what was written")

    with monkeypatch.context() as broken:
        broken.setattr(pilots_module, "_sync", fails)
        with pytest.raises(WorkError, match="the disk did not store"):
            pilot("shared", run.id, workers=1)
    assert not list(Path("shared/pilots", run.id, "leases").glob("*.done"))
    assert pilot("shared", run.id, workers=1).how == "done"
    assert exported("shared").equals(local(experiment))


def test_what_one_lost_pilot_had_begun_is_not_run_alone(experiment, monkeypatch):
    run = announce(experiment, "shared", pilots=2).run
    one = started(run.id, 1)
    wait_for(lambda: rows() > 5)
    one.kill()
    one.communicate()
    alone = []
    monkeypatch.setattr(chunks.Shared, "alone", lambda _self, study, _evaluations: alone.append(study))
    assert pilot("shared", run.id, number=2, workers=2).how == "done"
    assert not alone
    assert exported("shared").equals(local(experiment))


DEADLY = """
import os
import signal
import optarena as oa

LINE = {"type": "real", "space": "linear", "range": [-5.0, 5.0]}

@oa.as_problem({"x0": LINE, "x1": LINE})
def deadly(x):
    os.kill(os.getppid(), signal.SIGKILL)
    signal.pause()
"""


def test_a_study_that_takes_its_pilot_with_it_is_given_up_after_four_and_the_others_are_done():
    Path("deadly.py").write_text(DEADLY)
    problems = ["deadly.py:deadly", "functions/sphere/d3"]
    experiment = oa.Experiment("QuasiRandom", problems, 5, trials=2, seed=ROOT, base=Path.cwd())
    run = announce(experiment, "shared", pilots=1).run
    codes = []
    while Store("shared").run(run.id).ended is None and len(codes) < 12:
        one = started(run.id, 1)
        one.communicate()
        codes.append(one.returncode)
    # each of the two deadly studies takes two pilots, and two more when it is run alone
    assert codes == [-signal.SIGKILL] * 8 + [0]
    studies = oa.open("shared").studies
    failed = studies.filter(pl.col("status") == "failed")
    assert set(failed["problem"]) == {"deadly.py:deadly"}
    assert len(failed) == 2
    assert all(reason.startswith("4 pilots were lost while they ran it") for reason in failed["reason"])
    assert set(studies.filter(pl.col("problem") == "functions/sphere/d3")["status"]) == {"done"}


def test_a_pilot_with_nothing_to_do_ends_when_others_have_the_rest_for_long(experiment, monkeypatch):
    run = announce(experiment, "shared", pilots=2, expiry=1000.0).run
    first = started(run.id, 1)
    wait_for(lambda: rows() > 5)
    first.send_signal(signal.SIGSTOP)
    monkeypatch.setattr(chunks, "IDLE_SECONDS", 0.5)
    assert pilot("shared", run.id, number=2, workers=1).how == "idle"
    assert Store("shared").run(run.id).ended is None
    first.send_signal(signal.SIGCONT)
    assert "the run is done" in first.communicate()[0]
    assert exported("shared").equals(local(experiment))


def test_a_pilot_that_stops_to_be_started_again_counts_as_queued_until_it_is(experiment, capsys):
    class Late(Silent):
        def ended(self, study, outcome):
            raise Requeued

    run = announce(experiment, "shared", pilots=1).run
    assert pilot("shared", run.id, workers=1, progress=Late()).how == "stopped"
    capsys.readouterr()
    assert main(["status", "shared"]) == 0
    assert "waits for its pilots (pilots: 1 queued)" in capsys.readouterr().out
    assert pilot("shared", run.id, workers=2).how == "done"
    assert pilots_of(Store("shared"), Store("shared").run(run.id), Store("shared").runs()) == {"ended": 1}
    assert exported("shared").equals(local(experiment))


def test_a_larger_budget_is_run_by_pilots_from_where_studies_were(experiment):
    oa.Experiment(["RandomSearch", "QuasiRandom"], experiment.problems, 10, trials=4, seed=ROOT, base=Path.cwd()).run(
        "shared", workers=2
    )
    before = rows()
    run = announce(experiment, "shared", pilots=2).run
    for one in [started(run.id, i) for i in (1, 2)]:
        assert "the run is done" in one.communicate()[0]
    assert rows() == 2 * before
    assert exported("shared").equals(local(experiment))


def test_status_says_that_no_pilot_of_a_cancelled_run_began(experiment, capsys):
    announce(experiment, "shared", pilots=2)
    assert main(["cancel", "shared"]) == 0
    assert main(["status", "shared"]) == 0
    assert "was interrupted (pilots: none began)" in capsys.readouterr().out


def test_cancel_stops_pilots_in_order_and_run_adds_what_is_missing(experiment, capsys):
    # work for many seconds, so that it is not done before the pilot is told
    experiment = oa.Experiment("RandomSearch", "mine.py:slow", 150, trials=4, seed=ROOT, base=Path.cwd())
    run = announce(experiment, "shared", pilots=2).run
    assert main(["status", "shared", "--format", "json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["runs"]
    assert (told["how"], told["pilots"]) == ("queued", {"queued": 2})
    one = started(run.id, 1)
    wait_for(lambda: rows() > 5)
    assert main(["cancel", "shared"]) == 0
    assert "other pilots continue" in one.communicate()[0]
    assert one.returncode == 0
    assert stop("shared") == []
    assert pilot("shared", run.id).how == "over"
    experiment.run("shared", workers=2)
    assert exported("shared").equals(local(experiment))


def test_a_machine_that_would_run_other_studies_is_refused_before_it_claims_anything(experiment):
    run = announce(experiment, "shared", pilots=1).run
    path = Path("shared/pilots") / run.id / "plan.json"
    plan = json.loads(path.read_text())
    for change, text in (
        ({"facts": {**plan["facts"], "numpy": "1.0"}}, "the run was announced with 1.0: pilots need the same"),
        ({"digest": "0"}, "plans other studies"),
        ({"kernels": "avx1024"}, "has no numeric kernels avx1024"),
    ):
        path.write_text(json.dumps(plan | change))
        with pytest.raises(OptarenaError, match=text):
            pilot("shared", run.id)
    path.write_text("{")
    with pytest.raises(OptarenaError, match="not a plan for pilots"):
        pilot("shared", run.id)
    path.unlink()
    with pytest.raises(OptarenaError, match="makes a new plan"):
        pilot("shared", run.id)
    assert not list(Path("shared/pilots", run.id, "alive").iterdir())
    assert rows() == 0


def test_an_optimizer_whose_file_changed_since_is_refused(experiment):
    own = "from optarena.optimizers.random_search import RandomSearch\nclass Own(RandomSearch):\n    pass\n"
    Path("own.py").write_text(own)
    changed = oa.Experiment(["own.py:Own"], "functions/sphere/d3", 10, base=Path.cwd())
    run = announce(changed, "shared", pilots=1).run
    Path("own.py").write_text(own + "    more = 1\n")
    with pytest.raises(OptarenaError, match="its source has changed since the run was announced"):
        pilot("shared", run.id)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["pilot", "nowhere", "0" * 12], "does not exist"),
        (["pilot", "shared", "../../x"], "has no run ../../x for pilots"),
        (["pilot", "shared", "0" * 12, "--number", "0"], "whole numbers of at least 1"),
    ],
)
def test_a_pilot_that_cannot_begin_says_why_in_a_sentence(arguments, text, capsys):
    Store("shared").create()
    assert main(arguments) == 2
    assert text in capsys.readouterr().err


def test_what_only_this_process_has_and_races_are_refused():
    problem = oa.as_problem({"x": {"type": "real", "space": "linear", "range": [0.0, 1.0]}})(lambda x: x["x"])
    with pytest.raises(OptarenaError, match="is an object of this process"):
        announce(oa.Experiment("RandomSearch", problem, 5), "shared", pilots=1)
    race = oa.Experiment(["RandomSearch", "QuasiRandom"], "functions/sphere/d2", 5, until_decided=True)
    with pytest.raises(OptarenaError, match="runs on one machine"):
        announce(race, "shared", pilots=1)
    assert not Path("shared").exists()


def run_lines(path: str) -> None:
    """All lines at once, each by a shell, as schedulers do."""
    lines = Path(path).read_text().splitlines()
    crew = [subprocess.Popen(line, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for line in lines]
    assert [(one.communicate()[0], one.returncode)[1] for one in crew] == [0] * len(lines)


JOBS = ["-o", "RandomSearch", "-o", "QuasiRandom", "-p", "functions/sphere/d{2,3}", "-p", "mine.py:slow"]
JOBS += ["-n", "20", "-r", "4", "--target", "0", "--seed", ROOT]


@pytest.fixture
def wanted() -> pl.DataFrame:
    Path("mine.py").write_text(FILE)
    assert main(["run", *JOBS, "--store", "local", "--workers", "2"]) == 0
    return exported("local")


def test_a_jobs_file_for_a_shared_directory_gives_what_run_gives_and_may_be_repeated(wanted, capsys):
    command = ["jobs", *JOBS, "-k", "3", "-O", "jobs.txt", "--store", "shared", "--workers", "1"]
    assert main(command) == 0
    run_lines("jobs.txt")
    assert exported("shared").equals(wanted)
    before = rows()
    run_lines("jobs.txt")
    assert rows() == before
    capsys.readouterr()
    assert main(command) == 0
    assert "nothing is left to do in shared" in capsys.readouterr().out


def test_there_are_at_most_as_many_pilots_as_studies(capsys):
    command = ["jobs", "-o", "RandomSearch", "-p", "functions/sphere/d2", "-n", "5", "-r", "3", "-k", "50"]
    assert main([*command, "-O", "jobs.txt", "--store", "shared"]) == 0
    assert "jobs.txt has 3 jobs" in capsys.readouterr().out
    assert len(Path("jobs.txt").read_text().splitlines()) == 3
    (run,) = Store("shared").runs()
    assert run.pilots == 3


def test_a_jobs_file_without_a_shared_directory_gives_stores_to_merge(wanted, capsys):
    assert main(["jobs", *JOBS, "-k", "3", "-O", "jobs.txt", "--store", "all", "--apart", "--workers", "1"]) == 0
    assert not Path("all").exists()
    run_lines("jobs.txt")
    stores = ["all-1", "all-2", "all-3"]
    done = [int((oa.open(store).studies["status"] == "done").sum()) for store in stores]
    assert done == [8, 8, 8]
    assert main(["merge", *stores, "-O", "all"]) == 0
    assert exported("all").equals(wanted)
    run_lines("jobs.txt")
    assert main(["merge", *stores, "-O", "all"]) == 0
    assert exported("all").equals(wanted)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["jobs", *JOBS, "-k", "0", "-O", "jobs.txt"], "-k: expected a whole number from 1"),
        (["jobs", *JOBS[:-8], "--until-decided", "-n", "5", "--apart", "-k", "2", "-O", "jobs.txt"], "on one machine"),
        (["run", *JOBS, "--share", "4/3"], "--share: expected I/K"),
    ],
)
def test_jobs_that_cannot_be_made_are_refused_and_nothing_is_written(arguments, text, capsys):
    Path("mine.py").write_text(FILE)
    assert main(arguments) == 2
    assert text in capsys.readouterr().err
    assert sorted(path.name for path in Path.cwd().iterdir() if path.name != "__pycache__") == ["mine.py"]
