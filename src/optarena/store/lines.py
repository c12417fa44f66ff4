"""The lines of a journal, block by block: plain evaluation lines as arrays, all others as records.

Nearly all lines of a journal are evaluations without failures, of numbers only, and neighbours have the same shape:
the same text but for its numbers. Such lines are read by a CSV parser, all numbers of a block at once, without making
Python objects. Whatever it does not take, or takes for anything unexpected, is decoded line by line.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

from optarena.errors import OptarenaError
from optarena.store.costs import NUMBERS
from optarena.store.records import Record, Rows, refuse_newer
from optarena.traces import Floats, Ints

BLOCK_BYTES = 8_000_000
_DIGITS = b"0123456789.+-eE"
_ONE_PER_LINE = bytes.maketrans(b",", b"\n")
_OTHERS = bytes(c for c in range(256) if c not in _DIGITS + b",\n")
_TAG = "e"  # what is left of '"t":"e"' when everything but numbers is deleted
_EXACT = 2.0**53
_MATRIX = rb"(\[\[,*\](?:,\[,*\])*\])"
_SHAPE = re.compile(rb'\{"t":"","s":,"k":,"y":' + _MATRIX + rb',"w":\[,{5}\],"x":' + _MATRIX + rb"\}")

decode = msgspec.json.Decoder(Record).decode
_decode_rows = msgspec.json.Decoder(Rows).decode_lines


class Plain:
    """n lines of one shape: m evaluations each, with their objectives, costs and points, and no failures."""

    def __init__(self, numbers: Floats, shape: tuple[int, int, int], text: bytes) -> None:
        m, objectives, dimension = shape
        n = len(numbers)
        at = 3 + m * objectives
        places, costs = numbers[:, 1:3], numbers[:, at : at + NUMBERS]
        self.exact = bool(((places % 1 == 0) & (places < _EXACT)).all() and ((costs % 1 == 0) & (costs < _EXACT)).all())
        self.s, self.k = places.astype(np.int64).T
        self.w: Ints = costs.astype(np.int64)
        self.y: Floats = numbers[:, 3:at].reshape(n, m, objectives)
        self.x: Floats = numbers[:, at + NUMBERS :].reshape(n, m, dimension)
        self._text = text

    def rows(self, low: int, high: int) -> list[Rows]:
        """Some of these lines as records."""
        return _decode_rows(b"\n".join(self._text.split(b"\n")[low:high]))


def read_blocks(path: Path) -> Iterator[tuple[int, list[Record | Plain]]]:
    """The complete lines of a journal, in blocks with their size in bytes; a torn last line is dropped.

    A journal of a newer format is refused; a line that cannot be read is named.
    """
    number = 0
    rest = b""
    try:
        with path.open("rb") as file:
            while block := file.read(BLOCK_BYTES):
                end = block.rfind(b"\n") + 1
                if not end:
                    rest += block
                    continue
                data, rest = rest + block[:end], block[end:]
                if not number:
                    refuse_newer(path, data[: data.find(b"\n")])
                lines, found = _found(data, path, number)
                number += lines
                yield len(data), found
    except FileNotFoundError:
        raise
    except OSError as error:
        raise OptarenaError(f"{path}: {error.strerror}") from error


def _found(data: bytes, path: Path, number: int) -> tuple[int, list[Record | Plain]]:
    """How many lines a block has, and what stands in them; the first follows line `number` of the journal."""
    shapes = data.translate(None, _DIGITS).split(b"\n")[:-1]
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord("\n")) + 1
    bounds = [0, *ends.tolist()]
    runs: list[tuple[int, int, tuple[int, int, int] | None]] = []
    at = 0
    for text, same in groupby(shapes):
        n = len(list(same))
        runs.append((at, at + n, _shape(text)))
        at += n
    plain = [(data[bounds[low] : bounds[high]], high - low, shape) for low, high, shape in runs if shape is not None]
    arrays = _arrays(plain)
    out: list[Record | Plain] = []
    for low, high, shape in runs:
        if shape is not None and arrays is not None:
            out.append(next(arrays))
            continue
        for i in range(low, high):
            try:
                out.append(decode(data[bounds[i] : bounds[i + 1]]))
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise OptarenaError(f"{path} line {number + i + 1}: not a line of a journal ({error})") from error
    return len(shapes), out


@functools.lru_cache(maxsize=256)
def _shape(text: bytes) -> tuple[int, int, int] | None:
    """Rows, objectives and dimension of a line that is plain, given without its numbers; else None."""
    found = _SHAPE.fullmatch(text)
    if found is None:
        return None
    rows = [matrix[1:-1].split(b"],[") for matrix in found.groups()]
    widths = [{part.count(b",") + 1 for part in matrix} for matrix in rows]
    if len(rows[0]) != len(rows[1]) or any(len(width) > 1 for width in widths):
        return None
    return len(rows[0]), widths[0].pop(), widths[1].pop()


def _arrays(runs: list[tuple[bytes, int, tuple[int, int, int]]]) -> Iterator[Plain] | None:
    """The numbers of runs of plain lines; None where they are not what their shapes promise."""
    sizes = [(n, 3 + m * objectives + NUMBERS + m * dimension) for _, n, (m, objectives, dimension) in runs]
    if not runs:
        return None
    text = b"".join(text for text, _, _ in runs).translate(_ONE_PER_LINE, _OTHERS)
    try:
        column = pl.read_csv(text, has_header=False, schema={"number": pl.Float64}, null_values=[_TAG])["number"]
    except pl.exceptions.PolarsError:
        return None
    lines = sum(n for n, _ in sizes)
    if len(column) != sum(n * width for n, width in sizes) or column.null_count() != lines:
        return None
    flat = column.to_numpy()
    out: list[Plain] = []
    at = 0
    for (text, _, shape), (n, width) in zip(runs, sizes, strict=True):
        numbers = flat[at : at + n * width].reshape(n, width)
        at += n * width
        found = Plain(numbers, shape, text)
        if not np.isnan(numbers[:, 0]).all() or not found.exact:
            return None
        out.append(found)
    return iter(out)
