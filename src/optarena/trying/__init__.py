"""Which optimizer for my problem? A panel that fits it is run until decided, and the answer is in its own units.

>>> tried = optarena.try_optimizers(loss, 100)          # doctest: +SKIP
>>> tried                                               # what to use, the best point, whom it beats
>>> tried.best_point, tried.best_value
>>> tried.report("report.html")

See docs/try.md.
"""

from optarena.trying.attempt import try_optimizers
from optarena.trying.recommendation import Recommendation

__all__ = ["Recommendation", "try_optimizers"]
