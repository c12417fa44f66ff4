"""A round trip through the optimizer protocol, in 5-D with one point: 60 us to a C program, 120 us to the Python shim.

A round trip is a request and its answer, as `suggest` and `observe` make them, JSON and checks included. Beside it: a
bare pipe, the same line to `cat` and back, written and read by the system's calls alone; and, where its package is
installed (pip install kurobako), an external solver for kurobako, which draws points at random. kurobako itself is not
on PyPI: its requests are made here, as JSON, and nothing is checked.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
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


KUROBAKO = """
import random
from kurobako.solver import NextTrial, Solver, SolverFactory, SolverRunner, SolverSpec
class Random(Solver):
    def __init__(self, seed, problem):
        self.random, self.ranges = random.Random(seed), [each.range for each in problem.params]
    def ask(self, idg):
        return NextTrial(idg.generate(), [self.random.uniform(each.low, each.high) for each in self.ranges], 1)
    def tell(self, trial):
        pass
class Factory(SolverFactory):
    def specification(self):
        return SolverSpec("random")
    def create_solver(self, seed, problem):
        return Random(seed, problem)
SolverRunner(Factory()).run()
"""


def through_kurobako() -> list[float]:
    """Of an ask and of a tell."""
    child = subprocess.Popen([sys.executable, "-u", "-c", KUROBAKO], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    into, out = child.stdin.fileno(), child.stdout

    def say(**message: object) -> None:
        os.write(into, msgspec.json.encode(message) + b"\n")

    def asked(**message: object) -> object:
        say(**message)
        return msgspec.json.decode(out.readline())

    bounds = {"type": "CONTINUOUS", "low": -5.0, "high": 5.0}
    params = [{"name": name, "range": bounds, "distribution": "UNIFORM", "constraint": None} for name in SPACE.names]
    values = [{"name": "value", "range": bounds, "distribution": "UNIFORM", "constraint": None}]
    out.readline()  # what it can do
    problem = {"name": "box", "attrs": {}, "params_domain": params, "values_domain": values, "steps": 1}
    say(type="CREATE_SOLVER_CAST", solver_id=0, random_seed=1, problem=problem)
    trial = {"id": 0, "values": [1.0], "current_step": 1}
    medians = microseconds(
        lambda: asked(type="ASK_CALL", solver_id=0, next_trial_id=7),
        lambda: asked(type="TELL_CALL", solver_id=0, trial=trial),
    )
    child.stdin.close()
    child.wait()
    return medians


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
        if importlib.util.find_spec("kurobako") is None:
            print("kurobako's external solver: not measured, its package is not installed")
        else:
            ask, tell = through_kurobako()
            print(f"kurobako's external solver, in Python: ask {ask:.0f} us, tell {tell:.0f} us")
        for name, (what, most) in LIMITS.items():
            suggest, observe = through_the_protocol(place / f"{name}.toml")
            print(f"{what}: suggest {suggest:.0f} us, observe {observe:.0f} us (to reach: {most} us each)")


if __name__ == "__main__":
    main()
