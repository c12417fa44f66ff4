"""Ranks over problems: Friedman, Iman-Davenport, Nemenyi's critical difference, Conover, groups (docs/scores.md 5.6).

>>> import numpy as np
>>> average_ranks(np.array([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]])).tolist()
[1.0, 2.5, 2.5]

Matrices have one row per problem and one column per optimizer; less is better, so rank 1 is the best.
"""

from __future__ import annotations

from functools import lru_cache
from math import lgamma
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from optarena.errors import OptarenaError
from optarena.stats._result import Seed, generator, matrix
from optarena.traces import Bools, Floats

BLOCKS, BLOCKS_OF_TWO = 10, 15
"""From so many problems on (of three or more optimizers, of two) the approximations are trusted: at 5 % the true level
of Iman and Davenport's F is then at most a fifth too high (docs/scores.md 5.6)."""
PERMUTATIONS = 10_000
CHUNK = 2_000_000


class Friedman(NamedTuple):
    """Friedman's test with the average ranks that it is made of, and Iman and Davenport's F, which is less timid."""

    statistic: float
    p: float
    """By chi-squared with enough problems (10; 15 for two optimizers), else by permuting ranks within them."""
    ranks: Floats
    iman_davenport_F: float
    iman_davenport_p: float
    """NaN where there are fewer problems, which cannot support it."""
    n: int
    method: str = ""
    """How `p` was found."""
    least_p: float = 0.0
    """The least p-value that as many problems can give: (1/k!)^(n - 1)."""
    note: str = ""
    """What a reader should know of it, if anything."""


class Nemenyi(NamedTuple):
    """Average ranks further apart than `cd` differ; `p`: the p-value of every two."""

    p: Floats
    cd: float
    q: float
    ranks: Floats
    n: int


def ranks_of(x: npt.ArrayLike, axis: int = -1) -> Floats:
    """Ranks along an axis, 1 for the least; ties share their mean. Invariant to increasing transforms of the values.

    See docs/scores.md 5.6.
    """
    values = np.moveaxis(np.asarray(x, dtype=float), axis, -1)
    order = np.argsort(values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    n = values.shape[-1]
    new = np.concatenate((np.ones((*values.shape[:-1], 1), dtype=bool), ordered[..., 1:] != ordered[..., :-1]), axis=-1)
    place = np.broadcast_to(np.arange(n), values.shape)
    first = np.maximum.accumulate(np.where(new, place, 0), axis=-1)
    ends = np.concatenate((new[..., 1:], np.ones((*values.shape[:-1], 1), dtype=bool)), axis=-1)
    last = np.minimum.accumulate(np.where(ends, place, n)[..., ::-1], axis=-1)[..., ::-1]
    out = np.empty(values.shape)
    np.put_along_axis(out, order, (first + last) / 2 + 1, axis=-1)
    return np.moveaxis(out, -1, axis)


def tie_sums(ordered: Floats, *, equal: float = 0.0) -> Floats:
    """(…): the sum of t^3 - t over the groups of t equal values of sorted rows (…, n); what tie corrections take off.

    Neighbours that differ by at most `equal` are equal; NaN equals nothing. See docs/scores.md 5.4, 5.6.
    """
    place = np.arange(ordered.shape[-1])
    with np.errstate(invalid="ignore"):
        new = ~(np.diff(ordered, axis=-1, prepend=np.nan) <= equal)
    before = place - np.maximum.accumulate(np.where(new, place, 0), axis=-1)  # how many equal ones stand before
    return np.sum(3.0 * before * (before + 1), axis=-1)


def kendall_tau(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Kendall's tau-b of two rankings: 1 for the same order with the same ties, -1 for the reverse.

    Concordant less discordant pairs, divided by the geometric mean of the pairs that each ranking does not tie. Two
    rankings that tie everything are the same: 1. Only one ties everything: 0. Less than two values: 1. Values are
    compared, not subtracted: equal infinities tie. See docs/scores.md 5.15.
    """
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if a.ndim != 1 or a.shape != b.shape:
        raise OptarenaError(f"two rankings must have equal length; got the shapes {a.shape} and {b.shape}")
    first, second = np.triu_indices(len(a), 1)
    signs = [(one[first] > one[second]) * 1.0 - (one[first] < one[second]) for one in (a, b)]
    untied = [float(np.sum(np.abs(sign))) for sign in signs]
    if untied == [0.0, 0.0]:
        return 1.0
    if 0.0 in untied:
        return 0.0
    return float(np.sum(signs[0] * signs[1]) / np.sqrt(untied[0] * untied[1]))


def average_ranks(x: npt.ArrayLike) -> Floats:
    """(optimizers,): the mean over problems of each one's rank (docs/scores.md 5.6)."""
    return ranks_of(matrix(x), axis=1).mean(axis=0)


def friedman(x: npt.ArrayLike, *, permutations: int = PERMUTATIONS, seed: Seed = 0) -> Friedman:
    """Do all optimizers have the same distribution of ranks? Ties are corrected for (docs/scores.md 5.6).

    Assumes independent problems (rows): give one row per function, not one per instance or dimension. With fewer than
    10 rows (15 for two optimizers) no approximation holds: p comes from permuting the ranks within rows, and Iman and
    Davenport's p is NaN.
    Where all optimizers tie on all problems, p = 1.
    """
    data = matrix(x)
    n, k = data.shape
    ranks = ranks_of(data, axis=1)
    mean = ranks.mean(axis=0)
    chi2 = _chi2(ranks)
    least = float(np.exp(-(n - 1) * lgamma(k + 1)))
    if np.isnan(chi2):
        return Friedman(0.0, 1.0, mean, 0.0, 1.0, n, "all tie", least)
    f, f_p = _iman_davenport(chi2, n, k)
    needed = BLOCKS if k > 2 else BLOCKS_OF_TWO
    if n >= needed:
        return Friedman(chi2, float(special.chdtrc(k - 1, chi2)), mean, f, f_p, n, "chi-squared", least)
    p = max(_permuted_p(ranks, permutations, generator(seed)), least)
    note = f"{n} {'problem' if n == 1 else 'problems'} cannot support Iman-Davenport (it needs {needed})"
    if least > 0.05:
        note += f"; no p-value below {least:.2g} is possible"
    return Friedman(chi2, p, mean, f, float("nan"), n, f"{permutations:,} permutations", least, note)


def _permuted_p(ranks: Floats, permutations: int, rng: np.random.Generator) -> float:
    """How often ranks permuted within problems give average ranks as far apart; (1 + extremes)/(1 + permutations)."""
    n, k = ranks.shape
    centred = ranks - (k + 1) / 2
    observed = np.sum(centred.sum(axis=0) ** 2)
    extreme = 0
    block = max(1, CHUNK // ranks.size)
    for start in range(0, permutations, block):
        places = rng.random((min(block, permutations - start), n, k)).argsort(axis=2)
        drawn = np.take_along_axis(centred[None], places, axis=2).sum(axis=1)
        extreme += int(np.sum(np.sum(drawn**2, axis=1) >= observed * (1 - 1e-9)))
    return (1 + extreme) / (1 + permutations)


def iman_davenport(x: npt.ArrayLike) -> tuple[float, float]:
    """F and p: Friedman's statistic as an F with k - 1 and (k - 1)(n - 1) degrees of freedom (docs/scores.md 5.6).

    With fewer than 10 problems (15 for two optimizers) p is NaN: the approximation claims far too much there.
    `friedman` has a p that holds.
    """
    found = friedman(x)
    return found.iman_davenport_F, found.iman_davenport_p


def nemenyi(x: npt.ArrayLike, alpha: float = 0.05) -> Nemenyi:
    """Every two optimizers by their average ranks, all comparisons allowed for: the critical difference.

    Assumes what Friedman's test does. What two optimizers are to each other depends on who else takes part.
    See docs/scores.md 5.6.
    """
    data = matrix(x)
    n, k = data.shape
    mean = average_ranks(data)
    q = float(_range_quantile(alpha, k) / np.sqrt(2))
    apart = np.abs(mean[:, None] - mean[None, :]) / _rank_error(n, k) * np.sqrt(2)
    upper = np.triu_indices(k, 1)
    p = np.eye(k)
    p[upper] = range_tail(apart[upper], k)
    p.T[upper] = p[upper]
    return Nemenyi(p, critical_difference(n, k, alpha), q, mean, n)


def critical_difference(n: int, k: int, alpha: float = 0.05) -> float:
    """Nemenyi's: average ranks of k optimizers over n problems that are further apart differ (docs/scores.md 5.6)."""
    if n < 1 or k < 2:
        raise OptarenaError(f"a critical difference needs a problem and two optimizers; got n = {n}, k = {k}")
    return float(_range_quantile(alpha, k) / np.sqrt(2) * _rank_error(n, k))


def _rank_error(n: int, k: int) -> float:
    """The standard error of the difference of two average ranks (docs/scores.md 5.6)."""
    return float(np.sqrt(k * (k + 1) / (6 * n)))


def range_tail(q: npt.ArrayLike, k: int) -> Floats:
    """P(range of k standard normal numbers > q): SciPy's `studentized_range.sf` for infinitely many degrees of freedom.

    Here, since loading `scipy.stats` takes longer than a whole comparison. The least number is z, the others lie within
    q above it: k times the integral of phi(z) (Phi(z + q) - Phi(z))^(k - 1).
    """
    at = np.asarray(q, dtype=float)
    z, density = _normal_grid()
    points, place = np.unique(at, return_inverse=True)  # ranks are few: so are their differences
    tails = np.empty(len(points))
    for low in range(0, len(points), 4096):
        part = slice(low, low + 4096)
        within = special.ndtr(z + points[part, None]) - special.ndtr(z)
        tails[part] = 1.0 - k * np.sum(density * within ** (k - 1), axis=-1)
    return np.clip(tails, 0.0, 1.0)[place].reshape(at.shape)


@lru_cache(maxsize=1)
def _normal_grid() -> tuple[Floats, Floats]:
    """Points between -9 and 9, and what each weighs in an integral over the normal density (Simpson's rule)."""
    z = np.linspace(-9.0, 9.0, 1201)
    weight = np.full(len(z), 2.0)
    weight[1::2], weight[0], weight[-1] = 4.0, 1.0, 1.0
    return z, weight * (z[1] - z[0]) / 3 * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)


@lru_cache(maxsize=64)
def _range_quantile(alpha: float, k: int) -> float:
    low, high = 0.0, 40.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if range_tail(middle, k) > alpha else (low, middle)
    return (low + high) / 2


def conover(x: npt.ArrayLike) -> Floats:
    """(optimizers, optimizers): Conover's p-values of every two after Friedman, not yet corrected for their number.

    See docs/scores.md 5.6.
    """
    data = matrix(x, rows=2)
    n, k = data.shape
    ranks = ranks_of(data, axis=1)
    total = ranks.sum(axis=0)
    chi2 = _chi2(ranks)
    if np.isnan(chi2):
        return np.ones((k, k))
    freedom = (n - 1) * (k - 1)
    square = np.sum(ranks**2)
    spread = (square - n * k * (k + 1) ** 2 / 4) / (n * k - n) if n * k > n else 0.0
    variance = spread * 2 * n * (1 - chi2 / (n * (k - 1))) * (n * k - n) / freedom
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(total[:, None] - total[None, :]) / np.sqrt(max(variance, 0.0))
    p = 2 * special.stdtr(freedom, -np.nan_to_num(t, nan=0.0, posinf=np.inf))
    np.fill_diagonal(p, 1.0)
    return np.minimum(p, 1.0)


def groups(ranks: npt.ArrayLike, different: npt.ArrayLike) -> list[list[int]]:
    """The bars of a critical-difference diagram: longest runs, by rank, in which no two differ; singletons left out.

    different: (optimizers, optimizers), whether a test tells the two apart. See docs/scores.md 5.6.
    """
    apart: Bools = np.asarray(different, dtype=bool)
    order = np.argsort(np.asarray(ranks, dtype=float), kind="stable")
    if apart.shape != (len(order), len(order)):
        raise OptarenaError(f"{len(order)} ranks need a matrix of as many rows and columns; got {apart.shape}")
    apart = (apart | apart.T)[np.ix_(order, order)]
    out: list[list[int]] = []
    reached = end = 0
    for start in range(len(order)):
        end = max(end, start + 1)  # what was no two apart is so without its first
        while end < len(order) and not apart[end, start:end].any():
            end += 1
        if end - start > 1 and end > reached:
            out.append(order[start:end].tolist())
            reached = end
    return out


def _chi2(ranks: Floats) -> float:
    """Friedman's statistic, corrected for ties; NaN where every problem is one tie."""
    n, k = ranks.shape
    ties = float(tie_sums(np.sort(ranks, axis=1)).sum())
    room = 1 - ties / (n * k * (k * k - 1))
    if room <= 1e-12:
        return float("nan")
    mean = ranks.mean(axis=0)
    return float(12 * n / (k * (k + 1)) * np.sum((mean - (k + 1) / 2) ** 2) / room)


def _iman_davenport(chi2: float, n: int, k: int) -> tuple[float, float]:
    room = n * (k - 1) - chi2
    if n < 2:
        return float("nan"), float("nan")
    if room <= 1e-9 * n * k:
        return float("inf"), 0.0
    f = (n - 1) * chi2 / room
    return f, float(special.fdtrc(k - 1, (k - 1) * (n - 1), f))
