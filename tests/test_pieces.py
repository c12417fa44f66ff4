"""Journals in pieces: in order, once, complete lines, and nothing that was not asked for or is damaged."""

from __future__ import annotations

import errno
import os
import random
from pathlib import Path

import pytest

from optarena.errors import WorkError
from optarena.runner.environment import environment
from optarena.store import pieces
from optarena.store.journal import Journal
from optarena.store.pieces import Piece, Received, cut, is_closed, sizes
from optarena.store.records import End

JOURNAL = "host-1-0badcafe.jsonl"


@pytest.fixture
def places() -> tuple[Path, Path]:
    for name in ("far", "here"):
        Path(name).mkdir()
    return Path("far"), Path("here")


def write(path: Path, lines: int) -> bytes:
    data = b"".join(b'{"line":%d}\n' % i for i in range(lines))
    path.write_bytes(data)
    return data


def test_pieces_that_are_lost_repeated_and_mixed_give_the_journal(places, monkeypatch):
    far, here = places
    data = write(far / JOURNAL, 500)
    source = random.Random(1)
    monkeypatch.setattr(pieces, "LARGEST", 300)
    received, sent, whole = Received(here), [], False
    while not whole:
        found, whole = cut(far, sizes(far), {JOURNAL: received.size(JOURNAL)})
        sent += found
        received.take(source.choices(sent, k=3))
        received.take(found if source.random() < 0.5 else [])
        whole = whole and received.size(JOURNAL) == len(data)
    received.take(sent)
    received.close()
    assert (here / JOURNAL).read_bytes() == data


def test_pieces_end_with_a_line_and_a_line_that_was_not_completed_never_comes(places, monkeypatch):
    far, _ = places
    data = write(far / JOURNAL, 10)
    with (far / JOURNAL).open("ab") as file:
        file.write(b'{"line":')
    monkeypatch.setattr(pieces, "LARGEST", 25)
    ((piece,), whole) = cut(far, sizes(far), {JOURNAL: 0})
    assert piece.data == data[:22]
    assert not whole
    monkeypatch.setattr(pieces, "LARGEST", 5)  # less than a line
    ((piece,), _) = cut(far, sizes(far), {JOURNAL: 0})
    assert piece.data == data[:11]
    assert cut(far, sizes(far), {JOURNAL: len(data)}) == ([], True)
    assert cut(far, sizes(far), {}) == ([], False)  # nobody has said what is known of it


@pytest.mark.parametrize(
    "piece",
    [
        Piece(JOURNAL, 0, b"changed\n", Piece.of(JOURNAL, 0, b"sent\n").check),
        Piece.of(JOURNAL, 7, b"later\n"),
        Piece.of("../outside-1-0badcafe.jsonl", 0, b"elsewhere\n"),
        Piece.of("plan.json", 0, b"{}\n"),
    ],
)
def test_what_is_damaged_or_does_not_follow_or_is_no_journal_is_not_written(piece, places):
    _, here = places
    received = Received(here)
    received.take([piece])
    received.close()
    assert [path for path in Path().rglob("*") if path.is_file() and path.stat().st_size] == []


def test_a_client_that_was_killed_within_a_piece_is_continued_where_it_was(places):
    far, here = places
    data = write(far / JOURNAL, 20)
    (here / JOURNAL).write_bytes(data[:17])
    received = Received(here)
    found, whole = cut(far, sizes(far), {JOURNAL: received.size(JOURNAL)})
    received.take(found)
    assert whole
    assert (here / JOURNAL).read_bytes() == data
    received.close()


def test_a_journal_is_closed_when_its_last_line_says_so(places):
    far, _ = places
    journal = Journal(far, environment())
    journal.end(End(0, "done", 1, 0.0, [0] * 6, reason='"t":"close"' + 300 * "x"))
    assert not is_closed(journal.path)
    journal.close()
    assert is_closed(journal.path)


def test_what_the_disk_did_not_store_is_not_acknowledged(places, monkeypatch):
    far, here = places
    data = write(far / JOURNAL, 20)
    first, second = Piece.of(JOURNAL, 0, data[:11]), Piece.of(JOURNAL, 11, data[11:])
    received = Received(here)
    assert received.take([first])

    def fails(_descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", fails)
        with pytest.raises(WorkError, match="Input/output error"):
            received.take([second])
    assert received.size(JOURNAL) == 11
    assert (here / JOURNAL).read_bytes() == data[:11]
    assert received.take([second])
    assert (here / JOURNAL).read_bytes() == data
    received.close()


def test_a_piece_that_is_not_written_is_told(places):
    _, here = places
    received = Received(here)
    assert not received.take([Piece.of(JOURNAL, 7, b"later\n")])
    assert received.take([Piece.of(JOURNAL, 0, b"first\n")])
    assert received.take([Piece.of(JOURNAL, 0, b"first\n")])  # which is there
    received.close()


def test_a_file_that_another_client_wrote_is_synced_before_its_size_is_acknowledged(places, monkeypatch):
    _, here = places
    write(here / JOURNAL, 3)
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    received = Received(here)
    assert received.size(JOURNAL) == (here / JOURNAL).stat().st_size
    assert len(synced) == 1
    received.close()
