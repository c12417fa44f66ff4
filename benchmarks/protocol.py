"""A round trip through the optimizer protocol, in 5-D with one point: 60 us to a C program, 120 us to the Python shim.

A round trip is a request and its answer, as `suggest` and `observe` make them, JSON and checks included. Beside it: a
bare pipe, the same line to `cat` and back, written and read by the system's calls alone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from _measure import load
from optarena.optimizer import get_optimizer
from optarena.space import Space

EXAMPLES = Path(__file__).parents[1] / "examples" / "optimizers"
SPACE = Space.box(-5.0, 5.0, 5)
ROUNDS = 5000
WARM_UP = 200
LIMITS = {"evolve": ("a C program", 60), "hill": ("the Python shim", 120)}
LINE = b'{"id":1234,"points":[[-1.2345678901234567,2.3456789012345678,0.1234567890123456,4.1234567890123456,-0.5]]}\n'


def microseconds(*calls: Callable[[], object]) -> list[float]:
    """The median time of each call, where they are made in turn."""
    times = np.empty((ROUNDS, len(calls)))
    for i in range(-WARM_UP, ROUNDS):
        for j, call in enumerate(calls):
            began = time.perf_counter()
            call()
            times[i, j] = time.perf_counter() - began
    return (np.median(times, axis=0) * 1e6).tolist()


def bare_pipe() -> float:
    cat = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    assert cat.stdin is not None
    assert cat.stdout is not None
    into, out = cat.stdin.fileno(), cat.stdout.fileno()

    def call() -> None:
        os.write(into, LINE)
        left = len(LINE)
        while left:
            left -= len(os.read(out, left))

    (median,) = microseconds(call)
    cat.stdin.close()
    cat.wait()
    return median


def through_the_protocol(manifest: Path) -> list[float]:
    """Of a suggest and of an observe."""
    optimizer = get_optimizer(str(manifest))(SPACE, rng=np.random.default_rng(1))
    X, y = optimizer.suggest(1), np.array([[1.0]])
    out = microseconds(lambda: optimizer.suggest(1), lambda: optimizer.observe(X, y))
    optimizer.close()
    return out


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(shutil.copytree(EXAMPLES, Path(folder) / "optimizers"))
        subprocess.run(["cc", "-O2", "-o", "evolve", "evolve.c", "-lm"], cwd=place, check=True)
        print(f"a bare pipe: {bare_pipe():.0f} us there and back ({load()})")
        for name, (what, most) in LIMITS.items():
            suggest, observe = through_the_protocol(place / f"{name}.toml")
            print(f"{what}: suggest {suggest:.0f} us, observe {observe:.0f} us (to reach: {most} us each)")


if __name__ == "__main__":
    main()
