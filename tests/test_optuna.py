"""Optuna's samplers behind the contract: TPE, CMA-ES, and the Gaussian process where torch is installed."""

from __future__ import annotations

import gc
import importlib.util
import random
import sys

import numpy as np
import pytest

import optarena as oa
from optarena.optimizer import OPTIMIZERS, get_optimizer
from optarena.space import Space
from optarena.testing import INTEGER, MIXED, REAL
from playing import ALL_SORTS, FIRST, bowl, light, make, play

optuna = pytest.importorskip("optuna")
pytest.importorskip("cmaes")

without_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs the extra optuna-gp")
NAMES = ["Optuna-TPE", "Optuna-CMAES", pytest.param("Optuna-GP", marks=without_torch)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("space", [REAL, INTEGER, ALL_SORTS], ids=["real", "integer", "all sorts"])
def test_any_batch_on_any_space_is_valid_and_improves(name, space, batch):
    first = 6
    _, values, _ = play(make(name, space, **light(name, first)), bowl(space), 12 if name in FIRST else 45, batch)
    assert values[len(values) // 2 :].mean() < values[: max(first, len(values) // 4)].mean()


@pytest.mark.parametrize("name", NAMES)
def test_logit_is_logit_and_bilog_is_bilog(name):
    """Before it has learnt anything, a sampler is uniform on the warped scale."""
    space = Space(
        {
            "logit": {"type": "real", "space": "logit", "range": [1e-4, 1 - 1e-4]},
            "bilog": {"type": "real", "space": "bilog", "range": [-1000.0, 1000.0]},
            "log": {"type": "real", "space": "log", "range": [1e-6, 1.0]},
        }
    )
    points, _, _ = play(make(name, space, n_startup_trials=1000), bowl(space), 400)
    unit = space.to_unit(points)
    for column in unit.T:
        counts = np.histogram(column, bins=5, range=(0, 1))[0]
        assert counts.min() > 50, counts
    assert np.mean(points[:, 0] < 0.01) > 0.15
    assert np.mean(np.abs(points[:, 1]) < 10) > 0.2


def test_distributions_are_optunas_own_where_it_has_them():
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    found = make("Optuna-TPE", ALL_SORTS)._codec.distributions
    assert found["real"] == found["rate"] == FloatDistribution(0.0, 1.0)
    assert found["log"] == FloatDistribution(1e-5, 10.0, log=True)
    assert found["whole"] == IntDistribution(1, 256, log=True)
    assert found["size"] == found["whole-values"] == IntDistribution(0, 2)
    assert found["step"] == IntDistribution(0, 3)
    assert found["colour"] == CategoricalDistribution((0, 1, 2))
    assert found["flag"] == CategoricalDistribution((0, 1))
    assert make("Optuna-CMAES", ALL_SORTS)._codec.distributions["colour"] == IntDistribution(0, 2)


@pytest.mark.parametrize("name", NAMES)
def test_a_point_goes_to_optuna_and_back_unchanged(name):
    codec = make(name, ALL_SORTS)._codec
    X = ALL_SORTS.sample(200, np.random.default_rng(4))
    params = [codec.to_params(row) for row in X]
    assert np.allclose(codec.from_params(params), X, rtol=1e-9, atol=1e-9)
    for point in params:
        for key, distribution in codec.distributions.items():
            assert distribution._contains(distribution.to_internal_repr(point[key]))


@pytest.mark.parametrize(
    ("name", "sampler"),
    [
        ("Optuna-TPE", lambda seed: optuna.samplers.TPESampler(seed=seed)),
        ("Optuna-CMAES", lambda seed: optuna.samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False)),
    ],
)
def test_optuna_by_hand_and_through_us_gives_the_same_points(name, sampler):
    evaluations = 60 if name == "Optuna-TPE" else 600  # more than CMA-ES is shown of its past
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    seed = int(np.random.default_rng(9).integers(2**32))
    study = optuna.create_study(sampler=sampler(seed))
    optuna.logging.set_verbosity(level)
    distributions = {f"x{i}": optuna.distributions.FloatDistribution(-5.0, 5.0) for i in (1, 2, 3)}
    space = Space.box(-5.0, 5.0, 3)
    native = []
    for _ in range(evaluations):
        trial = study.ask(distributions)
        native.append([trial.params[key] for key in distributions])
        study.tell(trial, float(bowl(space)(np.array(native[-1:]))[0, 0]))
    points, _, _ = play(make(name, space, seed=9), bowl(space), evaluations)
    assert np.array_equal(points, np.array(native))


def test_a_failure_is_a_trial_that_failed_and_a_foreign_point_one_that_is_complete():
    optimizer = make("Optuna-TPE", MIXED)
    optimizer.observe(optimizer.suggest(2), np.array([[1.0], [np.nan]]))
    optimizer.observe(MIXED.sample(2, np.random.default_rng(3)), np.array([[2.0], [np.nan]]))
    assert [trial.state.name for trial in optimizer._study.trials] == ["COMPLETE", "FAIL", "COMPLETE", "FAIL"]
    assert not optimizer._pending._waiting


def test_several_objectives_are_minimised_by_tpe():
    optimizer = get_optimizer("Optuna-TPE")(REAL, objectives=2, rng=np.random.default_rng(1))
    play(optimizer, lambda X: np.column_stack([X[:, 0] ** 2, (X[:, 0] - 1) ** 2]), 30, 3)
    assert [direction.name for direction in optimizer._study.directions] == ["MINIMIZE"] * 2


def test_memory_of_cma_is_flat():
    optimizer = make("Optuna-CMAES", Space.box(-5.0, 5.0, 5))
    blocks = []
    for evaluations in (400, 400, 800):
        for _ in range(evaluations // 8):
            X = optimizer.suggest(8)
            optimizer.observe(X, (X**2).sum(axis=1, keepdims=True))
        gc.collect()
        blocks.append(sys.getallocatedblocks())
    assert blocks[2] - blocks[1] < 8 * 800, "a trial that is kept costs some 30 blocks, one that is forgotten 3"


@pytest.mark.parametrize("name", NAMES)
def test_optunas_log_level_and_the_global_random_states_are_left_as_they_were(name, capfd):
    optuna.logging.set_verbosity(optuna.logging.DEBUG)
    try:
        states = random.getstate(), repr(np.random.get_state())  # noqa: NPY002
        play(make(name, MIXED, **light(name, 6)), bowl(MIXED), 9, 3)
        assert (random.getstate(), repr(np.random.get_state())) == states  # noqa: NPY002
        assert optuna.logging.get_verbosity() == optuna.logging.DEBUG
    finally:
        optuna.logging.set_verbosity(optuna.logging.INFO)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "settings", "text"),
    [
        ("Optuna-TPE", {"group": True, "multivariate": False}, "group"),
        ("Optuna-TPE", {"n_startup_trials": "ten"}, "n_startup_trials"),
        ("Optuna-CMAES", {"popsize": 2}, "popsize"),
        ("Optuna-CMAES", {"lr_adapt": True, "with_margin": True}, "lr_adapt"),
    ],
)
def test_settings_are_checked(name, settings, text):
    with pytest.raises(oa.OptarenaError, match=text):
        make(name, **settings)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("Optuna-TPE", {"multivariate": True, "group": True, "constant_liar": True}),
        ("Optuna-CMAES", {"with_margin": True, "popsize": 6}),
        ("Optuna-CMAES", {"use_separable_cma": True}),
        ("Optuna-CMAES", {"lr_adapt": True}),
    ],
)
def test_settings_are_passed_through(name, settings):
    play(make(name, INTEGER, **settings), bowl(INTEGER), 40)


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda module: None if module == "torch" else object())
    assert not OPTIMIZERS.built_in["Optuna-GP"].installed
    with pytest.raises(oa.OptarenaError, match=r"optarena\[optuna-gp\]"):
        get_optimizer("Optuna-GP")
