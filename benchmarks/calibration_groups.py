"""Does Scott-Knott split equal optimizers? Simulated experiments whose truth is known (docs/scores.md 5.7).

    python benchmarks/calibration_groups.py [--experiments 2000] [--permutations 199] [--resume FILE] [--no-write]

Under the null at most 5 % of experiments may have any split. Writes docs/benchmarks/calibration_groups.md after every
row, since all of it takes half an hour of CPU time; `--resume` keeps finished rows in a file and goes on from there.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
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
    permutations: int = 199, seed: int = 0,
) -> float:  # fmt: skip
    """The share of experiments with any split."""
    found = _found(experiments, design, shape, gap=gap, method=method, permutations=permutations, seed=seed)
    return float(np.mean([len(one.groups) > 1 for one in found]))


def alternative(
    experiments: int, design: Design, *, gap: float, permutations: int = 199, seed: int = 0
) -> tuple[float, float, float]:
    """How often there is any split; both groups are found exactly; equal optimizers are divided beside that."""
    good = {f"o{i}" for i in range(better(design[1]))}
    some = right = wrong = 0
    found = _found(experiments, design, "normal", gap=gap, method="permutation", permutations=permutations, seed=seed)
    for one in found:
        where = one.ranks
        groups = [{where[name] for name in where if (name in good) is inside} for inside in (True, False)]
        some += len(one.groups) > 1
        wrong += any(len(group) > 1 for group in groups)
        right += len(one.groups) == 2 and all(len(group) == 1 for group in groups)
    return some / experiments, right / experiments, wrong / experiments


def error(experiments: int, p: float = CLAIM) -> float:
    """Three standard errors of a simulated share."""
    return 3 * float(np.sqrt(p * (1 - p) / experiments))


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " ---: |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


@dataclass
class Rows:
    """Finished rows by what they are; kept in a file where one is given."""

    experiments: int
    permutations: int
    file: Path | None
    null: dict[str, list[str]] = field(default_factory=dict)
    """By shape, functions and trials."""
    power: dict[str, list[str]] = field(default_factory=dict)
    """By functions, trials and optimizers."""

    def load(self) -> None:
        if self.file is not None and self.file.exists():
            found = json.loads(self.file.read_text(encoding="utf-8"))
            if (found["experiments"], found["permutations"]) != (self.experiments, self.permutations):
                raise SystemExit(f"{self.file} has rows of other numbers of experiments or permutations")
            self.null, self.power = found["null"], found["power"]

    def keep(self) -> None:
        if self.file is not None:
            data = {name: getattr(self, name) for name in ("experiments", "permutations", "null", "power")}
            self.file.write_text(json.dumps(data), encoding="utf-8")


def null_row(rows: Rows, shape: str, n: int, t: int) -> list[str]:
    few = max(1, rows.experiments // FEWER)
    new = [splits(rows.experiments, (n, k, t), shape, permutations=rows.permutations) for k in OPTIMIZERS]
    old = [splits(few, (n, k, t), shape, method="bootstrap", permutations=199) for k in OPTIMIZERS]
    return [*map(percent, new), *map(percent, old)]


def power_row(rows: Rows, n: int, t: int, k: int) -> list[str]:
    few = max(1, rows.experiments // FEWER)
    any_split, exactly, wrong = alternative(few * 2, (n, k, t), gap=1.0, permutations=rows.permutations)
    old = splits(few, (n, k, t), gap=1.0, method="bootstrap", permutations=199)
    return [*map(percent, (any_split, exactly, wrong, old))]


def text(rows: Rows) -> str:
    figures = [float(one) / 100 for row in rows.null.values() for one in row[: len(OPTIMIZERS)]]
    broken = sum(one > CLAIM + error(rows.experiments) for one in figures)
    few = max(1, rows.experiments // FEWER)
    head = ["functions", "trials", *(f"k = {k}" for k in OPTIMIZERS), *(f"original, k = {k}" for k in OPTIMIZERS)]
    parts = [
        f"""## Scott-Knott: false splits and power

`benchmarks/calibration_groups.py`: {rows.experiments:,} simulated experiments per figure,
{rows.permutations} permutations each (the default of `scott_knott` is 2,000; fewer cost power, not calibration).
Percent of experiments with any split among k equal optimizers; at most 5 is claimed, and the Monte Carlo error (three
standard errors) is {100 * error(rows.experiments):.1f}. "original": sorted by median, bootstrap test, A12 at least 0.6
per split ({few:,} experiments, 199 resamples). One function: trials are permuted; else the ranks of each function.
{broken} of {len(figures)} figures of the new test exceed 5 by more than the error.
"""
    ]
    for shape in SHAPES:
        found = [
            [str(n), str(t), *rows.null[key]]
            for n in FUNCTIONS
            for t in TRIALS
            if (key := f"{shape} {n} {t}") in rows.null
        ]
        parts.append(f"### Equal optimizers: {shape}\n\n{table(head, found)}")
    head = ["functions", "trials", "k", "any split", "exactly both groups", "equal ones divided", "original: any split"]
    found = [[*key.split(), *row] for key, row in rows.power.items()]
    parts.append(
        f"""### A third of the optimizers is better by one standard deviation of a trial

Percent of {few * 2:,} experiments ({few:,} of the original). "Equal ones divided": the cut found is not the true one,
or there is a further one. The test says that a group is not homogeneous; the place of the cut is an estimate.

{table(head, found)}"""
    )
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiments", type=int, default=2000)
    parser.add_argument("--permutations", type=int, default=199)
    parser.add_argument("--resume", type=Path, help="A file that keeps finished rows.")
    parser.add_argument("--no-write", action="store_true", help="Print only.")
    given = parser.parse_args()
    rows = Rows(given.experiments, given.permutations, given.resume)
    rows.load()
    place = Path(__file__).parent.parent / "docs" / "benchmarks" / "calibration_groups.md"

    def done(what: str, row: list[str], began: float) -> None:
        print(what, *row, f"{time.process_time() - began:.0f} s", file=sys.stderr, flush=True)
        rows.keep()
        if not given.no_write:
            place.write_text(text(rows), encoding="utf-8")

    for n, t in ((1, 15), (6, 5), (10, 5), (24, 1), (24, 5)):
        for k in OPTIMIZERS:
            if (key := f"{n} {t} {k}") not in rows.power:
                began = time.process_time()
                rows.power[key] = power_row(rows, n, t, k)
                done(f"power {key}", rows.power[key], began)
    for n in FUNCTIONS:
        for t in TRIALS:
            for shape in SHAPES:
                if (key := f"{shape} {n} {t}") not in rows.null:
                    began = time.process_time()
                    rows.null[key] = null_row(rows, shape, n, t)
                    done(key, rows.null[key], began)
    print(text(rows))


if __name__ == "__main__":
    main()
