"""The bars of a critical-difference diagram, by the test that the diagram names (docs/scores.md 5.6).

>>> found = rank_diagram([[1.0, 2.0, 9.0]] * 8, test="nemenyi")
>>> found.ranks.tolist(), found.bars, found.test
([1.0, 2.0, 3.0], [[0, 1], [1, 2]], 'nemenyi')
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from optarena.errors import OptarenaError
from optarena.stats._result import matrix
from optarena.stats.corrections import holm
from optarena.stats.ranks import average_ranks, groups, nemenyi
from optarena.stats.signed_rank import least_p, signed_rank_p
from optarena.traces import Floats

TESTS = ("wilcoxon-holm", "nemenyi")


class RankDiagram(NamedTuple):
    """Average ranks, and bars over optimizers that the test does not tell apart."""

    test: str
    """wilcoxon-holm or nemenyi: which p-values the bars follow."""
    ranks: Floats
    """(optimizers,): average ranks over functions; 1 is best."""
    bars: list[list[int]]
    """Numbers of optimizers, the best first; one that differs from both neighbours has no bar."""
    p: Floats
    """(optimizers, optimizers), corrected for the number of pairs."""
    cd: float | None
    """Nemenyi's critical difference; None for another test, which has no single one."""
    alpha: float
    n: int
    note: str = ""


def rank_diagram(x: npt.ArrayLike, *, test: str = "wilcoxon-holm", alpha: float = 0.05) -> RankDiagram:
    """Average ranks and bars of scores (functions, optimizers); less is better (docs/scores.md 5.6).

    test: `wilcoxon-holm`, signed-rank tests of all pairs, corrected by Holm; or `nemenyi`, which compares average
    ranks. Rows must be independent: average the problems of a function first.
    """
    if test not in TESTS:
        raise OptarenaError(f"the test of a diagram is one of {', '.join(TESTS)}; got {test!r}")
    if not 0 < alpha < 1:
        raise OptarenaError(f"alpha lies between 0 and 1, as 0.05; got {alpha}")
    data = matrix(x)
    n, k = data.shape
    ranks = average_ranks(data)
    cd = None
    note = ""
    if test == "nemenyi":
        found = nemenyi(data, alpha)
        p, cd = found.p, found.cd
    else:
        first, second = np.triu_indices(k, 1)
        with np.errstate(invalid="ignore"):
            apart = data[:, first] - data[:, second]
        apart[data[:, first] == data[:, second]] = 0.0  # infinities too
        p = np.ones((k, k))
        p[first, second] = holm(signed_rank_p(apart.T)[0])
        p[second, first] = p[first, second]
        if least_p(n) * len(first) >= alpha:
            note = f"{n} functions are too few to tell any of {len(first)} pairs apart"
    return RankDiagram(test, ranks, groups(ranks, p < alpha), p, cd, alpha, n, note)
