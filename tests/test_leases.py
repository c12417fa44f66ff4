"""Leases of chunks: who has which, when a pilot counts as lost, and that no chunk is left or given twice."""

from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optarena._process import born, host, place
from optarena._scratch import Scratch
from optarena.errors import OptarenaError
from optarena.store import leases
from optarena.store.leases import Lease, Leases, Process, clear, make_room
from waiting import wait_for

LONG = 1000.0


@pytest.fixture
def room(tmp_path) -> Path:
    make_room(tmp_path / "room")
    return tmp_path / "room"


def elsewhere(leases: Leases, room: Path) -> None:
    """Let a pilot be a process of another machine."""
    facts = Process("another", 1, 1, "another boot")
    (room / "alive" / leases.pilot).write_bytes(msgspec.json.encode(facts) + b"\n")


@given(st.integers(0, 2**32), st.integers(1, 9), st.integers(2, 60))
def test_every_chunk_is_claimed_once_in_whatever_order_pilots_come(seed, pilots, chunks):
    source = random.Random(seed)
    with Scratch("test") as directory:
        room = Path(directory) / "room"
        make_room(room)
        crew = [Leases(room, chunks, source.randrange(chunks), LONG) for _ in range(pilots)]
        held: list[tuple[Leases, Lease]] = []
        claimed = []
        while not all(one.all_done for one in crew):
            one = source.choice(crew)
            lease = one.claim() or one.claim_lost()
            if lease is not None:
                assert lease.turn == 0
                assert lease.chunk < chunks - 1 or (sorted(claimed) == list(range(chunks - 1)) and not held)
                claimed.append(lease.chunk)
                held.append((one, lease))
            if held and source.random() < 0.5:
                holder, lease = held.pop(source.randrange(len(held)))
                holder.finish(lease)
        assert sorted(claimed) == list(range(chunks))


def test_pilots_that_begin_at_different_places_look_at_the_directory_only_when_they_meet(room, monkeypatch):
    crew = [Leases(room, 101, first, LONG) for first in (0, 50)]
    looks = []
    monkeypatch.setattr(Leases, "look", lambda self, look=Leases.look: (looks.append(self), look(self))[1])
    assert [crew[0].claim().chunk for _ in range(50)] == list(range(50))
    assert [crew[1].claim().chunk for _ in range(50)] == list(range(50, 100))
    assert not looks
    assert crew[0].claim() is None
    assert looks


def test_a_pilot_of_another_machine_is_lost_when_its_file_stays_unchanged_on_our_clock(room):
    one, two = Leases(room, 2, 0, 0.2), Leases(room, 2, 0, 0.2)
    elsewhere(one, room)
    os.utime(room / "alive" / one.pilot, (0, 0))  # its clock is half a century behind
    lease = one.claim()
    assert two.claim() is None
    assert two.claim_lost() is None
    assert wait_for(two.claim_lost) == Lease(0, 1)
    assert one.finish(lease) is None
    assert one.all_done is False


def test_a_pilot_whose_heart_beats_keeps_its_leases_however_wrong_its_clock_is(room):
    one, two = Leases(room, 2, 0, 0.2), Leases(room, 2, 0, 0.2)
    elsewhere(one, room)
    one.claim()
    for i in range(100):
        os.utime(room / "alive" / one.pilot, (i, i))
        assert two.claim_lost() is None


def test_a_pilot_that_ends_gives_back_what_it_has(room):
    one, two = Leases(room, 3, 0, LONG), Leases(room, 3, 0, LONG)
    done, open_ = one.claim(), one.claim()
    one.finish(done)
    assert two.claim_lost() is None
    one.end()
    assert two.claim_lost() == Lease(open_.chunk, 1)
    assert two.claim_lost() is None


def test_a_process_of_this_machine_that_is_gone_is_lost_at_once(room):
    one, two = Leases(room, 2, 0, LONG), Leases(room, 2, 0, LONG)
    one.claim()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    facts = Process(host(), child.pid, born(child.pid), place())
    (room / "alive" / one.pilot).write_bytes(msgspec.json.encode(facts) + b"\n")
    assert two.claim_lost() is None
    child.communicate()
    assert two.claim_lost() == Lease(0, 1)


def test_of_two_that_find_a_lost_pilot_one_gets_its_chunk(room):
    one, two, three = (Leases(room, 2, 0, LONG) for _ in range(3))
    one.claim()
    two.look(), three.look()
    one.end()
    found = [two.claim_lost(), three.claim_lost()]
    assert found == [Lease(0, 1), None]


def test_a_pilot_that_was_paused_learns_what_others_took(room, monkeypatch):
    one, two = Leases(room, 3, 0, 0.2), Leases(room, 3, 0, 0.2)
    elsewhere(one, room)
    first, second = one.claim(), one.claim()
    assert wait_for(two.claim_lost) == Lease(0, 1)
    one.beat()
    assert one.lost() == [first.chunk]
    assert one.lost() == []
    one.finish(second)


def test_a_run_whose_leases_are_removed_is_over(room):
    one, two = Leases(room, 2, 0, LONG), Leases(room, 2, 0, LONG)
    one.claim()
    two.look()
    clear(room)
    assert two.claim_lost() is None
    assert two.all_done
    with pytest.raises(FileNotFoundError):
        Leases(room, 2)
    assert not list(room.parent.glob(".room*"))


def test_a_lease_with_another_text_is_not_followed(room):
    (room / "leases" / "0.0").symlink_to("../../../etc/passwd")
    (room / "leases" / "notes.txt").write_text("mine")
    (room / "leases" / "99.0").symlink_to("beyond")
    one = Leases(room, 2, 0, LONG)
    assert one.claim() is None
    assert one.claim_lost() == Lease(0, 1)


def test_after_a_hang_of_the_file_server_nobody_is_taken_for_lost(room, monkeypatch):
    one, two = Leases(room, 2, 0, 60.0), Leases(room, 2, 0, 60.0)
    elsewhere(one, room)
    one.claim()
    now = [time.monotonic()]
    monkeypatch.setattr(leases.time, "monotonic", lambda: now[0])
    for wait in (0, 15, 15, 300):  # the last one is the hang, in which no heart could beat
        now[0] += wait
        assert two.claim_lost() is None
    for _ in range(4):
        now[0] += 15
        assert two.claim_lost() is None
    now[0] += 15  # more than the expiry since the hang
    assert two.claim_lost() == Lease(0, 1)


def test_many_waiting_pilots_watch_a_share_of_the_open_chunks_each_and_all_of_them_together(room, monkeypatch):
    chunks = 100
    busy = [Leases(room, chunks + 1, i, LONG) for i in range(chunks)]
    held = [one.claim() for one in busy]
    waiting = [Leases(room, chunks + 1, 0, LONG) for _ in range(100)]
    asked = []
    monkeypatch.setattr(Leases, "_is_lost", lambda _self, chunk, _turn: asked.append(chunk))
    for one in waiting:
        assert one.claim() is None
        assert one.claim_lost() is None
    assert len(asked) == 100 * leases.WATCHED
    assert set(asked) == set(range(chunks))
    monkeypatch.undo()
    for one, lease in zip(busy[1:], held[1:], strict=True):
        one.finish(lease)
    busy[0].end()
    assert wait_for(waiting[0].claim_lost) == Lease(0, 1)  # whoever watched others finds it when these are done


def test_a_file_system_without_symbolic_links_is_refused_in_a_sentence(tmp_path, monkeypatch):
    def refuses(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(Path, "symlink_to", refuses)
    with pytest.raises(OptarenaError, match="they agree by symbolic links"):
        make_room(tmp_path / "room")
