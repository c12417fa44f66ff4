"""Do verdicts and intervals keep what they promise? Simulated experiments whose truth is known (docs/scores.md 5.3).

    python benchmarks/calibration.py [--experiments 2000] [--functions 6 10 24 100] [--scope problems trials]

Every experiment draws functions, optimizers and trials from a known distribution and is decided as `optarena compare`
decides. Under the null no optimizer is better: any "better" is false, and at most 5 % of experiments may have one. On
alternatives all intervals together must hold the truth in at least 94 % of experiments. Power is the share of pairs
with a true difference that are decided; beside it, that of plain t intervals with Bonferroni's correction.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from optarena.stats.improvement import duels, over_functions, over_trials

Floats = npt.NDArray[np.float64]
SHAPES = ("normal", "ties", "heavy tails", "unequal variances")
SIZES = ((6, 10, 24, 100), (1, 5, 15), (2, 5, 10))
HERE = ((1, 2, 6, 24), (5, 15), (2, 5, 10))
ALPHA = 0.05
GAP = 1.5
"""On alternatives: how far the best and the worst optimizer are apart, in standard deviations of a trial."""


class Design(NamedTuple):
    functions: int
    trials: int
    optimizers: int
    shape: str
    scope: str = "problems"


class Found(NamedTuple):
    """Shares of experiments, or of pairs."""

    false: float
    """Experiments under the null in which any optimizer is called better."""
    coverage: float
    """Experiments on the alternative in which every interval holds the truth."""
    power: float
    """Pairs on the alternative that are decided for the better one."""
    power_of_t: float


def scores(rng: np.random.Generator, design: Design, many: int, gap: float) -> Floats:
    """(experiments x functions, optimizers, trials): less is better; the first optimizer is the best."""
    size = (many * design.functions, design.optimizers, design.trials)
    noise = rng.standard_cauchy(size) if design.shape == "heavy tails" else rng.standard_normal(size)
    if design.shape == "unequal variances":
        noise *= np.linspace(1.0, 4.0, design.optimizers)[:, None]
    effect = np.linspace(0.0, gap, design.optimizers)[:, None]
    if design.scope == "problems":  # optimizers have strengths of their own on every function
        effect = effect + 0.5 * rng.standard_normal((*size[:2], 1))
    out = effect + noise
    return np.round(out) if design.shape == "ties" else out


def pairs_of(optimizers: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    first, second = np.triu_indices(optimizers, 1)
    return first.astype(np.int64), second.astype(np.int64)


def truth(rng: np.random.Generator, design: Design, gap: float) -> Floats:
    """(pairs,): the true probabilities of improvement, from many functions."""
    values = scores(rng, design._replace(functions=1, trials=2), 200_000 // design.optimizers, gap)
    return duels(values, *pairs_of(design.optimizers)).share.mean(axis=1)


def calibrate(design: Design, experiments: int, seed: int = 0) -> Found:
    """What a design promises and keeps."""
    rng = np.random.default_rng([seed, *design[:3], SHAPES.index(design.shape)])
    true = truth(rng, design, GAP)
    false = covered = decided = plain = 0.0
    done = 0
    while done < experiments:
        many = min(50, experiments - done)
        done += many
        for gap in (0.0, GAP):
            for lower, upper, t_lower in _experiments(rng, design, many, gap):
                if gap == 0.0:
                    false += bool(((lower > 0.5) | (upper < 0.5)).any())
                    continue
                covered += bool(((lower <= true + 3e-3) & (upper >= true - 3e-3)).all())
                decided += float(np.mean(lower > 0.5))
                plain += float(np.mean(t_lower > 0.5))
    return Found(*(x / experiments for x in (false, covered, decided, plain)))


def _experiments(
    rng: np.random.Generator, design: Design, many: int, gap: float
) -> list[tuple[Floats, Floats, Floats]]:
    """The ends of each experiment's intervals, and the lower ends of plain t intervals."""
    n = design.functions
    found = duels(scores(rng, design, many, gap), *pairs_of(design.optimizers))
    out = []
    for at in range(0, many * n, n):
        part = found._replace(**{name: getattr(found, name)[:, at : at + n] for name in found._fields})
        if design.scope == "trials":
            made = over_trials(part, np.full(n, 1 / n), alpha=ALPHA)
            out.append((made.lower, made.upper, made.lower))
            continue
        made = over_functions(part.share, alpha=ALPHA)
        error = part.share.std(axis=1, ddof=1) / np.sqrt(n)
        half = special.stdtrit(n - 1, 1 - ALPHA / (2 * len(part.share))) * error
        out.append((made.lower, made.upper, made.value - half))
    return out


def error(experiments: int, share: float = ALPHA) -> float:
    """Three standard errors of a share that so many experiments show."""
    return 3 * float(np.sqrt(share * (1 - share) / experiments))


def table(scope: str, sizes: tuple[tuple[int, ...], ...], experiments: int) -> list[str]:
    """Markdown: one row per design; over all shapes the most false verdicts, the least coverage, power of each."""
    first = "functions" if scope == "problems" else "problems"
    lines = [
        f'| {first} | trials | optimizers | false "better", most | coverage, least | power by shape | of plain t |',
        "| ---: | ---: | ---: | ---: | ---: | --- | --- |",
    ]
    for functions in sizes[0]:
        for trials in sizes[1]:
            for optimizers in sizes[2]:
                found = [
                    calibrate(Design(functions, trials, optimizers, shape, scope), experiments) for shape in SHAPES
                ]
                power, plain = (
                    " / ".join(f"{100 * getattr(one, name):.0f}" for one in found) for name in ("power", "power_of_t")
                )
                lines.append(
                    f"| {functions} | {trials} | {optimizers} | {100 * max(one.false for one in found):.1f} % "
                    f"| {100 * min(one.coverage for one in found):.1f} % | {power} | {plain} |"
                )
                print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--experiments", type=int, default=2000)
    parser.add_argument("--functions", type=int, nargs="*", default=SIZES[0])
    parser.add_argument("--scope", nargs="*", default=["problems", "trials"], choices=["problems", "trials"])
    parser.add_argument("--output", type=Path, help="write the tables to this Markdown file")
    given = parser.parse_args()
    lines = [f"Shares of {given.experiments:,} simulated experiments each; power in % for {', '.join(SHAPES)}.", ""]
    for scope in given.scope:
        sizes = (tuple(given.functions), *SIZES[1:]) if scope == "problems" else HERE
        lines += [f"## Scope {scope}", "", *table(scope, sizes, given.experiments), ""]
    if given.output is not None:
        given.output.write_text("\n".join(["# Calibration of comparisons", "", *lines]), encoding="utf-8")


if __name__ == "__main__":
    main()
