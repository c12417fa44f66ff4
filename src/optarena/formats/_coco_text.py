"""The texts of COCO's files: `.info` lines as facts, `.dat` and `.tdat` blocks of numbers as arrays; no runs yet.

A block is the lines of one run. All numbers of a file are converted at once; only a damaged file is looked at line by
line, and every line that is left out is named.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from optarena.traces import Floats

_PAIR = re.compile(r"\s*(\w+)\s*=\s*(?:'(.*?)'(?=\s*(?:,|$))|\"(.*?)\"(?=\s*(?:,|$))|([^,]*))\s*(?:,|$)")
_ENTRY = re.compile(r"(\d{1,9})(?::(\d{1,15})(?:\|(\S+))?)?\Z")
_FOPT = re.compile(rb"Fopt \(([^)\s]{1,40})\)")
_INSTANCE = re.compile(rb"%\s*instance\s*=\s*(\d{1,9})\s*(?:,\s*reference value\s*=\s*(\S+))?")
MOST = 10**15
Say = Callable[[str], None]


@dataclass
class Entry:
    """What `.info` says of a run; `evaluations` is None where the run was not finished."""

    instance: int
    evaluations: int | None


@dataclass
class DataFile:
    """A data file that `.info` names, and its runs in their order."""

    facts: dict[str, str]
    comment: str
    name: str
    entries: list[Entry] = field(default_factory=list)


@dataclass
class BlockOfNumbers:
    """The rows of one run, and what its head says."""

    numbers: Floats
    f_opt: str = ""
    instance: int | None = None
    reference: str = ""
    evaluations: int | None = None


def parse_info(text: str, say: Say) -> list[DataFile]:
    """Every data file of an `.info`, old or new, of one objective or two; the facts of its head go with each."""
    out: list[DataFile] = []
    facts: dict[str, str] = {}
    comment = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        if line.lstrip().startswith("%"):
            comment = line.strip().lstrip("% ")
            continue
        pairs, rest = _pairs(line)
        if pairs:
            own = {"function", "dim"} <= set(pairs)  # two objectives: a line a dimension, under one head
            facts = {**facts, **pairs} if own else pairs
            if not own:
                comment = ""
        current: DataFile | None = None
        for token in (part.strip() for part in rest.split(",")):
            if not token:
                continue
            found = _ENTRY.match(token)
            if token.endswith(".dat"):
                current = DataFile(facts, comment, token)
                out.append(current)
            elif current is None or found is None:
                say(f"line {number}: {token[:60]!r} is neither a data file nor a run (INSTANCE:EVALUATIONS|VALUE)")
            else:
                current.entries.append(Entry(int(found[1]), int(found[2]) if found[2] else None))
    return out


def _pairs(line: str) -> tuple[dict[str, str], str]:
    """The `key = value` pairs at the head of a line, in any order, quoted or not; and what follows them."""
    out: dict[str, str] = {}
    at = 0
    while found := _PAIR.match(line, at):
        out[found[1]] = next(value for value in (*found.groups()[1:], "") if value is not None).strip()
        at = found.end()
        if at >= len(line):
            break
    return out, line[at:]


def parse_blocks(data: bytes, say: Say, least: int, only: int | None = None) -> list[BlockOfNumbers]:
    """The runs of a data file; `least` columns are expected, `only` the first so many are wanted.

    A last line that does not end is not trusted: a number in it may be cut.
    """
    lines = data.split(b"\n")
    if lines[-1].strip() and not lines[-1].startswith(b"%"):
        say(f"line {len(lines)}: the file ends in the middle of it; left out")
        lines[-1] = b""
    heads = [i for i, line in enumerate(lines) if line[:1] == b"%"]
    starts = [i for i in heads if _starts_run(lines[i])]
    for i in [*heads, len(lines) - 1]:  # so that only rows are left
        if i not in starts:
            lines[i] = b""
    if any(line.strip() for line in lines[: starts[0] if starts else None]):
        say("rows stand before the head of the first run; left out")
    bounds = list(zip(starts, [*starts[1:], len(lines)], strict=True))
    bodies = [list(filter(None, lines[low + 1 : high])) for low, high in bounds]
    out = []
    for (low, high), rows in zip(bounds, _together(bodies, least, only) or [None] * len(bounds), strict=True):
        block = BlockOfNumbers(_line_by_line(lines, low, high, say, least) if rows is None else rows)
        block.numbers = _sane(block.numbers, say, low)
        if found := _FOPT.search(lines[low]):
            block.f_opt = found[1].decode("ascii", "replace")
        if found := _INSTANCE.match(lines[low]):
            block.instance = int(found[1])
            block.reference = (found[2] or b"").decode("ascii", "replace").rstrip(",")
        out.append(block)
    return out


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


def _starts_run(line: bytes) -> bool:
    """One objective: the names of the columns. Two objectives: the line that tells the instance, before those."""
    return _INSTANCE.match(line) is not None or (b"evaluation" in line and b"Fopt" in line)


def _line_by_line(lines: list[bytes], low: int, high: int, say: Say, least: int) -> Floats:
    """The rows of a damaged block that can be read: those as wide as most, all of it numbers."""
    rows: list[tuple[int, list[float]]] = []
    for i in range(low + 1, high):
        if not lines[i].strip():
            continue
        try:
            rows.append((i, [float(cell) for cell in lines[i].split()]))
        except ValueError:
            say(f"line {i + 1}: not all of it are numbers; left out")
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
