"""Tables and figures as the page holds them: plain data, columns by name, numbers rounded to what a screen shows."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import NoneType
from typing import Any

import polars as pl

from optarena._json import number
from optarena._numbers import ABSENT, grouped, p_value, seconds, short, typeset
from optarena._text import mailable, visible
from optarena.report.cells import Cell
from optarena.report.latex import commented, latex_parts

DIGITS = 5
MOST_ROWS = 20_000
"""Of a table on the page; what is beyond is said."""
MOST_LATEX = 2000
"""Rows of a table that can be copied as LaTeX: more are no table for a paper, and the page stays small."""


@dataclass(frozen=True)
class Column:
    """A column of a table, declared once for every medium: `text` (terminals), `latex` and `page`.

    `kind`: text, optimizer, problem, function, number, p, interval, seconds or seconds interval; of boards also `of`
    (5 of 12), `failed` (the same, a dash for none), `record` (8-4-0), `hits` (an expected running time with its
    successes) and `cell` or `pair` (a `Cell`; a pair is aligned where its parts meet), and `chart` (in a terminal).
    `digits`: after the point; None
    for as many as there are. `help`: a sentence that the head of the page's table shows.
    """

    label: str
    kind: str = "text"
    digits: int | None = None
    help: str = ""
    field: str | tuple[str, ...] = ""
    """Where a row has the value; several fields make one cell."""
    show: Callable[[Any], str] | None = None
    """How a number is written, if not by its digits."""
    words: Mapping[str, str] | None = None
    """What people read instead of a value of the table."""
    better: str = ""
    """`lower` or `higher`."""
    bold: str = ""
    """The media in which the best value is bold."""
    never: float | None = None
    """A value that is never the best, even if no other is better."""
    on: str = "text latex page"
    """The media that have it."""
    only: tuple[str, str] | None = None
    """A field and its value: the cell is empty in other rows."""
    joined: bool = False
    """In a terminal it stands in one column with the estimate before it."""
    minor: bool = False
    """A narrow terminal goes without it."""
    head: Cell | None = None
    """How the label is written, where that differs between media."""

    def written(self, value: Any) -> str | None:
        """A cell of the page as text; None where it is the value itself."""
        if isinstance(value, (tuple, list)):
            ends = [self.written(end) or str(end) for end in value]
            return ABSENT if all(end is None for end in value) else f"[{', '.join(ends)}]"
        if isinstance(value, str) or self.kind not in NUMERIC:
            return None
        if value is None:
            return ABSENT
        if self.kind == "p":
            return p_value(value)
        if self.kind.startswith("seconds"):
            return typeset(seconds(value))
        if self.show is not None:
            return typeset(self.show(value))
        return typeset(short(value) if self.digits is None else grouped(value, self.digits))


NUMERIC = ("number", "p", "interval", "hits", "seconds", "seconds interval")
"""Kinds of columns whose cells are numbers, set flush right."""


@dataclass
class Table:
    """A table of the page. A row may belong to a scope: `all`, or a dimension whose filter shows it.

    `titles` and `comments`: of each scope, where they differ from those of all. `rest`: the command that gives all
    rows, should they be too many for a page.
    """

    id: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    scopes: Sequence[str] | None = None
    bold: Collection[tuple[int, int]] = ()
    note: str = ""
    comment: Sequence[str] = ()
    titles: Mapping[str, str] = field(default_factory=dict)
    comments: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rest: str = "optarena report with --problem, --optimizer or --dimension shows a part"

    def to_data(self) -> dict[str, Any]:
        shown = [list(row) for row in self.rows[:MOST_ROWS]]
        notes = [self.note] if self.note else []
        if len(self.rows) > len(shown):
            notes.append(f"The first {len(shown):,} of {len(self.rows):,} rows are here: {self.rest}.")
        latex = None
        if len(shown) <= MOST_LATEX:
            head, lines, tail = latex_parts([column.label for column in self.columns], shown, bold=self.bold)
            comments = {"all": self.comment or [self.title], **self.comments}
            tops = {scope: "\n".join([*commented(texts), head]) for scope, texts in comments.items()}
            latex = {"head": tops.pop("all"), "heads": tops, "rows": lines, "tail": tail}
        else:
            notes.append(
                "It is too long for LaTeX and copies as CSV; a report of a part (--problem …) has it as LaTeX."
            )
        return {
            "kind": "table",
            "id": self.id,
            "title": visible(self.title),
            "titles": {scope: visible(title) for scope, title in self.titles.items()},
            "note": visible(" ".join(notes)),
            "columns": [
                {"label": c.label, "kind": c.kind, "right": c.kind in NUMERIC, "help": c.help} for c in self.columns
            ],
            "rows": list(zip(*(_plain_column(column) for column in zip(*shown, strict=True)), strict=True)),
            "texts": [
                [column.written(row[j]) for row in shown] if column.kind in NUMERIC else None
                for j, column in enumerate(self.columns)
            ],
            "scopes": None if self.scopes is None else list(self.scopes[:MOST_ROWS]),
            "bold": sorted([i, j] for i, j in self.bold if i < len(shown)),
            "latex": latex,
        }


def without_places(table: Table, hosts: Sequence[str]) -> Table:
    """The same table without directories, users and machines in its texts; names stay as they are."""
    texts = {i for i, column in enumerate(table.columns) if column.kind == "text"}
    rows = [
        [mailable(cell, hosts) if i in texts and isinstance(cell, str) else cell for i, cell in enumerate(row)]
        for row in table.rows
    ]
    return replace(table, rows=rows, note=mailable(table.note, hosts))


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
    least: int = 0
    """How wide it is at least: it scrolls where the screen is narrower."""
    margin: int = 0
    """Room on the right for the texts at the ends of bars."""

    def to_data(self) -> dict[str, Any]:
        return {
            "kind": "figure",
            "id": self.id,
            "title": visible(self.title),
            "caption": visible(self.caption),
            "alt": visible(self.alt),
            "spec": self.spec,
            "dataset": self.dataset,
            "by": list(self.by),
            "widest": self.widest,
            "problem": None if self.problem is None else visible(self.problem),
            "least": self.least,
            "margin": self.margin,
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
        return visible(value)
    return value


def _plain_column(column: Sequence[Any]) -> Sequence[Any]:
    """The cells of a column, as `plain` gives each."""
    kinds = set(map(type, column))
    if kinds <= {int, bool, NoneType}:
        return column
    return _visible_texts(column) if kinds <= {str, NoneType} else [plain(value) for value in column]


def _visible_texts(texts: Sequence[str | None]) -> list[str | None]:
    """The same texts with nothing hidden in them: most are there many times."""
    shown = {text: None if text is None else visible(text) for text in set(texts)}
    return [shown[text] for text in texts]


def rounded(value: float, digits: int = DIGITS) -> float:
    return float(f"{value:.{digits}g}") if math.isfinite(value) else value


def dataset(table: pl.DataFrame, names: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The columns of a table; those in `names` as places in a list of names that the page holds once."""
    columns: dict[str, list[Any]] = {}
    floats = pl.selectors.float()
    finite = table.with_columns(pl.when(floats.is_finite()).then(floats).round_sig_figs(DIGITS))
    for series in finite:
        column = series.name
        if column in names:
            at = {name: i for i, name in enumerate(names[column])}
            columns[column] = [at[value] for value in series.to_list()]
        elif series.dtype.is_float():
            columns[column] = _short(series.to_list())
        elif series.dtype == pl.String:
            columns[column] = _visible_texts(series.to_list())
        else:
            columns[column] = series.to_list()
    return {"size": table.height, "coded": [name for name in names if name in columns], "columns": columns}


def _short(values: list[float | None]) -> list[float | int | None]:
    """Whole numbers without a point: the page is smaller."""
    return [int(v) if v is not None and v.is_integer() and abs(v) < 1e15 else v for v in values]
