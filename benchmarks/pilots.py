"""What pilots cost: scheduling per study with 8 pilots on one machine, and requests of up to 1,000 simulated pilots.

    python benchmarks/pilots.py [STUDIES] [--write]

The first part runs an experiment with one process and one worker, and then with 8 pilots of one worker each. Both run
the same studies, so that the difference of their CPU time is scheduling: the start of all pilots, planning, claiming,
heartbeats, the last look at the store; and, less what each costs with few studies, what a further study adds. Both are
repeated in turn; the median counts.

The second part has no workers and no evaluations. Pilots claim and finish chunks in a real directory, and what they ask
of the file system is counted. Time is simulated: a chunk takes MEAN_SECONDS on average, some much longer, and a pilot
with nothing to claim looks as often as a real one. So the end of a run, when most pilots wait for the last chunks, is
part of it. --write: also the tables of docs/benchmarks/pilots.md.
"""

from __future__ import annotations

import contextlib
import heapq
import io
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

import optarena as oa
from _measure import load
from many_studies import cpu
from optarena.runner.local import run
from optarena.runner.pilot import CHUNKS_PER_PILOT, LARGEST_CHUNK, announce
from optarena.store import leases
from optarena.store.leases import EXPIRY_SECONDS, Lease, Leases, Process, make_room

PILOTS = 8
REPEATS = 3
FEW = 400
"""Studies of a run that costs hardly more than its start."""
MEAN_SECONDS = 60.0
CALLS = ("symlink", "readlink", "listdir", "lstat", "stat", "open", "utime", "unlink")


def experiment(studies: int) -> oa.Experiment:
    return oa.Experiment(["RandomSearch"], "functions/sphere/d{2..51}", 1, trials=max(1, studies // 50))


def by_pilots(place: Path, studies: int) -> None:
    made = announce(experiment(studies), place, pilots=PILOTS)
    assert made.run is not None
    command = [sys.executable, "-m", "optarena", "pilot", str(place), made.run.id, "--workers", "1"]
    crew = [subprocess.Popen([*command, "--number", str(i + 1)], stdout=subprocess.DEVNULL) for i in range(PILOTS)]
    assert [one.wait() for one in crew] == [0] * PILOTS


def measured(studies: int) -> str:
    """The same studies by one process and by pilots, in turn, so that a busy machine disturbs both alike."""
    whole, each = [], []
    with tempfile.TemporaryDirectory() as directory:
        here = Path(directory)
        for i in range(REPEATS):
            pilots = {n: cpu(lambda n=n, i=i: by_pilots(here / f"p{n}-{i}", n)) for n in (FEW, studies)}
            local = {n: cpu(lambda n=n, i=i: run(experiment(n), here / f"l{n}-{i}", workers=1)) for n in (FEW, studies)}
            whole.append((pilots[studies] - local[studies]) / studies)
            each.append((pilots[studies] - pilots[FEW] - local[studies] + local[FEW]) / (studies - FEW))
    lines = [f"{studies:,} studies of one evaluation, {PILOTS} pilots with one worker each ({load()})."]
    for what, found in (("in all, with the start of all pilots", whole), ("for each further study", each)):
        low, middle, high = (f"{value * 1e3:.2f}" for value in (min(found), statistics.median(found), max(found)))
        lines.append(f"CPU added by pilots, {what}: {middle} ms per study ({low} to {high} in {REPEATS} repeats).")
    return "\n".join(lines)


class Clock:
    """Simulated time, for leases."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


class Count(NamedTuple):
    """What pilots asked of the file system."""

    all: Counter[str]
    waiting: int
    """Requests of pilots that had nothing to claim."""
    names: int
    """Names in all lists of directories."""
    cpu: float


def simulated(studies: int, pilots: int) -> Count:
    """What pilots ask for while they claim and finish all chunks."""
    size = max(1, min(LARGEST_CHUNK, studies // (CHUNKS_PER_PILOT * pilots)))
    chunks = -(-studies // size) + 1
    asked: Counter[str] = Counter()
    source, clock = random.Random(1), Clock()
    waiting = names = 0

    def counting(usual: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal names
            asked[name] += 1
            found = usual(*arguments, **options)
            names += len(found) if name == "listdir" else 0
            return found

        return call

    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as stack:
        room = Path(directory) / "room"
        make_room(room)
        crew = [Leases(room, chunks, chunks * i // pilots) for i in range(pilots)]
        for one in crew:  # each on a machine of its own
            (room / "alive" / one.pilot).write_bytes(msgspec.json.encode(Process(one.pilot, 1, 1, "elsewhere")) + b"\n")
        for module, name in [*((os, name) for name in CALLS), (io, "open")]:
            stack.callback(setattr, module, name, getattr(module, name))
            setattr(module, name, counting(getattr(module, name), name))
        stack.callback(setattr, leases, "time", leases.time)
        leases.time = clock
        began = time.process_time()
        due = [(source.uniform(0.0, 10.0), i) for i in range(pilots)]
        heapq.heapify(due)
        held: list[Lease | None] = [None] * pilots
        pauses = [1.0] * pilots
        while due:
            clock.now, i = heapq.heappop(due)
            one, lease = crew[i], held[i]
            if lease is not None:
                one.finish(lease)
            before = asked.total()
            held[i] = one.claim()
            if held[i] is None and not one.all_done:
                held[i] = one.claim_lost()
                waiting += asked.total() - before
            if held[i] is not None:
                pauses[i] = 1.0
                heapq.heappush(due, (clock.now + source.expovariate(1 / MEAN_SECONDS), i))
            elif not one.all_done:
                pauses[i] = min(pauses[i] * 1.5, EXPIRY_SECONDS / 4)
                heapq.heappush(due, (clock.now + pauses[i] * source.uniform(0.5, 1.5), i))
            # the others are alive: a heart that beats is counted apart
            one._seen.clear()
        return Count(asked, waiting, names, time.process_time() - began)


def table(pairs: Iterable[tuple[int, int]]) -> str:
    lines = ["| pilots | studies | requests per study | of waiting pilots, per pilot | names in lists, per pilot |"]
    lines += ["| ---: | ---: | ---: | ---: | ---: |"]
    for pilots, studies in pairs:
        found = simulated(studies, pilots)
        requests = found.all.total()
        lines.append(
            f"| {pilots:,} | {studies:,} | {requests / studies:.3f} | {found.waiting / pilots:,.0f}"
            f" | {found.names / pilots:,.0f} |"
        )
        print(lines[-1], f"({', '.join(f'{name} {n:,}' for name, n in found.all.most_common(6))}; {found.cpu:.0f} s)")
    return "\n".join(lines)


PAGE = """## What pilots cost

`benchmarks/pilots.py`. {cpu}

Simulated pilots, which claim and finish chunks in a real directory and do nothing else; a chunk takes {mean:.0f} s of
simulated time on average ({load}).

{table}

A request is one call of the operating system with a name: open, link, stat. A list of a directory is one call here and
one request per some hundred names on a network file system.
"""


def main() -> None:
    words = [word for word in sys.argv[1:] if word != "--write"]
    text = measured(int(words[0]) if words else 10_000)
    sizes = [*((pilots, 100_000) for pilots in (50, 100, 200)), (200, 50_000), (200, 25_000), (1000, 1_000_000)]
    found = table(sizes)
    page = PAGE.format(cpu=text, mean=MEAN_SECONDS, load=load(), table=found)
    print(page)
    if "--write" in sys.argv:
        (Path(__file__).parent.parent / "docs" / "benchmarks" / "pilots.md").write_text(page)


if __name__ == "__main__":
    main()
