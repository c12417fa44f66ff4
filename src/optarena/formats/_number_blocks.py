"""Lines of numbers, a block a run, as arrays: all of a file, or of several files, at once.

Only a damaged file is looked at line by line, and every line that is left out is named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from optarena.traces import Bools, Floats

MOST = 10**15
Say = Callable[[str], None]
_SPACES = bytes.maketrans(b"\t", b" ")
_NO_SEPARATORS = bytes(set(range(256)) - set(b"\t \n"))
_ONE_PER_LINE = bytes.maketrans(b"\t \r", b"\n\n\n")


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
    bodies = [b"".join(line + b"\n" for line in lines[low + 1 : high] if line) for low, high in bounds]
    (together,) = tables_of_numbers([bodies], least)
    if together is None and only is not None and _width(b"".join(bodies), least):  # other columns need not be numbers
        (together,) = tables_of_numbers([[_first_columns(body, only) for body in bodies]], least)
    found: Sequence[Floats | None] = [None] * len(bounds) if together is None else together
    return [
        _sane(_line_by_line(lines, low, high, say, least) if rows is None else rows, say, low)
        for (low, high), rows in zip(bounds, found, strict=True)
    ]


def tables_of_numbers(files: Sequence[Sequence[bytes]], least: int) -> list[list[Floats] | None]:
    """The numbers of files, each given as blocks of complete lines, in one call, as each has a high fixed cost.

    None for a file whose lines have different numbers of columns, or fewer than `least`, or a cell that is no number.
    """
    if not files:
        return []
    texts = [b"".join(bodies) for bodies in files]
    widths = [_width(text, least) for text in texts]
    flat = _numbers([text for text, width in zip(texts, widths, strict=True) if width])
    expected = [text.count(b"\n") * width for text, width in zip(texts, widths, strict=True)]
    if flat is None or len(flat) != sum(expected):
        return [None] if len(files) == 1 else [tables_of_numbers([bodies], least)[0] for bodies in files]
    out: list[list[Floats] | None] = []
    for bodies, width, numbers in zip(files, widths, np.split(flat, np.cumsum(expected)[:-1]), strict=True):
        ends = np.cumsum([body.count(b"\n") for body in bodies])
        out.append(np.split(numbers.reshape(-1, width), ends[:-1]) if width and bodies else [] if width else None)
    return out


def _width(text: bytes, least: int) -> int:
    """How many columns every line has; 0 unless all have as many, and enough."""
    if not text:
        return least
    shape = text.translate(_SPACES, _NO_SEPARATORS)
    line = shape[: shape.index(b"\n") + 1]
    width = len(text[: text.index(b"\n")].split())
    return width if width >= least and shape == line * (len(shape) // len(line)) else 0


def _numbers(texts: Sequence[bytes]) -> Floats | None:
    """All numbers of some texts, one after the other; None where something else is among them."""
    text = b"".join(texts)
    if not text.isascii():
        return None
    if not text:
        return np.zeros(0)
    try:
        column = pl.read_csv(
            text.translate(_ONE_PER_LINE),
            has_header=False,
            separator="\t",
            quote_char=None,
            schema={"number": pl.Float64},
        )["number"]
    except pl.exceptions.PolarsError:
        return None
    return column.drop_nulls().to_numpy()


def _first_columns(body: bytes, only: int) -> bytes:
    return b"".join(b" ".join(line.split(None, only)[:only]) + b"\n" for line in body.split(b"\n")[:-1])


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


def possible_evaluations(rows: Floats) -> Bools:
    """Which rows have a number of evaluations, their first column, that can be one."""
    k = rows[:, 0]
    good: Bools = (k >= 1) & (k <= MOST) & (k == np.floor(k))
    return good


def _sane(rows: Floats, say: Say, low: int) -> Floats:
    """Without rows whose number of evaluations cannot be one."""
    good = possible_evaluations(rows)
    if not good.all():
        say(f"{int((~good).sum())} rows of the run at line {low + 1} have impossible evaluation numbers; left out")
        rows = rows[good]
    return rows
