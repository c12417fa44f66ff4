"""Scott-Knott: optimizers in groups that differ, by splitting them where they lie furthest apart (docs/scores.md 5.7).

>>> scott_knott({"a": [1, 2, 3, 2, 1, 2], "b": [1, 2, 2, 3, 1, 2], "c": [8, 9, 9, 8, 9, 8]}).ranks
{'a': 1, 'b': 1, 'c': 2}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from optarena.errors import OptarenaError
from optarena.stats._result import Seed, generator, sample
from optarena.stats.effects import a12, cliffs_delta, cohens_d
from optarena.traces import Floats

EFFECTS: dict[str, tuple[Callable[[Floats, Floats], float], float]] = {
    "a12": (lambda x, y: max(a12(x, y), a12(y, x)), 0.6),
    "cliffs_delta": (lambda x, y: abs(cliffs_delta(x, y)), 0.147),
    "cohens_d": (lambda x, y: abs(cohens_d(x, y)), 0.38),
}
"""Measures of effect size and from where on an effect is not small."""

RESAMPLES = 1000
CHUNK = 4_000_000


@dataclass(frozen=True)
class Split:
    """A split that was tried: who stood left and right, the p-value, the effect size, and whether it was kept."""

    left: tuple[str, ...]
    right: tuple[str, ...]
    p: float
    effect: float
    kept: bool


@dataclass(frozen=True)
class ScottKnott:
    """`groups`: best (least median) first. `ranks`: each one's group, from 1. `splits`: all that were tried."""

    groups: list[list[str]]
    splits: list[Split]

    @property
    def ranks(self) -> dict[str, int]:
        return {name: i + 1 for i, group in enumerate(self.groups) for name in group}


def scott_knott(
    treatments: Mapping[str, npt.ArrayLike],
    *,
    alpha: float = 0.05,
    effect: str = "a12",
    least_effect: float | None = None,
    resamples: int = RESAMPLES,
    seed: Seed = 0,
) -> ScottKnott:
    """Groups of treatments: a split stays if a bootstrap test gives p < alpha and the effect is not small; recursively.

    Sorted by median (ties by name), split where the between-group sum of squares is largest. effect: `a12` (0.6 either
    way), `cliffs_delta` (0.147) or `cohens_d` (0.38), or a bound of your own by `least_effect`. Assumes independent
    values; the tests of different splits are not corrected for each other, as in the method's definition.
    See docs/scores.md 5.7.
    """
    if not treatments:
        raise OptarenaError("Scott-Knott needs at least one name with numbers")
    if effect not in EFFECTS:
        raise OptarenaError(f"an effect size is one of {', '.join(EFFECTS)}; got {effect!r}")
    if not 0 < alpha < 1:
        raise OptarenaError(f"alpha lies between 0 and 1, as 0.05; got {alpha}")
    data = {name: sample(values, name) for name, values in treatments.items()}
    order = sorted(data, key=lambda name: (float(np.median(data[name])), name))
    splits: list[Split] = []
    rng = generator(seed)
    measure, usual = EFFECTS[effect]
    bound = usual if least_effect is None else least_effect

    def divide(names: list[str]) -> list[list[str]]:
        if len(names) < 2:
            return [names]
        at = _cut([data[name] for name in names])
        left, right = (np.concatenate([data[name] for name in part]) for part in (names[:at], names[at:]))
        size = measure(left, right) if min(len(left), len(right)) > 1 or effect != "cohens_d" else np.inf
        p = bootstrap_test(left, right, resamples=resamples, seed=rng)
        kept = bool(p < alpha and size >= bound)
        splits.append(Split(tuple(names[:at]), tuple(names[at:]), p, size, kept))
        return divide(names[:at]) + divide(names[at:]) if kept else [names]

    return ScottKnott(divide(order), splits)


def bootstrap_test(x: npt.ArrayLike, y: npt.ArrayLike, *, resamples: int = RESAMPLES, seed: Seed = 0) -> float:
    """Efron's test of two means: both samples are moved to the common mean and resampled; p = (1 + extremes)/(1 + B).

    The statistic is |difference of means| / its standard error, so spreads may differ. Equal means, or a sample of one
    number: p = 1; two constants that differ: p = 0, as far as data can tell. See docs/scores.md 5.7.
    """
    a, b = sample(x), sample(y, "y")
    apart = abs(a.mean() - b.mean())
    if apart == 0 or len(a) < 2 or len(b) < 2:
        return 1.0
    if a.var() == 0 and b.var() == 0:
        return 0.0
    observed = apart / np.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b))
    mean = np.concatenate((a, b)).mean()
    rng = generator(seed)
    extreme = 0
    block = max(1, CHUNK // (len(a) + len(b)))
    for start in range(0, resamples, block):
        times = min(block, resamples - start)
        (p, v), (q, w) = (_moments(one - one.mean() + mean, times, rng) for one in (a, b))
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.abs(p - q) / np.sqrt(v / len(a) + w / len(b))
        extreme += int(np.sum(~(t < observed)))  # no spread at all counts as extreme
    return (1 + extreme) / (1 + resamples)


def _moments(values: Floats, times: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    drawn = values[rng.integers(len(values), size=(times, len(values)))]
    return drawn.mean(axis=1), drawn.var(axis=1, ddof=1)


def _cut(parts: list[Floats]) -> int:
    """After how many of the parts the between-group sum of squares is largest; the first of equal ones."""
    sizes = np.array([len(part) for part in parts], dtype=float)
    sums = np.array([part.sum() for part in parts])
    n, total = np.cumsum(sizes)[:-1], np.cumsum(sums)[:-1]
    mean = sums.sum() / sizes.sum()
    between = n * (total / n - mean) ** 2 + (sizes.sum() - n) * ((sums.sum() - total) / (sizes.sum() - n) - mean) ** 2
    return int(np.argmax(between)) + 1
