"""The lines of a journal, block by block: plain evaluation lines as arrays, all others as records.

Nearly all lines of a journal are evaluations without failures, of numbers only, and neighbours have the same shape:
the same text but for its numbers. Such lines are read by a CSV parser, all numbers of a block at once, without making
Python objects. Whatever it does not take, or takes for anything unexpected, is decoded line by line.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar

import msgspec
import numpy as np
import polars as pl

from optarena.errors import OptarenaError
from optarena.store.checks import DIFFERS, SEALED, followed, have_checks, is_first, mark_of, stretches
from optarena.store.costs import NUMBERS
from optarena.store.damage import Damage, place_of
from optarena.store.records import Rows, refuse_newer, version_of
from optarena.traces import Floats, Ints

BLOCK_BYTES = 4_000_000
FEW_ROWS = 64
"""Fewer evaluations than this are read faster one line after the other."""
UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
LONG_LINE = 300
"""Bytes, from which on the ends of lines are found faster one after the other."""
_DIGITS = b"0123456789.+-eE"
_ONE_PER_LINE = bytes.maketrans(b",", b"\n")
_OTHERS = bytes(c for c in range(256) if c not in _DIGITS + b",\n")
_TAG = "e"  # what is left of '"t":"e"' when everything but numbers is deleted
_EXACT = 2.0**53
_MATRIX = rb"(\[\[,*\](?:,\[,*\])*\])"
_SHAPE = re.compile(rb'\{"t":"","s":,"k":,"y":' + _MATRIX + rb',"w":\[,{5}\](?:,"x":' + _MATRIX + rb'(,"c":\[,\])?\})?')
_BEGUN = re.compile(rb"\{[\x20-\xff]*\Z")
"""What is left of a line whose writer was killed: it begins as a line does, and has no zeros or other signs in it."""
_POINTS = re.compile(rb',"x":\[.*')  # to the end of the line
Shape: TypeAlias = tuple[int, int, int, int]
"""Of a plain line: its evaluations, objectives, dimension (0: its points are passed over), and numbers of its check."""
T = TypeVar("T")

_decode_rows = msgspec.json.Decoder(Rows).decode


class PlainLines:
    """n lines of one shape, of one or more studies: m evaluations each, and no failures.

    s, k: (n,). y: (n, m, objectives). w: (n, 6). x: (n, m, dimension), if points were asked for. position: (n,), the
    place of each line in its journal.
    """

    def __init__(self, s: Ints, k: Ints, y: Floats, w: Ints, x: Floats, position: Ints, texts: _Texts) -> None:
        self.s, self.k, self.y, self.w, self.x, self.position, self._texts = s, k, y, w, x, position, texts

    @property
    def rows(self) -> int:
        return self.y.shape[0] * self.y.shape[1]

    def take(self, which: Ints | slice) -> PlainLines:
        return PlainLines(
            s=self.s[which],
            k=self.k[which],
            y=self.y[which],
            w=self.w[which],
            x=self.x[which],
            position=self.position[which],
            texts=self._texts,
        )

    def studies(self) -> list[tuple[int, int, int]]:
        """Neighbours of one study: its number, where they begin and end."""
        begins = np.flatnonzero(np.diff(self.s, prepend=-1)).tolist()  # no number is below 0
        bounds = [*begins, len(self.s)]
        return [(s, low, high) for s, (low, high) in zip(self.s[begins].tolist(), pairwise(bounds), strict=True)]

    def records(self) -> list[Rows]:
        """The same lines as records."""
        return [_decode_rows(self._texts.at(position)) for position in self.position.tolist()]


class _Texts:
    """A block of lines as it is in the file."""

    def __init__(self, data: bytes, position: int) -> None:
        self._data, self._position = data, position

    def at(self, position: int) -> bytes:
        """The line at a place of the file."""
        low = position - self._position
        return self._data[low : self._data.index(b"\n", low)]


@dataclass
class Lines(Generic[T]):
    """Lines of a journal: those that are not plain, each with its place in the file, and those that are."""

    size: int
    """In bytes."""
    records: list[tuple[int, T]]
    plain: list[PlainLines]

    def __post_init__(self) -> None:
        self.plain = [lines for lines in self.plain if lines.rows]

    @classmethod
    def together(cls, pieces: Iterable[Lines[T]]) -> Lines[T]:
        out: Lines[T] = Lines(0, [], [])
        for piece in pieces:
            out.size += piece.size
            out.records += piece.records
            out.plain += piece.plain
        return out

    def without(self, studies: Collection[int], kinds: tuple[type, ...]) -> Lines[T]:
        """Without the plain lines of some studies, and their lines of these kinds."""
        records = [
            (at, line)
            for at, line in self.records
            if not isinstance(line, kinds) or line.s not in studies  # type: ignore[attr-defined]
        ]
        plain = [some.take(np.flatnonzero(~np.isin(some.s, list(studies)))) for some in self.plain]
        return Lines(self.size, records, plain)

    def split(self, position: int) -> tuple[Lines[T], Lines[T]]:
        """The lines before a place, and those from there on."""
        first = next((i for i, (place, _) in enumerate(self.records) if place >= position), len(self.records))
        cuts = [int(np.searchsorted(lines.position, position)) for lines in self.plain]
        return (
            Lines(0, self.records[:first], [p.take(slice(0, cut)) for p, cut in zip(self.plain, cuts, strict=True)]),
            Lines(
                self.size,
                self.records[first:],
                [p.take(slice(cut, None)) for p, cut in zip(self.plain, cuts, strict=True)],
            ),
        )


def read_blocks(
    path: Path, decode: Callable[[bytes], T], damage: list[Damage], *, points: bool, since: Reached | None = None
) -> Iterator[Lines[T]]:
    """The complete, intact lines of a journal, block by block; the others go to `damage`.

    A torn last line is dropped: its writer was killed, or is at it. A journal of a newer format is refused. since: how
    far it was read before, which this moves on.
    """
    for data, position in _good_blocks(path, damage, since):
        yield _Block(data, position, points).lines(decode, path, damage)


def verify_checks(path: Path, damage: list[Damage]) -> None:
    """Check whether the lines of a journal are intact, where they have checks."""
    for _ in _good_blocks(path, damage):
        pass


@dataclass
class Reached:
    """How far a journal that grows was read: a byte of the file, and what its lines so far were checked with."""

    position: int = 0
    checker: _Checker | None = None


def _good_blocks(path: Path, damage: list[Damage], since: Reached | None = None) -> Iterator[tuple[bytes, int]]:
    """Blocks of lines to be used, each with its place in the file."""
    reached = Reached() if since is None else since
    try:
        with path.open("rb") as file:
            file.seek(reached.position)
            while block := file.read(BLOCK_BYTES):
                data = block if block.endswith(b"\n") else block + file.readline()
                torn = b""
                if not data.endswith(b"\n"):
                    end = data.rfind(b"\n") + 1
                    data, torn = data[:end], data[end:]
                position = reached.position
                reached.position += len(data)
                if data:
                    reached.checker = reached.checker or _checker(path, data, damage)
                    for low, high in reached.checker.good(data, position):
                        yield (data if high - low == len(data) else data[low:high]), position + low
                if torn:
                    if reached.checker is not None and since is None:  # of one that grows, it is being written
                        reached.checker.torn(torn, reached.position)
                    return
    except FileNotFoundError:
        raise
    except OSError as error:
        raise OptarenaError(f"{path}: {error.strerror}") from error


def line_at(path: Path, position: int) -> int:
    """The number of the line that begins at a byte of a file."""
    with path.open("rb") as file:
        whole, rest = divmod(position, BLOCK_BYTES)
        return 1 + sum(file.read(n).count(b"\n") for n in [*[BLOCK_BYTES] * whole, rest])


class _Checker:
    """Tells which lines of a journal of an older format can be used: as far as one can tell, all."""

    def __init__(self, path: Path, damage: list[Damage]) -> None:
        self._path, self._damage = path, damage

    def good(self, data: bytes, position: int) -> Iterator[tuple[int, int]]:  # noqa: ARG002
        """Stretches of lines to be used, in a block that begins at this byte of the file: from, to."""
        yield 0, len(data)

    def torn(self, text: bytes, position: int) -> None:
        """Look at what follows the last complete line."""

    def note(self, position: int, what: str, size: int = 0, lines: int = 1) -> None:
        """Damage at a byte of the file."""
        self._damage.append(Damage(place_of(self._path), what, line_at(self._path, position), size, lines))


class _Verifier(_Checker):
    """Follows the chain of checks through a journal."""

    def __init__(self, path: Path, damage: list[Damage], mark: int) -> None:
        super().__init__(path, damage)
        self._state, self._mark = 0, mark

    def good(self, data: bytes, position: int) -> Iterator[tuple[int, int]]:
        state = followed(data, self._state, self._mark)
        if state is not None:
            self._state = state
            yield 0, len(data)
            return
        for stretch, state_after in stretches(data, self._state, self._mark):
            self._state = state_after
            if stretch.what:
                size = 0 if stretch.good else stretch.high - stretch.low
                self.note(position + stretch.low, stretch.what, size, 1 if stretch.good else stretch.lines)
            if stretch.good:
                yield stretch.low, stretch.high

    def torn(self, text: bytes, position: int) -> None:
        line = text[:-1] + b"\n"
        whole = line.count(b"\n") == 1 and followed(line, self._state, self._mark) is not None
        if whole or not _BEGUN.match(text):  # a complete line but for its end, or nothing that a writer began
            self.note(position, DIFFERS, len(text))


def _checker(path: Path, data: bytes, damage: list[Damage]) -> _Checker:
    first = data[: data.index(b"\n")]
    if not have_checks(data):  # any line decides it: of those at the beginning all may be damaged
        refuse_newer(path, first)
        return _Verifier(path, damage, mark_of(data)) if version_of(first) >= SEALED else _Checker(path, damage)
    if is_first(first + b"\n"):
        refuse_newer(path, first)
    return _Verifier(path, damage, mark_of(data))


class _Block:
    """Complete lines, and which of them are plain."""

    def __init__(self, data: bytes, position: int, points: bool) -> None:
        self._data, self._position = data, position
        self._text = data if points else _without_points(data)
        shapes = self._text.translate(None, _DIGITS).split(b"\n")[:-1]
        self.count = len(shapes)
        self._ends = _line_ends(data, self.count)
        self._text_ends = self._ends if points else _line_ends(self._text, self.count)
        self._runs: list[tuple[int, int, Shape | None]] = []
        """Lines of the same shape; None: not plain."""
        at = 0
        for text, same in groupby(shapes):
            n = len(list(same))
            self._runs.append((at, at + n, _shape(text, points)))
            at += n

    def lines(self, decode: Callable[[bytes], T], path: Path, damage: list[Damage]) -> Lines[T]:
        """The contents of the lines."""
        plain = self._plain()
        ends = self._ends.tolist()
        records: list[tuple[int, T]] = []
        for low, high, shape in self._runs:
            if shape is not None and plain:
                continue
            for i in range(low, high):
                try:
                    records.append((self._position + ends[i], decode(self._data[ends[i] : ends[i + 1] - 1])))
                except UNREADABLE as error:
                    what = f"not a line of a journal ({error})"
                    line = line_at(path, self._position + ends[i])
                    damage.append(Damage(place_of(path), what, line, ends[i + 1] - ends[i]))
        return Lines(len(self._data), records, plain)

    def _plain(self) -> list[PlainLines]:
        """The plain lines, shape by shape; none where they are few, or not what their shapes promise."""
        runs = [(low, high, shape) for low, high, shape in self._runs if shape is not None]
        if sum((high - low) * shape[0] for low, high, shape in runs) < FEW_ROWS:
            return []
        numbers = self._numbers(runs)
        if numbers is None:
            return []
        found: dict[Shape, list[tuple[Ints, Floats]]] = {}
        at = 0
        for low, high, shape in runs:
            size = (high - low) * _width(shape)
            found.setdefault(shape, []).append((self._ends[low:high], numbers[at : at + size]))
            at += size
        texts = _Texts(self._data, self._position)
        out: list[PlainLines] = []
        for shape, parts in found.items():
            places = np.concatenate([places for places, _ in parts]) + self._position
            matrix = numbers if len(found) == 1 else np.concatenate([part for _, part in parts])
            lines = _lines_of(matrix.reshape(-1, _width(shape)), shape, places, texts)
            if lines is None:
                return []
            out.append(lines)
        return out

    def _numbers(self, runs: list[tuple[int, int, Shape]]) -> Floats | None:
        """All numbers of some lines, one after the other, with NaN for their tags; None where there are others."""
        ends = self._text_ends.tolist()
        text = b"".join([self._text[ends[low] : ends[high]] for low, high, _ in runs])
        try:
            column = pl.read_csv(
                text.translate(_ONE_PER_LINE, _OTHERS),
                has_header=False,
                schema={"number": pl.Float64},
                null_values=[_TAG],
            )["number"]
        except pl.exceptions.PolarsError:
            return None
        lines = sum(high - low for low, high, _ in runs)
        if (
            len(column) != sum((high - low) * _width(shape) for low, high, shape in runs)
            or column.null_count() != lines
        ):
            return None
        return column.to_numpy()


def _without_points(data: bytes) -> bytes:
    """Lines without what follows where points begin; whatever is cut wrongly has not the shape of a plain line."""
    return _POINTS.sub(b"", data)


def _line_ends(data: bytes, lines: int) -> Ints:
    """Where lines begin, and the end of the last."""
    if len(data) < lines * LONG_LINE:
        return np.append(0, np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord("\n")) + 1)
    out = [0]
    for _ in range(lines):
        out.append(data.index(b"\n", out[-1]) + 1)
    return np.array(out)


@functools.lru_cache(maxsize=256)
def _shape(text: bytes, points: bool) -> Shape | None:
    """The shape of a line that is plain, given without its numbers, perhaps without points too; else None."""
    found = _SHAPE.fullmatch(text)
    if found is None or (found[2] is not None) != points:
        return None
    y, x = ([part.count(b",") + 1 for part in (matrix or b"")[1:-1].split(b"],[")] for matrix in found.groups()[:2])
    if len(set(y)) > 1:
        return None
    if not points:
        return len(y), y[0], 0, 0
    return (len(y), y[0], x[0], 2 * (found[3] is not None)) if len(x) == len(y) and len(set(x)) == 1 else None


def _width(shape: Shape) -> int:
    """The numbers of a line, with one for its tag."""
    m, objectives, dimension, check = shape
    return 3 + m * objectives + NUMBERS + m * dimension + check


def _lines_of(numbers: Floats, shape: Shape, position: Ints, texts: _Texts) -> PlainLines | None:
    """Lines of one shape; None unless the tag, and whole numbers that floats hold exactly, are where they belong."""
    m, objectives, dimension, _ = shape
    n = len(numbers)
    at = 3 + m * objectives
    whole = np.concatenate([numbers[:, 1:3], numbers[:, at : at + NUMBERS]], axis=1)
    if not ((np.floor(whole) == whole) & (whole < _EXACT)).all() or not np.isnan(numbers[:, 0]).all():
        return None
    integers = whole.astype(np.int64)
    return PlainLines(
        s=integers[:, 0],
        k=integers[:, 1],
        y=numbers[:, 3:at].reshape(n, m, objectives),
        w=integers[:, 2:],
        x=numbers[:, at + NUMBERS :][:, : m * dimension].reshape(n, m, dimension),
        position=position,
        texts=texts,
    )
