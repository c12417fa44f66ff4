"""One attempt of a solver, from its first solution to its end: each solution verified and written as it is emitted.

Everything that goes wrong is an end with a reason. What a solver emitted stays, whatever becomes of it afterwards.
"""

from __future__ import annotations

import importlib
import math
import os
import resource
import threading
import time
from typing import Any

import msgspec

from optarena._json import Number, number, printable
from optarena._process import children_seconds
from optarena.errors import OptarenaError, WorkError, describe
from optarena.experiment import optimizer_rng
from optarena.instance import TOLERANCE, Instance, LinearPoint, WrongSolution
from optarena.runner.attempt import Attempt, Outcome, traceback_of
from optarena.runner.cell import CLOSE, SETUP
from optarena.runner.interrupts import is_interrupt
from optarena.solver import Crashed, Ended, Solver, Time, as_ended
from optarena.status import CRASHED, DECIDED, ERROR, OPTIMAL, OUT_OF_MEMORY, SATISFIABLE, WRONG
from optarena.store.costs import EVALUATE, NANOSECONDS, costs_of, no_costs
from optarena.store.journal import Journal
from optarena.store.records import Rows

_cpu = time.process_time

SYNC_SECONDS = 1.0
SOLUTION_BYTES = 1_000_000
"""How large a solution may be, as JSON, to be kept."""
SOLUTIONS_BYTES = 16_000_000
"""How many bytes of solutions a run may write."""
TOO_LARGE = "too large"
"""The note `solution` of a row whose solution was not kept."""
CLOCKS_DIFFER = 0.1
"""Seconds that a program's own clock may be ahead of ours: it was started before we began to count."""


def grace(seconds: float) -> float:
    """How long after its budget a solver may take to end by itself before it is killed."""
    return max(2.0, 0.1 * seconds)


class SolverRun:
    """The state of one attempt."""

    def __init__(self, attempt: Attempt, instance: Instance, solver_class: type[Solver]) -> None:
        self.study, self.cell = attempt.study, attempt.cell
        self.instance, self.solver_class = instance, solver_class
        self.emitter = _Emitter(attempt, instance)
        self.costs = self.emitter.costs

    @property
    def rows(self) -> int:
        return self.evaluations

    @property
    def evaluations(self) -> int:
        return self.emitter.count

    @property
    def at_end(self) -> dict[str, Number]:
        return self.emitter.at_end

    def to_the_end(self) -> Outcome:
        """All of solving; what it raises is a failure."""
        study, cell, emitter = self.study, self.cell, self.emitter
        assert study.budget.seconds is not None
        try:
            cell.enter(SETUP)
            for module in self.solver_class.modules:
                importlib.import_module(module)
            cell.start()
            solver = self.solver_class(seed=int(optimizer_rng(study).integers(2**31)), **study.optimizer.settings)
            cell.evaluate(1, 1)
            budget = emitter.begin(study.budget.seconds)
            try:
                with _Syncing(emitter.journal):
                    result = solver.solve(self.instance, budget, emitter)
            finally:
                emitter.finish()
                cell.enter(CLOSE)
            outcome = emitter.outcome(as_ended(result, emitter.count))
        except BaseException as error:
            if is_interrupt(error):
                raise
            outcome = emitter.failure(error)
        if emitter.trouble is not None:
            raise emitter.trouble
        return outcome


class _Emitter:
    """What a solver calls with each solution: verifies it, and writes a row of the study."""

    def __init__(self, attempt: Attempt, instance: Instance) -> None:
        self.instance, self.journal, self.handle = instance, attempt.journal, attempt.handle
        self.tick = attempt.tick
        self.everything = attempt.study.record == "all"
        self.sign = -1.0 if instance.maximise else 1.0
        known = instance.known.optimum
        self.optimum = None if known is None else self.sign * known[0]
        best = known or instance.known.best_known
        self.best_known = None if best is None else self.sign * best[0]
        self.count = 0
        self.best = math.inf
        self.wrong = ""
        self._room = SOLUTIONS_BYTES
        self.trouble: WorkError | None = None
        """Why a solution could not be written: no failure of the solver, whatever it makes of the exception."""
        self.at_end: dict[str, Number] = {}
        self._closed = True
        self._time: Time | None = None
        self._cpu = 0.0
        self._charged = (0.0, 0.0)
        self._last = 0.0
        self._counters: dict[str, float] = {}
        self._lock = threading.Lock()  # a solver may call from threads of its own

    # ---- the clock ---------------------------------------------------------------------------------------------------

    def begin(self, seconds: float) -> Time:
        self._cpu = _cpu_seconds()
        self._time = Time(seconds)
        self._closed = False
        return self._time

    def finish(self) -> None:
        """The solver has ended; what it might still emit comes too late."""
        assert self._time is not None
        with self._lock:
            self._closed = True
            spent = self._time.spent()
            self.at_end = {"seconds": max(spent, self._last), "effort.cpu_seconds": _cpu_seconds() - self._cpu}
            self.at_end.update({_axis(name): value for name, value in self._counters.items()})

    def costs(self) -> list[int]:
        """Wall and CPU nanoseconds since the last line, as those of evaluating."""
        if self._time is None:
            return no_costs()
        now = self._time.spent(), _cpu_seconds() - self._cpu
        if self._closed:
            now = float(self.at_end["seconds"] or 0.0), float(self.at_end["effort.cpu_seconds"] or 0.0)
        wall, cpu = (max(0.0, a - b) for a, b in zip(now, self._charged, strict=True))
        self._charged = now
        return costs_of(EVALUATE, round(wall * NANOSECONDS), round(cpu * NANOSECONDS))

    # ---- a solution --------------------------------------------------------------------------------------------------

    def __call__(
        self,
        objective: float,
        solution: Any = None,
        *,
        bound: float | None = None,
        seconds: float | None = None,
        **efforts: float | None,
    ) -> bool:
        assert self._time is not None
        at = self._time.spent()
        with self._lock:
            if self._closed or self.wrong:
                return False
            notes: dict[str, list[str | None]] = {}
            value = float("nan")
            counters: dict[str, Number] = {}
            try:
                value = 0.0 if self.instance.decision else _real(objective)
                at = self._at(at, seconds)
                counters = self._efforts(efforts)
                bound = None if bound is None or math.isnan(bound) else float(bound)
                if solution is None or not self.instance.verifies:
                    notes["verified"] = ["no"]
                else:
                    value = self._verified(value, solution)
                self._plausible(value, bound)
            except WrongSolution as error:
                self.wrong = printable(str(error))
            except Exception as error:  # what it called a solution cannot even be looked at
                self.wrong = f"its solution cannot be read: {describe(error)}"
            self.count += 1
            minimised = self.sign * value
            improves = minimised < self.best
            if self.everything or improves or self.wrong:
                costs = self.costs()
                point = self._kept(solution, notes) if improves and not self.wrong else []
                row = Rows(self.handle, self.count, [[number(value)]], costs, x=point, n=notes)
                row.a = {"seconds": [at], "effort.cpu_seconds": [self._charged[1]]}
                row.a.update({name: [count] for name, count in counters.items()})
                if self.wrong:
                    row.f = {0: ("error", f"wrong: {self.wrong}")}
                elif bound is not None:
                    row.a["bound"] = [number(bound)]
                try:
                    self.journal.write(row)
                except WorkError as error:
                    self.trouble = error
                    raise
            if improves and not self.wrong:
                self.best = minimised
            if self.tick is not None:
                self.tick(self.count)
            return not self.wrong and not self.instance.decision

    def _kept(self, solution: Any, notes: dict[str, list[str | None]]) -> list[list[Any]]:
        """A solution as the point of its row; a row whose solution is too large, or no data, has none and says so."""
        if solution is None:
            return []
        if isinstance(solution, LinearPoint):
            solution = self.instance.from_linear(solution.x)
        try:
            text = msgspec.json.encode(solution, enc_hook=_plain)
        except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
            notes["solution"] = ["no data"]
            return []
        if len(text) > min(SOLUTION_BYTES, self._room):
            notes["solution"] = [TOO_LARGE]
            return []
        self._room -= len(text)
        return [[msgspec.json.decode(text)]]

    def _at(self, now: float, told: float | None) -> float:
        """When a solution was found: by our clock, or as the program tells if that is possible."""
        at = now if told is None else _real(told)
        if at > now * 1.01 + CLOCKS_DIFFER:
            raise WrongSolution(f"reports {at:g} s, but only {now:.3g} s elapsed")
        if at < 0 or (told is not None and at < self._last):
            raise WrongSolution(f"reports {at:g} s after {self._last:g} s: times must not decrease")
        self._last = max(at, self._last)
        return self._last

    def _verified(self, claimed: float, solution: Any) -> float:
        value = self.instance.check(solution)
        if abs(value - claimed) > TOLERANCE * max(1.0, abs(value)):
            raise WrongSolution(f"claims {claimed:.10g}, the solution has {value:.10g}")
        return value

    def _plausible(self, value: float, bound: float | None) -> None:
        """What is known of the instance must not be contradicted."""
        slack = TOLERANCE * max(1.0, abs(value))
        if self.optimum is not None and self.sign * value < self.optimum - slack:
            raise WrongSolution(f"claims {value:.10g}, better than the optimum {self.sign * self.optimum:.10g}")
        self._bounded(bound)

    def _bounded(self, bound: float | None) -> None:
        if bound is None or self.best_known is None or not math.isfinite(bound):
            return
        if self.sign * bound > self.best_known + TOLERANCE * max(1.0, abs(bound)):
            raise WrongSolution(f"claims the bound {bound:.10g}, and {self.sign * self.best_known:.10g} is known")

    def _efforts(self, given: dict[str, float | None]) -> dict[str, Number]:
        """Counters as columns; one that falls (several threads, counted apart) tells nothing and is left out."""
        out: dict[str, Number] = {}
        for name, told in given.items():
            if told is None:
                continue
            count = _real(told)
            if count >= self._counters.get(name, 0.0) and math.isfinite(count):
                self._counters[name] = count
                out[_axis(name)] = count
        return out

    # ---- the end -----------------------------------------------------------------------------------------------------

    def outcome(self, ended: Ended) -> Outcome:
        """How it ended, if what it says at its end is possible."""
        for name, value in ended.efforts.items():
            if math.isfinite(value) and value >= self._counters.get(name, 0.0):
                self.at_end[_axis(name)] = number(float(value))
        try:
            if self.wrong:
                raise WrongSolution(self.wrong)
            self._bounded(ended.bound)
            self._claim(ended.status)
        except WrongSolution as error:
            return self._failed(WRONG, str(error))
        if ended.bound is not None:
            self.at_end["bound"] = number(ended.bound)
        status = ended.status
        if status not in DECIDED and self.instance.decision:
            status = SATISFIABLE if self.count else "no solution"
        elif status in ("feasible", "no solution", SATISFIABLE):
            status = "feasible" if self.count else "no solution"
        return Outcome("done", self.count, status, ended.remark, status)

    def _claim(self, status: str) -> None:
        best = self.sign * self.best
        if status in OPTIMAL and not self.count:
            raise WrongSolution("claims an optimum and emitted no solution")
        if status == "optimal":
            slack = TOLERANCE * max(1.0, abs(best))
            if self.best_known is not None and self.best > self.best_known + slack:
                raise WrongSolution(
                    f"claims that {best:.10g} is optimal, and {self.sign * self.best_known:.10g} is known"
                )
        if status == "infeasible" and (self.count or self.best_known is not None):
            raise WrongSolution("claims that the instance is infeasible, and a solution is known")
        if status == "unbounded" and self.instance.decision:
            raise WrongSolution("claims that the instance is unbounded, and it has no objective")
        if status == "unbounded" and self.optimum is not None:
            raise WrongSolution("claims that the instance is unbounded, and its optimum is known")

    def failure(self, error: BaseException) -> Outcome:
        """What was raised, as an end."""
        if self.wrong:
            return self._failed(WRONG, self.wrong)
        if isinstance(error, Crashed):
            return self._failed(CRASHED, describe(error, named=False))
        if isinstance(error, MemoryError):
            return self._failed(OUT_OF_MEMORY)
        text = describe(error, named=not isinstance(error, OptarenaError))
        return self._failed(ERROR, text, traceback_of(error))

    def _failed(self, ending: str, text: str = "", detail: str = "") -> Outcome:
        return Outcome("failed", self.count, f"{ending}: {text}" if text else ending, detail, ending)


class _Syncing:
    """Asks the disk to hold what is written, once a second, beside a solver that does not come back for minutes."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def _work(self) -> None:
        while not self._over.wait(SYNC_SECONDS):
            self.journal.sync_if_due()

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def _plain(value: Any) -> Any:
    """Arrays and their numbers as lists and numbers of Python."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no data")


def _axis(name: str) -> str:
    return "decisions" if name == "decisions" else f"effort.{name}"


def _real(value: Any) -> float:
    if isinstance(value, (bool, str, bytes)):
        raise WrongSolution(f"{value!r} is not a number")
    out = float(value)
    if not math.isfinite(out):
        raise WrongSolution(f"{out} is not a finite number")
    return out


def _cpu_seconds() -> float:
    """Of this process and of all programs that it started."""
    waited = resource.getrusage(resource.RUSAGE_CHILDREN)
    return _cpu() + waited.ru_utime + waited.ru_stime + children_seconds(os.getpid())
