"""What of a plan a store lacks, what each study continues from, and whether it may: for runs and for pilots."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from optarena._json import numbers
from optarena._source import versions_of
from optarena.dataset import Dataset
from optarena.errors import OptarenaError
from optarena.experiment import Experiment, Plan, Study
from optarena.runner.past import Pasts, needs_no_rows
from optarena.runner.signing import Sign
from optarena.sense import sign as sign_of_sense
from optarena.status import FINISHED, PROVEN, UNSUCCESSFUL
from optarena.store import Store
from optarena.store.columns import Columns
from optarena.store.journal import problem_card
from optarena.store.merging import differing
from optarena.store.signatures import has_changed, made_with


def planned(experiment: Experiment, store: Store, new: bool) -> Plan:
    """The plan under the root that a store has for it, or (`new`) under a fresh one."""
    if new and experiment.seed is not None:
        raise OptarenaError("new and seed both choose the root: give one of them")
    return experiment.plan(experiment.seed or (None if new else _root_of(store, experiment)) or uuid.uuid4())


def settled(
    experiment: Experiment, store: Store, plan: Plan, sign: Sign, *, new: bool, retry: bool
) -> tuple[Plan, Dataset]:
    """A plan, and what the store has of it; refused where it may not continue that. Call it under the lock "run"."""
    if experiment.seed is None and not new:  # another run may have begun while this one was planned
        root = _root_of(store, experiment) or plan.root
        plan = plan if root == plan.root else experiment.plan(root)
    before = Dataset.of_store(store.path, *(() if experiment.reads_all else plan.problems))
    experiment.settle(plan, before)
    _refuse_drift(plan, before, retry)
    _refuse_other_values(plan, before, sign)
    return plan, before


def refuse_empty(plan: Plan) -> None:
    if not plan.studies:
        reasons = "; ".join(f"{r.optimizer} on {r.problem} {r.reason}" for r in plan.refused[:3])
        raise OptarenaError(f"no pairing of these optimizers and problems can work ({reasons})")


def objects_here(plan: Plan) -> list[str]:
    """What only this process has, in words: no other process can run it."""
    return [
        *(f"problem {id!r}" for id in sorted(set(plan.problems) - set(plan.references))),
        *(f"optimizer {item.label!r}" for item in plan.experiment.optimizers if item.given is not None),
    ]


def _root_of(store: Store, experiment: Experiment) -> uuid.UUID | None:
    """The root under which this experiment continues; where run files are lost, that of the last study."""
    root = store.root(experiment)
    if root is not None or not any(True for part in (store.journal_paths(), store.shard_paths()) for _ in part):
        return root
    ran = [attempt.start for attempt in Dataset.of_store(store.path).attempts if not attempt.card.imported]
    return uuid.UUID(ran[-1].root) if ran else None


def recorded(plan: Plan, before: Dataset, todo: list[Study]) -> Pasts:
    """Of the studies that go on: every row, where they need them."""
    ids = {
        study.id
        for study in todo
        if not needs_no_rows(before.columns, study, plan.classes[study.optimizer.label], plan.problems[study.problem])
    }
    begun = [i for i, attempt in enumerate(before.attempts) if attempt.start.study in ids]
    rows = before.select(np.array(begun)).in_full().columns if begun else Columns()
    return Pasts(rows, ids, before.columns)


def lacking(studies: Sequence[Study], results: Dataset, retry: bool) -> Iterator[Study]:
    """The studies that are not finished, or that this plan gives more room than they had."""
    known = {row["study"]: row for row in results.studies.iter_rows(named=True)}
    endings = {attempt.start.study: word for attempt, word in zip(results.attempts, results.endings(), strict=True)}
    for study in studies:
        row = known.get(study.id)
        if row is None or row["status"] not in FINISHED:
            yield study
        elif row["status"] == "done" or _failed_in_full(row):
            if _room(study, row, endings.get(study.id, "")) or (retry and row["status"] in UNSUCCESSFUL):
                yield study
        elif retry and row["status"] in UNSUCCESSFUL:
            yield study


def _failed_in_full(row: dict[str, Any]) -> bool:
    """Whether a study made all evaluations of its budget and all of them failed: a larger budget may go on with it."""
    made: int = row["evaluations"]
    return row["status"] == "failed" and row["budget"] is not None and made >= row["budget"] and row["failures"] == made


def _room(study: Study, row: dict[str, Any], ending: str) -> bool:
    """Whether a study that is done has something left to do under this plan's budget."""
    budget = study.budget
    if study.solver:  # more time for the same solver is another run of it, unless it has proved all there is
        given = row["budget_seconds"]
        assert budget.seconds is not None
        return ending not in PROVEN and (given is None or budget.seconds > given)
    if study.record == "all" and row["record"] != "all":
        return True  # what was not kept must be made again
    if budget.evaluations is not None and row["evaluations"] >= budget.evaluations:
        return False
    spent = row["suggest_seconds"] + row["evaluate_seconds"] + row["observe_seconds"]
    if budget.seconds is not None and spent >= budget.seconds:
        return False
    if budget.target is not None and row["best"] is not None:
        sign = sign_of_sense(row["sense"])
        goal = sign * budget.target if row["optimum"] is None else sign * row["optimum"] + budget.target
        return bool(sign * row["best"] > goal)
    return True


def left_failed(plan: Plan, before: Dataset, todo: list[Study]) -> list[str]:
    """What to say of studies that failed before and are not run again."""
    planned = {study.id for study in plan.studies} - {study.id for study in todo}
    left = [status for study, status in _statuses(before).items() if study in planned and status in UNSUCCESSFUL]
    counts = " and ".join(f"{left.count(status):,} {status}" for status in UNSUCCESSFUL if status in left)
    return [f"studies that ended before and are not run again: {counts} (--retry does)"] if left else []


def _statuses(results: Dataset) -> dict[str, str]:
    return dict(results.studies.select("study", "status").iter_rows())


def _refuse_drift(plan: Plan, results: Dataset, retry: bool) -> None:
    """A problem or a user's file that changed since its studies were run must not silently continue them.

    A retry may use a file that was fixed after its studies failed, if no other study used the old one.
    """
    afresh = plan.experiment.afresh
    labels = {study.id: study.optimizer.label for study in plan.studies}
    sources = {item.identity: plan.sources.get(item.label) for item in plan.experiment.optimizers}
    status = _statuses(results)
    cards = {}
    for attempt in results.attempts:
        start = attempt.start
        label = labels.get(start.study, start.optimizer)
        if label != start.optimizer:  # tables would have one optimizer under two names
            raise OptarenaError(
                f"{label}: store {results.path} calls this optimizer, with these settings, {start.optimizer!r};"
                f" keep that name, or {afresh}"
            )
        if start.root == str(plan.root):
            cards[attempt.card.id, attempt.card.version] = attempt.card
            source = sources.get(start.use)
            tried_again = retry and status[start.study] in UNSUCCESSFUL
            if source is not None and start.source not in (None, source) and not tried_again:
                raise OptarenaError(f"{start.use}: its source has changed since store {results.path} ran it; {afresh}")
    for problem in plan.problems.values():
        found = cards.get((problem.id, problem.version))
        if found is None:
            continue
        what = differing(problem_card(problem, signed=False), found)
        if what is not None:
            raise OptarenaError(f"{problem.id}: its {what} has changed since store {results.path} ran it; {afresh}")


def _refuse_other_values(plan: Plan, results: Dataset, sign: Sign) -> None:
    """A problem whose packages changed and whose values at fixed points moved is another problem, under any root.

    With the same packages its values can differ by machine only, which is noted where the store is read.
    """
    old = {}
    for (id, version), signed in results.columns.signed.items():
        problem = plan.problems.get(id)
        if problem is not None and problem.version == version:
            cards = [item.card for item in signed if item.card.versions != versions_of(problem.packages)]
            if cards:
                old[id] = cards
    current = sign(plan, list(old))
    for id, cards in old.items():
        now = problem_card(plan.problems[id], signed=False)
        now.signature = tuple(numbers(current[id]))
        for card in cards:
            if has_changed(card, now):
                raise OptarenaError(
                    f"{id}: its signature with {made_with(now)} is not that in store {results.path}, made with"
                    f" {made_with(card)}: the same points give other values; use another --store, or the original"
                    " package versions"
                )
