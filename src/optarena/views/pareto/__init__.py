"""How good is a front: hypervolume, distances to a reference set, spread, domination. All minimised.

See docs/scores.md 3.
"""

from optarena.views.pareto.anytime import anytime_hypervolume, lifetimes
from optarena.views.pareto.attainment import attainment, attainment_difference
from optarena.views.pareto.domination import (
    continuous_loss,
    cuboid,
    dominates,
    domination_count,
    non_dominated,
    pareto_ranks,
    total_loss,
)
from optarena.views.pareto.frame import Frame, read_frame
from optarena.views.pareto.indicators import (
    additive_epsilon,
    front,
    gd,
    generalised_spread,
    hypervolume,
    hypervolume_contributions,
    igd,
    igd_plus,
    r2,
    spread,
)
from optarena.views.pareto.reference_set import dominated_in, reference_set
from optarena.views.pareto.view import Pareto, pareto

__all__ = [
    "Frame",
    "Pareto",
    "additive_epsilon",
    "anytime_hypervolume",
    "attainment",
    "attainment_difference",
    "continuous_loss",
    "cuboid",
    "dominated_in",
    "dominates",
    "domination_count",
    "front",
    "gd",
    "generalised_spread",
    "hypervolume",
    "hypervolume_contributions",
    "igd",
    "igd_plus",
    "lifetimes",
    "non_dominated",
    "pareto",
    "pareto_ranks",
    "r2",
    "read_frame",
    "reference_set",
    "spread",
    "total_loss",
]
