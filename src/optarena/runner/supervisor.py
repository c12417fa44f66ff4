"""What a pool's events mean for studies: tasks with their pasts, deaths judged, rows written for the dead.

A deadline that passed is an evaluation that timed out. A fault (a segmentation fault, an abort, an exit) gets one retry
and is then a crash. A kill from outside says nothing of the evaluation: it is tried again, and counts as a crash only
when it happens at the same evaluation again and again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from optarena.experiment import Experiment, Plan, Study
from optarena.optimizer import Optimizer
from optarena.problem import Problem
from optarena.runner.attempt import Outcome, begin
from optarena.runner.cell import EVALUATE, PHASES
from optarena.runner.environment import environment
from optarena.runner.past import Past, Pasts, from_columns
from optarena.runner.pool import MAKING, WAITING, Death, Pool, preparation
from optarena.runner.reasons import Reasons, reason_of
from optarena.runner.recorded import failed
from optarena.runner.solve import grace
from optarena.runner.worker import Answer, Task
from optarena.status import CRASHED, OUT_OF_MEMORY
from optarena.store import Store
from optarena.store.costs import no_costs
from optarena.store.journal import Journal
from optarena.store.leases import BEAT_SECONDS
from optarena.store.records import End, Rows, Start
from optarena.store.streaming import read_columns

Batch: TypeAlias = tuple[list[Study], Pasts | Mapping[str, Past]]
"""Studies, and what each continues from: what a store has of it, or a given past."""
FAULTS_ALLOWED = 1
HARMS_ALLOWED = 1
KILLS_WITHOUT_PROGRESS = 20


class Supervisor:
    """Runs the studies of a plan in a pool."""

    def __init__(
        self,
        store: Store,
        plan: Plan,
        experiment: Experiment,
        progress: Any,
        heart: Callable[[], None],
        kernels: str,
        retry: bool = False,
        in_turn: bool = True,
    ) -> None:
        """in_turn: a batch is asked for when all studies of the one before have ended."""
        self.kernels, self.retry, self.in_turn = kernels, retry, in_turn
        self.store, self.plan, self.limits = store, plan, experiment.limits
        self.base = str((experiment.base or Path.cwd()).resolve())
        self.prints = experiment.prints
        self.progress, self.heart = progress, heart
        self._journal: Journal | None = None
        self._harms: dict[str, int] = {}
        self._changes: set[tuple[str, str, str]] = set()
        self._deaths: dict[str, tuple[tuple[int, int, bool], int]] = {}
        self._starts: dict[tuple[str, int], Start] = {}
        self._pasts: Pasts | Mapping[str, Past] = {}
        self._serial = 0
        self._open: set[str] = set()
        """The studies that were asked for and have not ended."""
        self.journals: set[str] = set()
        """The journals of workers in which studies have ended."""

    def run(self, batches: Iterable[Batch | None], workers: int) -> None:
        """Run studies, each from its past. None instead of a batch: there is none just now."""
        pool = Pool(self.store.path, workers, self.limits, self, self.kernels)
        pool.alone = self._alone
        if not self.in_turn:  # one of many pilots, which all ask
            pool.pause_seconds = BEAT_SECONDS
        try:
            pool.run(self._tasks(batches), self.heart)
        finally:
            if self._journal is not None:
                self._journal.close()

    def _tasks(self, batches: Iterable[Batch | None]) -> Iterator[Task | str]:
        """The tasks; now and then, while a large past is being read, a word: the pool has deadlines to keep."""
        for batch in batches:
            if batch is None:
                yield WAITING
                continue
            todo, self._pasts = batch
            self._open |= {study.id for study in todo}
            for study in todo:
                yield from self._task(study)
            while self.in_turn and self._open:
                yield WAITING

    def give_up(self, study: Study, pasts: Pasts | Mapping[str, Past], reason: str) -> None:
        """Record that a study failed which is not tried any more."""
        self._pasts = pasts
        self._open.add(study.id)
        for task in self._task(study):
            if isinstance(task, Task):
                assert task.past is not None
                self._end(task, "failed", task.past.last, reason)

    @property
    def open(self) -> int:
        """How many studies were asked for and have not ended."""
        return len(self._open)

    def _task(self, study: Study) -> Iterator[Task | str]:
        past: Past | None = None
        for past in self._past(study):
            if past is None:
                yield MAKING
        self._serial += 1
        task = Task(
            serial=self._serial,
            study=study,
            problem=self.plan.references[study.problem],
            base=self.base,
            source=self.plan.sources.get(study.optimizer.label),
            past=past or Past(),
            prints="" if self.prints is None else str(self.prints.resolve() / f"{study.id.replace('-', '')}.out"),
        )
        if study.solver:
            assert study.budget.seconds is not None
            task.hard = study.budget.seconds + grace(study.budget.seconds)
        else:
            task.singly = self.limits.evaluation is not None
            # a solver's threads reserve more than they use: the pool watches what it holds instead
            task.memory = int(self.limits.memory * 1e6) if self.limits.memory else None
        yield task

    def _past(self, study: Study) -> Iterator[Past | None]:
        if isinstance(self._pasts, Pasts):
            return self._pasts.read(study, self.retry)
        return iter([self._pasts.get(study.id)])

    def _alone(self, task: Task) -> bool:
        if task.study.solver:  # two libraries of solvers may not share a process, and each run is measured by itself
            return True
        problem = self.plan.problems[task.study.problem]
        assert isinstance(problem, Problem)
        # what is stateful and cannot be reset must start again, in whichever worker it runs
        stateful = not problem.stateless and type(problem).reset is Problem.reset
        cls = self.plan.classes[task.study.optimizer.label]
        own = issubclass(cls, Optimizer) and cls.capabilities.own_process
        return own or problem.own_process or stateful

    # ---- what the pool tells -----------------------------------------------------------------------------------------

    def progressed(self, task: Task, evaluations: int) -> None:
        self.progress.tick(task.study, evaluations)

    def ended(self, task: Task, answer: Answer) -> None:
        self._open.discard(task.study.id)
        self.journals.add(answer.journal)
        self.progress.ended(
            task.study,
            Outcome(answer.status, answer.evaluations, answer.reason, failures=answer.failures, reasons=answer.reasons),
        )
        what = (task.study.optimizer.label, task.study.problem, answer.changed)
        if answer.changed and what not in self._changes and not self._alone(task):  # else nobody would have felt it
            self._changes.add(what)
            self.progress.notice(f"{what[0]} on {what[1]}: {answer.changed}; the next study runs in a new process")

    def died(self, death: Death) -> Task | None:
        """What to do about a dead worker's study: a task that continues from what was recorded, or None at its end."""
        task = death.task
        if death.journal:
            self.journals.add(death.journal)
        if death.ours == "harmed":
            return self._harmed(death)
        if task.study.solver:
            return self._solver_died(death)
        before = _rows(task.past)
        task.past = self._recorded(task, death.journal)
        done = task.past.last
        evaluating = death.phase == EVALUATE
        where = PHASES[death.phase]
        if death.ours in ("study", "preparing"):
            return self._late(death, done)
        if death.ours == "timed out":
            return self._failed_row(task, death, "timed out", f"more than {self.limits.evaluation:g} s")
        if death.ours == "memory":
            if not evaluating:
                return self._end(task, "failed", done, f"{where}: more memory than a worker may hold")
            if death.rows > 1:
                return _singly(task)
            return self._failed_row(task, death, "crashed", "more memory than a worker may hold")
        if death.ours in ("stopped", "overtaken"):
            return task
        return self._judge(task, death, where, evaluating, progress=_rows(task.past) > before)

    def _harmed(self, death: Death) -> Task | None:
        """A study did something to its worker: it is tried once more, in a fresh one."""
        task = death.task
        recorded = self._recorded(task, death.journal)
        count = self._harms[task.study.id] = self._harms.get(task.study.id, 0) + 1
        if count > HARMS_ALLOWED:
            task.past = task.past or Past()
            return self._end(task, "failed", recorded.last, f"it harmed its worker: {death.text}")
        if task.study.solver:
            task.past = Past(attempt=(task.past or Past()).attempt + 1, cause="retried")
        else:
            task.past = recorded
        return task

    def _solver_died(self, death: Death) -> Task | None:
        """What to do about a dead solver: what it emitted is kept, and counts, unless somebody else killed it."""
        task = death.task
        assert task.past is not None
        assert task.study.budget.seconds is not None
        done = self._recorded(task, death.journal).last
        if death.ours in ("timed out", "overtaken"):
            seconds = task.study.budget.seconds
            return self._end(task, "timed out", done, f"killed {grace(seconds):g} s after its budget of {seconds:g} s")
        if death.ours in ("study", "preparing"):
            return self._late(death, done)
        if death.ours == "memory":
            return self._end(task, "failed", done, OUT_OF_MEMORY, OUT_OF_MEMORY)
        if death.fault and not death.ours:
            if any(word in death.text for word in ("bad_alloc", "MemoryError", "out of memory")):
                return self._end(task, "failed", done, OUT_OF_MEMORY, OUT_OF_MEMORY)
            return self._end(task, "failed", done, f"{CRASHED}: {death.text}", CRASHED)
        key = (death.phase, 0, False)
        count = self._deaths.get(task.study.id, (key, 0))[1] + 1
        self._deaths[task.study.id] = (key, count)
        if count >= self.limits.deaths and not death.ours:
            return self._end(task, "failed", done, f"{CRASHED}: {death.text}", CRASHED)
        task.past = Past(attempt=task.past.attempt + 1, cause="retried")
        return task

    def _late(self, death: Death, done: int) -> Task | None:
        """A study that was out of time, or whose problem and library did not get ready."""
        if death.ours == "preparing":
            most = preparation(death.task, self.limits)
            reason = f"its problem and library were not ready within {most:g} s"
        else:
            reason = f"more than {self.limits.study:g} s"
        return self._end(death.task, "timed out", done, reason)

    def _judge(self, task: Task, death: Death, where: str, evaluating: bool, progress: bool) -> Task | None:
        """A death that was not ours."""
        key = (death.phase, death.evaluation, death.fault)
        last, count = self._deaths.get(task.study.id, (key, 0))
        count = count + 1 if last == key and not progress else 1
        self._deaths[task.study.id] = (key, count)
        if death.fault:
            allowed = FAULTS_ALLOWED
        else:
            allowed = self.limits.deaths - 1 if evaluating else KILLS_WITHOUT_PROGRESS
        if death.rows > 1 and evaluating:
            return _singly(task)  # to learn which row it was
        if count <= allowed:
            return task
        if evaluating:
            return self._failed_row(task, death, "crashed", death.text)
        done = task.past.last if task.past is not None else 0
        return self._end(task, "failed", done, f"its process died in {where}: {death.text}")

    # ---- writing for the dead ----------------------------------------------------------------------------------------

    def _recorded(self, task: Task, journal: str) -> Past:
        """The task's past and what its dead worker added to it, read from that worker's own journal."""
        past = task.past or Past()
        if not journal:
            return past
        path = self.store.journals / journal
        # a journal that is gone was compacted meanwhile; what shards had before is in the past already, with its costs
        columns = read_columns([path]) if path.exists() else read_columns((), self.store.shard_paths)
        return past.extended(from_columns(columns, task.study.id))

    def _start(self, task: Task) -> Start:
        """The study's start in the supervisor's own journal."""
        if self._journal is None:
            self._journal = Journal(self.store.journals, environment() | {"kernels": self.kernels})
        assert task.past is not None
        key = (task.study.id, task.past.attempt)
        if key not in self._starts:
            self._starts[key] = begin(
                task.study,
                self.plan.problems[task.study.problem],
                self.plan.classes[task.study.optimizer.label],
                self._journal,
                task.source,
                task.past,
                signed=False,  # what killed a worker must not be evaluated here
            )
        return self._starts[key]

    def _failed_row(self, task: Task, death: Death, status: str, message: str) -> Task:
        """Record that an evaluation gave nothing; the study continues after it."""
        assert task.past is not None
        if task.past.has(death.evaluation):
            # it was evaluated before and is late, or deadly, only now: it does not repeat
            self._deaths.pop(task.study.id, None)
            task.past = Past(attempt=task.past.attempt + 1, cause="diverged")
            return task
        start = self._start(task)
        assert self._journal is not None
        problem = self.plan.problems[task.study.problem]
        assert isinstance(problem, Problem)
        nothing: list[Any] = [None] * len(problem.objectives)
        row = Rows(start.s, death.evaluation, [nothing], no_costs(), {0: (status, message)}, x=[])
        self._journal.write(row)
        self._journal.sync()
        like = (problem.space.dimension, len(nothing), problem.constraints, len(problem.metrics))
        task.past.rows = task.past.rows.joined(failed(death.evaluation, status, message, like))
        self._deaths.pop(task.study.id, None)
        return task

    def _end(self, task: Task, status: str, evaluations: int, reason: str, ending: str = "") -> Task | None:
        """Record how a study ended that cannot say so itself; there is nothing left to run."""
        start = self._start(task)
        assert self._journal is not None
        assert task.past is not None
        self._journal.end(
            End(start.s, status, evaluations, time.time(), no_costs(), reason, word=ending, life=task.past.life + 1)
        )
        self.journals.add(self._journal.path.name)
        self._open.discard(task.study.id)
        why = Reasons()
        failures = list(task.past.rows.failures()) if task.past is not None else []
        for kind, message in failures:
            why.add(reason_of(kind, message))
        self.progress.ended(
            task.study, Outcome(status, evaluations, reason, failures=len(failures), reasons=why.counts())
        )
        return None


def _rows(past: Past | None) -> int:
    return len(past.rows) if past is not None else 0


def _singly(task: Task) -> Task:
    task.singly = True
    return task
