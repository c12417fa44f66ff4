"""Tests of two samples: Mann-Whitney, Brunner-Munzel, Wilcoxon's signed ranks, the sign test. All two-sided.

>>> round(mann_whitney([1, 2, 3, 4], [5, 6, 7, 8]).p, 4)
0.0286

A p-value is never to be shown alone: `effects` has the size of the difference.
See docs/scores.md 5.4.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

from optarena.errors import OptarenaError
from optarena.stats._result import Test, paired, sample
from optarena.stats.effects import a12
from optarena.stats.ranks import tie_sums
from optarena.stats.signed_rank import signed_ranks
from optarena.stats.stratified import a12_variance, rank_sum_distribution


def mann_whitney(x: npt.ArrayLike, y: npt.ArrayLike, *, method: str = "auto", alternative: str = "two-sided") -> Test:
    """Independent trials of two optimizers on one problem: is one more often the better?

    Assumes independent draws and, under the null, the same distribution. method: `auto` (exact for small samples
    without ties), `exact`, or `asymptotic` (ties corrected, with continuity correction). Constant data: p = 1.
    See docs/scores.md 5.4.
    """
    a, b = sample(x), sample(y, "y")
    m, n = len(a), len(b)
    both = np.sort(np.concatenate((a, b)))
    if both[0] == both[-1]:
        return Test(m * n / 2, 1.0, m + n, "constant")
    u = round(2 * m * n * a12(a, b)) / 2
    low = {"less": u, "greater": m * n - u, "two-sided": min(u, m * n - u)}.get(alternative)
    if low is None or method not in ("auto", "exact", "asymptotic"):
        raise OptarenaError(
            "give the method auto, exact or asymptotic and the alternative two-sided, less or greater; "
            f"got {method!r} and {alternative!r}"
        )
    ties = float(tie_sums(both))
    if method == "exact" or (method == "auto" and min(m, n) <= 8 and not ties):
        p = float(rank_sum_distribution(m, n)[int(np.ceil(low))])
    else:
        error = m * n * np.sqrt(a12_variance(m, n, ties))
        p = float(special.ndtr((low + 0.5 - m * n / 2) / error))
    return Test(u, min(1.0, 2 * p if alternative == "two-sided" else p), m + n, f"Mann-Whitney ({method})")


def brunner_munzel(x: npt.ArrayLike, y: npt.ArrayLike) -> Test:
    """Like Mann-Whitney, where the two may have different spreads; the null is A12 = 1/2 (docs/scores.md 5.4).

    At least two values each. Samples that do not overlap have no variance of ranks: their p is 0, and n says how little
    that may mean.
    """
    a, b = sample(x, least=2), sample(y, "y", least=2)
    if np.all(np.concatenate((a, b)) == a[0]):
        return Test(0.0, 1.0, len(a) + len(b), "constant")
    from scipy import stats

    if a.max() < b.min() or b.max() < a.min():
        sign = 1.0 if a.max() < b.min() else -1.0
        return Test(sign * np.inf, 0.0, len(a) + len(b), "Brunner-Munzel (no overlap)")
    found = stats.brunnermunzel(a, b)
    return Test(float(found.statistic), float(found.pvalue), len(a) + len(b), "Brunner-Munzel (t)")


def wilcoxon(
    x: npt.ArrayLike, y: npt.ArrayLike | None = None, *, method: str = "auto", zero_method: str = "wilcox"
) -> Test:
    """Paired values, one pair a problem (or x as their differences): do the signed ranks balance?

    Assumes independent problems and, under the null, differences that are symmetric about 0. method: `auto` (exact up
    to 50 pairs, all signs up to 13 pairs with ties or zeros, else normal), `asymptotic`, or another one of SciPy's.
    Pairs that are equal are left out; none left: p = 1. See docs/scores.md 5.4.
    """
    d = paired(x, y)
    used = int(np.count_nonzero(d))
    if not used:
        return Test(0.0, 1.0, 0, "no difference at all")
    name = f"Wilcoxon signed ranks ({method})"
    if zero_method == "wilcox" and method in ("auto", "asymptotic"):
        mine = signed_ranks(d[None], exact=method == "auto")
        return Test(float(mine.statistic[0]), float(mine.p[0]), used, name)
    from scipy import stats

    found = stats.wilcoxon(d, method=method, zero_method=zero_method)
    return Test(float(found.statistic), float(found.pvalue), used, name)


def sign_test(x: npt.ArrayLike, y: npt.ArrayLike | None = None) -> Test:
    """Paired values: does one sign prevail? Assumes independent pairs and nothing else; equal pairs are left out.

    The statistic is the number of pairs in which x is the greater one. Exact (binomial). See docs/scores.md 5.4.
    """
    d = paired(x, y)
    above, used = int(np.sum(d > 0)), int(np.sum(d != 0))
    if not used:
        return Test(0.0, 1.0, 0, "no difference at all")
    tail = float(special.bdtr(min(above, used - above), used, 0.5))
    return Test(float(above), min(1.0, 2 * tail), used, "sign test (exact)")


def welch_t(x: npt.ArrayLike, y: npt.ArrayLike) -> Test:
    """Means of two samples that may differ in variance. Assumes means that are nearly normal. Constant data: p = 1.

    See docs/scores.md 5.4.
    """
    a, b = sample(x, least=2), sample(y, "y", least=2)
    if a.var() == 0 and b.var() == 0:
        same = a[0] == b[0]
        return Test(0.0 if same else float(np.copysign(np.inf, a[0] - b[0])), float(same), len(a) + len(b), "constant")
    from scipy import stats

    found = stats.ttest_ind(a, b, equal_var=False)
    return Test(float(found.statistic), float(found.pvalue), len(a) + len(b), "Welch's t")


def kolmogorov_smirnov(x: npt.ArrayLike, y: npt.ArrayLike) -> Test:
    """The greatest gap between two distributions: any difference of shape counts (docs/scores.md 5.4)."""
    from scipy import stats

    a, b = sample(x), sample(y, "y")
    found = stats.ks_2samp(a, b)
    return Test(float(found.statistic), float(found.pvalue), len(a) + len(b), "Kolmogorov-Smirnov")


def correlated_t(x: npt.ArrayLike, y: npt.ArrayLike, rope: float = 0.0, runs: int = 1) -> tuple[float, float, float]:
    """P(y - x < -rope), P(within), P(y - x > rope) for folds of cross-validation on one data set.

    Folds share their training data: the variance is corrected as Nadeau and Bengio do. Assumes normal differences.
    See docs/scores.md 5.4.
    """
    d = -paired(x, y, least=2)
    if rope < 0 or runs < 1 or len(d) % runs or len(d) // runs < 2:
        raise OptarenaError(f"give a rope >= 0 and runs that divide the {len(d)} folds, with two folds a run or more")
    freedom = len(d) - 1
    spread = np.sqrt(d.var(ddof=1) * (1 / len(d) + 1 / (len(d) // runs - 1)))
    if spread == 0:
        left, right = float(d.mean() < -rope), float(d.mean() > rope)
        return left, 1 - left - right, right
    left = float(special.stdtr(freedom, (-rope - d.mean()) / spread))
    right = float(1 - special.stdtr(freedom, (rope - d.mean()) / spread))
    return left, 1 - left - right, right
