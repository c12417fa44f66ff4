"""What a figure is: a record of its name and what it shows, and what it is for one store: table, drawing, words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import polars as pl

from optarena.errors import OptarenaError
from optarena.report.material import ALL, Material
from optarena.views._view import View
from optarena.views.selection import COUNTED

PANELS = 24
"""Of a figure for a paper, at most."""
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
    """The problems to draw: on a page the first of many; a figure of its own must have room for all."""
    if options.page:
        return names[:most]
    if not names:
        raise OptarenaError(f"no study has {what} to draw")
    if len(names) > PANELS:
        raise OptarenaError(
            f"{len(names)} problems do not fit on one figure: choose at most {PANELS} with --problem or --dimension"
        )
    return names


def fit(table: pl.DataFrame, options: Options, by: str = "panel") -> None:
    count = 0 if options.page or not table.height else table[by].n_unique()
    if count > PANELS:
        raise OptarenaError(
            f"{count} panels do not fit on one figure: choose at most {PANELS} with --problem or --dimension"
        )
