"""Runs that another tool logged, as studies of a store: arrays in, journal lines out.

Foreign logs keep improvements and the number of evaluations that were made; `csv` and `parquet`, which keep every
evaluation, go through `tidy` instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from optarena._json import Number, numbers, printable
from optarena.experiment import Budget
from optarena.formats.incoming import Cards, imported_start
from optarena.problem import Known, Objective
from optarena.store.costs import no_costs
from optarena.store.records import IMPORTED, End, ProblemCard, Record, Rows
from optarena.traces import Floats, Ints

NOTHING = no_costs()


@dataclass
class Run:
    """One run: what it was, and the rows that were logged of it."""

    optimizer: str
    suite: str
    function: str
    dimension: int
    instance: int | None
    evaluations: int
    """How many it made in all."""
    evaluation: Ints
    values: Floats
    """(rows, objectives), in their own senses."""
    points: Floats | None = None
    """(rows, dimension); NaN where a point was not logged."""
    metrics: dict[str, Floats] = field(default_factory=dict)
    efforts: dict[str, Floats] = field(default_factory=dict)
    efforts_at_end: dict[str, float] = field(default_factory=dict)
    """The values of its effort axes when it ended, if that was logged."""
    objectives: tuple[Objective, ...] = (Objective(),)
    known: Known = field(default_factory=Known)
    status: str = "done"
    reason: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    whole: bool = False
    """Whether it has every evaluation, not only improvements."""
    trial: int = 0
    source: str = ""
    """The data file that it was read from."""

    @property
    def problem(self) -> str:
        parts = [self.suite, self.function, f"d{self.dimension}"]
        return "/".join([*parts, f"i{self.instance}"] if self.instance is not None else parts)

    @property
    def card(self) -> ProblemCard:
        """What it says of its problem."""
        return ProblemCard(
            hash="",
            id=printable(self.problem),
            version=IMPORTED,
            space={f"x{i + 1}": {"type": "real"} for i in range(self.dimension)} if self.points is not None else {},
            dimension=self.dimension,
            objectives=self.objectives,
            suite=printable(self.suite),
            function=printable(self.function),
            instance=self.instance,
            metrics=tuple(self.metrics),
            known=self.known,
        )


@dataclass
class Runs:
    """What was read of one path, and what could not be."""

    name: str
    runs: list[Run]
    notices: list[str] = field(default_factory=list)


def number_trials(some: Runs) -> None:
    """The same optimizer on the same instance again is another trial; a store that has some continues the count."""
    seen: Counter[tuple[str, str]] = Counter()
    for run in some.runs:
        key = (run.optimizer, run.problem)
        run.trial = seen[key]
        seen[key] += 1


def improvements(evaluation: Ints, values: Floats) -> Ints:
    """Which rows of a run, in any order, improve on all before them; of several at one evaluation, the best."""
    order = np.lexsort((values, evaluation))
    ordered = values[order]
    before = np.minimum.accumulate(np.concatenate(([np.inf], ordered[:-1])))
    kept: Ints = order[ordered < before]
    return kept


def records(some: Runs) -> Iterator[Record]:
    """The lines of a journal; times are left at 0. A study has its number for an id until it is admitted to a store."""
    number_trials(some)
    cards = Cards()
    for s, run in enumerate(some.runs):
        card, new = cards.add(run.card)
        if new:
            yield card
        yield imported_start(
            s,
            card,
            printable(run.optimizer),
            run.trial,
            Budget(run.evaluations),
            study=str(s),
            record="all" if run.whole else "improvements",
            attributes={name: printable(text) for name, text in run.attributes.items() if text},
        )
        if len(run.evaluation):
            yield _rows(s, run)
        stood: dict[str, Number] = {f"effort.{name}": value for name, value in run.efforts_at_end.items()}
        yield End(s, run.status, run.evaluations, 0.0, NOTHING, printable(run.reason), a=stood)


def _rows(s: int, run: Run) -> Rows:
    evaluation = run.evaluation.tolist()
    finite = np.isfinite(run.values).all()
    values = run.values.tolist() if finite else [numbers(row) for row in run.values.tolist()]
    out = Rows(s=s, k=evaluation[0], x=_points(run.points), y=values, w=NOTHING)
    if evaluation[-1] - evaluation[0] != len(evaluation) - 1:
        out.e = evaluation
    if not finite and np.isnan(run.values).any():
        bad = np.flatnonzero(np.isnan(run.values).any(axis=1)).tolist()
        out.f = dict.fromkeys(bad, ("nan", ""))
    if run.metrics:
        out.m = [_present(row) for row in np.column_stack(list(run.metrics.values())).tolist()]
    out.a = {f"effort.{name}": _present(column.tolist()) for name, column in run.efforts.items()}
    return out


def _points(points: Floats | None) -> list[list[Any]]:
    if points is None:
        return []
    unknown = np.flatnonzero(np.isnan(points).any(axis=1)).tolist()
    rows: list[list[Any]] = points.tolist()
    if np.isinf(points).any():
        rows = [numbers(row) for row in rows]
    for i in unknown:
        rows[i] = []
    return rows


def _present(values: list[float]) -> list[Any]:
    """Numbers, null where there is none."""
    return [None if value == "nan" else value for value in numbers(values)] if _odd(values) else values


def _odd(values: list[float]) -> bool:
    return not np.isfinite(values).all()
