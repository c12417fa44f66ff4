"""What a store already has of a study, and how a loop goes through it again without evaluating.

Replay calls `suggest` and `observe` as before and answers with the recorded values. If a suggestion is not the
recorded one, the past cannot be continued: `Diverged`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import msgspec
import numpy as np

from optarena.costs import COSTS, column
from optarena.experiment import Study
from optarena.optimizer import Optimizer
from optarena.problem import Problem, Subject
from optarena.runner.recorded import Recorded, Row, gathered
from optarena.status import NOT_REPEATABLE
from optarena.store.columns import Columns
from optarena.store.costs import NANOSECONDS, WALL


class Diverged(Exception):
    """What was suggested or evaluated again is not what was recorded."""

    def __init__(self, evaluation: int, text: str) -> None:
        super().__init__(f"evaluation {evaluation}: {text}")
        self.evaluation = evaluation


class Past(msgspec.Struct):
    """What is recorded of a study's newest attempt, as plain data that goes to a worker."""

    attempt: int = 0
    cause: str = ""
    rows: Recorded = msgspec.field(default_factory=Recorded)
    counted: int = 0
    """How many evaluations were made, where only some of them are here."""
    spent: int = 0
    """Nanoseconds that the recorded part was charged."""
    observed: bool = False
    """Whether observing the last rows was charged, too: by the end that followed them."""
    remainder: int | None = None
    """Where the study once ended within a batch, if it did: beyond it a larger budget asks for other batches."""
    life: int = 0
    """Which process in turn was the last to work at it."""
    lost: bool = False
    """Rows are missing that were recorded once, of a study that keeps improvements only: they are written again."""
    answers_only: bool = False
    """The rows are failures to be answered as they were; all others are evaluated as if nothing were recorded."""
    costs: dict[str, float] = {}
    """What was reported as spent beside time until evaluation `costs_at`."""
    costs_at: int = 0
    in_store: bool = False
    """All evaluations so far are recorded, of which only some are here; for an optimizer that does not learn."""

    @property
    def recorded(self) -> int:
        """How many rows are recorded."""
        return len(self.rows)

    @property
    def last(self) -> int:
        """The number of the last evaluation that is known to have been made."""
        return max(self.counted, self.rows.last)

    def has(self, k: int) -> bool:
        """Whether an evaluation is recorded."""
        return self.rows.find(k) is not None or (self.in_store and k <= self.counted)

    def extended(self, more: Past | None) -> Past:
        """With what another process added: more rows of the same attempt, or a later attempt."""
        if more is None or more.attempt < self.attempt:
            return self
        if more.attempt > self.attempt:
            return more
        return Past(
            attempt=self.attempt,
            cause=self.cause or more.cause,
            rows=self.rows.joined(more.rows),
            counted=max(self.counted, more.counted),
            spent=self.spent + more.spent,
            observed=more.observed if len(more.rows) else self.observed,
            life=max(self.life, more.life),
            remainder=self.remainder,
            lost=self.lost or more.lost,
            costs=more.costs if more.costs_at > self.costs_at else self.costs,
            costs_at=max(self.costs_at, more.costs_at),
            in_store=self.in_store,
        )


def check_point(k: int, known: Row, x: list[Any]) -> None:
    """The recorded point must be the one suggested now (a killed worker's row has none)."""
    if known.x and known.x != x:
        raise Diverged(k, f"suggested {_short(x)}, but recorded is {_short(known.x)}")


def check_values(k: int, known: Row, y: list[float], violations: list[float], metrics: list[float]) -> None:
    """What is evaluated again must give what is recorded."""
    for now, was in ((y, known.y), (violations, known.violations), (metrics, known.metrics)):
        if not np.array_equal(was, now, equal_nan=True):
            raise Diverged(k, f"gave {_short(now)}, but recorded is {_short(was)}")


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 100 else text[:97] + "…"


def from_columns(columns: Columns, study: str) -> Past | None:
    """What a store has of a study: its newest attempt."""
    return _whole(read_past(columns, study))


def _whole(steps: Iterator[Past | None]) -> Past | None:
    past = None
    for past in steps:  # noqa: B007
        pass
    return past


def read_past(columns: Columns, study: str) -> Iterator[Past | None]:
    """What a store has of a study: its newest attempt. None while that is being read, then the past (or None).

    Of columns that only have the rows that scores depend on: those rows, `in_store`.
    """
    owner = columns.newest.get(study)
    if owner is None:
        return
    attempt = columns.attempts[owner]
    start = attempt.start
    low, high = np.searchsorted(columns.owner, [owner, owner + 1])
    rows = np.arange(low, high)[~columns.counts_only[low:high]]
    found: Recorded | None = None
    for found in gathered(columns, rows):
        if found is None:
            yield None
    assert found is not None
    if columns.thin:
        made = counted = int(columns.tally.last[owner])
        spent = round(columns.tally.spent[owner, WALL].sum())
    else:
        made = int(columns.evaluation[high - 1]) if high > low else 0
        counted = attempt.counted if start.record != "all" else 0
        spent = round(columns.costs[low:high, WALL].sum() * NANOSECONDS)
    ended = [end.evaluations for end in attempt.ends if end.status == "done"]
    within = [n for n in ended if n % start.batch]
    told = {name: columns.extras[column(name)][rows] for name in COSTS if column(name) in columns.extras}
    said = {name: np.flatnonzero(~np.isnan(numbers)) for name, numbers in told.items()}
    yield Past(
        attempt=start.attempt,
        cause=start.cause,
        rows=found,
        counted=counted,
        spent=spent + sum(end.w[phase] for end in attempt.ends for phase in WALL),
        observed=any(end.evaluations == made for end in attempt.ends),
        remainder=max(within, default=None),
        life=start.life,
        lost=start.record != "all" and (attempt.told > len(rows) or bool(columns.damage)),
        costs={name: float(told[name][at[-1]]) for name, at in said.items() if len(at)},
        costs_at=max((int(columns.evaluation[rows[at[-1]]]) for at in said.values() if len(at)), default=0),
        in_store=columns.thin,
    )


def needs_no_rows(columns: Columns, study: Study, cls: type, subject: Subject) -> bool:
    """Whether a study continues without its recorded rows: nothing that follows depends on them, and none is missing.

    columns: those of a complete store, with the counts of all rows.
    """
    owner = columns.newest.get(study.id)
    if owner is None or not (issubclass(cls, Optimizer) and isinstance(subject, Problem)):
        return False
    attempt, tally = columns.attempts[owner], columns.tally
    asks_ahead = cls.capabilities.ahead and study.budget.target is None and subject.stateless
    kept = study.record == attempt.start.record == "all" and tally.rows[owner] == tally.last[owner]
    return bool(asks_ahead and kept and not attempt.conflicts)


class Pasts:
    """What a store has of studies: every row of some, and of the others what all their rows said, counted."""

    def __init__(self, rows: Columns, of: Collection[str], counted: Columns) -> None:
        """of: the studies that have all their rows; the columns may name others."""
        self._rows, self._of, self._counted = rows, of, counted

    def read(self, study: Study, retry: bool) -> Iterator[Past | None]:
        """What a study continues from; None while that is being read."""
        return read_continued(self._rows if study.id in self._of else self._counted, study, retry)

    def whole(self, study: Study, retry: bool) -> Past | None:
        """The same at once."""
        return _whole(self.read(study, retry))


def read_continued(columns: Columns, study: Study, retry: bool = False) -> Iterator[Past | None]:
    """What a study continues from; None while that is being read, then the past (or None).

    A study that does not repeat cannot continue. Nor can the retry of one that failed because all its evaluations did:
    they would be answered by the same failures again. A solver always starts again; earlier solutions stay, unscored.
    """
    owner = columns.newest.get(study.id)
    if owner is None:
        return
    last = columns.attempts[owner]
    ends = last.ends
    if study.solver:
        done = any(end.status == "done" for end in ends)
        yield Past(attempt=last.start.attempt + 1, cause="extended" if done else "retried")
        return
    past: Past | None = None
    for past in read_past(columns, study.id):
        if past is None:
            yield None
    assert past is not None
    made = past.counted if past.in_store else len(past.rows)
    in_full = np.count_nonzero(past.rows.status) == made > 0 and any(end.status == "failed" for end in ends)
    if (retry and in_full) or any(end.ending == NOT_REPEATABLE for end in ends):
        past = Past(attempt=past.attempt + 1, cause="retried")
    yield past
