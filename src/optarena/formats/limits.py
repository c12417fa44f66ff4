"""How much an import may hold. All limits are far beyond what benchmarks log; docs/csv.md lists them.

They keep a damaged file, or one that was made to harm, from taking all memory before anybody can say what is wrong.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from optarena.errors import OptarenaError, shortened
from optarena.store.records import End, ProblemCard, Record, Start

MAX_BYTES = 2 << 30
"""Of what a `.gz` file or an archive unpacks to, and of all texts in the columns of a table."""
MAX_FILES = 500_000
"""In an archive."""
MAX_CELLS = 300_000_000
"""Rows times columns of a table: a packed one may have a million rows in a few bytes."""
MAX_COLUMNS = 20_000
MAX_NAME = 1_000
"""Characters of a name: of a problem, an optimizer, a parameter, a column."""
MAX_TEXT = 1_000_000
"""Characters of any other text: a message, a reason, an attribute."""
MAX_DIMENSION = 1_000_000
MAX_WHOLE = 2**53
"""Of counts, and of the numbers of instances and trials: a float can hold any whole number up to it."""
_CHUNK = 1 << 20


def unpacked(path: Path) -> bytes:
    """The bytes of a `.gz` file. One that unpacks to too much is refused while only a piece of it is in memory."""
    try:
        size = 0
        with gzip.open(path) as file:
            while piece := file.read(_CHUNK):
                size += len(piece)
                if size > MAX_BYTES:
                    raise too_large(path)
        with gzip.open(path) as file:
            return file.read(size)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise OptarenaError(f"{path}: cannot be unpacked ({error})") from error
    except OSError as error:
        raise OptarenaError(f"{path}: {error.strerror or error}") from error


def read_at_most(file: IO[bytes], left: int, path: Path) -> bytes:
    """All of a file in an archive, if that is no more than what is left of the archive's bytes."""
    pieces: list[bytes] = []
    while piece := file.read(_CHUNK):
        left -= len(piece)
        if left < 0:
            raise too_large(path)
        pieces.append(piece)
    return b"".join(pieces)


def too_large(path: Path) -> OptarenaError:
    return OptarenaError(f"{path}: unpacks to more than {MAX_BYTES / 2**30:.3g} GB; import it in parts")


def shown(value: object) -> str:
    """A value in a sentence, however long it is: Python itself refuses to write whole numbers of 5,000 digits."""
    if isinstance(value, int) and abs(value) > 10**30:
        return "a huge number"
    return shortened(repr(value), 60)


def refuse_large(name: object, cells: int, columns: int = 0) -> None:
    """Refuse a table with too many columns or cells."""
    if columns > MAX_COLUMNS:
        raise OptarenaError(f"{name}: {columns:,} columns, at most {MAX_COLUMNS:,} are allowed")
    if cells > MAX_CELLS:
        raise OptarenaError(f"{name}: more than {MAX_CELLS:,} cells; import it in parts")


def is_dimension(number: float) -> bool:
    return 0 < number <= MAX_DIMENSION


def is_whole(number: float) -> bool:
    """Whether a count or a number of an instance is within 53 bits."""
    return -MAX_WHOLE <= number <= MAX_WHOLE


def refuse_beyond(name: str, records: Iterable[Record]) -> None:
    """Refuse names, texts and whole numbers beyond the limits in what was read of a path."""
    for record in records:
        if isinstance(record, ProblemCard):
            names = [record.id, record.suite, record.function, *record.metrics, *record.space]
            names += [objective.name for objective in record.objectives]
            texts: list[str] = []
            whole = [record.dimension, record.instance or 0]
        elif isinstance(record, Start):
            names = [record.optimizer, *record.attributes]
            texts = list(record.attributes.values())
            whole = [record.trial, record.batch, record.budget.evaluations or 0]
        elif isinstance(record, End):
            names, texts, whole = [], [record.reason], [record.evaluations]
        else:
            continue
        _refuse_texts(name, names, MAX_NAME, "name")
        _refuse_texts(name, texts, MAX_TEXT, "text")
        for number in whole:
            if not is_whole(number):
                raise OptarenaError(f"{name}: {shown(number)} is beyond a whole number of 53 bits")


def _refuse_texts(name: str, texts: Iterable[str], most: int, what: str) -> None:
    for text in texts:
        if len(text) > most:
            raise OptarenaError(f"{name}: {shown(text)} has {len(text):,} characters; a {what} has at most {most:,}")
