"""How long to reach a target: COCO's expected running times and ECDFs (docs/scores.md 2), exact where COCO samples.

>>> results.fixed_target(targets=[1e1, 1e-1, 1e-3]).ert          # doctest: +SKIP
>>> results.fixed_target(mode="coco").table("ecdf")
"""

from optarena.views.fixed_target.profiles import (
    area_over_convergence_curve,
    data_profile,
    penalised_average,
    performance_profile,
    shifted_geometric_mean,
)
from optarena.views.fixed_target.ranksum import rank_sum_test
from optarena.views.fixed_target.restarts import (
    restart_ecdf,
    restart_ecdfs,
    restart_quantile,
    restart_quantiles,
    simulated_restarts,
)
from optarena.views.fixed_target.runtimes import ecdf, ert, first_hits, runtimes
from optarena.views.fixed_target.view import FixedTarget, fixed_target

__all__ = [
    "FixedTarget",
    "area_over_convergence_curve",
    "data_profile",
    "ecdf",
    "ert",
    "first_hits",
    "fixed_target",
    "penalised_average",
    "performance_profile",
    "rank_sum_test",
    "restart_ecdf",
    "restart_ecdfs",
    "restart_quantile",
    "restart_quantiles",
    "runtimes",
    "shifted_geometric_mean",
    "simulated_restarts",
]
