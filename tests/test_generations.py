"""Libraries that think in generations: the helper, CMA-ES by pycma, and pymoo's GA, DE and PSO."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest

import optarena as oa
from optarena.optimizer import get_optimizer
from optarena.optimizers._generations import HUGE, Generational
from optarena.problem import build
from optarena.space import Space
from optarena.testing import INTEGER, MIXED, REAL, assert_optimizer

CMA = ["CMA-ES"]
PYMOO = ["Pymoo-GA", "Pymoo-DE", "Pymoo-PSO"]
ALL = CMA + PYMOO
TINY = Space({"a": {"type": "int", "space": "linear", "range": [0, 1]}, "b": {"type": "bool"}})


@pytest.fixture(autouse=True)
def _libraries():
    pytest.importorskip("cma")
    pytest.importorskip("pymoo")


def make(name, space=REAL, seed=1, **settings):
    return get_optimizer(name)(space, objectives=1, rng=np.random.default_rng(seed), **settings)


def bowl(space):
    return lambda X: ((space.to_unit(X) - 0.3) ** 2).sum(axis=1, keepdims=True)


def play(optimizer, value, evaluations, batch=1):
    """All points and all values."""
    points, values = [], []
    while sum(map(len, points)) < evaluations:
        X = optimizer.suggest(batch)
        optimizer.space.check(X)
        assert len(X) == batch
        y = value(X)
        optimizer.observe(X, y)
        points.append(X)
        values.append(y)
    return np.concatenate(points), np.concatenate(values)


# ---- the helper -----------------------------------------------------------------------------------------------------


class Counting(Generational):
    """Generations of 4 whose points are numbered; keeps what it is told."""

    def __init__(self, space, **kwargs):
        super().__init__(space, **kwargs)
        self.count, self.told = 0, []

    def _ask(self, n):
        return self._more(4)

    def _more(self, n):
        self.count += n
        return np.arange(self.count - n, self.count)[:, None] / 100

    def _tell(self, units, values, index):
        self.told.append((np.rint(units[:, 0] * 100).astype(int).tolist(), values[:, 0].tolist(), index.tolist()))


@pytest.fixture
def counting():
    return Counting(Space.box(0.0, 1.0, 1))


@pytest.mark.parametrize("batch", [1, 2, 4])
def test_a_generation_is_told_whole_and_in_order_when_it_is_complete(counting, batch):
    for _ in range(8 // batch):
        X = counting.suggest(batch)
        counting.observe(X, 100 * X)
    assert [told[0] for told in counting.told] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert counting.told[1][2] == [0, 1, 2, 3]


def test_a_batch_that_reaches_past_the_end_lengthens_the_generation(counting):
    for _ in range(2):
        X = counting.suggest(3)
        counting.observe(X, X)
    assert [told[0] for told in counting.told] == [[0, 1, 2, 3, 4, 5]]
    counting.observe(counting.suggest(9), np.zeros((9, 1)))
    assert counting.told[1][0] == list(range(6, 15))


def test_values_find_their_points_in_any_order(counting):
    X = counting.suggest(4)
    counting.observe(X[::-1], X[::-1])
    assert counting.told == [([0, 1, 2, 3], [0.0, 0.01, 0.02, 0.03], [0, 1, 2, 3])]


def test_points_never_suggested_count_and_come_last(counting):
    counting.observe(np.array([[0.5]]), np.array([[7.0]]))
    X = counting.suggest(3)
    counting.observe(X, X)
    assert counting.told == [([0, 1, 2, 50], [0.0, 0.01, 0.02, 7.0], [0, 1, 2, -1])]


def test_suggestions_that_are_ignored_do_not_hold_it_up(counting):
    for _ in range(4):
        counting.suggest(2)
        counting.observe(np.array([[0.6], [0.7]]), np.zeros((2, 1)))
    assert [told[0] for told in counting.told] == [[60, 70, 60, 70]] * 2


def test_many_points_told_before_the_first_suggestion_are_a_generation(counting):
    counting.observe(np.linspace(0.2, 0.9, 8)[:, None], np.zeros((8, 1)))
    assert counting.suggest(1).tolist() == [[0.04]]
    assert len(counting.told[0][0]) == 8


def test_a_failure_counts_as_the_worst_seen_and_infinity_stays_a_number(counting):
    counting.observe(counting.suggest(4), np.array([[np.nan], [np.nan], [np.nan], [np.nan]]))
    counting.observe(counting.suggest(4), np.array([[np.nan], [3.0], [5.0], [4.0]]))
    counting.observe(counting.suggest(4), np.array([[1.0], [np.nan], [np.inf], [-np.inf]]))
    values = [told[1] for told in counting.told]
    assert values == [[HUGE] * 4, [5.0, 3.0, 5.0, 4.0], [1.0, HUGE, HUGE, -HUGE]]


# ---- the same as the library by hand --------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [8, 1])
def test_cma_by_hand_and_through_us_gives_the_same_points(batch):
    import cma

    space = Space.box(0.0, 1.0, 5)
    rng = np.random.default_rng(3)
    options = {"bounds": [0, 1], "seed": np.nan, "randn": lambda *shape: rng.standard_normal(shape), "verbose": -9}
    strategy = cma.CMAEvolutionStrategy(5 * [0.5], 0.3, options | {"verb_log": 0, "popsize": 8})
    native = []
    while len(native) < 400:
        X = strategy.ask()
        native.extend(X)
        strategy.tell(X, [float(((x - 0.3) ** 2).sum()) for x in X])
    assert not strategy.stop()
    points, values = play(make("CMA-ES", space, seed=3), bowl(space), 400, batch)
    assert np.array_equal(points, np.array(native))
    assert values.min() == pytest.approx(strategy.result.fbest, abs=0)


@pytest.mark.parametrize("name", PYMOO)
@pytest.mark.parametrize("batch", [10, 1])
def test_pymoo_by_hand_and_through_us_gives_the_same_points(name, batch):
    from pymoo.algorithms.soo.nonconvex.de import DE
    from pymoo.algorithms.soo.nonconvex.ga import GA
    from pymoo.algorithms.soo.nonconvex.pso import PSO
    from pymoo.core.evaluator import Evaluator
    from pymoo.core.problem import Problem
    from pymoo.core.termination import NoTermination
    from pymoo.problems.static import StaticProblem

    space = Space.box(0.0, 1.0, 4)
    problem = Problem(n_var=4, n_obj=1, xl=0.0, xu=1.0)
    algorithm = {"Pymoo-GA": GA, "Pymoo-DE": DE, "Pymoo-PSO": PSO}[name](pop_size=10)
    algorithm.setup(problem, termination=NoTermination(), seed=np.random.default_rng(3))
    native = []
    for _ in range(12):
        members = algorithm.ask()
        X = members.get("X")
        native.append(X.copy())
        Evaluator().eval(StaticProblem(problem, F=bowl(space)(X)), members)
        algorithm.tell(infills=members)
    settings = {"CR": 0.2, "F": 0.5} if name == "Pymoo-DE" else {}
    points, _ = play(make(name, space, seed=3, pop_size=10, **settings), bowl(space), 120, batch)
    assert np.array_equal(points, np.concatenate(native))


# ---- each of them ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_they_conform(name):
    assert_optimizer(name)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("space", [REAL, INTEGER, MIXED], ids=["real", "integer", "mixed"])
@pytest.mark.parametrize("batch", [1, 3, 20])
def test_any_batch_on_any_space_is_valid_repeats_and_improves(name, space, batch):
    points, values = play(make(name, space), bowl(space), 120, batch)
    again, _ = play(make(name, space), bowl(space), 120, batch)
    assert np.array_equal(points, again)
    assert values[60:].mean() < values[:20].mean()


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    "value",
    [
        lambda X: np.zeros((len(X), 1)),
        lambda X: np.full((len(X), 1), np.nan),
        lambda X: np.full((len(X), 1), np.inf),
        lambda X: np.where(X[:, :1] > 0, np.nan, X[:, :1]),
        lambda X: np.where(X[:, :1] > 0, -np.inf, X[:, :1]),
    ],
    ids=["constant", "all fail", "all infinite", "some fail", "some minus infinity"],
)
@pytest.mark.filterwarnings("error")
def test_strange_values_are_survived_without_a_word(name, value, capfd):
    play(make(name), value, 300, 3)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", ALL)
def test_a_tiny_space_neither_stalls_nor_ends(name):
    points, _ = play(make(name, TINY), bowl(TINY), 300, 4)
    assert len(np.unique(points, axis=0)) == 4


@pytest.mark.parametrize("name", ALL)
def test_one_dimension_and_a_range_of_one_value_are_enough(name):
    space = Space({"x": {"type": "real", "space": "log", "range": [1e-3, 10.0]}})
    _, values = play(make(name, space), bowl(space), 100)
    assert values.min() < 1e-3
    play(make(name, Space.box(2.0, 2.0, 1)), lambda X: X, 100)


@pytest.mark.parametrize("name", ALL)
def test_points_never_suggested_teach(name):
    space = Space.box(0.0, 1.0, 3)
    good = np.full((15, 3), 0.3) + np.random.default_rng(5).normal(0, 0.01, (15, 3))
    medians = {True: [], False: []}
    for seed in range(5):
        for told, found in medians.items():
            optimizer = make(name, space, seed)
            if told:
                optimizer.observe(good, bowl(space)(good))
            found.append(np.median(play(optimizer, bowl(space), 25)[1]))
    assert np.mean(medians[True]) < np.mean(medians[False])


@pytest.mark.parametrize("name", ALL)
def test_each_beats_random_search_on_the_sphere(name):
    problem = build("functions/sphere/d5")

    def value(X):
        return np.reshape(problem.evaluate_matrix(X), (-1, 1))

    best = {}
    for each in (name, "RandomSearch"):
        best[each] = np.median([play(make(each, problem.space, s), value, 200)[1].min() for s in range(5)])
    assert best[name] < best["RandomSearch"] / 2


@pytest.mark.parametrize(("name", "setting"), [(name, "popsize" if name in CMA else "pop_size") for name in ALL])
def test_memory_is_flat_over_a_long_study(name, setting):
    optimizer = make(name, build("functions/sphere/d5").space, **{setting: 100})
    blocks = []
    for evaluations in (1_500, 1_500, 10_000):
        for _ in range(evaluations // 100):
            X = optimizer.suggest(100)
            optimizer.observe(X, (X**2).sum(axis=1, keepdims=True))
        gc.collect()
        blocks.append(sys.getallocatedblocks())
    assert blocks[2] - blocks[1] < 4_000


def test_cma_restarts_with_a_doubled_population_or_ends():
    space = Space.box(0.0, 1.0, 2)
    optimizer = make("CMA-ES", space, popsize=6)
    play(optimizer, bowl(space), 2000)
    assert optimizer._strategy.popsize in (12, 24, 48)
    with pytest.raises(oa.Exhausted, match="converged"):
        play(make("CMA-ES", space, restarts=False), bowl(space), 2000)


def test_the_population_is_whole_batches_unless_given():
    for batch, size in [(1, 8), (3, 9), (8, 8), (100, 100)]:
        optimizer = make("CMA-ES", Space.box(0.0, 1.0, 5))
        optimizer.suggest(batch)
        assert optimizer._strategy.popsize == size
    optimizer = make("CMA-ES", Space.box(0.0, 1.0, 5), popsize=10)
    play(optimizer, bowl(optimizer.space), 60, batch=3)
    assert optimizer._strategy.popsize == 10


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("CMA-ES", {"sigma0": 0}),
        ("CMA-ES", {"sigma0": "wide"}),
        ("CMA-ES", {"popsize": 1}),
        ("Pymoo-GA", {"pop_size": 2.5}),
        ("Pymoo-DE", {"variant": "DE/worst"}),
        ("Pymoo-DE", {"CR": 2.0}),
        ("Pymoo-DE", {"pop_size": 5, "variant": "DE/rand/2/bin"}),
        ("Pymoo-PSO", {"pop_size": 0}),
        ("Pymoo-PSO", {"w": "heavy"}),
    ],
)
def test_settings_are_checked(name, settings):
    with pytest.raises(oa.OptarenaError, match=next(iter(settings))):
        make(name, **settings)


def test_cma_leaves_the_directory_alone(tmp_path):
    (tmp_path / "cma_signals.in").write_text("{'timeout': 0}")
    optimizer = make("CMA-ES", restarts=False)
    play(optimizer, bowl(REAL), 50)
    assert [path.name for path in tmp_path.iterdir()] == ["cma_signals.in"]
