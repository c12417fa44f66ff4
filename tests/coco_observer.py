"""Runs coco-experiment's own observer: `python coco_observer.py SUITE FUNCTIONS DIMENSIONS INSTANCES BUDGET`.

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


def observe(suite, functions, dimensions, instances, budget):
    """What the observer writes, in `exdata/<suite>` of the current directory."""
    command = [sys.executable, __file__, suite, functions, dimensions, instances, str(budget)]
    subprocess.run(command, check=True, capture_output=True)
    return Path("exdata") / suite


def main(suite, functions, dimensions, instances, budget):
    import cocoex

    cocoex.log_level("warning")
    observer = cocoex.Observer(suite, f"result_folder: {suite} algorithm_name: RS algorithm_info: closing_in")
    for f in functions.split(","):
        for d in dimensions.split(","):
            for i in instances.split(","):
                found = cocoex.Suite(suite, f"instances: {i}", f"function_indices: {f} dimensions: {d}")
                problem = found[0]
                problem.observe_with(observer)
                whole = problem.number_of_integer_variables
                for x in points(1, problem.lower_bounds, problem.upper_bounds, whole, int(budget)):
                    if problem.number_of_constraints:
                        problem.constraint(x)
                    problem(x)
                problem.free()


if __name__ == "__main__":
    main(*sys.argv[1:])
