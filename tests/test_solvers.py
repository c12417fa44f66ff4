"""Solvers: each run a process of its own, everything it found kept and verified, every end told as what it was."""

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
from optarena.errors import OptarenaError
from optarena.problem import build, select
from optarena.runner.again import replay
from optarena.solver import ENDS
from optarena.store.journal import problem_card
from optarena.store.records import End
from waiting import wait_for

pytestmark = pytest.mark.xdist_group("processes")  # one after the other: they measure time and kill

ROOT = uuid.UUID(int=11)


def test_an_instance_is_no_problem_and_has_a_card_all_the_same():
    instance = build("tsp/n7/i1")
    assert isinstance(instance, oa.Instance)
    assert not isinstance(instance, oa.Problem)
    assert not hasattr(instance, "evaluate")
    assert not hasattr(instance, "space")
    card = problem_card(instance)
    assert (card.id, card.dimension, card.space, card.constraints) == ("tsp/n7/i1", 7, {}, 0)


@pytest.mark.parametrize(
    ("status", "reason", "word", "ending"),
    [
        ("done", "optimal", "optimal", "optimal"),
        ("done", "optimal", "", "optimal"),  # as lines without a word have it
        ("failed", "wrong: it is longer than it claims", "", "wrong"),
        ("failed", "out of memory", "", "out of memory"),
        ("failed", "not repeatable: evaluation 1: suggested 2", "", "not repeatable"),
        ("failed", "suggest: ValueError: wrong: no", "", ""),
        ("done", "target reached", "", ""),
        ("interrupted", "by the user", "", ""),
    ],
)
def test_an_end_is_told_in_a_word_and_old_lines_tell_it_by_their_reason(status, reason, word, ending):
    assert End(0, status, 1, 0.0, [0] * 6, reason, word=word).ending == ending


MINE = '''
import ctypes, os, sys, time
import optarena as oa
from optarena.problems.tsp import Tsp
from optarena.solver import Ended
from optarena.settings import whole
import numpy as np

square = Tsp(np.array([[0.0, 0.0], [0.0, 9.0], [9.0, 9.0], [9.0, 0.0], [20.0, 5.0]]), 60.0)
LONG, BEST = [0, 2, 1, 3, 4], [0, 1, 2, 4, 3]

class Finds(oa.Solver):
    """Two solutions, then what the subclass does."""
    takes = ("tsp",)
    settings = {"count": whole(1)}
    def solve(self, instance, budget, emit):
        emit(instance.cost(LONG), LONG, nodes=1)
        emit(instance.cost(BEST), BEST, bound=10.0, nodes=5, decisions=3)
        return self.then(budget)
    def then(self, budget):
        return Ended("optimal", bound=instance_bound, efforts={"nodes": 7.0})

instance_bound = square.cost(BEST)
square.known = oa.Known(optimum=(square.cost(BEST),))

class Mumbles(Finds):
    """A counter that is no number, after a solution."""
    def solve(self, instance, budget, emit):
        emit(instance.cost(LONG), LONG)
        emit(instance.cost(BEST), BEST, nodes="many")
        return "feasible"

class Endless(Finds):
    """A counter at its end that is not finite."""
    def then(self, budget):
        return Ended("feasible", efforts={"nodes": float("inf"), "restarts": 2.0})

class Hangs(Finds):
    def then(self, budget):
        time.sleep(3600)

class Forks(Finds):
    def then(self, budget):
        import subprocess
        child = subprocess.Popen(["sleep", "3600"])
        open("child.pid", "w").write(str(child.pid))
        time.sleep(3600)

class Segfaults(Finds):
    def then(self, budget):
        ctypes.string_at(0)

class Exits(Finds):
    def then(self, budget):
        os._exit(3)

class Raises(Finds):
    def then(self, budget):
        raise ValueError("no more")

class Eats(Finds):
    def then(self, budget):
        kept = []
        while True:
            kept.append(bytearray(os.urandom(1 << 20) * 50))
            time.sleep(0.02)

class NoMemory(Finds):
    def then(self, budget):
        raise MemoryError

class Nothing(oa.Solver):
    takes = ("tsp",)
    def solve(self, instance, budget, emit):
        return None

class Infeasible(oa.Solver):
    takes = ("tsp",)
    def solve(self, instance, budget, emit):
        return "infeasible"

class Lies(oa.Solver):
    takes = ("tsp",)
    def solve(self, instance, budget, emit):
        emit(instance.cost(LONG), LONG)
        return "optimal" if emit(instance.cost(LONG) - 1, LONG) else "feasible"

class Invents(oa.Solver):
    takes = ("tsp",)
    def solve(self, instance, budget, emit):
        emit(1.0, [0, 1, 1, 2, 3])

class Boasts(oa.Solver):
    takes = ("tsp",)
    def solve(self, instance, budget, emit):
        emit(instance.cost(BEST) - 5.0)

class Settles(oa.Solver):
    takes = ("tsp",)
    def solve(self, instance, budget, emit):
        emit(instance.cost(LONG), LONG)
        return "optimal"

class Overbounds(oa.Solver):
    takes = ("tsp",)
    def solve(self, instance, budget, emit):
        emit(instance.cost(LONG), LONG, bound=instance.cost(LONG))

class Errs(oa.Solver):
    takes = ("tsp",)
    def solve(self, instance, budget, emit):
        return "splendid"
'''


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path


def solve(solvers, problems="mine.py:square", seconds=5.0, store="results", **options):
    names = [f"mine.py:{name}" for name in ([solvers] if isinstance(solvers, str) else solvers)]
    experiment = {key: options.pop(key) for key in ("trials", "limits", "record") if key in options}
    plan = oa.Experiment(names, problems, seconds=seconds, seed=ROOT, **experiment)
    return plan.run(store, workers=options.pop("workers", 2), **options)


def ends(results):
    return {row["optimizer"]: (row["status"], row["reason"]) for row in results.studies.iter_rows(named=True)}


def test_every_end_is_told_as_what_it_was(mine):
    names = ["Finds", "Segfaults", "Exits", "Raises", "NoMemory", "Nothing", "Errs"]
    results = solve(names)
    assert ends(results) == {
        "Finds": ("done", "optimal"),
        "Segfaults": ("failed", "crashed: SIGSEGV"),
        "Exits": ("failed", "crashed: exit code 3"),
        "Raises": ("failed", "error: ValueError: no more"),
        "NoMemory": ("failed", "out of memory"),
        "Nothing": ("done", "no solution"),
        "Errs": ("failed", f"error: ValueError: solve returned 'splendid', expected one of {', '.join(ENDS)}"),
    }
    found = dict(results.studies.select("optimizer", "evaluations").iter_rows())
    assert found == {**dict.fromkeys(names[:5], 2), "Nothing": 0, "Errs": 0}


def test_a_lying_solver_is_caught_and_the_lie_is_said(mine):
    results = solve(["Lies", "Invents", "Boasts", "Settles", "Overbounds", "Infeasible"])
    long, best = build("mine.py:square").cost([0, 2, 1, 3, 4]), build("mine.py:square").known.optimum[0]
    assert ends(results) == {
        "Lies": ("failed", f"wrong: claims {long - 1:g}, the solution has {long:g}"),
        "Invents": ("failed", "wrong: a tour visits each of the 5 cities once"),
        "Boasts": ("failed", f"wrong: claims {best - 5:g}, better than the optimum {best:g}"),
        "Settles": ("failed", f"wrong: claims that {long:g} is optimal, and {best:g} is known"),
        "Overbounds": ("failed", f"wrong: claims the bound {long:g}, and {best:g} is known"),
        "Infeasible": ("failed", "wrong: claims that the instance is infeasible, and a solution is known"),
    }
    lies = results.failures().filter(pl.col("optimizer") == "Lies")
    assert lies.select("evaluation", "status").rows() == [(2, "error")]
    best_of = dict(results.studies.select("optimizer", "best").iter_rows())
    assert best_of["Lies"] == long  # what was true before the lie counts
    assert best_of["Invents"] is None


def test_a_counter_that_is_no_number_fails_the_run_and_keeps_what_it_found(mine):
    results = solve(["Mumbles", "Endless"])
    assert ends(results) == {"Mumbles": ("failed", "wrong: 'many' is not a number"), "Endless": ("done", "feasible")}
    assert results.studies["evaluations"].to_list() == [2, 2]
    assert results.extra_at_end("effort.nodes").tolist()[1] == 5.0  # the last that was finite
    assert results.extra_at_end("effort.restarts").tolist()[1] == 2.0


def test_a_solver_that_does_not_end_is_killed_with_its_children_and_keeps_what_it_found(mine):
    results = solve(["Hangs", "Forks"], seconds=2)
    assert {end for end, _ in ends(results).values()} == {"timed out"}
    assert ends(results)["Hangs"][1] == "killed 2 s after its budget of 2 s"
    assert results.studies["evaluations"].to_list() == [2, 2]
    assert results.studies["best"].to_list() == [build("mine.py:square").known.optimum[0]] * 2
    child = int(Path("child.pid").read_text())

    def ended():
        try:
            return "Z" in Path(f"/proc/{child}/stat").read_text().rpartition(")")[2]
        except OSError:
            return True

    wait_for(ended)


def test_a_library_whose_import_never_ends_times_out(mine, monkeypatch):
    monkeypatch.setattr("optarena.runner.pool.PREPARE_SECONDS", 2.0)
    (mine / "endless.py").write_text("import time\ntime.sleep(3600)\n")
    monkeypatch.syspath_prepend(str(mine))
    (mine / "slow.py").write_text(
        MINE.replace("class Finds(oa.Solver):", "class Finds(oa.Solver):\n    modules = ('endless',)")
    )
    monkeypatch.setenv("PYTHONPATH", f"{mine}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    results = oa.Experiment("slow.py:Finds", "slow.py:square", seconds=1, seed=ROOT).run("results", workers=1)
    assert ends(results) == {"Finds": ("timed out", "its problem and library were not ready within 2 s")}


def test_memory_of_a_solver_is_limited(mine):
    results = solve("Eats", seconds=20, limits={"memory": 600})
    assert ends(results) == {"Eats": ("failed", "out of memory")}
    assert results.studies["evaluations"].to_list() == [2]


def test_rows_carry_times_counters_and_bounds_and_the_end_its_own(mine):
    results = solve("Finds")
    assert {"seconds", "nodes", "decisions", "cpu_seconds"} <= set(results.axes)
    assert results.in_full().efforts("nodes").tolist() == [1.0, 5.0]
    assert results.in_full().efforts("decisions").tolist()[1] == 3.0
    seconds = results.in_full().efforts("seconds")
    assert 0 <= seconds[0] <= seconds[1] < 5  # the clock starts with the solver, not with Python
    assert results.in_full().extra("bound").tolist()[1] == 10.0
    assert results.extra_at_end("effort.nodes").tolist() == [7.0]
    assert results.extra_at_end("bound").tolist() == [build("mine.py:square").known.optimum[0]]
    assert results.extra_at_end("seconds")[0] >= seconds[1]


def test_finished_runs_are_not_run_again_failed_ones_when_asked_and_more_time_begins_anew(mine):
    solve(["Finds", "Raises", "Nothing"])
    again = solve(["Finds", "Raises", "Nothing"], retry=True)
    attempts = dict(again.studies.select("optimizer", "attempt").iter_rows())
    assert attempts == {"Finds": 0, "Raises": 1, "Nothing": 0}
    longer = solve(["Finds", "Raises", "Nothing"], seconds=6.0)
    rows = {row["optimizer"]: row for row in longer.studies.iter_rows(named=True)}
    assert rows["Finds"]["attempt"] == 0  # it has proved its solution
    assert rows["Raises"]["attempt"] == 1
    assert rows["Nothing"]["attempt"] == 1
    assert rows["Nothing"]["budget_seconds"] == 6.0
    assert longer.studies.height == 3


def test_a_killed_run_keeps_what_its_solver_found_and_the_same_command_goes_on(mine):
    command = [sys.executable, "-c", "from optarena.cli import main; main()"]
    words = ["run", "-s", "mine.py:Hangs", "-p", "mine.py:square", "--seconds", "60", "--workers", "1"]
    with subprocess.Popen([*command, *words], stdout=subprocess.DEVNULL, start_new_session=True) as run:
        wait_for(lambda: any(b'"k":2' in path.read_bytes() for path in Path("results/journal").glob("*.jsonl")))
        os.killpg(run.pid, signal.SIGKILL)
    results = oa.open("results")
    assert results.studies.select("evaluations", "failures").rows() == [(2, 0)]
    wait_for(lambda: oa.open("results").studies["status"].to_list() == ["interrupted"])  # the kernel ends its worker


def test_a_worker_that_somebody_kills_is_tried_again(mine, tmp_path):
    (tmp_path / "killed.py").write_text(
        MINE.replace("class Hangs(Finds):\n    def then(self, budget):\n        time.sleep(3600)", """
class Hangs(Finds):
    def then(self, budget):
        if not os.path.exists("once"):
            open("once", "w").close()
            os.kill(os.getpid(), 9)
        return "optimal"
""")
    )  # fmt: skip
    results = oa.Experiment(["killed.py:Hangs"], "killed.py:square", seconds=10, seed=ROOT).run("results", workers=1)
    assert results.studies.select("status", "reason", "attempt", "evaluations").rows() == [("done", "optimal", 1, 2)]


def test_pairings_that_cannot_work_are_refused_when_planning(mine):
    def reasons(solvers, problems, **options):
        plan = oa.Experiment(solvers, problems, **{"seconds": 1.0, **options}).plan()
        assert not plan.studies
        return [refusal.reason for refusal in plan.refused]

    takes = "is a solver and takes instances, not points of a space (docs/solvers.md)"
    assert reasons("Annealing", "functions/sphere/d2") == [takes]
    assert "needs a search space" in reasons("RandomSearch", "jobshop/ft06")[0]
    assert reasons("mine.py:Finds", "jobshop/ft06") == [
        "takes tsp, the instance comes as jobshop or linear or minizinc or moves or file"
    ]
    assert reasons("Annealing", "jobshop/ft06", seconds=None, budget=10) == [
        "is a solver and needs a budget in seconds"
    ]
    assert reasons("Annealing", "jobshop/ft06", target=1.0) == ["is a solver and takes no target"]
    with pytest.raises(OptarenaError, match=r"no setting 'temprature'\. Did you mean 'temperature'"):
        oa.Experiment([oa.use("Annealing", temprature=1)], "jobshop/ft06", seconds=1).plan()
    with pytest.raises(OptarenaError, match="every run of a solver is a process of its own"):
        oa.Experiment("Annealing", "jobshop/ft06", seconds=1).run("results", workers=0)


def test_a_toml_file_names_configurations_and_flags_replace_them(tmp_path, capsys):
    (tmp_path / "e.toml").write_text(
        'problems = ["jobshop/ft06"]\nseconds = 1\n[[solvers]]\nuse = "Annealing"\nname = "hot"\n'
        'settings = { temperature = 1.0 }\n[[solvers]]\nuse = "Annealing"\nname = "cold"\n'
    )
    experiment = oa.Experiment.load("e.toml")
    assert [item.label for item in experiment.optimizers] == ["hot", "cold"]
    assert [study.solver for study in experiment.plan().studies] == [True, True]
    assert [i.label for i in oa.Experiment.load("e.toml", optimizers=["Annealing"]).optimizers] == ["Annealing"]
    with pytest.raises(OptarenaError, match=r"solvers\[0\]: no solver 'Anealing'. Did you mean 'Annealing'"):
        oa.Experiment.from_data({"solvers": ["Anealing"], "problems": ["jobshop/ft06"], "seconds": 1})


@pytest.mark.slow
def test_the_baseline_repeats_itself_and_a_longer_run_begins_as_a_shorter_one(tmp_path):
    short = oa.Experiment("Annealing", "jobshop/ft06", seconds=1.5, seed=ROOT).run("short", workers=1)
    oa.Experiment("Annealing", "jobshop/ft06", seconds=3, seed=ROOT).run("long", workers=1)
    values = [oa.open(name).in_full().traces().values[:, 0] for name in ("short", "long")]
    n = min(map(len, values))
    assert n >= 3
    assert values[0][:n].tolist() == values[1][:n].tolist()
    verdict = replay("short", short.studies["study"][0])
    assert verdict.same


def test_solvers_can_be_compacted_exported_and_read_back(mine):
    before = solve(["Finds", "Raises"])
    from optarena.formats import export, import_files
    from optarena.store import Store
    from optarena.store.compaction import compact

    compact(Store("results"))
    after = oa.open("results")
    assert after.studies.select("study", "status", "reason", "best").equals(
        before.studies.select("study", "status", "reason", "best")
    )
    assert after.in_full().extra("bound").tolist()[1] == 10.0
    assert after.extra_at_end("effort.nodes").tolist()[0] == 7.0
    import_files("csv", [export("csv", after, "out.csv")], "again")
    again = oa.open("again").studies
    assert (
        again.select("optimizer", "status", "best").rows() == after.studies.select("optimizer", "status", "best").rows()
    )


# ---- instances ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("id", ["jobshop/ft06", "knapsack/m5n50/i1", "tsp/n10/i1"])
def test_an_instance_agrees_with_itself_in_all_its_forms(id):
    import numpy as np

    instance = build(id)
    rng = np.random.default_rng(3)
    state = instance.first(rng)
    for _ in range(30):
        state = instance.neighbour(state, rng)
        value = instance.verify(instance.from_state(state))
        assert value == (-1 if instance.maximise else 1) * instance.cost(state)
    model = instance.model
    assert model.rows == len(model.by_rows())
    name, text = instance.file()
    assert name
    assert text.endswith("\n")


def test_generated_instances_never_change():
    knapsack, tour = build("knapsack/m5n100/i1"), build("tsp/n20/i2")
    assert knapsack.profit[:4].tolist() == [821, 786, 906, 412]
    assert knapsack.capacity.tolist() == [25156, 23861, 23135, 26519, 23460]
    assert tour.points[:3].tolist() == [[443.0, 501.0], [842.0, 205.0], [92.0, 227.0]]
    assert len(list(select("jobshop/*"))) == 15


def test_wrong_schedules_tours_and_packings_are_told_from_right_ones():
    shop, tour, pack = build("jobshop/ft06"), build("tsp/n10/i1"), build("knapsack/m5n50/i1")
    good = shop.from_state([j for _ in range(6) for j in range(6)])
    assert shop.verify(good) == shop.horizon
    early = [list(row) for row in good]
    early[0][3] = 0
    with pytest.raises(oa.WrongSolution, match="job 0 starts an operation at 0, before"):
        shop.verify(early)
    with pytest.raises(oa.WrongSolution, match="jobs 5 and 2 are on machine 0 at 17"):
        shop.verify([[sum(d for _, d in job[:o]) for o in range(6)] for job in shop.jobs])
    with pytest.raises(oa.WrongSolution, match="start times of 5 jobs"):
        shop.verify(good[:5])
    with pytest.raises(oa.WrongSolution, match="10 cities"):
        tour.verify([0, 1, 2])
    with pytest.raises(oa.WrongSolution, match="a city is a whole number"):
        tour.verify([city + 0.4 for city in range(10)])
    with pytest.raises(oa.WrongSolution, match="constraint 0 carries"):
        pack.verify([1] * 50)
    with pytest.raises(oa.WrongSolution, match="0 or 1"):
        pack.verify([0.5] * 50)


def test_solvers_are_listed_and_named_by_their_own_flag(capsys):
    from optarena.cli import main

    assert not main(["list", "solvers"])
    out = capsys.readouterr().out
    assert all(name in out for name in ("Annealing", "CP-SAT", "HiGHS", "SCIP", "Choco", "MiniZinc", "Apache-2.0"))
    assert main(["run", "-s", "Anealing", "-p", "jobshop/ft06", "--seconds", "1"]) == 2
    assert "no solver named 'Anealing'. Did you mean 'Annealing'?" in capsys.readouterr().err
    words = ["-p", "tsp/n10/i1", "--seconds", "0.1", "--store", "s", "--workers", "1"]
    assert main(["run", "-s", "Annealing", "-s", "Annealing(temperature=0)", *words]) == 0
    assert oa.open("s").all_optimizers == ["Annealing", "Annealing(temperature=0)"]
    capsys.readouterr()
    assert main(["run", "-s", "Annealing(heat=0)", *words]) == 2
    assert "heat" in capsys.readouterr().err
