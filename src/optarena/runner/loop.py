"""One study, from its first suggestion to its end: suggest, evaluate, record, observe, each timed.

Everything that goes wrong is data: a row with a status, or an end with a reason. Only an interrupt and a store that
cannot be written leave by an exception. Nothing here knows of pools, plans or progress bars.
"""

from __future__ import annotations

import copy
import functools
import math
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

import msgspec

from optarena._json import printable, strict
from optarena._plugins import versions_of
from optarena.errors import Exhausted, SuggestionError, describe
from optarena.experiment import Study, optimizer_rng, problem_rng
from optarena.optimizer import Optimizer
from optarena.problem import Problem
from optarena.runner.cell import CLOSE, OBSERVE, SETUP, SUGGEST, Cell, NoCell
from optarena.runner.evaluator import Evaluator
from optarena.runner.interrupts import is_interrupt
from optarena.runner.meter import Meter
from optarena.runner.past import NOT_REPEATABLE, Diverged, Past
from optarena.runner.recorder import Recorder
from optarena.solver import Solver
from optarena.space import Array
from optarena.status import SUCCEEDED
from optarena.store.costs import OBSERVE as COST_OF_OBSERVE
from optarena.store.costs import SUGGEST as COST_OF_SUGGEST
from optarena.store.costs import no_costs
from optarena.store.journal import Journal, problem_card
from optarena.store.records import End, Start

LOOKAHEAD = 256  # points drawn at once from an optimizer that does not learn
DETAIL_LENGTH = 4_000


class Outcome(msgspec.Struct, omit_defaults=True):
    """How a study ended."""

    status: str
    evaluations: int
    reason: str = ""
    detail: str = ""
    failures: int = 0
    """How many evaluations failed."""
    reasons: dict[str, int] = {}
    """Their most frequent reasons, with counts."""


class _Failed(Exception):
    """The optimizer or the setting up failed; the text says in which call and how."""


def run_study(
    study: Study,
    problem: Problem,
    optimizer_class: type[Optimizer],
    journal: Journal,
    *,
    source: str | None = None,
    past: Past | None = None,
    cell: Cell | NoCell | None = None,
    singly: bool = False,
    tick: Callable[[int], None] | None = None,
) -> Outcome:
    """Run a study to its end and record it, going on from its past where it has one.

    `tick(evaluations)` is called about ten times a second. A past that does not repeat is left behind, and a new
    attempt begins; if that happens twice, the study has failed.
    """
    past = past or Past()
    try:
        return _attempt(study, problem, optimizer_class, journal, source, past, cell or NoCell(), singly, tick)
    except Diverged as difference:
        extended = past.remainder is not None and difference.evaluation > past.remainder // study.batch * study.batch
        if past.cause == "diverged" and not extended:
            outcome = Outcome("failed", 0, f"{NOT_REPEATABLE}: {difference}")
            start = begin(study, problem, optimizer_class, journal, source, past)
            journal.end(End(start.s, outcome.status, 0, time.time(), no_costs(), outcome.reason))
            return outcome
        again = Past(attempt=past.attempt + 1, cause="extended" if extended else "diverged")
        return _attempt(study, problem, optimizer_class, journal, source, again, cell or NoCell(), singly, tick)


def begin(
    study: Study,
    problem: Problem,
    optimizer_class: type[Optimizer] | type[Solver],
    journal: Journal,
    source: str | None,
    past: Past,
    *,
    signed: bool = True,
) -> Start:
    """Write the start of an attempt: the card with all that scoring needs."""
    card = problem_card(problem, signed=signed)
    versions = versions_of(optimizer_class.packages)
    if issubclass(optimizer_class, Solver):
        versions |= optimizer_class.versions(study.optimizer.settings)
    start = Start(
        s=0,
        study=study.id,
        problem=card.hash,
        optimizer=study.optimizer.label,
        use=study.optimizer.identity,
        trial=study.trial,
        root=study.root,
        time=time.time(),
        budget=study.budget,
        batch=study.batch,
        attempt=past.attempt,
        settings=strict(study.optimizer.settings),
        record=study.record,
        cause=past.cause,
        versions=versions,
        source=source,
        seed=study.seed,
    )
    journal.start(start, card)
    return start


def _attempt(
    study: Study,
    problem: Problem,
    optimizer_class: type[Optimizer],
    journal: Journal,
    source: str | None,
    past: Past,
    cell: Cell | NoCell,
    singly: bool,
    tick: Callable[[int], None] | None,
) -> Outcome:
    start = begin(study, problem, optimizer_class, journal, source, past)
    recorder = Recorder(journal, start.s, problem, study.record, Meter(past.spent))
    evaluator = Evaluator(study, problem, recorder, cell, past, singly=singly, tick=tick)
    loop = _Loop(study, problem, optimizer_class, recorder, evaluator, cell, singly)
    try:
        outcome = loop.to_the_end()
    except Diverged:
        raise
    except BaseException as error:  # an interrupt, or a store that cannot be written: say so if that is possible
        reason = "by the user" if isinstance(error, KeyboardInterrupt) else describe(error)
        journal.end(End(start.s, "interrupted", evaluator.done, time.time(), recorder.meter.pending(), reason))
        raise
    journal.end(
        End(
            start.s,
            outcome.status,
            outcome.evaluations,
            time.time(),
            recorder.meter.pending(),
            outcome.reason,
            outcome.detail,
        )
    )
    return outcome


class _Loop:
    """The state of one attempt."""

    def __init__(
        self,
        study: Study,
        problem: Problem,
        optimizer_class: type[Optimizer],
        recorder: Recorder,
        evaluator: Evaluator,
        cell: Cell | NoCell,
        singly: bool,
    ) -> None:
        self.study = study
        self.problem = problem
        self.optimizer_class = optimizer_class
        self.recorder = recorder
        self.meter = recorder.meter
        self.evaluate = evaluator
        self.cell = cell
        self.can = optimizer_class.capabilities
        self.signs = recorder.signs
        self.flip = bool((self.signs < 0).any())
        self.goal = self._goal()
        self.size = study.batch if singly else self._batch()

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
        for trouble in closed:
            if trouble is not None and outcome.status == "done":
                outcome = trouble
        return self._with_failures(outcome)

    def _with_failures(self, outcome: Outcome) -> Outcome:
        """The outcome with its failed evaluations; a study in which all of them failed has failed."""
        outcome.failures, outcome.reasons = self.recorder.failures, self.recorder.reasons()
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
        optimizer = _call(
            "creating the optimizer",
            self.optimizer_class,
            self.problem.space,
            objectives=len(self.problem.objectives),
            rng=optimizer_rng(self.study),
            **settings,
        )
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


def traceback_of(error: BaseException | None) -> str:
    """The end of an exception's traceback, as far as it lets itself be printed."""
    try:
        return printable("".join(traceback.format_exception(error)))[-DETAIL_LENGTH:] if error is not None else ""
    except Exception:
        return ""


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
