"""The whole curve of a solver: who finds good solutions early, who finishes best (docs/scores.md 4). Optimizers too.

>>> results.anytime(axis="seconds").summary                       # doctest: +SKIP
>>> results.anytime(horizon="box").table("instance")
"""

from optarena.views.anytime.scores import (
    area_score,
    borda,
    envelope,
    objective_score,
    primal_gap,
    primal_integral,
)
from optarena.views.anytime.view import Anytime, anytime
from optarena.views.fixed_target.profiles import penalised_average as par
from optarena.views.fixed_target.profiles import shifted_geometric_mean

__all__ = [
    "Anytime",
    "anytime",
    "area_score",
    "borda",
    "envelope",
    "objective_score",
    "par",
    "primal_gap",
    "primal_integral",
    "shifted_geometric_mean",
]
