"""What a figure is: a record of its name and what it shows, and what it is for one store: table, drawing, words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import polars as pl

from optarena.errors import OptarenaError
from optarena.report.material import ALL, Material
from optarena.views._view import View
from optarena.views.selection import COUNTED

PANELS = 24
"""Of a sheet, at most: a figure with more has several sheets."""
LOG_FROM = 1000
"""An axis of effort that goes so far is logarithmic."""


@dataclass(frozen=True)
class Options:
    """What a figure may be asked for, beyond which studies. `page`: it is for the report, which has filters of its
    own, and takes the first of many problems where a figure of its own would not fit."""

    axis: str | None = None
    statistic: str = "median"
    metric: str | None = None
    width: int | None = None
    height: int | None = None
    background: str | None = None
    bands: bool = False
    page: bool = False


@dataclass(frozen=True)
class Shown:
    """A figure of one store, or one of its parts."""

    name: str
    """Of its table, and of its data set on the page."""
    table: pl.DataFrame
    draw: Callable[[Any, Any], Any]
    """Makes the chart of the table (or of the name of a data set) and a `Look`."""
    title: str
    """On the page."""
    caption: str
    alt: str
    """For those who cannot see it."""
    head: str = ""
    """A line above it, where it stands alone."""
    empty: str = ""
    """Why there is nothing to draw, if so."""
    view: View | None = None
    """Whose scores are drawn: the figure names its frame."""
    legend: pl.DataFrame | None = None
    """Whose optimizers the legend names, if not those of the table."""
    id: str = ""
    """On the page, if not its name."""
    problem: str | None = None
    by: Sequence[str] = ()
    widest: int | None = None
    least: int = 0
    margin: int = 0
    """As in `Drawing`."""
    note: str = ""
    """What the page says about it in its section."""
    panels: str = ""
    """The column that tells the panels of its table apart, where it has many."""
    sheet: str = ""
    """What the sheet shows that it stands on, where a figure has several: `5-D`."""
    ranked: Sequence[str] = ()
    """The optimizers from the best to the worst: the order of the legend."""


@dataclass(frozen=True)
class Figure:
    """A figure by its name: what it shows in a line, whose figure it is, its own options.

    `view`: a view's name, `comparison`, or nothing where the studies alone are drawn. The function of the figure's name
    in the module of that name makes it. `arrange`: its parts stand `beside` or `below` each other, or as `panels`.
    """

    name: str
    text: str
    view: str
    options: tuple[str, ...] = ()
    arrange: str = "beside"

    def make(self, material: Material, options: Options) -> list[Shown]:
        """Its parts for one store; the modules of other views need not be imported."""
        module = import_module(f"optarena.report.figures.{self.view.replace('-', '_') or 'runs'}")
        parts: list[Shown] = getattr(module, self.name.replace("-", "_"))(material, options)
        return parts


def of_scope(table: pl.DataFrame, options: Options) -> pl.DataFrame:
    """The page filters by dimension; a figure of its own is of all problems."""
    return table if options.page else table.filter(pl.col("scope") == ALL)


def is_log(axis: str, last: float) -> bool:
    """Whether an axis of effort is drawn logarithmically."""
    return axis not in COUNTED or last >= LOG_FROM


def last_effort(table: pl.DataFrame) -> float:
    return float(table["effort"].max() or 0)  # type: ignore[arg-type]


def few(names: list[str], what: str, options: Options, most: int) -> list[str]:
    """The problems to draw: on a page the first of many; a figure of its own has sheets for all."""
    if options.page:
        return names[:most]
    if not names:
        raise OptarenaError(f"no study has {what} to draw")
    return names


def in_sheets(parts: list[Shown], arrange: str) -> dict[str, list[Shown]]:
    """The parts of each sheet, by what it shows: a figure with many panels has several sheets."""
    if arrange == "panels":
        chunks = [parts[low : low + PANELS] for low in range(0, len(parts), PANELS)]
        return {f"{low * PANELS + 1} to {low * PANELS + len(chunk)}": chunk for low, chunk in enumerate(chunks)}
    out: dict[str, list[Shown]] = {}
    for part in parts:
        for one in _split(part):
            out.setdefault(one.sheet, []).append(one)
    return out


def _split(shown: Shown) -> list[Shown]:
    """Sheets of so many panels of one table."""
    if not shown.panels:
        return [shown]
    panels = shown.table[shown.panels].unique(maintain_order=True)
    if len(panels) <= PANELS:
        return [shown]
    out = []
    for low in range(0, len(panels), PANELS):
        some = panels[low : low + PANELS]
        out.append(
            replace(
                shown,
                table=shown.table.filter(pl.col(shown.panels).is_in(some.implode())),
                sheet=", ".join(one for one in (shown.sheet, f"{some[0]} to {some[-1]}") if one),
                legend=shown.table if shown.legend is None else shown.legend,
            )
        )
    return out
