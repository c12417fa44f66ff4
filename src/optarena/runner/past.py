"""What a store already has of a study, and how a loop goes through it again without evaluating.

Replay calls `suggest` and `observe` as before and answers with the recorded values. If a suggestion is not the
recorded one, the past cannot be continued: `Diverged`.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from optarena._json import Number, numbers
from optarena.experiment import Study
from optarena.status import EVALUATION, NOT_REPEATABLE
from optarena.store.columns import Columns
from optarena.store.costs import NANOSECONDS, WALL
from optarena.store.records import Rows


class Diverged(Exception):
    """What was suggested or evaluated again is not what was recorded."""

    def __init__(self, evaluation: int, text: str) -> None:
        super().__init__(f"evaluation {evaluation}: {text}")
        self.evaluation = evaluation


class Past(msgspec.Struct):
    """The recorded rows of a study's newest attempt, as plain data that goes to a worker."""

    attempt: int = 0
    cause: str = ""
    rows: list[Rows] = []
    counted: int = 0
    """How many evaluations were made, where only improvements are kept."""
    spent: int = 0
    """Nanoseconds that the recorded part was charged."""
    observed: bool = False
    """Whether observing the last rows was charged, too: by the end that followed them."""
    remainder: int | None = None
    """Where the study once ended within a batch, if it did: beyond it a larger budget asks for other batches."""
    life: int = 0
    """Which process in turn was the last to work at it."""
    answers_only: bool = False
    """The rows are failures to be answered as they were; all others are evaluated as if nothing were recorded."""

    @property
    def recorded(self) -> int:
        """How many rows are recorded."""
        return sum(len(line.y) for line in self.rows)

    @property
    def last(self) -> int:
        """The number of the last evaluation that is known to have been made."""
        return max([self.counted, *(line.k + len(line.y) - 1 for line in self.rows)])

    def extended(self, more: Past | None) -> Past:
        """With what another process added: more rows of the same attempt, or a later attempt."""
        if more is None or more.attempt < self.attempt:
            return self
        if more.attempt > self.attempt:
            return more
        known = self.by_evaluation()
        return Past(
            attempt=self.attempt,
            cause=self.cause or more.cause,
            rows=[*self.rows, *(line for line in more.rows if line.k not in known)],
            counted=max(self.counted, more.counted),
            spent=self.spent + more.spent,
            observed=more.observed if more.rows else self.observed,
            life=max(self.life, more.life),
            remainder=self.remainder,
        )

    def by_evaluation(self) -> dict[int, Row]:
        out = {}
        for line in self.rows:
            for i, y in enumerate(line.y):
                status, message = line.f.get(i, ("ok", ""))
                out[line.k + i] = Row(
                    line.x[i] if i < len(line.x) else [],
                    [np.nan if v is None else float(v) for v in y],
                    status,
                    message,
                    _floats(line.v[i]) if line.v else [],
                    _floats(line.m[i]) if line.m else [],
                )
        return out


def _floats(row: list[Number]) -> list[float]:
    return [np.nan if value is None else float(value) for value in row]


class Row(msgspec.Struct):
    """One recorded evaluation."""

    x: list[Any]
    y: list[float]
    status: str
    message: str
    violations: list[float]
    metrics: list[float]

    def check_point(self, k: int, x: list[Any]) -> None:
        """The recorded point must be the one suggested now (a killed worker's row has none)."""
        if self.x and self.x != x:
            raise Diverged(k, f"suggested {_short(x)}, recorded was {_short(self.x)}")

    def check_values(self, k: int, y: list[float], violations: list[float], metrics: list[float]) -> None:
        for now, was in ((y, self.y), (violations, self.violations), (metrics, self.metrics)):
            if not np.array_equal(was, now, equal_nan=True):
                raise Diverged(k, f"gave {_short(now)}, recorded was {_short(was)}")


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 100 else text[:97] + "…"


def from_columns(columns: Columns, study: str) -> Past | None:
    """What a store has of a study: its newest attempt."""
    owner = columns.newest.get(study)
    if owner is None:
        return None
    attempt = columns.attempts[owner]
    card, start = attempt.card, attempt.start
    low, high = np.searchsorted(columns.owner, [owner, owner + 1])
    rows = np.arange(low, high)[~columns.counts_only[low:high]]
    lines = []
    for row, point in zip(rows.tolist(), columns.points(rows), strict=True):
        status = EVALUATION[columns.status[row]]
        line = Rows(
            s=0,
            k=int(columns.evaluation[row]),
            x=[point] if point else [],
            y=[numbers(columns.values[row, : len(card.objectives)].tolist())],
            w=[],
        )
        if status != "ok":
            line.f = {0: (status, columns.messages.get(row, ""))}
        if card.constraints:
            line.v = [numbers(columns.violations[row, : card.constraints].tolist())]
        if card.metrics:
            line.m = [numbers(columns.metrics[row, : len(card.metrics)].tolist())]
        lines.append(line)
    made = int(columns.evaluation[high - 1]) if high > low else 0
    ended = [end.evaluations for end in attempt.ends if end.status == "done"]
    within = [n for n in ended if n % start.batch]
    return Past(
        attempt=start.attempt,
        cause=start.cause,
        rows=lines,
        counted=attempt.counted if start.record != "all" else 0,
        spent=round(columns.costs[low:high, WALL].sum() * NANOSECONDS)
        + sum(end.w[phase] for end in attempt.ends for phase in WALL),
        observed=any(end.evaluations == made for end in attempt.ends),
        remainder=max(within, default=None),
        life=start.life,
    )


def continued(columns: Columns, study: Study, retry: bool = False) -> Past | None:
    """What a study goes on from: its newest attempt, or a new one where that cannot go on.

    A study that does not repeat cannot. Nor can the retry of one that failed because all its evaluations did: they
    would be answered by the same failures again. A solver always begins anew: what it found before stays, unscored.
    """
    owner = columns.newest.get(study.id)
    if owner is None:
        return None
    last = columns.attempts[owner]
    ends = last.ends
    if study.solver:
        done = any(end.status == "done" for end in ends)
        return Past(attempt=last.start.attempt + 1, cause="extended" if done else "retried")
    past = from_columns(columns, study.id)
    assert past is not None
    in_full = bool(past.rows) and all(line.f for line in past.rows) and any(end.status == "failed" for end in ends)
    if (retry and in_full) or any(end.ending == NOT_REPEATABLE for end in ends):
        return Past(attempt=past.attempt + 1, cause="retried")
    return past
