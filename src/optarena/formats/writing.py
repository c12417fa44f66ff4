"""Journals of imported studies: named by what they hold, and written all together or not at all."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from optarena._files import write_together
from optarena._json import printable
from optarena._process import host
from optarena._version import __version__
from optarena.store import Store
from optarena.store.records import FORMAT_VERSION, Close, End, Header, Record, Start

_encode = msgspec.json.Encoder().encode


def write_journals(journals: Sequence[tuple[str, Iterable[Record]]], store: Store) -> None:
    """Write a journal for each name and its lines, whose times are left at 0."""
    at = time.time()
    store.create()
    write_together({store.journals / name: data for name, data in (_journal(*each, at) for each in journals)})


def _journal(name: str, records: Iterable[Record], at: float) -> tuple[str, bytes]:
    """The name and the bytes of a journal's file."""
    digest = hashlib.sha256()
    lines: list[bytes] = []
    for record in records:
        digest.update(_encode(record))
        if isinstance(record, (Start, End)):
            record.time = at
        lines.append(_encode(record))
    whole = b"\n".join([_encode(journal_header(name, at)), *lines, _encode(Close()), b""])
    return f"import-{digest.hexdigest()[:24]}.jsonl", whole


def journal_header(name: str, at: float) -> Header:
    environment = {"optarena": __version__, "imported": printable(Path(name).name)}
    return Header(FORMAT_VERSION, __version__, host(), os.getpid(), at, environment)
