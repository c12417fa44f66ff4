"""How good after so many evaluations: Bayesmark's normalised scores (docs/scores.md 1), to the last digit or put right.

>>> results.fixed_cost().summary                       # doctest: +SKIP
>>> results.fixed_cost(mode="bayesmark", metric="generalization").table("problem")

0 is the best value that anyone saw on a problem, 1 is random search (`mean normed`) or its median evaluation (`mean`).
"""

from optarena.views.fixed_cost.baseline import Frame, read_frame
from optarena.views.fixed_cost.order_statistics import (
    cumulative_best,
    expected_maximum,
    expected_minimum,
    maximum_quantile_interval,
    minimum_quantile_interval,
    quantile_interval,
    t_interval,
)
from optarena.views.fixed_cost.view import FixedCost, fixed_cost

__all__ = [
    "FixedCost",
    "Frame",
    "cumulative_best",
    "expected_maximum",
    "expected_minimum",
    "fixed_cost",
    "maximum_quantile_interval",
    "minimum_quantile_interval",
    "quantile_interval",
    "read_frame",
    "t_interval",
]
