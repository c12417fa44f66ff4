"""What views do alike with the rows of `Results.studies`."""

from __future__ import annotations

import numpy as np
import polars as pl

from optarena.traces import Ints


def indices(names: pl.Series, known: list[str]) -> Ints:
    """The place of each name among the known ones."""
    return names.replace_strict(known, np.arange(len(known)), return_dtype=pl.Int64).to_numpy().astype(np.int64)


def by_instance(frame: pl.DataFrame) -> pl.DataFrame:
    """Instances that an import gave one problem id are problems of their own: each has its own optimum."""
    several = frame.group_by("problem").agg(count=pl.col("instance").n_unique()).filter(pl.col("count") > 1)["problem"]
    named = pl.format("{} instance {}", "problem", pl.col("instance").cast(pl.String).fill_null("?"))
    return frame.with_columns(
        problem=pl.when(pl.col("problem").is_in(several.to_list())).then(named).otherwise("problem")
    )
