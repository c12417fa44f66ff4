"""Tables and figures as the page holds them: plain data, columns by name, numbers rounded to what a screen shows."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from optarena._json import number, printable
from optarena.report.latex import latex_parts

DIGITS = 5
MOST_ROWS = 2000
"""Of a table on the page; what is beyond is said, and `optarena score --format csv` has it."""


@dataclass(frozen=True)
class Column:
    """A column. `kind`: text, optimizer, problem, function, number, interval, seconds, seconds interval or time.
    `digits`: after the point; None for as many as there are. `help`: a sentence that the head shows."""

    label: str
    kind: str = "text"
    digits: int | None = None
    help: str = ""


@dataclass
class Table:
    """A table of the page. A row may belong to a scope: `all`, or a dimension whose filter shows it."""

    id: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    scopes: Sequence[str] | None = None
    bold: Collection[tuple[int, int]] = ()
    note: str = ""
    comment: Sequence[str] = ()

    def to_data(self) -> dict[str, Any]:
        shown = [list(row) for row in self.rows[:MOST_ROWS]]
        head, lines, tail = latex_parts(
            [column.label for column in self.columns], shown, bold=self.bold, comment=self.comment or [self.title]
        )
        note = self.note
        if len(self.rows) > len(shown):
            note = f"{note} The first {len(shown):,} of {len(self.rows):,} rows are here.".strip()
        return {
            "kind": "table",
            "id": self.id,
            "title": self.title,
            "note": note,
            "columns": [{"label": c.label, "kind": c.kind, "digits": c.digits, "help": c.help} for c in self.columns],
            "rows": [[plain(value) for value in row] for row in shown],
            "scopes": None if self.scopes is None else list(self.scopes[:MOST_ROWS]),
            "bold": sorted([i, j] for i, j in self.bold if i < len(shown)),
            "latex": {"head": head, "rows": lines, "tail": tail},
        }


@dataclass
class Drawing:
    """A figure of the page: a Vega-Lite specification that takes its rows from a data set by name."""

    id: str
    title: str
    caption: str
    alt: str
    spec: dict[str, Any]
    dataset: str
    by: Sequence[str] = ()
    """The fields whose combinations stand one below the other, where the height depends on how many there are."""
    widest: int | None = None
    problem: str | None = None
    """The one problem whose rows are drawn, if not all."""

    def to_data(self) -> dict[str, Any]:
        return {
            "kind": "figure",
            "id": self.id,
            "title": printable(self.title),
            "caption": self.caption,
            "alt": printable(self.alt),
            "spec": self.spec,
            "dataset": self.dataset,
            "by": list(self.by),
            "widest": self.widest,
            "problem": None if self.problem is None else printable(self.problem),
        }


def plain(value: Any) -> Any:
    """A cell as JSON can hold it: an interval is a pair, an infinite number a text."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, float):
        return number(rounded(value)) if value == value else None
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if isinstance(value, str):
        return printable(value)
    return value


def rounded(value: float, digits: int = DIGITS) -> float:
    return float(f"{value:.{digits}g}") if math.isfinite(value) else value


def dataset(table: pl.DataFrame, names: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The columns of a table; those in `names` as places in a list of names that the page holds once."""
    columns: dict[str, list[Any]] = {}
    for column in table.columns:
        series = table[column]
        if column in names:
            at = {name: i for i, name in enumerate(names[column])}
            columns[column] = [at[value] for value in series]
        elif series.dtype.is_float():
            columns[column] = _short(series)
        elif series.dtype == pl.String:
            columns[column] = [None if value is None else printable(value) for value in series]
        else:
            columns[column] = series.to_list()
    return {"size": table.height, "coded": [name for name in names if name in columns], "columns": columns}


def _short(series: pl.Series) -> list[float | int | None]:
    """Rounded to significant digits; whole numbers without a point: the page is smaller."""
    finite = series.is_finite()
    values = series.set(~finite.fill_null(False), None).round_sig_figs(DIGITS).to_list()
    return [int(v) if v is not None and v == int(v) and abs(v) < 1e15 else v for v in values]
