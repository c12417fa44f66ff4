"""What a pool's events mean for studies: tasks with their pasts, deaths judged, rows written for the dead.

A deadline that passed is an evaluation that timed out. A fault (a segmentation fault, an abort, an exit) gets one retry
and is then a crash. A kill from outside says nothing of the evaluation: it is tried again, and counts as a crash only
when it happens at the same evaluation again and again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from optarena._process import host
from optarena.experiment import Experiment, Plan, Study
from optarena.runner.cell import EVALUATE, PHASES
from optarena.runner.environment import environment
from optarena.runner.loop import Outcome, begin
from optarena.runner.past import Past, from_columns
from optarena.runner.pool import Death, Pool
from optarena.runner.worker import Answer, Task
from optarena.store import Store
from optarena.store.journal import Journal
from optarena.store.reading import Columns, read_columns
from optarena.store.records import End, Rows, Start

FAULTS_ALLOWED = 1
KILLS_WITHOUT_PROGRESS = 20


class Supervisor:
    """Runs the studies of a plan in a pool."""

    def __init__(
        self, store: Store, plan: Plan, experiment: Experiment, progress: Any, heart: Callable[[], None]
    ) -> None:
        self.store, self.plan, self.limits = store, plan, experiment.limits
        self.base = str((experiment.base or Path.cwd()).resolve())
        self.progress, self.heart = progress, heart
        self._journal: Journal | None = None
        self._deaths: dict[str, tuple[tuple[int, int, bool], int]] = {}
        self._starts: dict[tuple[str, int], Start] = {}
        self._columns = Columns()
        self._begun: set[str] = set()
        self._pasts: Mapping[str, Past] | None = None

    def run(self, todo: list[Study], columns: Columns, workers: int, pasts: Mapping[str, Past] | None = None) -> None:
        """Run studies from what the columns have of them, or from the pasts that are given instead."""
        self._columns, self._pasts = columns, pasts
        self._begun = {attempt.start.study for attempt in columns.attempts}
        pool = Pool(self.store.path, workers, self.limits, self)
        pool.alone = self._alone
        try:
            pool.run(self._tasks(todo), self.heart)
        finally:
            if self._journal is not None:
                self._journal.close()

    def _tasks(self, todo: list[Study]) -> Iterator[Task]:
        for serial, study in enumerate(todo, start=1):
            if self._pasts is not None:
                past = self._pasts.get(study.id)
            else:
                past = from_columns(self._columns, study.id) if study.id in self._begun else None
            yield Task(
                serial=serial,
                study=study,
                problem=self.plan.references[study.problem],
                base=self.base,
                source=self.plan.sources.get(study.optimizer.label),
                past=past,
                singly=self.limits.evaluation is not None,
                memory=int(self.limits.memory * 1e6) if self.limits.memory else None,
            )

    def _alone(self, task: Task) -> bool:
        own = self.plan.classes[task.study.optimizer.label].capabilities.own_process
        return own or self.plan.problems[task.study.problem].own_process

    # ---- what the pool tells -----------------------------------------------------------------------------------------

    def begun(self, task: Task) -> None:
        pass

    def progressed(self, task: Task, evaluations: int) -> None:
        self.progress.tick(task.study, evaluations)

    def ended(self, task: Task, answer: Answer) -> None:
        self.progress.ended(task.study, Outcome(answer.status, answer.evaluations, answer.reason))

    def died(self, death: Death) -> Task | None:
        """What to do about a dead worker's study: a task that goes on from what was recorded, or None at its end."""
        task = death.task
        before = len(task.past.rows) if task.past is not None else 0
        task.past = self._recorded(task, death.pid)
        evaluating = death.phase == EVALUATE
        where = PHASES[death.phase]
        if death.ours == "study":
            done = max((row.k + len(row.y) - 1 for row in task.past.rows), default=0)
            return self._end(task, "timed out", done, f"more than {self.limits.study:g} s")
        if death.ours == "timed out":
            return self._failed_row(task, death, "timed out", f"more than {self.limits.evaluation:g} s")
        if death.ours == "memory":
            if not evaluating:
                return self._end(task, "failed", before, f"{where}: more memory than a worker may hold")
            if death.rows > 1:
                return _singly(task)
            return self._failed_row(task, death, "crashed", "more memory than a worker may hold")
        if death.ours == "stopped":
            return task
        return self._judge(task, death, where, evaluating, progress=len(task.past.rows) > before)

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
        done = max((row.k + len(row.y) - 1 for row in task.past.rows), default=0) if task.past else 0
        return self._end(task, "failed", done, f"its process died in {where}: {death.text}")

    # ---- writing for the dead ----------------------------------------------------------------------------------------

    def _recorded(self, task: Task, pid: int) -> Past:
        """The task's past and what its dead worker added to it, read from that worker's own journal."""
        past = task.past or Past()
        columns = read_columns(self.store.journals.glob(f"*-{pid}-*.jsonl"))
        columns_of_host = [header for header in columns.headers if header.host == host()]
        added = from_columns(columns, task.study.id) if columns_of_host else None
        if added is None:
            return past
        if added.attempt > past.attempt:
            return added
        known = {row.k + i for row in past.rows for i in range(len(row.y))}
        past.rows = past.rows + [row for row in added.rows if row.k not in known]
        past.spent += added.spent
        past.cause = added.cause or past.cause
        return past

    def _start(self, task: Task) -> Start:
        """The study's start in the supervisor's own journal."""
        if self._journal is None:
            self._journal = Journal(self.store.journals, environment())
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
            )
        return self._starts[key]

    def _failed_row(self, task: Task, death: Death, status: str, message: str) -> Task:
        """Record that an evaluation gave nothing; the study goes on after it."""
        start = self._start(task)
        assert self._journal is not None
        assert task.past is not None
        nothing: list[Any] = [None] * len(self.plan.problems[task.study.problem].objectives)
        row = Rows(start.s, death.evaluation, [], [nothing], [0] * 6, {0: (status, message)})
        self._journal.write(row)
        self._journal.sync()
        task.past.rows = [*task.past.rows, row]
        self._deaths.pop(task.study.id, None)
        return task

    def _end(self, task: Task, status: str, evaluations: int, reason: str) -> Task | None:
        """Record how a study ended that cannot say so itself; there is nothing left to run."""
        start = self._start(task)
        assert self._journal is not None
        self._journal.end(End(start.s, status, evaluations, time.time(), [0] * 6, reason))
        self.progress.ended(task.study, Outcome(status, evaluations, reason))
        return None


def _singly(task: Task) -> Task:
    task.singly = True
    return task
