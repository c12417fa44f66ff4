"""Studies for tests of optimizers: spaces, short settings for those that take seconds, and a loop."""

from __future__ import annotations

import numpy as np
import pytest

from optarena.errors import Exhausted
from optarena.optimizer import OPTIMIZERS, get_optimizer
from optarena.space import Space
from optarena.testing import MIXED, REAL

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
"""Every warp of reals and of integers, a bool, a category, ordinals, lists, and two that are fixed."""
TINY = Space({"a": {"type": "int", "space": "linear", "range": [0, 1]}, "b": {"type": "bool"}})

FIRST = {
    "Ax": "initialization_budget",
    "BoTorch": "n_initial",
    "HyperOpt": "n_startup_jobs",
    "Optuna-GP": "n_startup_trials",
    "SMAC": "n_initial",
    "Scikit-GBRT-Hedge": "n_initial_points",
    "Scikit-GP-Hedge": "n_initial_points",
    "Scikit-GP-LCB": "n_initial_points",
    "SyneTune-BORE": "init_random",
    "SyneTune-CQR": "num_init_random_draws",
}
"""The setting that says how many points come before the model: with most of these, each later one takes its time."""
FEW = {"n_points": 50, "n_restarts_optimizer": 1}
LIGHT = {
    **{f"Pymoo-{name}": {"pop_size": 8} for name in ["NSGA2", "NSGA3", "SPEA2", "SMSEMOA", "MOEAD", "GDE3", "CMOPSO"]},
    **{f"Optuna-{name}": {"population_size": 8} for name in ("NSGA2", "NSGA3")},
    "BoTorch": {"num_restarts": 1, "raw_samples": 8, "mc_samples": 16},
    "SMAC": {"challengers": 20, "local_search_iterations": 1},
    "Scikit-GBRT-Hedge": FEW,
    "Scikit-GP-Hedge": FEW,
    "Scikit-GP-LCB": FEW,
    "SyneTune-BORE": {"feval_acq": 50},
}
"""Small populations, so that a short study has generations; fewer candidates, so that a point by a model takes a tenth
of a second rather than seconds."""


def light(name: str, first: int | None = None) -> dict:
    """Settings for a study that is short, with so many points before the model."""
    return LIGHT.get(name, {}) | ({FIRST[name]: first} if first is not None and name in FIRST else {})


def need(name):
    if not OPTIMIZERS.built_in[name].installed:
        pytest.skip(f"needs the extra {OPTIMIZERS.built_in[name].extra}")


def make(name, space=REAL, seed=1, budget=60, **settings):
    need(name)
    cls = get_optimizer(name)
    if cls.capabilities.uses_budget:
        settings["budget"] = budget
    return cls(space, rng=np.random.default_rng(seed), **settings)


def bowl(space):
    return lambda X: ((space.to_unit(X) - 0.3) ** 2).sum(axis=1, keepdims=True)


def play(optimizer, value, evaluations, batch=1):
    """The points and values of a study, and why it ended ("" if it did not)."""
    points, values, ended = [], [], ""
    try:
        for _ in range(evaluations // batch):
            X = optimizer.suggest(batch)
            optimizer.space.check(X)
            assert len(X) == batch
            y = value(X)
            optimizer.observe(X, y)
            points.append(X)
            values.append(y)
    except Exhausted as end:
        ended = str(end)
    finally:
        optimizer.close()
    return np.concatenate(points), np.concatenate(values), ended
