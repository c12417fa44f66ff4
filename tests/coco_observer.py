"""Runs coco-experiment's observer: `python coco_observer.py SUITE FUNCTIONS DIMENSIONS INSTANCES BUDGET [ALGORITHM]`.

A process of its own, as the library ends the process where it is misused. Points are drawn by `points`, which the
tests call too: optarena must record what the observer records.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np


def points(seed, lower, upper, whole, n):
    """n points in a box, the first `whole` coordinates rounded; they close in on its middle so that values improve."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(lower, upper, (n, len(lower)))
    middle = (np.asarray(lower) + np.asarray(upper)) / 2
    X = middle + (X - middle) * np.linspace(1, 0.05, n)[:, None]
    X[:, :whole] = np.round(X[:, :whole])
    return X


FACTORS = {"ES": 1.5, "ES-slow": 1.05}
"""By which (1+1)-ES adapts its step, by the name of the algorithm; `RS` draws `points`."""


def climb(value, rng, dimension, factor, budget, done):
    """(1+1)-ES with the one-fifth rule, which restarts where it is stuck."""
    while budget > 0 and not done():
        x, size = rng.uniform(-4, 4, dimension), 2.0
        best, budget = value(x), budget - 1
        while budget > 0 and size > 1e-10 and not done():
            new = x + size * rng.standard_normal(dimension)
            found, budget = value(new), budget - 1
            x, best, size = (new, found, size * factor) if found <= best else (x, best, size * factor**-0.25)


def observe(suite, functions, dimensions, instances, budget, algorithm="RS"):
    """What the observer writes, in `exdata/<suite>`, or `exdata/<suite>-<algorithm>` of another than RS."""
    command = [sys.executable, __file__, suite, functions, dimensions, instances, str(budget), algorithm]
    subprocess.run(command, check=True, capture_output=True)
    return Path("exdata") / _folder(suite, algorithm)


def _folder(suite, algorithm):
    return suite if algorithm == "RS" else f"{suite}-{algorithm}"


def main(suite, functions, dimensions, instances, budget, algorithm="RS"):
    import cocoex

    cocoex.log_level("warning")
    folder = _folder(suite, algorithm)
    observer = cocoex.Observer(suite, f"result_folder: {folder} algorithm_name: {algorithm} algorithm_info: closing_in")
    for f in functions.split(","):
        for d in dimensions.split(","):
            for n, i in enumerate(instances.split(",")):
                found = cocoex.Suite(suite, f"instances: {i}", f"function_indices: {f} dimensions: {d}")
                problem = found[0]
                problem.observe_with(observer)
                whole = problem.number_of_integer_variables

                def value(x, problem=problem):
                    violated = problem.constraint(x) if problem.number_of_constraints else 0.0
                    return np.sum(problem(x)) + 1e4 * np.maximum(violated, 0).sum()

                if algorithm == "RS":
                    for x in points(1, problem.lower_bounds, problem.upper_bounds, whole, int(budget)):
                        value(x)
                else:
                    rng, done = np.random.default_rng([int(f), n]), lambda problem=problem: problem.final_target_hit
                    climb(value, rng, problem.dimension, FACTORS[algorithm], int(budget), done)
                problem.free()


if __name__ == "__main__":
    main(*sys.argv[1:])
