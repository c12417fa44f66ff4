"""How many times the evaluations of another an optimizer needs to the same targets (docs/scores.md 2.4 and 5.14)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optarena.stats.bootstrap import draws, mean_intervals
from optarena.traces import Floats, Ints
from optarena.views.fixed_target import FixedTarget
from optarena.views.fixed_target.run_scores import problems_of


@dataclass(frozen=True)
class Ratios:
    """All arrays are (pairs,): the first's expected running time divided by the second's, where both are finite."""

    ratio: Floats
    """The geometric mean over targets, then over problems; below 1 the first is quicker."""
    lower: Floats
    upper: Floats
    problems: Ints
    """On which both reach a target."""
    both: Ints
    """Targets that both reach; `only_first` and `only_second`: those that one alone reaches, which no ratio tells."""
    only_first: Ints
    only_second: Ints
    axis: str
    intervals: str


def runtime_ratios(erts: Floats, axis: str, first: Ints, second: Ints, resamples: int, seed: int) -> Ratios:
    """Of every pair, from expected running times (problems, targets, optimizers) (docs/scores.md 5.14)."""
    n = len(first)
    ratio, lower, upper = (np.full(n, np.nan) for _ in range(3))
    counts = [np.zeros(n, dtype=np.int64) for _ in range(4)]
    how = ""
    drawn: dict[int, Floats] = {}
    for i, (a, b) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        x, y = erts[:, :, a], erts[:, :, b]
        reached, other = np.isfinite(x), np.isfinite(y)
        both = reached & other & (x > 0) & (y > 0)  # what was free, on an axis of costs, has no ratio
        some = both.any(axis=1)
        counts[0][i], counts[1][i] = some.sum(), both.sum()
        counts[2][i], counts[3][i] = np.sum(reached & ~other), np.sum(other & ~reached)
        if not some.any():
            continue
        with np.errstate(invalid="ignore", divide="ignore"):
            logs = np.where(both, np.log(x) - np.log(y), 0.0).sum(axis=1)[some] / both.sum(axis=1)[some]
        size = len(logs)
        if size not in drawn:
            drawn[size] = draws(size, resamples, seed)
        value, low, high, how = mean_intervals(logs[:, None], drawn[size])
        ratio[i], lower[i], upper[i] = np.exp(value[0]), np.exp(low[0]), np.exp(high[0])
    return Ratios(ratio, lower, upper, counts[0], counts[1], counts[2], counts[3], axis, how)


def expected(view: FixedTarget, optimizers: list[str], problems: list[str]) -> tuple[Floats, str]:
    """(functions in dimensions, targets, optimizers): expected running times, inf where no run reached a target.

    Only those that all the optimizers have run and that belong to the problems that are compared. And what they count.
    """
    assert view.scored is not None
    scored, runs = view.scored, view.scored.runs
    found = problems_of(runs)
    names, has = scored.having(found.number)
    who = [names.index(name) for name in optimizers if name in names]
    compared = np.isin(found.names, problems)
    compared[found.number[runs.table["problem"].is_in(problems).to_numpy()]] = True
    compared &= has[:, who].all(axis=1) & (len(who) == len(optimizers))
    number = np.zeros(len(found.names), dtype=np.int64)  # both count functions in dimensions, in orders of their own
    number[found.number] = scored.problem[runs.cell]
    # problems may have different numbers of targets; the table has rows for those given
    erts = scored.by_problem(scored.spread(view.ert["ert"], np.inf))[:, who]
    return erts[number[compared]].swapaxes(1, 2), str(view.frame["axis"])
