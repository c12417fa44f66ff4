"""What of an import a store lacks. Everything is compared before anything is written: with the store, and the files
of one call with each other. A run that exists already is not added again; one that contradicts is refused. Of a run
that several paths of one call have, the longest version is added.

Studies with an id are compared under that id, and with runs of the same trial that were imported without one. Runs
without an id (COCO, IOHprofiler) are compared by what they found: a run that another data file or the store has is a
copy, a longer one replaces its beginning, any other is a further trial.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np

from optarena.dataset import Dataset
from optarena.errors import OptarenaError
from optarena.formats.incoming import Incoming, study_id
from optarena.formats.same_run import (
    Study,
    adds,
    are_rounded,
    contradiction,
    has_more_rows,
    is_copy,
    is_part,
    is_row_by_row_copy,
    is_row_by_row_copy_of_a_trial,
    studies_of,
)
from optarena.formats.writing import journal_header
from optarena.store.records import Count, End, ProblemCard, Record, Rows, Start

_Relation: TypeAlias = Callable[[Study, Study], bool]
_First: TypeAlias = tuple[float, ...] | None


@dataclass
class Imported:
    """What an import read of one path, and what of that it added."""

    name: str
    studies: int
    evaluations: int = 0
    """How many the runs made."""
    rows: int = 0
    """How many of them were kept: all, or improvements."""
    added: int = 0
    """How many of the studies the store lacked, or had in part."""
    present: Counter[str] = field(default_factory=Counter)
    """Where -> how many of the studies were found there, and are not added again."""
    notices: list[str] = field(default_factory=list)
    """What was left out or assumed, and why."""

    @property
    def new(self) -> bool:
        return self.added > 0


class Admission(NamedTuple):
    """What each path had and added, and what they add together: the lines of one journal, without its header."""

    imported: list[Imported]
    records: list[Record]


def admit(read: Sequence[Incoming], stored: Dataset | None) -> Admission:
    """What the paths add to what a store has, if there is one; an OptarenaError for the first contradiction."""
    known = _Known(stored)
    imported: list[Imported] = []
    to_add: dict[tuple[str, int], list[Study]] = {}
    for index, incoming in enumerate(read):
        out, kept = _admit(incoming, index, known)
        imported.append(out)
        for study in kept:
            to_add.setdefault((study.attempt.start.study, study.attempt.start.attempt), []).append(study)
    written = [_longest_first(versions) for versions in to_add.values()]
    for used, unused in written:
        for study in used:
            imported[_index(study)].added += 1
        for study in unused:
            imported[_index(study)].present[used[0].where] += 1
    return Admission(imported, _one_journal(read, [used for used, _ in written]))


def _admit(incoming: Incoming, index: int, known: _Known) -> tuple[Imported, list[Study]]:
    """What was read of one path, and the studies of it that the store lacks or has in part."""
    results = Dataset.of_records(incoming.name, [journal_header([incoming.name], 0.0), *incoming.records])
    studies = sorted(studies_of(results, incoming.name), key=lambda study: study.attempt.start.s)
    out = Imported(incoming.name, len(studies), notices=incoming.notices)
    kept = []
    taken: dict[tuple[int, str], set[int]] = {}
    for study in studies:
        study.source = (index, incoming.sources.get(study.attempt.start.s, ""))
        out.evaluations += study.made
        out.rows += len(study.rows)
        where = _settle(study, incoming, known, taken.setdefault(study.source, set()))
        if where is None:
            kept.append(study)
        else:
            out.present[where] += 1
    return out, kept


def _index(study: Study) -> int:
    """The place of its path in the call."""
    assert study.source is not None
    return study.source[0]


def _longest_first(versions: Sequence[Study]) -> tuple[list[Study], list[Study]]:
    """The versions of one study that are written, and those that add nothing to the longest; of equal ones the last."""
    longest = max(reversed(versions), key=lambda study: (study.made, study.finished))
    used: list[Study] = [longest]
    unused: list[Study] = []
    for study in versions:
        if study is not longest:
            (used if has_more_rows(longest, study) else unused).append(study)
    for study in versions:
        start = longest.attempt.start
        start.attributes = {**study.attempt.start.attributes, **start.attributes}
    return used, unused


def _one_journal(read: Sequence[Incoming], written: Sequence[Sequence[Study]]) -> list[Record]:
    """The lines of studies, each under a number of its own: one start and one end, of the longest version."""
    cards: dict[str, ProblemCard] = {}
    starts: dict[tuple[int, int], Start] = {}
    rows: dict[tuple[int, int], list[Rows | Count]] = {}
    ends: dict[tuple[int, int], End] = {}
    for index, incoming in enumerate(read):
        for record in incoming.records:
            if isinstance(record, ProblemCard):
                cards.setdefault(record.hash, record)
            elif isinstance(record, Start):
                starts[index, record.s] = record
            elif isinstance(record, (Rows, Count)):
                rows.setdefault((index, record.s), []).append(record)
            elif isinstance(record, End):
                ends[index, record.s] = record
    out: list[Record] = []
    named: set[str] = set()
    for s, used in enumerate(written):
        places = [(_index(study), study.attempt.start.s) for study in used]
        start = starts[places[0]]
        if start.problem not in named:
            named.add(start.problem)
            out.append(cards[start.problem])
        lines: list[Start | Rows | Count | End] = [start]
        for place in places:
            lines += rows.get(place, ())
        lines += [ends[places[0]]] if places[0] in ends else []
        for line in lines:
            line.s = s
        out += lines
    return out


def _settle(study: Study, incoming: Incoming, known: _Known, taken: set[int]) -> str | None:
    """Where the study exists already; None if it is to be added, under the id and trial that it then has."""
    if incoming.ids_stated:
        same = known.by_id.get(study.attempt.start.study)
        if same is not None:
            _refuse_contradiction(same, study, incoming)
            return _joined(study, same, known)
        is_same = is_row_by_row_copy_of_a_trial if incoming.trials_stated else is_row_by_row_copy
        copy = known.find(study, taken, is_same)
        if copy is None and incoming.trials_stated:
            copy = known.find(study, taken, _is_log_of_a_trial)
    else:
        copy = known.find(study, taken, is_copy) or known.find(study, taken, lambda old, new: is_part(new, old))
        shorter = None if copy else known.find(study, taken, is_part)
        if shorter is not None:
            _refuse_mixture(shorter, study)
            if are_rounded(shorter, study):
                _take_digits(study, shorter, incoming)
            return _joined(study, shorter, known)
    if copy is not None:
        return copy.where
    _refuse_objectives(study, known)
    if not incoming.trials_stated:
        known.number(study, keep_id=incoming.ids_stated)
    known.add(study)
    return None


def _is_log_of_a_trial(old: Study, new: Study) -> bool:
    """Whether a run that was imported without an id is this trial: COCO's and IOHprofiler's logs keep improvements."""
    start, card = old.attempt.start, old.attempt.card
    id_was_made = old.imported and start.study == study_id(card.id, start.optimizer, start.trial, card.instance)
    return id_was_made and start.trial == new.attempt.start.trial and is_copy(old, new)


def _take_digits(study: Study, shorter: Study, incoming: Incoming) -> None:
    """Give the longer run the best value of its beginning, of which only that has all digits (see `is_part`)."""
    last = shorter.improvements[0][0][-1:]
    (here,), (there,) = (np.flatnonzero(np.isin(one.evaluation, last)) for one in (study, shorter))
    if study.values[here, 0] == shorter.values[there, 0]:
        return
    row = study.rows[here]
    value = float(shorter.columns.values[shorter.rows[there], 0])
    record = incoming.records[int(study.columns.position[row]) - 1]  # the first line is a header
    assert isinstance(record, Rows)
    record.y[int(study.columns.inner[row])][0] = study.columns.values[row, 0] = value
    study.values[here], study.difference[here] = shorter.values[there], shorter.difference[there]
    del study.improvements


def _joined(study: Study, same: Study, known: _Known) -> str | None:
    """Give a study the identity of the one that it is; where that is, unless there is something to add."""
    start, other = study.attempt.start, same.attempt.start
    start.study, start.trial, start.attempt, start.optimizer = other.study, other.trial, other.attempt, other.optimizer
    if not adds(same, study):
        return same.where
    known.replace(same, study)
    return None


class _Candidates:
    """The runs of one optimizer on one problem, by their first improvement, which equal runs share."""

    def __init__(self) -> None:
        self.sources: set[tuple[int, str] | None] = set()
        self._pending: list[Study] = []
        self._by_first: dict[_First, list[Study]] = {}

    def add(self, study: Study) -> None:
        self.sources.add(study.source)
        self._pending.append(study)

    def replace(self, old: Study, new: Study) -> None:
        self._sort()
        for some in self._by_first.values():
            some[:] = [study for study in some if study is not old]
        self.add(new)

    def like(self, study: Study) -> list[Study]:
        """Those of other data files that begin as a study does."""
        if not self.sources - {study.source}:
            return []
        self._sort()
        found = [other for first in _firsts(study) for other in self._by_first.get(first, ())]
        return [other for other in found if other.source != study.source]

    def _sort(self) -> None:
        for study in self._pending:
            for first in _firsts(study):
                self._by_first.setdefault(first, []).append(study)
        self._pending.clear()


def _firsts(study: Study) -> set[_First]:
    """The first improvement, in each form of the values; None where there is none."""
    return {
        (int(evaluation[0]), *values[0].tolist()) if len(evaluation) else None
        for evaluation, values in study.improvements
    }


class _Known:
    """The studies of a store, and those of an import that are to be added."""

    def __init__(self, stored: Dataset | None) -> None:
        self.by_id: dict[str, Study] = {}
        self.by_problem: dict[str, Study] = {}
        self._by_key: dict[tuple[str, str], _Candidates] = {}
        self._trials: dict[tuple[str, str], int] = {}
        for study in studies_of(stored, f"store {stored.path}") if stored is not None else ():
            self.add(study)

    def add(self, study: Study) -> None:
        start, problem = study.attempt.start, study.attempt.card.id
        self.by_id[start.study] = study
        self._by_key.setdefault(study.key, _Candidates()).add(study)
        if len(study.rows):
            self.by_problem.setdefault(problem, study)
        pair = start.optimizer, problem
        self._trials[pair] = max(self._trials.get(pair, -1), start.trial)

    def replace(self, old: Study, new: Study) -> None:
        """A study that has grown in the course of an import."""
        if new.made >= old.made:
            self.by_id[new.attempt.start.study] = new
            self._by_key[old.key].replace(old, new)

    def find(self, study: Study, taken: set[int], is_same: _Relation) -> Study | None:
        """The first that is the same run, is of another data file, and is not taken for another run of this one."""
        candidates = self._by_key.get(study.key)
        for other in candidates.like(study) if candidates else ():
            if id(other.attempt) not in taken and is_same(other, study):
                taken.add(id(other.attempt))
                return other
        return None

    def number(self, study: Study, *, keep_id: bool) -> None:
        """Make it the next trial of its optimizer on its problem."""
        start, card = study.attempt.start, study.attempt.card
        start.trial = self._trials.get((start.optimizer, card.id), -1) + 1
        if not keep_id:
            start.study = study_id(card.id, start.optimizer, start.trial, card.instance)


def _refuse_contradiction(same: Study, study: Study, incoming: Incoming) -> None:
    text = contradiction(same, study, trial_stated=incoming.trials_stated)
    if text is not None:
        raise OptarenaError(
            f"{incoming.name}: study {study.attempt.start.study} ({study.name}): {text}; two runs need two ids or trial"
            " numbers, or two stores; nothing was imported"
        )


def _refuse_mixture(shorter: Study, study: Study) -> None:
    """A run cannot be extended by values of another kind, nor by a log of some of its evaluations."""
    kinds = [one.attempt.start.attributes.get("values") for one in (shorter, study)]
    if not shorter.imported or kinds[0] != kinds[1] or shorter.attempt.card.id != study.attempt.card.id:
        raise OptarenaError(
            f"{study.where}: {study.name} has {study.made:,} evaluations, of which {shorter.where} has the first"
            f" {shorter.made:,} as a run of its own; import it into another store; nothing was imported"
        )


def _refuse_objectives(study: Study, known: _Known) -> None:
    other = known.by_problem.get(study.attempt.card.id)
    if other is None or not len(study.rows):
        return
    here, there = ([o.sense for o in one.attempt.card.objectives] for one in (study, other))
    if here != there:
        raise OptarenaError(
            f"{study.where}: problem {study.attempt.card.id!r} has {_counted(here)}, but {_counted(there)} in"
            f" {other.where}; two problems need two names, or two stores; nothing was imported"
        )


def _counted(senses: Sequence[str]) -> str:
    return f"{len(senses)} objective{'s' * (len(senses) != 1)} ({', '.join(senses)})"
