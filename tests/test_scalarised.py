"""Optimizers for one objective on several: sub-runs with weights, what they minimise, and what is refused."""

from __future__ import annotations

import math
import uuid

import numpy as np
import pytest

import optarena as oa
from optarena.cli import main
from optarena.errors import Exhausted, OptarenaError
from optarena.experiment import Use
from optarena.experiment.uses import as_use
from optarena.optimizer import get_optimizer
from optarena.optimizers.scalarised import METHODS, Scalar, even_weights
from optarena.runner.again import replay
from optarena.settings import read_call, written_call
from optarena.space import Space
from optarena.testing import MIXED, REAL, check_optimizer
from optarena.views.pareto import continuous_loss, dominates, hypervolume

ROOT = uuid.UUID(int=25)
INNER = ["SimulatedAnnealing", "Scipy-LBFGSB", "CMA-ES", "Pymoo-GA", "Pymoo-DE", "Pymoo-PSO", "Nevergrad-DE"]


LISTED = "one for several objectives (optarena list optimizers)"


def need(name):
    pytest.importorskip(
        {"CMA-ES": "cma", "Pymoo": "pymoo", "Nevergrad": "nevergrad"}.get(name.rpartition("-")[0], "scipy")
    )
    if name == "CMA-ES":
        pytest.importorskip("cma")


def make(space=REAL, seed=1, objectives=2, **settings):
    cls = get_optimizer("Scalarised").as_used(settings)
    return cls(space, objectives=objectives, rng=np.random.default_rng(seed), **settings)


def bowls(space, m=2):
    return lambda X: np.column_stack([((space.to_unit(X) - at) ** 2).sum(axis=1) for at in (0.2, 0.7, 0.5)[:m]])


def play(optimizer, value, evaluations, batch=1):
    points, values = [], []
    while sum(map(len, points)) < evaluations:
        X = optimizer.suggest(batch)
        y = value(X)
        optimizer.observe(X, y, *([np.empty((batch, 0))] if optimizer.capabilities.constraints else []))
        points.append(X)
        values.append(y)
    optimizer.close()
    return np.concatenate(points), np.concatenate(values)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["SimulatedAnnealing", "CMA-ES", "Pymoo-GA"])
def test_the_kit_finds_nothing_wrong(name, method):
    need(name)
    assert check_optimizer("Scalarised", rounds=12, optimizer=name, method=method, evaluations=7) == []


@pytest.mark.parametrize("name", INNER)
def test_any_optimizer_finds_more_of_a_front_than_random_search(name):
    need(name)
    space = Space({f"x{i}": {"type": "real", "space": "linear", "range": [0, 1]} for i in range(6)})
    value = bowls(space)
    _, found = play(make(space, optimizer=name, evaluations=60), value, 900)
    random = value(space.sample(900, np.random.default_rng(1)))
    reference = [1.6, 1.6]
    assert hypervolume(found, reference) > hypervolume(random, reference)
    front = found[oa.views.pareto.non_dominated(found)]
    best = 6 * 0.5**2  # the value of each optimum in the other objective
    assert (front.min(axis=0) < 0.2 * best).all()  # both ends, not one compromise


def test_its_capabilities_are_those_of_its_optimizer():
    pytest.importorskip("cma")
    closed, open_ = make(optimizer="SimulatedAnnealing"), make(optimizer="CMA-ES")
    assert (closed.capabilities.batch, closed.capabilities.unsuggested) == (False, False)
    assert (open_.capabilities.batch, open_.capabilities.unsuggested) == (True, True)
    assert (open_.capabilities.several_objectives, open_.capabilities.one_objective) == (True, False)
    assert get_optimizer("Scalarised").as_used({"optimizer": "CMA-ES"}).packages == ("cma",)


def test_a_sub_run_keeps_its_function_and_the_next_begins_with_the_best_point_for_its_weights():
    pytest.importorskip("cma")
    optimizer = make(optimizer="CMA-ES", evaluations=12)
    value = bowls(REAL)
    seen, scalars, told = [], [], []
    for _ in range(60):
        X = optimizer.suggest(1)
        seen.append(value(X))
        optimizer.observe(X, value(X))
        scalars.append(optimizer._scalar)
        told.append(optimizer._told)
    runs = [scalar for i, scalar in enumerate(scalars) if i == 0 or scalar is not scalars[i - 1]]
    assert told[:8] == list(range(1, 9))  # 2 (3 + 1) random ones first
    assert len(runs) == 1 + math.ceil((60 - 8) / 12)
    assert len({tuple(run._weights) for run in runs[1:]}) == len(runs) - 1  # no weights twice in a pass
    begun = make(optimizer="CMA-ES", evaluations=12)
    play_until, given = [], []
    for _ in range(8):
        X = begun.suggest(1)
        play_until.append(value(X)[0])
        begun.observe(X, value(X))
    inner = begun._begin()
    given = [item[2] for item in inner._seen]
    assert [v[0] for v in given] == [min(begun._scalar(np.array(play_until)))]


@pytest.mark.parametrize("method", METHODS)
def test_a_dominating_point_has_the_smaller_scalar(method):
    rng = np.random.default_rng(3)
    for weights in even_weights(3, 15):
        front = rng.random((9, 3))
        scalar = Scalar(method, weights, front, (np.zeros(3), np.ones(3)))
        for _ in range(20):
            x, y = rng.random(3), rng.random(3)
            y = np.maximum(x, y)
            if dominates(x, y):
                one, two = scalar(np.array([x, y]))
                assert one < two


def test_scalars_are_those_of_the_papers():
    front, seen = np.array([[0.0, 4.0], [2.0, 0.0]]), (np.array([0.0, 0.0]), np.array([4.0, 8.0]))
    x, w = np.array([[1.0, 1.0]]), np.array([0.25, 0.75])
    z = np.array([0.5, 0.25])  # from the ideal (0, 0) to the nadir (2, 4) of the front
    assert Scalar("weights", w, front, seen)(x) == pytest.approx([w @ z])
    assert Scalar("chebyshev", w, front, seen)(x) == pytest.approx([(w * z).max() + 0.05 * (w @ z)])
    even = np.array([0.5, 0.5])
    lost = [continuous_loss(x[0], p, *seen) - continuous_loss(p, x[0], *seen) for p in front]
    assert Scalar("cdom", even, front, seen)(x) == pytest.approx([np.mean(lost)])


def test_values_that_no_number_is_are_passed_on():
    for method in METHODS:
        scalar = Scalar(method, np.array([0.5, 0.5]), np.array([[0.0, 1.0], [1.0, 0.0]]), (np.zeros(2), np.ones(2)))
        out = scalar(np.array([[np.nan, 0.0], [np.inf, 0.0], [-np.inf, 0.0], [1e200, -1e200], [0.1, 0.1]]))
        assert np.isnan(out).tolist() == [True, False, False, False, False]
        assert out[1] == np.inf
        assert np.isfinite(out[2:]).all()
        assert out[2] < out[4]


@pytest.mark.parametrize(("m", "count"), [(2, 15), (3, 15), (4, 10), (5, 15), (20, 20)])
def test_weights_are_even_and_none_is_zero(m, count):
    weights = even_weights(m, 15)
    assert weights.shape == (count, m)
    assert (weights > 0).all()
    assert weights.sum(axis=1) == pytest.approx(np.ones(count))
    assert len({tuple(row) for row in weights}) == count
    assert weights.mean(axis=0) == pytest.approx(np.full(m, 1 / m))


def test_an_optimizer_that_has_nothing_to_suggest_ends_the_study(monkeypatch):
    class Empty(oa.Optimizer):
        def suggest(self, n):
            raise Exhausted("empty")

    from optarena.registry import Entry

    monkeypatch.setitem(oa.optimizer.OPTIMIZERS.built_in, "Empty", Entry("Empty", f"{__name__}:Empty"))
    monkeypatch.setitem(globals(), "Empty", Empty)
    optimizer = make(optimizer="Empty")
    with pytest.raises(Exhausted, match="empty"):
        play(optimizer, lambda X: np.zeros((len(X), 2)), 100)


def test_optimizers_of_dicts_work_too(monkeypatch):
    class Dicts(oa.Optimizer):
        def suggest(self, n):
            return self.space.to_dicts(self.space.sample(n, self.rng))

    from optarena.registry import Entry

    monkeypatch.setitem(oa.optimizer.OPTIMIZERS.built_in, "Dicts", Entry("Dicts", f"{__name__}:Dicts"))
    monkeypatch.setitem(globals(), "Dicts", Dicts)
    assert check_optimizer("Scalarised", rounds=12, optimizer="Dicts", evaluations=4) == []


@pytest.mark.slow
def test_a_run_repeats_and_resumes(tmp_path):
    pytest.importorskip("cma")
    uses = [oa.use("Scalarised", optimizer="CMA-ES", method=method, evaluations=20) for method in METHODS]
    whole = oa.Experiment(uses, ["zdt/zdt1/d5", "models/viennet2"], 120, seed=ROOT).run(tmp_path / "whole")
    assert set(whole.studies["status"]) == {"done"}
    oa.Experiment(uses, ["zdt/zdt1/d5", "models/viennet2"], 70, seed=ROOT).run(tmp_path / "parts")
    parts = oa.Experiment(uses, ["zdt/zdt1/d5", "models/viennet2"], 120, seed=ROOT).run(tmp_path / "parts")
    for one, two in zip(sorted(whole.studies["study"]), sorted(parts.studies["study"]), strict=True):
        assert one == two
    for study in whole.studies["study"]:
        assert replay(tmp_path / "whole", study).same


def test_constraints_are_taken_by_those_that_take_them(tmp_path):
    pytest.importorskip("pymoo")
    pytest.importorskip("cma")
    uses = [oa.use("Scalarised", optimizer=name) for name in ("Pymoo-GA", "CMA-ES")]
    plan = oa.Experiment(uses, "models/tanaka", 300, seed=ROOT).plan()
    assert [(r.optimizer, r.reason) for r in plan.refused] == [
        ("Scalarised(optimizer=CMA-ES)", "takes no constraints, the problem has 2")
    ]
    results = oa.Experiment(uses[:1], "models/tanaka", 300, seed=ROOT).run(tmp_path / "store")
    assert set(results.studies["status"]) == {"done"}


# ---- how it is written ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "name", "settings"),
    [
        ("CMA-ES", "CMA-ES", {}),
        ("CMA-ES()", "CMA-ES", {}),
        ("CMA-ES(popsize=8, restarts=false)", "CMA-ES", {"popsize": 8, "restarts": False}),
        ("Pymoo-DE(variant=DE/rand/1/bin, CR=0.5)", "Pymoo-DE", {"variant": "DE/rand/1/bin", "CR": 0.5}),
        ("DE(mutation=[0.5, 1.0], restarts=True)", "DE", {"mutation": [0.5, 1.0], "restarts": True}),
        (
            "Scalarised(optimizer=CMA-ES(popsize=8, sigma0=0.2), method=cdom)",
            "Scalarised",
            {"optimizer": "CMA-ES(popsize=8, sigma0=0.2)", "method": "cdom"},
        ),
        ('X(text="a, b")', "X", {"text": "a, b"}),
        ("folder/mine (1).py:Near", "folder/mine (1).py:Near", {}),
    ],
)
def test_a_name_with_settings_is_read_as_tables_write_it(given, name, settings):
    assert read_call(given) == (name, settings)
    assert as_use(given, 0) == Use(name, settings)
    if "text" not in settings:
        assert read_call(written_call(name, settings)) == (name, settings)


@pytest.mark.parametrize("given", ["CMA-ES(popsize=8, restarts)", "CMA-ES(popsize=)", "CMA-ES(=8)", "C(a=1, a=2)"])
def test_a_name_with_settings_that_cannot_be_read_is_refused(given):
    with pytest.raises(OptarenaError, match=r"expected setting=value|given twice"):
        read_call(given)


def run(tmp_path, *words):
    return main(["run", "-p", "zdt/zdt1/d5", "-n", "40", "--store", str(tmp_path / "s"), *words])


def test_it_runs_from_the_command_line_and_the_check_takes_settings(tmp_path, capsys):
    pytest.importorskip("cma")
    assert run(tmp_path, "-o", "Scalarised(optimizer=CMA-ES(popsize=8), method=weights)") == 0
    label = "Scalarised(method=weights, optimizer=CMA-ES(popsize=8))"
    assert list(oa.open(tmp_path / "s").studies["optimizer"]) == [label]
    assert main(["check", "Scalarised(optimizer=CMA-ES)"]) == 0
    assert "a well-behaved optimizer" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("Scalarised(optimizer=CMA)", "optimizer: no optimizer named 'CMA'. Did you mean 'CMA-ES'?"),
        ("Scalarised(optimizer=RandomSearch)", "RandomSearch takes several objectives itself: use it as it is"),
        ("Scalarised(optimizer=Scalarised)", "Scalarised takes several objectives itself"),
        ("Scalarised(optimizer=Scipy-SHGO(iters=0))", "iters must be a whole number from 1 to 100,000, got 0"),
        ("Scalarised(optimizer=5)", "optimizer must be a text, got 5"),
        ("Scalarised(method=sum)", "method must be one of chebyshev, weights, cdom, got 'sum'"),
        ("Scalarised(evaluations=0)", "evaluations must be a whole number from 1 to 1,000,000,000, got 0"),
        ("Scalarised(optimiser=CMA-ES)", "has no setting 'optimiser'. Did you mean 'optimizer'?"),
    ],
)
def test_bad_settings_are_refused_in_a_sentence(given, said, tmp_path, capsys):
    assert run(tmp_path, "-o", given) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "s").exists()


def test_refusals_name_what_to_use_instead():
    pytest.importorskip("pymoo")
    plan = oa.Experiment(
        ["Pymoo-GA", oa.use("Pymoo-DE", CR=0.5), "Pymoo-PSO", "CMA-ES"], "zdt/zdt1/d5", 40, seed=ROOT
    ).plan()
    assert [refusal.reason for refusal in plan.refused] == [
        "takes one objective, the problem has 2: use Pymoo-NSGA2, or Scalarised(optimizer=Pymoo-GA)",
        "takes one objective, the problem has 2: use Pymoo-GDE3, or Scalarised(optimizer=Pymoo-DE(CR=0.5))",
        "takes one objective, the problem has 2: use Pymoo-CMOPSO, or Scalarised(optimizer=Pymoo-PSO)",
        f"takes one objective, the problem has 2: use {LISTED}, or Scalarised(optimizer=CMA-ES)",
    ]


def test_it_works_on_a_mixed_space():
    pytest.importorskip("pymoo")
    X, _ = play(make(MIXED, optimizer="Pymoo-GA", evaluations=30), bowls(MIXED), 120, batch=3)
    MIXED.check(X)
