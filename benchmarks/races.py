"""Do races keep their promise, and what do they save? Simulated races whose truth is known (docs/scores.md 6).

    python benchmarks/races.py [--null 10000] [--races 300] [--output docs/benchmarks/races.md]

Under the null no optimizer is better: a race that looks after every round may call one better in at most 5 % of races.
On alternatives the first optimizer beats each other one with a given probability, on average over problems. The race
goes on until the first is shown to be better than all others; beside it stands the fixed design (docs/scores.md 5.3,
scope trials) with the fewest trials that shows the same as often. Evaluations are compared, in studies: every trial of
an optimizer on a problem costs the same. `look` measures one look at the largest race.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import special

from _measure import load
from optarena.stats.improvement import duels, over_trials
from optarena.stats.sequences import Bets, levels_of, refuted

Floats = npt.NDArray[np.float64]
SHAPES = ("normal", "ties", "heavy tails", "unequal variances")
OPTIMIZERS, PROBLEMS, CHANCES = (2, 5, 10), (6, 24, 100), (0.56, 0.64, 0.71, 0.9)
ROUNDS = 30
"""Of a race under the null."""
ALPHA = 0.05
APART = 1.0
"""How much optimizers differ from problem to problem, in standard deviations of a trial."""
MOST = 3000
"""Rounds of a race on an alternative."""
POWERS = (0.8, 0.99, 0.999)
"""Of fixed designs; the race itself practically always decides."""


def pairs_of(optimizers: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    first, second = np.triu_indices(optimizers, 1)
    return first.astype(np.int64), second.astype(np.int64)


def noise(rng: np.random.Generator, shape: str, size: tuple[int, ...]) -> Floats:
    """(…, optimizers, problems)"""
    out = rng.standard_cauchy(size) if shape == "heavy tails" else rng.standard_normal(size)
    return out * np.linspace(1.0, 4.0, size[-2])[:, None] if shape == "unequal variances" else out


def rounded(values: Floats, shape: str) -> Floats:
    return np.round(values) if shape == "ties" else values


def duelled(values: Floats, first: npt.NDArray[np.int64], second: npt.NDArray[np.int64]) -> Floats:
    """(races, pairs, problems): who won the duels of a round, values (races, optimizers, problems)."""
    a, b = values[:, first], values[:, second]
    return (a < b) + 0.5 * (a == b)


def false_verdicts(optimizers: int, problems: int, shape: str, races: int, seed: int = 0) -> float:
    """The share of races under the null in which any optimizer is called better at any look.

    On half of the problems an optimizer is as strong as it is weak on the other half, so nobody is better on average.
    """
    rng = np.random.default_rng([seed, optimizers, problems, SHAPES.index(shape)])
    first, second = pairs_of(optimizers)
    block = max(1, 400_000 // (len(first) * problems))
    wrong = 0
    for at in range(0, races, block):
        many = min(block, races - at)
        strength = APART * rng.standard_normal((many, optimizers, problems // 2))
        strength = np.concatenate((strength, -strength), axis=2)
        bets = Bets(np.ones(problems), np.full((many * len(first), 1), 0.5))
        hit = np.zeros(many, dtype=bool)
        for _ in range(ROUNDS):
            values = rounded(strength + noise(rng, shape, (many, optimizers, problems)), shape)
            bets.add(duelled(values, first, second).reshape(-1, problems))
            above, below = refuted(bets.evidence, ALPHA, len(first))
            hit |= (above | below).reshape(many, -1).any(axis=1)
        wrong += int(hit.sum())
    return wrong / races


def shifts(rng: np.random.Generator, optimizers: int, problems: int, chance: float, races: int) -> Floats:
    """(races, optimizers, problems): strengths with which the first beats each other one with the chance asked for."""
    own = APART * rng.standard_normal((races, optimizers, problems))
    own[:, 0] = 0.0
    low, high = np.full((races, optimizers, 1), -60.0), np.full((races, optimizers, 1), 60.0)
    for _ in range(60):
        middle = (low + high) / 2
        more = special.ndtr((own + middle) / np.sqrt(2)).mean(axis=2, keepdims=True) < chance
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    own += (low + high) / 2
    own[:, 0] = 0.0
    return own


def race(rng: np.random.Generator, strength: Floats) -> tuple[Floats, float]:
    """(races,): how many studies each took until the first had beaten all others; and how many did not end so."""
    races, optimizers, problems = strength.shape
    first, second = pairs_of(optimizers)
    live = np.ones((races, optimizers), dtype=bool)
    settled = np.zeros((races, len(first)), dtype=bool)
    bets = Bets(np.ones(problems), np.full((races * len(first), 1), 0.5))
    spent = np.zeros(races)
    for _ in range(MOST):
        open_ = live[:, first] & live[:, second] & ~settled
        going = open_.any(axis=1)
        if not going.any():
            break
        spent += np.where(going, live.sum(axis=1) * problems, 0)
        values = strength + rng.standard_normal(strength.shape)
        met = np.where(open_[..., None], duelled(values, first, second), np.nan)
        bets.add(met.reshape(-1, problems))
        above, below = (one.reshape(races, -1) for one in refuted(bets.evidence, ALPHA, len(first)))
        for beaten, winner, which in ((second, first, above & open_), (first, second, below & open_)):
            settled |= which
            for p in np.flatnonzero(which.any(axis=0)).tolist():
                live[:, beaten[p]] &= ~(which[:, p] & live[:, winner[p]])
    won = live[:, 0] & (live.sum(axis=1) == 1)
    return spent, float(np.mean(~won))


def fixed(rng: np.random.Generator, strength: Floats, trials: int) -> float:
    """The share of experiments with so many trials in which the first is better than all others (scope trials)."""
    races, optimizers, problems = strength.shape
    others = np.arange(1, optimizers)
    first = np.zeros(optimizers - 1, dtype=np.int64)
    weights = np.full(problems, 1 / problems)
    tests = optimizers * (optimizers - 1) // 2
    shown = 0
    for own in strength:
        values = own.T[..., None] + rng.standard_normal((problems, optimizers, trials))
        made = over_trials(duels(values, first, others), weights, alpha=ALPHA, tests=tests)
        shown += bool((made.lower > 0.5).all())
    return shown / races


def fewest(rng: np.random.Generator, strength: Floats, power: float) -> int:
    """The fewest trials with which the fixed design shows it with this power.

    Few trials are simulated; from there on the normal quantile of the power grows with the root of the trials.
    """
    trials, found = 2, {}
    while True:
        found[trials] = fixed(rng, strength, trials)
        if found[trials] >= 0.97:
            break
        trials = max(trials + 1, int(1.2 * trials))
    some = {n: p for n, p in found.items() if 0.2 <= p < 0.995}
    if len(some) < 2:
        while found[trials] < power:
            trials += 1
            found[trials] = fixed(rng, strength, trials)
        return trials
    slope, shift = np.polyfit(np.sqrt(list(some)), special.ndtri(list(some.values())), 1)
    return max(2, int(np.ceil(((special.ndtri(power) - shift) / slope) ** 2)))


def look_seconds() -> float:
    """One look at 10 optimizers x 100 problems after 100 rounds: the least of several."""
    rng = np.random.default_rng(0)
    first, _ = pairs_of(10)
    bets = Bets(np.ones(100), levels_of(len(first)))
    times = []
    for _ in range(100):
        met = rng.integers(0, 2, (len(first), 100)).astype(float)
        began = time.process_time()
        bets.add(met)
        refuted(bets.evidence, ALPHA, len(first))
        times.append(time.process_time() - began)
    return times[-1]


def null_table(races: int) -> list[str]:
    lines = [f"| optimizers | problems | {' | '.join(SHAPES)} |", f"| ---: | ---: |{' ---: |' * len(SHAPES)}"]
    for k in OPTIMIZERS:
        for n in PROBLEMS:
            found = " | ".join(f"{100 * false_verdicts(k, n, shape, races):.2f} %" for shape in SHAPES)
            lines.append(f"| {k} | {n} | {found} |")
            print(lines[-1], flush=True)
    return lines


def savings_table(races: int) -> list[str]:
    shown = " | ".join(f"fixed, {100 * power:g} %" for power in POWERS)
    lines = [
        f"| optimizers | problems | P(beats) | race decides | its trials, mean | {shown} | saved |",
        f"| ---: | ---: | ---: | ---: | ---: |{' ---: |' * len(POWERS)} ---: |",
    ]
    ratios = []
    for k in OPTIMIZERS:
        for n in PROBLEMS:
            for chance in CHANCES:
                rng = np.random.default_rng([k, n, int(100 * chance)])
                strength = shifts(rng, k, n, chance, races)
                spent, failed = race(rng, strength)
                trials = [fewest(rng, strength, power) for power in POWERS]
                mean = spent.mean() / (k * n)
                ratios.append(mean / trials[-1])
                lines.append(
                    f"| {k} | {n} | {chance} | {100 * (1 - failed):.1f} % | {mean:.2f} "
                    f"| {' | '.join(map(str, trials))} | {100 * (1 - ratios[-1]):.0f} % |"
                )
                print(lines[-1], flush=True)
    lines += ["", f"Saved on average: {100 * (1 - np.mean(ratios)):.0f} %."]
    print(lines[-1])
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--null", type=int, default=10_000)
    parser.add_argument("--races", type=int, default=300)
    parser.add_argument("--output", type=Path, help="write the tables to this Markdown file")
    asked = parser.parse_args()
    print(f"a look at 10 optimizers x 100 problems after 100 rounds: {1e3 * look_seconds():.1f} ms CPU ({load()})")
    tables = [savings_table(asked.races) if asked.races else [], null_table(asked.null) if asked.null else []]
    if asked.output is not None:
        asked.output.write_text("\n\n".join("\n".join(lines) for lines in tables) + "\n")


if __name__ == "__main__":
    main()
