"""The texts of COCO's files: `.info` lines as facts, `.dat` and `.tdat` blocks of numbers as arrays; no runs yet."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from optarena.formats._number_blocks import (
    Say,
    blocks_of_numbers,
    possible_evaluations,
    tables_of_numbers,
    without_cut_line,
)
from optarena.traces import Floats

_PAIR = re.compile(r"\s*(\w+)\s*=\s*(?:'(.*?)'(?=\s*(?:,|$))|\"(.*?)\"(?=\s*(?:,|$))|([^,]*))\s*(?:,|$)")
_ENTRY = re.compile(r"(\d{1,9})(?::(\d{1,15})(?:\|(\S+))?)?\Z")
_FOPT = re.compile(rb"Fopt \(([^)\s]{1,40})\)")
_INSTANCE = re.compile(rb"%\s*instance\s*=\s*(\d{1,9})\s*(?:,\s*reference value\s*=\s*(\S+))?")


@dataclass
class Entry:
    """What `.info` says of a run; `evaluations` is None where the run was not finished."""

    instance: int
    evaluations: int | None
    may_be_cut: bool = False
    """Whether the file ends with its instance, which may then have had more digits."""


@dataclass
class DataFile:
    """A data file that `.info` names, and its runs in their order; None for one that cannot be read."""

    facts: dict[str, str]
    comment: str
    name: str
    entries: list[Entry | None] = field(default_factory=list)


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
    head = 0  # the line of a head that no data file follows yet
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        if line.lstrip().startswith("%"):
            comment = line.strip().lstrip("% ")
            continue
        pairs, rest = _pairs(line)
        if pairs:
            own = {"function", "dim"} <= set(pairs)  # two objectives: one line per dimension, under one head
            facts = {**facts, **pairs} if own else pairs
            if not own:
                comment = ""
                _name_bare(head, say)
                head = number
        current: DataFile | None = None
        for token in (part.strip() for part in rest.split(",")):
            if not token:
                continue
            found = _ENTRY.match(token)
            if token.endswith(".dat"):
                current = DataFile(facts, comment, token)
                head = 0
                out.append(current)
            elif current is None or found is None:
                lost = "" if current is None else "; it is left out"
                wanted = "neither a data file nor a run (INSTANCE:EVALUATIONS|VALUE)"
                say(f"line {number}: {token[:60]!r} is {wanted}{lost}")
                if current is not None:
                    current.entries.append(None)  # keeps the place of a run
            else:
                current.entries.append(Entry(int(found[1]), int(found[2]) if found[2] else None))
    _name_bare(head, say)
    last = out[-1].entries[-1] if out and out[-1].entries else None
    if last is not None and last.evaluations is None and text[-1:].isdecimal():
        last.may_be_cut = True
    return out


def _name_bare(head: int, say: Say) -> None:
    if head:
        say(f"line {head}: no data file follows this head; the file is cut, or a line is missing")


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
    """The runs of a data file; `least` columns are expected, `only`: how many of the first are wanted."""
    lines = without_cut_line(data, say)
    heads = [i for i, line in enumerate(lines) if line[:1] == b"%"]
    starts = [i for i in heads if _starts_run(lines[i])]
    for i in set(heads) - set(starts):  # so that only rows are left
        lines[i] = b""
    if any(line.strip() for line in lines[: starts[0] if starts else None]):
        say("rows come before the header of the first run; left out")
    found = blocks_of_numbers(lines, starts, say, least, only)
    return [_block(rows, lines[low]) for low, rows in zip(starts, found, strict=True)]


def _block(rows: Floats, head: bytes) -> BlockOfNumbers:
    block = BlockOfNumbers(rows)
    if found := _FOPT.search(head):
        block.f_opt = found[1].decode("ascii", "replace")
    if found := _INSTANCE.match(head):
        block.instance = int(found[1])
        block.reference = (found[2] or b"").decode("ascii", "replace").rstrip(",")
    return block


def intact_blocks(files: Mapping[str, bytes], least: int) -> dict[str, list[BlockOfNumbers]]:
    """The runs of the data files that are not damaged, all read at once; `parse_blocks` says what is wrong with others.

    Every column is read.
    """
    split = {name: runs for name, data in files.items() if (runs := _split_runs(data)) is not None}
    found = tables_of_numbers([bodies for _, bodies in split.values()], least)
    out = {}
    for (name, (heads, _)), tables in zip(split.items(), found, strict=True):
        if tables is not None and all(possible_evaluations(rows).all() for rows in tables):
            out[name] = [_block(rows, head) for rows, head in zip(tables, heads, strict=True)]
    return out


def _split_runs(data: bytes) -> tuple[list[bytes], list[bytes]] | None:
    """The heads of the runs of a data file, and the lines after each; None if it is cut, or begins without a head."""
    before, *parts = (b"\n" + data).split(b"\n%")
    if before.strip() or not data.endswith(b"\n"):
        return None
    heads: list[bytes] = []
    bodies: list[bytes] = []
    for part in parts:
        head, _, body = part.partition(b"\n")
        body += b"\n" if body and not body.endswith(b"\n") else b""
        if _starts_run(b"%" + head):
            heads.append(b"%" + head)
            bodies.append(body)
        elif bodies:
            bodies[-1] += body
        elif body.strip():
            return None
    return heads, bodies


def count_runs(data: bytes) -> int:
    """How many runs a data file has."""
    return sum(line[:1] == b"%" and _starts_run(line) for line in data.split(b"\n"))


def _starts_run(line: bytes) -> bool:
    """One objective: the names of the columns. Two objectives: the line that tells the instance, before those."""
    return _INSTANCE.match(line) is not None or (b"evaluation" in line and b"Fopt" in line)
