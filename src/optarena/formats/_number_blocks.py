"""Lines of numbers, a block a run, as arrays: all of a file at once.

Only a damaged file is looked at line by line, and every line that is left out is named.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np

from optarena.traces import Floats

MOST = 10**15
Say = Callable[[str], None]


def without_cut_line(data: bytes, say: Say) -> list[bytes]:
    """The lines of a file. A last one that does not end is not trusted: a number in it may be cut."""
    lines = data.split(b"\n")
    if lines[-1].strip():
        say(f"line {len(lines)}: the file ends in the middle of it; left out")
    lines[-1] = b""
    return lines


def blocks_of_numbers(
    lines: list[bytes], starts: list[int], say: Say, least: int, only: int | None = None
) -> list[Floats]:
    """The rows between the heads at `starts`: at least this many columns are expected, only the first ones wanted.

    The first column counts evaluations: rows where it cannot are left out.
    """
    bounds = list(zip(starts, [*starts, len(lines)][1:], strict=True))
    bodies = [list(filter(None, lines[low + 1 : high])) for low, high in bounds]
    together = _together(bodies, least, only)
    found: Sequence[Floats | None] = [None] * len(bounds) if together is None else together
    return [
        _sane(_line_by_line(lines, low, high, say, least) if rows is None else rows, say, low)
        for (low, high), rows in zip(bounds, found, strict=True)
    ]


def _together(bodies: list[list[bytes]], least: int, only: int | None) -> list[Floats] | None:
    """The numbers of all runs at once, if every line has as many columns; else None."""
    body = [line for part in bodies for line in part]
    width = len(body[0].split()) if body else least
    if width < least or len({line.count(b" ") + line.count(b"\t") for line in body}) > 1:
        return None
    if only is not None and only < width:
        body, width = [b" ".join(line.split(None, only)[:only]) for line in body], only
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # a text that is no number
        try:
            flat = np.fromstring(b" ".join(body).decode("ascii"), dtype=float, sep=" ")
        except (DeprecationWarning, ValueError):
            return None
    if len(flat) != len(body) * width:
        return None
    ends = np.cumsum([len(part) for part in bodies])
    return np.split(flat.reshape(-1, width), ends[:-1]) if bodies else []


def _line_by_line(lines: list[bytes], low: int, high: int, say: Say, least: int) -> Floats:
    """The rows of a damaged block that can be read: those as wide as most, all of it numbers."""
    rows: list[tuple[int, list[float]]] = []
    for i in range(low + 1, high):
        if not lines[i].strip():
            continue
        try:
            rows.append((i, [float(cell) for cell in lines[i].split()]))
        except ValueError:
            say(f"line {i + 1}: it does not consist of numbers only; left out")
    widths = [len(row) for _, row in rows if len(row) >= least]
    width = max(set(widths), key=widths.count) if widths else least
    kept = [row for _, row in rows if len(row) == width]
    for i, row in rows:
        if len(row) != width:
            say(f"line {i + 1}: {len(row)} columns, others of its run have {width}; left out")
    return np.array(kept, dtype=float).reshape(-1, width)


def _sane(rows: Floats, say: Say, low: int) -> Floats:
    """Without rows whose number of evaluations cannot be one."""
    k = rows[:, 0]
    good = (k >= 1) & (k <= MOST) & (k == np.floor(k))
    if not good.all():
        say(f"{int((~good).sum())} rows of the run at line {low + 1} have impossible evaluation numbers; left out")
        rows = rows[good]
    return rows
