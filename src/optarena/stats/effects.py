"""How large a difference between two samples of trials is: A12, Cliff's delta, shifts (docs/scores.md 5.2).

>>> a12([1, 2, 3], [2, 3, 4])
0.2222222222222222
>>> cliffs_delta([1, 2, 3], [2, 3, 4])
-0.5555555555555556

When less is better, an A12 below 1/2 means that x is the better one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

from optarena.errors import OptarenaError
from optarena.stats._result import LEVEL, RESAMPLES, Interval, Seed, generator, level_of, percentile_ends, sample
from optarena.stats.bootstrap import draws
from optarena.traces import Floats

SMALL, MEDIUM, LARGE = 0.56, 0.64, 0.71
"""From these values of A12 (or 1 - A12) on an effect is called small, medium and large (Vargha and Delaney 2000)."""


def a12(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """P(X > Y) + P(X = Y)/2: how often a value of x is the greater one; ties count half (docs/scores.md 5.2).

    Assumes nothing of the distributions; it is U/(nm) of Mann and Whitney. `a12_interval` has its interval.
    """
    return float(a12_of(sample(x), sample(y, "y")))


def cliffs_delta(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """P(X > Y) - P(X < Y) = 2 A12 - 1, ties right. `cliffs_delta_interval` has its interval (docs/scores.md 5.2)."""
    return 2.0 * a12(x, y) - 1.0


def a12_of(x: Floats, y: Floats, *, equal: float = 0.0) -> Floats:
    """(…): A12 of many pairs of samples (…, n) and (…, m) at once; NaN is a missing trial (docs/scores.md 5.2).

    Values that differ by at most `equal` are ties. NaN where a sample is empty.
    """
    each = zip(x.reshape(-1, x.shape[-1]), y.reshape(-1, y.shape[-1]), strict=True)
    more = np.array([_more(a, b, equal) for a, b in each], dtype=np.int64).reshape(x.shape[:-1])
    return share_from_counts(more, *(np.sum(~np.isnan(side), axis=-1) for side in (x, y)))


def _more(x: Floats, y: Floats, equal: float) -> int:
    """In how many pairs the value of x is the greater one, less those where that of y is: the sorted y are searched."""
    a, b = x[~np.isnan(x)], np.sort(y[~np.isnan(y)])
    lesser, not_greater = np.searchsorted(b, a - equal, "left"), np.searchsorted(b, a + equal, "right")
    return int(np.sum(lesser + not_greater - len(b)))


def share_from_counts(more: npt.ArrayLike, n: npt.ArrayLike, m: npt.ArrayLike) -> Floats:
    """(…): P(X > Y) + P(X = Y)/2 of n times m pairs, X greater in so many `more` than Y (docs/scores.md 5.2).

    NaN where a sample is empty.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(0.5 + 0.5 * np.asarray(more) / (np.asarray(n) * np.asarray(m)))


def ordering(x: Floats, y: Floats, *, equal: float = 0.0) -> npt.NDArray[np.int8]:
    """(…, n, m): 1 where the value of x is the greater one, -1 where that of y is; 0 for ties and missing trials."""
    a, b = x[..., :, None], y[..., None, :]
    return (b < a - equal).view(np.int8) - (b > a + equal).view(np.int8)


def weighted_a12(order: npt.NDArray[np.int8], first: Floats, second: Floats) -> Floats:
    """(…, resamples): A12 where the values of two samples have weights (…, resamples, n) and (…, resamples, m).

    order: from `ordering`, (…, n, m). Weights sum to 1, so a trial drawn twice counts twice (docs/scores.md 5.2).
    """
    return np.einsum("...ri,...ri->...r", first @ (0.5 + 0.5 * order), second)


def draw_weights(n: int, resamples: int, rng: np.random.Generator) -> Floats:
    """(resamples, n): the weight of each of n values when as many are drawn with replacement (docs/scores.md 5.5)."""
    return draws(n, resamples, rng) / n


def a12_interval(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    level: float = LEVEL,
    method: str = "bootstrap",
    resamples: int = RESAMPLES,
    seed: Seed = 0,
) -> Interval:
    """A12 with its interval: trials of x and of y are independent draws, resampled each on its own.

    method: `bootstrap` (percentiles), or `score`, which needs no resampling and is not empty where all of x lie on one
    side of all of y (Newcombe 2006, his method 5). See docs/scores.md 5.2.
    """
    if method not in ("bootstrap", "score"):
        raise OptarenaError(f"the method of this interval is bootstrap or score; got {method!r}")
    a, b = sample(x), sample(y, "y")
    n = len(a) + len(b)
    value = a12(a, b)
    if method == "score":
        lower, upper = score_interval(value, np.array([len(a)]), np.array([len(b)]), level)
        return Interval(value, float(lower), float(upper), n, "score (Newcombe)")
    rng = generator(seed)
    drawn = weighted_a12(ordering(a, b), *(draw_weights(len(s), resamples, rng) for s in (a, b)))
    lower, upper = percentile_ends(drawn, level)
    note = "all of one sample lie on one side: see method='score'" if value in (0.0, 1.0) else ""
    return Interval(value, float(lower), float(upper), n, f"percentiles of {resamples:,} resamplings", note)


def cliffs_delta_interval(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    level: float = LEVEL,
    method: str = "bootstrap",
    resamples: int = RESAMPLES,
    seed: Seed = 0,
) -> Interval:
    """Cliff's delta with its interval: that of A12, on the scale from -1 to 1 (docs/scores.md 5.2)."""
    one = a12_interval(x, y, level=level, method=method, resamples=resamples, seed=seed)
    return one._replace(value=2 * one.value - 1, lower=2 * one.lower - 1, upper=2 * one.upper - 1)


def score_interval(
    value: npt.ArrayLike, m: npt.NDArray[np.int64], n: npt.NDArray[np.int64], level: float = LEVEL
) -> tuple[Floats, Floats]:
    """The interval of a mean of A12s over strata of m and n trials: all theta whose standard error reaches the value.

    m, n: (strata,), or (values, strata) for several values at once.
    Its standard error is Newcombe's for exponential distributions, taken at theta, so that the interval stays within
    [0, 1] and is never empty. See docs/scores.md 5.2.
    """
    theta = np.asarray(value, dtype=float)
    z = special.ndtri(0.5 + level_of(level) / 2)
    m, n = np.asarray(m, dtype=float), np.asarray(n, dtype=float)

    def error(t: Floats) -> Floats:
        t = t[..., None]
        more = ((m + n) / 2 - 1) * ((1 - t) / (2 - t) + t / (1 + t))
        return np.sqrt(np.sum(t * (1 - t) * (1 + more) / (m * n), axis=-1)) / m.shape[-1]

    out = []
    for end in (0.0, 1.0):
        near, far = theta.copy(), np.full_like(theta, end)
        for _ in range(60):  # the ends where |value - theta| is just z standard errors
            middle = (near + far) / 2
            inside = np.abs(theta - middle) <= z * error(middle)
            near, far = np.where(inside, middle, near), np.where(inside, far, middle)
        out.append(near)
    return out[0], out[1]


def hodges_lehmann(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """The median of all differences x - y: the shift of one distribution against the other, if they have one shape.

    See docs/scores.md 5.2.
    """
    return float(np.median(sample(x)[:, None] - sample(y, "y")[None, :]))


def cohens_d(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """The difference of the means in pooled standard deviations. Assumes that both have about the same variance.

    See docs/scores.md 5.2.
    """
    a, b = sample(x, least=2), sample(y, "y", least=2)
    freedom = len(a) + len(b) - 2
    spread = np.sqrt(((len(a) - 1) * a.var(ddof=1) + (len(b) - 1) * b.var(ddof=1)) / freedom)
    apart = a.mean() - b.mean()
    if spread == 0:
        return 0.0 if apart == 0 else float(np.copysign(np.inf, apart))
    return float(apart / spread)


def hedges_g(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Cohen's d, corrected for small samples: times 1 - 3/(4 (n + m) - 9) (docs/scores.md 5.2)."""
    size = len(np.asarray(x)) + len(np.asarray(y))
    return cohens_d(x, y) * (1 - 3 / (4 * size - 9))


def magnitude(value: float) -> str:
    """What an A12 of this size is called: negligible, small, medium or large (docs/scores.md 5.2)."""
    away = max(value, 1 - value)
    return "large" if away >= LARGE else "medium" if away >= MEDIUM else "small" if away >= SMALL else "negligible"
