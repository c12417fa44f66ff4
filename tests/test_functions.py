"""The suite `functions`: known optima are optima, a batch gives the bits of its rows, and the odd ones do as stated."""

from __future__ import annotations

import pickle
from math import cos, e, exp, pi, sin, sqrt

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import optimize

from optarena.errors import OptarenaError
from optarena.problem import Evaluation, as_evaluation, build, select
from optarena.problems import functions
from optarena.problems.functions import FUNCTIONS, FunctionsSuite

SUITE = FunctionsSuite()
IDS = list(SUITE.ids())
SCALABLE = [name for name, line in FUNCTIONS.items() if line.least]
CONSTRAINED = [id for id in IDS if FUNCTIONS[id.split("/")[1]].constraints]
FREE = [id for id in IDS if id not in CONSTRAINED]


def minimised(problem, X):
    """The bare objective, turned so that less is better."""
    values = problem.evaluate_matrix(X)
    return -values if problem.objectives[0].sense == "max" else values


def least_allowed(problem):
    (optimum,) = problem.known.optimum
    turned = -optimum if problem.objectives[0].sense == "max" else optimum
    return turned - 1e-9 * max(1.0, abs(optimum))


def around(problem, rng):
    """20,000 points: half of them anywhere, the others ever nearer to the optimum."""
    space = problem.space
    anywhere = space.sample(10_000, rng)
    if not space.continuous:
        return np.vstack((anywhere, space.sample(10_000, rng)))
    scale = (space.high - space.low) * 10.0 ** rng.uniform(-9, 0, (10_000, 1))
    near = problem.optimum_at + scale * rng.standard_normal((10_000, space.dimension))
    return np.vstack((anywhere, np.clip(near, space.low, space.high)))


def polish(problem, start):
    """The least value that L-BFGS-B meets; its differences are taken inwards and in one batch."""
    low, high = problem.space.low, problem.space.high

    def with_gradient(x):
        steps = np.where(x + 1e-7 > high, -1e-7, 1e-7)
        values = minimised(problem, x + np.vstack((np.zeros_like(x), np.diag(steps))))
        return values[0], (values[1:] - values[0]) / steps

    bounds = list(zip(low, high, strict=True))
    return optimize.minimize(with_gradient, start, jac=True, bounds=bounds, method="L-BFGS-B").fun


# ---- optima -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("id", IDS)
def test_the_known_point_is_in_the_space_and_has_the_known_value(id):
    problem = SUITE.build(id)
    at = problem.optimum_at[None]
    points = problem.space.to_dicts(at)
    np.testing.assert_array_equal(problem.space.to_matrix(points), at)
    (optimum,) = problem.known.optimum
    assert problem.evaluate_matrix(at)[0] == pytest.approx(optimum, rel=1e-14, abs=1e-13)
    if not problem.noisy:
        assert as_evaluation(problem.evaluate(points[0]), problem).values[0] == problem.evaluate_matrix(at)[0]


@pytest.mark.parametrize("name", SCALABLE)
@pytest.mark.parametrize("dimension", [1, 7, 1000])
def test_the_known_value_holds_in_dimensions_that_are_not_listed(name, dimension):
    dimension = max(dimension, FUNCTIONS[name].least)
    problem = SUITE.build(f"functions/{name}/d{dimension}")
    value = problem.evaluate_matrix(problem.optimum_at[None])[0]
    assert value == pytest.approx(problem.known.optimum[0], rel=1e-13, abs=1e-12)
    assert problem.dimension == dimension


@pytest.mark.parametrize("id", FREE)
def test_no_sample_and_no_polish_is_better_than_the_known_optimum(id):
    problem = SUITE.build(id)
    X = around(problem, np.random.default_rng(3))
    values = minimised(problem, X)
    assert np.nanmin(values) >= least_allowed(problem)
    if problem.space.continuous:
        for start in (problem.optimum_at, X[np.nanargmin(values[:10_000])]):
            assert not polish(problem, start) < least_allowed(problem)


@pytest.mark.parametrize("id", CONSTRAINED)
def test_the_constrained_optimum_is_feasible_and_no_feasible_point_is_better(id):
    problem = SUITE.build(id)
    violations = problem.line.violations
    (point,) = problem.space.to_dicts(problem.optimum_at[None])
    evaluation = problem.evaluate(point)
    assert isinstance(evaluation, Evaluation)
    assert len(evaluation.violations) == problem.constraints
    assert max(evaluation.violations) <= 0.0
    X = around(problem, np.random.default_rng(3))
    feasible = X[(violations(X) <= 0.0).all(axis=1)]
    assert len(feasible) > 50
    assert problem.evaluate_matrix(feasible).min() >= least_allowed(problem)
    for start in (problem.optimum_at, *feasible[:5]):
        found = optimize.minimize(
            lambda x: problem.evaluate_matrix(x[None])[0],
            start,
            method="SLSQP",
            bounds=list(zip(problem.space.low, problem.space.high, strict=True)),
            constraints={"type": "ineq", "fun": lambda x: -violations(x[None])[0]},
        )
        if violations(found.x[None]).max() <= 1e-12:
            assert found.fun >= least_allowed(problem)


def test_a_constraint_keeps_out_what_would_be_better():
    problem = SUITE.build("functions/sphere-constrained/d3")
    evaluation = problem.evaluate({"x1": 0.0, "x2": 0.0, "x3": 0.0})
    assert evaluation.values == [0.0]
    assert evaluation.violations == [3.0]


@pytest.mark.parametrize("id", ["functions/sphere-int/d2", "functions/rastrigin-int/d2"])
def test_the_optimum_of_an_integer_function_is_the_only_one_of_the_whole_grid(id):
    problem = SUITE.build(id)
    low, high = int(problem.space.low[0]), int(problem.space.high[0])
    grid = np.stack(np.meshgrid(*[np.arange(low, high + 1.0)] * 2), axis=-1).reshape(-1, 2)
    values = problem.evaluate_matrix(grid)
    assert np.flatnonzero(values == values.min()).size == 1
    np.testing.assert_array_equal(grid[values.argmin()], problem.optimum_at)


def test_rastrigin_keeps_its_local_minima_on_integers():
    problem = SUITE.build("functions/rastrigin-int/d2")
    ten, nine, eleven = problem.evaluate_matrix(problem.optimum_at + np.array([[10, 0], [9, 0], [11, 0]]))
    assert 0.0 < ten < min(nine, eleven)


@pytest.mark.parametrize("id", IDS)
def test_the_centre_of_the_space_is_not_an_optimum(id):
    problem = SUITE.build(id)
    centre = problem.space.from_unit(np.full((1, problem.dimension), 0.5))
    feasible = problem.line.violations is None or problem.line.violations(centre).max() <= 0.0
    assert not feasible or minimised(problem, centre)[0] > least_allowed(problem) + 1e-2


@pytest.mark.parametrize("name", ["sphere", "griewank", "sphere-int"])
def test_a_shifted_optimum_lies_in_the_middle_half_of_the_box(name):
    problem = SUITE.build(f"functions/{name}/d1000")
    low, high = problem.space.low, problem.space.high
    from_centre = np.abs(problem.optimum_at - (low + high) / 2) / ((high - low) / 2)
    assert from_centre.max() <= 0.5
    assert np.unique(problem.optimum_at).size > 90


def test_a_maximised_optimum_is_a_maximum():
    problem = SUITE.build("functions/cosine-mixture-max/d5")
    assert problem.objectives[0].sense == "max"
    values = problem.evaluate_matrix(around(problem, np.random.default_rng(0)))
    assert values.max() <= problem.known.optimum[0] + 1e-9
    assert values.min() < 0.0 < problem.known.optimum[0]


def test_a_hair_outside_the_box_counts_as_its_edge():
    problem = SUITE.build("functions/eggholder/d2")
    on, beyond = problem.evaluate_matrix(problem.optimum_at + np.array([[0.0, 0.0], [1e-5, 0.0]]))
    assert on == beyond


# ---- formulas, away from the optimum ---------------------------------------------------------------------------------

AT_HAND = {
    "sphere": ((1, 2, 3), 14),
    "ellipsoid": ((1, 1, 1), 1 + 1e3 + 1e6),
    "rosenbrock": ((0, 0, 2), 1 + 1 + 400),
    "rastrigin": ((1, 0.5), 1 + 0.25 + 20),
    "ackley": ((1, 1), 20 * (1 - exp(-0.2))),
    "griewank": ((pi, 0), pi**2 / 4000 + 2),
    "levy": ((5, 1), 1 + 10 * sin(2 * pi + 1) ** 2),
    "schwefel": ((0, pi**2 / 4), 2 * 418.9828872724337 - pi**2 / 4),
    "zakharov": ((1, 1), 2 + 1.5**2 + 1.5**4),
    "dixon-price": ((0, 1, 2), 1 + 2 * 4 + 3 * 49),
    "styblinski-tang": ((1, 2), 0.5 * (1 - 16 + 5 + 16 - 64 + 10)),
    "sum-of-powers": ((0.5, -0.5, 2), 0.25 + 0.125 + 16),
    "step": ((0.6, -0.6, 0.4), 2),
    "alpine": ((pi / 2, pi), 1.1 * pi / 2 + 0.1 * pi),
    "salomon": ((0.3, 0.4), 2.05),
    "bent-cigar": ((3, 1, 2), 9 + 5e6),
    "discus": ((3, 1, 2), 9e6 + 5),
    "different-powers": ((2, 2, 2), sqrt(4 + 16 + 64)),
    "michalewicz": ((pi / 2, pi / 2), -(sin(pi / 4) ** 20) - 1),
    "branin": ((0, 0), 36 + 10 * (1 - 1 / (8 * pi)) + 10),
    "six-hump-camel": ((1, 1), 4 - 2.1 + 1 / 3 + 1),
    "goldstein-price": ((0, 0), 600),
    "beale": ((0, 0), 1.5**2 + 2.25**2 + 2.625**2),
    "booth": ((0, 0), 74),
    "easom": ((0, pi), exp(-(pi**2))),
    "matyas": ((1, 2), 0.26 * 5 - 0.48 * 2),
    "mccormick": ((1, 0), sin(1) + 1 - 1.5 + 1),
    "eggholder": ((0, 0), -47 * sin(sqrt(47))),
    "bukin6": ((-5, 0), 50.05),
    "cross-in-tray": ((0, 1), -0.0001),
    "holder-table": ((pi / 2, 0), -exp(0.5)),
    "drop-wave": ((0, 1), -(1 + cos(12)) / 2.5),
    "colville": ((0, 0, 0, 0), 42.0),
    "shekel5": ((4, 4, 4, 4), -(10 + 1 / 36.2 + 1 / 64.2 + 1 / 16.4 + 1 / 20.4)),
    "hartmann3": ((0, 0, 0), -0.06797411659013466),
    "hartmann6": ((0,) * 6, -0.00508911288366444),
    "g06": ((0, 0), -9000),
    "g08": ((0.25, 0.25), -128),
    "cosine-mixture-max": ((0.2, 0), 0.1 * (-1 + 1) - 0.04),
    "mixed-sphere": ((0.25, 0.1, 12, 0, 0, 3), 1 + 1 + 1 + 1 + 1 + 4),
    "mixed-tuning": ((0.03, 0.9, 3, 10, 200, 0, 0, 3, 128), 1 + 4 + 1 + 0.5 + 0.3 + 0.2 + 0.1),
}


@pytest.mark.parametrize("name", AT_HAND)
def test_the_formula_gives_the_value_worked_out_by_hand(name):
    point, value = AT_HAND[name]
    assert FUNCTIONS[name].formula(np.array([point], dtype=float))[0] == pytest.approx(value, rel=1e-12, abs=1e-12)


def test_ackley_is_flat_at_twenty_and_e_far_away():
    assert FUNCTIONS["ackley"].formula(np.full((1, 2), 500.5))[0] == pytest.approx(20 + e - 1 / e, rel=1e-9)


# ---- batches -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FUNCTIONS)
@given(n=st.integers(1, 33), dimension=st.integers(1, 140), seed=st.integers(0, 2**32))
@example(n=1, dimension=1, seed=0)
@example(n=17, dimension=2, seed=0)
@example(n=9, dimension=1000, seed=0)
@settings(max_examples=20, deadline=None)
def test_a_batch_gives_the_bits_of_its_rows_and_of_its_dicts(name, n, dimension, seed):
    line = FUNCTIONS[name]
    dimension = max(dimension, line.least) if line.least else line.dimensions[dimension % len(line.dimensions)]
    problem = SUITE.build(f"functions/{name}/d{dimension}")
    X = problem.space.sample(n, np.random.default_rng(seed))
    batch = problem.evaluate_matrix(X)
    assert batch.shape == (n,)
    assert batch.dtype == np.float64
    alone = np.concatenate([problem.evaluate_matrix(X[i : i + 1]) for i in range(n)])
    assert batch.tobytes() == alone.tobytes()
    assert batch.tobytes() == problem.evaluate_matrix(np.asfortranarray(X)).tobytes()
    assert batch[::2].tobytes() == problem.evaluate_matrix(X[::2]).tobytes()
    if not problem.noisy and line.fails is None:
        dicts = [as_evaluation(problem.evaluate(x), problem).values[0] for x in problem.space.to_dicts(X)]
        assert batch.tobytes() == np.array(dicts).tobytes()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_evaluating_leaves_the_batch_as_it_was(name):
    problem = SUITE.build(f"functions/{name}/d{FUNCTIONS[name].dimensions[0]}")
    X = problem.space.sample(5, np.random.default_rng(0))
    before = X.copy()
    problem.evaluate_matrix(X)
    np.testing.assert_array_equal(X, before)


# ---- noise, hidden metrics, failures ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sphere-noisy", "rosenbrock-noisy"])
def test_noise_is_a_function_of_the_given_generator_only(name):
    problem, other = SUITE.build(f"functions/{name}/d3"), SUITE.build(f"functions/{name}/d3")
    assert problem.noisy
    assert not problem.array_native
    point = {"x1": 1.0, "x2": 0.5, "x3": 2.0}
    first = problem.evaluate(point, np.random.default_rng(7))
    problem.evaluate(point, np.random.default_rng(8))
    assert first == other.evaluate(point, np.random.default_rng(7))
    assert first != problem.evaluate(point, np.random.default_rng(8))


@pytest.mark.parametrize(("name", "deviation"), [("sphere-noisy", 0.1), ("rosenbrock-noisy", 1.0)])
def test_noise_is_centred_on_the_noise_free_value(name, deviation):
    problem = SUITE.build(f"functions/{name}/d2")
    (point,) = problem.space.to_dicts(problem.optimum_at[None])
    rng = np.random.default_rng(0)
    values = np.array([problem.evaluate(point, rng) for _ in range(4000)])
    assert values.mean() == pytest.approx(problem.known.optimum[0], abs=4 * deviation / sqrt(4000))
    assert values.std() == pytest.approx(deviation, rel=0.05)


def test_the_hidden_metric_has_its_optimum_elsewhere():
    problem = SUITE.build("functions/sphere-split/d2")
    assert problem.metrics == ("generalization",)
    seen, hidden = problem.space.to_dicts(problem.optimum_at + np.array([[0.0, 0.0], [0.25, 0.25]]))
    assert problem.evaluate(seen) == Evaluation([0.0], (), {"generalization": 0.125})
    assert problem.evaluate(hidden).values[0] == pytest.approx(0.125)
    assert problem.evaluate(hidden).metrics["generalization"] == pytest.approx(0.0, abs=1e-30)


def test_failing_fails_where_both_coordinates_are_positive_and_nowhere_else():
    problem = SUITE.build("functions/failing/d2")
    failed = 0
    for point in problem.space.to_dicts(problem.space.sample(2000, np.random.default_rng(0))):
        if point["x1"] > 0 and point["x2"] > 0:
            failed += 1
            with pytest.raises(ValueError, match=r"\Aoutside the domain\Z"):
                problem.evaluate(point)
        else:
            assert np.isfinite(as_evaluation(problem.evaluate(point), problem).values[0])
    assert 400 < failed < 600


def test_nan_is_undefined_where_both_coordinates_are_negative_and_nowhere_else():
    problem = SUITE.build("functions/nan/d2")
    X = problem.space.sample(2000, np.random.default_rng(0))
    np.testing.assert_array_equal(np.isnan(problem.evaluate_matrix(X)), (X < 0).all(axis=1))
    assert np.isnan(problem.evaluate({"x1": -1.0, "x2": -1.0}))


# ---- the suite -------------------------------------------------------------------------------------------------


def test_ids_are_listed_without_building(monkeypatch):
    def refuse(*_):
        raise AssertionError("built")

    monkeypatch.setattr(functions, "Space", refuse)
    monkeypatch.setattr(functions.AnalyticProblem, "__init__", refuse)
    ids = list(SUITE.ids())
    assert len(set(ids)) == len(ids)
    assert all(SUITE.contains(id) for id in ids)
    assert [id for id in ids if "/sphere/" in id] == [f"functions/sphere/d{d}" for d in (2, 3, 5, 10, 20)]


@pytest.mark.parametrize(
    "id",
    ["sphere/d7", "sphere/d1", "sphere/d1000", "rosenbrock/d2", "hartmann6/d6", "michalewicz/d10", "mixed-tuning/d9"],
)
def test_contains_accepts_dimensions_that_exist(id):
    assert SUITE.contains(f"functions/{id}")
    assert SUITE.build(f"functions/{id}").dimension == int(id.partition("/d")[2])


@pytest.mark.parametrize(
    "id",
    [
        *(
            "functions/sphere/" + d
            for d in ("d07", "d0", "dx", "d", "7", "d1001", "d7.0", "d-7", "d+7", "d٧", "d7\n", "d7/")
        ),
        *("functions/" + rest for rest in ("rosenbrock/d1", "michalewicz/d3", "branin/d3", "nosuch/d2", "Sphere/d2")),
        *("functions", "functions/sphere", "bbob/sphere/d2", "functions/sphere/d2/i1", ""),
    ],
)
def test_contains_rejects_what_does_not_exist_and_build_says_so(id):
    assert not SUITE.contains(id)
    with pytest.raises(OptarenaError, match="no problem"):
        SUITE.build(id)


def test_problems_are_found_by_the_packages_own_build_and_select():
    problem = build("functions/levy/d4")
    assert (problem.id, problem.suite, problem.function, problem.version) == (
        "functions/levy/d4",
        "functions",
        "levy",
        "1",
    )
    assert select("functions/sphere") == [f"functions/sphere/d{d}" for d in (2, 3, 5, 10, 20)]
    assert select("functions/levy/d4") == ["functions/levy/d4"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_problem_can_be_pickled(name):
    problem = SUITE.build(f"functions/{name}/d{FUNCTIONS[name].dimensions[0]}")
    copy = pickle.loads(pickle.dumps(problem))
    X = problem.space.sample(3, np.random.default_rng(0))
    assert copy.evaluate_matrix(X).tobytes() == problem.evaluate_matrix(X).tobytes()
    assert copy.known == problem.known
