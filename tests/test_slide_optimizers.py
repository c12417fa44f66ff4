"""HyperOpt, nevergrad, scikit-optimize, PySOT and OpenTuner behind the contract. The kit: test_conformance.py."""

from __future__ import annotations

import logging
import random
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import optarena as oa
from optarena.cli import main
from optarena.optimizer import BUILT_IN, get_optimizer
from optarena.optimizers import _codec
from optarena.optimizers._global_state import GlobalState
from optarena.optimizers._pending import Finite
from optarena.problem import build
from optarena.space import Space
from optarena.testing import MIXED, REAL

GAUSSIAN = ("Scikit-GP-Hedge", "Scikit-GP-LCB")
SCIKIT = ("Scikit-GBRT-Hedge", *GAUSSIAN)
NAMES = (
    "HyperOpt",
    "Nevergrad-OnePlusOne",
    "Nevergrad-NgIohTuned",
    "Nevergrad-DE",
    "Nevergrad-PSO",
    *SCIKIT,
    "PySOT",
    "OpenTuner-BanditA",
    "OpenTuner-GA",
    "OpenTuner-GA-DE",
)
ALL_SORTS = Space(
    MIXED.config
    | {
        "log": {"type": "real", "space": "log", "range": [1e-5, 10.0]},
        "whole-log": {"type": "int", "space": "log", "range": [1, 3]},
        "whole-bilog": {"type": "int", "space": "bilog", "range": [-20, 20]},
        "whole-linear": {"type": "int", "space": "linear", "range": [-30, 70]},
        "whole-values": {"type": "int", "space": "linear", "values": [7, -1, 3]},
        "one": {"type": "real", "space": "linear", "range": [2.0, 2.0]},
        "only": {"type": "int", "space": "linear", "range": [4, 4]},
    }
)
TINY = Space({"a": {"type": "int", "space": "linear", "range": [0, 1]}, "b": {"type": "bool"}})


def need(name):
    if not BUILT_IN[name].installed:
        pytest.skip(f"needs the extra {BUILT_IN[name].extra}")


def make(name, space=REAL, seed=1, budget=60, **settings):
    need(name)
    cls = get_optimizer(name)
    if cls.capabilities.uses_budget:
        settings["budget"] = budget
    if name in SCIKIT:  # with the usual 10,000 candidates, tests take minutes
        settings = {"n_points": 200, "n_restarts_optimizer": 1} | settings
    return cls(space, rng=np.random.default_rng(seed), **settings)


def bowl(space):
    return lambda X: ((space.to_unit(X) - 0.3) ** 2).sum(axis=1, keepdims=True)


def play(optimizer, value, evaluations, batch=1):
    points, values = [], []
    try:
        for _ in range(evaluations // batch):
            X = optimizer.suggest(batch)
            optimizer.space.check(X)
            y = value(X)
            optimizer.observe(X, y)
            points.append(X)
            values.append(y)
    finally:
        optimizer.close()
    return np.concatenate(points), np.concatenate(values)


# ---- all of them ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("error")
def test_20_steps_on_all_sorts_are_valid_silent_leave_nothing_behind_and_repeat(name, capfd):
    need(name)
    settings = {"n_initial_points": 14} if name in SCIKIT else {}
    handlers, formatter, threads = list(logging.root.handlers), logging.Formatter, threading.enumerate()
    states = random.getstate(), repr(np.random.get_state())  # noqa: NPY002
    first, _ = play(make(name, ALL_SORTS, **settings), bowl(ALL_SORTS), 20)
    again, _ = play(make(name, ALL_SORTS, **settings), bowl(ALL_SORTS), 20)
    assert np.array_equal(first, again)
    assert (random.getstate(), repr(np.random.get_state())) == states  # noqa: NPY002
    assert capfd.readouterr() == ("", "")
    assert threading.enumerate() == threads
    assert not list(Path().iterdir())
    assert (logging.root.handlers, logging.Formatter) == (handlers, formatter)


@pytest.mark.parametrize("name", NAMES)
def test_each_beats_random_search_on_the_sphere(name):
    problem = build("functions/sphere/d5")
    evaluations = {"Nevergrad-NgIohTuned": 100, "PySOT": 100, "Scikit-GBRT-Hedge": 80}.get(name, 200)
    evaluations = 30 if name in GAUSSIAN else evaluations

    def value(X):
        return np.reshape(problem.evaluate_matrix(X), (-1, 1))

    _, values = play(make(name, problem.space, budget=evaluations), value, evaluations)
    at_random = [play(make("RandomSearch", problem.space, seed), value, evaluations)[1].min() for seed in range(5)]
    assert values.min() < np.median(at_random) / (1 if name == "Scikit-GBRT-Hedge" else 2)


@pytest.mark.parametrize("name", NAMES)
def test_a_tiny_space_is_gone_through_and_ends_in_words_if_at_all(name):
    seen = set()

    def value(X):
        seen.add(tuple(X[0]))
        return X[:, :1]

    if name.startswith("OpenTuner"):
        with pytest.raises(oa.Exhausted, match="all 4 points"):
            play(make(name, TINY), value, 25)
    else:
        play(make(name, TINY), value, 12 if name in SCIKIT else 25)
    assert len(seen) == 4


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "space",
    [Space.box(2.0, 2.0, 1), Space.box(0.0, 1.0, 1), Space({"c": {"type": "cat", "values": ["a", "b", "c"]}})],
    ids=["a point", "a line", "a category"],
)
def test_the_smallest_spaces_are_searched(name, space):
    if name.startswith("OpenTuner") and space.parameters[0].type == "cat":
        with pytest.raises(oa.Exhausted, match="all 3 points"):
            play(make(name, space), lambda X: X, 8)
    else:
        play(make(name, space), lambda X: X, 8)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "value",
    [
        lambda X: np.zeros((len(X), 1)),
        lambda X: np.full((len(X), 1), np.nan),
        lambda X: np.where(X[:, :1] > 0, np.nan, X[:, :1]),
        lambda X: np.where(X[:, :1] > 0, -np.inf, 1e250 * X[:, :1]),
    ],
    ids=["constant", "all fail", "some fail", "infinite and huge"],
)
@pytest.mark.filterwarnings("error")
def test_strange_values_are_survived_without_a_word(name, value, capfd):
    play(make(name), value, 24 if name not in SCIKIT else 8, 2)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", [name for name in NAMES if name != "Nevergrad-NgIohTuned"])
def test_what_others_found_is_learnt(name):
    """Told of points around the optimum before it begins, an optimizer is soon near it."""
    space = Space.box(-5.0, 5.0, 3)
    told = space.from_unit(0.3 + np.random.default_rng(3).normal(0, 0.03, (24, 3)))
    fresh = make(name, space, n_startup_jobs=1) if name == "HyperOpt" else make(name, space)
    fresh.observe(told, bowl(space)(told))
    count = 12 if name in SCIKIT else 60
    _, values = play(fresh, bowl(space), count)
    _, without = play(make(name, space), bowl(space), count)
    assert values.min() < 0.01 or values.min() < without.min()


def test_the_list_says_what_is_installed_what_each_can_do_its_licence_and_whether_it_is_maintained(capsys):
    assert main(["list", "optimizers"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert lines["optimizer"].split() == ["optimizer", "library", "installed", "capabilities", "licence", "maintained"]
    assert all(entry.licence != "?" and entry.maintained != "?" for entry in BUILT_IN.values())
    for name in NAMES:
        for part in (BUILT_IN[name].library, BUILT_IN[name].licence, BUILT_IN[name].maintained, "mixed spaces"):
            assert part in lines[name]
        assert BUILT_IN[name].installed or f"pip install 'optarena[{BUILT_IN[name].extra}]'" in lines[name]
    assert "unsuggested points" not in lines["Nevergrad-NgIohTuned"]
    assert "no (last release 2020)" in lines["PySOT"]


def test_a_missing_library_is_one_line_that_says_what_to_install(monkeypatch):
    monkeypatch.setattr(oa.optimizer.importlib.util, "find_spec", lambda module: None)
    for name in NAMES:
        extra = BUILT_IN[name].extra
        with pytest.raises(oa.OptarenaError, match=rf"pip install 'optarena\[{extra}\]'"):
            get_optimizer(name)


@pytest.mark.parametrize(
    ("name", "settings", "text"),
    [
        ("HyperOpt", {"gamma": 0.0}, "gamma"),
        ("HyperOpt", {"n_startup_jobs": 0}, "n_startup_jobs"),
        ("Nevergrad-OnePlusOne", {"mutation": "gausian"}, "Did you mean 'gaussian'"),
        ("Nevergrad-DE", {"popsize": "huge"}, "popsize"),
        ("Nevergrad-DE", {"popsize": 2}, "popsize"),
        ("Nevergrad-PSO", {"omega": -1.0}, "omega"),
        ("Nevergrad-PSO", {"transform": "atan"}, "Did you mean 'arctan'"),
        ("Scikit-GP-LCB", {"strategy": "cl_median"}, "strategy"),
        ("Scikit-GP-LCB", {"n_initial_points": 0}, "n_initial_points"),
        ("PySOT", {"weights": []}, "weights"),
        ("PySOT", {"weights": [0.3, 2.0]}, "weights"),
        ("OpenTuner-GA", {"bail_threshold": 0}, "bail_threshold"),
    ],
)
def test_settings_are_checked(name, settings, text):
    with pytest.raises(oa.OptarenaError, match=text):
        make(name, **settings)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("HyperOpt", {"n_startup_jobs": 3, "n_EI_candidates": 5, "gamma": 0.5, "prior_weight": 0.5}),
        ("Nevergrad-OnePlusOne", {"mutation": "lengler"}),
        ("Nevergrad-DE", {"popsize": 8, "initialization": "QR", "crossover": 0.9, "F1": 0.5, "F2": 0.5}),
        ("Nevergrad-PSO", {"popsize": 5, "omega": 0.5, "phip": 1.0, "phig": 1.0, "transform": "identity"}),
        ("Scikit-GP-LCB", {"kappa": 3.0, "n_initial_points": 8}),
        ("Scikit-GBRT-Hedge", {"n_initial_points": 8, "strategy": "cl_max"}),
        ("PySOT", {"num_cand": 50, "weights": [0.5], "eta": 1e-3}),
    ],
)
def test_settings_are_passed_through(name, settings):
    there, _ = play(make(name, REAL, **settings), bowl(REAL), 12, 2)
    usual, _ = play(make(name, REAL), bowl(REAL), 12, 2)
    assert len(there) == 12
    if name not in ("HyperOpt", "Nevergrad-OnePlusOne", "PySOT"):  # which begin alike, or have a design first
        assert not np.array_equal(there, usual)


# ---- the same points as the library alone ---------------------------------------------------------------------------


def test_hyperopt_by_fmin_and_through_us_gives_the_same_points():
    need("HyperOpt")
    from hyperopt import fmin, hp, tpe

    native, space = [], Space.box(-5.0, 5.0, 2)

    def function(x):
        native.append([x["x1"], x["x2"]])
        return float(bowl(space)(np.array(native[-1:]))[0, 0])

    expression = {name: hp.uniform(name, -5.0, 5.0) for name in space.names}
    fmin(function, expression, tpe.suggest, 40, rstate=np.random.default_rng(9), verbose=False, show_progressbar=False)
    points, _ = play(make("HyperOpt", space, seed=9), bowl(space), 40)
    assert np.array_equal(points, np.array(native))


@pytest.mark.parametrize("name", ["OnePlusOne", "DE", "PSO", "NgIohTuned"])
def test_nevergrad_by_hand_and_through_us_gives_the_same_points(name):
    """NgIohTuned takes COBYLA here, which nevergrad runs in a thread."""
    need(f"Nevergrad-{name}")
    import nevergrad

    space, rng, native = Space.box(0.0, 1.0, 5), np.random.default_rng(9), []
    with GlobalState(rng, python=False), warnings.catch_warnings(action="ignore"):
        parametrization = nevergrad.p.Array(shape=(5,), lower=0.0, upper=1.0)
        parametrization.random_state = np.random.RandomState(int(rng.integers(2**32)))
        budget = 60 if name == "NgIohTuned" else None
        engine = nevergrad.optimizers.registry[name](parametrization, budget, 1)
        for _ in range(60):
            candidate = engine.ask()
            native.append(candidate.value)
            engine.tell(candidate, float(bowl(space)(candidate.value[None])[0, 0]))
    points, _ = play(make(f"Nevergrad-{name}", space, seed=9), bowl(space), 60)
    assert np.array_equal(points, np.array(native))


@pytest.mark.parametrize("batch", [1, 2])
def test_skopt_by_hand_and_through_us_gives_the_same_points(batch):
    need("Scikit-GP-LCB")
    import skopt

    space, rng, native = Space.box(-5.0, 5.0, 2), np.random.default_rng(9), []
    with GlobalState(rng, python=False), warnings.catch_warnings(action="ignore"):
        seed = int(rng.integers(2**32))
        few = {"n_points": 200, "n_restarts_optimizer": 1}
        dimensions = [(-5.0, 5.0)] * 2
        engine = skopt.Optimizer(
            dimensions, "GP", n_initial_points=5, acq_func="LCB", acq_optimizer_kwargs=few, random_state=seed
        )
        for _ in range(10 // batch):
            asked = [engine.ask()] if batch == 1 else engine.ask(batch)
            native += asked
            engine.tell(asked, bowl(space)(np.array(asked))[:, 0].tolist())
    points, _ = play(make("Scikit-GP-LCB", space, seed=9), bowl(space), 10, batch)
    assert np.array_equal(points, np.array(native))


def test_pysot_by_its_controller_and_through_us_gives_the_same_points():
    need("PySOT")
    from poap.controller import SerialController
    from pySOT.experimental_design import SymmetricLatinHypercube
    from pySOT.optimization_problems import OptimizationProblem
    from pySOT.strategy import SRBFStrategy
    from pySOT.surrogate import CubicKernel, LinearTail, RBFInterpolant

    space, native = Space.box(0.0, 1.0, 2), []

    def function(x):
        native.append(np.array(x))
        return float(bowl(space)(native[-1][None])[0, 0])

    with GlobalState(np.random.default_rng(9), python=False), warnings.catch_warnings(action="ignore"):
        problem = OptimizationProblem()
        problem.dim, problem.lb, problem.ub = 2, np.zeros(2), np.ones(2)
        problem.int_var, problem.cont_var = np.array([], dtype=int), np.arange(2)
        surrogate = RBFInterpolant(2, problem.lb, problem.ub, kernel=CubicKernel(), tail=LinearTail(2), eta=1e-4)
        controller = SerialController(objective=function)
        design = SymmetricLatinHypercube(dim=2, num_pts=6)
        controller.strategy = SRBFStrategy(80, problem, design, surrogate, asynchronous=True)
        controller.run()
    points, _ = play(make("PySOT", space, seed=9), bowl(space), 80)
    assert np.array_equal(points, np.array(native))


# ---- warps, categories, failures ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "settings"), [("HyperOpt", {"n_startup_jobs": 1000}), ("Scikit-GP-LCB", {"n_initial_points": 1000})]
)
def test_logit_is_logit_and_bilog_is_bilog(name, settings):
    """Before it has learnt anything, each is uniform on the warped scale."""
    space = Space(
        {
            "logit": {"type": "real", "space": "logit", "range": [1e-4, 1 - 1e-4]},
            "bilog": {"type": "real", "space": "bilog", "range": [-1000.0, 1000.0]},
            "log": {"type": "real", "space": "log", "range": [1e-6, 1.0]},
            "whole": {"type": "int", "space": "log", "range": [1, 4096]},
        }
    )
    points, _ = play(make(name, space, **settings), bowl(space), 400)
    for column in space.to_unit(points).T:
        counts = np.histogram(column, bins=4, range=(0, 1))[0]
        assert counts.min() > 60, counts


@pytest.mark.parametrize("native", [(), (_codec.REAL, _codec.REAL_LOG, _codec.INT, _codec.INT_LOG)])
def test_a_point_goes_to_a_library_and_back_unchanged(native):
    codec = _codec.Codec(ALL_SORTS, native)
    X = ALL_SORTS.sample(200, np.random.default_rng(4))
    rows = [codec.encode(row) for row in X]
    assert np.allclose(codec.decode(rows), X, rtol=1e-9, atol=1e-9)
    kinds = dict(zip((p.name for p in codec.parameters), codec.kinds, strict=True))
    assert kinds["real"] == kinds["rate"] == kinds["whole-bilog"] == _codec.UNIT
    assert kinds["flag"] == kinds["colour"] == _codec.CATEGORY
    assert kinds["size"] == kinds["step"] == kinds["whole-values"] == _codec.INDEX
    assert "one" not in kinds
    assert "only" not in kinds


def test_steps_over_a_bound_go_back_to_it():
    codec = _codec.Codec(ALL_SORTS, (_codec.INT,))
    far = np.array([[1.1] * len(codec.kinds), [-1.1] * len(codec.kinds)])
    far[:, codec.kinds.index(_codec.INT)] = 70.6, -30.6
    ALL_SORTS.check(codec.decode(far))


def test_failures_are_told_as_the_worst_once_there_is_one():
    finite = Finite()
    assert finite(["a", "b"], [np.nan, np.inf]) == []
    assert finite(["c"], [3.0]) == [("a", 3.0), ("b", 3.0), ("c", 3.0)]
    assert finite(["d", "e", "f"], [np.nan, 5.0, -np.inf]) == [("d", 5.0), ("e", 5.0), ("f", 3.0)]
    assert finite(["g"], [1e300]) == [("g", 1e100)]


def test_a_failure_is_a_failed_trial_of_hyperopt_and_an_error_of_opentuner():
    hyperopt = make("HyperOpt", MIXED)
    hyperopt.observe(hyperopt.suggest(2), np.array([[1.0], [np.nan]]))
    hyperopt.observe(MIXED.sample(2, np.random.default_rng(3)), np.array([[2.0], [np.nan]]))
    assert hyperopt._trials.statuses() == ["ok", "fail", "ok", "fail"]
    opentuner = make("OpenTuner-BanditA", MIXED)
    opentuner.observe(opentuner.suggest(2), np.array([[1.0], [np.nan]]))
    results = opentuner._manager.search_driver.results_query().all()
    assert sorted((result.state, result.time) for result in results) == [("ERROR", np.inf), ("OK", 1.0)]
    opentuner.close()


# ---- what was mended ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["OpenTuner-BanditA", "OpenTuner-GA", "OpenTuner-GA-DE"])
def test_opentuner_asks_for_no_configuration_twice_and_keeps_what_it_asked_for(name):
    space = Space(
        {
            "a": {"type": "int", "space": "log", "range": [1, 9]},
            "b": {"type": "cat", "values": ["x", "y", "z"]},
            "c": {"type": "ordinal", "values": ["s", "m", "l"]},
        }
    )
    optimizer, asked = make(name, space), []
    for _ in range(40):
        X = optimizer.suggest(1)
        asked.append(tuple(X[0]))
        optimizer.observe(X, bowl(space)(X))
    kept = [result.configuration.data for result in optimizer._manager.search_driver.results_query().all()]
    assert len(set(asked)) == 40
    assert {tuple(row) for row in optimizer._decode(kept)} == set(asked)
    optimizer.close()


def test_a_study_of_its_own_random_states_leaves_the_users_as_they_are():
    state = GlobalState(np.random.default_rng(1))
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    expected = random.random(), np.random.rand()  # noqa: NPY002
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    with state:
        inside = random.random(), np.random.rand()  # noqa: NPY002
    assert (random.random(), np.random.rand()) == expected  # noqa: NPY002
    again = GlobalState(np.random.default_rng(1))
    with again:
        assert (random.random(), np.random.rand()) == inside  # noqa: NPY002
        first = random.random(), np.random.rand()  # noqa: NPY002
    with state:
        assert (random.random(), np.random.rand()) == first  # noqa: NPY002
