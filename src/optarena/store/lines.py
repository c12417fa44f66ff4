"""The lines of a journal, block by block: plain evaluation lines as arrays, all others as records.

Nearly all lines of a journal are evaluations without failures, of numbers only, and neighbours have the same shape:
the same text but for its numbers. Such lines are read by a CSV parser, all numbers of a block at once, without making
Python objects. Whatever it does not take, or takes for anything unexpected, is decoded line by line.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from itertools import groupby, pairwise
from pathlib import Path
from typing import TypeAlias, TypeVar

import msgspec
import numpy as np
import polars as pl

from optarena.errors import OptarenaError
from optarena.store.costs import NUMBERS
from optarena.store.records import Rows, refuse_newer
from optarena.traces import Floats, Ints

BLOCK_BYTES = 8_000_000
FEW_ROWS = 64
"""Where points are passed over, fewer evaluations than this are read faster one line after the other."""
_DIGITS = b"0123456789.+-eE"
_ONE_PER_LINE = bytes.maketrans(b",", b"\n")
_OTHERS = bytes(c for c in range(256) if c not in _DIGITS + b",\n")
_TAG = "e"  # what is left of '"t":"e"' when everything but numbers is deleted
_EXACT = 2.0**53
_MATRIX = rb"(\[\[,*\](?:,\[,*\])*\])"
_SHAPE = re.compile(rb'\{"t":"","s":,"k":,"y":' + _MATRIX + rb',"w":\[,{5}\](?:,"x":' + _MATRIX + rb"\})?")
_POINTS = re.compile(rb',"x":\[.*')  # to the end of the line
Shape: TypeAlias = tuple[int, int, int]
"""Of a plain line: its evaluations, objectives, and dimension (0: its points are passed over)."""
T = TypeVar("T")

_decode_rows = msgspec.json.Decoder(Rows).decode_lines


class PlainLines:
    """n lines of one study and one shape, which follow each other: m evaluations each, and no failures.

    k: (n,). y: (n, m, objectives). w: (n, 6). x: (n, m, dimension), if points were asked for. position: (n,), the
    place of each line in its journal.
    """

    def __init__(self, s: int, numbers: Floats, shape: Shape, position: Ints, text: bytes) -> None:
        m, objectives, dimension = shape
        n = len(numbers)
        at = 3 + m * objectives
        self.s, self.position, self._text = s, position, text
        self.k: Ints = numbers[:, 2].astype(np.int64)
        self.y: Floats = numbers[:, 3:at].reshape(n, m, objectives)
        self.w: Ints = numbers[:, at : at + NUMBERS].astype(np.int64)
        self.x: Floats = numbers[:, at + NUMBERS :].reshape(n, m, dimension)

    def records(self) -> list[Rows]:
        """The same lines as records."""
        return _decode_rows(self._text)


def read_blocks(
    path: Path, decode: Callable[[bytes], T], *, points: bool
) -> Iterator[tuple[int, list[tuple[int, T | PlainLines]]]]:
    """The complete lines of a journal with their places in the file, in blocks with their sizes in bytes.

    A torn last line is dropped. A journal of a newer format is refused; a line that cannot be read is named.
    """
    position = number = 0
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
                found = _Block(data, position, points)
                yield len(data), found.items(decode, path, number)
                position += len(data)
                number += found.lines
    except FileNotFoundError:
        raise
    except OSError as error:
        raise OptarenaError(f"{path}: {error.strerror}") from error


class _Block:
    """Complete lines, and which of them are plain."""

    def __init__(self, data: bytes, position: int, points: bool) -> None:
        self._data, self._position = data, position
        self._text = data if points else _without_points(data)
        shapes = self._text.translate(None, _DIGITS).split(b"\n")[:-1]
        self.lines = len(shapes)
        self._ends = _line_ends(data)
        self._text_ends = self._ends if points else _line_ends(self._text)
        self._runs: list[tuple[int, int, Shape | None]] = []
        """Lines of the same shape; None: not plain."""
        at = 0
        for text, same in groupby(shapes):
            n = len(list(same))
            shape = _shape(text, points)
            if shape is not None and not points and n * shape[0] < FEW_ROWS:
                shape = None
            self._runs.append((at, at + n, shape))
            at += n

    def items(self, decode: Callable[[bytes], T], path: Path, number: int) -> list[tuple[int, T | PlainLines]]:
        """What stands in the lines; the first follows line `number` of the journal."""
        arrays = self._arrays()
        ends = self._ends.tolist()
        out: list[tuple[int, T | PlainLines]] = []
        for low, high, shape in self._runs:
            if shape is not None and arrays is not None:
                out += self._plain(low, high, shape, next(arrays))
                continue
            for i in range(low, high):
                try:
                    out.append((self._position + ends[i], decode(self._data[ends[i] : ends[i + 1] - 1])))
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    raise OptarenaError(f"{path} line {number + i + 1}: not a line of a journal ({error})") from error
        return out

    def _plain(self, low: int, high: int, shape: Shape, numbers: Floats) -> Iterator[tuple[int, PlainLines]]:
        """Lines of one shape, study by study."""
        studies = numbers[:, 1]
        bounds = [0, *(np.flatnonzero(studies[1:] != studies[:-1]) + 1).tolist(), high - low]
        for start, end in pairwise(bounds):
            places = self._ends[low + start : low + end + 1]
            first, last = places[0].item(), places[-1].item()
            text = self._data[first:last]
            position = places[:-1] + self._position
            lines = PlainLines(int(studies[start]), numbers[start:end], shape, position, text)
            yield self._position + first, lines

    def _arrays(self) -> Iterator[Floats] | None:
        """The numbers of each run of plain lines; None where they are not what their shapes promise."""
        plain = [(low, high, shape) for low, high, shape in self._runs if shape is not None]
        if not plain:
            return None
        ends = self._text_ends
        text = b"".join(self._text[ends[low].item() : ends[high].item()] for low, high, _ in plain)
        try:
            column = pl.read_csv(
                text.translate(_ONE_PER_LINE, _OTHERS),
                has_header=False,
                schema={"number": pl.Float64},
                null_values=[_TAG],
            )["number"]
        except pl.exceptions.PolarsError:
            return None
        sizes = [(high - low, 3 + m * objectives + NUMBERS + m * d) for low, high, (m, objectives, d) in plain]
        lines = sum(n for n, _ in sizes)
        if len(column) != sum(n * width for n, width in sizes) or column.null_count() != lines:
            return None
        flat = column.to_numpy()
        out: list[Floats] = []
        at = 0
        for (n, width), (_, _, shape) in zip(sizes, plain, strict=True):
            out.append(flat[at : at + n * width].reshape(n, width))
            at += n * width
            if not _as_promised(out[-1], shape):
                return None
        return iter(out)


def _without_points(data: bytes) -> bytes:
    """Lines without what follows where points begin; whatever is cut wrongly has not the shape of a plain line."""
    return _POINTS.sub(b"", data)


def _line_ends(data: bytes) -> Ints:
    """Where lines begin, and the end of the last."""
    return np.append(0, np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord("\n")) + 1)


@functools.lru_cache(maxsize=256)
def _shape(text: bytes, points: bool) -> Shape | None:
    """The shape of a line that is plain, given without its numbers, perhaps without points too; else None."""
    found = _SHAPE.fullmatch(text)
    if found is None or (found[2] is not None) != points:
        return None
    y, x = ([part.count(b",") + 1 for part in (matrix or b"")[1:-1].split(b"],[")] for matrix in found.groups())
    if len(set(y)) > 1:
        return None
    if not points:
        return len(y), y[0], 0
    return (len(y), y[0], x[0]) if len(x) == len(y) and len(set(x)) == 1 else None


def _as_promised(numbers: Floats, shape: Shape) -> bool:
    """Whether the places of the tag, and of whole numbers that floats hold exactly, have such."""
    m, objectives, _ = shape
    costs = numbers[:, 3 + m * objectives :][:, :NUMBERS]
    whole = all(bool(((np.floor(part) == part) & (part < _EXACT)).all()) for part in (numbers[:, 1:3], costs))
    return whole and bool(np.isnan(numbers[:, 0]).all())
