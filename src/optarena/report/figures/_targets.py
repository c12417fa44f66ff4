"""What the figures of the fixed-target view share: what they are about, and sheets by dimension."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from optarena.report.figures._figure import Shown
from optarena.views.fixed_target import FixedTarget
from optarena.views.fixed_target import figure_tables as tables

APART = "no function was run by all optimizers in one dimension: there is nothing to pool"


def about(view: FixedTarget, text: str, dimension: int | None = None) -> str:
    """A caption that ends with the data that are drawn."""
    return f"{' '.join(text.split())} Data: {tables.described(view, dimension)}."


def by_dimension(view: FixedTarget, shown: Shown) -> Iterator[Shown]:
    """A sheet for each dimension, with what it is about in its caption."""
    for (dimension,), part in shown.table.group_by(["dimension"], maintain_order=True):
        yield replace(
            shown,
            table=part,
            sheet="" if dimension is None else f"{dimension}-D",
            caption=about(view, shown.caption, dimension),
            legend=shown.table if shown.legend is None else shown.legend,
        )
