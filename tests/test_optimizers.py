"""What every optimizer must do beyond the kit of test_conformance.py, as a test of the adapter, not of the method."""

from __future__ import annotations

import functools
import importlib.util
import logging
import random
import threading
from pathlib import Path

import numpy as np
import pytest

import optarena as oa
from optarena.cli import main
from optarena.optimizer import OPTIMIZERS, check_settings, get_optimizer
from optarena.problem import build
from optarena.space import Space
from playing import ALL_SORTS, FIRST, TINY, bowl, light, make, need, play

NAMES = [
    name
    for name, entry in OPTIMIZERS.built_in.items()  # those for several objectives: test_pareto_optimizers.py
    if name != "Scipy-DualAnnealing" and entry.load().capabilities.one_objective  # another name of SimulatedAnnealing
]
CLOSED = tuple(name for name in NAMES if name.startswith(("Scipy-", "NLopt-", "Py-BOBYQA", "SimulatedAnnealing")))
ADAPTED = [name for name in NAMES if OPTIMIZERS.built_in[name].extra and name not in CLOSED]
"""Those of other libraries that are asked and told."""


@pytest.mark.parametrize("name", [name for name in NAMES if name != "Scipy-SHGO"])  # 2^16 points first; the kit has it
@pytest.mark.filterwarnings("error")
def test_20_steps_on_all_sorts_are_valid_silent_leave_nothing_behind_and_repeat(name, capfd):
    need(name)
    first, _, _ = play(make(name, ALL_SORTS, **light(name, 19)), bowl(ALL_SORTS), 20)
    handlers, formatter, threads = list(logging.root.handlers), logging.Formatter, threading.enumerate()
    states = random.getstate(), repr(np.random.get_state())  # noqa: NPY002
    again, _, ended = play(make(name, ALL_SORTS, **light(name, 19)), bowl(ALL_SORTS), 20)
    assert len(first) == 20 or (ended and name in CLOSED)
    assert np.array_equal(first, again)
    assert (random.getstate(), repr(np.random.get_state())) == states  # noqa: NPY002
    assert capfd.readouterr() == ("", "")
    assert threading.enumerate() == threads
    assert not list(Path().iterdir())
    assert (logging.root.handlers, logging.Formatter) == (handlers, formatter)


# ---- each learns ----------------------------------------------------------------------------------------------------

SPHERE = {
    "Ax": (20, 5, {}),
    "BoTorch": (20, 5, light("BoTorch")),
    "Nevergrad-NgIohTuned": (100, 1, {}),
    "Optuna-GP": (20, 1, {}),
    "Optuna-NSGA2": (200, 1, light("Optuna-NSGA2")),
    "Optuna-NSGA3": (200, 1, light("Optuna-NSGA3")),
    "PySOT": (60, 1, {}),
    "SMAC": (21, 1, light("SMAC", 12) | {"facade": "blackbox"}),
    "Scikit-GBRT-Hedge": (60, 1, light("Scikit-GBRT-Hedge")),
    "Scikit-GP-Hedge": (30, 1, light("Scikit-GP-Hedge") | {"n_points": 200}),
    "Scikit-GP-LCB": (30, 1, light("Scikit-GP-LCB") | {"n_points": 200}),
    "SyneTune-BORE": (60, 1, light("SyneTune-BORE")),
    "SyneTune-CQR": (60, 4, {"update_frequency": 12}),
    "SyneTune-KDE": (120, 1, {"num_min_data_points": 6, "num_candidates": 16, "random_fraction": 0.1}),
    "SyneTune-REA": (200, 1, {"population_size": 20, "sample_size": 5}),
}
"""Evaluations, batch and settings where it is not 200 one by one: what a test can spend. (SMAC's forest would need
more; that its points are SMAC's own is tested by hand.)"""
SLOW_STARTERS = (
    "NLopt-CRS2",
    "Scikit-GBRT-Hedge",
    "Scipy-DifferentialEvolution",
    "SyneTune-BORE",
    "SyneTune-CQR",
    "SyneTune-KDE",
    "SyneTune-REA",
)
"""Better than random search, but not twice as good by then."""


@functools.cache
def random_search(evaluations):
    problem = build("functions/sphere/d5")
    least = [sphere(make("RandomSearch", problem.space, seed).suggest(evaluations)).min() for seed in range(9)]
    return np.median(least)


def sphere(X):
    return np.reshape(build("functions/sphere/d5").evaluate_matrix(np.asarray(X)), (-1, 1))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("RandomSearch", "QuasiRandom")])
def test_each_beats_random_search_on_the_sphere(name):
    evaluations, batch, settings = SPHERE.get(name, (200, 1, {}))
    space = build("functions/sphere/d5").space
    _, values, _ = play(make(name, space, budget=evaluations, **settings), sphere, evaluations, batch)
    assert values.min() < random_search(evaluations) / (1 if name in SLOW_STARTERS else 2)


@pytest.mark.parametrize(
    "name", [name for name in ADAPTED if OPTIMIZERS.built_in[name].load().capabilities.unsuggested]
)
def test_what_others_found_is_learnt(name):
    """Told of points around the optimum before it begins, an optimizer is soon near it."""
    need(name)
    space = Space.box(-5.0, 5.0, 3)
    told = space.from_unit(0.3 + np.random.default_rng(3).normal(0, 0.03, (24, 3)))
    more = {"SyneTune-KDE": {"num_min_data_points": 6}, "SyneTune-REA": {"population_size": 24}}
    more["SyneTune-CQR"] = {"update_frequency": 4}
    more |= {each: {"n_points": 200} for each in FIRST if each.startswith("Scikit")}
    fresh = make(name, space, **light(name, 2) | more.get(name, {}))
    fresh.observe(told, bowl(space)(told))
    few = name in FIRST and name != "HyperOpt"
    _, values, _ = play(fresh, bowl(space), 60 if not few else 24 if name == "Scikit-GBRT-Hedge" else 8)
    if few:
        assert values.min() < 0.02, "eight points at random come to 0.07, 24 to 0.04"
    else:
        assert values.min() < 0.01 or values.min() < play(make(name, space), bowl(space), 60)[1].min()


# ---- small spaces ---------------------------------------------------------------------------------------------------

NO_POINT_TWICE = ("Ax", "SMAC", "OpenTuner-BanditA", "OpenTuner-GA", "OpenTuner-GA-DE")


@pytest.mark.parametrize("name", ADAPTED)
def test_a_tiny_space_is_gone_through_and_ends_in_words_if_at_all(name):
    points, _, ended = play(
        make(name, TINY, seed=2, **light(name, 10)), lambda X: X[:, :1], 12 if name in FIRST else 25
    )
    if name == "Optuna-CMAES":  # its distribution may shrink on the best before it has drawn every point
        assert len(np.unique(points[points[:, 0] == 0], axis=0)) == 2
    else:
        assert len(np.unique(points, axis=0)) == 4
    if name in NO_POINT_TWICE:
        assert len(points) == 4
        assert "all 4 points" in ended or "no new points left" in ended
    else:
        assert not ended


@pytest.mark.parametrize("name", ADAPTED)
def test_the_smallest_spaces_are_searched(name):
    spaces = [Space.box(2.0, 2.0, 1), Space.box(0.0, 1.0, 1), Space({"c": {"type": "cat", "values": ["a", "b", "c"]}})]
    for space in spaces:
        points, _, ended = play(make(name, space, **light(name, 5)), lambda X: X, 6)
        if space.parameters[0].type == "cat" and name in NO_POINT_TWICE:
            assert len(points) == 3
            assert ended
        else:
            assert len(points) == 6


# ---- settings -------------------------------------------------------------------------------------------------------


def with_settings_of_their_own():
    """One of a library's optimizers that share their settings: what one takes, the others take."""
    known = {
        id(OPTIMIZERS.built_in[name].load().settings): name for name in NAMES if OPTIMIZERS.built_in[name].installed
    }
    return sorted(known.values())


@pytest.mark.parametrize("name", with_settings_of_their_own())
def test_what_the_declared_limits_let_through_is_taken_by_the_library(name):
    cls, space = get_optimizer(name), Space.box(-5.0, 4.0, 3)
    extremes = [0, 1e-9, 0.999, 1, 1.999, 3.0, -5.0, 4, 6, 5e4, True, False]
    for key, setting in cls.settings.items():
        for value in [*extremes, *setting.words]:
            settings = light(name, 3) | {key: value}
            try:
                check_settings(cls, name, settings, space.dimension)
            except oa.OptarenaError:
                continue
            evaluations = 12 if name not in FIRST else 2 if value == "quality" else 4  # Ax's quality takes a minute
            play(make(name, space, **settings), bowl(space), evaluations)


# ---- the list and the extras ----------------------------------------------------------------------------------------


def test_the_list_says_what_is_installed_what_each_can_do_its_licence_and_whether_it_is_maintained(capsys):
    assert main(["list", "optimizers"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert lines["optimizer"].split() == ["optimizer", "library", "installed", "capabilities", "licence", "maintained"]
    assert all(entry.licence != "?" and entry.maintained != "?" for entry in OPTIMIZERS.built_in.values())
    for name in ADAPTED:
        for part in (
            OPTIMIZERS.built_in[name].library,
            OPTIMIZERS.built_in[name].licence,
            OPTIMIZERS.built_in[name].maintained,
            "mixed spaces",
        ):
            assert part in lines[name]
        assert OPTIMIZERS.built_in[name].installed or f"needs [{OPTIMIZERS.built_in[name].extra}]" in lines[name]
    assert "unsuggested points" not in lines["Nevergrad-NgIohTuned"]
    assert "no (last release 2020)" in lines["PySOT"]
    assert "GPL-3.0-or-later" in lines["Py-BOBYQA"]


def test_a_missing_library_is_one_line_that_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda module: None)
    for name in ADAPTED:
        with pytest.raises(oa.OptarenaError, match=rf"pip install 'optarena\[{OPTIMIZERS.built_in[name].extra}\]'"):
            get_optimizer(name)
