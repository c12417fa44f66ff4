"""Scott-Knott: optimizers in groups that differ, by splitting them where they lie furthest apart (docs/scores.md 5.7).

>>> scott_knott({"a": [1, 2, 3, 2, 1, 2], "b": [1, 2, 2, 3, 1, 2], "c": [8, 9, 9, 8, 9, 8]}).ranks
{'a': 1, 'b': 1, 'c': 2}

The default is calibrated: among equal optimizers it splits in at most 5 % of experiments. `method="bootstrap"` is the
original recipe, which is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from optarena.errors import OptarenaError
from optarena.stats._result import Seed, generator, sample
from optarena.stats.bootstrap import trial_means
from optarena.stats.effects import SMALL, a12, cliffs_delta, cohens_d
from optarena.stats.largest_split import largest_cut, largest_split
from optarena.traces import Floats, Ints

METHODS = ("permutation", "bootstrap")
OVER = ("functions", "trials")
EFFECTS: dict[str, tuple[Callable[[Floats, Floats], float], float]] = {
    "a12": (lambda x, y: max(a12(x, y), a12(y, x)), 0.6),
    "cliffs_delta": (lambda x, y: abs(cliffs_delta(x, y)), 0.147),
    "cohens_d": (lambda x, y: abs(cohens_d(x, y)), 0.38),
}
"""The effect sizes of the original recipe, and from where on an effect is not small."""

FUNCTIONS = 6
"""With fewer functions no test over functions can give p < 0.05 for two optimizers: trials are exchanged instead."""
PERMUTATIONS = 2000
RESAMPLES = 1000
CHUNK = 4_000_000


@dataclass(frozen=True)
class Split:
    """A split that was tried: who stood left and right, the p-value, the effect size, and whether it was kept.

    p is corrected for the recursion. effect: the probability that the left part is better (permutation), or A12 in
    either direction (bootstrap).
    """

    left: tuple[str, ...]
    right: tuple[str, ...]
    p: float
    effect: float
    kept: bool


@dataclass(frozen=True)
class ScottKnott:
    """`groups`: the best first. `ranks`: each one's group, from 1. `splits`: all that were tried."""

    groups: list[list[str]]
    splits: list[Split]
    method: str = "permutation"
    over: str = "trials"
    """What was exchanged between optimizers: functions or trials."""
    test: str = ""
    """The rule for keeping a split, in words."""

    @property
    def ranks(self) -> dict[str, int]:
        """The number of each optimizer's group, from 1, the best."""
        return {name: i + 1 for i, group in enumerate(self.groups) for name in group}

    @property
    def calibrated(self) -> bool:
        """Whether equal optimizers are split in at most alpha of all experiments."""
        return self.method == "permutation"


def scott_knott(
    values: Mapping[str, npt.ArrayLike] | npt.ArrayLike,
    names: Sequence[str] | None = None,
    *,
    functions: Sequence[object] | None = None,
    over: str | None = None,
    method: str = "permutation",
    alpha: float = 0.05,
    effect: str = "a12",
    least_effect: float | None = None,
    permutations: int = PERMUTATIONS,
    resamples: int = RESAMPLES,
    seed: Seed = 0,
) -> ScottKnott:
    """Groups of optimizers. A split is kept if its permutation test gives p < alpha and its effect is not negligible.

    values: (problems, optimizers) or (problems, optimizers, trials), NaN for a missing trial; or numbers by name,
    which belong to no problem. Less is better. Sorted by mean rank within problems, split where the between-group sum
    of squares is largest, recursively. functions: the function of each problem (each its own by default); problems of
    one function are repetitions. over: what is exchanged between optimizers, `functions` (the default from 6 on) or
    `trials` within each problem. An effect is negligible below 0.56 (`least_effect`).

    method `bootstrap`: the original recipe (sorted by median, Efron's bootstrap test per split, `effect` a12 of at
    least 0.6, cliffs_delta 0.147 or cohens_d 0.38) on the means of problems. It is not calibrated.
    See docs/scores.md 5.7.
    """
    if method not in METHODS:
        raise OptarenaError(f"the method of Scott-Knott is one of {', '.join(METHODS)}; got {method!r}")
    if effect not in EFFECTS:
        raise OptarenaError(f"an effect size is one of {', '.join(EFFECTS)}; got {effect!r}")
    if over is not None and over not in OVER:
        raise OptarenaError(f"Scott-Knott exchanges {' or '.join(OVER)}; got {over!r}")
    if not 0 < alpha < 1:
        raise OptarenaError(f"alpha lies between 0 and 1, as 0.05; got {alpha}")
    cube, labels = _cube(values, names)
    if method == "bootstrap":
        data = {name: _of_problems(cube, o) for o, name in enumerate(labels)}
        return _bootstrapped(data, alpha, effect, least_effect, resamples, generator(seed))
    codes = _codes(functions, len(cube))
    scope = over or ("functions" if len(np.unique(codes)) >= FUNCTIONS else "trials")
    bound = SMALL if least_effect is None else least_effect
    return _permuted(cube, labels, codes, scope, alpha, bound, permutations, generator(seed))


def _cube(values: Mapping[str, npt.ArrayLike] | npt.ArrayLike, names: Sequence[str] | None) -> tuple[Floats, list[str]]:
    """(problems, optimizers, trials) and the names of the optimizers."""
    if isinstance(values, Mapping):
        if not values:
            raise OptarenaError("Scott-Knott needs at least one name with numbers")
        data = {name: sample(numbers, name) for name, numbers in sorted(values.items())}
        cube = np.full((1, len(data), max(map(len, data.values()))), np.nan)
        for o, numbers in enumerate(data.values()):
            cube[0, o, : len(numbers)] = numbers
        return cube, list(data)
    cube = np.asarray(values, dtype=float)
    cube = cube[..., None] if cube.ndim == 2 else cube
    if cube.ndim != 3 or 0 in cube.shape:
        raise OptarenaError(f"Scott-Knott needs values (problems, optimizers, trials); got the shape {cube.shape}")
    labels = [str(o) for o in range(cube.shape[1])] if names is None else list(names)
    if len(labels) != cube.shape[1]:
        raise OptarenaError(f"{cube.shape[1]} optimizers need as many names; got {len(labels)}")
    lacking = np.argwhere(np.isnan(cube).all(axis=2))
    if len(lacking):
        p, o = lacking[0].tolist()
        raise OptarenaError(f"{labels[o]} has no value on problem {p}: leave out the problems that an optimizer lacks")
    return cube, labels


def _codes(functions: Sequence[object] | None, problems: int) -> Ints:
    if functions is None:
        return np.arange(problems)
    if len(functions) != problems:
        raise OptarenaError(f"{problems} problems need as many functions; got {len(functions)}")
    places: dict[object, int] = {}
    return np.array([places.setdefault(one, len(places)) for one in functions], dtype=np.int64)


def _of_problems(cube: Floats, o: int) -> Floats:
    """The means of an optimizer on each problem; on a single problem, its trials."""
    return trial_means(cube)[:, o] if len(cube) > 1 else cube[0, o][~np.isnan(cube[0, o])]


def _permuted(
    cube: Floats, names: list[str], functions: Ints, over: str, alpha: float, bound: float, permutations: int,
    rng: np.random.Generator,
) -> ScottKnott:  # fmt: skip
    splits: list[Split] = []
    k = len(names)

    def divide(members: list[int]) -> list[list[int]]:
        if len(members) < 2:
            return [members]
        share = len(members) / k  # disjoint groups share alpha: sum of their shares <= 1
        found = largest_split(
            cube[:, members], functions, over=over, enough=alpha * share, permutations=permutations, rng=rng
        )
        ordered = [members[i] for i in found.order]
        left, right = ordered[: found.at], ordered[found.at :]
        p = min(1.0, found.p / share)
        kept = bool(p < alpha and found.effect >= bound)
        splits.append(Split(_named(names, left), _named(names, right), p, found.effect, kept))
        return divide(left) + divide(right) if kept else [ordered]

    groups = [list(_named(names, group)) for group in divide(list(range(k)))]
    what = "numbers" if over == "trials" and len(cube) == 1 else over
    test = f"p < {alpha:g} by permuting {what}, probability of improvement >= {bound:g}"
    return ScottKnott(groups, splits, "permutation", over, test)


def _named(names: list[str], members: list[int]) -> tuple[str, ...]:
    return tuple(names[o] for o in members)


def _bootstrapped(
    data: Mapping[str, Floats], alpha: float, effect: str, least_effect: float | None, resamples: int,
    rng: np.random.Generator,
) -> ScottKnott:  # fmt: skip
    order = sorted(data, key=lambda name: (float(np.median(data[name])), name))
    splits: list[Split] = []
    measure, usual = EFFECTS[effect]
    bound = usual if least_effect is None else least_effect

    def divide(names: list[str]) -> list[list[str]]:
        if len(names) < 2:
            return [names]
        parts = [data[name] for name in names]
        at = int(largest_cut(np.array([part.sum() for part in parts]), np.array([len(part) for part in parts])))
        left, right = (np.concatenate([data[name] for name in part]) for part in (names[:at], names[at:]))
        size = measure(left, right) if min(len(left), len(right)) > 1 or effect != "cohens_d" else np.inf
        p = bootstrap_test(left, right, resamples=resamples, seed=rng)
        kept = bool(p < alpha and size >= bound)
        splits.append(Split(tuple(names[:at]), tuple(names[at:]), p, size, kept))
        return divide(names[:at]) + divide(names[at:]) if kept else [names]

    said = {"a12": "A12", "cliffs_delta": "Cliff's delta", "cohens_d": "Cohen's d"}[effect]
    test = f"bootstrap p < {alpha:g} and {said} >= {bound:g}; not calibrated"
    return ScottKnott(divide(order), splits, "bootstrap", "trials", test)


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
