"""Running a recorded study again, to prove that it is the same or to say where and why it is not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from optarena._json import unstrict
from optarena._scratch import Scratch
from optarena._source import versions_of
from optarena.dataset import Dataset
from optarena.errors import OptarenaError
from optarena.experiment import Experiment, Plan, Use
from optarena.optimizer import OPTIMIZERS
from optarena.problem import SUITES
from optarena.runner.environment import environment
from optarena.runner.kernels import NATIVE, PINNED, can_pin
from optarena.runner.local import Silent
from optarena.runner.past import Past, from_columns
from optarena.runner.recorded import Recorded
from optarena.runner.supervisor import Supervisor
from optarena.space import Space
from optarena.store import Store
from optarena.store.columns import Attempt
from optarena.store.journal import problem_card
from optarena.store.merging import differing
from optarena.store.signatures import EQUAL, facts_of, gap


class Verdict(msgspec.Struct):
    """What came of running a study again."""

    study: str
    compared: int
    """Evaluations that were recorded and made again."""
    same: bool
    difference: str = ""
    """The first one, in words."""
    facts: list[str] = []
    """What has changed: versions, the machine, the problem's file."""


def replay(store: str | Path | Dataset, study: str, *, files: Path | None = None, changed: bool = True) -> Verdict:
    """Run a study of a store again in a worker of its own, elsewhere, and compare value by value.

    files: the folder in which its files are looked up by their names [as they were named, from the current directory].
    changed: whether files that are not those of the record are run, too.
    """
    results = find_study(store if isinstance(store, Dataset) else Dataset.of_store(store), study)
    (attempt,) = results.attempts
    if attempt.card.imported:
        raise OptarenaError(f"study {attempt.start.study} was imported: there is nothing to run again")
    plan = _plan(attempt, files)
    others = _other_files(attempt, plan)
    if others and not changed:
        raise OptarenaError(f"not run: {' and '.join(others)} changed since it was published")
    planned = plan.studies[-1]
    cls = plan.classes[planned.optimizer.label]
    programs = cls.versions(planned.optimizer.settings)
    kernels = _kernels(attempt)
    facts = _facts(attempt, programs, kernels) + others
    problem = plan.problems[planned.problem]
    what = differing(attempt.card, problem_card(problem, signed=False))
    if what is not None and f"the problem's {what}" not in facts:
        facts.append(f"the problem's {what}")
    if planned.id != attempt.start.study:
        facts.append(f"the problem's version: {attempt.card.version}, now {problem.version}")
    columns = results.in_full().columns
    recorded = from_columns(columns, attempt.start.study)
    assert recorded is not None
    # what had to be killed is not tried again, but answered as recorded; its point is left out, to be written again
    killed = recorded.rows.take(recorded.rows.killed)
    killed.points = np.full(killed.points.shape, np.nan)
    answered = Past(rows=killed, answers_only=True)
    with Scratch("replay") as directory:
        place = Store(Path(directory) / "store")
        place.create()
        supervisor = Supervisor(place, plan, plan.experiment, Silent(), lambda: None, kernels)
        supervisor.run([([planned], {planned.id: answered})], 1)
        again = Dataset.of_store(place.path).in_full().columns
        made = from_columns(again, planned.id)
        if again.attempts:
            facts += _ends(attempt, again.attempts[0], reasons=planned.solver)
        if again.attempts and gap(attempt.card, again.attempts[0].card) > EQUAL:
            facts.append("the problem's values at fixed points (its signature)")
    compared, difference = _compared(attempt, recorded.rows, made.rows if made is not None else Recorded())
    if difference and (failure := _failure(attempt, again.attempts)):
        difference += f" ({failure})"
    return Verdict(attempt.start.study, compared, not difference, difference, facts)


def _failure(was: Attempt, now: Sequence[Attempt]) -> str:
    """Why it failed this time, as where a program or its environment is missing; empty if it did not, or did before."""
    old, new = (attempt.ends[-1] if attempt.ends else None for attempt in (was, now[0] if now else was))
    if new is None or not now or new.status != "failed" or (old is not None and old.reason == new.reason):
        return ""
    return f"it failed: {new.reason}"


def _compared(attempt: Attempt, known: Recorded, now: Recorded) -> tuple[int, str]:
    """How many evaluations are the same as recorded, and the first difference in words."""
    space = Space(attempt.card.space) if attempt.card.space else None
    for i, k in enumerate(known.evaluation.tolist()):
        at = now.find(k)
        if at is None:
            return i, "" if attempt.start.budget.seconds is not None else f"evaluation {k} was not made"
        text = _difference(list(attempt.card.space), known.row(i, space), now.row(at, space))
        if text:
            return i, f"evaluation {k}: {text}"
    return len(known), ""


def _ends(was: Attempt, now: Attempt, *, reasons: bool) -> list[str]:
    """What was said at the end, where it is now said otherwise; seconds and processor time always differ."""
    if not was.ends or not now.ends:
        return []
    old, new = was.ends[-1], now.ends[-1]
    out = (
        []
        if not reasons or old.reason == new.reason
        else [f"how it ended: {old.status}, {old.reason}; now {new.status}, {new.reason}"]
    )
    for name in dict.fromkeys([*old.a, *new.a]):
        if name not in ("seconds", "effort.cpu_seconds") and old.a.get(name) != new.a.get(name):
            out.append(f"{name.removeprefix('effort.')} at its end: {old.a.get(name)}, now {new.a.get(name)}")
    return out


def find_study(results: Dataset, study: str) -> Dataset:
    """The one study whose id begins so, with or without its dashes."""
    digits = study.replace("-", "").lower()
    ids = [attempt.start.study.replace("-", "") for attempt in results.attempts]
    found = [i for i, id in enumerate(ids) if id.startswith(digits)] if digits else []
    if len(found) != 1:
        many = f"{len(found)} studies begin with" if found else "no study begins with"
        raise OptarenaError(
            f"{many} {study!r} in store {results.path} (optarena status {results.path} --studies lists them)"
        )
    return results.select(np.array(found))


def files_needed(attempt: Attempt) -> list[str]:
    """The user's files behind a study, without their directories: of its problem and of its optimizer."""
    references = (SUITES.reference(attempt.card.id), OPTIMIZERS.reference(attempt.start.use))
    return [reference.short for reference in references if reference.on_disk]


def _other_files(attempt: Attempt, plan: Plan) -> list[str]:
    """Which of its files are not those that the store has a hash of."""
    planned = plan.studies[-1]
    card = problem_card(plan.problems[planned.problem], signed=False)
    parts = (
        ("problem", SUITES.reference(attempt.card.id), attempt.card.source, card.source),
        (
            "optimizer",
            OPTIMIZERS.reference(attempt.start.use),
            attempt.start.source,
            plan.sources.get(planned.optimizer.label),
        ),
    )
    return [f"the {what}'s source" for what, reference, was, now in parts if reference.on_disk and was != now]


def _plan(attempt: Attempt, files: Path | None) -> Plan:
    """The plan of just this study, from its card."""
    start, card = attempt.start, attempt.card
    use, problem = OPTIMIZERS.reference(start.use), SUITES.reference(card.id)
    experiment = Experiment(
        [Use(use.text if files is None else use.short, unstrict(start.settings), start.optimizer, start.isolated)],
        [problem.text if files is None else problem.short],
        start.budget.evaluations,
        seconds=start.budget.seconds,
        target=start.budget.target,
        trials=start.trial + 1,
        batch=start.batch,
        seed=start.root,
        base=files or Path.cwd(),
    )
    try:
        plan = experiment.plan()
        if not plan.studies:
            raise OptarenaError(f"{start.optimizer} {plan.refused[0].reason}")
        if start.seed:  # its id was not made by the plan, either
            plan.studies[-1] = msgspec.structs.replace(plan.studies[-1], id=start.study, seed=start.seed)
        return plan
    except OptarenaError as error:
        hint = " (a file is looked up in the current directory)" if files is None and files_needed(attempt) else ""
        raise OptarenaError(f"study {start.study} cannot be run again: {error}{hint}") from error


def _difference(names: list[str], old: Any, new: Any) -> str:
    if names and old.x and new.x:
        for name, was, now in zip(names, old.x, new.x, strict=True):
            if was != now:
                return f"suggested {name} = {now!r}, but recorded is {was!r}"
    if old.status != new.status:
        return f"ended as {new.status} {new.message}, but recorded is {old.status}"
    if not np.array_equal(old.y, new.y, equal_nan=True):
        return f"gave {new.y}, but recorded is {old.y}"
    for what in ("violations", "metrics"):
        was, now = getattr(old, what), getattr(new, what)
        if not np.array_equal(was, now, equal_nan=True):
            return f"gave {what} {now}, but recorded is {was}"
    return ""


def _kernels(attempt: Attempt) -> str:
    """The kernels to run it with: those that it had, where this machine has them."""
    was = facts_of(attempt.headers[-1])[-1] if attempt.headers else NATIVE
    return PINNED if was == PINNED and can_pin() else NATIVE


def _facts(attempt: Attempt, programs: dict[str, str], kernels: str) -> list[str]:
    """What the store says of the machine and versions, where the replay says otherwise; `programs`: of no package."""
    out = []
    now = environment() | {"kernels": kernels}
    keys = ["optarena", "python", "machine", "cpu", "numpy", "scipy", "kernels"]
    if kernels == NATIVE:  # a pinned worker has its own
        keys.append("blas")
    headers = attempt.headers
    for key in keys:
        was = sorted({str(header.environment.get(key, NATIVE if key == "kernels" else None)) for header in headers})
        if was and was != [str(now[key])]:
            out.append(f"{key}: {', '.join(was)}, now {now[key]}")
    for versions in (attempt.start.versions, attempt.card.versions):
        current = {**versions_of(list(versions)), **programs}
        out += [f"{name}: {was}, now {current[name]}" for name, was in versions.items() if was != current[name]]
    return out
