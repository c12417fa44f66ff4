"""Our own tidy CSV: comma-separated, UTF-8, a header line, gzip by suffix. docs/csv.md describes it.

What a line of text must be is checked here; what its cells must be, in `tidy`.
"""

from __future__ import annotations

import codecs
import gzip
from pathlib import Path

import numpy as np
import polars as pl

from optarena._files import write_atomically
from optarena._text import not_a_formula, visible
from optarena.dataset import Dataset
from optarena.errors import OptarenaError
from optarena.formats.from_store import tidy_frame
from optarena.formats.limits import refuse_large, unpacked
from optarena.formats.tidy import SHOWN, Table, more_mistakes
from optarena.traces import Bools, Ints

REGISTERED = {
    "names": {"csv": ""},
    "what": "our own tidy CSV, one row per evaluation (docs/csv.md)",
}

SUFFIXES = (".csv", ".csv.gz")
PIECE = 1 << 24  # bytes that are looked at together
WRONG = {";": "semicolons", "\t": "tabs", "|": "bars"}


def read(path: Path) -> Table:
    """The table in a file; every ragged line is named."""
    if path.suffix == ".gz":
        return parse(unpacked(path), str(path))
    try:
        return parse(path.read_bytes(), str(path))
    except OSError as error:
        raise OptarenaError(f"{path}: {error.strerror}") from error


def parse(data: bytes, name: str) -> Table:
    """The table in the text of a file."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise OptarenaError(f"{name} is UTF-16; save it as UTF-8 ('CSV UTF-8' in a spreadsheet)")
    data = data.removeprefix(b"\xef\xbb\xbf")
    bad = _not_utf8(data)
    if bad is not None:
        line = data.count(b"\n", 0, bad) + 1
        raise OptarenaError(f"{name} line {line}: not UTF-8; save it as 'CSV UTF-8'")
    if not data.strip():
        raise OptarenaError(f"{name} is empty: a header line with problem, optimizer, value, … comes first")
    if b"\0" in data:
        raise OptarenaError(f"{name} line {data.count(chr(10).encode(), 0, data.index(0)) + 1}: not a text file")
    first = data.split(b"\n", 1)[0]
    if b"\r" in first:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        first = data.split(b"\n", 1)[0]
    _refuse_separators(first.decode(), name)
    if not data.endswith(b"\n"):
        data += b"\n"
    lines, fields, blank = _records(data, name)
    _refuse_ragged(name, lines, fields, blank)
    refuse_large(name, 0, int(fields[0]))
    try:
        frame = pl.read_csv(data, has_header=False, infer_schema=False, raise_if_empty=False)
    except pl.exceptions.PolarsError as error:
        raise OptarenaError(f"{name}: cannot be read as CSV ({str(error).splitlines()[0]})") from error
    if frame.height != len(lines):
        raise OptarenaError(f'{name}: its quotes do not match (a text with a quote in it is written "a ""b""")')
    head = ["" if cell is None else cell.strip() for cell in frame.row(0)]
    frame, lines = frame[1:], lines[1:]
    frame, head = _without_empty(frame, head, name)
    frame.columns = head
    kept = (
        frame.select(pl.any_horizontal(pl.all().is_not_null())).to_series()
        if frame.height
        else pl.Series([], dtype=pl.Boolean)
    )
    return Table(name, frame.filter(kept), lines[kept.to_numpy()], typed=False, unit="line")


def _refuse_separators(header: str, name: str) -> None:
    """A header that names its columns with another sign between them; cells may hold any sign, so only it is asked."""
    if header.strip().strip('"').lower().startswith("sep="):
        raise OptarenaError(
            f"{name} line 1: {header.strip()!r} is not a header; remove the line, and separate by commas"
        )
    found = {sign: len(_required(header, sign)) for sign in (",", *WRONG)}
    best = max(found, key=lambda sign: found[sign])
    if found[best] == found[","]:  # none of the names, or spelt otherwise: the separator that was found
        best = next((sign for sign in WRONG if sign in header and "," not in header), ",")
    if best != ",":
        raise OptarenaError(
            f"{name} line 1: its columns are separated by {WRONG[best]}; save it with commas between columns and"
            " points in numbers (1.5, not 1,5)"
        )


def _required(header: str, sign: str) -> set[str]:
    cells = {cell.strip().strip('"').strip().lower() for cell in header.split(sign)}
    return cells & {"problem", "optimizer", "value", "trial", "evaluation"}


def _records(data: bytes, name: str) -> tuple[Ints, Ints, Bools]:
    """Of each record: its line, its number of fields, whether it is blank. A quoted text may hold commas and lines.

    The text is looked at piece by piece: its marks alone may need eight times its memory.
    """
    text = np.frombuffer(data, dtype=np.uint8)
    quoted = b'"' in data
    open_ = False
    commas = newlines = cells = 0
    # of the records that end in a piece: where, and how many commas and lines come before that
    ends_: list[Ints] = []
    commas_: list[Ints] = []
    lines_: list[Ints] = []
    for low in range(0, len(text), PIECE):
        piece = text[low : low + PIECE]
        newline, comma = piece == 10, piece == 44
        lines = np.flatnonzero(newline)
        if quoted:
            inside = np.logical_xor.accumulate(piece == 34) ^ open_
            open_ = bool(inside[-1])
            newline, comma = newline & ~inside, comma & ~inside
        ends = np.flatnonzero(newline)
        ends_.append(ends + low)
        commas_.append(np.searchsorted(np.flatnonzero(comma), ends) + commas)
        lines_.append(np.searchsorted(lines, ends) + newlines)
        commas += int(np.count_nonzero(comma))
        newlines += len(lines)
        cells += int(np.count_nonzero(comma)) + len(ends)
        refuse_large(name, cells)
    if open_:
        line = data.count(b"\n", 0, data.rindex(b'"')) + 1
        raise OptarenaError(f"{name} line {line}: a quote is opened and never closed")
    ends = np.concatenate(ends_)
    starts = np.concatenate(([0], ends[:-1] + 1))
    first_lines = np.concatenate(([1], np.concatenate(lines_)[:-1] + 2))
    before = np.concatenate([np.zeros(1, dtype=np.int64), *commas_])
    return first_lines, before[1:] - before[:-1] + 1, ends == starts


def _not_utf8(data: bytes) -> int | None:
    """Where a text is not UTF-8; nothing of it is kept."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for low in range(0, max(len(data), 1), PIECE):
        pending = len(decoder.getstate()[0])
        try:
            decoder.decode(data[low : low + PIECE], final=low + PIECE >= len(data))
        except UnicodeDecodeError as error:
            return low - pending + error.start
    return None


def _refuse_ragged(name: str, lines: Ints, fields: Ints, blank: Bools) -> None:
    ragged = np.flatnonzero((fields != fields[0]) & ~blank)
    if not len(ragged):
        return
    texts = [
        f"{name} line {lines[i]}: {fields[i]} cell{'s' * int(fields[i] > 1)}, the header has {fields[0]}"
        + (" (a text with a comma in it must be quoted; decimals have a point)" if fields[i] > fields[0] else "")
        for i in ragged[:SHOWN].tolist()
    ]
    if len(ragged) > SHOWN:
        texts.append(more_mistakes(len(ragged) - SHOWN))
    if len(ragged) > 1:
        texts.append("nothing was imported")
    raise OptarenaError("\n".join(texts))


def _without_empty(frame: pl.DataFrame, head: list[str], name: str) -> tuple[pl.DataFrame, list[str]]:
    """Columns that have neither a name nor a cell, as spreadsheets leave them, are no columns."""
    seen: set[str] = set()
    empty = [i for i, title in enumerate(head) if not title and frame[:, i].null_count() == frame.height]
    frame = frame.select([frame.columns[i] for i in range(len(head)) if i not in empty])
    head = [title for i, title in enumerate(head) if i not in empty]
    for i, title in enumerate(head):
        if not title:
            raise OptarenaError(f"{name} line 1: column {i + 1} has no name")
        if title in seen:
            raise OptarenaError(f"{name} line 1: duplicate column {title!r}")
        seen.add(title)
    return frame, head


def for_people(frame: pl.DataFrame, *, formulas: bool = True) -> str:
    """A table as CSV for a terminal or a spreadsheet: what is hidden in names and texts is written out.

    formulas: may stay as they are; else an apostrophe marks them as texts.
    """

    def shown(text: str) -> str:
        return visible(text) if formulas else not_a_formula(visible(text))

    for name, kind in frame.schema.items():
        if kind == pl.String:
            changed = {text: cell for text in frame[name].drop_nulls().unique() if (cell := shown(text)) != text}
            frame = frame.with_columns(pl.col(name).replace(changed)) if changed else frame
    head = pl.DataFrame([[shown(name) for name in frame.columns]], orient="row")  # apart: two titles may look the same
    return head.write_csv(include_header=False) + frame.write_csv(include_header=False)


def write(results: Dataset, path: Path, *, spreadsheet: bool = False) -> int:
    """Every row of some studies; numbers in the shortest form that reads back as the same number."""
    frame = tidy_frame(results, typed=False)
    odd = [name for name in frame.columns if frame.schema[name] == pl.Float64 and frame[name].is_nan().any()]
    frame = frame.with_columns(pl.col(odd).cast(pl.String).replace("NaN", "nan"))
    data = (for_people(frame, formulas=False) if spreadsheet else frame.write_csv()).encode()
    write_atomically(path, gzip.compress(data, mtime=0) if path.suffix == ".gz" else data, synced=False)
    return frame.height
