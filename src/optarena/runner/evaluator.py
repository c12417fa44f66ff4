"""Evaluating what was suggested: as a matrix or point by point, or by answering from what is already recorded.

Every evaluation ends as a row: a value, or a failure with its text. Nothing that a problem raises leaves from here.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from optarena._asking import CommandError
from optarena._source import place_in_code
from optarena.errors import describe
from optarena.experiment import noise_key, noise_rng
from optarena.problem import Evaluation, Problem, as_evaluation
from optarena.runner.attempt import Attempt, traceback_of
from optarena.runner.interrupts import is_interrupt
from optarena.runner.past import Diverged, check_point, check_values
from optarena.runner.recorded import Row
from optarena.runner.recorder import RETURNED_NAN, Recorder
from optarena.space import Array
from optarena.status import KILLED
from optarena.store.costs import EVALUATE

_wall = time.perf_counter_ns

_FLOAT = np.dtype(np.float64)
_NO_VIOLATIONS = np.empty((1, 0))
TICK_NS = 100_000_000
LONGEST = 500
"""Characters of a failure's text."""
SKIP = 65_536
"""Points that an optimizer that does not learn draws at once where all of them are recorded."""


class Evaluator:
    """Evaluates for one attempt and counts in `done`."""

    def __init__(self, attempt: Attempt, problem: Problem, recorder: Recorder) -> None:
        study, past = attempt.study, attempt.past
        self.problem = problem
        self.recorder = recorder
        self.meter = recorder.meter
        self.cell = attempt.cell
        self.done = 0
        self.traceback = ""
        """Of the first evaluation that raised an exception."""
        self._objectives = len(problem.objectives)
        self._tick = attempt.tick
        self._next_tick = 0
        self._as_matrix = problem.takes_matrix and not attempt.singly
        self._noise = noise_key(study) if problem.noisy else 0
        self._known = past.rows
        self._last = past.last
        self._plain = past.rows.located & (past.rows.status == 0)
        # where nothing can depend on what was evaluated before, recorded values are as good as evaluating again
        self._trusted = past.answers_only or (problem.stateless and study.record == "all")
        self._free = self._last > 0 and not past.answers_only
        self._observed = past.observed
        self._lost = past.lost
        self._costs, self._costs_at = past.costs, past.costs_at
        self.meter.free = self._free

    def _advance(self, n: int) -> None:
        """So many more are as recorded. Where costs were last recorded, they are what the study has spent by then."""
        before, self.done = self.done, self.done + n
        if before < self._costs_at <= self.done:
            self.meter.costs = dict(self._costs)

    def beat(self) -> None:
        """Between evaluations, about ten times a second: tell how far we are, and let the recorder do what is due."""
        if self.meter.free and self.done >= self._last:
            self.meter.free = False  # what follows is new
        now = _wall()
        if now >= self._next_tick:
            self._next_tick = now + TICK_NS
            self.recorder.beat(self.done)
            if self._tick is not None:
                self._tick(self.done)

    @property
    def replaying(self) -> bool:
        """Whether what comes next is already recorded."""
        return self.done < self._last

    def __call__(self, X: Array, rows: list[list[Any]]) -> tuple[Array, Array]:
        """Values (n, m) in their own senses and violations (n, k); each row is recorded before this returns."""
        if self.done < self._last:
            answer = self._again(X, rows)
            self.meter.free = self._free and (self.done < self._last or (self.done == self._last and self._observed))
            return answer
        if not self._as_matrix:
            return self._afresh(X, rows)
        first, n, m, meter = self.done + 1, len(rows), self._objectives, self.meter
        self.cell.evaluate(first, n)
        meter.start()
        try:
            values = _as_matrix(self.problem.evaluate_matrix(X), n, m)
        except BaseException as error:
            if is_interrupt(error):
                raise
            return self._afresh(X, rows)  # to learn which row it was
        meter.stop(EVALUATE)
        self.recorder.matrix(first, rows, values)
        self.done += n
        if m > 1:
            values[np.isnan(values).any(axis=1)] = np.nan  # a failed evaluation has no part that counts
        return values, _NO_VIOLATIONS if n == 1 else np.empty((n, 0))

    def _blank(self, n: int) -> tuple[Array, Array]:
        shape = (n, len(self.problem.objectives)), (n, self.problem.constraints)
        return np.full(shape[0], np.nan), np.full(shape[1], np.nan)

    def _afresh(self, X: Array, rows: list[list[Any]]) -> tuple[Array, Array]:
        values, violations = self._blank(len(rows))
        for i, row in enumerate(rows):
            evaluation, status, message = self._one(X[i : i + 1], row)
            self.recorder.single(self.done + 1, row, evaluation, status, message)
            if evaluation is not None and status == "ok":
                values[i], violations[i] = evaluation.values, evaluation.violations
            self.done += 1
            self.beat()
        return values, violations

    def _one(self, x: Array, row: list[Any]) -> tuple[Evaluation | None, str, str]:
        """One evaluation: what it gave, its status, and the text of a failure."""
        problem, meter, k = self.problem, self.meter, self.done + 1
        self.cell.evaluate(k, 1)
        try:
            if problem.takes_matrix:
                meter.start()
                result: Any = problem.evaluate_matrix(x)
            else:
                point = dict(zip(problem.space.names, row, strict=True))
                extra = (noise_rng(self._noise, k),) if problem.noisy else ()
                problem.evaluation = k
                meter.start()
                result = problem.evaluate(point, *extra)
        except TimeoutError as error:
            meter.stop(EVALUATE)
            return None, "timed out", describe(error, named=False)
        except BaseException as error:
            if is_interrupt(error):
                raise
            meter.stop(EVALUATE)
            if isinstance(error, CommandError) and error.costs:
                meter.report(error.costs)
            self.traceback = self.traceback or traceback_of(error)
            return None, "error", _with_place(error)
        meter.stop(EVALUATE)
        try:
            if problem.takes_matrix:
                result = Evaluation(_as_matrix(result, 1, len(problem.objectives))[0].tolist())
            evaluation = as_evaluation(result, problem)
        except (TypeError, ValueError) as error:
            return None, "error", describe(error, named=False)
        except Exception as error:
            return None, "error", describe(error)
        if evaluation.costs:
            meter.report(evaluation.costs)
        if any(map(math.isnan, evaluation.values)):
            return evaluation, *RETURNED_NAN
        return evaluation, "ok", ""

    # ---- what is already recorded ----------------------------------------------------------------------------------

    def _again(self, X: Array, rows: list[list[Any]]) -> tuple[Array, Array]:
        """A batch of which at least the first rows may be recorded: those are not evaluated, or must agree."""
        if self._trusted and (answer := self._all_recorded(X)) is not None:
            return answer
        values, violations = self._blank(len(rows))
        for i, row in enumerate(rows):
            at = self._known.find(self.done + 1)
            known = None if at is None else self._known.row(at, self.problem.space)
            if self.done >= self._last or (known is None and (self._trusted or self.recorder.everything)):
                self.meter.free = False  # this one is new, or was lost
                values[i : i + 1], violations[i : i + 1] = self._afresh(X[i : i + 1], [row])
                self.meter.free = self._free
                continue
            y, v = self._recorded(known, X[i : i + 1], row)
            if y is not None:
                values[i], violations[i] = y, v
            self._advance(1)
        return values, violations

    def _all_recorded(self, X: Array) -> tuple[Array, Array] | None:
        """The answers to a batch that is recorded as a whole, without failures and with these very points."""
        known, n = self._known, len(X)
        at = known.find(self.done + 1)
        if n == 1 or at is None or len(known) < at + n or known.evaluation[at + n - 1] != self.done + n:
            return None
        part = slice(at, at + n)
        if not self._plain[part].all() or not np.array_equal(X, known.points[part]):
            return None
        values, violations = known.values[part].copy(), known.violations[part].copy()
        self.recorder.note_all(values, violations)
        self._advance(n)
        return values, violations

    def skip(self, suggest: Callable[[int], Any], checked: Callable[[Any, int], tuple[Array, Any]], limit: int) -> None:
        """Go past what is recorded, for an optimizer that does not learn: its points are drawn, and none is evaluated.

        Those of which the past knows more must be the same points.
        """
        known, last = self._known, min(self._last, limit)
        for status, message in known.take(known.evaluation <= last).failures():
            self.recorder.failed(status, message)
        while self.done < last:
            n = min(SKIP, last - self.done)
            low, high = np.searchsorted(known.evaluation, [self.done + 1, self.done + n + 1])
            drawn = suggest(n)
            if high > low:
                X, _ = checked(drawn, n)
                self._compare(X, int(low), int(high))
            self._advance(n)
            self.beat()

    def _compare(self, X: Array, low: int, high: int) -> None:
        """Rows of the past with the points drawn now, the first of which is the next evaluation's."""
        known, space = self._known, self.problem.space
        for i in range(low, high):
            k = int(known.evaluation[i])
            (point,) = space.to_rows(X[k - self.done - 1 : k - self.done])
            row = known.row(i, space)
            check_point(k, row, point)
            if not row.x and row.status in KILLED:  # written for us when we were killed: now the point is known too
                self.recorder.write_row(k, point, None, row.status, row.message)

    def _recorded(self, known: Row | None, x: Array, row: list[Any]) -> tuple[list[float] | None, list[float]]:
        """The values that the optimizer observes again; None where the evaluation failed."""
        k, recorder = self.done + 1, self.recorder
        if known is not None:
            check_point(k, known, row)
            if self._lost:
                self.meter.pending()  # what was not written since the row before: this one was charged for it
        if known is not None and (self._trusted or known.status in KILLED):
            evaluation = None if known.status != "ok" else Evaluation(known.y, known.violations)
            recorder.note(evaluation)
            if evaluation is None:
                recorder.failed(known.status, known.message)
            if not known.x:  # written for us when we were killed: now the point is known too
                recorder.write_row(k, row, None, known.status, known.message)
            return (None, []) if evaluation is None else (known.y, known.violations)
        if self._lost and known is None:
            self.meter.free = False
            evaluation, status, message = self._one(x, row)
            recorder.single(k, row, evaluation, status, message)  # it may be one of those that are lost
            self.meter.free = self._free
            return (None, []) if evaluation is None or status != "ok" else _values(evaluation)
        evaluation, status, message = self._one(x, row)
        if status != "ok":
            recorder.failed(status, message)
        kept = recorder.note(evaluation if status == "ok" else None) or status != "ok"
        if known is None:
            if kept:
                raise Diverged(k, "an improvement that is not recorded")
        else:
            if status != known.status:
                raise Diverged(k, f"ended as {status}, but recorded is {known.status}")
            if evaluation is not None:
                metrics = [evaluation.metrics[name] for name in self.problem.metrics]
                check_values(k, known, list(evaluation.values), list(evaluation.violations), metrics)
        return (None, []) if evaluation is None or status != "ok" else _values(evaluation)


def _values(evaluation: Evaluation) -> tuple[list[float], list[float]]:
    return list(evaluation.values), list(evaluation.violations)


def _with_place(error: BaseException) -> str:
    """What a problem raised, and where in its code: 'ValueError: too hot (mine.py line 7)'."""
    place = place_in_code(error)
    return describe(error, length=LONGEST - len(place)) + place


def _as_matrix(result: Any, n: int, m: int) -> Array:
    """What `evaluate_matrix` returned, as (n, m) floats; anything but real numbers in that shape is refused."""
    if type(result) is np.ndarray and result.dtype is _FLOAT and result.shape == (n,) and m == 1:
        return result.reshape(n, 1).copy()
    array = np.asarray(result)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"evaluate_matrix returned {array.dtype} values, not numbers")
    if array.shape not in ((n, m), (n,) if m == 1 else (n, m)):
        raise ValueError(f"evaluate_matrix returned shape {array.shape}, expected {(n, m)}")
    return array.astype(float).reshape(n, m)
