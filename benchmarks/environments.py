"""Starting an optimizer in an environment that exists: the time of its own imports + 50 ms.

Beside it: its Python, importing the same modules and nothing else. Both from nothing to the process's end.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from _measure import load
from optarena.environments import APART
from optarena.optimizer import get_optimizer
from optarena.optimizers.command import CommandOptimizer
from optarena.optimizers.isolated import isolated_optimizer
from optarena.space import Space

SHIM = Path(__file__).parents[1] / "examples" / "optimizers" / "optarena_shim.py"
SPACE = Space.box(-5.0, 5.0, 5)
ROUNDS = 7
MOST = 50
MINE = """
import asyncio, decimal, sqlite3, unittest.mock, xml.dom.minidom
class Mine:
    def __init__(self, space):
        pass
    def suggest(self, n):
        return []
    def observe(self, points, values):
        pass
"""


def milliseconds(*calls: Callable[[], object]) -> list[float]:
    """The least time of each call, where they are made in turn: what it costs when nothing disturbs it."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, seen in zip(calls, times, strict=True):
            began = time.perf_counter()
            call()
            seen.append(1e3 * (time.perf_counter() - began))
    return [min(seen) for seen in times]


def measure(what: str, cls: type[CommandOptimizer], modules: str) -> None:
    assert cls.environment is not None, cls.said.trouble
    bare = [str(cls.environment.program), "-c", f"import {modules}"]
    added = cls.environment.variables | APART

    def imports() -> None:
        subprocess.run(bare, env=added, check=True, stderr=subprocess.DEVNULL)

    def starts() -> None:
        cls(SPACE, rng=np.random.default_rng(1)).close()

    alone, whole = milliseconds(imports, starts)
    print(f"{what}: {whole:.0f} ms, its imports {alone:.0f} ms: {whole - alone:+.0f} ms (to reach: +{MOST} ms)")


def main() -> None:
    print(f"starting an optimizer in an environment that exists ({load()})")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "mine.py").write_text(MINE)
        command = f'command = ["python", "{SHIM}", "mine.py:Mine"]'
        Path(folder, "mine.toml").write_text(f"[optimizer]\n{command}\n[environment]\n")
        cls = get_optimizer(f"{folder}/mine.toml")
        assert issubclass(cls, CommandOptimizer)
        measure("a class behind the shim", cls, "asyncio, decimal, sqlite3, unittest.mock, xml.dom.minidom")
    measure("CMA-ES, isolated", isolated_optimizer("CMA-ES", {}), "cma, msgspec, numpy")


if __name__ == "__main__":
    main()
