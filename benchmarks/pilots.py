"""What pilots cost: scheduling per study with 8 pilots on one machine, and 200 simulated pilots with 100,000 studies.

    python benchmarks/pilots.py [STUDIES]

The first part runs an experiment with one process and one worker, and then with 8 pilots of one worker each. Both run
the same studies, so that the difference of their CPU time is scheduling: the start of all pilots, planning, claiming,
heartbeats, the last look at the store; and, less what each costs with few studies, what a further study adds. Both are
repeated in turn; the median counts. The second part has no workers and no evaluations: pilots in
turn claim and finish chunks in a real directory, and what they ask of the file system is counted. It is done for a
quarter, a half and all of the studies, to show that the cost of a study does not grow.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import optarena as oa
from _measure import load
from many_studies import cpu
from optarena.runner.local import run
from optarena.runner.pilot import CHUNKS_PER_PILOT, LARGEST_CHUNK, announce
from optarena.store.leases import BEAT_SECONDS, Lease, Leases, make_room

PILOTS = 8
REPEATS = 3
FEW = 400
"""Studies of a run that costs hardly more than its start."""
SIMULATED = 200
CALLS = ("symlink", "readlink", "listdir", "lstat", "stat", "open", "utime")


def experiment(studies: int) -> oa.Experiment:
    return oa.Experiment(["RandomSearch"], "functions/sphere/d{2..51}", 1, trials=max(1, studies // 50))


def by_pilots(place: Path, studies: int) -> None:
    made = announce(experiment(studies), place, pilots=PILOTS)
    assert made.run is not None
    command = [sys.executable, "-m", "optarena", "pilot", str(place), made.run.id, "--workers", "1"]
    crew = [subprocess.Popen([*command, "--number", str(i + 1)], stdout=subprocess.DEVNULL) for i in range(PILOTS)]
    assert [one.wait() for one in crew] == [0] * PILOTS


def measured(studies: int) -> None:
    """The same studies by one process and by pilots, in turn, so that a busy machine disturbs both alike."""
    whole, each = [], []
    with tempfile.TemporaryDirectory() as directory:
        here = Path(directory)
        for i in range(REPEATS):
            pilots = {n: cpu(lambda n=n, i=i: by_pilots(here / f"p{n}-{i}", n)) for n in (FEW, studies)}
            local = {n: cpu(lambda n=n, i=i: run(experiment(n), here / f"l{n}-{i}", workers=1)) for n in (FEW, studies)}
            whole.append((pilots[studies] - local[studies]) / studies)
            each.append((pilots[studies] - pilots[FEW] - local[studies] + local[FEW]) / (studies - FEW))
    print(f"{studies:,} studies of one evaluation, {PILOTS} pilots on {os.cpu_count()} cores ({load()})")
    for what, found in (("in all, with the start of all pilots", whole), ("for each further study", each)):
        low, middle, high = (f"{value * 1e3:.2f}" for value in (min(found), statistics.median(found), max(found)))
        print(
            f"  CPU added by pilots, {what}: {middle} ms per study ({low} to {high} in {REPEATS} repeats; to reach: 2)"
        )


def simulated(studies: int, pilots: int) -> tuple[float, Counter[str]]:
    """CPU seconds of claiming and finishing all chunks, pilot by pilot in turn, and the requests that they made."""
    size = max(1, min(LARGEST_CHUNK, studies // (CHUNKS_PER_PILOT * pilots)))
    chunks = -(-studies // size) + 1
    asked: Counter[str] = Counter()
    usual = {name: getattr(os, name) for name in CALLS}

    def counting(name: str):
        def call(*arguments, **options):
            asked[name] += 1
            return usual[name](*arguments, **options)

        return call

    with tempfile.TemporaryDirectory() as directory:
        make_room(Path(directory) / "room")
        crew = [Leases(Path(directory) / "room", chunks, chunks * i // pilots, 1000.0) for i in range(pilots)]
        for name in CALLS:
            setattr(os, name, counting(name))
        try:
            began = time.process_time()
            held: dict[Leases, Lease | None] = dict.fromkeys(crew)
            while not all(one.all_done for one in crew):
                for one in crew:
                    lease = held[one]
                    if lease is not None:
                        one.finish(lease)
                    held[one] = one.claim() or (None if one.all_done else one.claim_lost())
            return time.process_time() - began, asked
        finally:
            for name in CALLS:
                setattr(os, name, usual[name])


def main() -> None:
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    measured(studies)
    print(f"{SIMULATED} simulated pilots, no evaluation time ({load()})")
    for part in (25_000, 50_000, 100_000):
        spent, asked = simulated(part, SIMULATED)
        requests = sum(asked.values())
        print(
            f"  {part:>7,} studies: {spent / part * 1e6:5.1f} us and {requests / part:.3f} requests per study"
            f" ({', '.join(f'{name} {n:,}' for name, n in asked.most_common(4))})"
        )
    print(f"  heartbeats: {SIMULATED / BEAT_SECONDS:.0f} requests per second")


if __name__ == "__main__":
    main()
