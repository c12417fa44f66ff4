"""Optimizers for several objectives: pymoo's and Optuna's, their constraints, and a run from plan to the best found."""

from __future__ import annotations

import json
import math
import uuid

import numpy as np
import pytest

import optarena as oa
from optarena.cli import main
from optarena.optimizer import check_settings, get_optimizer
from optarena.problem import build
from optarena.runner.again import replay
from optarena.space import Space
from optarena.testing import INTEGER, MIXED, REAL, check_optimizer
from optarena.views.pareto import hypervolume
from optarena.views.pareto.best import best_points

PYMOO = ["Pymoo-NSGA2", "Pymoo-NSGA3", "Pymoo-SPEA2", "Pymoo-SMSEMOA", "Pymoo-MOEAD", "Pymoo-GDE3", "Pymoo-CMOPSO"]
OPTUNA = ["Optuna-NSGA2", "Optuna-NSGA3"]
ALL = PYMOO + OPTUNA
ROOT = uuid.UUID(int=9)


@pytest.fixture(autouse=True)
def _libraries():
    pytest.importorskip("pymoo")
    pytest.importorskip("optuna")


def size(name, n):
    """The setting that says how large the population is."""
    return {"pop_size" if name in PYMOO else "population_size": n}


def make(name, space=REAL, seed=1, objectives=2, **settings):
    return get_optimizer(name)(space, objectives=objectives, rng=np.random.default_rng(seed), **settings)


def bowls(space, m=2):
    return lambda X: np.column_stack([((space.to_unit(X) - at) ** 2).sum(axis=1) for at in (0.2, 0.7, 0.5)[:m]])


def play(optimizer, value, evaluations, batch=1, violated=None):
    """All points and all values."""
    can = optimizer.capabilities
    batch = batch if can.batch else 1
    points, values = [], []
    while sum(map(len, points)) < evaluations:
        X = optimizer.suggest(batch)
        optimizer.space.check(X)
        assert len(X) == batch
        y = value(X)
        violations = np.empty((batch, 0)) if violated is None else violated(X)
        optimizer.observe(X, y, *([violations] if can.constraints else []))
        points.append(X)
        values.append(y)
    return np.concatenate(points), np.concatenate(values)


@pytest.mark.parametrize("name", ["RandomSearch", "QuasiRandom"])
def test_those_that_do_not_learn_take_any_number_of_objectives(name):
    X = make(name, objectives=5).suggest(4)
    assert X.shape == (4, REAL.dimension)


def test_the_kit_finds_who_cannot_take_three_objectives():
    class OnlyTwo(oa.Optimizer):
        capabilities = oa.Capabilities(one_objective=False, several_objectives=True)

        def suggest(self, n):
            return self.space.to_dicts(self.space.sample(n, self.rng))

        def observe(self, X, y):
            _first, _second = y.T

    findings = check_optimizer(OnlyTwo)
    assert findings
    assert {finding.where for finding in findings} <= {
        f"{name} space, 3 objectives" for name in ("real", "integer", "mixed")
    }


# ---- the same as the library by hand --------------------------------------------------------------------------------


def by_hand(name, space, value, generations, violated=None):
    """Points that pymoo asks for in its own loop, with populations of 12."""
    from pymoo.algorithms.moo import cmopso, gde3, nsga2, nsga3, sms, spea2
    from pymoo.core.evaluator import Evaluator
    from pymoo.core.problem import Problem
    from pymoo.core.termination import NoTermination
    from pymoo.operators.survival.rank_and_crowding import RankAndCrowding
    from pymoo.problems.static import StaticProblem
    from pymoo.util.ref_dirs import get_reference_directions

    algorithm = {
        "Pymoo-NSGA2": lambda: nsga2.NSGA2(pop_size=12),
        "Pymoo-NSGA3": lambda: nsga3.NSGA3(get_reference_directions("das-dennis", 2, n_partitions=11), pop_size=12),
        "Pymoo-SPEA2": lambda: spea2.SPEA2(pop_size=12, survival=spea2.SPEA2Survival(normalize=True)),
        "Pymoo-SMSEMOA": lambda: sms.SMSEMOA(pop_size=12),
        "Pymoo-GDE3": lambda: gde3.GDE3(pop_size=12, survival=RankAndCrowding()),
        "Pymoo-CMOPSO": lambda: cmopso.CMOPSO(pop_size=12),
    }[name]()
    constraints = 0 if violated is None else 1
    problem = Problem(n_var=space.dimension, n_obj=2, n_ieq_constr=constraints, xl=0.0, xu=1.0)
    algorithm.setup(problem, termination=NoTermination(), seed=np.random.default_rng(3))
    if name == "Pymoo-CMOPSO":  # its elite is cut by random numbers that no seed reaches
        cut = algorithm.elites.truncation.survival
        algorithm.elites.truncation = lambda members, k: cut.do(
            problem, members, n_survive=k, random_state=algorithm.random_state
        )
    out = []
    for _ in range(generations):
        members = algorithm.ask()
        X = members.get("X")
        out.append(X.copy())
        given = {"F": value(X)} | ({"G": violated(X)} if constraints else {})
        Evaluator().eval(StaticProblem(problem, **given), members)
        algorithm.tell(infills=members)
    return np.concatenate(out)


@pytest.mark.parametrize("batch", [12, 1])
@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("name", [name for name in PYMOO if name != "Pymoo-MOEAD"])
def test_pymoo_by_hand_and_through_us_gives_the_same_points(name, batch, constrained):
    space = Space.box(0.0, 1.0, 4)
    violated = (lambda X: X[:, :1] - 0.4) if constrained else None
    native = by_hand(name, space, bowls(space), 10, violated)
    points, _ = play(make(name, space, seed=3, pop_size=12), bowls(space), 120, batch, violated)
    assert np.array_equal(points, native)


def test_moead_is_pymoos_own_loop():
    from pymoo.algorithms.moo.moead import MOEAD
    from pymoo.core.problem import Problem
    from pymoo.util.ref_dirs import get_reference_directions

    space, seen = Space.box(0.0, 1.0, 4), []

    class Bowls(Problem):
        def __init__(self):
            super().__init__(n_var=4, n_obj=2, xl=0.0, xu=1.0)

        def _evaluate(self, x, out, *args, **kwargs):
            seen.append(np.atleast_2d(x).copy())
            out["F"] = bowls(space)(seen[-1])

    algorithm = MOEAD(get_reference_directions("das-dennis", 2, n_partitions=11), n_neighbors=5)
    algorithm.setup(Bowls(), termination=("n_eval", 120), seed=np.random.default_rng(3))
    while algorithm.has_next():
        algorithm.next()
    native = np.concatenate(seen)[:120]
    points, _ = play(make("Pymoo-MOEAD", space, seed=3, pop_size=12, n_neighbors=5), bowls(space), 120)
    assert np.array_equal(points, native)


def test_optuna_by_hand_and_through_us_gives_the_same_points():
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space = Space.box(0.0, 1.0, 2)
    sampler = optuna.samplers.NSGAIISampler(population_size=10, seed=int(np.random.default_rng(3).integers(2**32)))
    study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
    native = []
    for _ in range(60):
        trial = study.ask({n: optuna.distributions.FloatDistribution(0.0, 1.0) for n in ("x1", "x2")})
        x = np.array([[trial.params["x1"], trial.params["x2"]]])
        native.append(x[0])
        trial.set_constraint("0", float(x[0, 0] - 0.4))
        study.tell(trial, bowls(space)(x)[0].tolist())
    points, _ = play(
        make("Optuna-NSGA2", space, seed=3, population_size=10), bowls(space), 60, violated=lambda X: X[:, :1] - 0.4
    )
    assert np.array_equal(points, np.array(native))


# ---- each of them ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(("space", "batch"), [(REAL, 1), (INTEGER, 7), (MIXED, 20)], ids=["real", "integer", "mixed"])
def test_any_batch_on_any_space_is_valid_repeats_and_improves(name, space, batch):
    points, values = play(make(name, space, **size(name, 20)), bowls(space), 240, batch)
    again, _ = play(make(name, space, **size(name, 20)), bowls(space), 240, batch)
    assert np.array_equal(points, again)
    assert values[-100:].sum(axis=1).mean() < values[:40].sum(axis=1).mean()


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    "value",
    [
        lambda X: np.zeros((len(X), 2)),
        lambda X: np.full((len(X), 2), np.nan),
        lambda X: np.full((len(X), 2), np.inf),
        lambda X: np.where(X[:, :1] > 0, np.nan, X[:, :2]),
        lambda X: np.where(X[:, :1] > 0, [[-np.inf, 1.0]], X[:, :2]),
    ],
    ids=["constant", "all fail", "all infinite", "some fail", "some minus infinity"],
)
@pytest.mark.filterwarnings("error")
def test_strange_values_are_survived_without_a_word(name, value, capfd):
    play(make(name, **size(name, 10)), value, 90, 3)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["Pymoo-NSGA2", "Pymoo-NSGA3", "Pymoo-MOEAD", "Optuna-NSGA3"])
@pytest.mark.parametrize("m", [3, 8])
def test_many_objectives_are_taken(name, m):
    space = Space.box(0.0, 1.0, m + 2)
    problem = build(f"dtlz/dtlz2/m{m}/d{m + 2}")
    play(make(name, space, objectives=m, **size(name, 24)), problem.evaluate_matrix, 100, 4)


@pytest.mark.parametrize("name", [*ALL, "Optuna-TPE"])
def test_constraints_are_honoured(name):
    """Where half of the cube is infeasible and better, what is suggested later is mostly feasible."""
    if not get_optimizer(name).capabilities.constraints:
        assert name == "Pymoo-MOEAD"
        return
    space = Space.box(0.0, 1.0, 3)
    settings = size(name, 20) if name != "Optuna-TPE" else {}
    points, _ = play(
        make(name, space, **settings), lambda X: np.column_stack((X[:, 0], X[:, 0] + X[:, 1])), 160, 4,
        violated=lambda X: 0.5 - X[:, :1],
    )  # fmt: skip
    later = points[-60:, 0]
    # Optuna's TPE keeps close to the border: what is infeasible is so by little
    assert (later >= 0.5).mean() > 0.65 or (later >= 0.4).mean() > 0.95


@pytest.mark.parametrize("name", ["Pymoo-GA", "Pymoo-DE", "Pymoo-PSO"])
def test_pymoos_others_honour_constraints_too(name):
    space = Space.box(0.0, 1.0, 3)
    points, values = play(
        make(name, space, objectives=1), lambda X: X.sum(axis=1, keepdims=True), 400, 20,
        violated=lambda X: 1.0 - X.sum(axis=1, keepdims=True),
    )  # fmt: skip
    feasible = points.sum(axis=1) >= 1.0
    assert feasible[-100:].mean() > 0.5
    assert values[feasible].min() < 1.1


@pytest.mark.parametrize("name", ["Pymoo-NSGA2", "Pymoo-SPEA2", "Pymoo-SMSEMOA", "Pymoo-GDE3", "Pymoo-CMOPSO"])
def test_each_beats_random_search_on_zdt1(name):
    problem = build("zdt/zdt1/d6")
    volumes = {}
    for each in (name, "RandomSearch"):
        _, y = play(
            make(each, problem.space, **(size(name, 40) if each == name else {})), problem.evaluate_matrix, 1200, 40
        )
        volumes[each] = hypervolume(y, [1.1, 1.1])
    assert volumes[name] > volumes["RandomSearch"] + 0.2


def test_one_study_leaves_nothing_for_the_next():
    """SPEA2's default survival is one object for all studies of a process, with ideal and nadir points in it."""
    space = Space.box(0.0, 1.0, 3)
    alone, _ = play(make("Pymoo-SPEA2", space, seed=2, pop_size=8), bowls(space), 64, 8)
    play(make("Pymoo-SPEA2", space, seed=3, pop_size=8), lambda X: 1e6 * bowls(space)(X), 64, 8)
    again, _ = play(make("Pymoo-SPEA2", space, seed=2, pop_size=8), bowls(space), 64, 8)
    assert np.array_equal(alone, again)


def test_directions_are_as_many_as_fit():
    from optarena.optimizers.pymoo_pareto import directions

    for m, n in ((2, 100), (3, 91), (5, 70), (8, 36 + 36), (10, 55)):
        rows = directions(m, 100)
        assert len(rows) <= 100
        assert rows.sum(axis=1) == pytest.approx(1.0)
        assert len(rows) >= n - 20
    assert len(directions(3, 91)) == math.comb(14, 2)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("Pymoo-NSGA2", {"pop_size": 3}),
        ("Pymoo-GDE3", {"pop_size": 6}),
        ("Pymoo-GDE3", {"variant": "DE/worst/1/bin"}),
        ("Pymoo-MOEAD", {"n_neighbors": 1}),
        ("Pymoo-CMOPSO", {"max_velocity_rate": 0.0}),
        ("Pymoo-SMSEMOA", {"n_offsprings": 0}),
        ("Optuna-NSGA2", {"population_size": 1}),
    ],
)
def test_settings_are_checked(name, settings):
    with pytest.raises(oa.OptarenaError, match=next(iter(settings))):
        make(name, **settings)


@pytest.mark.parametrize("name", ["Pymoo-NSGA2", "Pymoo-SMSEMOA", "Pymoo-MOEAD", "Pymoo-GDE3", "Pymoo-CMOPSO"])
def test_what_the_declared_limits_let_through_is_taken_by_the_library(name):
    cls, space = get_optimizer(name), Space.box(-5.0, 4.0, 3)
    for key, setting in cls.settings.items():
        for value in [0, 1e-9, 0.999, 1, 2, 4, 8, 10.0, *setting.words]:
            settings = {"pop_size": 8} | {key: value}
            try:
                check_settings(cls, name, settings, space.dimension)
            except oa.OptarenaError:
                continue
            play(make(name, space, **settings), bowls(space), 20)


# ---- a run ----------------------------------------------------------------------------------------------------------


def test_pairings_that_cannot_work_are_refused_and_named():
    plan = oa.Experiment(
        ["CMA-ES", "Pymoo-NSGA2", "Pymoo-MOEAD"], ["zdt/zdt1/d5", "functions/sphere/d2", "models/tanaka"], 20
    ).plan()
    refused = {(item.optimizer, item.problem): item.reason for item in plan.refused}
    assert refused == {
        (
            "CMA-ES",
            "zdt/zdt1/d5",
        ): "takes one objective, the problem has 2: use one for several objectives (optarena list optimizers), or"
        " Scalarised(optimizer=CMA-ES)",
        (
            "CMA-ES",
            "models/tanaka",
        ): "takes one objective, the problem has 2: use one for several objectives (optarena list optimizers), or"
        " Scalarised(optimizer=CMA-ES)",
        ("Pymoo-NSGA2", "functions/sphere/d2"): "takes several objectives, the problem has one",
        ("Pymoo-MOEAD", "functions/sphere/d2"): "takes several objectives, the problem has one",
        ("Pymoo-MOEAD", "models/tanaka"): "takes no constraints, the problem has 2",
    }
    batches = oa.Experiment(["Pymoo-MOEAD"], ["zdt/zdt1/d5"], 20, batch=4).plan()
    assert batches.refused[0].reason == "gives one point at a time, the batch is 4"


USE = {"use": "Pymoo-NSGA2", "settings": {"pop_size": 8}}


@pytest.mark.parametrize("record", ["all", "improvements"])
@pytest.mark.parametrize("problem", ["zdt/zdt1/d3", "models/tanaka"])
def test_a_study_that_goes_on_is_the_study_that_never_stopped(record, problem, tmp_path):
    fields = {"seed": ROOT, "record": record, "batch": 4}
    oa.Experiment([USE], problem, 40, **fields).run(tmp_path / "parts", workers=0)
    parts = oa.Experiment([USE], problem, 100, **fields).run(tmp_path / "parts", workers=0)
    whole = oa.Experiment([USE], problem, 100, **fields).run(tmp_path / "whole", workers=0)
    one, two = parts.in_full().traces(), whole.in_full().traces()
    assert parts.studies["evaluations"].to_list() == [100]
    assert np.array_equal(one.evaluation, two.evaluation)
    assert np.array_equal(one.values, two.values)
    assert np.array_equal(one.feasible, two.feasible)
    if record == "improvements":
        assert len(one.evaluation) < 100
        assert one.feasible.all()
    if problem == "models/tanaka":
        assert one.feasible.all() == (record == "improvements")


def test_a_study_with_several_objectives_and_constraints_replays(tmp_path):
    results = oa.Experiment([USE], "models/tanaka", 40, seed=ROOT, batch=4).run(tmp_path / "store", workers=0)
    verdict = replay(tmp_path / "store", results.studies["study"][0])
    assert verdict.same


def test_best_shows_what_nothing_dominates_and_nothing_infeasible(tmp_path, capsys):
    experiment = oa.Experiment([USE, "RandomSearch"], ["models/tanaka", "functions/sphere/d2"], 60, seed=ROOT)
    results = experiment.run(tmp_path / "store", workers=0)
    points = best_points(results)
    problem = build("models/tanaka")
    X = np.array([list(point["parameters"].values()) for point in points])
    assert (problem.violations_matrix(X) <= 0).all()
    F = np.array([list(point["values"].values()) for point in points])
    assert np.array_equal(F, X)
    assert (np.diff(F[:, 0]) > 0).all()
    assert (np.diff(F[:, 1]) < 0).all()
    assert main(["best", str(tmp_path / "store")]) == 0
    out = capsys.readouterr().out
    assert "functions/sphere/d2" in out
    assert f"models/tanaka: {len(points)} points that nothing dominates" in out
    assert main(["best", str(tmp_path / "store"), "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["problem"] for row in rows] == ["functions/sphere/d2"] + ["models/tanaka"] * len(points)
    assert rows[1]["values"] == points[0]["values"]


def test_the_best_of_maximised_objectives_is_in_their_own_sense(tmp_path):
    @oa.as_problem({"x": {"type": "real", "space": "linear", "range": [0, 1]}}, sense=["min", "max"])
    def both(x):
        return [x["x"], x["x"] ** 2]

    points = best_points(oa.Experiment("RandomSearch", both, 10, seed=ROOT).run(tmp_path / "store", workers=0))
    assert len(points) == 10
    assert all(point["values"]["2"] == point["values"]["1"] ** 2 for point in points)


def test_a_front_survives_compaction(tmp_path):
    from optarena.store import Store
    from optarena.store.compaction import compact

    oa.Experiment("RandomSearch", "dtlz/dtlz2/m3/d4", 10, seed=ROOT).run(tmp_path / "store", workers=0)
    compact(Store(tmp_path / "store"))
    (attempt,) = oa.open(tmp_path / "store").columns.attempts
    assert attempt.card.known == build("dtlz/dtlz2/m3/d4").known
