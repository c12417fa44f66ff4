"""Bayesmark's own commands in its environment, which needs one line to start: `IntEnum` with its old text."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from _measure import cpu_of_command
from _peers import python_of
from against_bayesmark import REQUIREMENTS, SHIM

PEER = "Bayesmark 0.0.8"
DATABASE = "db"
WRAPPERS = Path(__file__).parent.parent / "tests" / "data" / "bayesmark_wrappers" / "configured"


def run_theirs(command: str, *flags: str) -> float:
    """CPU seconds of `bayesmark-<command>` and of all that it starts."""
    python = python_of("bayesmark", *REQUIREMENTS)
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "sitecustomize.py").write_text(SHIM)
        env = shutil.which("env") or "env"
        path = f"PATH={python.parent}:{os.environ.get('PATH', '')}"
        one = [f"{name}_NUM_THREADS=1" for name in ("OMP", "OPENBLAS")]
        program = [env, path, f"PYTHONPATH={directory}", *one, f"bayesmark-{command}"]
        return cpu_of_command([*program, *flags], cwd=Path(directory))
