"""MPS files, fixed or free, as linear models. Names with spaces and anything that is not linear are refused by line."""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from optarena.errors import OptarenaError
from optarena.instance import Linear

SECTIONS = ("NAME", "OBJSENSE", "OBJSENCE", "ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS", "ENDATA")
LARGEST = 1e20
"""Numbers from here on stand for infinity."""


def read(path: Path) -> Linear:
    """The model in a file; gzip by suffix."""
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    except FileNotFoundError:
        raise OptarenaError(f"there is no file {path}") from None
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise OptarenaError(f"{path}: cannot be read ({error})") from error
    reader = _Reader()
    lines = text.splitlines()
    number = 0
    try:
        while number < len(lines):
            line = lines[number]
            number += 1
            if line.strip() and not line.startswith("*") and not reader.take(line):
                return reader.model()
    except (ValueError, KeyError, IndexError) as error:
        what = f"no such row or column: {error}" if isinstance(error, KeyError) else str(error)
        raise OptarenaError(f"{path} line {number}: {what or 'not a line of its section'}") from error
    raise OptarenaError(f"{path} line {number}: the file ends without ENDATA")


class _Reader:
    """What has been read so far."""

    def __init__(self) -> None:
        self.section = ""
        self.maximise = False
        self.objective: str | None = None
        self.rows: dict[str, tuple[int, str]] = {}
        self.free: set[str] = set()
        self.columns: dict[str, int] = {}
        self.whole: list[bool] = []
        self.low: list[float] = []
        self.high: list[float | None] = []
        self.cost: dict[int, float] = {}
        self.entries: dict[tuple[int, int], float] = {}
        self.rhs: dict[str, float] = {}
        self.ranges: dict[str, float] = {}
        self._integers = False

    def take(self, line: str) -> bool:
        """One line; False at the end of the model."""
        words = line.split()
        if not line[0].isspace():
            return self._head(words)
        fill = {
            "OBJSENSE": self._sense,
            "ROWS": self._row,
            "COLUMNS": self._column,
            "RHS": self._right,
            "RANGES": self._range,
            "BOUNDS": self._bound,
        }.get(self.section)
        if fill is None:
            raise ValueError(f"a line of data before any section ({line.strip()[:40]!r})")
        fill(words)
        return True

    def _head(self, words: Sequence[str]) -> bool:
        name = words[0].upper()
        if name not in SECTIONS:
            raise ValueError(f"section {words[0]!r}: only linear models are read ({', '.join(SECTIONS)})")
        self.section = "OBJSENSE" if name == "OBJSENCE" else name
        if self.section == "OBJSENSE" and len(words) > 1:
            self._sense(words[1:])
        return name != "ENDATA"

    def _sense(self, words: Sequence[str]) -> None:
        word = words[0].upper()
        if word not in ("MIN", "MAX", "MINIMIZE", "MAXIMIZE", "MINIMISE", "MAXIMISE"):
            raise ValueError(f"OBJSENSE is MIN or MAX, got {words[0]!r}")
        self.maximise = word.startswith("MAX")

    def _row(self, words: Sequence[str]) -> None:
        if len(words) != 2:
            raise ValueError("a row is a type and a name without spaces")
        kind, name = words[0].upper(), words[1]
        if kind not in ("N", "L", "G", "E"):
            raise ValueError(f"a row is N, L, G or E, got {words[0]!r}")
        if name in self.rows or name in self.free or name == self.objective:
            raise ValueError(f"duplicate row {name!r}")
        if kind != "N":
            self.rows[name] = (len(self.rows), kind)
        elif self.objective is None:
            self.objective = name
        else:
            self.free.add(name)

    def _column(self, words: Sequence[str]) -> None:
        if len(words) == 3 and words[1].strip("'\"").upper() == "MARKER":
            self._integers = words[2].strip("'\"").upper() == "INTORG"
            return
        name, *pairs = words
        if name not in self.columns:
            self.columns[name] = len(self.columns)
            self.whole.append(self._integers)
            self.low.append(0.0)
            self.high.append(None)
        j = self.columns[name]
        for row, value in _pairs(pairs):
            if row == self.objective:
                self.cost[j] = self.cost.get(j, 0.0) + value
            elif row not in self.free:
                key = (j, self.rows[row][0])
                self.entries[key] = self.entries.get(key, 0.0) + value

    def _right(self, words: Sequence[str]) -> None:
        for row, value in _pairs(words[len(words) % 2 :]):
            if row != self.objective and row not in self.free:
                self.rows[row]
            self.rhs[row] = value

    def _range(self, words: Sequence[str]) -> None:
        for row, value in _pairs(words[len(words) % 2 :]):
            if row not in self.free and row != self.objective:
                self.rows[row]
                self.ranges[row] = value

    def _bound(self, words: Sequence[str]) -> None:
        kind = words[0].upper()
        bare = kind in ("FR", "MI", "PL", "BV")
        named = len(words) >= (3 if bare else 4)
        column = words[2 if named else 1]
        j = self.columns[column]
        value = 0.0 if bare else _number(words[3 if named else 2])
        if kind in ("UP", "UI"):
            if value < 0 and self.low[j] == 0:
                self.low[j] = -math.inf
            self.high[j] = value
        elif kind in ("LO", "LI"):
            self.low[j] = value
        elif kind == "FX":
            self.low[j] = self.high[j] = value
        elif kind == "FR":
            self.low[j], self.high[j] = -math.inf, math.inf
        elif kind == "MI":
            self.low[j] = -math.inf
        elif kind == "PL":
            self.high[j] = math.inf
        elif kind == "BV":
            self.low[j], self.high[j] = 0.0, 1.0
        else:
            raise ValueError(f"a bound of type {words[0]!r} is not read")
        if kind in ("UI", "LI", "BV"):
            self.whole[j] = True
        if self.whole[j] and kind in ("LO", "LI", "MI") and self.high[j] is None:
            self.high[j] = math.inf

    def model(self) -> Linear:
        if self.objective is None:
            raise ValueError("no row of type N: there is nothing to minimise")
        n, low, high = len(self.columns), [], []
        for name, (_, kind) in self.rows.items():
            right = self.rhs.get(name, 0.0)
            least, most = (-math.inf if kind == "L" else right), (math.inf if kind == "G" else right)
            span = self.ranges.get(name)
            if span is not None:
                if kind == "L" or (kind == "E" and span < 0):
                    least = right - abs(span)
                else:
                    most = right + abs(span)
            low.append(least)
            high.append(most)
        keys = sorted(self.entries)
        # an integer of which nothing is said is a binary: so all readers take it
        ends = [
            (1.0 if whole else math.inf) if end is None else end
            for whole, end in zip(self.whole, self.high, strict=True)
        ]
        return Linear(
            cost=np.array([self.cost.get(j, 0.0) for j in range(n)]),
            low=np.array(self.low),
            high=np.array(ends),
            whole=np.array(self.whole, dtype=bool),
            row_low=np.array(low),
            row_high=np.array(high),
            start=np.searchsorted(np.array([j for j, _ in keys], dtype=np.int64), np.arange(n + 1)),
            row=np.array([i for _, i in keys], dtype=np.int64),
            value=np.array([self.entries[key] for key in keys]),
            maximise=self.maximise,
            constant=-self.rhs.get(self.objective, 0.0),
        )


def _pairs(words: Sequence[str]) -> list[tuple[str, float]]:
    if len(words) % 2 or not words:
        raise ValueError("expected names and numbers in turn (a name with spaces in it is not read)")
    return [(name, _number(value)) for name, value in zip(words[::2], words[1::2], strict=True)]


def _number(word: str) -> float:
    value = float(word.replace("d", "e").replace("D", "e"))
    return math.copysign(math.inf, value) if abs(value) >= LARGEST else value
