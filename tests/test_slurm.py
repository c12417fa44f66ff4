"""Runs by a real SLURM: what a local run gives, with jobs that are signalled, requeued, killed and cancelled."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import polars as pl
import pytest

import optarena as oa
import pilot_runs
import slurm
from optarena.cli import main
from optarena.errors import OptarenaError
from optarena.runner import slurm_pilots
from optarena.runner.slurm_pilots import as_parameters, minutes_of
from optarena.store import Store
from pilot_runs import FILE, ROOT, exported
from waiting import wait_for

pytestmark = pytest.mark.xdist_group("processes")  # one after the other: they start many processes

PLAN = [*pilot_runs.PLAN, "--store", "shared", "--workers", "1"]


@pytest.fixture
def queue(tmp_path_factory, monkeypatch):
    pytest.importorskip("submitit")
    if lacks := slurm.missing():
        pytest.skip(f"no SLURM: {', '.join(lacks)}")
    Path("mine.py").write_text(FILE)
    with slurm.running(tmp_path_factory.mktemp("slurm")) as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        yield


def asked(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def local() -> pl.DataFrame:
    problems = ["mine.py:slow", "functions/sphere/d3"]
    oa.Experiment(["RandomSearch", "QuasiRandom"], problems, 20, trials=6, seed=ROOT, base=Path.cwd()).run(
        "local", workers=2
    )
    return exported("local")


def rows() -> int:
    """Lines with evaluations."""
    return sum(path.read_bytes().count(b'"t":"e"') for path in Store("shared").journal_paths())


def head():
    return [run for run in Store("shared").runs() if run.pilots][-1]


def test_an_array_of_pilots_gives_what_a_local_run_gives_though_one_is_requeued_and_one_killed(queue, capsys):
    assert main(["run", *PLAN, "--slurm", "--nodes", "3", "--time", "10", "--", "--comment=pilots", "--nice=5"]) == 0
    said = capsys.readouterr().out
    assert "3 pilots for 24 studies" in said
    job = said.split("SLURM job ")[1].split(":")[0]
    assert main(["run", *PLAN, "--slurm"]) == 2
    assert "SLURM's queue" in capsys.readouterr().err or head().ended
    wait_for(lambda: rows() > 5)
    asked("scancel", "--signal=USR2", f"{job}_0")
    asked("scancel", "--signal=KILL", f"{job}_1")
    wait_for(lambda: "Restarts=1" in asked("scontrol", "show", "job", f"{job}_0"))
    wait_for(lambda: head().ended)
    assert head().how == "done"
    assert exported("shared").equals(local())
    assert main(["verify", "shared"]) == 0
    assert main(["run", *PLAN, "--slurm"]) == 0
    assert "nothing is left to do" in capsys.readouterr().out


LATE = """
import os
import time
import optarena as oa

@oa.as_problem({"x": {"type": "real", "space": "linear", "range": [-5.0, 5.0]}})
def late(x):
    if not os.path.exists(os.environ["HURRY"]):
        time.sleep(2)
    return x["x"] ** 2
"""


def test_a_pilot_near_its_time_limit_stops_in_order_is_requeued_and_ends_the_run(queue, capsys, monkeypatch):
    """Twenty minutes of work in jobs of one minute; after the first one that was stopped, the work takes no time."""
    Path("late.py").write_text(LATE)
    hurry = Path("hurry").absolute()
    monkeypatch.setenv("HURRY", str(hurry))
    plan = ["-o", "RandomSearch", "-o", "QuasiRandom", "-p", "late.py:late", "-n", "300", "--seed", ROOT]
    assert main(["run", *plan, "--store", "shared", "--workers", "1", "--slurm", "--time", "1"]) == 0
    job = capsys.readouterr().out.split("SLURM job ")[1].split(":")[0]

    def lives() -> list[str]:
        return [run.how for run in Store("shared").runs() if run.of]

    wait_for(lambda: "requeued" in lives())
    assert head().ended is None
    assert 0 < rows() < 600
    hurry.touch()
    wait_for(lambda: head().ended)
    assert head().how == "done"
    wait_for(lambda: not asked("squeue", "--noheader"))
    assert lives() == ["requeued"] * (len(lives()) - 1) + ["done"]  # none was killed at its limit
    assert "Restarts=0" not in asked("scontrol", "show", "job", job)
    assert main(["run", *plan, "--store", "local", "--workers", "2"]) == 0
    assert exported("shared").equals(exported("local"))


def test_cancel_takes_pilots_out_of_the_queue_stops_the_others_and_run_adds_the_rest(queue, capsys):
    wide = ["--slurm", "--nodes", "2", "--time", "10", "--", "--exclusive"]
    assert main(["run", *PLAN, *wide]) == 0
    wait_for(lambda: rows() > 5)
    capsys.readouterr()
    assert main(["status", "shared"]) == 0
    assert "is running (pilots: 1 queued, 1 running)" in capsys.readouterr().out
    assert main(["cancel", "shared"]) == 0
    wait_for(lambda: not asked("squeue", "--noheader"))
    assert head().how == "interrupted"
    assert main(["run", *[word for word in PLAN if word != ROOT and word != "--seed"]]) == 0
    assert exported("shared").equals(local())


def test_a_plain_scancel_and_requeue_by_slurm_end_pilots_in_order(queue, capsys):
    """As preemption does: what the job gets is SIGTERM."""
    assert main(["run", *PLAN, "--slurm", "--nodes", "2", "--time", "10"]) == 0
    said = capsys.readouterr().out
    job, logs = said.split("SLURM job ")[1].split(":")[0], said.split("logs: ")[1].strip()
    assert Path(logs).is_dir()
    wait_for(lambda: rows() > 5 and sum(1 for run in Store("shared").runs() if run.of) == 2)
    asked("scancel", f"{job}_0")
    asked("scontrol", "requeue", f"{job}_1")
    wait_for(lambda: "interrupted" in hows() or head().ended)
    wait_for(lambda: head().ended)
    wait_for(lambda: not asked("squeue", "--noheader"))
    assert head().how == "done"
    assert "" not in hows()  # none was killed
    assert exported("shared").equals(local())


def hows() -> list[str]:
    """How each pilot ended."""
    return [run.how for run in Store("shared").runs() if run.of]


def test_a_queue_that_does_not_answer_is_no_empty_queue(tmp_path, monkeypatch, capsys):
    pytest.importorskip("submitit")
    programs = tmp_path / "bin"
    programs.mkdir()
    answers = {"sbatch": "echo Submitted batch job 7", "squeue": "echo no controller >&2; exit 1"}
    for name, line in answers.items():
        (programs / name).write_text(f"#!/bin/sh\n{line}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    plan = ["run", "-o", "RandomSearch", "-p", "functions/sphere/d2", "-n", "5", "--store", "shared", "--slurm"]
    assert main(plan) == 0
    assert main(plan) == 2
    assert "does not say whether pilots" in " ".join(capsys.readouterr().err.split())
    (programs / "squeue").write_text("#!/bin/sh\necho slurm_load_jobs error: Invalid job id specified >&2; exit 1\n")
    assert main(plan) == 0


def test_a_pilot_uses_no_more_cores_than_it_may(monkeypatch):
    for given, cores in (("2", 2), ("64", 4), ("", 4), ("0", 4)):
        monkeypatch.setattr(slurm_pilots, "usable_cores", lambda: 4)
        monkeypatch.setenv("SLURM_CPUS_ON_NODE", given)
        assert slurm_pilots.given_cores() == cores


def test_flags_that_sbatch_refuses_end_the_run_in_a_sentence(queue, capsys):
    assert main(["run", *PLAN, "--slurm", "--partition", "nowhere"]) == 1
    assert "sbatch refused the jobs" in capsys.readouterr().err
    assert head().how == "failed"


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("90", 90), ("1:30", 2), ("4:00:00", 240), ("1-2", 1560), ("1-2:30", 1590), ("1-2:30:01", 1591)],
)
def test_time_limits_are_read_as_slurm_reads_them(text, minutes):
    assert minutes_of(text) == minutes


@pytest.mark.parametrize("text", ["", "0", "soon", "1:2:3:4", "-5"])
def test_other_times_are_refused(text):
    with pytest.raises(OptarenaError, match="--time"):
        minutes_of(text)


def test_flags_of_sbatch_are_taken_in_both_forms():
    assert as_parameters(["--account=a", "--mem", "4G", "--exclusive"]) == {
        "account": "a",
        "mem": "4G",
        "exclusive": True,
    }
    with pytest.raises(OptarenaError, match="sbatch flags"):
        as_parameters(["account"])


def test_no_more_pilots_are_submitted_than_there_are_studies(tmp_path, monkeypatch, capsys):
    pytest.importorskip("submitit")
    sbatch = tmp_path / "bin" / "sbatch"
    sbatch.parent.mkdir()
    sbatch.write_text('#!/bin/sh\ncp "$1" submitted.sh\necho Submitted batch job 7\n')
    sbatch.chmod(0o755)
    monkeypatch.setenv("PATH", str(sbatch.parent), prepend=os.pathsep)
    plan = ["-o", "RandomSearch", "-p", "functions/sphere/d2", "-n", "5", "-r", "3"]
    assert main(["run", *plan, "--store", "shared", "--slurm", "--nodes", "10"]) == 0
    assert "SLURM job 7: 3 pilots for 3 studies" in capsys.readouterr().out
    assert "#SBATCH --array=0-2%3\n" in Path("submitted.sh").read_text()
    assert main(["cancel", "shared"]) == 0
    assert main(["run", *plan, "--store", "wide", "--slurm", "--workers", "16"]) == 0
    assert "#SBATCH --cpus-per-task=16\n" in Path("submitted.sh").read_text()
    assert "--cpus-per-task 16" in Path("submitted.sh").read_text()  # for srun, too


def test_flags_for_slurm_without_slurm_are_refused(capsys):
    Path("mine.py").write_text(FILE)
    assert main(["run", *PLAN, "--nodes", "3"]) == 2
    assert "go with --slurm" in capsys.readouterr().err
    assert main(["run", *PLAN, "--", "--account=x"]) == 2
    assert not os.path.exists("shared")  # noqa: PTH110
