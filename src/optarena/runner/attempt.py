"""One attempt of a study, of an optimizer or of a solver: begun, run to its end and recorded, whatever happens.

Everything that goes wrong is data: a row with a status, or an end with a reason. Only an interrupt and a store that
cannot be written leave by an exception. Nothing here knows of pools, plans or progress bars.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol

import msgspec

from optarena._json import Number, printable, strict
from optarena._source import versions_of
from optarena.errors import describe
from optarena.experiment import Study
from optarena.optimizer import Optimizer
from optarena.problem import Subject
from optarena.runner.cell import Cell, NoCell
from optarena.runner.past import Diverged, Past
from optarena.solver import Solver
from optarena.store.journal import Journal, problem_card
from optarena.store.records import End, Start

DETAIL_LENGTH = 4_000
PACKAGE = Path(__file__).parents[1]
_clock = time.time


class Outcome(msgspec.Struct, omit_defaults=True):
    """How a study ended."""

    status: str
    evaluations: int
    reason: str = ""
    detail: str = ""
    ending: str = ""
    """A word of `optarena.status.ENDINGS`, where it says more than the status."""
    failures: int = 0
    """How many evaluations failed."""
    reasons: dict[str, int] = {}
    """Their most frequent reasons, with counts."""


@dataclass
class Attempt:
    """What both kinds of loop work with."""

    study: Study
    journal: Journal
    handle: int
    """The study's number in the journal."""
    past: Past
    cell: Cell | NoCell
    singly: bool = False
    """Evaluations one by one, so that each can be watched."""
    tick: Callable[[int], None] | None = None
    """Called about ten times a second with the number of evaluations, or with each solution."""


class Loop(Protocol):
    """What differs: an optimizer is asked for points to evaluate, a solver runs by itself and emits solutions."""

    @property
    def at_end(self) -> dict[str, Number]:
        """The values of its effort axes when it ended, if it has any."""

    @property
    def evaluations(self) -> int:
        """How many evaluations it has made, or solutions it has met."""

    @property
    def rows(self) -> int:
        """How many rows it has recorded."""

    def to_the_end(self) -> Outcome:
        """Run it; what goes wrong is an outcome."""

    def costs(self) -> list[int]:
        """The costs since its last line, for the next one."""


def begin(
    study: Study,
    subject: Subject,
    cls: type[Optimizer] | type[Solver],
    journal: Journal,
    source: str | None,
    past: Past,
    *,
    signed: bool = True,
) -> Start:
    """Write the start of an attempt: the card with all that scoring needs."""
    card = problem_card(subject, signed=signed)
    versions = versions_of(cls.packages) | cls.versions(study.optimizer.settings)
    start = Start(
        s=0,
        study=study.id,
        problem=card.hash,
        optimizer=study.optimizer.label,
        use=study.optimizer.identity,
        trial=study.trial,
        root=study.root,
        time=_clock(),
        budget=study.budget,
        batch=study.batch,
        attempt=past.attempt,
        settings=strict(study.optimizer.settings),
        record=study.record,
        cause=past.cause,
        versions=versions,
        source=source,
        seed=study.seed,
        isolated=study.optimizer.isolated,
        life=past.life + 1,
        had=past.recorded if study.record != "all" else 0,
    )
    journal.start(start, card)
    return start


def run_attempt(attempt: Attempt, loop: Loop) -> Outcome:
    """Run what was begun, and record how it ended."""
    try:
        outcome = loop.to_the_end()
    except Diverged:
        raise
    except BaseException as error:  # an interrupt, or a store that cannot be written: say so if that is possible
        reason = "by the user" if isinstance(error, KeyboardInterrupt) else describe(error)
        end(attempt, Outcome("interrupted", loop.evaluations, reason), loop.costs(), rows=loop.rows)
        raise
    end(attempt, outcome, loop.costs(), loop.at_end, loop.rows)
    return outcome


def end(
    attempt: Attempt, outcome: Outcome, costs: list[int], at_end: dict[str, Number] | None = None, rows: int = 0
) -> None:
    """Write how an attempt ended; rows: how many were recorded since it began."""
    told = attempt.past.recorded + rows if attempt.study.record != "all" else 0
    attempt.journal.end(
        End(
            attempt.handle,
            outcome.status,
            outcome.evaluations,
            _clock(),
            costs,
            outcome.reason,
            outcome.detail,
            at_end or {},
            outcome.ending,
            attempt.past.life + 1,
            told,
        )
    )


def traceback_of(error: BaseException | None) -> str:
    """The end of an exception's traceback, as far as it lets itself be printed; it begins in the code that is run, not
    in the code that runs it."""
    if error is None:
        return ""
    try:
        return printable("".join(traceback.format_exception(type(error), error, _theirs(error))))[-DETAIL_LENGTH:]
    except Exception:
        return ""


def _theirs(error: BaseException) -> TracebackType | None:
    """Where a traceback leaves this package; all of it, where it does not."""
    whole = found = error.__traceback__
    while found is not None and Path(found.tb_frame.f_code.co_filename).is_relative_to(PACKAGE):
        found = found.tb_next
    return found or whole
