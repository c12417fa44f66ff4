"""What several views ask of studies: how far each is known, which are unfinished, and how to name one left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from optarena.traces import Bools, Floats, Ints


def ends_of(axis: str, last: Floats, ended: Bools, reach: Ints, size: Ints) -> Floats:
    """How far the best of each study is known: an ended study's best stands until the end of its budget.

    On an axis that is not counted it stands for ever: nothing more was to come.
    """
    if axis == "evaluations":
        return np.maximum(last, reach)
    if axis == "batches":
        return np.maximum(last, np.ceil(reach / size))
    return np.where(ended, np.inf, last)


def tell_unfinished(part: Any, made: Ints, notes: list[str]) -> None:
    """Say which studies are scored although they are not whole."""
    budget = part["budget"].fill_null(0).to_numpy()
    for status, what in (
        ("stopped early", "its best stands until the end of its budget"),
        ("failed", "scored from what is there; its best stands until the end of its budget"),
        ("timed out", "scored from what is there; its best stands until the end of its budget"),
        ("interrupted", "scored from what is there"),
        ("running", "scored from what is there"),
        ("stale", "scored from what is there"),
    ):
        count = int(((part["status"] == status).to_numpy() & ((made < budget) | (budget == 0))).sum())
        if count:
            notes.append(f"{count:,} {'study' if count == 1 else 'studies'} {status}: {what}")


def named(row: dict[str, Any], reason: str) -> dict[str, Any]:
    return {"optimizer": row["optimizer"], "problem": row["problem"], "trial": row["trial"], "reason": reason}


def indices(names: pl.Series, known: list[str]) -> Ints:
    """The place of each name among the known ones."""
    return names.replace_strict(known, np.arange(len(known)), return_dtype=pl.Int64).to_numpy().astype(np.int64)


def by_instance(frame: pl.DataFrame) -> pl.DataFrame:
    """Instances that an import gave one problem id are problems of their own: each has its own optimum."""
    several = frame.group_by("problem").agg(count=pl.col("instance").n_unique()).filter(pl.col("count") > 1)["problem"]
    apart = pl.format("{} instance {}", "problem", pl.col("instance").cast(pl.String).fill_null("?"))
    return frame.with_columns(
        problem=pl.when(pl.col("problem").is_in(several.to_list())).then(apart).otherwise("problem")
    )


def in_order(names: list[str]) -> list[str]:
    return list(dict.fromkeys(names))


def spans(starts: Ints, lengths: Ints) -> Ints:
    """The rows of several spans, one after the other."""
    before = np.concatenate(([0], np.cumsum(lengths)[:-1])) if len(lengths) else np.zeros(0, dtype=np.int64)
    return np.repeat(starts - before, lengths) + np.arange(lengths.sum())
