"""Compaction: journals that are at rest become shards, in one pass and in bounded memory.

The lines of all these journals, oldest journal first, are one stream. It is cut into shards of about `SHARD_BYTES` of
lines, between two studies where that is possible. A journal is removed when all shards that have lines of it are on
disk: whoever is killed before that leaves rows twice, which readers take once.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec
import numpy as np

from optarena._memory import no_collection
from optarena.store import Store
from optarena.store.costs import NUMBERS, spread
from optarena.store.damage import Damage, place_of
from optarena.store.journal import SHARD_BYTES
from optarena.store.lines import Lines, PlainLines, read_blocks
from optarena.store.reading import counts_before, decode_record
from optarena.store.records import Close, End, Header, ProblemCard, Record, Rows, Start
from optarena.store.resting import resting
from optarena.store.rows import Collected, Part, part_of
from optarena.store.shards import put_together, write_shard
from optarena.store.verifying import sound_shards
from optarena.traces import Ints

MANY = 8
"""So many small shards are made one."""
SMALL = 32
"""A shard is small that has less than this part of the bytes of lines that go into one."""

_encode = msgspec.json.Encoder().encode


class Unsound(Exception):
    """A journal of an older format whose lines do not fit together."""


class Compaction(msgspec.Struct):
    """What compacting did."""

    journals: int = 0
    rows: int = 0
    shards: list[str] = []
    left: list[tuple[str, str]] = []
    """Journals that stay as they are, and why."""


def compact(store: Store, least: int = 0) -> Compaction:
    """Put every journal that is at rest into new shards, then remove the journals.

    That changes nothing for others: a live run still finds the journals that it found when it began.
    least: do nothing unless the finished journals have at least this many bytes together.
    """
    store.must_exist()
    with store.lock("compact"):
        store.remove_stale()
        paths, left = resting(store)
        out = Compaction(left=left)
        if sum(path.stat().st_size for path in paths) >= least:
            _Pass(store, out).run(paths)
        _put_together(store, out)
        sound_shards(store.shard_paths(), [])  # what was just written is verified once, and that is remembered
        return out


def _put_together(store: Store, out: Compaction) -> None:
    """Make one shard of many small ones, when no run reads them."""
    if any(map(store.is_live, store.runs())):
        return
    sizes = {path: path.stat().st_size for path in sound_shards(store.shard_paths(), [])}
    small = [path for path, size in sizes.items() if size < SHARD_BYTES // SMALL]
    while len(small) >= MANY:
        group, small = small[: SMALL // 2], small[SMALL // 2 :]
        name = put_together(store, group)
        out.shards = list(dict.fromkeys(name if store.shards / shard in group else shard for shard in out.shards))


# ---- one pass over their lines --------------------------------------------------------------------------------------


class _Attempt:
    """What one shard has of an attempt; s: its number there."""

    def __init__(self, s: int, start: Start, card: ProblemCard) -> None:
        self.s, self.start, self.card = s, start, card
        self.parts: list[Part] = []
        self._lines: list[Rows] = []

    def begin_again(self, start: Start, card: ProblemCard) -> None:
        """Take another start of it, where that counts before the one that it has."""
        self._settle()
        if counts_before((start, card), (self.start, self.card)):
            self.start, self.card = start, card

    def add(self, line: Rows) -> None:
        self._lines.append(line)

    def add_plain(self, lines: PlainLines, rows: _PlainRows, low: int, high: int) -> None:
        """Lines low to high as arrays, where they are in the card's space; else as records."""
        objectives, dimension = lines.y.shape[2], lines.x.shape[2]
        if self.card.imported or (objectives, dimension) != (len(self.card.objectives), len(self.card.space)):
            self._lines += lines.take(slice(low, high)).records()
            return
        self._settle()
        self.parts.append(
            Part(
                rows.evaluation[low:high].ravel(),
                lines.y[low:high].reshape(-1, objectives),
                rows.w[low:high].reshape(-1, NUMBERS),
                lines.x[low:high].reshape(-1, dimension),
            )
        )

    def collected(self) -> Collected | None:
        """Its rows in order, if it has any."""
        self._settle()
        return Collected(self.parts, self.card) if self.parts else None

    def _settle(self) -> None:
        """Make columns of the lines since the last part."""
        if self._lines:
            self.parts.append(part_of(self._lines, self.card))
            self._lines = []


class _PlainRows:
    """What follows from plain lines for their rows: evaluation (lines, rows), w (lines, rows, 6)."""

    def __init__(self, lines: PlainLines) -> None:
        n, m, _ = lines.y.shape
        self.evaluation: Ints = lines.k[:, None] + np.arange(m)
        self.w: Ints = spread(lines.w, np.full(n, m)).reshape(n, m, NUMBERS)


class _Shard:
    """A shard while it is filled."""

    def __init__(self) -> None:
        self.events: list[bytes] = []
        self.attempts: dict[tuple[str, int], _Attempt] = {}
        self.journals: list[Path] = []
        self.size = 0
        self._cards: set[str] = set()
        self._studies = 0

    def write(self, record: Record) -> None:
        self.events.append(_encode(record))

    def begin(self, start: Start, card: ProblemCard) -> tuple[int, _Attempt]:
        """Write a start and its problem's card; the study's number in this shard, and the attempt."""
        if card.hash not in self._cards:
            self._cards.add(card.hash)
            self.write(card)
        s = self._studies
        self._studies += 1
        self.write(msgspec.structs.replace(start, s=s))
        attempt = self.attempts.setdefault((start.study, start.attempt), _Attempt(s, start, card))
        attempt.begin_again(start, card)
        return s, attempt


class _Journal:
    """A journal while its lines are taken into one shard after the other."""

    def __init__(self, path: Path, shard: _Shard) -> None:
        self.path = path
        self._header: Header | None = None
        self._cards: dict[str, ProblemCard] = {}
        self._starts: dict[int, Start] = {}
        self._open: set[int] = set()
        self.enter(shard)

    def enter(self, shard: _Shard) -> None:
        """The lines that follow go to this shard."""
        self._shard = shard
        self._here: dict[int, tuple[int, _Attempt]] = {}
        shard.journals.append(self.path)
        if self._header is not None:
            shard.write(self._header)

    def leave(self) -> None:
        """Nothing of what it has in this shard goes on there."""
        if not self._open.isdisjoint(self._here):
            self._shard.write(Close())

    def take(self, lines: Lines[Record]) -> None:
        try:
            for _, item in lines.records:
                self._take(item)
            for plain in lines.plain:
                rows = _PlainRows(plain)
                for s, low, high in plain.studies():
                    self._study(s)[1].add_plain(plain, rows, low, high)
        except ValueError as error:
            raise Unsound(f"a line has numbers that do not fit ({error})") from error
        self._shard.size += lines.size

    def _take(self, item: Record) -> None:
        if isinstance(item, Rows):
            self._study(item.s)[1].add(item)
        elif isinstance(item, Header):
            self._header = item
            self._shard.write(item)
        elif isinstance(item, ProblemCard):
            self._cards[item.hash] = item
        elif isinstance(item, Start):
            self._starts[item.s] = item
            self._open.add(item.s)
            self._here.pop(item.s, None)
            self._study(item.s)
        elif isinstance(item, Close):
            self.leave()
        else:
            s, _ = self._study(item.s)
            self._shard.write(msgspec.structs.replace(item, s=s))
            if isinstance(item, End):
                self._open.discard(item.s)

    def _study(self, s: int) -> tuple[int, _Attempt]:
        """A study's number in the shard, and its attempt; it is begun there again if it began in an earlier shard."""
        if s not in self._here:
            try:
                start = self._starts[s]
                self._here[s] = self._shard.begin(start, self._cards[start.problem])
            except KeyError as error:
                raise Unsound(f"a line refers to {error} before its start record") from error
        return self._here[s]


class _Pass:
    """Takes journals one after the other and writes shards."""

    def __init__(self, store: Store, out: Compaction) -> None:
        self._store, self._out = store, out
        self._shard = _Shard()
        self._finished: list[Path] = []
        self._contradictory: set[Path] = set()
        self._damaged: dict[Path, str] = {}

    @no_collection()
    def run(self, paths: Iterable[Path]) -> None:
        for path in paths:
            self._take(path)
            self._finished.append(path)
        self._flush()

    def _take(self, path: Path) -> None:
        journal = _Journal(path, self._shard)
        damage: list[Damage] = []
        try:
            for lines in read_blocks(path, decode_record, damage, points=True):
                self._take_lines(journal, lines)
        except Unsound as error:
            damage.append(Damage(place_of(path), str(error)))
        if damage:  # its good lines are in a shard now, but it stays until it is repaired
            self._damaged[path] = damage[0].what

    def _take_lines(self, journal: _Journal, lines: Lines[Record]) -> None:
        if self._shard.size >= SHARD_BYTES:
            begins = next((at for at, item in lines.records if isinstance(item, Start)), None)
            if begins is not None or self._shard.size >= 2 * SHARD_BYTES:
                before, lines = lines.split(begins or 0)
                journal.take(before)
                journal.leave()
                self._flush()
                journal.enter(self._shard)
        journal.take(lines)

    def _flush(self) -> None:
        """Write the shard and remove the journals that are now in shards as a whole."""
        shard, self._shard = self._shard, _Shard()
        found = [(attempt.s, attempt.collected()) for attempt in shard.attempts.values()]
        rows = [(s, collected) for s, collected in found if collected is not None]
        if any(collected.conflicts for _, collected in rows):
            self._contradictory.update(shard.journals)
        elif shard.events:
            name = write_shard(self._store, shard.events, [collected.trace(s) for s, collected in rows])
            self._out.shards.append(name)
            self._out.rows += sum(len(collected.evaluation) for _, collected in rows)
        for path in self._finished:
            if path in self._contradictory:
                self._out.left.append((path.name, "rows contradict each other"))
            elif path in self._damaged:
                self._out.left.append((path.name, f"damaged: {self._damaged[path]} (optarena repair)"))
            else:
                path.unlink(missing_ok=True)
                self._out.journals += 1
        self._finished = []
