"""Plain text for a terminal or a pipe: tables that line up, numbers, durations, strict JSON."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from optarena._json import strict
from optarena._text import LONGEST, one_line, shortened, visible_json

WIDEST = 1_000
"""Characters of a cell: all rows of a table are as wide as its widest."""


def table(
    headers: Sequence[str], rows: Sequence[Sequence[Any]], *, right: Sequence[str] = (), whole: Sequence[str] = ()
) -> str:
    """Aligned columns; those in `right` are set flush right. A long cell is cut, but not in a column of `whole`."""
    cells = [
        [clean(cell, LONGEST if head in whole else WIDEST) for head, cell in zip(headers, row, strict=True)]
        for row in rows
    ]
    heads = [clean(head, WIDEST) for head in headers]
    widths = [max([len(head), *(len(row[i]) for row in cells)]) for i, head in enumerate(heads)]
    lines = []
    for row in [heads, *cells]:
        parts = [
            cell.rjust(width) if head in right else cell.ljust(width)
            for head, cell, width in zip(headers, row, widths, strict=True)
        ]
        lines.append("  " + "  ".join(parts).rstrip())
    return "\n".join(lines)


def clean(value: Any, longest: int = LONGEST) -> str:
    """A value as one line of text that a terminal only shows, whatever a name or an error message contains."""
    text = "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
    return shortened(one_line(text), longest)


def print_json(value: Any) -> None:
    """Strict JSON: an infinite number is the text "inf" or "-inf", an absent one is null."""
    text = msgspec.json.format(msgspec.json.encode(strict(value)), indent=2).decode()
    sys.stdout.write(visible_json(text) + "\n")
