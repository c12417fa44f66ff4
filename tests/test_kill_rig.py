"""The kill rig in short form; `benchmarks/kill_rig.py` runs it at length."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("processes")]  # one after the other: they measure time and kill

RIG = Path(__file__).parent.parent / "benchmarks" / "kill_rig.py"


def test_killing_anything_at_any_time_loses_nothing(tmp_path):
    spec = importlib.util.spec_from_file_location("kill_rig", RIG)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    done = module.rig(tmp_path, wanted=8, seed=3, budget=60, trials=2, pause=1.2)
    assert module.kills(done) == 8
    assert done["evaluations compared"] == done["rounds"] * (6 * 3 * 2 + 6) * 60
