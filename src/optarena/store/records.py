"""The lines of a journal, as data. `journal` writes and reads them; `results` makes tables of them.

A line is one JSON object; `t` tells its kind. Non-finite numbers are the texts "inf", "-inf", "nan"; null means absent.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from optarena._json import Number
from optarena.errors import OptarenaError
from optarena.experiment import Budget
from optarena.problem import Known, Objective
from optarena.status import ENDINGS, SYNONYMS

FORMAT_VERSION = 2
"""2: lines of journals and run files have checks (`optarena.store.checks`)."""


class Header(msgspec.Struct, tag_field="t", tag="journal"):
    """The first line of a journal: which format, and the environment of the one process that writes it."""

    version: int
    optarena: str
    host: str
    pid: int
    time: float
    environment: dict[str, Any]
    born: int = 0
    """When the process began, in the kernel's ticks since boot: tells it from a later one with the same pid."""
    locked: bool = False
    """Whether it holds a lock on the journal as long as it lives."""


class ProblemCard(msgspec.Struct, tag_field="t", tag="problem", omit_defaults=True):
    """All that scoring needs of a problem, written once a journal; studies refer to it by `hash`."""

    hash: str
    id: str
    version: str
    space: dict[str, dict[str, Any]]
    dimension: int
    objectives: tuple[Objective, ...] = (Objective(),)
    suite: str = ""
    function: str = ""
    instance: int | None = None
    constraints: int = 0
    metrics: tuple[str, ...] = ()
    known: Known = Known()
    stateless: bool = True
    noisy: bool = False
    versions: dict[str, str] = {}
    source: str | None = None
    signature: tuple[Number, ...] = ()
    """Its values at a few fixed points, where it has any and the process that wrote the card computed them."""

    def __post_init__(self) -> None:
        if not self.objectives:
            raise ValueError("a problem has at least one objective")

    @property
    def imported(self) -> bool:
        """Whether the store only has of it what an imported file tells."""
        return self.version == IMPORTED


class Start(msgspec.Struct, tag_field="t", tag="start", omit_defaults=True):
    """A study begins; `s` is its number in this journal's later lines."""

    s: int
    study: str
    problem: str
    optimizer: str
    use: str
    trial: int
    root: str
    time: float
    budget: Budget
    batch: int = 1
    attempt: int = 0
    settings: dict[str, Any] = {}
    record: str = "all"
    cause: str = ""
    """Why an attempt after the first began: diverged, extended, or retried.

    Extended: beyond a batch that was a remainder, or beyond the seconds that a solver had."""
    versions: dict[str, str] = {}
    source: str | None = None
    seed: str = ""
    """The key of the optimizer's stream, where that does not follow from the plan."""
    isolated: bool = False
    """Whether the optimizer worked in an environment of its own, whose packages are then in `versions`."""
    attributes: dict[str, str] = {}
    """What else an imported file says of the study."""
    life: int = 0
    """Which process in turn works at the attempt, from 1 on: clocks may step back. 0: an older file does not say."""
    had: int = 0
    """How many of its rows were recorded before."""


class RowsWithoutPoints(msgspec.Struct, tag_field="t", tag="e", omit_defaults=True):
    """Evaluations k, k+1, … of study s: objective values in their own senses, and what they cost.

    `w`: nanoseconds, wall and CPU, of suggesting, of evaluating, and of the observe before this line.
    `f`: row -> (status, message) of those that failed. `v`: violations. `m`: hidden metrics, in the card's order.
    Rows that were imported, or that a solver emitted, may say more: `e`, their numbers where these are not k, k+1, …;
    `a`, more numbers by name (`seconds` since the study began, `decisions`, `effort.<name>`, `bound`, `batch`,
    `suggestion`); `n`, texts by name.
    """

    s: int
    k: int
    y: list[list[Number]]
    w: list[int]
    f: dict[int, tuple[str, str]] = {}
    v: list[list[Number]] = []
    m: list[list[Number]] = []
    e: list[int] = []
    a: dict[str, list[Number]] = {}
    n: dict[str, list[str | None]] = {}


class Rows(RowsWithoutPoints, kw_only=True):
    """The same line as it is written: with the points, which most readers pass over.

    A row that a supervisor writes for a worker that it had to kill has an empty point.
    """

    x: list[list[Any]]


class PlainRow(msgspec.Struct, tag_field="t", tag="e"):
    """The same line for one evaluation of which there is nothing else to say: quicker to make and to write."""

    s: int
    k: int
    y: list[list[Number]]
    w: list[int]
    x: list[list[Any]]


class Count(msgspec.Struct, tag_field="t", tag="count", omit_defaults=True):
    """Study s has made k evaluations, of which only improvements are kept; `w`: their cost since the last line."""

    s: int
    k: int
    w: list[int]


class End(msgspec.Struct, tag_field="t", tag="end", omit_defaults=True):
    """A study ended: done, stopped early, failed, timed out or interrupted, after a number of evaluations."""

    s: int
    status: str
    evaluations: int
    time: float
    w: list[int]
    reason: str = ""
    detail: str = ""
    a: dict[str, Number] = {}
    """The values of its effort axes and its bound when it ended: of a solver, or imported as a separate row."""
    word: str = ""
    """A word of `optarena.status.ENDINGS`, where it says more than the status; see `ending`."""
    life: int = 0
    """That of the start that it ends."""
    rows: int = 0
    """How many rows of the attempt were recorded until then, where only improvements are; 0: unknown."""

    @property
    def ending(self) -> str:
        """How it ended, in a word of `optarena.status.ENDINGS`; empty where the status says it all.

        Lines without a word, from before there were any or from imported files, tell it with the reason."""
        told = self.word or self.reason.partition(":")[0]
        told = SYNONYMS.get(told, told)
        return told if told in ENDINGS else ""


class Close(msgspec.Struct, tag_field="t", tag="close"):
    """The last line of a journal whose process ended in order."""


Record: TypeAlias = Header | ProblemCard | Start | Rows | Count | End | Close

IMPORTED = "imported"
"""The version of a problem that a store knows from an imported file only."""


def version_of(text: bytes) -> int:
    """The format that a header or a run file says it has; 0 where it says none."""
    try:
        return int(msgspec.json.decode(text)["version"])
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError, OverflowError, RecursionError):
        return 0


def refuse_newer(path: Path, text: bytes) -> None:
    """Refuse a file that says that it has a newer format; anything else is for the caller to read."""
    version = version_of(text)
    if version > FORMAT_VERSION:
        raise OptarenaError(
            f"{path} has format {version}, this optarena reads up to {FORMAT_VERSION}: pip install --upgrade optarena"
        )
