"""BoTorch, Ax, SMAC and Syne Tune: what is theirs alone. The rest: test_optimizers.py, and test_closed_loop.py."""

from __future__ import annotations

import importlib.util
import logging
import random
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import optarena as oa
from optarena._global_state import GlobalState, TorchState, silent
from optarena.optimizers import _codec
from optarena.optimizers._ask_tell import WIDEST
from optarena.space import Space
from playing import TINY, bowl, light, make, need, play

NAMES = ("BoTorch", "Ax", "SMAC", "SyneTune-CQR", "SyneTune-BORE", "SyneTune-KDE", "SyneTune-REA")


def facts():
    """What a whole process shares."""
    out = [random.getstate(), repr(np.random.get_state()), threading.active_count()]  # noqa: NPY002
    if importlib.util.find_spec("torch") is not None:
        import torch

        out += [torch.random.get_rng_state().tolist(), torch.get_num_threads()]
    return out


@pytest.mark.parametrize("name", NAMES)
def test_logit_is_logit_and_bilog_is_bilog(name):
    """Before a model, the points are even on the warped scale."""
    space = Space(
        {
            "logit": {"type": "real", "space": "logit", "range": [1e-4, 1 - 1e-4]},
            "bilog": {"type": "real", "space": "bilog", "range": [-1000.0, 1000.0]},
            "log": {"type": "real", "space": "log", "range": [1e-6, 1.0]},
            "whole": {"type": "int", "space": "log", "range": [1, 1024]},
        }
    )
    optimizer = make(name, space, budget=256, **light(name, 256))
    X, _, _ = play(optimizer, lambda X: np.full((len(X), 1), np.nan), 256, 8 if name == "SMAC" else 256)
    for column in space.to_unit(X).T:
        counts = np.histogram(column, bins=4, range=(0, 1))[0]
        assert counts.min() > 40, counts
    assert np.mean(X[:, 0] < 0.01) > 0.15
    assert np.mean(np.abs(X[:, 1]) < 10) > 0.2


def test_integers_of_a_very_long_range_stay_whole_and_inside():
    line = {"type": "int", "space": "linear", "range": [-(2**53), 2**53]}
    space = Space({"long": line, "x": {"type": "real", "space": "linear", "range": [0.0, 1.0]}})
    codec = _codec.Codec(space, (_codec.REAL, _codec.INT), widest=WIDEST)
    assert codec.kinds == [_codec.UNIT, _codec.REAL]
    space.check(codec.decode([[0.0, 0.0], [1.0, 1.0], [0.3, 0.3]]))


@pytest.mark.parametrize("name", ["SMAC", "HyperOpt", "Scikit-GBRT-Hedge"])
def test_the_longest_ranges_of_reals_are_searched(name):
    """As they are, SMAC would refuse them, and the trees of scikit-learn overflow in single precision."""
    lines = {"x": ("linear", [-1e300, 1e300]), "y": ("log", [1e-300, 1e300]), "z": ("log", [1e-40, 1.0])}
    space = Space({key: {"type": "real", "space": warp, "range": ends} for key, (warp, ends) in lines.items()})
    points, _, ended = play(make(name, space, **light(name, 3)), bowl(space), 6)
    assert len(points) == 6
    assert not ended


# ---- the same points as the library alone ---------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"challengers": 20}])
def test_smac_by_hand_and_through_us_gives_the_same_points(settings, tmp_path):
    """With its own settings as they are, too: the other tests of SMAC are with light ones."""
    need("SMAC")
    from ConfigSpace import ConfigurationSpace, Float
    from smac import HyperparameterOptimizationFacade, Scenario
    from smac.runhistory import TrialValue

    space, rng = Space.box(-5.0, 5.0, 2), np.random.default_rng(9)
    state = GlobalState(rng)
    seed = int(rng.integers(2**31))
    configurations = ConfigurationSpace(seed=seed)
    configurations.add([Float("p0", (-5.0, 5.0)), Float("p1", (-5.0, 5.0))])
    scenario = Scenario(configurations, deterministic=True, n_trials=9, seed=seed, output_directory=tmp_path)
    kind = HyperparameterOptimizationFacade
    maximizer = kind.get_acquisition_maximizer(scenario, **settings)
    with state, silent():
        native = kind(scenario, acquisition_maximizer=maximizer, overwrite=True, logging_level=False)
        expected = []
        for _ in range(9):
            info = native.ask()
            expected.append([info.config["p0"], info.config["p1"]])
            native.tell(info, TrialValue(cost=float(bowl(space)(np.array(expected[-1:]))[0, 0])))
    points, _, _ = play(make("SMAC", space, 9, budget=9, **settings), bowl(space), 9)
    assert np.array_equal(points, np.array(expected))


def test_ax_by_hand_and_through_us_gives_the_same_points():
    need("Ax")
    rng = np.random.default_rng(9)
    with GlobalState(rng), TorchState(rng), silent():
        from ax.api.client import Client
        from ax.api.configs import RangeParameterConfig

        client = Client(random_seed=(seed := int(rng.integers(2**31))))
        lines = [RangeParameterConfig(name=f"p{i}", bounds=(-5.0, 5.0), parameter_type="float") for i in range(2)]
        client.configure_experiment(lines)
        client.configure_optimization("-y")
        client.configure_generation_strategy(initialization_random_seed=seed)
        space, expected = Space.box(-5.0, 5.0, 2), []
        for _ in range(7):
            ((index, point),) = client.get_next_trials(1).items()
            expected.append([point["p0"], point["p1"]])
            client.complete_trial(index, {"y": float(bowl(space)(np.array(expected[-1:]))[0, 0])})
    points, _, _ = play(make("Ax", space, 9), bowl(space), 7)
    assert np.allclose(points, np.array(expected), rtol=1e-6, atol=1e-6)


# ---- what goes wrong ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [3, 6])
@pytest.mark.parametrize("name", ["Ax", "SMAC", "OpenTuner-BanditA", "OpenTuner-GA", "OpenTuner-GA-DE"])
def test_the_batch_in_which_a_space_is_exhausted_is_filled(name, batch):
    """Of three, the second; of more than the space has points, the first."""
    points, _, ended = play(make(name, TINY), bowl(TINY), 12, batch)
    assert ended
    assert len(points) == 6
    assert len(np.unique(points, axis=0)) == 4


VALUES = np.array([[2.0], [np.nan], [np.inf], [-np.inf], [5.0]])


@pytest.mark.parametrize("name", NAMES)
def test_a_failure_is_told_as_declared(name):
    settings = {"SMAC": {"n_initial": 9}, "BoTorch": {"n_initial": 9}}.get(name, {})
    optimizer = make(name, **settings)
    X = optimizer.suggest(5)
    optimizer.observe(X[1:2], VALUES[1:2])  # before anything is known
    optimizer.observe(X[[0, 2, 3, 4]], VALUES[[0, 2, 3, 4]])
    if name == "BoTorch":
        told = optimizer._told()[:, 0].tolist()
        assert told == [5, 2, 5, 2, 5]
        assert not optimizer._waiting
    elif name == "Ax":
        found = [trial.status.name for trial in optimizer._client._experiment.trials.values()]
        assert found == ["COMPLETED", "FAILED", "FAILED", "COMPLETED", "COMPLETED"]
    elif name == "SMAC":
        told = [(value.status.name, value.cost) for value in optimizer._smac.runhistory.values()]
        worst = ("CRASHED", 5.0)
        assert told == [("SUCCESS", 2.0), worst, worst, ("SUCCESS", 2.0), ("SUCCESS", 5.0)]
    else:
        assert optimizer._told == 3
    optimizer.close()


@pytest.mark.parametrize(
    ("name", "settings", "text"),
    [
        ("BoTorch", {"n_initial": 0}, "n_initial must be a whole number from 1"),
        ("BoTorch", {"mc_samples": 1.5}, "mc_samples"),
        ("BoTorch", {"raw_samples": 4}, r"raw_samples must be at least num_restarts \(8\), got 4"),
        ("Ax", {"method": "quick"}, "method must be one of fast, quality"),
        ("Ax", {"initialize_with_center": 1}, "initialize_with_center must be true or false"),
        ("SMAC", {"facade": "gp"}, "facade must be one of hpo, blackbox"),
        ("SMAC", {"challengers": 0}, "challengers must be a whole number from 1"),
        ("SyneTune-CQR", {"update_frequency": 0}, "update_frequency"),
        ("SyneTune-BORE", {"gamma": 0.0}, "gamma must be a number above 0"),
        ("SyneTune-KDE", {"num_min_data_points": 2}, "num_min_data_points must be at least D, here 3, got 2"),
        ("SyneTune-REA", {"population_size": "big"}, "population_size"),
        ("Py-BOBYQA", {"npt": 99}, "npt must be from .* here 4 to 10, got 99"),
        ("Py-BOBYQA", {"rhoend": 0.2}, "rhoend must be below rhobeg"),
    ],
)
def test_a_wrong_setting_is_refused_in_words(name, settings, text):
    with pytest.raises(oa.OptarenaError, match=text):
        make(name, **settings)


def test_smac_removes_its_directory_and_takes_its_share_of_the_budget():
    need("SMAC")
    optimizer = make("SMAC", Space.box(0.0, 1.0, 5), budget=40)
    folder = Path(optimizer._folder.name)
    assert folder.is_dir()
    assert len(optimizer._smac._config_selector._initial_design_configs) == 10  # a quarter
    optimizer.close()
    assert not folder.exists()
    optimizer.close()


def test_py_bobyqa_with_noise_and_restarts_repeats_and_leaves_numpys_generator_alone():
    need("Py-BOBYQA")
    space, runs = Space.box(-5.0, 4.0, 2), []
    for _ in range(2):
        noise, before = np.random.default_rng(3), repr(np.random.get_state())  # noqa: NPY002
        optimizer = make("Py-BOBYQA", space, 5, objfun_has_noise=True, seek_global_minimum=True)
        value = bowl(space)
        runs.append(play(optimizer, lambda X, value=value, noise=noise: value(X) + 0.1 * noise.random(), 150)[0])
        assert repr(np.random.get_state()) == before  # noqa: NPY002
    assert len(runs[0]) > 50
    assert np.array_equal(runs[0], runs[1])


def test_what_a_process_shares_is_put_back_after_an_error_too(capfd):
    def meddle():
        rng = np.random.default_rng(1)
        with GlobalState(rng), silent():
            random.seed(1)
            np.random.seed(1)  # noqa: NPY002
            logging.error("with a handler that Python adds")
            warnings.warn("unheard", stacklevel=1)
            raise ZeroDivisionError

    before, disabled = facts(), logging.root.manager.disable
    with pytest.raises(ZeroDivisionError):
        meddle()
    assert facts() == before
    assert logging.root.manager.disable == disabled
    assert capfd.readouterr() == ("", "")
