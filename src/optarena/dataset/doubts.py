"""Values that cannot be: better than what is known to be the optimum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from optarena.dataset.facts import of_cards
from optarena.sense import signs

if TYPE_CHECKING:
    from optarena.dataset import Dataset

TINY = 1e-6
"""How far below an optimum, for its size, is more than rounding."""
NAMED = 3


def beyond_optimum(dataset: Dataset) -> list[str]:
    """A sentence that names the studies whose best value is better than the known optimum of their problem."""
    studies = dataset.studies.head(len(dataset.chosen)).with_columns(
        exact=pl.Series(of_cards(dataset, lambda card: not card.noisy and "noisy" not in card.suite), dtype=pl.Boolean)
    )
    found = studies.filter(pl.col("exact") & pl.col("best").is_not_null() & pl.col("optimum").is_not_null())
    if not found.height:
        return []
    sign = signs(found["sense"])
    best, optimum = found["best"].to_numpy(), found["optimum"].to_numpy()
    with np.errstate(invalid="ignore"):
        beyond = sign * (optimum - best) > TINY * np.maximum(1.0, np.abs(optimum))
    wrong = found.filter(pl.Series(beyond))
    if not wrong.height:
        return []
    texts = [
        f"{row['optimizer']} on {row['problem']}, trial {row['trial']}: {row['best']!r}, optimum {row['optimum']!r}"
        for row in wrong.head(NAMED).iter_rows(named=True)
    ]
    more = f"; and {wrong.height - NAMED:,} more" if wrong.height > NAMED else ""
    what = "better than the known optimum, which is impossible: either the values or the optimum are wrong"
    return [f"{what} ({'; '.join(texts)}{more})"]
