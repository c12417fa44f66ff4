"""What was read of one path, before it is compared with a store: the lines of a journal, and whose ids they have."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from optarena.experiment import Budget
from optarena.store.records import ProblemCard, Record, Start

NAMESPACE = uuid.UUID("5c1d53a5-95b0-5c0a-8a3f-6f7074617265")
"""The root of all imports: their ids are made under it."""
_encode = msgspec.json.Encoder().encode


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


def imported_start(
    s: int,
    card: ProblemCard,
    optimizer: str,
    trial: int,
    budget: Budget,
    *,
    study: str,
    root: str = "",
    batch: int = 1,
    record: str = "all",
    attributes: Mapping[str, str] | None = None,
) -> Start:
    """The first line of an imported study, whose time is that of the import and is filled in when it is written."""
    return Start(
        s=s,
        study=study,
        problem=card.hash,
        optimizer=optimizer,
        use=optimizer,
        trial=trial,
        root=root or str(NAMESPACE),
        time=0.0,
        budget=budget,
        batch=batch,
        record=record,
        attributes=dict(attributes or {}),
    )


class Cards:
    """The cards of an import, each under the hash of what it says, by which its studies refer to it."""

    def __init__(self) -> None:
        self._by_text: dict[bytes, ProblemCard] = {}

    def add(self, card: ProblemCard) -> tuple[ProblemCard, bool]:
        """The card with its hash, and whether it is a new one; `card.hash` must be empty."""
        text = _encode(card)
        known = self._by_text.setdefault(text, card)
        if known is card:
            card.hash = hashlib.sha256(text).hexdigest()[:16]
        return known, known is card
