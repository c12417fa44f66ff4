"""Stands in for `bayesmark.builtin_opt.config`: which file and which arguments make which built-in optimizer."""

from __future__ import annotations

from typing import Any

_HEDGE = {"acq_func": "gp_hedge", "n_initial_points": 5}

CONFIG: dict[str, list[Any]] = {
    "HyperOpt": ["hyperopt_optimizer.py", {}],
    "Nevergrad-OnePlusOne": ["nevergrad_optimizer.py", {"budget": 300, "tool": "OnePlusOne"}],
    "OpenTuner-BanditA": ["opentuner_optimizer.py", {"techniques": ["AUCBanditMetaTechniqueA"]}],
    "OpenTuner-GA": ["opentuner_optimizer.py", {"techniques": ["PSO_GA_Bandit"]}],
    "OpenTuner-GA-DE": ["opentuner_optimizer.py", {"techniques": ["PSO_GA_DE"]}],
    "PySOT": ["pysot_optimizer.py", {}],
    "RandomSearch": ["random_optimizer.py", {}],
    "Scikit-GBRT-Hedge": ["scikit_optimizer.py", {**_HEDGE, "base_estimator": "GBRT"}],
    "Scikit-GP-Hedge": ["scikit_optimizer.py", {**_HEDGE, "base_estimator": "GP"}],
    "Scikit-GP-LCB": ["scikit_optimizer.py", {"acq_func": "LCB", "base_estimator": "GP", "n_initial_points": 5}],
}
