"""Strengths of optimizers from who beat whom: Bradley-Terry from wins, Plackett-Luce from whole rankings.

>>> import numpy as np
>>> strengths = bradley_terry(np.array([[0, 6, 7], [4, 0, 6], [3, 4, 0]]))
>>> (strengths.round(3) + 0.0).tolist()
[0.417, 0.0, -0.417]

Strengths are logarithms that sum to 0: i beats j with probability 1 / (1 + exp(s_j - s_i)). More is better.
See docs/scores.md 5.9.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from optarena.errors import OptarenaError
from optarena.stats._result import LEVEL, Seed, percentile_ends
from optarena.stats.bootstrap import draws
from optarena.traces import Floats, product

STEPS = 200
CHUNK = 1000


def bradley_terry(wins: npt.ArrayLike, *, alpha: float = 0.0) -> Floats:
    """Log strengths, the most likely ones; wins[i, j]: how often i beat j (a tie counts half for each).

    Assumes independent comparisons, and that strengths explain them. alpha: virtual wins of everyone over everyone;
    with 0, someone who never loses (or two sets that never met) has no finite strength, which is refused.
    See docs/scores.md 5.9.
    """
    w = np.asarray(wins, dtype=float)
    if w.ndim != 2 or w.shape[0] != w.shape[1] or np.isnan(w).any() or (w < 0).any():
        raise OptarenaError(f"wins are a square matrix of counts; got the shape {w.shape}")
    if alpha == 0 and not _connected(w):
        raise OptarenaError(
            "no finite strengths: some optimizers never lose to (or never meet) the others; give alpha, as 0.5"
        )
    return _fit(w[None], alpha)[0]


def bradley_terry_interval(
    wins: npt.ArrayLike, counts: Floats, *, alpha: float = 0.5, level: float = LEVEL
) -> tuple[Floats, Floats, Floats]:
    """Strengths with percentile intervals: wins (problems, k, k), problems drawn counts[:, p] times (see `draws`).

    See docs/scores.md 5.9.
    """
    each = np.asarray(wins, dtype=float)
    n, k, _ = each.shape
    flat = each.reshape(n, k * k)
    value = _fit(each.sum(axis=0)[None], alpha)[0]
    if n < 2:  # one problem shows nothing of others
        return value, np.full(k, -np.inf), np.full(k, np.inf)
    drawn = np.concatenate(
        [
            _fit(product(counts[start : start + CHUNK], flat).reshape(-1, k, k), alpha, start=value)
            for start in range(0, len(counts), CHUNK)
        ]
    )
    return value, *percentile_ends(drawn, level)


def plackett_luce(rankings: npt.ArrayLike, *, alpha: float = 0.0) -> Floats:
    """Log strengths from whole rankings (rankings, optimizers): the numbers of the optimizers, the best first.

    Each place is drawn from those left, with odds by strength. alpha: virtual wins, as above. See docs/scores.md 5.9.
    """
    r = np.asarray(rankings, dtype=np.int64)
    if r.ndim != 2 or not len(r) or not np.array_equal(np.sort(r, axis=1), np.tile(np.arange(r.shape[1]), (len(r), 1))):
        raise OptarenaError("a ranking names every optimizer once, the best first: rows of 0 … k - 1")
    k = r.shape[1]
    beat = np.zeros((k, k))
    for i in range(k):
        for j in range(i + 1, k):
            np.add.at(beat, (r[:, i], r[:, j]), 1.0)
    if alpha == 0 and not _connected(beat):
        raise OptarenaError("no finite strengths: some optimizers are always before the others; give alpha, as 0.5")
    return _rankings_fit(r, alpha)


def plackett_luce_interval(
    rankings: npt.ArrayLike, *, alpha: float = 0.5, resamples: int = 1000, level: float = LEVEL, seed: Seed = 0
) -> tuple[Floats, Floats, Floats]:
    """Strengths with percentile intervals from resampling rankings (one per problem) (docs/scores.md 5.9)."""
    r = np.asarray(rankings, dtype=np.int64)
    value = plackett_luce(r, alpha=alpha)
    drawn = _rankings_fit_many(r, draws(len(r), resamples, seed), alpha)
    return value, *percentile_ends(drawn, level)


def _fit(wins: Floats, alpha: float, start: Floats | None = None) -> Floats:
    """(many, k): Newton's steps for many matrices of wins at once; the likelihood is concave."""
    many, k, _ = wins.shape
    if k < 2:
        return np.zeros((many, k))
    w = wins + alpha * (1 - np.eye(k))
    played = w + np.swapaxes(w, 1, 2)
    won = w.sum(axis=2) - np.einsum("mii->mi", w)
    s = np.zeros((many, k)) if start is None else np.tile(start, (many, 1))
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(s[:, None, :] - s[:, :, None]))
        weight = played * p * (1 - p)
        np.einsum("mii->mi", weight)[:] = 0.0
        expected = played * p
        np.einsum("mii->mi", expected)[:] = 0.0
        gradient = won - expected.sum(axis=2)
        hessian = -weight
        np.einsum("mii->mi", hessian)[:] = weight.sum(axis=2)
        step = np.linalg.solve(hessian + 1 / k, gradient[:, :, None])[:, :, 0]  # 1/k: sums stay 0
        s += np.clip(step, -2.0, 2.0)
        s -= s.mean(axis=1, keepdims=True)
        if np.max(np.abs(step)) < 1e-10:
            break
    return s


def _rankings_fit(rankings: npt.NDArray[np.int64], alpha: float) -> Floats:
    return _rankings_fit_many(rankings, np.ones((1, len(rankings))), alpha)[0]


def _rankings_fit_many(rankings: npt.NDArray[np.int64], times: Floats, alpha: float) -> Floats:
    """(many, k): Hunter's minorise-maximise steps; ranking i counts times[:, i]."""
    n, k = rankings.shape
    many = len(times)
    chosen = np.zeros((n, k))  # how often each was chosen when more than one was left
    np.add.at(chosen, (np.repeat(np.arange(n), k - 1), rankings[:, :-1].ravel()), 1.0)
    won = times @ chosen + alpha * (k - 1)
    who = (rankings[:, :, None] == np.arange(k)).astype(float)
    s = np.zeros((many, k))
    for _ in range(10_000):
        strength = np.exp(s)
        ordered = strength[:, rankings]  # many, n, k
        left = np.cumsum(ordered[:, :, ::-1], axis=2)[:, :, ::-1][:, :, :-1]
        share = np.cumsum(times[:, :, None] / left, axis=2)
        share = np.concatenate((share, share[:, :, -1:]), axis=2)
        load = np.einsum("mnp,npk->mk", share, who)
        load += alpha * 2 * np.sum((1 - np.eye(k)) / (strength[:, :, None] + strength[:, None, :]), axis=2)
        new = np.log(won) - np.log(load)
        new -= new.mean(axis=1, keepdims=True)
        moved = np.max(np.abs(new - s))
        s = new
        if moved < 1e-12:
            break
    return s


def _connected(wins: Floats) -> bool:
    """Whether everyone can be reached from everyone by wins."""
    k = len(wins)
    reach = (wins > 0) | np.eye(k, dtype=bool)
    for _ in range(max(1, int(np.ceil(np.log2(max(k, 2)))))):
        reach = (reach.astype(float) @ reach.astype(float)) > 0
    return bool(reach.all())
