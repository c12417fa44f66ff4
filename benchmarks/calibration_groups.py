"""Does Scott-Knott split equal optimizers? Simulated experiments whose truth is known (docs/scores.md 5.7).

    python benchmarks/calibration_groups.py [--experiments 2000] [--permutations 399] [--no-write]

Under the null at most 5 % of experiments may have any split. Writes docs/benchmarks/calibration_groups.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from optarena.stats.scott_knott import ScottKnott, scott_knott

CLAIM = 0.05
OPTIMIZERS = (2, 3, 6, 10, 20)
FUNCTIONS = (1, 6, 10, 24, 100)
TRIALS = (1, 5, 15)
SHAPES = ("normal", "Cauchy", "ties", "unequal variances")
FEWER = 10
"""The original recipe is simulated in this part of the experiments: it is slower, and its error is plain to see."""

Floats = npt.NDArray[np.float64]
Design = tuple[int, int, int]
"""Functions, optimizers, trials."""


def cube(rng: np.random.Generator, design: Design, shape: str) -> Floats:
    """(functions, optimizers, trials) of optimizers that are equal: every two beat each other with probability 1/2.

    From 6 functions on each optimizer is better on some functions and worse on others, by chance. With unequal
    variances the last optimizer's trials spread 8 times as far as the first one's, around the same median.
    """
    n, k, _ = design
    noise = rng.standard_cauchy(design) if shape == "Cauchy" else rng.normal(size=design)
    if shape == "unequal variances":
        return noise * np.geomspace(1, 8, k)[None, :, None]
    values = noise + (rng.normal(0, 0.5, (n, k, 1)) if n > 1 else 0.0)
    return np.round(values) if shape == "ties" else values


def _found(
    experiments: int, design: Design, shape: str, *, gap: float, method: str, permutations: int, seed: int
) -> Iterator[ScottKnott]:
    """gap: by how much the first third of the optimizers is better, in standard deviations of a trial."""
    rng = np.random.default_rng([seed, *design, SHAPES.index(shape)])
    names = [f"o{i}" for i in range(design[1])]
    for _ in range(experiments):
        values = cube(rng, design, shape)
        values[:, : better(design[1])] -= gap
        yield scott_knott(values, names, method=method, permutations=permutations, resamples=permutations, seed=rng)


def better(optimizers: int) -> int:
    """How many optimizers are better under the alternative."""
    return max(1, optimizers // 3)


def splits(
    experiments: int, design: Design, shape: str = "normal", *, gap: float = 0.0, method: str = "permutation",
    permutations: int = 399, seed: int = 0,
) -> float:  # fmt: skip
    """The share of experiments with any split."""
    found = _found(experiments, design, shape, gap=gap, method=method, permutations=permutations, seed=seed)
    return float(np.mean([len(one.groups) > 1 for one in found]))


def false_splits(
    experiments: int, design: Design, *, gap: float, permutations: int = 399, seed: int = 0
) -> tuple[float, float]:
    """Under an alternative: how often equal optimizers are divided, and how often both groups are found exactly."""
    good = {f"o{i}" for i in range(better(design[1]))}
    wrong = right = 0
    for one in _found(
        experiments, design, "normal", gap=gap, method="permutation", permutations=permutations, seed=seed
    ):
        where = one.ranks
        groups = [{where[name] for name in where if (name in good) is inside} for inside in (True, False)]
        wrong += len(one.groups) > 1 and any(len(group) > 1 for group in groups)
        right += len(one.groups) == 2 and all(len(group) == 1 for group in groups) and groups[0] != groups[1]
    return wrong / experiments, right / experiments


def error(experiments: int, p: float = CLAIM) -> float:
    """Three standard errors of a simulated share."""
    return 3 * float(np.sqrt(p * (1 - p) / experiments))


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " ---: |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


def under_the_null(experiments: int, permutations: int) -> tuple[str, int]:
    head = ["functions", "trials", *(f"k = {k}" for k in OPTIMIZERS), *(f"original, k = {k}" for k in OPTIMIZERS)]
    parts, broken = [], 0
    for shape in SHAPES:
        rows = []
        for n in FUNCTIONS:
            for t in TRIALS:
                began = time.process_time()
                new = [splits(experiments, (n, k, t), shape, permutations=permutations) for k in OPTIMIZERS]
                old = [
                    splits(max(1, experiments // FEWER), (n, k, t), shape, method="bootstrap", permutations=199)
                    for k in OPTIMIZERS
                ]
                broken += sum(one > CLAIM + error(experiments) for one in new)
                rows.append([str(n), str(t), *map(percent, new), *map(percent, old)])
                print(shape, *rows[-1], f"{time.process_time() - began:.0f} s", file=sys.stderr, flush=True)
        parts.append(f"### {shape.capitalize() if shape != 'Cauchy' else shape}\n\n{table(head, rows)}")
    return "\n".join(parts), broken


def under_an_alternative(experiments: int, permutations: int) -> str:
    head = ["functions", "trials", "k", "any split", "exactly both groups", "equal ones divided", "original: any split"]
    rows = []
    for n, t in ((1, 15), (6, 5), (10, 5), (24, 1), (24, 5), (100, 1)):
        for k in OPTIMIZERS:
            design = (n, k, t)
            power = splits(experiments, design, gap=1.0, permutations=permutations)
            wrong, right = false_splits(experiments, design, gap=1.0, permutations=permutations)
            old = splits(max(1, experiments // FEWER), design, gap=1.0, method="bootstrap", permutations=199)
            rows.append([str(n), str(t), str(k), *map(percent, (power, right, wrong, old))])
            print("alternative", *rows[-1], file=sys.stderr, flush=True)
    return table(head, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiments", type=int, default=2000)
    parser.add_argument("--permutations", type=int, default=399)
    parser.add_argument("--no-write", action="store_true", help="Print only.")
    given = parser.parse_args()
    began = time.process_time()
    null, broken = under_the_null(given.experiments, given.permutations)
    power = under_an_alternative(max(1, given.experiments // 2), given.permutations)
    spent = time.process_time() - began
    figures = len(SHAPES) * len(FUNCTIONS) * len(TRIALS) * len(OPTIMIZERS)
    text = f"""## Scott-Knott: false splits and power

`benchmarks/calibration_groups.py`: {given.experiments:,} simulated experiments per figure,
{given.permutations} permutations each (the default of `scott_knott` is 2,000; fewer cost power, not calibration).
Percent of experiments with any split among k equal optimizers; at most 5 is claimed, and the Monte Carlo error (three
standard errors) is {100 * error(given.experiments):.1f}. "original": sorted by median, bootstrap test, A12 at least 0.6
per split ({max(1, given.experiments // FEWER):,} experiments, 199 resamples). One function: trials are permuted; else
the ranks of each function. {broken} of {figures} figures of the new test exceed 5 by more than the error.
{spent:.0f} s of CPU time.

{null}
### A third of the optimizers is better by one standard deviation of a trial

Percent of {max(1, given.experiments // 2):,} experiments. "Equal ones divided": a split where none should be, beside
the true one.

{power}"""
    print(text)
    if not given.no_write:
        place = Path(__file__).parent.parent / "docs" / "benchmarks" / "calibration_groups.md"
        place.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
