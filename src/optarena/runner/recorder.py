"""What a study writes, by its policy: every evaluation, or only those that improve."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from optarena._json import Number, number, numbers
from optarena.costs import column
from optarena.problem import Evaluation, Problem
from optarena.runner.meter import Meter
from optarena.runner.reasons import Reasons, reason_of
from optarena.space import Array
from optarena.store.journal import Journal
from optarena.store.records import Count, PlainRow, Rows

COUNT_SECONDS = 1.0
_now = time.monotonic
RETURNED_NAN = ("nan", "evaluate returned nan")


class Recorder:
    """Writes the rows of one study, with what its meter charged. `best`: the least feasible value so far, minimised."""

    def __init__(self, journal: Journal, handle: int, problem: Problem, policy: str, meter: Meter) -> None:
        self.journal = journal
        self.handle = handle
        self.problem = problem
        self.meter = meter
        self.everything = policy == "all"
        self.signs = np.array([objective.sign for objective in problem.objectives])
        self.sign = float(self.signs[0])
        self.best = math.inf
        self.failures = 0
        self.rows = 0
        """How many were written, where only improvements are."""
        self._reasons = Reasons()
        self._archive = np.empty((0, len(problem.objectives)))
        self._next_count = _now() + COUNT_SECONDS

    def failed(self, status: str, message: str, count: int = 1) -> None:
        """Count evaluations that failed, and why."""
        self.failures += count
        self._reasons.add(reason_of(status, message), count)

    def reasons(self) -> dict[str, int]:
        """Why evaluations failed: an example of each kind of reason, with its count."""
        return self._reasons.counts()

    # ---- an array-native batch -------------------------------------------------------------------------------------

    def matrix(self, k: int, rows: list[list[Any]], values: Array) -> None:
        """Record evaluations k, k+1, …: a matrix of values, no constraints and no hidden metrics; NaN is a failure."""
        if self.everything:
            if values.size == 1 and math.isfinite(value := values.item()) and not self.meter.costs:
                self.journal.write(PlainRow(self.handle, k, [[value]], self.meter.pending(), rows))
                value *= self.sign
                if value < self.best:
                    self.best = value
                return
            y, failures = self._plain(values)
            self.journal.write(self._line(k, y, rows, failures))
            if values.shape[1] == 1:
                least = float(values.min() if self.sign > 0 else -values.max())
                if not math.isfinite(least):  # of those that count: NaN and -inf are failures (docs/scores.md 0.3)
                    found = values[:, 0] * self.sign
                    least = float(found[found > -np.inf].min(initial=np.inf))
                if least < self.best:
                    self.best = least
            return
        for i in self._kept(values):
            self.rows += 1
            y, failures = self._plain(values[i : i + 1])
            self.journal.write(self._line(k + i, y, [rows[i]], failures))

    def _plain(self, values: Array) -> tuple[list[list[Number]], dict[int, tuple[str, str]]]:
        y = values.tolist()
        if math.isfinite(sum(map(sum, y))):
            return y, {}
        bad = np.flatnonzero(np.isnan(values).any(axis=1)).tolist()
        if bad:
            self.failed(*RETURNED_NAN, len(bad))
        return [numbers(row) for row in y], dict.fromkeys(bad, RETURNED_NAN)

    def _kept(self, values: Array) -> list[int]:
        """Which rows of a matrix improve on what was seen before them, or failed; -inf is a failure to all scores."""
        if values.shape[1] > 1 or len(values) == 1:
            rows = values.tolist()
            return [i for i, row in enumerate(rows) if any(map(math.isnan, row)) or self._improves(row, True, False)]
        y = values[:, 0] * self.sign
        failed = np.isnan(y) | (y == -np.inf)
        y = np.where(failed, np.inf, y)
        before = np.minimum.accumulate(np.concatenate(([self.best], y)))
        self.best = float(before[-1])
        return np.flatnonzero((y < before[:-1]) | failed).tolist()

    # ---- one evaluation --------------------------------------------------------------------------------------------

    def single(self, k: int, row: list[Any], evaluation: Evaluation | None, status: str, message: str) -> None:
        """Record evaluation k, whatever it gave, if the policy keeps it."""
        if status != "ok":
            self.failed(status, message)
        improved = self.note(evaluation if status == "ok" else None)
        if improved or self.everything or status != "ok":
            self.rows += 1
            self.write_row(k, row, evaluation, status, message)

    def note(self, evaluation: Evaluation | None) -> bool:
        """Remember what was found, without writing; whether it is an improvement."""
        if evaluation is None:
            return False
        feasible = all(v <= 0 for v in evaluation.violations)
        return self._improves(list(evaluation.values), feasible, bool(self.problem.metrics))

    def note_all(self, values: Array, violations: Array) -> None:
        """Remember what was found by evaluations that did not fail, of a study that records everything."""
        if values.shape[1] == 1:
            found = values[:, 0] * self.sign
            counts = (found > -np.inf) & np.all(violations <= 0, axis=1)
            self.best = min(self.best, float(found[counts].min(initial=np.inf)))

    def write_row(self, k: int, row: list[Any], evaluation: Evaluation | None, status: str, message: str) -> None:
        problem = self.problem
        values: list[Number] = [None] * len(problem.objectives) if evaluation is None else numbers(evaluation.values)
        record = self._line(k, [values], [row], {} if status == "ok" else {0: (status, message)})
        if evaluation is not None:
            if problem.constraints:
                record.v = [numbers(evaluation.violations)]
            if problem.metrics:
                record.m = [[number(evaluation.metrics[name]) for name in problem.metrics]]
        self.journal.write(record)

    def _line(self, k: int, y: list[list[Number]], rows: list[list[Any]], failures: dict[int, tuple[str, str]]) -> Rows:
        """A line, with what the study has cost by then."""
        spent: dict[str, list[Number]] = {column(name): [cost] * len(y) for name, cost in self.meter.costs.items()}
        return Rows(self.handle, k, y, self.meter.pending(), failures, a=spent, x=rows)

    def _improves(self, values: list[float], feasible: bool, ties: bool) -> bool:
        """Strictly better than all before, entering the archive, or (with hidden metrics) a tie; keeps `best`.

        A value of -inf is kept but is not a best value: scores take it for a failure, and later values must
        not be lost.
        """
        if not feasible or any(map(math.isnan, values)):
            return False
        if len(values) == 1:
            value = values[0] * self.sign
            if value == -math.inf:
                return True
            if value < self.best:
                self.best = value
                return True
            return ties and value == self.best
        if self.everything:
            return True
        y = np.array(values) * self.signs
        if (y == -np.inf).any():
            return True
        if ((self._archive <= y).all(axis=1)).any():
            return ties and bool((self._archive == y).all(axis=1).any())
        keep = ~(y <= self._archive).all(axis=1)
        self._archive = np.vstack([self._archive[keep], y])
        return True

    # ---- between batches -------------------------------------------------------------------------------------------

    def beat(self, k: int) -> None:
        """Outside timed sections: a counter line each second where only improvements are kept, and fsync when due."""
        if not self.everything and not self.meter.free and _now() >= self._next_count:
            self._next_count = _now() + COUNT_SECONDS
            self.journal.write(Count(self.handle, k, self.meter.pending()))
        self.journal.sync_if_due()
