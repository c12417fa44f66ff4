"""Do verdicts and intervals keep what they promise? Simulated experiments whose truth is known (docs/scores.md 5).

    python benchmarks/calibration.py [EXPERIMENTS]

Under the null at most 5 % of experiments may have any false verdict; intervals must hold the truth as often as said.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from scipy import special

from optarena.comparison.pairs import compare_pairs
from optarena.stats.bootstrap import draws, mean_intervals
from optarena.stats.effects import score_interval
from optarena.views._scores import Scores

CLAIM = 0.05


def cube(rng: np.random.Generator, design: tuple[int, int, int], gap: float = 0.0, between: float = 1.0) -> Scores:
    """(problems, optimizers, trials) of normal scores; `gap`: by how much the first optimizer is better."""
    problems, optimizers, _ = design
    effect = rng.normal(0, between, (problems, optimizers, 1))
    effect[:, 0] -= gap
    values = effect + rng.normal(0, 1, (problems, 1, 1)) + rng.normal(0, 1, design)
    names = [f"o{i}" for i in range(optimizers)]
    return Scores("fixed-cost", "value", "", [f"p{i}" for i in range(problems)], names, values, [None] * problems)


def false_verdicts(
    experiments: int, design: tuple[int, int, int], over: str, seed: int = 0, between: float = 1.0
) -> float:
    """The part of experiments with any verdict where all optimizers are the same: problems' effects cancel out."""
    rng = np.random.default_rng(seed)
    counts = draws(design[0], 100, rng)
    wrong = 0
    for _ in range(experiments):
        made = cube(rng, design, between=between)
        wrong += bool(compare_pairs(made, counts, over=over, rope=0.01, alpha=CLAIM, rng=rng).decided.any())
    return wrong / experiments


def coverage_of_means(experiments: int, problems: int, kind: str, seed: int = 0) -> float:
    """How often the interval of a mean over problems holds the truth."""
    rng = np.random.default_rng(seed)
    shape = (problems, experiments)
    data, truth = {
        "normal": lambda: (rng.normal(size=shape), 0.0),
        "skewed": lambda: (rng.beta(1, 4, size=shape), 0.2),
        "two ends": lambda: (rng.beta(0.5, 0.5, size=shape), 0.5),
    }[kind]()
    _, lower, upper, _ = mean_intervals(data, draws(problems, 2000, rng))
    return float(np.mean((lower <= truth) & (truth <= upper)))


def coverage_of_improvement(experiments: int, design: tuple[int, int, int], over: str, seed: int = 0) -> float:
    """How often the interval of the probability of improvement holds the truth."""
    rng = np.random.default_rng(seed)
    counts = draws(design[0], 1000, rng)
    within = 0
    for _ in range(experiments):
        made = cube(rng, design, gap=0.7)
        if over == "problems":  # the difference of a trial has the variance 2 of problems and 2 of trials
            truth = float(special.ndtr(0.7 / 2))
            found = compare_pairs(made, counts, over=over, rope=0.01, alpha=CLAIM, rng=rng)
            lower, upper = found.improvement_lb[0], found.improvement_ub[0]
        else:  # the problems are fixed, their trials are drawn anew
            effects = np.linspace(-1.5, 0.5, design[0])
            truth = float(np.mean(special.ndtr(-effects / np.sqrt(2))))
            x = effects[:, None] + rng.normal(size=(design[0], design[2]))
            y = rng.normal(size=(design[0], design[2]))
            value = np.mean((x[:, :, None] < y[:, None, :]).mean(axis=(1, 2)))
            sizes = np.full(design[0], design[2])
            lower, upper = score_interval(value, sizes, sizes)
        within += bool(lower <= truth <= upper)
    return within / experiments


def error(experiments: int, p: float = CLAIM) -> float:
    """Three standard errors of a simulated proportion."""
    return 3 * float(np.sqrt(p * (1 - p) / experiments))


def main() -> None:
    experiments = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    began = time.process_time()
    failed = 0
    print(f"{experiments:,} experiments each; Monte Carlo error (3 standard errors) {error(experiments):.3f}")
    print("  experiments with any false verdict (to stay under 0.05 + error)")
    for design, over, between in (
        ((8, 3, 5), "problems", 1.0),
        ((20, 4, 3), "problems", 1.0),
        ((12, 5, 1), "problems", 1.0),
        ((1, 3, 8), "trials", 0.0),
        ((4, 3, 5), "trials", 0.0),
    ):
        found = false_verdicts(experiments, design, over, between=between)
        failed += found > CLAIM + error(experiments)
        words = "{} problems, {} optimizers, {} trials".format(*design)
        print(f"    {found:.3f}  {words}, over {over}")
    print("  intervals that hold the truth (to lie within 0.93 and 0.97 less and plus error, wider ones may hold more)")
    for problems in (20, 40):
        for kind in ("normal", "skewed", "two ends"):
            found = coverage_of_means(experiments, problems, kind)
            failed += found < 0.93 - error(experiments)
            print(f"    {found:.3f}  mean over {problems} problems, {kind}")
    for design, over in (((25, 2, 5), "problems"), ((5, 2, 8), "trials"), ((1, 2, 15), "trials")):
        found = coverage_of_improvement(experiments, design, over)
        failed += found < 0.93 - error(experiments)
        print(f"    {found:.3f}  probability of improvement, {design[0]} problems, {design[2]} trials, over {over}")
    print(f"{time.process_time() - began:.0f} s CPU; {failed} claims broken")
    raise SystemExit(bool(failed))


if __name__ == "__main__":
    main()
