"""COCO's suites beyond bbob: values as its own observer writes them, what is known, and that misuse ends no process."""

from __future__ import annotations

import csv
import gzip
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from coco_observer import observe, points
from optarena import Experiment, OptarenaError
from optarena.problem import Evaluation, build, get_suite, select
from optarena.problems.coco_suites import constraints
from optarena.testing import check_problem

HERE = Path(__file__).parent
SINGLE = [
    ("bbob-boxed", "1,5,13,24", "2,5"),
    ("bbob-noisy", "1,5,8,10,14,16,18,20,23,26,29", "2,5"),
    ("bbob-largescale", "1,8,24", "20"),
    ("bbob-mixint", "1,2,3,12,17,24", "5,10"),
    ("bbob-constrained", "1,9,22,54", "2,5"),
]


def lines(path):
    return [line.split() for line in path.read_text().splitlines() if not line.startswith("%")]


def evaluations(problem, seed, n):
    space = problem.space
    whole = sum(parameter.type == "int" for parameter in space.parameters)
    X = points(seed, space.low, space.high, whole, n)
    problem.reset(np.random.default_rng(0))
    rows = [[int(v) if i < whole else float(v) for i, v in enumerate(x)] for x in X]
    out = [problem.evaluate(dict(zip(space.names, row, strict=True))) for row in rows]
    problem.close()
    return out


@pytest.mark.parametrize(("suite", "functions", "dimensions"), SINGLE)
def test_values_are_those_of_the_observer(suite, functions, dimensions):
    """Its .tdat has the first evaluations: the best value without noise, minus the optimum, plus the violations."""
    folder = observe(suite, functions, dimensions, "3", 8)
    for f in functions.split(","):
        for d in dimensions.split(","):
            number = int(f) + (100 if suite == "bbob-noisy" else 0)
            problem = build(f"{suite}/f{number}/d{d}/i3")
            given = []
            for item in evaluations(problem, 1, 8):
                item = item if isinstance(item, Evaluation) else Evaluation([item])
                value = item.metrics.get("noise_free", item.values[0])
                given.append(max(value - problem.known.optimum[0], 0) + sum(max(v, 0) for v in item.violations))
            best = np.minimum.accumulate(given)
            rows = lines(folder / f"data_f{number}" / f"bbobexp_f{number}_DIM{d}.tdat")
            assert len(rows) >= 7
            for row in rows:
                assert best[int(row[0]) - 1] == pytest.approx(float(row[2]), rel=1e-8, abs=1e-9), (problem.id, row)


def test_bbob_biobj_values_and_reference_are_those_of_the_observer():
    folder = observe("bbob-biobj", "1,20,55", "2,5", "1,10", 30)
    for f in (1, 20, 55):
        for d in (2, 5):
            (path,) = folder.glob(f"*/bbob-biobj_f{f:02}_d{d:02}_hyp.dat")
            reference = dict(
                line.removeprefix("% instance = ").split(", reference value = ")
                for line in path.read_text().splitlines()
                if "reference value" in line
            )
            for i in (1, 10):
                problem = build(f"bbob-biobj/f{f}/d{d}/i{i}")
                assert problem.known.hypervolume == float(reference[str(i)])
                values = np.array(evaluations(problem, 1, 30))
                archive = lines(folder / "archive" / f"bbob-biobj_f{f:02}_i{i:02}_d{d:02}_nondom_all.adat")
                for row in archive:
                    assert values[int(row[0]) - 1] == pytest.approx([float(row[1]), float(row[2])], rel=1e-12)


def test_bbob_biobj_ideal_nadir_and_reference_equal_the_golden_figures():
    with gzip.open(HERE / "data" / "coco" / "biobj_problems.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    assert rows
    for row in rows:
        known = build(f"bbob-biobj/f{row['function']}/d{row['dim']}/i{row['instance']}").known
        assert known.ideal == (float(row["ideal1"]), float(row["ideal2"]))
        assert known.nadir == pytest.approx((float(row["nadir1"]), float(row["nadir2"])), rel=1e-14)
        assert known.hypervolume == float(row["hv_reference"])
    assert build("bbob-biobj/f1/d2/i11").known.hypervolume is None


@pytest.mark.parametrize("id", ["bbob-biobj/f7/d3/i4", "bbob-constrained/f7/d10/i4", "bbob/f7/d3/i4"])
def test_a_suite_tells_what_its_problems_know(id):
    assert get_suite(id.partition("/")[0]).known(id) == build(id).known


@pytest.mark.parametrize("suite", ["bbob-boxed", "bbob-noisy", "bbob-mixint", "bbob-constrained", "bbob-biobj"])
def test_space_and_constraints_are_the_librarys(suite):
    for d in get_suite(suite).dimensions[:4]:
        for f in list(get_suite(suite).functions)[::5]:
            problem = build(f"{suite}/f{f}/d{d}/i1")
            library = problem.library
            assert problem.space.low.tolist() == library.lower_bounds.tolist()
            assert problem.space.high.tolist() == library.upper_bounds.tolist()
            whole = [parameter.type == "int" for parameter in problem.space.parameters]
            assert whole == [i < library.number_of_integer_variables for i in range(d)]
            assert problem.constraints == library.number_of_constraints
            problem.close()


def test_number_of_constraints_of_every_function_is_the_librarys():
    for d in (2, 3, 5, 10, 40):
        for f in range(1, 55):
            problem = build(f"bbob-constrained/f{f}/d{d}/i1")
            assert problem.library.number_of_constraints == constraints(f, d)
            problem.close()


def test_ids_are_listed_and_problems_made_without_the_library():
    text = """
import sys
from optarena.problem import select, build
n = sum(len(select(s)) for s in ("bbob-noisy", "bbob-biobj", "bbob-constrained", "bbob-largescale"))
assert "cocoex" not in sys.modules
build("bbob-biobj/f55/d40/i15"), build("bbob-constrained/f54/d40/i15")
assert "cocoex" not in sys.modules
print(n)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert int(done.stdout) == 2700 + 4950 + 4860 + 2160


@pytest.mark.parametrize(
    "id",
    [
        "bbob-boxed/f25/d5/i1",
        "bbob-boxed/f1/d7/i1",
        "bbob-boxed/f1/d5/i0",
        "bbob-noisy/f1/d5/i1",
        "bbob-noisy/f131/d5/i1",
        "bbob-mixint/f1/d2/i1",
        "bbob-largescale/f1/d10/i1",
        "bbob-constrained/f55/d5/i1",
        "bbob-constrained/f1/d5/i16",
        "bbob-biobj/f56/d5/i1",
        "bbob-biobj/f1/d5/i16",
        "bbob-boxed/f1/d5/i99999999999",
        "bbob-boxed/f1/d5/i1\n",
        "bbob-boxed/f1/d5/i1 dimensions: 2",
    ],
)
def test_what_the_library_would_die_of_is_refused_before_it_is_asked(id):
    with pytest.raises(OptarenaError, match="no problem"):
        build(id)
    with pytest.raises(OptarenaError, match="no problem"):
        get_suite(id.split("/")[0]).build(id)


def test_any_instance_may_be_named_where_coco_makes_any():
    assert select("bbob-mixint/f3/d5/i999999") == ["bbob-mixint/f3/d5/i999999"]
    assert math.isfinite(evaluations(build("bbob-mixint/f3/d5/i999999"), 1, 1)[0])


@pytest.mark.parametrize(
    "id",
    [
        "bbob-boxed/f9/d3/i2",
        "bbob-noisy/f109/d3/i2",
        "bbob-largescale/f9/d20/i2",
        "bbob-mixint/f9/d5/i2",
        "bbob-constrained/f9/d3/i2",
        "bbob-biobj/f9/d3/i2",
    ],
)
def test_problems_are_well_behaved(id):
    problem = build(id)
    problem.known = type(problem.known)() if not problem.stateless else problem.known  # noise may go below
    assert check_problem(problem) == []


def test_noise_is_fixed_by_the_instance_whatever_ran_before():
    first, second = build("bbob-noisy/f107/d5/i1"), build("bbob-noisy/f107/d5/i2")
    values = [item.values for item in evaluations(first, 1, 6)]
    evaluations(second, 1, 3)
    assert [item.values for item in evaluations(first, 1, 6)] == values
    assert [item.values for item in evaluations(build("bbob-noisy/f107/d5/i1"), 1, 6)] == values


def test_a_study_on_a_noisy_problem_repeats_and_further_trials_are_refused():
    plan = Experiment(["RandomSearch"], "bbob-noisy/f101/d2/i{1,2}", 5, trials=2).plan()
    assert not plan.studies
    assert "instances" in plan.refused[0].reason
    seed = "5c1d53a5-95b0-5c0a-8a3f-6f7074617265"
    stores = [
        Experiment(["RandomSearch"], "bbob-noisy/f101/d2/i{1,2}", 20, seed=seed).run(name, workers=workers)
        for name, workers in (("a", 0), ("b", 1))
    ]
    assert stores[0].studies["status"].to_list() == ["done"] * 2
    assert np.array_equal(stores[0].in_full().traces().values, stores[1].in_full().traces().values)


@pytest.mark.parametrize("id", ["bbob-constrained/f3/d2/i1", "bbob-biobj/f3/d2/i1", "bbob-mixint/f3/d5/i1"])
def test_experiments_run_on_them(id):
    results = Experiment(["RandomSearch"], id, 30).run("store", workers=0)
    assert results.studies["status"].to_list() == ["done"]
    assert results.studies["evaluations"].to_list() == [30]
