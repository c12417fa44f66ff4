"""What a study is charged for the calls of others' code."""

from __future__ import annotations

import pytest

from optarena.runner import meter as meter_
from optarena.runner.meter import Meter
from optarena.store.costs import EVALUATE, OBSERVE, SUGGEST


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0
        self.read = 0

    def __call__(self) -> int:
        self.read += 1
        return self.now


@pytest.fixture
def clocks(monkeypatch):
    wall, cpu = Clock(), Clock()
    monkeypatch.setattr(meter_, "_wall", wall)
    monkeypatch.setattr(meter_, "_cpu", cpu)

    def pass_(ns: int, busy: bool = True) -> None:
        wall.now += ns
        cpu.now += ns * busy

    return pass_, cpu


def call(meter, clocks, phase, ns, busy=True):
    meter.start()
    clocks[0](ns, busy)
    meter.stop(phase)


def test_a_phase_is_charged_what_its_calls_took(clocks):
    meter = Meter()
    for phase, ns in ((SUGGEST, 2_000), (EVALUATE, 5_000_000), (OBSERVE, 70_000), (EVALUATE, 1)):
        call(meter, clocks, phase, ns)
        clocks[0](3_000)  # the harness itself, which nobody is charged
    assert meter.pending() == [2_000, 2_000, 5_000_001, 5_000_001, 70_000, 70_000]
    assert meter.pending() == [0] * 6
    assert meter.spent == 5_072_001


def test_a_call_that_waits_is_charged_wall_time_and_no_cpu_time(clocks):
    meter = Meter()
    call(meter, clocks, SUGGEST, 5_000)
    call(meter, clocks, EVALUATE, 10**9, busy=False)
    assert meter.pending() == [5_000, 5_000, 10**9, 0, 0, 0]


def test_a_harness_that_waits_between_calls_charges_nobody(clocks):
    meter = Meter()
    call(meter, clocks, SUGGEST, 5_000)
    clocks[0](10**8, busy=False)  # a disk that takes its time
    call(meter, clocks, EVALUATE, 20_000)
    assert meter.pending() == [5_000, 5_000, 20_000, 20_000, 0, 0]


def test_cpu_time_is_read_once_a_millisecond_where_calls_are_short(clocks):
    meter = Meter()
    for _ in range(1_000):
        call(meter, clocks, EVALUATE, 1_000)
        clocks[0](1_000)
    assert clocks[1].read <= 4
    assert meter.pending()[EVALUATE : EVALUATE + 2] == [1_000_000, 1_000_000]


def test_while_free_nothing_is_charged(clocks):
    meter = Meter(spent=7)
    meter.free = True
    call(meter, clocks, EVALUATE, 10**6)
    meter.free = False
    assert meter.spent == 7
    assert meter.pending() == [0] * 6
