"""Looking at every byte of a store, and moving aside what is damaged.

`verify` reads all of it again. `repair` moves damaged files to `damaged/` and leaves what is good of a journal beside
it, under a new name. What is missing then is made again by the run's own command.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import msgspec

from optarena._files import write_atomically
from optarena.store import Store
from optarena.store.checks import has_check, sealed
from optarena.store.columns import Columns
from optarena.store.damage import Damage, place_of
from optarena.store.lines import UNREADABLE, read_blocks
from optarena.store.reading import decode_record, header_of, matrix
from optarena.store.records import Count, End, Header, ProblemCard, Record, Rows, Start
from optarena.store.resting import why_not_at_rest
from optarena.store.streaming import read_store
from optarena.store.verifying import sound_shards

ASIDE = "damaged"
_encode = msgspec.json.Encoder().encode


class Verification(msgspec.Struct):
    """What verifying a store found."""

    journals: int
    shards: int
    runs: int
    size: int
    """In bytes, of all of them."""
    damage: list[Damage]
    unchecked: int = 0
    """Journals without checks, of the first format: a change that leaves them readable is not noticed."""


class Repair(msgspec.Struct):
    """What repairing a store did."""

    moved: list[str] = []
    """Files that are now in `damaged/`."""
    kept: dict[str, int] = {}
    """Journals of which good lines stay, with their number."""
    left: list[tuple[str, str]] = []
    """Damaged files that stay as they are, and why."""


def verify(store: Store) -> Verification:
    """Read every byte of a store again, and say what is damaged."""
    store.must_exist()
    journals, shards = list(store.journal_paths()), list(store.shard_paths())
    runs = list(store.run_paths())
    size = sum(map(_size, [*journals, *shards, *runs]))
    damage = _damage_of(store)
    files = {item.file for item in damage}
    unchecked = sum(_unchecked(path) for path in journals if place_of(path) not in files)
    return Verification(len(journals), len(shards), len(runs), size, damage, unchecked)


def repair(store: Store) -> Repair:
    """Move what is damaged aside; nothing that a live process may write is touched."""
    store.must_exist()
    out = Repair()
    with store.lock("compact"):
        for file in dict.fromkeys(item.file for item in _damage_of(store)):
            path = store.path / file
            if path.parent.name == "journal":
                _repair_journal(store, path, out)
            else:
                _aside(store, path, path.read_bytes())
                path.unlink()
                out.moved.append(file)
    return out


def _damage_of(store: Store) -> list[Damage]:
    damage: list[Damage] = []
    sound_shards(store.shard_paths(), damage, again=True)
    store.runs(damage)
    columns: Columns = read_store(store.journal_paths, store.shard_paths)
    return list(dict.fromkeys([*damage, *columns.damage]))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _unchecked(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            first = file.readline()
    except OSError:
        return False
    return first.endswith(b"}\n") and not has_check(first)


def _aside(store: Store, path: Path, data: bytes) -> None:
    """Keep a file, as it is, in `damaged/`; an earlier one of its name stays too."""
    place = store.path / ASIDE / path.parent.name / path.name
    number = 1
    while place.exists() and place.read_bytes() != data:
        number += 1
        place = place.with_name(f"{path.stem}-{number}{path.suffix}")
    write_atomically(place, data)


def _repair_journal(store: Store, path: Path, out: Repair) -> None:
    file = f"journal/{path.name}"
    reason = why_not_at_rest(store, path)
    if reason is not None:
        out.left.append((file, reason))
        return
    good = _good_lines(path)
    _aside(store, path, path.read_bytes())
    out.moved.append(file)
    if len(good) > 1:  # more than its header
        data = sealed(map(_encode, good))
        # under a name of its own: an undamaged copy of the journal in another store can still be merged
        write_atomically(path.with_name(f"{path.stem.rpartition('-')[0]}-{sha256(data).hexdigest()[:8]}.jsonl"), data)
        out.kept[file] = len(good)
    path.unlink()


def _good_lines(path: Path) -> list[Record]:
    """The lines of a journal that can be used, its header first."""
    damage: list[Damage] = []
    records: list[tuple[int, Record]] = []
    for lines in read_blocks(path, decode_record, damage, points=True):
        records += lines.records
        for some in lines.plain:
            records += zip(some.position.tolist(), some.records(), strict=True)
    found = [record for _, record in sorted(records, key=lambda item: item[0])]
    header = header_of(path, found, damage)
    if header is None:
        return []
    out: list[Record] = [header]
    cards: set[str] = set()
    studies: set[int] = set()
    for record in found:
        if isinstance(record, ProblemCard):
            cards.add(record.hash)
        elif isinstance(record, Start):
            if record.problem not in cards:
                continue
            studies.add(record.s)
        elif isinstance(record, (Rows, Count, End)) and not (record.s in studies and _numeric(record)):
            continue
        if not isinstance(record, Header):
            out.append(record)
    return out


def _numeric(record: Rows | Count | End) -> bool:
    if not isinstance(record, Rows):
        return True
    try:
        for rows in (record.y, record.v, record.m):
            matrix(rows, max(map(len, rows), default=0))
    except (*UNREADABLE, ValueError, TypeError):
        return False
    return True
