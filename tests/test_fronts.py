"""Suites with several objectives: pymoo's values, and true fronts that are attained and beaten by no optimizer."""

from __future__ import annotations

import functools
import math
import pickle

import numpy as np
import pytest

from optarena._lattice import lattice
from optarena.errors import OptarenaError
from optarena.optimizer import get_optimizer
from optarena.problem import Evaluation, build, get_suite, select
from optarena.problems import _fronts, dtlz, models, wfg, zdt
from optarena.store.journal import problem_card
from optarena.testing import assert_problem
from optarena.views.pareto import hypervolume, igd_plus, non_dominated

SUITES = ("zdt", "dtlz", "wfg", "models")
IDS = [id for suite in SUITES for id in get_suite(suite).ids()]
WITH_FRONT = [
    *(id for id in IDS if not id.startswith(("dtlz", "wfg"))),
    *(f"dtlz/dtlz{i}/m{m}/d12" for i in range(1, 8) for m in (2, 3)),
    *(f"wfg/wfg{i}/m{m}/d14" for i in range(1, 10) for m in (2, 3)),
    "dtlz/dtlz2/m10/d20", "dtlz/dtlz7/m5/d20", "wfg/wfg1/m5/d28", "wfg/wfg2/m5/d28", "wfg/wfg9/m8/d34",
]  # fmt: skip


def points_of(problem, n=100, seed=0):
    return problem.space.sample(n, np.random.default_rng(seed))


# ---- values ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "id",
    [
        *(f"zdt/zdt{i}/d{d}" for i in (1, 2, 3, 4, 6) for d in (2, 30)),
        "zdt/zdt5/d80",
        *(f"dtlz/dtlz{i}/m{m}/d{d}" for i in range(1, 8) for m, d in ((2, 2), (3, 12), (10, 19))),
        *(f"wfg/wfg{i}/m{m}/d{d}" for i in range(1, 10) for m, d in ((2, 24), (3, 8), (10, 38))),
        "models/kursawe",
        "models/osyczka2",
        "models/tanaka",
    ],
)
def test_values_are_those_of_pymoo(id):
    get_problem = pytest.importorskip("pymoo.problems").get_problem
    problem = build(id)
    name = {"osyczka2": "osy", "tanaka": "tnk"}.get(problem.function, problem.function)
    sizes = {"n_var": problem.dimension, "n_obj": len(problem.objectives)}
    used = {"zdt": ("n_var",), "dtlz": ("n_var", "n_obj"), "wfg": ("n_var", "n_obj"), "models": ()}[problem.suite]
    theirs = get_problem(name, **{} if name == "zdt5" else {key: sizes[key] for key in used})
    X = points_of(problem)
    told = theirs.evaluate(X.astype(bool) if name == "zdt5" else X.copy(), return_as_dictionary=True)
    assert problem.evaluate_matrix(X) == pytest.approx(told["F"], rel=1e-12, abs=1e-12)
    assert problem.space.low == pytest.approx(np.broadcast_to(theirs.xl, problem.dimension), abs=1e-20)
    assert problem.space.high == pytest.approx(np.broadcast_to(theirs.xu, problem.dimension))
    if problem.constraints:
        assert problem.violations_matrix(X) == pytest.approx(told["G"], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "x", "values"),
    [
        ("schaffer", [3.0], [9.0, 1.0]),
        ("fonseca", [1 / math.sqrt(3)] * 3, [0.0, 1 - math.exp(-4)]),
        ("viennet2", [2.0, -1.0], [3.0, 4 / 36 + 1 / 8 - 17, 1 / 175 + 16 / 17 - 13]),
        ("viennet3", [0.0, 0.0], [0.0, 2.0 + 1 / 27 + 15, -0.1]),
        ("viennet4", [0.0, 0.0], [2.0 + 1 / 13 + 3, 9 / 175 - 13, 2.0 + 1 / 27 + 15]),
        # the lightest design with the usual, stricter limits of stress: 2994.345 with these constants
        ("golinski", [3.5, 0.7, 17, 7.3, 7.715319911478, 3.350214666096, 5.286654464980], [2994.3451321, 1100.0]),
    ],
)
def test_models_without_a_peer_have_their_papers_values(name, x, values):
    problem = build(f"models/{name}")
    given = problem.evaluate(dict(zip(problem.space.names, x, strict=True)))
    given = given.values if isinstance(given, Evaluation) else given
    assert given == pytest.approx(values, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("id", [id for id in IDS if "/m" not in id or "/m3/" in id])
def test_problems_conform(id):
    assert_problem(build(id))


def test_a_point_that_breaks_a_constraint_says_so():
    problem = build("models/tanaka")
    violations = problem.evaluate({"x1": 0.5, "x2": 0.5}).violations
    assert violations[0] > 0 > violations[1]
    assert [build(f"models/{name}").constraints for name in models.MODELS] == [0, 0, 0, 6, 2, 0, 0, 3, 11]


# ---- ids ------------------------------------------------------------------------------------------------------------


def test_ids_are_listed_and_others_may_be_named():
    assert len(list(get_suite("zdt").ids())) == 6
    assert len(list(get_suite("dtlz").ids())) == 35
    assert len(list(get_suite("wfg").ids())) == 45
    assert select("dtlz/dtlz{1,7}/m3") == ["dtlz/dtlz1/m3/d7", "dtlz/dtlz7/m3/d22"]
    assert len(build("dtlz/dtlz2/m4/d30").objectives) == 4
    assert build("wfg/wfg9/m2/d7").dimension == 7
    assert all(get_suite(id.split("/")[0]).contains(id) for id in IDS)


@pytest.mark.parametrize(
    "id",
    ["zdt/zdt7/d30", "zdt/zdt5/d30", "zdt/zdt1/d1", "dtlz/dtlz1/m1/d7", "dtlz/dtlz1/m5/d4", "dtlz/dtlz8/m3/d7",
     "wfg/wfg2/m2/d7", "wfg/wfg4/m2/d5", "wfg/wfg4/m21/d60", "models/none", "models/", "models", "zdt/zdt1/d01"],
)  # fmt: skip
def test_an_id_that_is_none_is_refused(id):
    with pytest.raises(OptarenaError, match="no problem"):
        build(id)


# ---- fronts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("id", WITH_FRONT)
def test_a_front_is_not_dominated_and_lies_between_ideal_and_nadir(id):
    known = build(id).known
    front = np.array(known.front)
    assert len(front) >= (31 if "zdt5" in id else 200)
    assert non_dominated(front).all()
    assert front.min(axis=0) == pytest.approx(known.ideal)
    assert front.max(axis=0) == pytest.approx(known.nadir)


def test_what_is_not_known_is_not_told():
    for id in ("dtlz/dtlz5/m5/d14", "dtlz/dtlz6/m4/d13", "wfg/wfg3/m5/d28"):
        assert build(id).known.front is None
        assert build(id).known.ideal is None
    # where the front is too large to be shown by some points, its ends are known all the same
    for id, m in (("dtlz/dtlz7/m{}/d20", 5), ("wfg/wfg1/m{}/d28", 5), ("wfg/wfg2/m{}/d28", 5)):
        shown, other = build(id.format(m)).known, build(id.format(m - 1)).known
        assert other.front is None
        assert len(other.nadir) == m - 1
        assert shown.ideal[:-1] == pytest.approx((*other.ideal[:-1], 0.0), abs=1e-9)


def test_the_hypervolume_of_fronts_is_that_of_their_curves():
    for name, volume in (("zdt1", 1.21 - 1 / 3), ("zdt2", 1.21 - 2 / 3), ("zdt4", 1.21 - 1 / 3)):
        front = np.array(zdt.front(name).front)
        assert hypervolume(front, [1.1, 1.1]) == pytest.approx(volume, abs=2e-3)
        assert hypervolume(front, [1.1, 1.1]) < volume
    plane = np.array(dtlz.front("dtlz1", 3).front)
    assert hypervolume(plane, [0.5] * 3) == pytest.approx(0.5**3 * 5 / 6, rel=0.06)


def optimal(problem, n=400):
    """Decisions at distance 0 from the front, by the papers."""
    rng = np.random.default_rng(3)
    if problem.suite == "wfg":
        theirs = pytest.importorskip("pymoo.problems").get_problem(
            problem.function, n_var=problem.dimension, n_obj=len(problem.objectives)
        )
        places = rng.random((n, theirs.k))
        return theirs._positional_to_optimal(places**50.0 if problem.function == "wfg1" else places)
    X = problem.space.sample(n, rng)
    if problem.suite == "zdt":
        X[:, 1:] = 0.0
        if problem.function == "zdt5":
            X = problem.space.sample(n, rng)
            X[:, 30:] = 1.0
    else:
        X[:, len(problem.objectives) - 1 :] = 0.0 if problem.function in ("dtlz6", "dtlz7") else 0.5
        if problem.function == "dtlz4":
            X[:, : len(problem.objectives) - 1] **= 0.01
    return X


@pytest.mark.parametrize("id", [id for id in WITH_FRONT if not id.startswith("models")])
def test_fronts_are_what_the_papers_optimal_decisions_give(id):
    problem = build(id)
    low, high = np.array(problem.known.ideal), np.array(problem.known.nadir)
    front = (np.array(problem.known.front) - low) / (high - low)
    F = (problem.evaluate_matrix(optimal(problem)) - low) / (high - low)
    assert beaten(front, F) < 1e-9
    if problem.function == "wfg1":
        return  # its y^0.02 makes 0.5 of a rounding error of 1e-16: in floats its front is not quite attained
    best = F[non_dominated(F)]
    nearest = np.sqrt(((best[:, None] - front) ** 2).sum(axis=2)).min(axis=1)
    assert np.median(nearest) < {2: 0.01, 3: 0.06}.get(len(problem.objectives), 0.4)


def beaten(front, F):
    """The largest step by which a point is better than one of the front in every objective."""
    return max(float((front - row).min(axis=1).max()) for row in F)


def test_the_front_of_wfg3_with_three_objectives_is_more_than_a_line():
    """Huband et al. had the line in mind; at some distance from it lie points that it does not dominate."""
    T = np.random.default_rng(5).random((100_000, 3))
    T[::4, 1] = 1.0
    F = wfg.objectives("wfg3", T)
    front = np.array(wfg.front("wfg3", 3).front)
    assert beaten(front, F[non_dominated(F)]) < 1e-9
    z = np.linspace(0.0, 1.0, 1001)
    line = np.column_stack((z, 2 * z, 6 - 6 * z))
    off = [row for row in front if not (line <= row + 1e-9).all(axis=1).any()]
    assert len(off) > 100


@pytest.mark.parametrize("name", sorted(_fronts._table()))
def test_shipped_fronts_have_ten_digits_and_few_points(name):
    rows = _fronts.shipped(name)
    assert len(rows) == 400
    assert np.array_equal(np.array(_fronts.as_front(rows)), rows)
    m = rows.shape[1]
    assert name.startswith("models") or m == int(name.rpartition("m")[2] if "/m" in name else 2)


def test_each_point_of_viennet3s_front_has_the_least_second_objective_of_its_circle():
    """The first and the third depend on x² + y² alone, so that its front is a curve."""
    from scipy.spatial import KDTree

    rows = _fronts.shipped("models/viennet3")
    squares = np.linspace(0.0, 18.0, 200_001)
    values = models.viennet3(np.column_stack((np.sqrt(squares), np.zeros_like(squares))))
    _, nearest = KDTree(values[:, [0, 2]]).query(rows[:, [0, 2]])
    angle = np.linspace(0.0, 2.0 * np.pi, 4001)
    circles = np.sqrt(squares[nearest])[:, None, None] * np.stack((np.cos(angle), np.sin(angle)), axis=-1)
    second = models.viennet3(circles.reshape(-1, 2))[:, 1].reshape(len(rows), -1)
    least = np.where((np.abs(circles) <= 3.0).all(axis=2), second, np.inf).min(axis=1)
    assert (rows[:, 1] - least).max() < 1e-3
    assert (rows[:, 1] - least).min() > -5e-3  # where the circle leaves the box, the angles miss the least a little


def test_no_decision_of_a_fine_sample_beats_viennet3s_front():
    front = _fronts.shipped("models/viennet3")
    low, high = front.min(axis=0), front.max(axis=0)
    F = models.viennet3(np.random.default_rng(7).uniform(-3.0, 3.0, (300_000, 2)))
    assert beaten((front - low) / (high - low), ((F - low) / (high - low))[non_dominated(F)]) < 1e-9


def test_the_decisions_of_tanakas_front_are_feasible():
    rows = _fronts.shipped("models/tanaka")  # its objectives are its decisions
    assert models.tanaka_violations(rows).max() < 1e-8  # ten digits


@functools.cache
def found(id, name, evaluations=6000):
    """The feasible points that an optimizer meets."""
    problem = build(id)
    optimizer = get_optimizer(name)(
        problem.space, objectives=len(problem.objectives), rng=np.random.default_rng(1), pop_size=100
    )
    kept = []
    for _ in range(evaluations // 100):
        X = optimizer.suggest(100)
        y = problem.evaluate_matrix(X)
        violations = problem.violations_matrix(X) if problem.constraints else np.empty((len(X), 0))
        optimizer.observe(X, y, violations)
        kept.append(y[(violations <= 0).all(axis=1)])
    return np.vstack(kept)


@pytest.mark.parametrize("id", [*(f"models/{name}" for name in models.MODELS), "zdt/zdt3/d5", "dtlz/dtlz7/m3/d6"])
@pytest.mark.slow
def test_two_optimizers_come_near_the_front_and_do_not_beat_it(id):
    """Near is 3 % of the range from ideal to nadir on average, and beaten is 0.001 % in every objective."""
    pytest.importorskip("pymoo")
    known = build(id).known
    low, high = np.array(known.ideal), np.array(known.nadir)
    front = (np.array(known.front) - low) / (high - low)
    for name in ("Pymoo-NSGA2", "Pymoo-GDE3"):
        F = (found(id, name) - low) / (high - low)
        F = F[non_dominated(F)]
        assert beaten(front, F) < 1e-5, name
        assert igd_plus(F, front) < 0.03, name


# ---- what a store keeps ---------------------------------------------------------------------------------------------


def test_a_card_carries_the_front_and_a_problem_can_be_pickled():
    problem = build("dtlz/dtlz2/m3/d12")
    assert problem_card(problem).known.front == problem.known.front
    again = pickle.loads(pickle.dumps(problem))
    X = points_of(problem)
    assert np.array_equal(again.evaluate_matrix(X), problem.evaluate_matrix(X))


def test_fronts_that_differ_in_last_digits_are_the_same_problem():
    import msgspec

    from optarena.store.merging import differing

    card = problem_card(build("zdt/zdt6/d10"))
    other = msgspec.structs.replace(
        card, known=msgspec.structs.replace(card.known, front=tuple((a, b + 1e-10) for a, b in card.known.front))
    )
    assert differing(card, other) is None
    moved = msgspec.structs.replace(
        card, known=msgspec.structs.replace(card.known, front=tuple((a, b + 1e-3) for a, b in card.known.front))
    )
    assert differing(card, moved) == "known"


def test_lattices_have_the_size_and_the_sum_of_a_simplex():
    for m in (2, 3, 5, 8, 10):
        rows = lattice(m, _fronts.POINTS)
        assert 200 <= len(rows) <= _fronts.POINTS
        assert rows.sum(axis=1) == pytest.approx(1.0)
        assert len(np.unique(rows, axis=0)) == len(rows)
    assert wfg.positions(2) == 4
