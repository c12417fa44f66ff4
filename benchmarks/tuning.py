"""All problems of the suite `sklearn` evaluated once, in one process: CPU seconds, and the slowest of them."""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import time

import numpy as np

from optarena.problem import build, select
from optarena.problems.sklearn import signature_points


def main() -> None:
    build("sklearn/kNN_iris_acc").evaluate({"n_neighbors": 1, "p": 2})  # scikit-learn is loaded
    seconds = {}
    for id in select("sklearn"):
        problem = build(id)
        point = signature_points(problem.space)[0]
        began = time.process_time()
        problem.losses(point, np.random.RandomState(0))
        seconds[id] = time.process_time() - began
    print(f"{len(seconds)} problems evaluated once: {sum(seconds.values()):.1f} s of CPU (to stay under 120)")
    for id, spent in sorted(seconds.items(), key=lambda item: -item[1])[:8]:
        print(f"  {id:30} {1e3 * spent:8.0f} ms")
    print(f"  median {1e3 * float(np.median(list(seconds.values()))):.0f} ms")


if __name__ == "__main__":
    main()
