"""What became of a store's runs: how each ended, and how many of its studies it finished."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from optarena.status import FINISHED
from optarena.store import RunFile, Store
from optarena.store.columns import Attempt

LIVE, KILLED, QUEUED = "live", "killed", "queued"
RUNNING, LOST, FAILED, ENDED = "running", "lost", "failed", "ended"
REQUEUED = "requeued"


def state(store: Store, run: RunFile) -> str:
    """live; killed, where the process is gone and recorded no end; else how it ended, or ended, where that is unknown.

    On another machine, a process without a heartbeat is gone. queued: none of its pilots has begun, or none runs, and
    one will be started again.
    """
    if run.ended is None:
        if store.is_live(run):
            return LIVE
        last = _last(run, store.runs()) if run.pilots else None
        return QUEUED if last == [] or any(pilot.how == REQUEUED for pilot in last or ()) else KILLED
    return run.how or "ended"


def pilots(store: Store, run: RunFile, runs: Iterable[RunFile]) -> dict[str, int]:
    """How many pilots of a run are queued, running, lost, failed and ended: each by the last process that it had."""
    last = _last(run, runs)
    states = [_of_pilot(store, pilot) for pilot in last]
    if run.ended is None:
        states = [QUEUED if pilot.how == REQUEUED else one for pilot, one in zip(last, states, strict=True)]
        states += [QUEUED] * (run.pilots - len(last))
    counts = {word: states.count(word) for word in (QUEUED, RUNNING, LOST, FAILED, ENDED)}
    return {word: n for word, n in counts.items() if n}


def _of_pilot(store: Store, pilot: RunFile) -> str:
    if store.is_live(pilot):
        return RUNNING
    if pilot.ended is None:
        return LOST
    return FAILED if pilot.how == FAILED else ENDED


def why_failed(run: RunFile, runs: Iterable[RunFile]) -> list[str]:
    """Why pilots of a run failed, each reason once."""
    return list(dict.fromkeys(pilot.reason for pilot in _last(run, runs) if pilot.how == FAILED and pilot.reason))


def _last(run: RunFile, runs: Iterable[RunFile]) -> list[RunFile]:
    """The last process of each pilot of a run that has begun."""
    last: dict[int, RunFile] = {}
    for other in runs:
        if other.of == run.id and (other.pilot not in last or other.time >= last[other.pilot].time):
            last[other.pilot] = other
    return list(last.values())


def finished(attempts: Iterable[Attempt], runs: Sequence[RunFile]) -> dict[str, int]:
    """Run -> how many of the studies that it was to run were finished between its start and its end.

    A run without an end is over when another takes one of its studies: two live runs share none.
    """
    ends: dict[str, list[float]] = {}
    for attempt in attempts if runs else ():
        found = [end.time for end in attempt.ends if end.status in FINISHED]
        ends.setdefault(attempt.start.study, []).extend(found)
    taken: dict[str, float] = {}
    out = {}
    for run in sorted(runs, key=lambda run: run.time, reverse=True):
        last = math.inf if run.ended is None else run.ended
        out[run.id] = sum(
            any(run.time <= time <= min(last, taken.get(study, math.inf)) for time in ends.get(study, ()))
            for study in run.todo
        )
        taken |= dict.fromkeys(run.todo, run.time)
    return out
