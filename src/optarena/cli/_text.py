"""Plain text for a terminal or a pipe: tables that line up, numbers, durations, strict JSON."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from optarena._json import printable, strict


def table(headers: Sequence[str], rows: Sequence[Sequence[Any]], *, right: Sequence[str] = ()) -> str:
    """Aligned columns, never cut; the columns named in `right` are set flush right."""
    cells = [[clean(cell) for cell in row] for row in rows]
    widths = [max([len(head), *(len(row[i]) for row in cells)]) for i, head in enumerate(headers)]
    lines = []
    for row in [list(headers), *cells]:
        parts = [
            cell.rjust(width) if head in right else cell.ljust(width)
            for head, cell, width in zip(headers, row, widths, strict=True)
        ]
        lines.append("  " + "  ".join(parts).rstrip())
    return "\n".join(lines)


def clean(value: Any) -> str:
    """A value as one line of printable text, whatever a name or an error message contains."""
    text = "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
    text = printable(text)
    return "".join(sign if sign.isprintable() else " " if sign in "\n\t\r" else "?" for sign in text)


def shorten(text: str, width: int = 100) -> str:
    """A text of at most so many signs, with an ellipsis where it was cut."""
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


def duration(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"


def counted(n: int, noun: str) -> str:
    plural = {"study": "studies"}.get(noun, noun + "s")
    return f"{n:,} {noun if n == 1 else plural}"


def print_json(value: Any) -> None:
    """Strict JSON: an infinite number is the text "inf" or "-inf", an absent one is null."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(strict(value)), indent=2).decode() + "\n")
