"""Closed loops as open ones: the points are those of the native library, and nothing is left behind."""

from __future__ import annotations

import contextlib
import gc
import math
import resource
import sys
import warnings
import weakref

import numpy as np
import pytest
from greenlet import GreenletExit, getcurrent, greenlet
from scipy import optimize

import optarena as oa
from optarena.errors import Exhausted, OptarenaError
from optarena.optimizer import OPTIMIZERS, get_optimizer
from optarena.optimizers.closed_loop import LARGE, ClosedLoop
from optarena.space import Space

BOX = Space.box(-5.0, 4.0, 3)
MIXED = Space(
    {
        "rate": {"type": "real", "space": "log", "range": [1e-4, 1.0]},
        "depth": {"type": "int", "space": "linear", "range": [1, 9]},
        "kind": {"type": "cat", "values": ["a", "b", "c"]},
    }
)
CLOSED = ("Scipy-", "NLopt-", "SimulatedAnnealing", "Py-BOBYQA")
NAMES = [e.name for e in OPTIMIZERS.entries() if e.name.startswith(CLOSED) and (e.installed or e.name != "Py-BOBYQA")]
MANY = 10**9
SEED = "6f1f8a0e-4f0b-4c8e-9d67-0c2a53f3a001"


def rugged(x) -> float:
    """Smooth, with a few local minima; the optimum is inside."""
    x = np.asarray(x)
    return float(((x - 0.7) ** 2).sum() + 0.5 * (np.sin(2 * x) ** 2).sum() + 0.3 * x[0] * x[-1])


def play(optimizer, function, evaluations):
    """The points of a study and why it ended ('' if it did not)."""
    points = []
    try:
        while len(points) < evaluations:
            X = optimizer.suggest(1)
            points.append(X[0].copy())
            optimizer.observe(X, np.array([[function(X[0])]]))
    except Exhausted as end:
        return np.array(points), str(end)
    finally:
        optimizer.close()
    return np.array(points), ""


# ---- the same points as native ------------------------------------------------------------------------------------


def minimize(method, **options):
    def native(fun, x0, bounds, rng):
        optimize.minimize(fun, x0, method=method, bounds=bounds, options=options)

    return native


def nlopt_minimize(algorithm, seeded=False):
    def native(fun, x0, bounds, rng):
        import nlopt

        opt = nlopt.opt(getattr(nlopt, algorithm), len(x0))
        opt.set_lower_bounds(bounds.lb)
        opt.set_upper_bounds(bounds.ub)
        opt.set_min_objective(lambda x, _: fun(x))
        opt.set_maxeval(600)
        if seeded:
            nlopt.srand(int(rng.integers(2**31)))
        with contextlib.suppress(nlopt.RoundoffLimited):
            opt.optimize(x0)

    return native


def bobyqa(fun, x0, bounds, rng):
    import pybobyqa

    rng.integers(2**32)  # ours seeds NumPy's generator, which is not used without restarts
    pybobyqa.solve(fun, x0, bounds=(bounds.lb, bounds.ub), scaling_within_bounds=True, maxfun=600, do_logging=False)


STARTED = {
    "Scipy-NelderMead": minimize("Nelder-Mead", maxiter=MANY, maxfev=MANY),
    "Scipy-Powell": minimize("Powell", maxiter=MANY, maxfev=MANY),
    "Scipy-COBYLA": minimize("COBYLA", maxiter=MANY),
    "Scipy-COBYQA": minimize("COBYQA", maxiter=MANY, maxfev=MANY),
    "Scipy-LBFGSB": minimize("L-BFGS-B", maxiter=MANY, maxfun=MANY),
    "Scipy-SLSQP": minimize("SLSQP", maxiter=MANY),
    "Scipy-BasinHopping": lambda fun, x0, bounds, rng: optimize.basinhopping(
        fun, x0, niter=MANY, rng=rng, minimizer_kwargs={"method": "L-BFGS-B", "bounds": bounds}
    ),
    "NLopt-BOBYQA": nlopt_minimize("LN_BOBYQA"),
    "NLopt-SBPLX": nlopt_minimize("LN_SBPLX"),
    "NLopt-CRS2": nlopt_minimize("GN_CRS2_LM", seeded=True),
    "Py-BOBYQA": bobyqa,
}
UNSTARTED = {
    "SimulatedAnnealing": lambda fun, bounds, rng: optimize.dual_annealing(fun, bounds, rng=rng),
    "Scipy-DualAnnealing": lambda fun, bounds, rng: optimize.dual_annealing(fun, bounds, rng=rng),
    "Scipy-DifferentialEvolution": lambda fun, bounds, rng: optimize.differential_evolution(fun, bounds, rng=rng),
    "Scipy-DIRECT": lambda fun, bounds, rng: optimize.direct(fun, bounds),
    "Scipy-SHGO": lambda fun, bounds, rng: optimize.shgo(fun, bounds),
}


class Enough(Exception):
    pass


def natively(name, function, seed, evaluations):
    """What the library itself evaluates, from the same start and with the same generator."""
    rng, points = np.random.default_rng(seed), []
    low, high = BOX.low, BOX.high

    def fun(x):
        if len(points) == evaluations:
            raise Enough
        points.append(np.clip(x, low, high))  # COBYLA steps over bounds: the problem is met at the nearest point
        return function(points[-1])

    bounds = optimize.Bounds(low, high)
    try:
        if name in STARTED:
            x0 = low + rng.random(BOX.dimension) * (high - low)
            STARTED[name](fun, x0, bounds, rng)
        else:
            UNSTARTED[name](fun, bounds, rng)
    except Enough:
        pass
    return np.array(points)


def test_every_adapter_is_compared_with_its_library():
    assert set(NAMES) | {"Py-BOBYQA"} == {*STARTED, *UNSTARTED}


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_points_are_those_of_the_native_library_bit_for_bit(name, seed):
    expected = natively(name, rugged, seed, 600)
    ours, end = play(get_optimizer(name)(BOX, rng=np.random.default_rng(seed)), rugged, 600)
    assert len(expected) > 20
    assert ours.tobytes() == expected.tobytes()
    assert end.startswith("converged: ") if len(ours) < 600 else not end


def test_dual_annealing_has_two_names_and_one_class():
    assert get_optimizer("SimulatedAnnealing") is get_optimizer("Scipy-DualAnnealing")


@pytest.mark.parametrize("name", NAMES)
def test_study_b_after_a_equals_b_alone(name):
    cls = get_optimizer(name)
    alone, _ = play(cls(BOX, rng=np.random.default_rng(5)), rugged, 60)
    play(cls(BOX, rng=np.random.default_rng(6)), rugged, 45)
    after, _ = play(cls(BOX, rng=np.random.default_rng(5)), rugged, 60)
    assert np.array_equal(alone, after)


# ---- spaces -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_small_spaces_work(name, dimension):
    space = Space.box(-3.0, 5.0, dimension)
    points, end = play(get_optimizer(name)(space, rng=np.random.default_rng(1)), rugged, 150)
    assert len(points) == 150 or end.startswith("converged: "), end
    assert ((points >= space.low) & (points <= space.high)).all()


@pytest.mark.parametrize("name", NAMES)
def test_mixed_spaces_go_through_the_unit_cube(name):
    points, end = play(
        get_optimizer(name)(MIXED, rng=np.random.default_rng(1)), lambda x: float(abs(x[1] - 4) + x[0]), 80
    )
    assert len(points)
    assert "failed" not in end
    MIXED.check(points)


def test_a_parameter_with_no_room_is_left_where_it_is():
    line = {"type": "real", "space": "linear"}
    space = Space({"x": {**line, "range": [0.0, 2.0]}, "still": {**line, "range": [3.0, 3.0]}})
    for name in NAMES:
        points, _ = play(get_optimizer(name)(space, rng=np.random.default_rng(1)), lambda x: (x[0] - 1) ** 2, 40)
        assert (points[:, 1] == 3.0).all(), name


# ---- what goes wrong ----------------------------------------------------------------------------------------------


class Line(ClosedLoop):
    """Asks for 0, 0.1, 0.2, … and keeps what it is told."""

    steps = 5

    def __init__(self, space, *, told=None, **rest):
        super().__init__(space, **rest)
        self.told = told if told is not None else []

    def minimise(self, fun):
        for k in range(self.steps):
            self.told.append(fun(self.lower + 0.1 * k))
        return "converged: the line is at its end"


def live_greenlets():
    gc.collect()
    return sum(
        isinstance(thing, greenlet) and not thing.dead and thing is not getcurrent() for thing in gc.get_objects()
    )


def test_a_failure_is_told_as_the_worst_finite_value_so_far():
    values = iter([math.nan, 2.0, math.inf, -7.0, math.nan])
    told = []
    play(Line(BOX, told=told), lambda x: next(values), 5)
    assert told == [LARGE, 2.0, 2.0, -7.0]  # the fifth would be told at the next suggestion


def test_an_end_is_told_at_every_further_suggestion():
    optimizer = Line(BOX)
    assert play(optimizer, rugged, 9)[1] == "converged: the line is at its end"
    with pytest.raises(Exhausted, match="at its end"):
        optimizer.suggest(1)


def test_a_suggestion_stands_until_its_value_is_told():
    optimizer = Line(BOX)
    first = optimizer.suggest(1)
    assert np.array_equal(first, optimizer.suggest(1))
    with pytest.raises(OptarenaError, match="suggested last"):
        optimizer.observe(first + 1, np.array([[1.0]]))
    optimizer.observe(first.copy(), np.array([[1.0]]))
    with pytest.raises(OptarenaError, match="suggested last"):
        optimizer.observe(first, np.array([[1.0]]))
    optimizer.close()


def test_exceptions_in_the_minimiser_surface_as_they_are():
    class Broken(Line):
        def minimise(self, fun):
            fun(self.lower)
            raise ZeroDivisionError("the third simplex is flat")

    optimizer = Broken(BOX)
    X = optimizer.suggest(1)
    optimizer.observe(X, np.array([[1.0]]))
    with pytest.raises(ZeroDivisionError, match="flat"):
        optimizer.suggest(1)
    with pytest.raises(Exhausted, match="failed: ZeroDivisionError"):
        optimizer.suggest(1)
    optimizer.close()


def test_a_minimiser_that_calls_on_after_its_end_is_ended_all_the_same():
    class Stubborn(Line):
        def minimise(self, fun):
            for _ in range(3):
                with contextlib.suppress(GreenletExit):
                    fun(self.lower)
            return "converged: at last"

    before = live_greenlets()
    optimizer = Stubborn(BOX)
    optimizer.suggest(1)
    optimizer.close()
    assert live_greenlets() == before


@pytest.mark.parametrize("close", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_a_study_that_stops_early_leaves_no_greenlet(name, close):
    before, filters, errors = live_greenlets(), list(warnings.filters), np.geterr()
    optimizer = get_optimizer(name)(BOX, rng=np.random.default_rng(1))
    for _ in range(15):
        X = optimizer.suggest(1)
        optimizer.observe(X, np.array([[rugged(X[0])]]))
        assert list(warnings.filters) == filters
        assert np.geterr() == errors
    assert live_greenlets() == before + 1
    gone, runner = weakref.ref(optimizer), weakref.ref(optimizer._runner)
    if close:
        optimizer.close()
        assert runner() is None
    del optimizer, X
    gc.collect()
    assert gone() is None
    assert runner() is None
    assert live_greenlets() == before


def test_nested_closed_loops_work():
    class Outer(Line):
        def minimise(self, fun):
            inner = get_optimizer("Scipy-NelderMead")(BOX, rng=np.random.default_rng(1))
            play(inner, fun, 20)
            return "converged: inner is done"

    points, end = play(Outer(BOX), rugged, 50)
    assert len(points) == 20
    assert end == "converged: inner is done"


def some_nan(x):
    return math.nan if x[0] > 1.5 else rugged(x)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("large", [LARGE, 1e300, -math.inf])
def test_large_values_make_no_noise_and_numpys_state_is_the_callers(name, large):
    def function(x):
        assert np.geterr() == kept
        return large if x[0] > 0.5 else rugged(x)

    with warnings.catch_warnings(), np.errstate(under="print"):
        warnings.filterwarnings("error", message="(overflow|invalid value|divide by zero).*")
        kept = np.geterr()
        points, _ = play(get_optimizer(name)(BOX, rng=np.random.default_rng(3)), function, 150)
        assert len(points)
        assert np.geterr() == kept


@pytest.mark.parametrize("function", [some_nan, lambda x: math.nan, lambda x: math.inf], ids=["some", "all", "inf"])
@pytest.mark.parametrize("name", NAMES)
def test_failed_evaluations_are_survived(name, function):
    points, end = play(get_optimizer(name)(BOX, rng=np.random.default_rng(3)), function, 150)
    assert np.isfinite(points).all()
    assert len(points) == 150 or end.startswith(("converged: ", "ended without success: ")), end


# ---- settings ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "settings", "says"),
    [
        (
            "Scipy-NelderMead",
            {"x0": "center"},
            "Scipy-NelderMead: x0 must be one of random, centre.*Did you mean 'centre'",
        ),
        ("Scipy-NelderMead", {"xatol": -1}, "xatol must be a number of 0 or more, got -1"),
        ("Scipy-Powell", {"restarts": 1}, "restarts must be true or false"),
        ("Scipy-DualAnnealing", {"visit": 4}, "visit must be a number above 1 and below 3, got 4"),
        ("Scipy-DifferentialEvolution", {"mutation": [1]}, r"mutation must be a number or \[low, high\]"),
        ("Scipy-SHGO", {"iters": 0}, "iters must be a whole number from 1 to 100,000, got 0"),
        ("NLopt-CRS2", {"population": 1.5}, "population must be a whole number from 0"),
        ("Scipy-NelderMead", {"xatol": math.inf}, "xatol must be a number of 0 or more, got inf"),
        ("Scipy-DifferentialEvolution", {"mutation": 2}, "Scipy-DifferentialEvolution: mutation .* below 2, got 2$"),
        ("Scipy-DifferentialEvolution", {"mutation": [0.5, 2.0]}, r"mutation .* below 2, got \[0.5, 2.0\]$"),
        ("Scipy-BasinHopping", {"target_accept_rate": 1}, "target_accept_rate must .* above 0 and below 1, got 1$"),
        ("Scipy-BasinHopping", {"stepwise_factor": 1.0}, "stepwise_factor must .* above 0 and below 1, got 1.0$"),
        ("SimulatedAnnealing", {"restart_temp_ratio": 1}, "restart_temp_ratio must .* above 0 and below 1, got 1$"),
        ("Scipy-COBYLA", {"rhobeg": 1e-5}, "Scipy-COBYLA: tol must be at most rhobeg, which is 1e-05, got 0.0001"),
        ("Scipy-COBYQA", {"final_tr_radius": 2}, "final_tr_radius must be at most initial_tr_radius, .* 1, got 2"),
    ],
)
def test_a_wrong_setting_is_refused_in_words_when_planning_and_when_created(name, settings, says):
    with pytest.raises(OptarenaError, match=says):
        get_optimizer(name)(BOX, rng=np.random.default_rng(1), **settings)
    with pytest.raises(OptarenaError, match=says):
        oa.Experiment(oa.use(name, **settings), "functions/sphere/d5", 10).plan()


def test_each_name_of_a_class_stands_in_the_message_that_it_causes():
    for name in ("SimulatedAnnealing", "Scipy-DualAnnealing"):
        with pytest.raises(OptarenaError, match=f"^{name}: visit must be"):
            oa.Experiment(oa.use(name, visit=4), "functions/sphere/d5", 10).plan()


def test_a_population_too_small_for_the_dimension_is_refused_on_that_problem_alone():
    used = oa.use("NLopt-CRS2", population=4)
    plan = oa.Experiment(used, "functions/sphere/d{2,5}", 10).plan()
    assert [study.problem for study in plan.studies] == ["functions/sphere/d2"]
    (refused,) = plan.refused
    assert refused.reason == (
        "NLopt-CRS2: population must be 0 (NLopt's own, 10 (D + 1)) or at least D + 1, here 6, got 4"
    )
    with pytest.raises(OptarenaError, match="here 4, got 3"):
        get_optimizer("NLopt-CRS2")(BOX, population=3)
    points, _ = play(get_optimizer("NLopt-CRS2")(BOX, rng=np.random.default_rng(1), population=4), rugged, 40)
    assert len(points) == 40


def test_the_centre_is_a_start_and_restarts_go_on():
    cls = get_optimizer("Scipy-NelderMead")
    once, end = play(cls(BOX, rng=np.random.default_rng(1), x0="centre"), rugged, 1000)
    assert once[0].tolist() == [-0.5, -0.5, -0.5]
    assert end.startswith("converged")
    again, end = play(cls(BOX, rng=np.random.default_rng(1), x0="centre", restarts=True), rugged, 1000)
    assert not end
    assert np.array_equal(again[: len(once)], once)
    assert not np.array_equal(again[len(once)], once[0])


# ---- long studies and the real loop -------------------------------------------------------------------------------

LONG = {
    "Scipy-NelderMead": (12_000, {"restarts": True}),
    "Scipy-Powell": (12_000, {"restarts": True}),
    "Scipy-LBFGSB": (12_000, {"restarts": True}),
    "Scipy-SLSQP": (12_000, {"restarts": True}),
    "Scipy-DualAnnealing": (12_000, {}),
    "Scipy-DifferentialEvolution": (12_000, {"tol": 0.0}),
    "Scipy-BasinHopping": (10_000, {}),
    "Scipy-COBYLA": (900, {"restarts": True}),
    "Scipy-COBYQA": (900, {"restarts": True}),
    "NLopt-CRS2": (12_000, {}),
    "RandomSearch": (12_000, {}),
    "QuasiRandom": (12_000, {}),
}  # fewer where the library itself takes its time; the others end by themselves


@pytest.mark.parametrize("name", LONG)
def test_memory_is_flat_over_a_long_study(name):
    evaluations, settings = LONG[name]
    optimizer = get_optimizer(name)(Space.box(-5.0, 4.0, 5), rng=np.random.default_rng(1), **settings)
    noise, y = np.random.default_rng(2), np.empty((1, 1))

    def go_on(evaluations):
        for _ in range(evaluations):
            X = optimizer.suggest(1)
            y[0, 0] = ((X - 0.7) ** 2).sum() + noise.random()
            optimizer.observe(X, y)
        gc.collect()
        return sys.getallocatedblocks(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    blocks, peak = go_on(evaluations // 3)  # imports, populations
    more, higher = go_on(evaluations - evaluations // 3)
    optimizer.close()
    assert more - blocks < 800
    assert higher - peak < 20_000 * (1024 if sys.platform == "darwin" else 1)  # 20 MB


def test_all_of_them_through_the_loop_and_better_than_random(tmp_path):
    experiment = oa.Experiment(["RandomSearch", *NAMES], "functions/sphere/d5", "40*D", trials=5, seed=SEED)
    results = experiment.run(tmp_path / "store", workers=0)
    rows = results.studies.to_dicts()
    assert len(rows) == 5 * (len(NAMES) + 1)
    assert {row["status"] for row in rows} <= {"done", "stopped early"}
    best = {}
    for row in rows:
        best.setdefault(row["optimizer"], []).append(row["best"])
        if row["status"] == "stopped early":
            assert row["reason"].startswith("converged: ")
    median = {name: np.median(values) for name, values in best.items()}  # one start of Nelder-Mead may be unlucky
    # 200 evaluations are not three generations of DE's 75, nor much of CRS2's population of 60
    slow = {"Scipy-DifferentialEvolution", "NLopt-CRS2"}
    losers = [name for name in NAMES if name not in slow and median[name] >= median["RandomSearch"]]
    assert not losers, median
