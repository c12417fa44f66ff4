"""Shards are what their names say: the beginning of the SHA-256 of what they hold.

A shard is verified when it is first read. That it was found to be whole is remembered in the store, with its size and
its time of change, so that opening a store again costs nothing; `optarena verify` looks again at all of them.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

import msgspec

from optarena._files import write_atomically
from optarena.errors import OptarenaError, WorkError
from optarena.store.damage import Damage, place_of
from optarena.store.lines import UNREADABLE

DIGITS = 24
_NAME = re.compile(rf"[0-9a-f]{{{DIGITS}}}\.parquet")
MEMORY = ".verified.json"
Seen: TypeAlias = dict[str, tuple[int, int]]
"""Shard -> its size and time of change when it was verified."""


def name_of(data: bytes) -> str:
    """The name of a shard that holds this."""
    return f"{hashlib.sha256(data).hexdigest()[:DIGITS]}.parquet"


def sound_shards(paths: Iterable[Path], damage: list[Damage], *, again: bool = False) -> list[Path]:
    """Those that are intact; the others go to `damage`. again: also check those that were verified before."""
    out: list[Path] = []
    for directory, found in _by_directory(paths).items():
        memory = directory.parent / MEMORY
        seen = _remembered(memory)
        now: Seen = {}
        for path in found:
            what, facts = _verify(path, None if again else seen.get(path.name))
            if what:
                damage.append(Damage(place_of(path), what, size=facts[0]))
            else:
                now[path.name] = facts
                out.append(path)
        if now != seen:
            with contextlib.suppress(OSError, OptarenaError, WorkError):  # a store that is only read is read again
                write_atomically(memory, msgspec.json.encode(now))
    return out


def _by_directory(paths: Iterable[Path]) -> dict[Path, list[Path]]:
    out: dict[Path, list[Path]] = {}
    for path in sorted(paths):
        out.setdefault(path.parent, []).append(path)
    return out


def _remembered(memory: Path) -> Seen:
    try:
        return msgspec.json.decode(memory.read_bytes(), type=Seen)
    except (OSError, *UNREADABLE):
        return {}


def _verify(path: Path, seen: tuple[int, int] | None) -> tuple[str, tuple[int, int]]:
    """What is wrong with a shard, if anything, and its size and time of change."""
    if not _NAME.fullmatch(path.name):
        return "not the name of a shard", (0, 0)
    try:
        facts = path.stat()
        here = (facts.st_size, facts.st_mtime_ns)
        if here == seen:
            return "", here
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise
    except OSError as error:
        return f"it cannot be read ({error.strerror})", (0, 0)
    return ("" if path.name.startswith(digest[:DIGITS]) else "its content does not match its checksum"), here
