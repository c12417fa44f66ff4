"""Improvements only on bbob f1 in 5-D, beside a bare coco-experiment loop with its observer, in one run."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import cocoex
import numpy as np

from _measure import cpu, load, register, study
from per_evaluation import Learner

N = 50_000


def bare() -> None:
    """What a COCO user writes: a suite, an observer, points from NumPy."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        try:
            suite = cocoex.Suite("bbob", "", "function_indices: 1 dimensions: 5 instance_indices: 1")
            observer = cocoex.Observer("bbob", "result_folder: x")
            problem = suite[0]
            problem.observe_with(observer)
            rng = np.random.default_rng(0)
            for _ in range(N):
                problem(rng.uniform(-5, 5, 5))
            problem.free()
        finally:
            os.chdir(here)


def main() -> None:
    register("Learner", Learner)
    reference = cpu(bare) / N * 1e6
    print(f"CPU microseconds an evaluation, bbob f1, 5-D, {N:,} evaluations, least of 3 ({load()})")
    print(f"  bare coco-experiment loop with observer   {reference:6.2f}")
    for optimizer in ("QuasiRandom", "Learner"):
        cost = cpu(study(optimizer, "bbob/f1/d5/i1", N, record="improvements")) / N * 1e6
        print(f"  optarena, {optimizer:30s}  {cost:6.2f}   ratio {cost / reference:.2f} (to reach: 5)")


if __name__ == "__main__":
    main()
