"""The number that orders trials against each other, of some studies by themselves: what rounds of a race are scored by.

It needs no baseline, and other studies do not change it (docs/scores.md 5.1 and 6).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from optarena.dataset import Dataset
from optarena.sense import signs
from optarena.views import score
from optarena.views._scores import Scores
from optarena.views.selection import SEVERAL, Candidates, Selection

ONLY = {"fixed_target": {"bootstrap": 0, "only": ("ert",)}}
"""Options that leave out tables that are not used here."""


def trial_scores(results: Dataset, view: str, budgets: Mapping[str, int] = MappingProxyType({})) -> Scores:
    """Less is better; inf: the trial has no value; NaN: there is no such trial.

    budgets: of problems, in evaluations: by fixed cost, what a trial made beyond does not count.
    """
    if view == "fixed_cost":
        return _final(results, budgets)
    made: Scores = score(results, view, **ONLY.get(view, {})).trial_scores()
    return made


def _final(results: Dataset, budgets: Mapping[str, int]) -> Scores:
    """The best value of every trial at its end, minimised: that of the fixed-cost view, where budgets are equal."""
    studies = Candidates(results)
    studies.leave_out(studies.table["sense"].is_null().to_numpy(), SEVERAL)
    studies.settle(studies.table["best"].is_not_null().to_numpy())
    chosen = studies.selection("evaluations", Selection)
    best = chosen.table["best"].fill_null(np.nan).to_numpy() * signs(chosen.table["sense"])
    ends = np.array([budgets.get(name, np.inf) for name in chosen.table["problem"]])
    for i in np.flatnonzero(chosen.table["evaluations"].to_numpy() > ends).tolist():
        best[i] = _best_until(results, int(chosen.kept[i]), int(ends[i]))
    return Scores(
        view="fixed-cost",
        metric="value",
        what="best value at the end of the budget",
        problems=chosen.problems,
        optimizers=chosen.optimizers,
        values=chosen.cube(np.where(np.isnan(best), np.inf, best)),
        dimensions=chosen.dimensions,
        unit=False,
        functions=chosen.functions,
        optimum=chosen.optimum,
    )


def _best_until(results: Dataset, study: int, end: int) -> float:
    """The best value that a begun study had after so many evaluations, minimised; NaN without any."""
    traces = results.traces()
    rows = slice(traces.offsets[study], traces.offsets[study + 1])
    y = traces.values[rows, 0][traces.feasible[rows] & (traces.evaluation[rows] <= end)]
    return float(np.nanmin(y)) if (~np.isnan(y)).any() else np.nan
