"""Solvers of others: they agree on what is optimal, stand in one experiment, and repeat themselves."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

import optarena as oa
from optarena.errors import OptarenaError
from optarena.problem import select
from optarena.runner.again import replay
from optarena.solver import SOLVERS

pytestmark = pytest.mark.xdist_group("processes")  # one after the other: they measure time

ROOT = uuid.UUID(int=11)
SMALL = Path(__file__).parent / "data" / "solvers" / "small.mps"
OPTIMA = {"tsp/n7/i1": 2432.0, "knapsack/m3n15/i1": 6655.0, "jobshop/ft06": 55.0}  # the first two by enumeration


def need(*names):
    """Skip where a solver is missing; asked without importing it, as some cannot share a process."""
    for name in names:
        if not SOLVERS.built_in[name].installed:
            pytest.skip(f"{name} is not installed")


def ends(results):
    return {row["optimizer"]: (row["status"], row["reason"]) for row in results.studies.iter_rows(named=True)}


def test_ortools_and_highspy_work_in_one_experiment():
    need("CP-SAT", "HiGHS")
    results = oa.Experiment(["CP-SAT", "HiGHS"], "tsp/n7/i1", seconds=10, seed=ROOT).run("results", workers=1)
    assert set(ends(results).values()) == {("done", "optimal")}
    assert len(set(results.studies["best"])) == 1
    assert set(results.versions()["package"]) >= {"ortools", "highspy"}


@pytest.mark.parametrize("name", ["CP-SAT", "HiGHS", "SCIP", "Choco", "MiniZinc"])
def test_solvers_agree_on_what_is_optimal(name):
    need(name)
    ids = ["tsp/n7/i1", "knapsack/m3n15/i1", "jobshop/ft06"]
    if name in ("HiGHS", "SCIP"):
        ids = ids[:2]  # the big-M model of a job shop takes them longer
    results = oa.Experiment(name, ids, seconds=20, seed=ROOT).run("results", workers=2)
    assert set(zip(results.studies["status"], results.studies["reason"], strict=True)) == {("done", "optimal")}
    best = dict(results.studies.select("problem", "best").iter_rows())
    assert best == {id: OPTIMA[id] for id in ids}
    notes = results.in_full().columns.notes.get("verified")
    assert notes is None or all(note is None for note in notes)


@pytest.mark.parametrize("name", ["CP-SAT", "MiniZinc"])
def test_a_run_that_ends_by_itself_is_replayed_to_the_last_counter(name):
    need(name)
    results = oa.Experiment(name, "jobshop/ft06", seconds=20, seed=ROOT).run("results", workers=1)
    verdict = replay("results", results.studies["study"][0])
    assert verdict.same
    assert verdict.facts == []
    assert verdict.compared == results.studies["evaluations"][0]


@pytest.mark.parametrize("search", ["default", "random", "activity"])
def test_choco_claims_no_makespan_but_the_latest_end_and_no_optimum_when_its_time_is_over(search):
    need("Choco")
    from optarena.problem import build
    from optarena.solver import Time
    from optarena.solvers.choco import Choco

    instance, told = build("jobshop/la01"), []
    budget = Time(20.0)

    def emit(value, solution, **_):
        told.append((value, instance.verify(solution)))
        if len(told) == 3:
            budget.seconds = 0.0
        return True

    assert Choco(seed=3, search=search).solve(instance, budget, emit).status == "feasible"
    assert len(told) == 3
    assert all(value == latest for value, latest in told)


def test_an_unknown_minizinc_backend_is_named():
    need("MiniZinc")
    with pytest.raises(OptarenaError, match=r"minizinc has no backend 'gekode'\. Did you mean 'gecode'"):
        oa.Experiment([oa.use("MiniZinc", backend="gekode")], "jobshop/ft06", seconds=1).plan()


@pytest.mark.parametrize("name", ["HiGHS", "SCIP"])
def test_a_folder_of_mps_files_is_a_suite(tmp_path, name):
    need(name)
    (tmp_path / "mps").mkdir()
    (tmp_path / "mps" / "small.mps").write_text(SMALL.read_text())
    (tmp_path / "mps" / "known.toml").write_text('[optimum]\n"small.mps" = 0\n')
    assert select("mps/*.mps") == ["mps/small.mps"]
    results = oa.Experiment(name, "mps/*.mps", seconds=10, seed=ROOT).run("results", workers=1)
    row = results.studies.row(0, named=True)
    assert (row["problem"], row["status"], row["reason"], row["best"]) == ("small.mps", "done", "optimal", 0.0)
