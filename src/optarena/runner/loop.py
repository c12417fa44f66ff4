"""One study, from its first suggestion to its end: suggest, evaluate, record, observe, each timed.

Everything that goes wrong is data: a row with a status, or an end with a reason. Only an interrupt and a store that
cannot be written leave by an exception. Nothing here knows of pools, plans or progress bars.
"""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

from optarena._plugins import versions_of
from optarena.errors import Exhausted, SuggestionError
from optarena.experiment import Study, noise_key, noise_rng, optimizer_rng, problem_rng
from optarena.optimizer import Optimizer
from optarena.problem import Problem, as_evaluation
from optarena.runner.recorder import Recorder
from optarena.space import Array
from optarena.store.journal import Journal, problem_card
from optarena.store.records import End, Start

LOOKAHEAD = 256  # points drawn at once from an optimizer that does not learn, for a problem that takes matrices
TICK_NS = 100_000_000

_wall = time.perf_counter_ns
_cpu = time.process_time_ns


class Outcome:
    """How a study ended."""

    __slots__ = ("detail", "evaluations", "reason", "status")

    def __init__(self, status: str, evaluations: int, reason: str = "", detail: str = "") -> None:
        self.status = status
        self.evaluations = evaluations
        self.reason = reason
        self.detail = detail


class _Failed(Exception):
    """The optimizer failed; the text says in which call and how."""


def run_study(
    study: Study,
    problem: Problem,
    optimizer_class: type[Optimizer],
    journal: Journal,
    *,
    source: str | None = None,
    tick: Callable[[int], None] | None = None,
) -> Outcome:
    """Run a study to its end and record it; `tick(evaluations)` is called about ten times a second."""
    start = Start(
        s=0,
        study=study.id,
        problem="",
        optimizer=study.optimizer.label,
        use=study.optimizer.identity,
        trial=study.trial,
        root=study.root,
        time=time.time(),
        budget=study.budget,
        batch=study.batch,
        settings=study.optimizer.settings,
        record=study.record,
        versions=versions_of(optimizer_class.packages),
        source=source,
    )
    card = problem_card(problem)
    start.problem = card.hash
    recorder = Recorder(journal, journal.start(start, card), problem, study.record)
    run = _Run(study, problem, optimizer_class, recorder, tick)
    try:
        outcome = run.to_the_end()
    except KeyboardInterrupt:
        _write_end(recorder, Outcome("interrupted", run.done, "interrupted by the user"))
        raise
    _write_end(recorder, outcome)
    return outcome


def _write_end(recorder: Recorder, outcome: Outcome) -> None:
    recorder.journal.end(
        End(
            recorder.handle,
            outcome.status,
            outcome.evaluations,
            time.time(),
            recorder.pending(),
            outcome.reason,
            outcome.detail,
        )
    )


class _Run:
    """The state of one study's loop."""

    def __init__(
        self,
        study: Study,
        problem: Problem,
        optimizer_class: type[Optimizer],
        recorder: Recorder,
        tick: Callable[[int], None] | None,
    ) -> None:
        self.study = study
        self.problem = problem
        self.optimizer_class = optimizer_class
        self.recorder = recorder
        self.tick = tick
        self.optimizer: Any = None
        self.done = 0
        self.can = optimizer_class.capabilities
        self.signs = np.array([-1.0 if o.sense == "max" else 1.0 for o in problem.objectives])
        self.flip = bool((self.signs < 0).any())
        self.noise = noise_key(study) if problem.noisy else 0
        self.goal = self._goal()
        self.next_tick = 0
        self._no_violations = np.empty((0, 0))

    def _goal(self) -> float | None:
        """The minimised value at which to stop: the optimum plus the target, or the target itself."""
        target = self.study.budget.target
        if target is None:
            return None
        optimum = self.problem.known.optimum
        if optimum is None:
            return target * float(self.signs[0])
        return optimum[0] * float(self.signs[0]) + target

    def to_the_end(self) -> Outcome:
        """The whole study; every failure of the optimizer or of setting up is an outcome."""
        outcome = self._guarded(self._set_up_and_loop)
        for what, thing in (("optimizer", self.optimizer), ("problem", self.problem)):
            if thing is not None:
                closed = self._guarded(self._close, what, thing)
                outcome = closed if closed is not None and outcome.status == "done" else outcome
        return outcome

    def _guarded(self, step: Callable[..., Any], *args: Any) -> Any:
        try:
            return step(*args)
        except Exhausted as stop:
            return Outcome("stopped early", self.done, str(stop) or "nothing more to suggest")
        except _Failed as failure:
            detail = "".join(traceback.format_exception(failure.__cause__)) if failure.__cause__ else ""
            return Outcome("failed", self.done, str(failure), detail[-4000:])

    def _set_up_and_loop(self) -> Outcome:
        self._call("resetting the problem", self.problem.reset, problem_rng(self.study))
        settings = dict(self.study.optimizer.settings)
        if self.can.uses_budget:
            settings["budget"] = self.study.budget.evaluations
        w, c = _wall(), _cpu()
        self.optimizer = self._call(
            "creating the optimizer",
            self.optimizer_class,
            self.problem.space,
            objectives=len(self.problem.objectives),
            rng=optimizer_rng(self.study),
            **settings,
        )
        self.recorder.charge(0, _wall() - w, _cpu() - c)
        return self._loop(self.optimizer)

    def _close(self, what: str, thing: Optimizer | Problem) -> None:
        self._call(f"closing the {what}", thing.close)

    def _call(self, what: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call what others wrote; what it raises is a failure of the study."""
        try:
            return function(*args, **kwargs)
        except Exhausted:
            raise
        except (Exception, SystemExit) as error:
            raise _Failed(f"{what}: {type(error).__name__}: {error}") from error

    def _loop(self, optimizer: Optimizer) -> Outcome:
        limit = self.study.budget.evaluations or math.inf
        seconds = self.study.budget.seconds
        spent_limit = math.inf if seconds is None else seconds * 1e9
        size = self._batch()
        charge = self.recorder.charge
        constrained = self.problem.constraints > 0
        while self.done < limit:
            if self.recorder.spent >= spent_limit:
                return Outcome("done", self.done, f"{seconds:g} s are spent")
            n = int(min(size, limit - self.done))
            w, c = _wall(), _cpu()
            try:
                suggested = optimizer.suggest(n)
            except Exhausted:
                raise
            except (Exception, SystemExit) as error:
                raise _Failed(f"suggest: {type(error).__name__}: {error}") from error
            charge(0, _wall() - w, _cpu() - c)
            X, rows = self._checked(suggested, n)
            values, violations = self._evaluate(X, rows)
            y = values * self.signs if self.flip else values
            w, c = _wall(), _cpu()
            try:
                if constrained:
                    optimizer.observe(suggested, y, violations)  # type: ignore[call-arg]
                else:
                    optimizer.observe(suggested, y)
            except Exhausted:
                raise
            except (Exception, SystemExit) as error:
                raise _Failed(f"observe: {type(error).__name__}: {error}") from error
            w = _wall() - w
            charge(4, w, _cpu() - c)
            if self.goal is not None and self.recorder.best <= self.goal:
                return Outcome("done", self.done, "target reached")
            self._beat()
        return Outcome("done", self.done)

    def _batch(self) -> int:
        """How many points to ask for: the batch, or several batches ahead where nothing can depend on it."""
        ahead = (
            not self.can.adaptive
            and self.problem.array_native
            and self.problem.stateless
            and self.goal is None
            and self.study.budget.seconds is None
        )
        return self.study.batch * max(1, LOOKAHEAD // self.study.batch) if ahead else self.study.batch

    def _beat(self) -> None:
        now = _wall()
        if now >= self.next_tick:
            self.next_tick = now + TICK_NS
            self.recorder.beat(self.done)
            if self.tick is not None:
                self.tick(self.done)

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
            raise _Failed(f"suggest({n}): {error}") from error
        if len(X) != n:
            raise _Failed(f"suggest({n}) returned {len(X)} point{'s' * (len(X) != 1)}")
        return X, rows

    # ---- evaluating ----------------------------------------------------------------------------------------------

    def _evaluate(self, X: Array, rows: list[list[Any]]) -> tuple[Array, Array]:
        """Values (n, m) in their own senses and violations (n, k); each row is recorded before this returns."""
        if self.problem.array_native:
            w, c = _wall(), _cpu()
            try:
                values = np.asarray(self.problem.evaluate_matrix(X), dtype=float)
                values = values.reshape(len(X), len(self.problem.objectives))
            except (Exception, SystemExit):
                return self._one_by_one(rows)  # to learn which row it was
            self.recorder.charge(2, _wall() - w, _cpu() - c)
            self.recorder.matrix(self.done + 1, rows, values)
            self.done += len(X)
            return values, self._no_violations
        return self._one_by_one(rows)

    def _one_by_one(self, rows: list[list[Any]]) -> tuple[Array, Array]:
        problem, recorder = self.problem, self.recorder
        names = problem.space.names
        values = np.full((len(rows), len(problem.objectives)), np.nan)
        violations = np.full((len(rows), problem.constraints), np.nan)
        for i, row in enumerate(rows):
            point = dict(zip(names, row, strict=True))
            extra = (noise_rng(self.noise, self.done + 1),) if problem.noisy else ()
            evaluation, status, message = None, "ok", ""
            w, c = _wall(), _cpu()
            try:
                result = problem.evaluate(point, *extra)
            except (Exception, SystemExit) as error:
                w, c = _wall() - w, _cpu() - c
                status, message = "error", f"{type(error).__name__}: {error}"
            else:
                w, c = _wall() - w, _cpu() - c
                try:
                    evaluation = as_evaluation(result, problem)
                except (TypeError, ValueError) as error:
                    status, message = "error", str(error)
            recorder.charge(2, w, c)
            if evaluation is not None:
                if any(map(math.isnan, evaluation.values)):
                    status, message = "nan", "evaluate returned nan"
                else:
                    values[i] = evaluation.values
                violations[i] = evaluation.violations
            recorder.single(self.done + 1, row, evaluation, status, message)
            self.done += 1
        return values, violations
