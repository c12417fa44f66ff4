"""Several tests at once: p-values adjusted so that errors stay rare over all of them (docs/scores.md 5.4).

>>> holm([0.01, 0.04, 0.03]).tolist()
[0.03, 0.06, 0.06]

Holm and Hochberg keep the chance of any false finding; Benjamini-Hochberg and -Yekutieli the share of false findings.
NaN is a test that was not made: it stays NaN and is not counted.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from optarena.errors import OptarenaError
from optarena.traces import Floats


def holm(p: npt.ArrayLike, tests: int | None = None) -> Floats:
    """Step-down; valid whatever the tests have to do with each other (docs/scores.md 5.4).

    tests: how many there are in all, where these are some of them; the others count as if they came last.
    """

    def step(s: Floats) -> Floats:
        n = tests or len(s)
        return np.maximum.accumulate(s * np.arange(n, n - len(s), -1))

    return _adjusted(p, step)


def hochberg(p: npt.ArrayLike) -> Floats:
    """Step-up; assumes that the tests are independent or positively dependent (docs/scores.md 5.4)."""
    return _adjusted(p, lambda s: _down(s * np.arange(len(s), 0, -1)))


def benjamini_hochberg(p: npt.ArrayLike) -> Floats:
    """The false discovery rate; assumes that the tests are independent or positively dependent (docs/scores.md 5.4)."""
    return _adjusted(p, lambda s: _down(s * len(s) / np.arange(1, len(s) + 1)))


def benjamini_yekutieli(p: npt.ArrayLike) -> Floats:
    """The false discovery rate, whatever the tests have to do with each other (docs/scores.md 5.4)."""
    return _adjusted(p, lambda s: _down(s * len(s) * np.sum(1 / np.arange(1, len(s) + 1)) / np.arange(1, len(s) + 1)))


def _down(s: Floats) -> Floats:
    return np.minimum.accumulate(s[::-1])[::-1]


def _adjusted(p: npt.ArrayLike, step: Callable[[Floats], Floats]) -> Floats:
    given = np.asarray(p, dtype=float)
    if np.any((given < 0) | (given > 1)):
        raise OptarenaError("p-values lie between 0 and 1")
    out = np.full(given.shape, np.nan)
    there = np.flatnonzero(~np.isnan(given.ravel()))
    order = there[np.argsort(given.ravel()[there], kind="stable")]
    if len(order):
        out.ravel()[order] = np.minimum(1.0, step(given.ravel()[order]))
    return out
