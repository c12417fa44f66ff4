"""Is the difference real, and how large is it? Pure functions on arrays (docs/scores.md 5).

>>> from optarena import stats
>>> stats.cliffs_delta([1.0, 2.0, 3.0], [2.0, 3.0, 4.0])
-0.5555555555555556

Effect sizes, tests, ranks, intervals. Less is better everywhere but in `aggregates`, which are rliable's. Randomness is
seeded. Each docstring names the assumptions; nothing here knows of stores, views or words.
"""

from optarena.stats._result import Interval, Test
from optarena.stats.aggregates import (
    average_score_distribution,
    improvement_interval,
    iqm,
    mean,
    median,
    optimality_gap,
    probability_of_improvement,
    score_distribution,
    stratified_bootstrap,
)
from optarena.stats.bayes import Posterior, bayesian_sign, bayesian_signed_rank
from optarena.stats.bootstrap import bootstrap, draws, mean_intervals
from optarena.stats.corrections import benjamini_hochberg, benjamini_yekutieli, hochberg, holm
from optarena.stats.diagram import RankDiagram, rank_diagram
from optarena.stats.effects import (
    a12,
    a12_interval,
    cliffs_delta,
    cliffs_delta_interval,
    cohens_d,
    hedges_g,
    hodges_lehmann,
    magnitude,
)
from optarena.stats.pairs import (
    brunner_munzel,
    correlated_t,
    kolmogorov_smirnov,
    mann_whitney,
    sign_test,
    welch_t,
    wilcoxon,
)
from optarena.stats.ranks import (
    Friedman,
    Nemenyi,
    average_ranks,
    conover,
    critical_difference,
    friedman,
    groups,
    iman_davenport,
    kendall_tau,
    nemenyi,
    ranks_of,
)
from optarena.stats.scott_knott import ScottKnott, Split, bootstrap_test, scott_knott
from optarena.stats.signed_rank import signed_rank_p
from optarena.stats.strengths import (
    bradley_terry,
    bradley_terry_interval,
    plackett_luce,
    plackett_luce_interval,
)

__all__ = [
    "Friedman",
    "Interval",
    "Nemenyi",
    "Posterior",
    "RankDiagram",
    "ScottKnott",
    "Split",
    "Test",
    "a12",
    "a12_interval",
    "average_ranks",
    "average_score_distribution",
    "bayesian_sign",
    "bayesian_signed_rank",
    "benjamini_hochberg",
    "benjamini_yekutieli",
    "bootstrap",
    "bootstrap_test",
    "bradley_terry",
    "bradley_terry_interval",
    "brunner_munzel",
    "cliffs_delta",
    "cliffs_delta_interval",
    "cohens_d",
    "conover",
    "correlated_t",
    "critical_difference",
    "draws",
    "friedman",
    "groups",
    "hedges_g",
    "hochberg",
    "hodges_lehmann",
    "holm",
    "iman_davenport",
    "improvement_interval",
    "iqm",
    "kendall_tau",
    "kolmogorov_smirnov",
    "magnitude",
    "mann_whitney",
    "mean",
    "mean_intervals",
    "median",
    "nemenyi",
    "optimality_gap",
    "plackett_luce",
    "plackett_luce_interval",
    "probability_of_improvement",
    "rank_diagram",
    "ranks_of",
    "score_distribution",
    "scott_knott",
    "sign_test",
    "signed_rank_p",
    "stratified_bootstrap",
    "welch_t",
    "wilcoxon",
]
