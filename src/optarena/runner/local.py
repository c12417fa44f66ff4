"""A whole plan, in this process: what the store does not have yet is run, study by study."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from optarena.errors import OptarenaError
from optarena.experiment import Experiment, Plan, Study
from optarena.runner.environment import environment
from optarena.runner.loop import Outcome, run_study
from optarena.store import Store
from optarena.store.journal import Journal, problem_card
from optarena.store.results import Results, open_store

FINISHED = ("done", "stopped early", "failed", "timed out")


class Progress(Protocol):
    """What is told of a run while it goes on."""

    def begin(self, plan: Plan, todo: list[Study], finished: int) -> None: ...
    def tick(self, study: Study, evaluations: int) -> None: ...
    def ended(self, study: Study, outcome: Outcome) -> None: ...


class Silent:
    """Tells nothing."""

    def begin(self, plan: Plan, todo: list[Study], finished: int) -> None: ...
    def tick(self, study: Study, evaluations: int) -> None: ...
    def ended(self, study: Study, outcome: Outcome) -> None: ...


def run(
    experiment: Experiment,
    store: str | Path,
    *,
    new: bool = False,
    progress: Progress | None = None,
) -> Results:
    """Run what the store lacks under its root (`new`: under a fresh one) and return what it then has."""
    place = Store(store)
    root = experiment.seed or (None if new else place.root()) or uuid.uuid4()
    plan = experiment.plan(root)
    progress = progress or Silent()
    if not plan.studies:
        progress.begin(plan, [], 0)
        reasons = "; ".join(f"{r.optimizer} on {r.problem} {r.reason}" for r in plan.refused[:3])
        raise OptarenaError(f"no pairing of these optimizers and problems can work ({reasons})")
    place.create()
    before = open_store(place.path)
    _refuse_drift(plan, before)
    todo = list(_todo(plan, before))
    place.write_run(plan)
    progress.begin(plan, todo, len(plan.studies) - len(todo))
    if todo:
        with contextlib.closing(Journal(place.journals, environment())) as journal:
            for study in todo:
                outcome = run_study(
                    study,
                    plan.problems[study.problem],
                    plan.classes[study.optimizer.label],
                    journal,
                    source=plan.sources.get(study.optimizer.label),
                    tick=_ticker(progress, study),
                )
                progress.ended(study, outcome)
    return open_store(place.path)


def _ticker(progress: Progress, study: Study) -> Callable[[int], None]:
    return lambda evaluations: progress.tick(study, evaluations)


def _todo(plan: Plan, results: Results) -> Iterator[Study]:
    """The studies that are not finished, or finished under a smaller budget than this plan gives."""
    known = {row["study"]: row for row in results.studies.iter_rows(named=True)}
    for study in plan.studies:
        row = known.get(study.id)
        if row is None or row["status"] not in FINISHED or (row["status"] == "done" and _larger(study, row)):
            yield study


def _larger(study: Study, row: dict[str, object]) -> bool:
    """Whether a finished study has room left under this plan; one that reached its target has none."""
    wanted = study.budget
    if row["reason"] == "target reached" and wanted.target is not None:
        return False
    if wanted.evaluations is not None and wanted.evaluations <= int(str(row["evaluations"])):
        return False
    seconds, had = wanted.seconds, row["budget_seconds"]
    return seconds is None or had is None or seconds > float(str(had)) or wanted.evaluations != row["budget"]


def _refuse_drift(plan: Plan, results: Results) -> None:
    """A problem or a user's file that changed since its studies were run must not silently continue them."""
    cards = {}
    for attempt in results._columns.attempts:
        if attempt.start.root == str(plan.root):
            cards[attempt.card.id, attempt.card.version] = attempt
    for problem in plan.problems.values():
        found = cards.get((problem.id, problem.version))
        if found is None:
            continue
        card = problem_card(problem)
        for what in ("source", "space", "objectives", "constraints"):
            if getattr(card, what) != getattr(found.card, what):
                raise OptarenaError(
                    f"{problem.id}: its {what} is not what it was when store {results.path} ran it; use --new to begin"
                    " afresh beside the old studies, or another --store"
                )
    for attempt in results._columns.attempts:
        for label, source in plan.sources.items():
            same = attempt.start.root == str(plan.root) and attempt.start.optimizer == label
            if same and attempt.start.source not in (None, source):
                raise OptarenaError(
                    f"{label}: its file is not what it was when store {results.path} ran it; use --new to begin afresh"
                    " beside the old studies, or another --store"
                )
