"""What our suggest + observe costs beside the library's own loop: at most 0.3 ms or 5 %, whichever is larger.

    python benchmarks/adapter_overhead.py             every optimizer that is installed and has a bare loop here
    python benchmarks/adapter_overhead.py HyperOpt    some of them
    python benchmarks/adapter_overhead.py Ax --steps 12 --repeats 6

Both loops run the same method on the sphere in 5 dimensions, one point at a time, with the same seeds, so that both do
the same work; the line says so where their points differ all the same. The function notes the CPU time at each call:
what lies between two calls is an observe and a suggest. Each of these steps is repeated, in turn, and its least time
counts, so that the machine's load does not. Both have one thread, as in a worker: idle threads of linear algebra would
count as work. To add one: a function `loop(evaluations, seed)` in BARE
(`_bare_loops.py`).
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import warnings
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np

from _bare_loops import BARE, CALLS, VALUES, Enough, Loop, sphere
from _measure import load
from optarena.errors import Exhausted
from optarena.optimizer import OPTIMIZERS, get_optimizer
from optarena.space import Space

SPACE = Space.box(-5.0, 5.0, 5)
EVALUATIONS = 200
FEWER = {
    **dict.fromkeys(("Scikit-GP-Hedge", "Scikit-GP-LCB", "BoTorch", "Ax", "SMAC", "Optuna-GP", "SyneTune-CQR"), 12),
    "Scikit-GBRT-Hedge": 20,
    "SyneTune-BORE": 20,
    "SyneTune-KDE": 60,
    "Nevergrad-NgIohTuned": 60,
}
ALLOWED_MS, ALLOWED_SHARE = 0.3, 0.05


def steps(loop: Loop, evaluations: int) -> tuple[Any, Any]:
    """The CPU time of each step, and the values."""
    gc.collect()  # what the loop before left behind is not this one's
    CALLS.clear()
    VALUES.clear()
    with contextlib.suppress(Enough):
        loop(evaluations, 1)
    return np.diff(CALLS[:evaluations]), np.array(VALUES[:evaluations])


def ours(name: str) -> Loop:
    cls = get_optimizer(name)

    def loop(evaluations: int, seed: int) -> None:
        settings = {"budget": evaluations} if cls.capabilities.uses_budget else {}
        optimizer = cls(SPACE, rng=np.random.default_rng(seed), **settings)
        with contextlib.suppress(Exhausted):
            for _ in range(evaluations):
                X: Any = optimizer.suggest(1)
                optimizer.observe(X, np.array([[sphere(X[0])]]))
        optimizer.close()

    return loop


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="OPTIMIZER", help="all that are installed where none is named")
    parser.add_argument("--steps", type=int, help="evaluations of a loop (200, fewer of those that take their time)")
    parser.add_argument("--repeats", type=int, default=5, help="of each loop (5)")
    given = parser.parse_args()
    names = given.names or [name for name in BARE if OPTIMIZERS.built_in[name].installed]
    print(f"CPU milliseconds of a suggest and an observe, 5 reals, each step the least of {given.repeats} ({load()})")
    print(f"{'optimizer':22s} {'bare':>9s} {'ours':>9s} {'over':>9s} {'%':>7s}")
    warnings.simplefilter("ignore")
    for name in names:
        evaluations = given.steps or FEWER.get(name, EVALUATIONS)
        pair = (BARE[name], ours(name))
        for loop in pair:
            steps(loop, min(evaluations, 10))  # imports, and what is made once
        least: list[Any] = [np.inf, np.inf]
        values: list[Any] = [None, None]
        for _ in range(given.repeats):
            for i, loop in enumerate(pair):
                times, values[i] = steps(loop, evaluations)
                least[i] = np.minimum(least[i], times)
        both = min(map(len, least))
        bare, ours_ = (each[:both].mean() * 1e3 for each in least)
        over = ours_ - bare
        note = "" if over <= max(ALLOWED_MS, ALLOWED_SHARE * bare) else "  more than 0.3 ms and 5 %"
        if not np.allclose(values[0][: both + 1], values[1][: both + 1], rtol=1e-4, atol=1e-9):
            note += "  other points"
        print(f"{name:22s} {bare:9.3f} {ours_:9.3f} {over:9.3f} {over / bare:7.1%}{note}", flush=True)


if __name__ == "__main__":
    main()
