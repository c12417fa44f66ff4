"""The suite bbob against figures computed by coco-experiment and checked with ioh (rtol 1e-9 between the two)."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from optarena.problem import build

DATA = Path(__file__).parent / "data"


def rows(name):
    with (DATA / name).open(newline="") as file:
        return list(csv.DictReader(file))


def id_of(row):
    return f"bbob/f{row['function']}/d{row['dim']}/i{row['instance']}"


def test_values_equal_the_reference():
    problems = {}
    for row in rows("bbob_function_values.csv"):
        problem = problems.setdefault(id_of(row), build(id_of(row)))
        x = [float(v) for v in row["x"].split()]
        point = dict(zip(problem.space.names, x, strict=True))
        assert problem.evaluate(point) == pytest.approx(float(row["f"]), rel=1e-9)
    assert len(problems) == 24 * 3 * 3


def test_optima_equal_the_reference():
    for row in rows("bbob_optima.csv"):
        problem = build(id_of(row))
        assert problem.known.optimum == (pytest.approx(float(row["fopt"]), rel=1e-12, abs=1e-12),)
        x = np.array([[float(v) for v in row["xopt"].split()]])
        assert abs(problem.evaluate_matrix(x)[0] - float(row["fopt"])) <= 1.1e-8


def test_a_batch_equals_its_points_bit_for_bit():
    rng = np.random.default_rng(5)
    for f in range(1, 25):
        for d in (2, 5, 20):
            problem = build(f"bbob/f{f}/d{d}/i2")
            X = problem.space.sample(7, rng)
            singly = [problem.evaluate(point) for point in problem.space.to_dicts(X)]
            assert problem.evaluate_matrix(X).tolist() == singly
            assert [problem.evaluate_matrix(x[None])[0] for x in X] == singly
