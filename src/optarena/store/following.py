"""A store that grows, followed: each look reads only what its journals grew by.

Several stores are followed as one. Where files went away or changed otherwise than by growing (a store was compacted,
merged, repaired), everything is read again; shards that are known stay in memory.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import numpy as np

from optarena._memory import no_collection
from optarena.store import RunFile, Store
from optarena.store.columns import Attempt, Columns, Tally, join
from optarena.store.damage import Damage
from optarena.store.lines import Lines, Reached, read_blocks
from optarena.store.reading import (
    MAX_OPEN,
    Events,
    JournalSource,
    Line,
    Opened,
    age,
    decode_line,
    note_orphans,
    rows_of,
    with_header,
)
from optarena.store.records import Close, Count, End, RowsWithoutPoints, Start
from optarena.store.streaming import Part, Piece, join_pieces, piece_of, put_together, read_shards, read_store
from optarena.traces import Ints

MOST_PIECES = 8
"""Pieces of a journal that stay apart; more are made one, so that memory follows improvements."""


class Failure:
    """An evaluation that failed."""

    __slots__ = ("evaluation", "message", "owner", "status")

    def __init__(self, owner: int, evaluation: int, status: int, message: str) -> None:
        self.owner, self.evaluation, self.status, self.message = owner, evaluation, status, message


@dataclass
class Growth:
    """What a look found."""

    changed: set[int] = field(default_factory=set)
    """The attempts of which there is something new."""
    failures: list[Failure] = field(default_factory=list)
    again: bool = False
    """Whether everything was read again: what was known before is void."""
    runs: bool = False
    """Whether run files changed."""

    def __bool__(self) -> bool:
        return bool(self.changed or self.again or self.runs)


@dataclass
class _Growing:
    """A journal, as far as it was read."""

    path: Path
    source: int
    reached: Reached
    file: tuple[int, int]
    opened: Opened = field(default_factory=Opened)
    pieces: list[Piece] = field(default_factory=list)
    seen: int = 0
    """The bytes that need no further look."""
    age: tuple[float, str] = (0.0, "")
    foreign: bool = False
    """It is not a journal, and stays unread."""
    stood: tuple[int, int] = (-1, 0)
    """Its size and its time of change at the last look."""
    suspect: bool = False
    """Whether its time changed at the last look and its size did not: a writer may have been between the two."""


class Stores:
    """Several stores as one: whose files, in the order in which they were given."""

    def __init__(self, paths: Sequence[str | Path]) -> None:
        self.stores = [Store(path) for path in paths]

    @property
    def path(self) -> Path:
        """The first; its name with those of the others."""
        paths = [store.path.resolve() for store in self.stores]
        return paths[0].with_name(" + ".join(names_of(paths))) if len(paths) > 1 else paths[0]

    def journal_paths(self) -> Iterator[Path]:
        return chain.from_iterable(store.journal_paths() for store in self.stores)

    def shard_paths(self) -> Iterator[Path]:
        return chain.from_iterable(store.shard_paths() for store in self.stores)

    def run_paths(self) -> Iterator[Path]:
        return chain.from_iterable(store.run_paths() for store in self.stores)

    def runs(self, damage: list[Damage] | None = None) -> list[RunFile]:
        return [run for store in self.stores for run in store.runs(damage)]

    def store_of(self, run: RunFile) -> Store:
        """The store that has a run."""
        return next((store for store in self.stores if any(store.run_paths(run.id))), self.stores[0])

    def live(self, runs: Sequence[RunFile]) -> list[RunFile]:
        """The runs that are in progress: that of pilots is as long as one of them is."""
        alone = [run for run in runs if run.ended is None and not run.pilots and self.store_of(run).is_live(run)]
        led = {run.of for run in alone}
        return [run for run in runs if run in alone or (run.ended is None and run.id in led)]


def names_of(paths: Sequence[Path]) -> list[str]:
    """The names of directories; of those that have the same, also the directories that they are in."""
    out = []
    for path in paths:
        same = [other for other in paths if other.name == path.name and other != path]
        ahead = list(path.parts[-2::-1])
        n = next((n for n in range(len(ahead)) if all(list(o.parts[-2::-1])[:n] != ahead[:n] for o in same)), 0)
        out.append(f"{path.name} ({' in '.join(ahead[:n])})" if n else path.name)
    return out


class Follower:
    """Looks at stores again and again; `columns` gives what it knows. One thread at a time."""

    def __init__(self, stores: Stores) -> None:
        self.stores = stores
        self.damage: list[Damage] = []
        self.runs: list[RunFile] = []
        self.attempts: list[Attempt] = []
        self.tally = Tally.empty(0)
        """Of all attempts, and room for more."""
        self._shards: dict[Path, Part] = {}
        self._stood: dict[Path, tuple[int, int, int]] = {}
        """Of each shard that was read: its file, size and time of change then."""
        self._run_files: dict[Path, tuple[int, int]] = {}
        self._run_damage: list[Damage] = []
        self._until, self._began = math.inf, False
        self.unread = 1.0
        """The share of the files that is not read yet."""
        self.caught_up = False
        """Whether the last look read all that existed when it began; a run may have written more since."""
        self._begin()

    def _begin(self) -> None:
        self._shards = {path: part for path, part in self._shards.items() if _stand(path) == self._stood.get(path)}
        self._stood = {path: self._stood[path] for path in self._shards}
        self._known = Columns()
        self.attempts = self._known.attempts
        self._events = Events(self._known)
        self._journals: dict[Path, _Growing] = {}
        self._placed: list[tuple[tuple[float, str], Piece]] = []
        """The pieces of shards, with their ages."""
        self._placed_shards: set[Path] = set()
        self._shards_here: set[Path] = set()
        """All that there were at the last look; some may not be read yet."""
        self._lent: set[int] | None = None
        """Since a dataset has the attempts: those that were copied, so that what it has never changes."""
        self.tally = Tally.empty(0)
        self.damage = []

    # ---- looking ---------------------------------------------------------------------------------------------------

    @no_collection()
    def look(self, seconds: float = math.inf) -> Growth:
        """Read what is new. A store that is gone raises an error that says so; the next look tries again.

        seconds: after so many, it is enough for this look; the next goes on. `unread` says how much is left.
        """
        for store in self.stores.stores:
            store.must_exist()
        self._until, self._began = time.monotonic() + seconds, False
        out = Growth(runs=self._look_at_runs())
        journals = list(self.stores.journal_paths())  # before shards: what is compacted meanwhile is in both
        shards = set(self.stores.shard_paths())
        if self._changed(journals, shards):
            self._begin()
            out.again = True
        self._shards_here = shards
        self.caught_up = True
        for path in sorted(shards - self._placed_shards):
            if self._late:
                self.caught_up = False
                break
            self._read_shard(path, out)
        for path in journals:
            if self._late:
                self.caught_up = False
                break
            self._grow(path, len(journals) <= MAX_OPEN, out)
        self._measure(journals, shards)
        return out

    @property
    def _late(self) -> bool:
        """Whether it is enough for this look, which has read something."""
        return self._began and time.monotonic() >= self._until

    def _measure(self, journals: list[Path], shards: set[Path]) -> None:
        """How much of the files is read."""
        total = unread = 0
        for path in [*journals, *shards]:
            try:
                size = path.stat().st_size
            except FileNotFoundError:
                continue
            one = self._journals.get(path)
            done = size if path in self._placed_shards or (one and one.foreign) else one.seen if one else 0
            total, unread = total + size, unread + max(0, size - done)
        self.unread = unread / total if total else 0.0

    def _look_at_runs(self) -> bool:
        """A heartbeat changes the time of a run file only: it is read again when it was written again."""
        found = {}
        for path in self.stores.run_paths():
            try:
                facts = path.stat()
            except FileNotFoundError:
                continue
            found[path] = (facts.st_ino, facts.st_size)
        if found == self._run_files:
            return False
        self._run_damage = []
        self.runs = self.stores.runs(self._run_damage)
        self._run_files = found
        return True

    def _changed(self, journals: list[Path], shards: set[Path]) -> bool:
        """Whether files changed otherwise than by growing: also one that was written again in its place."""
        if (self._shards_here or self._journals) and shards != self._shards_here:
            return True
        if not self._journals.keys() <= set(journals):
            return True
        for path, one in self._journals.items():
            try:
                facts = path.stat()
            except FileNotFoundError:
                return True
            if (facts.st_dev, facts.st_ino) != one.file or facts.st_size < one.reached.position:
                return True
            rewritten = one.stood[0] == facts.st_size and one.stood[1] != facts.st_mtime_ns
            if rewritten and one.suspect:
                return True
            one.suspect = rewritten
            if not rewritten:
                one.stood = (facts.st_size, facts.st_mtime_ns)
        return any(_stand(path) != self._stood.get(path) for path in self._placed_shards)

    def _read_shard(self, path: Path, out: Growth) -> None:
        self._began = True
        if path not in self._shards:
            self._stood[path] = _stand(path) or (0, 0, 0)  # before it is read
            found = read_shards(lambda: [path], self.damage)
            self._shards |= {part.source.path: part for part in found}
        self._placed_shards.add(path)
        if (part := self._shards.get(path)) is None:  # damaged
            return
        self._known.sources.append(part.source)
        self._events.journal(part.lines)
        owners = self._events.owners(part.attempts)
        for piece in part.pieces:
            mine = _moved(piece, owners, len(self._known.sources) - 1)
            self._placed.append((part.age, mine))
            self._count(mine, out)
        out.changed.update(owners[owners >= 0].tolist())

    def _grow(self, path: Path, keep_open: bool, out: Growth) -> None:
        try:
            one = self._journals.get(path) or self._opened(path, keep_open)
            size = path.stat().st_size
            if one.foreign or size <= one.seen:
                return
            for lines in read_blocks(path, decode_line, self.damage, points=False, since=one.reached):
                self._take(one, lines, out)
                one.seen = one.reached.position
                if self._late:
                    self.caught_up = one.seen >= size
                    break
            else:
                one.seen = size  # what follows the last complete line is being written, or its writer was killed
        except FileNotFoundError:  # compacted meanwhile: the next look reads the shard
            return
        if len(one.pieces) > MOST_PIECES:
            one.pieces = [self._merged(one.pieces)]

    def _opened(self, path: Path, keep_open: bool) -> _Growing:
        facts = path.stat()
        self._known.sources.append(JournalSource(path, keep_open))
        one = _Growing(path, len(self._known.sources) - 1, Reached(), (facts.st_dev, facts.st_ino))
        self._journals[path] = one
        return one

    def _take(self, one: _Growing, lines: Lines[Line], out: Growth) -> None:
        """Some lines of a journal that were not read before."""
        self._began = True
        if one.opened.header is None:
            begun = with_header(one.path, lines, self.damage)
            if begun is None:
                one.foreign = True
                return
            header, lines = begun
            one.age = age(one.path, header)
        events: list[Line] = [line for _, line in lines.records if not isinstance(line, RowsWithoutPoints)]
        touched = self._touched(events, one.opened)
        self._keep_lent(touched)
        before = len(self.attempts)
        self._events.journal(events, one.opened)
        out.changed |= touched
        out.changed.update(range(before, len(self.attempts)))
        rows = Columns()
        rows.attempts, rows.sources = self.attempts, self._known.sources[: one.source + 1]
        join(rows, [rows_of(rows, one.opened, one.path, lines, self.damage)])
        if one.opened.orphans:
            note_orphans(one.path, one.opened, self.damage)
            one.opened.orphans = 0
        piece = piece_of(rows)
        if len(piece.owners):
            one.pieces.append(piece)
            self._count(piece, out)

    def _touched(self, lines: list[Line], opened: Opened) -> set[int]:
        """The attempts that some lines change."""
        found: set[int] = set()
        for line in lines:
            if isinstance(line, Start):
                at = self._events.place(line.study, line.attempt)
                found |= set() if at is None else {at}
            elif isinstance(line, Close):
                found |= set(opened.here.values())
            elif isinstance(line, (End, Count)) and line.s in opened.here:
                found.add(opened.here[line.s])
        return found

    def _keep_lent(self, touched: Iterable[int]) -> None:
        """Change copies of the attempts that a dataset has, not those."""
        if self._lent is None:
            return
        for i in touched:
            if i not in self._lent:
                self._lent.add(i)
                self.attempts[i] = _copied(self.attempts[i])

    def _count(self, piece: Piece, out: Growth) -> None:
        n = len(self.attempts)
        if n > len(self.tally.rows):
            more = Tally.empty(max(n, 2 * len(self.tally.rows)))
            more.add(np.arange(len(self.tally.rows)), self.tally)
            self.tally = more
        self.tally.add(piece.owners, piece.tally)
        out.changed.update(piece.owners.tolist())
        rows = piece.rows
        for row in np.flatnonzero(rows.status > 0).tolist():
            message = rows.messages.get(row, "")
            out.failures.append(
                Failure(int(rows.owner[row]), int(rows.evaluation[row]), int(rows.status[row]), message)
            )

    def _merged(self, pieces: list[Piece]) -> Piece:
        """Pieces of one journal as one."""
        owners = np.unique(np.concatenate([piece.owners for piece in pieces]))
        place = np.full(len(self.attempts), -1, dtype=np.int64)
        place[owners] = np.arange(len(owners))
        local = Columns()
        local.attempts = [self.attempts[i] for i in owners.tolist()]
        first = np.full(len(owners), np.iinfo(np.int64).max)
        for piece in pieces:
            np.minimum.at(first, place[piece.owners], piece.first)
        join_pieces(local, [_moved(piece, place) for piece in pieces])
        local.attempts = self.attempts
        local.owner = owners[local.owner]
        return Piece(local, owners, first, local.tally)

    # ---- what is known ---------------------------------------------------------------------------------------------

    @no_collection()
    def columns(self) -> Columns:
        """The rows that a score can depend on, as `read_store` gives them; what comes later does not change them."""
        if self.damage:  # of what is lost, other files may know a part: only a reader of all finds it
            return read_store(self.stores.journal_paths, self.stores.shard_paths)
        out = Columns()
        out.attempts, out.headers = list(self.attempts), list(self._known.headers)
        out.sources = list(self._known.sources)
        out.signed = {key: list(signed) for key, signed in self._known.signed.items()}
        self._lent = set()
        journals = [(one.age, piece) for one in self._journals.values() for piece in one.pieces]
        pieces = sorted([*self._placed, *journals], key=lambda item: item[0])
        put_together(
            out, self._events, [_same(piece) for _, piece in pieces], self.stores.journal_paths, self.stores.shard_paths
        )
        return out

    def all_damage(self) -> list[Damage]:
        """Of journals, shards and run files."""
        return [*self.damage, *self._run_damage]


def _stand(path: Path) -> tuple[int, int, int] | None:
    """By which a shard that was changed in its place is noticed."""
    try:
        facts = path.stat()
    except FileNotFoundError:
        return None
    return facts.st_ino, facts.st_size, facts.st_mtime_ns


def _copied(attempt: Attempt) -> Attempt:
    out = copy.copy(attempt)
    for name in ("ends", "headers", "open_in", "conflicts"):
        setattr(out, name, list(getattr(attempt, name)))
    return out


def _same(piece: Piece) -> Piece:
    """A piece that may be changed; its arrays are not."""
    return Piece(copy.copy(piece.rows), piece.owners, piece.first, piece.tally)


def _moved(piece: Piece, owners: Ints, source: int | None = None) -> Piece:
    """The same with other numbers of its attempts; source: the number of its file."""
    out = Piece(copy.copy(piece.rows), owners[piece.owners], piece.first, piece.tally)
    out.rows.owner = owners[piece.rows.owner]
    if source is not None:
        out.rows.source = np.full(len(piece.rows.owner), source, dtype=np.int64)
    return out
