"""What a board is: columns, declared once, and rows; and how it is shown as text, as LaTeX and on a page.

>>> columns = [Column("name", field="name"), Column("score", "number", 1, field="score", better="higher", bold="latex")]
>>> print(Board(columns, [{"name": "A", "score": 3.14}, {"name": "B", "score": 2.0}]).text())
  name  score
  A       3.1
  B       2.0
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from optarena._numbers import ABSENT, fixed, p_value
from optarena._text import table
from optarena.report.cells import Cell, written
from optarena.report.html import html_table
from optarena.report.latex import latex_table
from optarena.report.tables import Column, Table
from optarena.views._view import View

Row = Mapping[str, Any]

FAILED = (
    Column(
        "failed", "failed", None, "studies that failed, timed out or have no value; without a value they are the worst",
        field=("failed_studies", "of_studies"), better="lower",
    ),
    Column(
        "failed evaluations", "number", 0, "of all its studies",
        field="failed_evaluations", show=lambda n: f"{n:,}" if n else ABSENT, minor=True,
    ),
)  # fmt: skip
"""The columns that say what failed, the same in every board; see `with_failed`."""


def score_columns(view: View, what: str, *, digits: int = 2, dimension: int | None = None) -> list[Column]:
    """The score of a comparison with its interval: the first columns of every leaderboard; see `View.standings`."""
    over = f"95 % over {view.claims(dimension=dimension)}"
    return [
        Column("score", "number", digits, what, field="score", better="lower", bold="latex page"),
        Column("95 % interval", "interval", digits, over, field=("score_lb", "score_ub")),
    ]


def ranked(view: View, table: pl.DataFrame, dimension: int | None = None) -> pl.DataFrame:
    """A table of optimizers with the score and in its order; where scores are equal, in the order that it has."""
    own = table.drop("score", "score_lb", "score_ub", strict=False)
    names = own["optimizer"].unique(maintain_order=True).to_list()
    found = view.standings(dimension=dimension, first=names)
    return found.join(own, on="optimizer", how="inner", maintain_order="left")


def with_failed(view: View, rows: Sequence[Row]) -> list[Row]:
    """Rows of optimizers with what failed (docs/scores.md 0.2)."""
    out: list[Row] = []
    for row in rows:
        found = view.failed.get(row["optimizer"], {})
        names = {"failed_studies": "studies", "of_studies": "of", "failed_evaluations": "evaluations"}
        out.append({**row, **{ours: found.get(theirs) for ours, theirs in names.items()}})
    return out


LEFT = ("text", "optimizer", "problem", "function", "cell", "chart")
"""Kinds of columns that are set flush left."""
NAMES = ("optimizer", "problem", "function", "other")
"""Kinds and fields of columns whose cells are shortened where a terminal is narrow; other texts take several lines."""


@dataclass(frozen=True)
class Board:
    """Columns and rows. `groups`: rows of one group are compared where the best is sought; all rows by default.

    `ruled`: in a paper there is a rule between groups.
    """

    columns: Sequence[Column]
    rows: Sequence[Row]
    groups: Sequence[Any] | None = None
    ruled: bool = False

    def text(self, width: int | None = None) -> str:
        """Aligned for a terminal; where it is wider than `width`, names are shortened and minor columns left out."""
        heads: list[str] = []
        kinds: dict[str, list[int]] = {"right": [], "minor": [], "name": [], "text": []}
        cells: list[list[str]] = [[] for _ in self.rows]
        for column in self._kept("text"):
            texts = [text_of(column, row) for row in self.rows]
            here = len(heads)
            if column.joined:  # to the estimate before it
                heads[-1] = f"{heads[-1]}, {column.label.removesuffix(' interval')}"
                kinds["right"].remove(here - 1)
                for row, text in zip(cells, texts, strict=True):
                    row[-1] = row[-1] if row[-1] == ABSENT else f"{row[-1]} {text}"
                continue
            if column.kind not in LEFT:
                kinds["right"].append(here)
            elif column.kind in NAMES or column.field in NAMES:
                kinds["name"].append(here)
            elif column.kind == "text":
                kinds["text"].append(here)
            if column.minor:
                kinds["minor"].insert(0, here)
            heads.append(column.label)
            for row, text in zip(cells, texts, strict=True):
                row.append(text)
        firm = [i for i in range(len(heads)) if i not in kinds["name"] + kinds["text"]]
        return table(
            heads, cells, right=kinds["right"], whole=firm, width=width, drop=kinds["minor"], fold=kinds["text"]
        )

    def latex(self, comment: Sequence[str] = ()) -> str:
        """For a paper: booktabs, the best in bold."""
        heads, cells, bold = self._for_papers()
        pairs = [j for j, column in enumerate(self._kept("latex")) if column.kind == "pair"]
        return latex_table(heads, cells, bold=bold, comment=comment, pairs=pairs, ruled=self._begins())

    def html(self, caption: Cell) -> str:
        """The table of a paper as HTML, with the caption above it."""
        heads, cells, bold = self._for_papers()
        right = [j for j, column in enumerate(self._kept("latex")) if column.kind not in LEFT]
        return html_table(heads, cells, caption, bold=bold, right=right, ruled=self._begins())

    def so_far(self) -> Board:
        """Without 95 % intervals: those of a fixed number of trials do not hold while a run goes on."""
        return replace(self, columns=[column for column in self.columns if not column.label.startswith("95 %")])

    def _kept(self, medium: str) -> list[Column]:
        return [column for column in self.columns if medium in column.on]

    def _for_papers(self) -> tuple[list[Any], list[list[Any]], set[tuple[int, int]]]:
        """Heads, rows, and (row, column) of the best."""
        kept = self._kept("latex")
        heads = [column.head or column.label.replace(" %", "%") for column in kept]
        return heads, [[latex_of(column, row) for column in kept] for row in self.rows], self.best(kept, "latex")

    def _begins(self) -> list[int]:
        """The rows with which a group begins, but for the first."""
        groups = self.groups or [None] * len(self.rows)
        return [i for i in range(1, len(groups)) if self.ruled and groups[i] != groups[i - 1]]

    def table(self, id: str, title: str, **more: Any) -> Table:
        """For the page. A label that stands twice says what it is of."""
        kept = self._kept("page")
        labels = [column.label for column in kept]
        columns = [
            replace(column, label=f"{label} of {labels[i - 1]}") if label in labels[:i] else column
            for i, (column, label) in enumerate(zip(kept, labels, strict=True))
        ]
        rows = [[page_of(column, row) for column in kept] for row in self.rows]
        return Table(id, title, columns, rows, bold=self.best(kept, "page"), **more)

    def best(self, columns: Sequence[Column], medium: str) -> set[tuple[int, int]]:
        """(row, column) of the best values, in the columns whose best is bold in this medium."""
        groups = self.groups or [None] * len(self.rows)
        out = set()
        for j, column in enumerate(columns):
            if medium not in column.bold:
                continue
            sign = -1.0 if column.better == "higher" else 1.0
            least: dict[Any, float] = {}
            values = [_comparable(column, row, sign) for row in self.rows]
            for group, value in zip(groups, values, strict=True):
                least[group] = min(value, least.get(group, math.inf))
            out |= {
                (i, j)
                for i, (group, value) in enumerate(zip(groups, values, strict=True))
                if value == least[group] < math.inf
            }
        return out


@dataclass(frozen=True)
class Paper:
    """A board with its caption, for a paper or a page that is only read."""

    board: Board
    caption: Cell
    frame: str
    """What its numbers were measured against."""

    @classmethod
    def of(cls, view: View, board: Board, caption: str) -> Paper:
        return cls(board, written(caption), f"frame {view.frame['hash']}, mode {view.mode}")

    def latex(self) -> str:
        """A `tabular`; the caption and the frame are comments above it."""
        return self.board.latex([self.caption.text, self.frame])

    def html(self) -> str:
        return self.board.html(self.caption)


def _comparable(column: Column, row: Row, sign: float) -> float:
    value = value_of(column, row)
    value = value[0] if isinstance(value, tuple) else value
    return math.inf if value is None or value == column.never or not math.isfinite(value) else sign * value


def value_of(column: Column, row: Row) -> Any:
    """The value of a cell; of several fields, a tuple."""
    if isinstance(column.field, tuple):
        return tuple(row.get(field) for field in column.field)
    return row.get(column.field)


def applies(column: Column, row: Row) -> bool:
    return column.only is None or row[column.only[0]] == column.only[1]


def text_of(column: Column, row: Row) -> str:
    """A cell for a terminal."""
    value = value_of(column, row)
    if not applies(column, row):
        return ""
    if column.kind == "interval":
        if not known(value):
            return ABSENT
        return f"[{_number(column, value[0])}, {_number(column, value[1])}]"
    if column.kind == "hits":
        return "" if value[2] is None else f"{_number(column, value[0] if value[1] else None)} ({value[1]}/{value[2]})"
    if column.kind in ("number", "p"):
        return _number(column, value)
    return str(words_of(column, value))


def known(interval: Sequence[float | None]) -> bool:
    """Whether an interval says anything: one from -inf to inf does not."""
    return any(end is not None and math.isfinite(end) for end in interval)


def _number(column: Column, value: float | None) -> str:
    if value is None:
        return ABSENT
    if column.kind == "p":
        return p_value(value)
    if column.show is not None:
        return column.show(value)
    return f"{value:g}" if column.digits is None else fixed(value, column.digits)


def words_of(column: Column, value: Any) -> Any:
    """A cell that is a text in every medium."""
    if isinstance(value, Cell):
        return value.text
    if column.kind == "failed":
        return f"{value[0]:,} of {value[1]:,}" if value[0] else ABSENT
    if column.kind == "of":
        return f"{value[0]:g} of {value[1]}"
    if column.kind == "record":
        return "-".join(map(str, value))
    return column.words.get(value, value) if column.words else value


def latex_of(column: Column, row: Row) -> Any:
    """A cell for a paper: the value as the table has it."""
    value = value_of(column, row)
    if not applies(column, row):
        return None
    if column.kind in ("of", "hits"):
        return value[0]
    if column.kind == "failed":
        return words_of(column, value) if value[0] else None
    if column.kind == "interval" and not known(value):
        return None
    if column.kind == "p":
        return None if value is None else p_value(value)
    return words_of(column, value) if column.kind == "record" else value


def page_of(column: Column, row: Row) -> Any:
    """A cell of the page: numbers stay numbers, so that they can be sorted and copied."""
    value = value_of(column, row)
    if not applies(column, row):
        return None
    if column.kind == "hits":
        return value[0]
    if column.kind == "interval" and not known(value):
        return (None, None)
    return value if column.kind in ("number", "p", "interval") else words_of(column, value)
