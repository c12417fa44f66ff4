"""What the rows of a dataset say, in the order of its studies: traces, effort axes, hidden metrics, constraints."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from optarena.costs import is_cost
from optarena.dataset.clocks import Clocks, clocks_of, machines_of
from optarena.dataset.facts import Facts, different_cards, in_order, of_cards
from optarena.dataset.pools import place_of
from optarena.errors import OptarenaError, nearest
from optarena.store import RunFile
from optarena.store.columns import Attempt, Codes, Columns
from optarena.store.records import ProblemCard
from optarena.traces import Bools, Floats, Ints, Traces, total_violation

CONSTRAINT_EVALUATIONS = "constraint_evaluations"
"""The effort that COCO's files of constrained problems have beside evaluations."""


class RowsOfStudies:
    """Columns, and the attempts of them that stand for the begun studies."""

    columns: Columns
    all_runs: list[RunFile]
    """Those of the complete store."""
    chosen: list[int]
    """The newest attempt of each study: indices into `columns.attempts`, in the order of `.studies`."""

    @cached_property
    def attempts(self) -> list[Attempt]:
        """The newest attempt of each begun study, in the order of `.studies`."""
        return [self.columns.attempts[i] for i in self.chosen]

    @cached_property
    def cards(self) -> list[ProblemCard]:
        """What each begun study says of its problem, in the order of `.studies`."""
        return [attempt.card for attempt in self.attempts]

    @cached_property
    def _facts(self) -> Facts:
        """What all attempts say, also those that were not chosen."""
        return Facts(self.columns)

    @cached_property
    def _places(self) -> Ints:
        """`chosen` as an array."""
        return np.array(self.chosen, dtype=np.int64)

    @cached_property
    def rows(self) -> tuple[Ints, Ints]:
        """The rows of all begun studies, in the order of `.studies`, and how many each has."""
        columns = self.columns
        order = np.full(len(columns.attempts), -1, dtype=np.int64)
        order[self._places] = np.arange(len(self.chosen))
        place = order[columns.owner]
        rows = np.flatnonzero((place >= 0) & ~columns.counts_only)
        rows = rows[np.argsort(place[rows], kind="stable")]
        return rows, np.bincount(place[rows], minlength=len(self.chosen)).astype(np.int64)

    def traces(self) -> Traces:
        """The rows of all begun studies, in the order of `.studies`, minimised."""
        return self._traces

    @cached_property
    def _traces(self) -> Traces:
        columns, facts = self.columns, self._facts
        rows, counts = self.rows
        width = columns.values.shape[1]
        signs = np.array([_signs(card, width) for card in facts.cards]).reshape(-1, width)
        values = columns.values[rows]
        if (signs < 0).any():
            values *= signs[facts.card[columns.owner[rows]]]
        values += 0.0  # no -0
        values[columns.status[rows] > 0] = np.nan
        out = Traces(
            offsets=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
            evaluation=columns.evaluation[rows],
            values=values,
            feasible=columns.feasible[rows],
            spent=lambda: facts.seconds[rows],  # not of self, which keeps the traces: a circle is freed late
        )
        for array in (out.offsets, out.evaluation, out.values, out.feasible):
            array.setflags(write=False)
        return out

    @cached_property
    def clocks(self) -> Clocks:
        """How the seconds of these studies can be compared (docs/scores.md 0.6)."""
        facts, cards = self._facts, len(self._facts.cards)
        used, group = in_order(facts.crew[self._places] * cards + facts.card[self._places])
        groups = [machines_of(facts.cards[one % cards], facts.crews[one // cards]) for one in used]
        return clocks_of(groups, group, self.all_runs)

    @property
    def axes(self) -> list[str]:
        """The names that `efforts` knows: evaluations, batches, seconds, and those that imported rows have."""
        more = [name for name in self.columns.extras if name == "decisions" or name.startswith("effort.")]
        return ["evaluations", "batches", "seconds", *(name.removeprefix("effort.") for name in more)]

    def efforts(self, axis: str) -> Floats:
        """The effort at each row of `traces()` on an effort axis (see `axes`); NaN where its study has no such axis.

        Batches are counted from 1, so that an effort is what was spent when the row was there. Seconds of different
        machines are those of one of them, or refused (docs/scores.md 0.6); `traces().seconds` are as measured. Costs of
        which a study reports nothing are 0 (docs/scores.md 0.7).
        """
        columns = self.columns
        rows, counts = self.rows
        if axis == "evaluations":
            return columns.evaluation[rows].astype(float)
        if axis == "seconds":
            return self.clocks.scaled(axis, self._facts.seconds[rows], counts)
        if axis == "batches":
            size = np.repeat(self._facts.batch[self._places], counts)
            usual = (columns.evaluation[rows] - 1) // np.maximum(size, 1) + 1.0
            given = self.extra("batch")
            return np.where(np.isnan(given), usual, given + 1.0)
        if axis not in self.axes:
            raise OptarenaError(
                f"no effort axis {axis!r}.{nearest(axis, self.axes)} (there are {', '.join(self.axes)})"
            )
        given = self.extra(_column(axis))
        return running(given, counts) if is_cost(axis) else self.clocks.scaled(axis, given, counts)

    def reporting(self, axis: str) -> Bools:
        """(started studies,): whether it says anything of this effort, in its rows or at its end."""
        counts = self.rows[1]
        reported = np.zeros(len(counts), dtype=bool)
        reported[np.repeat(np.arange(len(counts)), counts)[~np.isnan(self.extra(_column(axis)))]] = True
        return reported | ~np.isnan(self.extra_at_end(_column(axis)))

    def efforts_at_end(self, axis: str) -> Floats:
        """(started studies,): the effort that a study's end tells, as `efforts` has it; NaN where it tells none."""
        given = self.extra_at_end(_column(axis))
        if is_cost(axis):
            return np.where(self.reporting(axis), given, 0.0)
        return self.clocks.scaled(axis, given)

    @property
    def metrics(self) -> list[str]:
        """The hidden metrics that any begun study has."""
        return list(dict.fromkeys(name for card in different_cards(self) for name in card.metrics))

    def metric(self, name: str) -> tuple[Floats, Bools]:
        """A hidden metric for each row of `traces()`, NaN where there is none, and whether each begun study has it."""
        columns = self.columns
        rows, counts = self.rows
        places = of_cards(self, lambda card: place_of(card.metrics, name), np.int64)
        out = np.full(len(rows), np.nan)
        for place in set(places.tolist()) & set(range(columns.metrics.shape[1])):  # no row may have any metric yet
            mine = np.repeat(places == place, counts)
            out[mine] = columns.metrics[rows[mine], place]
        return out, places >= 0

    def violation(self) -> Floats:
        """By how much each row of `traces()` violates its constraints, all in all; 0 where it is feasible."""
        return total_violation(self.columns.violations[self.rows[0]])

    def costs(self) -> Floats:
        """(rows, 6): the seconds that each row of `traces()` cost, in the order of `store.costs`; only `in_full`."""
        return self.columns.costs[self.rows[0]]

    def row_statuses(self) -> Codes:
        """How each row of `traces()` ended: an index into `EVALUATION`."""
        return self.columns.status[self.rows[0]]

    def infeasible(self) -> Ints:
        """(started studies,): how many recorded evaluations violate a constraint and did not fail."""
        return self.columns.tally.infeasible[self.chosen]

    def extra(self, name: str) -> Floats:
        """A number that imported rows carry (`bound`, say) for each row of `traces()`; NaN where there is none."""
        rows, _ = self.rows
        column = self.columns.extras.get(name)
        return np.full(len(rows), np.nan) if column is None else column[rows]

    def note(self, name: str) -> npt.NDArray[np.object_]:
        """A text that rows carry (`verified`, say) for each row of `traces()`; None where there is none."""
        rows, _ = self.rows
        column = self.columns.notes.get(name)
        return np.full(len(rows), None, dtype=object) if column is None else column[rows]

    def _points(self, rows: Ints) -> list[list[Any]]:
        """The points of rows of the columns."""
        return self.columns.points(rows)

    def extra_at_end(self, name: str) -> Floats:
        """A number of each begun study when it ended (`seconds`, `decisions`, `effort.<name>`, `bound`), if that was
        imported as a row of its own: a run may go on long after its last solution. NaN where it was not."""
        out = np.full(len(self.chosen), np.nan)
        for i in np.flatnonzero(self._facts.telling[self._places]).tolist():
            number = self.columns.at_end(self.chosen[i]).get(name)
            out[i] = np.nan if number is None else float(number)
        return out

    def parameters(self, rows: Ints) -> list[list[Any]]:
        """The parameters of rows of `traces()`, all of one study, in the order of its space; empty where not kept."""
        return self._points(self.rows[0][rows])


def running(costs: Floats, counts: Ints) -> Floats:
    """What each study has spent by each of its rows, where some tell it (NaN: not): never less than before, at first 0.

    counts: how many rows each study has.
    """
    out = np.nan_to_num(costs, nan=0.0)
    for part in np.split(out, np.cumsum(counts)[:-1]):
        np.maximum.accumulate(part, out=part)
    return out


def _column(axis: str) -> str:
    """The name under which rows and ends carry an effort."""
    return axis if axis in ("seconds", "decisions") else f"effort.{axis}"


def _signs(card: ProblemCard, width: int) -> list[float]:
    signs = [objective.sign for objective in card.objectives[:width]]
    return signs + [1.0] * (width - len(signs))
