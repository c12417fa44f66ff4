"""Archived multi-objective simulated annealing: its cases, its archive, its steps, and what it finds."""

from __future__ import annotations

import math
import uuid

import numpy as np
import pytest

import optarena as oa
from optarena.optimizer import check_settings, get_optimizer
from optarena.optimizers.annealing import amount, spread_out
from optarena.problem import build
from optarena.runner.again import replay
from optarena.space import Space
from optarena.testing import INTEGER, MIXED, REAL, check_optimizer
from optarena.views.pareto import hypervolume, non_dominated

ROOT = uuid.UUID(int=26)


def make(space=REAL, seed=1, **settings):
    return get_optimizer("AMOSA")(space, objectives=2, rng=np.random.default_rng(seed), **settings)


def ready(current, archive, temperature=1.0):
    """One that is past its random points, with these values; all points are the centre."""
    optimizer = make()
    at = np.full(REAL.dimension, 0.5)
    optimizer._seen = optimizer._first
    optimizer._current = (at, np.array(current, dtype=float), 0.0)
    optimizer._values = np.array(archive, dtype=float)
    optimizer._units = np.tile(at, (len(archive), 1))
    optimizer._temperature = temperature
    return optimizer


def meet(optimizer, values, broken=0.0):
    optimizer._meet(np.full(REAL.dimension, 0.25), np.array(values, dtype=float), broken)
    return optimizer._current[1].tolist(), sorted(optimizer._values.tolist())


def taken(current, archive, new, temperature=1.0, trials=4000):
    """How often the new point becomes the current one."""
    count, optimizer = 0, ready(current, archive, temperature)
    for _ in range(trials):
        optimizer._current = (optimizer._current[0], np.array(current, dtype=float), 0.0)
        count += meet(optimizer, new)[0] == list(new)
    return count / trials


def test_the_kit_finds_nothing_wrong():
    assert check_optimizer("AMOSA", rounds=12) == []
    assert check_optimizer("AMOSA", rounds=12, archive=2, iterations=1, cooling=0.1) == []


def test_the_amount_of_domination_is_the_product_over_the_objectives_that_differ():
    better, worse, scale = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0]]), np.array([1.0, 2.0]), np.array([2.0, 4.0])
    assert amount(better, worse, scale).tolist() == [0.25, 0.5, 1.0]


def test_case_1_a_dominated_point_is_taken_by_its_mean_amount():
    archive = [[0.0, 0.0], [4.0, -4.0]]  # ranges 4 and 8 with the current and the new point
    mean = ((2 / 4) * (2 / 6) + (1 / 4) * (1 / 6)) / 2  # of one of the archive, and of the current point
    expected = 1 / (1 + math.exp(mean / 0.1))
    assert taken([1.0, 1.0], archive, [2.0, 2.0], 0.1) == pytest.approx(expected, abs=0.03)
    assert meet(ready([1.0, 1.0], archive, 0.1), [2.0, 2.0])[1] == archive  # it never enters the archive


def test_case_2_a_point_beside_the_current_one():
    current, archive = [1.0, 1.0], [[0.5, 3.0]]
    assert meet(ready(current, archive), [3.0, 0.5]) == ([3.0, 0.5], [[0.5, 3.0], [3.0, 0.5]])  # (b)
    assert meet(ready([1.0, 1.0], [[0.9, 4.0]]), [0.8, 3.0]) == ([0.8, 3.0], [[0.8, 3.0]])  # (c)
    worse = (0.3 / 0.5) * (1 / 3)  # (a): dominated by one of the archive, by so much
    assert taken(current, archive, [0.8, 4.0]) == pytest.approx(1 / (1 + math.exp(worse)), abs=0.03)


def test_case_3_a_point_that_dominates_the_current_one():
    assert meet(ready([2.0, 2.0], [[0.5, 3.0]]), [1.0, 1.0]) == ([1.0, 1.0], [[0.5, 3.0], [1.0, 1.0]])  # (b)
    assert meet(ready([2.0, 2.0], [[1.0, 2.0]]), [1.0, 1.0]) == ([1.0, 1.0], [[1.0, 1.0]])  # (c)
    back = 1 / (1 + math.exp(-(0.5 / 1.5) * (0.5 / 1.5)))  # (a): else the nearest of the archive is the current one
    assert taken([2.0, 2.0], [[0.5, 0.5]], [1.0, 1.0]) == pytest.approx(1 - back, abs=0.03)


def test_worse_points_are_taken_less_often_when_it_is_cold():
    shares = [taken([1.0, 1.0], [[0.0, 0.0]], [2.0, 2.0], t, 800) for t in (10.0, 0.5, 0.1, 0.001)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == pytest.approx(0.5, abs=0.06)
    assert shares[-1] == 0


def test_the_temperature_falls_to_the_last_one_and_stays():
    optimizer = make(initial_temp=1.0, final_temp=0.3, cooling=0.5, iterations=4)
    seen = []
    for _ in range(8 + 12):
        X = optimizer.suggest(1)
        optimizer.observe(X, np.column_stack((X[:, 0], -X[:, 0])))
        seen.append(optimizer._temperature)
    assert seen == [1.0] * 11 + [0.5] * 4 + [0.3] * 5


@pytest.mark.parametrize("space", [REAL, INTEGER, MIXED], ids=["real", "integer", "mixed"])
def test_a_step_changes_one_parameter(space):
    optimizer = make(space)
    for unit in np.random.default_rng(2).random((200, space.dimension)):
        before, after = space.from_unit(np.array([unit, optimizer._perturbed(unit)]))
        assert (before != after).sum() == 1


def test_the_archive_is_cut_to_points_that_are_spread_out():
    x = np.concatenate([np.linspace(0, 0.01, 50), [0.5, 1.0]])
    kept = spread_out(np.column_stack((x, 1 - x)), 3)
    assert {50, 51} < set(kept)
    assert len(kept) == 3
    optimizer = make(archive=10)
    for f in np.linspace(0, 1, 300):
        optimizer._enter(np.zeros(REAL.dimension), np.array([f, 1 - f]))
    assert 10 <= len(optimizer._values) <= 20
    assert non_dominated(optimizer._values).all()


def test_failed_and_infeasible_points_never_enter_the_archive():
    optimizer = make()
    X = REAL.sample(4, np.random.default_rng(1))
    y = np.array([[np.nan, 0.0], [np.inf, 0.0], [1.0, 1.0], [2.0, 2.0]])
    optimizer.observe(X, y, np.array([[0.0], [0.0], [0.5], [-1.0]]))
    assert optimizer._values.tolist() == [[2.0, 2.0]]
    assert optimizer._current[2] == 0.0


KINDS = {
    "real": {"type": "real", "space": "linear", "range": [0, 1]},
    "int": {"type": "int", "space": "linear", "range": [0, 20]},
    "cat": {"type": "cat", "values": list("abcd")},
}


@pytest.mark.parametrize("kinds", [("real",), ("int",), ("real", "int", "cat")])
def test_it_finds_more_than_random_search_also_on_mixed_spaces(kinds):
    space = Space({f"{kind}{i}": KINDS[kind] for kind in kinds for i in range(12 // len(kinds))})

    def value(X):
        return np.column_stack([((space.to_unit(X) - at) ** 2).sum(axis=1) for at in (0.2, 0.7)])

    optimizer, found = make(space), []
    for _ in range(900):
        X = optimizer.suggest(1)
        found.append(value(X))
        optimizer.observe(X, found[-1])
    random = value(space.sample(900, np.random.default_rng(1)))
    assert hypervolume(np.concatenate(found), [3, 3]) > 1.1 * hypervolume(random, [3, 3])


def test_it_finds_more_than_random_search_under_constraints():
    tanaka, optimizer = build("models/tanaka"), make(build("models/tanaka").space)
    for _ in range(600):
        X = optimizer.suggest(1)
        got = tanaka.evaluate(tanaka.space.to_dicts(X)[0])
        optimizer.observe(X, np.array([got.values]), np.array([got.violations]))
    random = [tanaka.evaluate(x) for x in tanaka.space.to_dicts(tanaka.space.sample(600, np.random.default_rng(1)))]
    feasible = np.array([each.values for each in random if max(each.violations) <= 0])
    assert hypervolume(optimizer._values, [1.2, 1.2]) > hypervolume(feasible, [1.2, 1.2])


def test_a_run_repeats(tmp_path):
    results = oa.Experiment(["AMOSA"], ["zdt/zdt1/d5", "models/tanaka"], 200, seed=ROOT).run(tmp_path / "s")
    assert set(results.studies["status"]) == {"done"}
    assert all(replay(tmp_path / "s", study).same for study in results.studies["study"])


def test_settings_that_do_not_go_together_and_one_objective_are_refused():
    with pytest.raises(oa.OptarenaError, match="final_temp must be at most initial_temp, which is 1, got 2"):
        check_settings(get_optimizer("AMOSA"), "AMOSA", {"final_temp": 2.0})
    plan = oa.Experiment(["AMOSA", "SimulatedAnnealing"], ["functions/sphere/d2", "zdt/zdt1/d5"], 20).plan()
    assert [(refusal.optimizer, refusal.reason) for refusal in plan.refused] == [
        ("AMOSA", "takes several objectives, the problem has one"),
        (
            "SimulatedAnnealing",
            "takes one objective, the problem has 2: use AMOSA, or Scalarised(optimizer=SimulatedAnnealing)",
        ),
    ]
