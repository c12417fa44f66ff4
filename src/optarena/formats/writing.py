"""The journal of an import: one file for all its paths, named by what it holds, and written atomically."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from optarena._files import write_atomically
from optarena._json import printable
from optarena._process import host
from optarena._version import __version__
from optarena.store import Store
from optarena.store.checks import sealed
from optarena.store.records import FORMAT_VERSION, Close, End, Header, Record, Start

_encode = msgspec.json.Encoder().encode


def write_journal(names: Sequence[str], records: Iterable[Record], store: Store) -> None:
    """Write what an import adds, whose times are left at 0, by one rename: a reader sees all of it or nothing."""
    at = time.time()
    store.create()
    digest = hashlib.sha256()
    lines: list[bytes] = []
    for record in records:
        line = _encode(record)
        digest.update(line)
        if isinstance(record, (Start, End)):
            record.time = at
            line = _encode(record)
        lines.append(line)
    whole = sealed([_encode(journal_header(names, at)), *lines, _encode(Close())])
    write_atomically(store.journals / f"import-{digest.hexdigest()[:24]}.jsonl", whole)


def journal_header(names: Sequence[str], at: float) -> Header:
    imported = ", ".join(printable(Path(name).name) for name in names)
    return Header(FORMAT_VERSION, __version__, host(), os.getpid(), at, {"optarena": __version__, "imported": imported})
