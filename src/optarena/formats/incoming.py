"""What was read of one path, before it is compared with a store: the lines of a journal, and whose ids they have."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from optarena.formats.tidy import NAMESPACE
from optarena.store.records import Record


@dataclass
class Incoming:
    """The lines of a journal, without its header; times are left at 0."""

    name: str
    records: list[Record]
    notices: list[str] = field(default_factory=list)
    """What was left out or assumed, and why."""
    ids_stated: bool = True
    """Whether the file identifies its studies; else they are compared by what they found."""
    trials_stated: bool = True
    """Whether the file numbers its trials; else they are counted, after those of the store."""
    sources: dict[int, str] = field(default_factory=dict)
    """Study number -> the data file that it is from. Equal runs in one file are repetitions, in two files copies."""


def study_id(problem: str, optimizer: str, trial: int, instance: int | None) -> str:
    """The id of a study that was imported without one."""
    identity = [problem, optimizer, trial] + ([instance] if instance is not None else [])
    return str(uuid.uuid5(NAMESPACE, repr(identity)))
