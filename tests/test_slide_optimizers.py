"""HyperOpt, nevergrad, scikit-optimize, PySOT and OpenTuner: what is theirs alone. The rest: test_optimizers.py."""

from __future__ import annotations

import random
import warnings

import numpy as np
import pytest

import optarena as oa
from optarena._global_state import GlobalState
from optarena.optimizers import _codec
from optarena.optimizers._pending import Finite
from optarena.space import Space
from optarena.testing import MIXED, REAL
from playing import ALL_SORTS, bowl, light, make, need, play


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
    there, _, _ = play(make(name, REAL, **light(name) | settings), bowl(REAL), 10, 2)
    usual, _, _ = play(make(name, REAL, **light(name)), bowl(REAL), 10, 2)
    assert len(there) == 10
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
    points, _, _ = play(make("HyperOpt", space, seed=9), bowl(space), 40)
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
    points, _, _ = play(make(f"Nevergrad-{name}", space, seed=9), bowl(space), 60)
    assert np.array_equal(points, np.array(native))


@pytest.mark.parametrize("batch", [1, 2])
def test_skopt_by_hand_and_through_us_gives_the_same_points(batch):
    need("Scikit-GP-LCB")
    import skopt

    space, rng, native = Space.box(-5.0, 5.0, 2), np.random.default_rng(9), []
    with GlobalState(rng, python=False), warnings.catch_warnings(action="ignore"):
        seed = int(rng.integers(2**32))
        few = light("Scikit-GP-LCB")
        dimensions = [(-5.0, 5.0)] * 2
        engine = skopt.Optimizer(
            dimensions, "GP", n_initial_points=5, acq_func="LCB", acq_optimizer_kwargs=few, random_state=seed
        )
        for _ in range(8 // batch):
            asked = [engine.ask()] if batch == 1 else engine.ask(batch)
            native += asked
            engine.tell(asked, bowl(space)(np.array(asked))[:, 0].tolist())
    points, _, _ = play(make("Scikit-GP-LCB", space, seed=9, **few), bowl(space), 8, batch)
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
    points, _, _ = play(make("PySOT", space, seed=9), bowl(space), 80)
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
    points, _, _ = play(make(name, space, **settings), bowl(space), 400)
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
    assert Finite()(["h", "i"], [1e300, np.nan]) == [("h", 1e100), ("i", 1e100)]


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
