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
from optarena.errors import OptarenaError
from optarena.problem import Known
from optarena.status import FINISHED
from optarena.store.records import ProblemCard
from optarena.traces import Bools, Floats, Ints
from optarena.views._studies import by_instance, ends_of, in_order, indices, named, tell_unfinished
from optarena.views.pareto.domination import non_dominated

ONE = "it has one objective: see the fixed-cost and fixed-target views"


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
class Studies:
    """The studies of several objectives that can be scored, and where they stand on the chosen axis."""

    results: Dataset
    axis: str
    table: pl.DataFrame
    """A row a study: optimizer, problem, trial, evaluations, and how many rows entered no front, by reason."""
    problems: list[str]
    optimizers: list[str]
    objectives: list[Objectives]
    """A problem each."""
    problem: Ints
    """(studies,): index into `problems`; `optimizer` likewise."""
    optimizer: Ints
    kept: Ints
    """(studies,): which of the begun studies of the results."""
    end: Floats
    """(studies,): how far its front is known on the axis: its budget where it ended by itself, else its last row."""
    last: Floats
    """(studies,): where its last row stands."""
    usable: Bools
    """(rows of the results): whether the row can enter a front."""
    excluded: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.kept)

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
    frame = results.studies
    excluded = [named(row, "planned, not begun") for row in frame.filter(frame["status"] == "missing").to_dicts()]
    frame = by_instance(frame.filter(frame["status"] != "missing"))
    traces, cards = results.traces(), results.cards
    effort = results.efforts(axis)  # names the axis if there is no such
    study = np.repeat(np.arange(len(traces)), traces.lengths)
    lacking = np.bincount(study[np.isnan(effort)], minlength=len(traces)) > 0
    objectives: dict[str, Objectives] = {}
    kept = []
    for i, row in enumerate(frame.iter_rows(named=True)):
        reason = _unusable(row, cards[i], int(traces.lengths[i]), objectives)
        reason = reason or (f"it has no {axis}" if lacking[i] else "")
        if reason:
            excluded.append(named(row, reason))
        else:
            kept.append(i)
    if not kept:
        reasons = "; ".join(dict.fromkeys(item["reason"] for item in excluded)) or "it is empty"
        raise OptarenaError(f"no study of store {results.path} has a front to score: {reasons}")
    part = frame[kept]
    chosen = np.array(kept, dtype=np.int64)
    wide = np.array([len(card.objectives) for card in cards], dtype=np.int64)
    usable, strange = _sorted_out(results, study, wide)
    lost = {
        "failed": part["failures"].to_numpy(),
        "infeasible": results.infeasible()[chosen],
        "not finite": np.bincount(study[strange], minlength=len(traces))[chosen],
    }
    problems, optimizers = sorted(set(part["problem"])), in_order(part["optimizer"].to_list())
    notes: list[str] = []
    for name, count in lost.items():
        if count.sum():
            notes.append(f"{int(count.sum()):,} {name} evaluations entered no front")
    made = part["evaluations"].to_numpy()
    tell_unfinished(part, made, notes)
    ended = part["status"].is_in(FINISHED).to_numpy()
    reach = np.where(ended, np.maximum(made, part["budget"].fill_null(0).to_numpy()), made)
    # without a row (only improvements are kept, and there was none) it stands at the beginning
    at = np.where(traces.lengths[chosen] > 0, traces.offsets[1:][chosen] - 1, len(effort))
    last = np.append(effort, 0.0)[at]
    if axis == "seconds":
        last = np.fmax(last, np.where(ended, part["budget_seconds"].fill_null(np.nan).to_numpy(), np.nan))
    size = np.maximum(part["batch"].fill_null(1).to_numpy(), 1).astype(np.int64)
    return Studies(
        results=results,
        axis=axis,
        table=part.select("optimizer", "problem", "trial", "evaluations").with_columns(
            pl.Series(name.replace(" ", "_"), count) for name, count in lost.items()
        ),
        problems=problems,
        optimizers=optimizers,
        objectives=[objectives[name] for name in problems],
        problem=indices(part["problem"], problems),
        optimizer=indices(part["optimizer"], optimizers),
        kept=chosen,
        end=ends_of(axis, last, ended, reach, size),
        last=last,
        usable=usable,
        excluded=excluded,
        notes=notes,
    )


def _unusable(row: dict[str, Any], card: ProblemCard, rows: int, objectives: dict[str, Objectives]) -> str:
    """Why a study cannot be scored, if so. The first study of a problem says what its objectives are."""
    if len(card.objectives) < 2:
        return ONE
    if not rows and not row["evaluations"]:
        return f"no evaluation is recorded ({row['reason'] or row['status']})"
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
