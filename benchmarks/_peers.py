"""Peers live in environments of their own, made once under `benchmarks/.peers/`; a script of ours runs in each."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / ".peers"


def python_of(name: str, *requirements: str) -> Path:
    """The interpreter of a peer's environment, which is made if it is not there."""
    python = HERE / name / "bin" / "python"
    done = HERE / name / ".done"
    if not done.exists() or done.read_text() != "\n".join(requirements):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(HERE / name)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *requirements], check=True)
        done.write_text("\n".join(requirements))
    return python


def ask(python: Path, code: str, *arguments: str, cwd: Path | None = None) -> Any:
    """What a script prints as its last line, as JSON."""
    done = subprocess.run([str(python), "-c", code, *arguments], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the peer failed: {done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])
