"""A whole plan on this machine: what the store does not have yet is run, in worker processes or in this one."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from optarena._numbers import counted
from optarena._process import usable_cores
from optarena._scratch import remove_abandoned
from optarena.dataset import Dataset
from optarena.errors import OptarenaError
from optarena.experiment import Experiment, Plan, Study
from optarena.runner import kernels as kernels_
from optarena.runner.attempt import Outcome
from optarena.runner.calibration import machine
from optarena.runner.compacting import Compacting
from optarena.runner.ending import end_lost
from optarena.runner.environment import environment
from optarena.runner.lacking import lacking, left_failed, objects_here, planned, recorded, refuse_empty, settled
from optarena.runner.past import Pasts
from optarena.runner.signing import signatures
from optarena.runner.study import run_study
from optarena.runner.supervisor import Supervisor
from optarena.runner.torch_kernels import pin_torch
from optarena.solver import Solver
from optarena.store import RaceFile, RunFile, Store
from optarena.store.journal import Journal

HEARTBEAT_SECONDS = 2.0
PAUSE_SECONDS = 0.5
"""How often a store is asked whether it is still paused."""
FEW_STUDIES = 64
"""After a round of so many studies only journals that mention them are read; of more, nearly all would."""


class Standing(NamedTuple):
    """How a race stands after a round."""

    round: int
    at_most: int
    news: list[str]
    """What was decided by this round: 'A ▲ B', 'A ≈ B'."""
    open: int
    """Pairs that are undecided."""
    likely: int | None
    """How many more rounds it takes if all goes on as it did; None: more than there may be."""
    over: bool


class Rounds(Protocol):
    """A race: which studies come next follows from what the rounds before have given."""

    def begin(self, plan: Plan, runs: Sequence[RunFile]) -> None:
        """runs: of the store, with the looks that are recorded."""

    def studies(self) -> list[Study]:
        """Of the next round; none when the race is over."""

    def look(self, results: Dataset) -> None:
        """At the studies of the round, when all of them have ended."""

    def record(self) -> RaceFile:
        """For the run file of the round: with the looks that no other run file has."""

    def saved(self) -> None:
        """What `record` gave is in a run file that will not change any more."""

    @property
    def standing(self) -> Standing:
        """After the last round."""


class Progress(Protocol):
    """What is reported about a run while it is in progress."""

    def begin(self, plan: Plan, todo: list[Study], finished: int, workers: int) -> None: ...
    def tick(self, study: Study, evaluations: int) -> None: ...
    def ended(self, study: Study, outcome: Outcome) -> None: ...
    def notice(self, text: str) -> None: ...
    def looked(self, standing: Standing, todo: list[Study]) -> None: ...


class Silent:
    """Tells nothing."""

    def begin(self, plan: Plan, todo: list[Study], finished: int, workers: int) -> None: ...
    def tick(self, study: Study, evaluations: int) -> None: ...
    def ended(self, study: Study, outcome: Outcome) -> None: ...
    def notice(self, text: str) -> None: ...
    def looked(self, standing: Standing, todo: list[Study]) -> None: ...


def run(
    experiment: Experiment,
    store: str | Path,
    *,
    workers: int | None = None,
    retry: bool = False,
    new: bool = False,
    kernels: str = "pinned",
    progress: Progress | None = None,
    rounds: Rounds | None = None,
    share: tuple[int, int] | None = None,
) -> None:
    """Run what the store lacks under its root (`new`: under a fresh one); of a race, round by round.

    workers: processes, by default one per core. 0 runs in this process, without hard limits: needed for a problem or a
    class that only this process has (one of a notebook), and chosen for it by default. retry: failed studies too.
    kernels: "pinned" computes the same bits on every x86-64 CPU with AVX2, "native" with what the CPU offers
    (`optarena.runner.kernels`). This process keeps the kernels that it has. share: (3, 50) is the third of fifty
    parts of the plan, which other machines run, each in a store of its own.
    """
    if share is not None and rounds is not None:
        raise OptarenaError("a race runs on one machine: its plan depends on results")
    chosen = kernels_.chosen(kernels)
    place = Store(store)
    plan = planned(experiment, place, new)
    workers = _workers(plan, workers)
    progress = progress or Silent()
    if not plan.studies:
        progress.begin(plan, [], 0, workers)
        refuse_empty(plan)
    remove_abandoned()
    place.create()
    with place.lock("run"):
        sign = functools.partial(signatures, kernels=chosen if workers else None)
        plan, before = settled(experiment, place, plan, sign, new=new, retry=retry)
        place.lift_old_pause(before.runs)
        if rounds is not None:
            rounds.begin(plan, before.runs)
        course = _Course(place, plan, before, rounds, kernels, retry, share)
        todo = course.next()
        if rounds is None:  # a race counts failures, and refuses to retry
            plan.notices += left_failed(plan, before, todo)
    plan.notices += [*_others(plan, before), *_crowded(plan, workers), *_unpinned(kernels, workers)]
    if not todo:  # nothing is written, either, unless a race was decided by what the store had
        progress.begin(plan, todo, len(course.mine), workers)
        course.end("done")
        return
    how = "failed"
    compacting = Compacting(place, progress.notice)
    try:
        progress.begin(plan, todo, len(course.mine) - len(todo), workers)
        heart = _Heart(course, compacting)
        batches = course.batches(todo, progress)
        if workers:
            Supervisor(place, plan, experiment, progress, heart, chosen, retry).run(batches, workers)
        else:
            _here(place, plan, batches, progress, heart, retry)
        how = "done"
    except KeyboardInterrupt:
        how = "interrupted"
        raise
    finally:
        course.end(how)
        if how != "done":
            compacting.stop()
    compacting.finish()


class _Course:
    """What is run next: all that a plan lacks, or round after round of a race; and the run file of each."""

    def __init__(
        self,
        store: Store,
        plan: Plan,
        before: Dataset,
        rounds: Rounds | None,
        kernels: str,
        retry: bool,
        share: tuple[int, int] | None,
    ) -> None:
        self.store, self.plan, self.before, self.rounds = store, plan, before, rounds
        self.kernels, self.retry, self.share = kernels, retry, share
        self.file: RunFile | None = None
        self._place = {attempt.start.study: i for i, attempt in enumerate(before.attempts)}
        self._newest = {a.start.study: (a.start.attempt, a.start.life) for a in before.attempts}

    @property
    def mine(self) -> list[Study]:
        """The studies of the plan, or of a share of it: by their ids, which have no order, so that all are alike."""
        if self.share is None:
            return self.plan.studies
        which, of = self.share
        ids = set(sorted(study.id for study in self.plan.studies)[which - 1 :: of])
        return [study for study in self.plan.studies if study.id in ids]

    def next(self) -> list[Study]:
        """The next studies, announced in a run file; none at the end. Call it under the lock "run".

        Rounds of a race that the store had finished before are looked at here.
        """
        todo = list(lacking(self.mine, self.before, self.retry)) if self.rounds is None else []
        while self.rounds is not None and not todo:
            self.plan.studies = self.rounds.studies()
            if not self.plan.studies:
                break
            begun = [self._place[study.id] for study in self.plan.studies if study.id in self._place]
            before = self.before.select(np.array(begun, dtype=np.int64))
            todo = list(lacking(self.plan.studies, before, self.retry))
            if not todo:
                self.rounds.look(before)
        race = None if self.rounds is None else self.rounds.record()
        if todo or (race is not None and race.looks):
            ids = [study.id for study in todo]
            self.file = self.store.begin_run(self.plan, ids, self.kernels, self._newest, race, machine=machine())
            end_lost(self.store, self.file)
        return todo

    def batches(self, todo: list[Study], progress: Progress) -> Iterator[tuple[list[Study], Pasts]]:
        """The first studies, and after each round those of the next one, with what they continue from."""
        while todo:
            yield todo, recorded(self.plan, self.before, todo)
            if self.rounds is None:
                return
            assert self.file is not None
            ids = [study.id for study in self.plan.studies]
            results = Dataset.of_store(self.store.path, *(ids if len(ids) <= FEW_STUDIES else ()))
            known = len(self.plan.notices)
            self.rounds.look(_only(results, self.plan.studies))
            for text in self.plan.notices[known:]:
                progress.notice(text)
            self.file.race = self.rounds.record()
            with self.store.lock("run"):  # until the next round is announced, nobody else may take it
                self.end("done")
                self.rounds.saved()
                todo = self.next()
            progress.looked(self.rounds.standing, todo)

    def end(self, how: str) -> None:
        if self.file is not None:
            self.store.end_run(self.file, how)
        self.file = None

    def beat(self) -> None:
        if self.file is not None:
            self.store.heartbeat(self.file)


def _only(results: Dataset, studies: list[Study]) -> Dataset:
    """Some studies of a dataset, all of which it has."""
    place = {attempt.start.study: i for i, attempt in enumerate(results.attempts)}
    return results.select(np.array([place[study.id] for study in studies], dtype=np.int64))


def _others(plan: Plan, before: Dataset) -> list[str]:
    """What else the store has: studies of earlier runs that are no part of this one, and are scored with it."""
    ran = [run for run in before.runs if run.how == "done"]
    held = {study.id: (study.optimizer, study.problem) for run in ran for study in run.studies}
    held |= {one.start.study: (one.start.optimizer, one.card.id) for one in before.columns.attempts}
    others = [held[id] for id in held.keys() - {study.id for study in plan.studies}]
    if not others:
        return []
    said = []
    for names, noun in zip(zip(*sorted(others), strict=True), ("optimizer", "problem"), strict=True):
        known = list(dict.fromkeys(names))
        said.append(" and ".join(known) if len(known) <= 2 else counted(len(known), noun))
    many = counted(len(others), "study")
    return [f"the store has {many} besides these, of {said[0]} on {said[1]}; scores count them too"]


def _crowded(plan: Plan, workers: int) -> list[str]:
    """What to say where solvers would share cores: their seconds are then not those of the machine by itself."""
    solvers = [item for item in plan.experiment.optimizers if issubclass(plan.classes[item.label], Solver)]
    given = [item.settings.get("threads", 1) for item in solvers]
    threads, cores = max((n for n in given if isinstance(n, int)), default=1), usable_cores()
    if not solvers or threads * workers <= cores:
        return []
    fair = f"--workers {cores // threads}" if threads <= cores else f"at most {cores} threads"
    return [f"{workers} workers, with up to {threads} threads each, share {cores} cores: for fair times, {fair}"]


def _unpinned(wanted: str, workers: int) -> list[str]:
    """What to say where kernels should be pinned and are not: another CPU may then give other last digits."""
    if wanted == kernels_.NATIVE:
        return []
    if not kernels_.can_pin():
        why = "NumPy finds no AVX2 and FMA on this machine"
    elif not workers and kernels_.in_use() == kernels_.NATIVE:
        why = "without workers"
    else:
        return []
    return [f"{why}: numeric kernels are native, so other machines may give other last digits"]


class _Heart:
    """Writes heartbeats while a run is in progress, and does what is due then."""

    def __init__(self, course: _Course, due: Callable[[], None]) -> None:
        self.course, self.due = course, due
        self.next = 0.0

    def __call__(self) -> None:
        if time.monotonic() >= self.next:
            self.next = time.monotonic() + HEARTBEAT_SECONDS
            self.course.beat()
            self.due()


def must_be_workers(wanted: int | None) -> None:
    """Refuse what is not a number of processes."""
    if wanted is not None and (isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < 0):
        raise OptarenaError(f"workers: expected a whole number of at least 0, got {wanted!r}")


def _workers(plan: Plan, wanted: int | None) -> int:
    here = objects_here(plan)
    if any(issubclass(cls, Solver) for cls in plan.classes.values()) and (wanted == 0 or here):
        what = "workers: 0" if wanted == 0 else here[0]
        raise OptarenaError(
            f"{what}: every run of a solver is a process of its own, so give workers, and instances by their ids or"
            " as 'file.py:instance'"
        )
    if wanted is None:
        return 0 if here else max(1, min(usable_cores(), len(plan.studies)))
    must_be_workers(wanted)
    if wanted and here:
        raise OptarenaError(
            f"{here[0]} is an object of this process and cannot go to a worker: use workers=0, or put it in a"
            " file and name it 'file.py:name'"
        )
    return min(wanted, max(1, len(plan.studies)))


def _here(
    place: Store,
    plan: Plan,
    batches: Iterable[tuple[list[Study], Pasts]],
    progress: Progress,
    heart: Callable[[], None],
    retry: bool,
) -> None:
    """In this process: study by study."""
    if kernels_.in_use() == kernels_.PINNED:
        pin_torch()
    with contextlib.ExitStack() as stack:
        journal: Journal | None = None
        for study, past in ((study, pasts) for todo, pasts in batches for study in todo):
            while place.paused:
                heart()
                time.sleep(PAUSE_SECONDS)
            if journal is None or journal.full:
                stack.close()
                journal = stack.enter_context(contextlib.closing(Journal(place.journals, environment())))

            def tick(evaluations: int, study: Study = study) -> None:
                heart()
                progress.tick(study, evaluations)

            progress.tick(study, 0)
            outcome = run_study(
                study,
                plan.problems[study.problem],
                plan.classes[study.optimizer.label],
                journal,
                source=plan.sources.get(study.optimizer.label),
                past=past.whole(study, retry),
                tick=tick,
            )
            progress.ended(study, outcome)
