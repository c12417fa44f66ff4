"""What a store already has of a study, and how a loop goes through it again without evaluating.

Replay calls `suggest` and `observe` as before and answers with the recorded values. If a suggestion is not the
recorded one, the past cannot be continued: `Diverged`.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from optarena._json import numbers
from optarena.store.reading import ROW_STATUSES, Columns
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
    spent: int = 0
    """Nanoseconds that the recorded part was charged."""
    remainder: int | None = None
    """Where the study once ended within a batch, if it did: beyond it a larger budget asks for other batches."""

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
                    [float(v) for v in line.v[i] if v is not None] if line.v else [],
                )
        return out


class Row(msgspec.Struct):
    """One recorded evaluation."""

    x: list[Any]
    y: list[float]
    status: str
    message: str
    violations: list[float]

    def check_point(self, k: int, x: list[Any]) -> None:
        """The recorded point must be the one suggested now (a killed worker's row has none)."""
        if self.x and self.x != x:
            raise Diverged(k, f"suggested {_short(x)}, recorded was {_short(self.x)}")

    def check_values(self, k: int, y: list[float]) -> None:
        if not np.array_equal(self.y, y, equal_nan=True):
            raise Diverged(k, f"gave {_short(y)}, recorded was {_short(self.y)}")


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 100 else text[:97] + "…"


def from_columns(columns: Columns, study: str) -> Past | None:
    """What a store has of a study: its newest attempt."""
    mine = [i for i, attempt in enumerate(columns.attempts) if attempt.start.study == study]
    if not mine:
        return None
    owner = max(mine, key=lambda i: columns.attempts[i].start.attempt)
    return _from_attempt(columns, owner)


def _from_attempt(columns: Columns, owner: int) -> Past:
    attempt = columns.attempts[owner]
    card, start = attempt.card, attempt.start
    low, high = np.searchsorted(columns.owner, [owner, owner + 1])
    rows = np.arange(low, high)[~columns.counts_only[low:high]]
    lines = []
    for row, point in zip(rows.tolist(), columns.points(rows), strict=True):
        status = ROW_STATUSES[columns.status[row]]
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
        lines.append(line)
    ended = [end.evaluations for end in attempt.ends if end.status == "done"]
    within = [n for n in ended if n % start.batch]
    return Past(
        attempt=start.attempt,
        cause=start.cause,
        rows=lines,
        spent=round(columns.costs[low:high, ::2].sum() * 1e9),
        remainder=max(within, default=None),
    )
