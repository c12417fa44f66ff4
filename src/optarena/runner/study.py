"""One study, of an optimizer or of a solver, in this process: from where its past left it to its end."""

from __future__ import annotations

from collections.abc import Callable

from optarena.experiment import Study
from optarena.instance import Instance
from optarena.optimizer import Optimizer
from optarena.problem import Problem, Subject
from optarena.runner.attempt import Attempt, Loop, Outcome, begin, end, run_attempt
from optarena.runner.cell import Cell, NoCell
from optarena.runner.loop import OptimizerLoop
from optarena.runner.past import Diverged, Past
from optarena.runner.solve import SolverRun
from optarena.solver import Solver
from optarena.status import NOT_REPEATABLE
from optarena.store.costs import no_costs
from optarena.store.journal import Journal


def run_study(
    study: Study,
    subject: Subject,
    cls: type[Optimizer] | type[Solver],
    journal: Journal,
    *,
    source: str | None = None,
    past: Past | None = None,
    cell: Cell | NoCell | None = None,
    singly: bool = False,
    tick: Callable[[int], None] | None = None,
) -> Outcome:
    """Run a study to its end and record it, going on from its past where it has one.

    A past that does not repeat is left behind, and a new attempt begins; if that happens twice, the study has failed.
    A solver always starts again: its past only says which attempt this is.
    """

    def begun(past: Past) -> Attempt:
        start = begin(study, subject, cls, journal, source, past)
        return Attempt(study, journal, start.s, past, cell or NoCell(), singly, tick)

    past = past or Past()
    try:
        attempt = begun(past)
        return run_attempt(attempt, _loop(attempt, subject, cls))
    except Diverged as difference:
        extended = past.remainder is not None and difference.evaluation > past.remainder // study.batch * study.batch
        if past.cause == "diverged" and not extended:
            outcome = Outcome("failed", 0, f"{NOT_REPEATABLE}: {difference}", ending=NOT_REPEATABLE)
            end(begun(past), outcome, no_costs())
            return outcome
        attempt = begun(Past(attempt=past.attempt + 1, cause="extended" if extended else "diverged"))
        return run_attempt(attempt, _loop(attempt, subject, cls))


def _loop(attempt: Attempt, subject: Subject, cls: type[Optimizer] | type[Solver]) -> Loop:
    """Planning has seen to it that the two fit."""
    if issubclass(cls, Solver):
        assert isinstance(subject, Instance)
        return SolverRun(attempt, subject, cls)
    assert isinstance(subject, Problem)
    return OptimizerLoop(attempt, subject, cls)
