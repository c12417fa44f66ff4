"""The number that orders trials against each other, of some studies by themselves: what rounds of a race are scored by.

It needs no baseline, and other studies do not change it (docs/scores.md 5.1 and 6).
"""

from __future__ import annotations

import numpy as np

from optarena.dataset import Dataset
from optarena.sense import signs
from optarena.views import score
from optarena.views._scores import Scores
from optarena.views.selection import SEVERAL, Candidates, Selection

ONLY = {"fixed_target": {"bootstrap": 0, "only": ("ert",)}}
"""Options that leave out tables that nobody looks at here."""


def trial_scores(results: Dataset, view: str) -> Scores:
    """Less is better; inf: the trial has no value; NaN: there is no such trial."""
    if view == "fixed_cost":
        return _final(results)
    made: Scores = score(results, view, **ONLY.get(view, {})).trial_scores()
    return made


def _final(results: Dataset) -> Scores:
    """The best value of every trial at its end, minimised: that of the fixed-cost view, where budgets are equal."""
    studies = Candidates(results)
    studies.leave_out(studies.table["sense"].is_null().to_numpy(), SEVERAL)
    studies.settle(studies.table["best"].is_not_null().to_numpy())
    chosen = studies.selection("evaluations", Selection)
    best = chosen.table["best"].fill_null(np.nan).to_numpy() * signs(chosen.table["sense"])
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
