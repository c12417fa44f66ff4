"""The boards: each table's columns (field, label, digits, help, which direction is better) declared once.

A module per view, and one for comparisons. A board is shown as text, as LaTeX, as HTML and on the page of a report by
one renderer each; as CSV, `--format csv` gives the table behind it with all its columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from optarena._numbers import counted
from optarena._text import clean
from optarena._widths import wrapped
from optarena.report.boards._board import Board
from optarena.report.html import page_of_tables
from optarena.views._view import View

TABLES = {"fixed-cost": "summary", "fixed-target": "ert", "pareto": "summary", "anytime": "summary"}
"""The table behind each view's board, which `--format csv` prints by default."""
SHOWN = 5
"""Notes and reasons that are listed one by one."""


def _board_of(view: View) -> Any:
    """The module of a view's board; those of other views need not be imported."""
    return import_module(f"optarena.report.boards.{view.name.replace('-', '_')}")


def text(view: View, width: int | None = None) -> str:
    """A view for a terminal: its board, then what a reader should know."""
    return wrapped(f"{_board_of(view).text(view, width)}\n{footnotes(view)}", width)


def leaders(view: View) -> list[tuple[str, Board]]:
    """A view's leaderboards, each with a line that says what it shows."""
    module = _board_of(view)
    if hasattr(module, "leaders"):
        return [(f"what was reached: {where}".rstrip(": "), board) for where, board in module.leaders(view)]
    return [(paper.caption.text, paper.board) for paper in module.papers(view)]


def latex(view: View) -> str:
    """A view's tables for a paper."""
    return "\n".join(paper.latex() for paper in _board_of(view).papers(view))


def html(views: Sequence[View]) -> str:
    """The tables of a paper as one page, with what a reader should know."""
    tables = [paper.html() for view in views for paper in _board_of(view).papers(view)]
    notes = [line for view in views for line in footnotes(view).splitlines()]
    return page_of_tables(", ".join(view.name.replace("-", " ") for view in views), tables, notes)


def footnotes(view: View) -> str:
    """What a reader should know, what was left out, and the frame."""
    lines = [f"note: {clean(note)}" for note in view.notes[:SHOWN]]
    if len(view.notes) > SHOWN:
        lines.append(f"note: … and {len(view.notes) - SHOWN} more (--format json has all)")
    reasons: dict[str, list[dict[str, Any]]] = {}
    for item in view.excluded:
        reasons.setdefault(item["reason"], []).append(item)
    for reason, items in list(reasons.items())[:SHOWN]:
        noun = "study" if items[0]["trial"] is not None else "problem"
        first = " ".join(clean(items[0][key]) for key in ("optimizer", "problem") if items[0][key])
        more = f" and {len(items) - 1} more" if len(items) > 1 else ""
        lines.append(f"excluded: {counted(len(items), noun)}: {clean(reason)} ({first}{more})")
    frame = view.frame
    if "random_evaluations" in frame:
        count = frame["random_evaluations"]
        source = f"{count:,} random evaluations" if count else frame["source"]
    elif "optimum" in frame:
        source = f"{frame['runs']:,} runs, optimum {frame['optimum']}"
    elif view.name == "pareto":
        source = f"{frame['runs']:,} fronts, {counted(len(frame['problems']), 'reference set')}"
    else:
        source = f"{frame['runs']:,} runs, {frame['horizon']}"
    own = view.name == "fixed-target" or view.mode == "aries"  # of expected running times; quartiles
    intervals = frame["intervals"] if own else view.intervals
    state = ", provisional: a run continues" if frame["provisional"] else ""
    lines.append(f"frame {frame['hash'][:12]} ({source}, {intervals}{state}), mode {view.mode}")
    return "\n".join(lines)
