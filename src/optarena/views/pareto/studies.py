"""From a store to the points that can enter a front, study by study; nothing is scored here.

A row enters no front where its evaluation failed, a constraint is violated, or an objective is not finite; all of these
are counted. Objectives are minimised here: the senses come back when tables are made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from optarena.dataset import Dataset
from optarena.problem import Known
from optarena.store.records import ProblemCard
from optarena.traces import Bools, Floats, Ints
from optarena.views.pareto.domination import non_dominated
from optarena.views.selection import ONE, Candidates, Selection


@dataclass
class Objectives:
    """What a problem's studies share: the names and senses of its objectives, and what is known of it."""

    names: list[str]
    signs: Floats
    """(m,): -1 where an objective is maximised."""
    known: Known

    def minimised(self, values: Any) -> Floats | None:
        return None if values is None else np.asarray(values, dtype=float) * self.signs


@dataclass
class Studies(Selection):
    """The studies of several objectives that can be scored, and where they stand on the chosen axis."""

    objectives_of: dict[str, Objectives] = field(default_factory=dict)
    """By the problem's name."""
    usable: Bools = field(default_factory=lambda: np.zeros(0, dtype=bool))
    """(rows of the results): whether the row can enter a front."""

    @property
    def objectives(self) -> list[Objectives]:
        """(problems,)"""
        return [self.objectives_of[name] for name in self.problems]

    @property
    def counts(self) -> pl.DataFrame:
        """One row per study: its evaluations, and how many of them entered no front, by reason."""
        return self.table.select("optimizer", "problem", "trial", "evaluations", "failed", "infeasible", "not_finite")

    @cached_property
    def rows(self) -> list[Ints]:
        """A study each: its usable rows, in the order they were made."""
        offsets = self.results.traces().offsets
        good = np.flatnonzero(self.usable)
        first, last = np.searchsorted(good, offsets[:-1][self.kept]), np.searchsorted(good, offsets[1:][self.kept])
        return [good[a:b] for a, b in zip(first.tolist(), last.tolist(), strict=True)]

    def points(self, study: int, rows: Ints | None = None) -> Floats:
        """(rows, m): the objectives of a study's usable rows, or of some rows, minimised."""
        m = len(self.objectives[self.problem[study]].signs)
        return self.results.traces().values[self.rows[study] if rows is None else rows, :m]

    @cached_property
    def final(self) -> list[Ints]:
        """A study each: the rows of the results that are its front at the end."""
        return [rows[non_dominated(self.points(i))] for i, rows in enumerate(self.rows)]

    def fronts(self, problem: int) -> list[tuple[int, Floats]]:
        """The studies of a problem that have a front at the end, with its points."""
        mine = np.flatnonzero(self.problem == problem).tolist()
        return [(i, self.points(i, self.final[i])) for i in mine if len(self.final[i])]

    @cached_property
    def efforts(self) -> list[Floats]:
        """A study each: where its usable rows stand on the axis."""
        effort = self.results.efforts(self.axis)
        return [effort[rows] for rows in self.rows]


def studies_of(results: Dataset, axis: str = "evaluations") -> Studies:
    """Every study with several objectives; the others are named."""
    found = Candidates(results)
    traces, cards = results.traces(), results.cards
    lacking = found.lacking(axis)
    objectives: dict[str, Objectives] = {}
    unfit: dict[int, str] = {}
    for i, row in enumerate(found.table.iter_rows(named=True)):
        reason = _unusable(row, cards[i], objectives)
        reason = reason or (f"it has no {axis}" if lacking[i] else "")
        if reason:
            unfit[i] = reason
    found.leave_out_each(unfit)
    study = found.study_of_row
    wide = np.array([len(card.objectives) for card in cards], dtype=np.int64)
    usable, strange = _sorted_out(results, study, wide)
    found.settle(found.having(usable))
    every = found.selection(axis, Studies, "has a front to score", objectives_of=objectives, usable=usable)
    lost = {
        "failed": every.table["failures"].to_numpy(),
        "infeasible": results.infeasible()[every.kept],
        "not finite": np.bincount(study[strange], minlength=len(traces))[every.kept],
    }
    for name, count in lost.items():
        if count.sum():
            every.notes.append(f"{int(count.sum()):,} {name} evaluations entered no front")
    every.table = every.table.with_columns(pl.Series(name.replace(" ", "_"), count) for name, count in lost.items())
    every.note_unfinished()
    return every


def _unusable(row: dict[str, Any], card: ProblemCard, objectives: dict[str, Objectives]) -> str:
    """Why a study cannot be scored, if so. The first study of a problem says what its objectives are."""
    if len(card.objectives) < 2:
        return ONE
    signs = np.array([one.sign for one in card.objectives])
    names = [one.name for one in card.objectives]
    first = objectives.setdefault(row["problem"], Objectives(names, signs, card.known))
    if len(first.signs) != len(signs) or (first.signs != signs).any():
        return "its objectives are not those of the problem's other studies"
    return ""


def _sorted_out(results: Dataset, study: Ints, wide: Ints) -> tuple[Bools, Bools]:
    """Which rows can enter a front, and which cannot because a value is not finite."""
    traces = results.traces()
    failed = results.row_statuses() > 0
    beyond = np.arange(traces.values.shape[1])[None, :] >= wide[study][:, None]  # columns that the problem has not
    finite = np.all(np.isfinite(traces.values) | beyond, axis=1)
    fine = ~failed & traces.feasible
    return fine & finite, fine & ~finite
