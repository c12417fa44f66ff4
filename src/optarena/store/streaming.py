"""A store read piece by piece: of each piece only the rows that a score can depend on are kept (see `thinning`).

So memory follows improvements. Attempts of which two pieces have the same evaluations (a store that was merged, or
compacted while it was read) are read again in full, so that duplicates collapse and contradictions are found.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from optarena._damage import is_damage
from optarena._memory import no_collection
from optarena.errors import OptarenaError
from optarena.store.columns import Attempt, Block, Columns, Source, Tally, cumulative, join
from optarena.store.costs import WALL
from optarena.store.damage import Damage
from optarena.store.lines import Lines
from optarena.store.reading import (
    FEW,
    MAX_OPEN,
    Events,
    JournalSource,
    Key,
    Line,
    Opened,
    age,
    key_of,
    lines_of,
    note_orphans,
    pieces_of,
    rows_of,
    with_header,
)
from optarena.store.records import Header, ProblemCard, RowsWithoutPoints
from optarena.store.shards import age_of_shard, read_shard
from optarena.store.thinning import kept, thinned
from optarena.store.verifying import sound_shards
from optarena.traces import Floats, Ints

AT_ONCE = 2_000_000
"""Rows that are read in full at once, where attempts must be."""
Paths: TypeAlias = Callable[[], Iterable[Path]]


@dataclass
class Piece:
    """The kept rows of a part of one source, and what all its rows say of each attempt."""

    rows: Columns
    owners: Ints
    """The attempts that have rows here; a line of `tally` each."""
    first: Ints
    """Their first evaluation here."""
    tally: Tally

    @property
    def wall(self) -> Floats:
        spent: Floats = self.tally.spent[:, WALL].sum(axis=1)
        return spent


@dataclass
class Part:
    """What one source has: its lines that are not evaluations, its attempts, and its rows in pieces."""

    source: Source
    lines: list[Line]
    attempts: list[Attempt]
    pieces: list[Piece] = field(default_factory=list)

    @property
    def age(self) -> tuple[float, str]:
        """What parts are sorted by."""
        first = self.lines[0] if self.lines else None
        return age(self.source.path, first) if isinstance(first, Header) else (0.0, self.source.path.name)


@no_collection()
def read_store(journals: Paths, shards: Paths, mentioning: Sequence[str] = ()) -> Columns:
    """The rows of a store that a score can depend on. Journals are read first, as in `read_columns`.

    mentioning: journals that have none of these texts (ids of problems or studies) are passed over.
    """
    paths = list(journals())
    columns = Columns()
    events = Events(columns)
    damage = columns.damage
    read = _journals(paths, damage, mentioning)
    pieces: list[Piece] = []
    # of rows that contradict each other the first that was written counts
    whole = read_shards(shards, damage)
    for part in sorted([*whole, *read], key=lambda part: part.age):
        columns.sources.append(part.source)
        events.journal(part.lines)
        _place(columns, events, part.attempts, part.pieces, len(columns.sources) - 1)
        pieces += part.pieces
    put_together(columns, events, pieces, journals, shards)
    return columns


def put_together(columns: Columns, events: Events, pieces: list[Piece], journals: Paths, shards: Paths) -> None:
    """All pieces as the rows of the columns; attempts of which two have the same evaluations are read again in full."""
    disputed = _disputed(pieces)
    for owner in disputed.tolist():  # conflicts are found again; others may have the same attempt
        columns.attempts[owner] = copy.copy(columns.attempts[owner])
        columns.attempts[owner].conflicts = []
    for piece in pieces if len(disputed) else ():
        _leave_out(piece, disputed)
    for keys in _groups(columns, disputed):
        again = read_columns(journals(), shards, keys, cards_of(columns))  # whose damage is known
        piece = piece_of(again)
        _place(columns, events, again.attempts, [piece], len(columns.sources))
        columns.sources += again.sources
        pieces.append(piece)
    join_pieces(columns, pieces)
    cards = cards_of(columns)  # not in the function: columns that refer to themselves are freed late
    columns.again = lambda keys: read_columns(journals(), shards, keys, cards)


def cards_of(columns: Columns) -> list[ProblemCard]:
    """What a damaged store, in which the cards of some journals are lost, has of its problems."""
    found = {attempt.card.hash: attempt.card for attempt in columns.attempts} if columns.damage else {}
    return list(found.values())


@no_collection()
def read_columns(
    journals: Iterable[Path],
    shards: Callable[[], Iterable[Path]] = tuple,
    only: Collection[Key] | None = None,
    cards: Sequence[ProblemCard] = (),
) -> Columns:
    """Every row of journals and shards as one; only: of some attempts. cards: what is known of problems beforehand.

    Journals are read first: what is compacted meanwhile is then in a shard.
    """
    columns = Columns()
    events = Events(columns)
    read: list[tuple[float, str, Any, Lines[Line] | None]] = []
    paths = list(journals)
    ids = [study for study, _ in only] if only is not None and len(only) <= FEW else ()
    for path in paths:
        try:
            source = JournalSource(path, keep_open=len(paths) <= MAX_OPEN)
            found = Lines.together(pieces_of(path, columns.damage, ids))
        except FileNotFoundError:
            continue
        begun = with_header(path, found, columns.damage) if found.records or found.plain else None
        if begun is not None:
            read.append((*age(path, begun[0]), source, begun[1]))
    blocks: list[Block] = []
    parts = [*read, *((*age_of_shard(path), path, None) for path in sound_shards(shards(), columns.damage))]
    for _, _, place, lines in sorted(parts, key=lambda item: item[:2]):
        if lines is None:
            blocks.append(read_shard(place, columns, events, only))
            continue
        columns.sources.append(place)
        opened = _opened(cards)
        events.journal((line for _, line in lines.records), opened)
        mine = lines if only is None else lines_of(columns, opened.here, only, lines)
        blocks.append(rows_of(columns, opened, place.path, mine, columns.damage))
        note_orphans(place.path, opened, columns.damage)
    join(columns, blocks)
    return columns


# ---- one source ------------------------------------------------------------------------------------------------------


def every_row(
    journals: Paths, shards: Paths, only: Collection[Key], cards: Sequence[ProblemCard] = ()
) -> Iterator[Columns]:
    """Every row of some attempts, piece by piece; an evaluation may come twice."""
    damage: list[Damage] = []  # which was named when the store was opened
    for path in list(journals()):
        for _, rows in _journal_rows(path, damage, only=only, cards=cards):
            yield rows
    for path in sound_shards(shards(), damage):
        yield _shard_rows(path, only)[0]


def _journals(paths: Sequence[Path], damage: list[Damage], mentioning: Sequence[str]) -> list[Part]:
    """Journals of which one that lost the card of a problem takes it from another."""
    keep_open = len(paths) <= MAX_OPEN
    read: list[tuple[Part, list[Damage]]] = []
    for path in paths:
        found: list[Damage] = []
        part = _journal(path, found, keep_open, mentioning)
        if part is None:
            damage += found
        else:
            read.append((part, found))
    if any(found for _, found in read):
        cards = [line for part, _ in read for line in part.lines if isinstance(line, ProblemCard)]
        for i, (part, found) in enumerate(read):
            if found:
                again: list[Damage] = []
                read[i] = _journal(part.source.path, again, keep_open, mentioning, cards) or part, again
    for _, found in read:
        damage += found
    return [part for part, _ in read]


def _journal(
    path: Path, damage: list[Damage], keep_open: bool, mentioning: Sequence[str], cards: Sequence[ProblemCard] = ()
) -> Part | None:
    part: Part | None = None
    for lines, rows in _journal_rows(path, damage, keep_open, mentioning, cards=cards):
        part = part or Part(rows.sources[0], [], rows.attempts)
        part.lines += lines
        part.pieces.append(piece_of(rows))
    if part is not None and cards:  # behind its header
        part.lines[1:1] = cards
    return part


def _journal_rows(
    path: Path,
    damage: list[Damage],
    keep_open: bool = False,
    mentioning: Sequence[str] = (),
    only: Collection[Key] | None = None,
    cards: Sequence[ProblemCard] = (),
) -> Iterator[tuple[list[Line], Columns]]:
    """A journal in pieces: the lines that are not evaluations, and the rows. Nothing if it was compacted meanwhile.

    cards: what is known of problems beforehand.
    """
    local = Columns()
    events, opened = Events(local), _opened(cards)
    try:
        local.sources.append(JournalSource(path, keep_open))
        for read in pieces_of(path, damage, mentioning):
            piece = read
            if opened.header is None:
                begun = with_header(path, piece, damage)
                if begun is None:
                    return
                piece = begun[1]
            lines: list[Line] = [line for _, line in piece.records if not isinstance(line, RowsWithoutPoints)]
            events.journal(lines, opened)
            rows = Columns()
            rows.attempts, rows.sources, rows.headers = local.attempts, local.sources, local.headers
            mine = piece if only is None else lines_of(rows, opened.here, only, piece)
            join(rows, [rows_of(rows, opened, path, mine, damage)])
            yield lines, rows
        note_orphans(path, opened, damage)
    except FileNotFoundError:
        return


def _opened(cards: Sequence[ProblemCard]) -> Opened:
    return Opened({card.hash: card for card in cards})


def _shard(path: Path) -> Part:
    rows, lines = _shard_rows(path)
    return Part(rows.sources[0], lines, rows.attempts, [piece_of(rows)])


def read_shards(shards: Paths, damage: list[Damage]) -> list[Part]:
    """All shards; small ones may be put together while they are read, which are then looked up again."""
    for last in (False, False, False, True):
        found: list[Damage] = []
        try:
            parts = [part for path in sound_shards(shards(), found) if (part := _sound_shard(path, found))]
        except FileNotFoundError:
            if last:
                raise
            continue
        damage += found
        return parts
    raise AssertionError


def _sound_shard(path: Path, damage: list[Damage]) -> Part | None:
    """A shard; None if it changed since it was verified, though its time of change did not: then it is damaged."""
    try:
        return _shard(path)
    except FileNotFoundError:
        raise
    except BaseException as error:
        if not (is_damage(error) or isinstance(error, OptarenaError)) or sound_shards([path], damage, again=True):
            raise
        return None


def _shard_rows(path: Path, only: Collection[Key] | None = None) -> tuple[Columns, list[Line]]:
    rows = Columns()
    block = read_shard(path, rows, Events(rows), only)
    join(rows, [block])
    return rows, block.lines


def piece_of(rows: Columns) -> Piece:
    bounds = rows.bounds()
    owners = rows.owner[bounds[:-1]]
    return Piece(thinned(rows), owners, rows.evaluation[bounds[:-1]], rows.tally.take(owners))


# ---- all of them -----------------------------------------------------------------------------------------------------


def _place(columns: Columns, events: Events, attempts: list[Attempt], pieces: Iterable[Piece], source: int) -> None:
    """Give attempts and sources the numbers that they have in the whole."""
    owners = events.owners(attempts)
    for attempt, owner in zip(attempts, owners.tolist(), strict=True):
        if owner >= 0:  # else it was begun since, and has no rows here
            columns.attempts[owner].conflicts += attempt.conflicts
    for piece in pieces:
        piece.owners = owners[piece.owners]
        piece.rows.owner = owners[piece.rows.owner]
        piece.rows.source = piece.rows.source + source


def _spans(pieces: Sequence[Piece]) -> tuple[Ints, Ints, Ints]:
    """Owner and first evaluation of every line of all tallies, and the order in which they follow each other."""
    owner = np.concatenate([piece.owners for piece in pieces])
    first = np.concatenate([piece.first for piece in pieces])
    return owner, first, np.lexsort((first, owner))


def _disputed(pieces: Sequence[Piece]) -> Ints:
    """The attempts of which two pieces have, or may have, the same evaluation."""
    if not pieces:
        return np.zeros(0, dtype=np.int64)
    owner, first, order = _spans(pieces)
    last = np.concatenate([piece.tally.last for piece in pieces])
    a, b = order[:-1], order[1:]
    return np.unique(owner[b][(owner[a] == owner[b]) & (first[b] <= last[a])])


def _leave_out(piece: Piece, owners: Ints) -> None:
    """Without some attempts."""
    piece.rows.keep(np.flatnonzero(~np.isin(piece.rows.owner, owners)))
    lines = np.flatnonzero(~np.isin(piece.owners, owners))
    piece.owners, piece.first, piece.tally = piece.owners[lines], piece.first[lines], piece.tally.take(lines)


def _groups(columns: Columns, disputed: Ints) -> Iterator[set[Key]]:
    """Attempts that are read in full together."""
    group: set[Key] = set()
    size = 0
    for owner in disputed.tolist():
        group.add(key_of(columns.attempts[owner]))
        size += columns.attempts[owner].start.budget.evaluations or AT_ONCE // 10
        if size >= AT_ONCE:
            yield group
            group, size = set(), 0
    if group:
        yield group


def join_pieces(columns: Columns, pieces: list[Piece]) -> None:
    """All pieces as one; the time of a row goes on from the piece before."""
    columns.thin, columns.tally = True, Tally.empty(len(columns.attempts))
    columns.charged = np.zeros(0)
    pieces = [piece for piece in pieces if len(piece.owners)]
    if not pieces:
        return
    owner, _, order = _spans(pieces)
    wall = np.concatenate([piece.wall for piece in pieces])
    change = np.flatnonzero(np.diff(owner[order])) + 1
    before = np.empty(len(order))
    before[order] = cumulative(wall[order], np.concatenate(([0], change, [len(order)])))
    before -= wall
    at = 0
    for piece in pieces:
        offset = np.zeros(len(columns.attempts))
        offset[piece.owners] = before[at : at + len(piece.owners)]
        piece.rows.charged = piece.rows.charged + offset[piece.rows.owner]
        columns.tally.add(piece.owners, piece.tally)
        at += len(piece.owners)
    blocks: list[Block] = [piece.rows for piece in pieces if len(piece.rows.owner)]
    charged = np.concatenate([piece.rows.charged for piece in pieces])
    join(columns, blocks)
    columns.charged = charged if columns.origin is None else charged[columns.origin]
    if len(change) + 1 < len(order):  # what improved in its piece need not improve in the whole
        columns.keep(np.flatnonzero(kept(columns, columns.attempts)))
