"""Seconds of different machines: as they were measured, as of one machine, or refused (docs/scores.md 0.6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from optarena._numbers import counted
from optarena.errors import OptarenaError
from optarena.store import RunFile
from optarena.store.records import Header, ProblemCard
from optarena.traces import Floats, Ints

TOLERANCE = 0.2
"""Relative: machines whose speeds differ by no more count as equally fast."""
TIMES = ("seconds", "cpu_seconds")
"""The axes of effort that depend on the machine."""
NAMED = 3


class Machine(NamedTuple):
    host: str
    cpu: str

    def __str__(self) -> str:
        return f"{self.host} ({self.cpu})" if self.cpu else self.host


@dataclass(frozen=True)
class Clocks:
    """How to read the seconds of some studies."""

    scale: Floats | None = None
    """(studies,): what a second counts; NaN where a study ran on machines of different speed. None: 1 for all."""
    note: str = ""
    """What a reader of seconds should know."""
    refusal: str = ""
    """Why seconds cannot be compared."""

    @property
    def differ(self) -> bool:
        """Whether some machine is known or suspected to be faster than another."""
        return self.scale is not None or bool(self.refusal)

    def scaled(self, axis: str, values: Floats, times: Ints | None = None) -> Floats:
        """Efforts on an axis, one per study (or `times` per study), so that they can be compared."""
        if axis not in TIMES:
            return values
        if self.refusal:
            raise OptarenaError(self.refusal)
        if self.scale is None:
            return values
        return values * (self.scale if times is None else np.repeat(self.scale, times))

    def notes(self, axis: str, limited: int) -> list[str]:
        """What a view by this axis says; limited: how many studies had a budget in seconds."""
        if axis in TIMES:
            return [self.note] if self.note else []
        if limited and self.differ:
            return [f"{counted(limited, 'study')} had a budget in seconds, on machines of different speed"]
        return []


def machines_of(card: ProblemCard, headers: Iterable[Header]) -> set[Machine]:
    """The machines that worked at an attempt; none where it was imported."""
    if card.imported:
        return set()
    ran = (header for header in headers if "imported" not in header.environment)
    return {Machine(header.host, str(header.environment.get("cpu", ""))) for header in ran}


def clocks_of(groups: Sequence[set[Machine]], group: Ints, runs: Iterable[RunFile]) -> Clocks:
    """One machine, or equally fast ones: as measured. All speeds known: as on the machine of most studies.

    groups: machines that worked together; group: which of them each study has.
    """
    used: Counter[Machine] = Counter()
    for found, count in zip(groups, np.bincount(group, minlength=len(groups)).tolist(), strict=True):
        used.update(dict.fromkeys(found, count))
    if len(used) < 2:
        return Clocks()
    speeds = _speeds(runs)
    unknown = sorted(machine for machine in used if machine not in speeds)
    if unknown:
        return Clocks(
            refusal=f"seconds of different machines cannot be compared: {listed(sorted(used))} ran these studies, and"
            f" the speed of {listed(unknown)} was not measured; choose one machine (--machine {_word(used)}) or another"
            " --axis"
        )
    fastest, slowest = max(speeds[m] for m in used), min(speeds[m] for m in used)
    if _alike(fastest, slowest):
        return Clocks(
            note=f"seconds are as measured on {len(used)} machines, whose speeds differ by less than {TOLERANCE:.0%}"
        )
    reference = max(used, key=lambda machine: (used[machine], speeds[machine], machine))
    scale = np.array([_scale(found, speeds, speeds[reference]) for found in groups])[group]
    others = [f"{m} x {speeds[m] / speeds[reference]:.2f}" for m in sorted(used) if m != reference]
    mixed = int(np.isnan(scale).sum())
    note = f"seconds are converted to those of {reference} by a calibration: {listed(others)}"
    if mixed:
        note += f"; {counted(mixed, 'study')} ran on machines of different speed and {'has' if mixed == 1 else 'have'}"
        note += " no seconds"
    if not all(groups):
        note += "; imported seconds stay as they are"
    return Clocks(scale, note)


def _speeds(runs: Iterable[RunFile]) -> dict[Machine, float]:
    """The fastest that each machine was: what disturbs a measurement makes it slower."""
    out: dict[Machine, float] = {}
    for run in runs:
        speed = run.machine.get("speed")
        if isinstance(speed, (int, float)) and np.isfinite(speed) and speed > 0:
            key = Machine(run.host, str(run.machine.get("cpu", "")))
            out[key] = max(out.get(key, 0.0), float(speed))
    return out


def _scale(machines: set[Machine], speeds: dict[Machine, float], reference: float) -> float:
    if not machines:
        return 1.0
    found = [speeds[machine] for machine in machines]
    return max(found) / reference if _alike(max(found), min(found)) else float("nan")


def _alike(fast: float, slow: float) -> bool:
    return fast <= slow * (1 + TOLERANCE)


def listed(items: Sequence[object]) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(items) - NAMED} more" if len(items) > NAMED else ""
    return ", ".join(map(str, items[:NAMED])) + more


def _word(used: Counter[Machine]) -> str:
    return used.most_common(1)[0][0].host
