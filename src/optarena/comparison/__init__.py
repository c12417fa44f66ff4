"""Which optimizer is better, by how much, and how sure is that? Scores of a view in, a verdict out.

>>> print(optarena.open("results").compare("CMA-ES", "Optuna-TPE"))     # doctest: +SKIP
"""

from optarena.comparison.compare import Comparison, compare_scores
from optarena.comparison.of_store import compare

__all__ = ["Comparison", "compare", "compare_scores"]
