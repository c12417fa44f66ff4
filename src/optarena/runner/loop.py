"""One attempt of an optimizer, from its first suggestion to its end: suggest, evaluate, record, observe, each timed."""

from __future__ import annotations

import copy
import functools
import math
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from optarena._asking import CommandError
from optarena._json import Number
from optarena.costs import column
from optarena.errors import Exhausted, SuggestionError, describe
from optarena.experiment import optimizer_rng, problem_rng
from optarena.optimizer import Optimizer
from optarena.problem import Problem
from optarena.runner.attempt import Attempt, Outcome, traceback_of
from optarena.runner.cell import CLOSE, OBSERVE, SETUP, SUGGEST
from optarena.runner.evaluator import Evaluator
from optarena.runner.interrupts import is_interrupt
from optarena.runner.meter import Meter
from optarena.runner.recorder import Recorder
from optarena.space import Array
from optarena.status import SUCCEEDED
from optarena.store.costs import OBSERVE as COST_OF_OBSERVE
from optarena.store.costs import SUGGEST as COST_OF_SUGGEST

LOOKAHEAD = 256  # points drawn at once from an optimizer that does not learn


class _Failed(Exception):
    """The optimizer or the setting up failed; the text says in which call and how."""


class OptimizerLoop:
    """The state of one attempt."""

    def __init__(self, attempt: Attempt, problem: Problem, optimizer_class: type[Optimizer]) -> None:
        self.study, self.cell, self.past = attempt.study, attempt.cell, attempt.past
        self.problem = problem
        self.optimizer_class = optimizer_class
        self.meter = Meter(attempt.past.spent)
        self.recorder = Recorder(attempt.journal, attempt.handle, problem, self.study.record, self.meter)
        self.evaluate = Evaluator(attempt, problem, self.recorder)
        self.can = optimizer_class.capabilities
        self.signs = self.recorder.signs
        self.flip = bool((self.signs < 0).any())
        self.goal = self._goal()
        self.size = self.study.batch if attempt.singly else self._batch()

    @property
    def at_end(self) -> dict[str, Number]:
        return {column(name): cost for name, cost in self.meter.costs.items()}

    @property
    def evaluations(self) -> int:
        return self.evaluate.done

    @property
    def rows(self) -> int:
        return self.recorder.rows

    def costs(self) -> list[int]:
        return self.meter.pending()

    def _goal(self) -> float | None:
        """The minimised value at which to stop: the optimum plus the target, or the target itself."""
        target = self.study.budget.target
        if target is None:
            return None
        optimum = self.problem.known.optimum
        if optimum is None:
            return target * float(self.signs[0])
        return optimum[0] * float(self.signs[0]) + target

    def _batch(self) -> int:
        """How many points to ask for: the batch, or several batches ahead where nothing can depend on it."""
        ahead = self.can.ahead and self.can.batch and self.goal is None and self.study.budget.seconds is None
        return self.study.batch * max(1, LOOKAHEAD // self.study.batch) if ahead else self.study.batch

    def to_the_end(self) -> Outcome:
        """The whole attempt; every failure of the optimizer or of setting up is an outcome."""
        opened: list[tuple[str, Optimizer | Problem]] = [("problem", self.problem)]
        try:
            outcome = self._guarded(lambda: self._open(opened))
        finally:
            self.cell.enter(CLOSE)
            closed = [self._guarded(functools.partial(_close, what, thing)) for what, thing in reversed(opened)]
            for _, thing in opened:
                if isinstance(thing, Optimizer) and thing.charged:
                    self.meter.report(thing.take_charges())
        for trouble in closed:
            if trouble is not None and outcome.status == "done":
                outcome = trouble
        return self._with_failures(outcome)

    def _with_failures(self, outcome: Outcome) -> Outcome:
        """The outcome with its failed evaluations; a study in which all of them failed has failed."""
        outcome.failures, outcome.reasons = self.recorder.failures, self.recorder.reasons()
        outcome.detail = outcome.detail or self.evaluate.traceback
        if outcome.status in SUCCEEDED and outcome.failures == self.evaluate.done > 0:
            first = next(iter(outcome.reasons), "")
            outcome.status, outcome.reason = "failed", f"every evaluation failed: {first}"
        return outcome

    def _guarded(self, step: Callable[[], Any]) -> Any:
        try:
            return step()
        except Exhausted as stop:
            return Outcome("stopped early", self.evaluate.done, str(stop) or "nothing more to suggest")
        except _Failed as failure:
            return Outcome("failed", self.evaluate.done, str(failure), traceback_of(failure.__cause__))

    def _open(self, opened: list[tuple[str, Optimizer | Problem]]) -> Outcome:
        self.cell.start()
        self.cell.enter(SETUP)
        if type(self.problem).reset is not Problem.reset:
            _call("resetting the problem", self.problem.reset, problem_rng(self.study))
        settings = copy.deepcopy(self.study.optimizer.settings)
        if self.can.uses_budget:
            settings["budget"] = self.study.budget.evaluations
        self.meter.start()
        try:
            optimizer = _call(
                "creating the optimizer",
                self.optimizer_class,
                self.problem.space,
                objectives=len(self.problem.objectives),
                rng=optimizer_rng(self.study),
                **settings,
            )
        except _Failed as failure:
            if isinstance(failure.__cause__, CommandError):
                self.meter.report(failure.__cause__.costs)
            raise
        opened.append(("optimizer", optimizer))
        self.meter.stop(COST_OF_SUGGEST)
        return self._loop(optimizer)

    def _loop(self, optimizer: Optimizer) -> Outcome:
        evaluate, recorder, cell, meter = self.evaluate, self.recorder, self.cell, self.meter
        size, goal = self.size, self.goal
        limit = self.study.budget.evaluations or sys.maxsize
        seconds = self.study.budget.seconds
        spent_limit = math.inf if seconds is None else seconds * 1e9
        constrained = self.can.constraints
        if self.past.in_store:
            cell.enter(SUGGEST)
            evaluate.skip(functools.partial(_call, "suggest", optimizer.suggest), self._checked, limit)
        while evaluate.done < limit:
            if meter.spent >= spent_limit and not evaluate.replaying:
                return Outcome("done", evaluate.done, f"{seconds:g} s are spent")
            left = limit - evaluate.done
            n = size if size < left else left
            cell.enter(SUGGEST)
            meter.start()
            try:
                suggested = optimizer.suggest(n)
            except BaseException as error:
                _fail("suggest", error)
            meter.stop(COST_OF_SUGGEST)
            if optimizer.charged:
                meter.report(optimizer.take_charges())
            X, rows = self._checked(suggested, n)
            values, violations = evaluate(X, rows)
            y = values * self.signs if self.flip else values
            cell.enter(OBSERVE)
            meter.start()
            try:
                if constrained:
                    optimizer.observe(suggested, y, violations)
                else:
                    optimizer.observe(suggested, y)
            except BaseException as error:
                _fail("observe", error)
            meter.stop(COST_OF_OBSERVE)
            if optimizer.charged:
                meter.report(optimizer.take_charges())
            if goal is not None and recorder.best <= goal:
                return Outcome("done", evaluate.done, "target reached")
            evaluate.beat()
        return Outcome("done", evaluate.done)

    def _checked(self, suggested: Any, n: int) -> tuple[Array, list[list[Any]]]:
        """What was suggested, as a matrix and as rows; a wrong count or a point outside is the optimizer's failure."""
        space = self.problem.space
        try:
            if self.can.array_native:
                X, rows = space.check(suggested)
            else:
                if not isinstance(suggested, (list, tuple)):
                    raise SuggestionError(f"expected a list of dicts, got {type(suggested).__name__}")
                X = space.to_matrix(suggested)
                rows = space.to_rows(X)
        except SuggestionError as error:
            raise _Failed(f"suggest({n}): {describe(error, named=False)}") from error
        except Exception as error:  # a point that is not what it seems
            raise _Failed(f"suggest({n}) gave a point that cannot be read: {describe(error)}") from error
        if len(X) != n:
            raise _Failed(f"suggest({n}) returned {len(X)} point{'s' * (len(X) != 1)}")
        return X, rows


def _call(what: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call what others wrote; what it raises is a failure of the study."""
    try:
        return function(*args, **kwargs)
    except BaseException as error:
        _fail(what, error)


def _close(what: str, thing: Optimizer | Problem) -> None:
    """Close what others wrote; what it returns says nothing."""
    _call(f"closing the {what}", thing.close)


def _fail(what: str, error: BaseException) -> NoReturn:
    """What others' code raised is a failure of the study, unless it means the study's end or is the user's wish."""
    if isinstance(error, Exhausted) or is_interrupt(error):
        raise error
    raise _Failed(f"{what}: {describe(error)}") from error
