"""The studies of Bayesmark's files as the lines of a journal.

Problems of the suite `sklearn` keep their ids: old results and new ones meet, if their signatures agree. Methods are
called name_version_revision.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from optarena._bayesmark_names import VISIBLE
from optarena._json import numbers
from optarena.bayesmark.files import FileStudy
from optarena.bayesmark.studies import bayesmark_names
from optarena.errors import OptarenaError, SuggestionError
from optarena.experiment import Budget
from optarena.formats.incoming import NAMESPACE, Cards, imported_start
from optarena.problem import Objective, Problem, get_suite
from optarena.space import Space
from optarena.store.columns import Attempt
from optarena.store.costs import EVALUATE, NANOSECONDS, OBSERVE, SUGGEST, costs_of, no_costs
from optarena.store.journal import problem_card
from optarena.store.records import IMPORTED, End, ProblemCard, Record, Rows
from optarena.store.signatures import FOREIGN, has_changed

NO_ATTEMPTS: Mapping[str, Attempt] = {}
KEPT = {"opt": "--opt", "opt_rev": "opt_rev", "rev": "rev"}  # attribute -> what the files call it


def _own_names(study: FileStudy, own: Mapping[str, Attempt]) -> tuple[str, str] | None:
    """Problem and optimizer as they are called here, of a study that was run here and exported under their names."""
    attempt = own.get(str(uuid.UUID(study.uuid))) if study.uuid else None
    if attempt is None or bayesmark_names(attempt) != (study.problem, study.method):
        return None
    return attempt.card.id, attempt.start.optimizer


def records_of(
    studies: Sequence[FileStudy], where: str = "", *, own_ids: bool = True, own: Mapping[str, Attempt] = NO_ATTEMPTS
) -> Iterator[Record]:
    """The studies as the lines of a journal, trials numbered by id within problem and method, as Bayesmark does.

    own_ids: whether problems are called as they are here, or as they are there. own: studies that exist here, by id.
    """
    cards: dict[str, ProblemCard] = {}
    trials: dict[tuple[str, str], int] = {}
    for s, study in enumerate(sorted(studies, key=lambda study: (study.problem, study.method, study.uuid))):
        names = _own_names(study, own) or (problem_id(study.problem) if own_ids else study.problem, study.method)
        card = _card(study, names[0])
        known = cards.setdefault(card.id, card)
        if known is card:
            yield card
        else:
            refuse_other_signature(card, known, f"{where}: study {study.uuid}", "other studies")
        key = (study.problem, study.method)
        trial = trials[key] = trials.get(key, -1) + 1
        rows, columns = study.shape
        id = uuid.UUID(study.uuid) if study.uuid else uuid.uuid5(NAMESPACE, repr((*key, trial)))
        yield imported_start(
            s,
            known,
            names[1],
            trial,
            Budget(rows * columns),
            study=str(id),
            batch=columns,
            attributes={name: str(study.args[key]) for name, key in KEPT.items() if study.args.get(key) is not None},
        )
        yield from _rows(s, study, known)


def _rows(s: int, study: FileStudy, card: ProblemCard) -> Iterator[Record]:
    rows, columns = study.shape
    y = study.values[VISIBLE].reshape(-1, 1)
    hidden = np.column_stack([study.values[name].ravel() for name in card.metrics]) if card.metrics else None
    if all(name in study.points for name in card.space):
        columns_of = ([value for row in study.points[name] for value in row] for name in card.space)
        points = [list(row) for row in zip(*columns_of, strict=True)]
    else:  # its points were not kept
        points = [[] for _ in range(y.shape[0])]
    failed = np.isnan(y[:, 0])

    def line(low: int, high: int, costs: list[int]) -> Rows:
        out = Rows(s, low + 1, [numbers(row) for row in y[low:high].tolist()], costs, x=points[low:high])
        if hidden is not None:
            out.m = [numbers(row) for row in hidden[low:high].tolist()]
        out.f = {int(i): ("nan", "") for i in np.flatnonzero(failed[low:high])}
        return out

    last = 0
    if study.times:  # one line per row: a line has one time of evaluating
        suggest, spent, observe = (
            np.rint(study.times[n] * NANOSECONDS).astype(int) for n in ("suggest", "eval", "observe")
        )
        for k in range(rows * columns):
            t, i = divmod(k, columns)
            cost = no_costs()
            cost[EVALUATE] = int(spent[t, i])
            if not i:
                cost[SUGGEST], cost[OBSERVE] = int(suggest[t]), int(observe[t - 1]) if t else 0
            yield line(k, k + 1, cost)
        last = int(observe[-1])
    else:
        yield line(0, rows * columns, no_costs())
    yield End(s, "done", rows * columns, 0.0, costs_of(OBSERVE, last, 0))


# ---- problems -------------------------------------------------------------------------------------------------------


def problem_id(name: str) -> str:
    """The id here of Bayesmark's `model_data_metric`; a name that is nothing here stays as it is."""
    parts = name.split("_")
    if get_suite("sklearn").contains(f"sklearn/{name}"):
        return f"sklearn/{name}"
    own = len(parts) == 3 and parts[1].startswith(("clf-", "reg-"))
    return f"{parts[1]}.csv:{parts[0]}_{parts[2]}" if own else name


def _card(study: FileStudy, id: str) -> ProblemCard:
    hidden = tuple(name for name in study.values if name != VISIBLE)
    card: ProblemCard | None = None
    if id.startswith("sklearn/"):
        suite = get_suite("sklearn")
        problem = suite.build(id)
        assert isinstance(problem, Problem)
        problem.id, problem.suite = id, suite.name
        if problem.metrics == hidden and study.points and _fits(study, problem.space):
            card = problem_card(problem, signed=False)
    if card is None:
        card = ProblemCard(
            hash="",
            id=id,
            version=IMPORTED,
            space={name: {"type": _kind(values)} for name, values in study.points.items()},
            dimension=len(study.points),
            objectives=(Objective(),),
            suite="sklearn" if id.startswith("sklearn/") else "",
            function=study.problem,
            metrics=hidden,
        )
    made_with = {FOREIGN: str(study.args["rev"])} if "rev" in study.args else {}
    card = msgspec.structs.replace(card, hash="", versions=made_with, signature=tuple(numbers(study.signature[1])))
    return Cards().add(card)[0]


def _fits(study: FileStudy, space: Space) -> bool:
    """Whether its points are points of the space: that of another Bayesmark may be another."""
    columns = {name: [v for row in rows for v in row] for name, rows in study.points.items()}
    try:
        space.to_matrix([dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)])
    except SuggestionError:
        return False
    return True


def _kind(values: list[list[Any]]) -> str:
    flat = [value for row in values for value in row]
    for kind, types in (("bool", bool), ("int", int), ("real", (int, float))):
        if all(isinstance(value, types) and (kind == "bool" or not isinstance(value, bool)) for value in flat):
            return kind
    return "cat"


def refuse_other_signature(card: ProblemCard, known: ProblemCard, here: str, there: str) -> None:
    """Refuse a problem whose values at fixed points are not those that are known of it."""
    if has_changed(card, known):
        raise OptarenaError(
            f"{here}: the signature of {card.id} is not that of {there}: the same points give other values, so these"
            " are two problems; keep them in two stores"
        )
