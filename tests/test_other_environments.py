"""Optimizers whose libraries contradict ours, or each other: these tests install from the package index."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import polars as pl
import pytest

import optarena as oa
from optarena.environments import NotMade, Wanted, find_python, ready

pytestmark = [pytest.mark.environments, pytest.mark.xdist_group("processes")]

EXAMPLES = Path(__file__).parents[1] / "examples" / "optimizers"
SHIM = "optarena_shim.py"
BAYESIAN = """
import numpy as np
from bayes_opt import BayesianOptimization

class Bayesian:
    def __init__(self, space, seed):
        bounds = {name: tuple(line["range"]) for name, line in space.items()}
        more = {"verbose": 0, "allow_duplicate_points": True}
        self.inner = BayesianOptimization(f=None, pbounds=bounds, random_state=seed, **more)
    def suggest(self, n):
        return [{name: float(value) for name, value in self.inner.suggest().items()} for _ in range(n)]
    def observe(self, points, values):
        for point, value in zip(points, values):
            self.inner.register(params=point, target=-value)
"""
WRAPPER = """
from bayesmark.builtin_opt.random_optimizer import RandomOptimizer
from bayesmark.experiment import experiment_main

class Mine(RandomOptimizer):
    pass

if __name__ == "__main__":
    experiment_main(Mine)
"""


def manifest(name: str, what: str, python: str, *packages: str, more: str = "") -> str:
    try:
        find_python(python)
    except NotMade as error:
        pytest.skip(str(error))
    shutil.copytree(EXAMPLES, ".", dirs_exist_ok=True)
    Path(name).write_text(
        f'[optimizer]\ncommand = ["python", "{SHIM}", "{what}", "batch=false"]\n{more}'
        f"[environment]\npython = {python!r}\npackages = {list(packages)!r}\n"
    )
    return name


def versions(results) -> dict[str, dict[str, str]]:
    return {attempt.start.optimizer: attempt.start.versions for attempt in results.attempts}


def test_hebo_in_its_own_environment_beats_random_search():
    """On a Python for which the index may have torch without CUDA, which is a tenth as large."""
    settings = "[optimizer.settings]\ninitial = 4\n"
    packages = tomllib.loads((EXAMPLES / "hebo.toml").read_text())["environment"]["packages"]
    name = manifest("mine.toml", "with_hebo.py:Hebo", "3.11", *packages, "torch==2.13.0", more=settings)
    results = oa.Experiment([name, "RandomSearch"], "functions/sphere/d2", 12, trials=2, seed=1).run("s", workers=2)
    assert results.studies["status"].to_list() == ["done"] * 4, results.studies["reason"].to_list()
    best = dict(results.studies.group_by("optimizer").agg(pl.col("best").mean()).iter_rows())
    assert best["mine"] < 0.5 * best["RandomSearch"]
    made = versions(results)["mine"]
    assert made["HEBO"] == "0.3.6"
    assert made["numpy"].startswith("1."), "which optarena itself cannot use"


def test_bayesian_optimization_beside_nevergrad_which_pins_another_version():
    Path("bayesian.py").write_text(BAYESIAN)
    own = manifest("bayesian.toml", "bayesian.py:Bayesian", "3.11", "bayesian-optimization==2.0.4")
    uses = [own, oa.use("Nevergrad-DE", isolated=True)]
    results = oa.Experiment(uses, "functions/sphere/d2", 12, seed=1).run("s", workers=2)
    assert results.studies["status"].to_list() == ["done"] * 2, results.studies["reason"].to_list()
    made = versions(results)
    assert made["bayesian"]["bayesian-optimization"] == "2.0.4"
    assert made["Nevergrad-DE"]["bayesian-optimization"] != "2.0.4"


def test_a_wrapper_of_bayesmark_itself_on_the_python_of_its_time():
    Path("wrapper.py").write_text(WRAPPER)
    name = manifest("wrapped.toml", "wrapper.py:Mine", "3.8", "bayesmark==0.0.8")
    results = oa.Experiment([name], ["functions/sphere/d2", "sklearn/DT_iris_acc"], 5, seed=1).run("s", workers=1)
    assert results.studies["status"].to_list() == ["done"] * 2, results.studies["reason"].to_list()
    made = versions(results)["wrapped"]
    assert made["bayesmark"] == "0.0.8"
    assert made["python"].startswith("3.8.")


def test_uv_itself_makes_environments_and_says_why_it_cannot(tmp_path, monkeypatch):
    subprocess.run([sys.executable, "-m", "venv", "of-uv"], check=True)
    subprocess.run(["of-uv/bin/python", "-m", "pip", "install", "--quiet", "uv"], check=True)
    monkeypatch.setenv("PATH", f"{Path('of-uv/bin').resolve()}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = ready(Wanted(".".join(platform.python_version_tuple()[:2]), ("six==1.16.0",)), "test")
    assert made.lock == {"six": "1.16.0"}
    assert "uv" in Path(made.folder, "pyvenv.cfg").read_text()
    with pytest.raises(NotMade, match=r"cannot be made: uv: .*six==0\.0\.1"):
        ready(Wanted(made.python, ("six==0.0.1",)), "test")
