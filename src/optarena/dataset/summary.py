"""A dataset in a few lines: how many studies each optimizer has, and how they ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from optarena._numbers import ABSENT, counted, significant
from optarena._text import clean, table
from optarena.sense import sign, sign_of
from optarena.status import ALL

if TYPE_CHECKING:
    from optarena.dataset import Dataset

MOST = 20
"""Optimizers that are listed."""


class Summary(NamedTuple):
    """A line about all studies, and a table with one row per optimizer."""

    head: str
    columns: list[str]
    rows: list[list[str]]
    more: str
    """What the table leaves out, if anything."""


def summary(dataset: Dataset) -> Summary:
    """With one problem of one objective also the best value that each optimizer found, in the problem's own unit."""
    studies = dataset.studies
    found = studies.group_by("optimizer", maintain_order=True).agg(
        pl.len().alias("studies"),
        *((pl.col("status") == status).sum().alias(status) for status in ALL),
        pl.col("evaluations").sum(),
        pl.col("failures").sum(),
        (sign_of("sense") * pl.col("best")).min().alias("least"),
        pl.col("sense").drop_nulls().first(),
    )
    problems, trials = studies["problem"].n_unique(), studies["trial"].n_unique()
    counts = [counted(found.height, "optimizer"), counted(problems, "problem"), counted(trials, "trial")]
    ended = [f"{count:,} {status}" for status in ALL if (count := int(found[status].sum()))]
    head = f"{clean(dataset.path)}: {counted(studies.height, 'study')} ({' × '.join(counts)})"
    there = [status for status in ALL if status == "done" or found[status].sum()]
    failures = ["failures"] if found["failures"].sum() else []
    best = problems == 1 and found["least"].is_not_null().any()
    rows = []
    for row in found.head(MOST).iter_rows(named=True):
        cells = [clean(row["optimizer"])]
        cells += [f"{row[name]:,}" if row[name] else ABSENT for name in (*there, "evaluations", *failures)]
        if best:
            cells.append(ABSENT if row["least"] is None else significant(sign(row["sense"]) * row["least"], 4))
        rows.append(cells)
    columns = ["optimizer", *there, "evaluations", *(["failed evaluations"] if failures else [])]
    more = f"… and {counted(found.height - MOST, 'more optimizer')}" if found.height > MOST else ""
    if ended:
        head += f": {', '.join(ended)}"
    return Summary(head, [*columns, *(["best"] if best else [])], rows, more)


def text(dataset: Dataset) -> str:
    """The same for a terminal."""
    found = summary(dataset)
    if not found.rows:
        return found.head
    parts = [found.head, table(found.columns, found.rows, right=range(1, len(found.columns)))]
    return "\n".join([*parts, *([found.more] if found.more else [])])
