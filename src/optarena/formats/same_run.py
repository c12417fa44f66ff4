"""Whether two studies are one run: copies, one a longer part of the other, or a contradiction.

Values are compared minimised, as f or as f - f_opt, since a log of another tool may have either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from optarena._text import mailable
from optarena.dataset import Dataset
from optarena.formats.from_results import differences, function_number
from optarena.staircase import entering
from optarena.status import EVALUATION, FINISHED
from optarena.store.columns import Attempt, Columns
from optarena.traces import Bools, Floats, Ints

IOH_VERSION = "ioh_version"
"""The attribute that runs of IOHprofiler have."""
IOH_ROUNDING = 0.5e-10  # its rows have ten decimals
EFFORT_TOLERANCE = 1e-9  # relative: units are converted


@dataclass(eq=False)
class Study:
    """A study of a store or of an import, with what is needed to compare it."""

    where: str
    columns: Columns
    attempt: Attempt
    rows: Ints
    """Which rows of the columns are its own."""
    evaluation: Ints
    values: Floats
    """(rows, objectives), minimised; inf where an evaluation failed."""
    difference: Floats
    """f - f_opt of the same rows, minimised."""
    made: int
    status: str
    reason: str
    source: tuple[int, str] | None = None

    @property
    def name(self) -> str:
        start = self.attempt.start
        return f"{start.optimizer} on {self.attempt.card.id}, trial {start.trial}"

    @property
    def key(self) -> tuple[str, str]:
        """Optimizer and problem, as the logs of other tools name them."""
        card = self.attempt.card
        number = function_number(card)
        if not card.suite or number is None:
            return self.attempt.start.optimizer, card.id
        problem = f"{card.suite}/f{number}/d{card.dimension}/i{card.instance or 1}"
        return self.attempt.start.optimizer, problem

    @property
    def finished(self) -> bool:
        return self.status in FINISHED

    @property
    def imported(self) -> bool:
        return self.attempt.card.imported

    @cached_property
    def improvements(self) -> list[tuple[Ints, Floats]]:
        """The evaluations that improved, and their values; once as f and once as f - f_opt where that differs."""
        forms = [self.values]
        if self.values.shape[1] == 1 and not np.array_equal(self.values[:, 0], self.difference):
            forms.append(self.difference[:, None])
        return [(self.evaluation[kept], values[kept]) for values in forms for kept in [_improving(values)]]


def studies_of(results: Dataset, where: str) -> list[Study]:
    """Every study that was begun."""
    results = results.in_full()
    columns, attempts = results.columns, results.attempts
    rows, counts = results.rows
    values = results.traces().values
    values = np.where(np.isnan(values), np.inf, values)
    apart = differences(results, attempts, rows, counts)
    bounds = np.concatenate(([0], np.cumsum(counts))).tolist()
    facts = results.studies.head(len(attempts)).select("evaluations", "status", "reason").rows()
    out = []
    for i, (attempt, (made, status, reason)) in enumerate(zip(attempts, facts, strict=True)):
        own = slice(bounds[i], bounds[i + 1])
        width = len(attempt.card.objectives)
        here = rows[own]
        evaluation = columns.evaluation[here]
        out.append(
            Study(
                where, columns, attempt, here, evaluation, values[own, :width], apart[own], made, status, reason or ""
            )
        )
    return out


def _improving(values: Floats) -> Ints:
    """Which rows improve on all before them; of more than two objectives, all that did not fail."""
    if values.shape[1] == 1:
        before = np.minimum.accumulate(np.concatenate(([np.inf], values[:-1, 0])))
        return np.flatnonzero(values[:, 0] < before)
    good = np.flatnonzero(np.isfinite(values).all(axis=1))
    return good[entering(values[good])] if values.shape[1] == 2 else good


# ---- by what they found --------------------------------------------------------------------------------------------


def is_copy(one: Study, two: Study) -> bool:
    """Whether both made as many evaluations and improved at the same ones to the same values."""
    return one.made == two.made and _improve_alike(one, two, one.made)


def is_part(short: Study, long: Study) -> bool:
    """Whether one is the beginning of the other; a single value is too little to tell.

    IOHprofiler has all digits of a run's best value, and rounds it where a longer run has a better one.
    """
    enough = len(short.improvements[0][0]) >= (2 if short.finished else 1)
    tolerance = IOH_ROUNDING if are_rounded(short, long) else 0.0
    return short.made < long.made and enough and _improve_alike(short, long, short.made, tolerance)


def are_rounded(*studies: Study) -> bool:
    """Whether all are logs of IOHprofiler, which have all digits of their best value only."""
    return all(IOH_VERSION in study.attempt.start.attributes for study in studies)


def _improve_alike(one: Study, two: Study, until: int, last: float = 0.0) -> bool:
    """Whether improvements are equal up to some evaluation, the last of them to a tolerance."""
    return any(
        np.array_equal(a, b)
        and np.array_equal(x[:-1], y[:-1])
        and (np.abs(x[-1:] - y[-1:]) <= last + np.spacing(np.abs(x[-1:])) * (last > 0)).all()
        for a, x in _cut(one, until)
        for b, y in _cut(two, until)
    )


def _cut(study: Study, until: int) -> Iterator[tuple[Ints, Floats]]:
    for evaluation, values in study.improvements:
        n = int(np.searchsorted(evaluation, until, side="right"))
        yield evaluation[:n], values[:n]


def is_row_by_row_copy(one: Study, two: Study) -> bool:
    """Whether all rows are equal, with their points and efforts; a single row is too little to tell."""
    same = one.made == two.made and len(one.rows) > 1 and np.array_equal(one.evaluation, two.evaluation)
    return same and _rows_differ(one, two) is None


def is_row_by_row_copy_of_a_trial(one: Study, two: Study) -> bool:
    """The same where trial numbers are stated: another number is another run, as some optimizers repeat themselves."""
    if one.attempt.start.trial != two.attempt.start.trial or one.made != two.made:
        return False
    return np.array_equal(one.evaluation, two.evaluation) and _rows_differ(one, two) is None


# ---- under one id --------------------------------------------------------------------------------------------------


def contradiction(known: Study, new: Study, *, trial_stated: bool) -> str | None:
    """What two studies under one id say differently, in words; None if they can be one study."""
    a, b = known.attempt.start, new.attempt.start
    facts: list[tuple[str, Any, Any]] = [
        ("optimizer", a.optimizer, b.optimizer),
        ("problem", known.attempt.card.id, new.attempt.card.id),
        ("number of objectives", known.values.shape[1], new.values.shape[1]),
    ]
    if trial_stated:
        facts.append(("trial", a.trial, b.trial))
    if a.batch > 1 and b.batch > 1:
        facts.append(("batch size", a.batch, b.batch))
    if b.settings:
        facts.append(("settings", a.settings, b.settings))
    facts += [(f"attribute {n!r}", a.attributes[n], text) for n, text in b.attributes.items() if n in a.attributes]
    if known.made == new.made and known.finished and new.finished:
        facts.append(("status", known.status, new.status))
        if known.reason and new.reason:
            facts.append(("reason", known.reason, new.reason))
    hosts = [header.host for header in known.attempt.headers]
    for what, there, here in facts:
        if there != here and exported(there, hosts) != exported(here, hosts):
            return f"its {what} is {here!r}, but {there!r} in {known.where}"
    return _rows_differ(known, new) or _not_in_both(known, new) or _changed_rows(known, new)


def exported(value: Any, hosts: Sequence[str]) -> Any:
    """A text as an export has it, which is as good as the text itself."""
    return mailable(value, hosts) if isinstance(value, str) else value


def adds(known: Study, new: Study) -> bool:
    """Whether a study under a known id has anything that is not known."""
    more = new.made > known.made or not np.isin(new.evaluation, known.evaluation).all()
    ended = new.finished and not known.finished
    # what a run itself wrote is not added to by what a file says of it
    attributes = known.imported and new.attempt.start.attributes.keys() - known.attempt.start.attributes.keys()
    return bool(more or ended or attributes) or _has_more_points(known, new)


def has_more_rows(known: Study, new: Study) -> bool:
    """Whether a study under a known id has evaluations or points that are not known."""
    return not np.isin(new.evaluation, known.evaluation).all() or _has_more_points(known, new)


def _common(one: Study, two: Study) -> tuple[Ints, Ints]:
    """The places of the evaluations that both have."""
    _, a, b = np.intersect1d(one.evaluation, two.evaluation, assume_unique=True, return_indices=True)
    return a, b


def _rows_differ(known: Study, new: Study) -> str | None:
    a, b = _common(known, new)
    if not len(a):
        return None
    if known.values.shape[1] != new.values.shape[1]:
        return "its number of objectives differs"
    wrong = (known.values[a] != new.values[b]).any(axis=1)
    if wrong.any() and known.values.shape[1] == 1:
        wrong &= known.difference[a] != new.difference[b]
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        here, there = (_shown(study, int(i[at])) for study, i in ((new, b), (known, a)))
        return f"evaluation {known.evaluation[a[at]]} is {here}, but {there} in {known.where}"
    return _numbers_differ(known, new, a, b) or _points_differ(known, new, a, b)


def _shown(study: Study, i: int) -> str:
    row = study.rows[i]
    status = int(study.columns.status[row])
    if status:
        return f"{EVALUATION[status]!r}"
    return ", ".join(f"{v!r}" for v in study.columns.values[row, : study.values.shape[1]].tolist())


def _numbers_differ(known: Study, new: Study, a: Ints, b: Ints) -> str | None:
    """Metrics, and efforts and bounds, where both have them."""
    for name in known.attempt.card.metrics:
        if name in new.attempt.card.metrics:
            one, two = (_metric(study, name)[i] for study, i in ((known, a), (new, b)))
            wrong = np.isfinite(one) & np.isfinite(two) & (one != two)
            if wrong.any():
                return _apart(known, f"metric {name!r}", a, one, two, wrong)
    for name, column in known.columns.extras.items():
        if name in new.columns.extras:
            one, two = column[known.rows[a]], new.columns.extras[name][new.rows[b]]
            with np.errstate(invalid="ignore"):
                wrong = np.abs(one - two) > EFFORT_TOLERANCE * np.maximum(np.abs(one), np.abs(two))
            if wrong.any():
                return _apart(known, name, a, one, two, wrong)
    return None


def _metric(study: Study, name: str) -> Floats:
    values: Floats = study.columns.metrics[study.rows, study.attempt.card.metrics.index(name)]
    return values


def _apart(known: Study, what: str, a: Ints, one: Floats, two: Floats, wrong: Bools) -> str:
    at = int(np.flatnonzero(wrong)[0])
    place = f"evaluation {known.evaluation[a[at]]}"
    return f"{what} of {place} is {float(two[at])!r}, but {float(one[at])!r} in {known.where}"


def _points_differ(known: Study, new: Study, a: Ints, b: Ints) -> str | None:
    shared = [name for name in known.attempt.card.space if name in new.attempt.card.space]
    if not shared:
        return None
    places = [[list(study.attempt.card.space).index(name) for name in shared] for study in (known, new)]
    points = known.columns.points(known.rows[a]), new.columns.points(new.rows[b])
    for k, one, two in zip(known.evaluation[a].tolist(), *points, strict=True):
        if one and two:
            for name, i, j in zip(shared, *places, strict=True):
                if one[i] != two[j] and not (one[i] != one[i] and two[j] != two[j]):
                    return f"parameter {name!r} of evaluation {k} is {two[j]!r}, but {one[i]!r} in {known.where}"
    return None


def _has_more_points(known: Study, new: Study) -> bool:
    a, b = _common(known, new)
    if not new.attempt.card.space or not len(a):
        return False
    points = known.columns.points(known.rows[a]), new.columns.points(new.rows[b])
    return any(two and not one for one, two in zip(*points, strict=True))


def _not_in_both(known: Study, new: Study) -> str | None:
    """An evaluation that only one of two has must be one that the other lost, or did not have to keep."""
    until = min(known.made, new.made)
    for one, other in ((known, new), (new, known)):
        if other.attempt.start.record == "all" or one.values.shape[1] > 1:
            continue
        only = np.flatnonzero(~np.isin(one.evaluation, other.evaluation) & (one.evaluation <= until))
        if not len(only):
            continue
        best = np.minimum.accumulate(np.concatenate(([np.inf], other.values[:, 0])))
        before = best[np.searchsorted(other.evaluation, one.evaluation[only])]
        better = only[one.values[only, 0] < before]
        if len(better):
            what = f"evaluation {one.evaluation[better[0]]}, which improves to {_shown(one, int(better[0]))}"
            return f"it lacks {what} in {known.where}" if one is known else f"it has {what}, but {known.where} lacks it"
    return None


def _changed_rows(known: Study, new: Study) -> str | None:
    """A recorded row is not changed: neither its status, nor by numbers that it did not have."""
    a, b = _common(known, new)
    if not len(a):
        return None
    more = [f"metric.{n}" for n in new.attempt.card.metrics if n not in known.attempt.card.metrics]
    if known.imported:
        for name, column in new.columns.extras.items():
            old = known.columns.extras.get(name, np.full(len(known.columns.owner), np.nan))
            if (~np.isnan(column[new.rows[b]]) & np.isnan(old[known.rows[a]])).any():
                more.append(name)
    if more:
        return f"it has {more[0]!r} for evaluations that {known.where} has without"
    other = known.columns.status[known.rows[a]] != new.columns.status[new.rows[b]]
    if other.any() and adds(known, new):
        at = int(np.flatnonzero(other)[0])
        here, there = _shown(new, int(b[at])), _shown(known, int(a[at]))
        return f"evaluation {known.evaluation[a[at]]} is {here}, but {there} in {known.where}"
    return None
