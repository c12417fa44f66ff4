"""What every view gives: tidy tables, the frame that they were measured against, and what was left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from optarena._memory import no_collection
from optarena._services import service
from optarena._text import screen_width
from optarena.dataset import Dataset
from optarena.errors import OptarenaError, nearest
from optarena.views._scores import Measured, Scores
from optarena.views.coverage import Coverage
from optarena.views.frame import Frame
from optarena.views.ranking import claims_about, leaderboard, run_by_all
from optarena.views.selection import FAILURES, by_optimizer, failed_evaluations, failed_studies

Excluded = dict[str, Any]
ORIGINALS = {"aries": "aries-bench", "bayesmark": "Bayesmark", "coco": "cocopp"}
"""Modes that keep the rules of another tool."""


class Figures:
    """The names of a view's figures, asked of those who draw them."""

    def __get__(self, view: View | None, kind: type[View]) -> tuple[str, ...]:
        names: tuple[str, ...] = service("figures of a view")(kind.name)
        return names


@dataclass(repr=False)
class View:
    """Tables with their frame. `excluded` names every study, problem or pair that could not be scored, and why."""

    mode: str
    tables: dict[str, pl.DataFrame]
    frame: dict[str, Any]
    excluded: list[Excluded]
    notes: list[str] = field(default_factory=list)
    """What a reader of the tables should know: which studies are incomplete, which defaults were chosen."""

    failures: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=FAILURES), repr=False)
    """One row per problem and optimizer: studies that failed, of how many, evaluations that failed.

    See docs/scores.md 0.2."""

    covered: Coverage | None = field(default=None, repr=False, compare=False)
    """Which optimizer has what: averages are over the problems that all of them have (docs/scores.md 0.4)."""

    pinned: Any = field(default=None, repr=False)
    """The frame itself (a `Frame`), to save or to give to another scoring."""

    results: Dataset | None = field(default=None, repr=False, compare=False)
    """The studies that were scored."""

    over: str | None = None
    """What intervals of leaderboards are about, where that was chosen: see `claims`."""

    def __post_init__(self) -> None:
        of_results = [] if self.results is None else self.results.notes() + self.results.notes_on(self.frame["axis"])
        self.notes = list(dict.fromkeys([*self.warnings, *of_results, *self.notes]))
        if self.results is not None:
            self.frame["provisional"] = bool((self.results.studies["status"] == "running").any())

    @property
    def failed(self) -> dict[str, dict[str, int]]:
        """By optimizer: `studies` that failed, `of` how many, and `evaluations` that failed."""
        rows = by_optimizer(self.failures).select("optimizer", "studies", "of", "evaluations").iter_rows(named=True)
        return {row.pop("optimizer"): row for row in rows}

    @property
    def coverage(self) -> dict[str, Any]:
        """How many `problems` and `functions` averages are over, and the names of the problems `left_out`."""
        return {"problems": 0, "functions": 0, "left_out": []} if self.covered is None else self.covered.to_data()

    @property
    def warnings(self) -> list[str]:
        """What limits every ranking: what failed, and which problems are not those of all. The first of `notes`."""
        original = ORIGINALS.get(self.mode, "")
        return [
            *failed_studies(self.failures, original),
            *failed_evaluations(self.failures),
            *([] if self.covered is None else self.covered.notes()),
        ]

    name = ""
    figures = Figures()
    """The names of its figures in `optarena figure`, the most telling first."""

    def save_frame(self, path: str | Path) -> None:
        """Write the frame to a file: `frame=` of this view scores other studies against it."""
        if not isinstance(self.pinned, Frame):
            raise OptarenaError("this view was not made from a store: it has no frame to save")
        self.pinned.save(path)

    on_demand: ClassVar[tuple[str, ...]] = ()
    """Properties that are tables too, made when they are asked for: `to_data` does not have them."""

    def table(self, name: str) -> pl.DataFrame:
        """A table by its name."""
        if name in self.on_demand:
            made: pl.DataFrame = getattr(self, name)
            return made
        if name not in self.tables:
            known = (*self.tables, *self.on_demand)
            raise OptarenaError(
                f"no table {name!r}.{nearest(name, known)} (the {self.name} view has {', '.join(known)})"
            )
        return self.tables[name]

    def scores(self, metric: str | None = None) -> Scores:
        """A number for each problem, optimizer and trial, for comparisons; less is better."""
        raise OptarenaError(
            f"the {self.name} view has no scores of single trials to compare ({metric or 'any metric'})"
        )

    def claims(self, metric: str | None = None, dimension: int | None = None) -> str:
        """What intervals of the leaderboard are about, `problems` or `trials`: as asked for, else as in a comparison.

        A race is about its problems; else see docs/scores.md 5.3.
        """
        if self.over is not None:
            return self.over
        if self.results is not None and any(run.race is not None for run in self.results.all_runs):
            return "trials"
        return claims_about(run_by_all(_of_dimension(self.trial_scores(metric), dimension)))

    def standings(
        self, metric: str | None = None, dimension: int | None = None, first: Sequence[str] = ()
    ) -> pl.DataFrame:
        """optimizer, score, score_lb, score_ub as a comparison has them, the best first; of one dimension or all.

        first: the order of optimizers whose scores are equal.
        """
        scores, trials = (_of_dimension(one, dimension) for one in (self.scores(metric), self.trial_scores(metric)))
        return leaderboard(scores, trials, self.claims(metric, dimension), first)

    @property
    def intervals(self) -> str:
        """What the intervals of its leaderboard are, in words."""
        return f"95 % over {self.claims()}"

    def trial_scores(self, metric: str | None = None) -> Scores:
        """The number that orders the trials of one problem against each other; less is better (docs/scores.md 5.1).

        inf: the trial has no value, which is worse than any and equal to another such; NaN: there is no such trial.
        """
        raise OptarenaError(f"the {self.name} view does not order single trials ({metric or 'any metric'})")

    def _ranked(self) -> pl.DataFrame:
        """Its leaderboard as plain data has it."""
        return self.standings()

    def measured(self, metric: str | None = None) -> Measured:
        """The values that order the trials of each problem, as they are shown; by default `trial_scores`."""
        scores = self.trial_scores(metric)
        n = len(scores.problems)
        values, names = scores.values, [scores.metric] * n
        return Measured(scores.metric, scores.problems, scores.optimizers, values, [1.0] * n, names, [""] * n)

    def ways(self, metric: str | None = None) -> list[tuple[str, Scores]]:
        """The ways of scoring that it offers, by name: first `scores(metric)`, then others that may disagree."""
        return [(self.name.replace("-", " "), self.scores(metric))]

    def figure(self, name: str | None = None, **options: Any) -> Any:
        """An Altair chart of this view, which shows itself in a notebook: the first of `figures` unless named."""
        return service("figure of a view")(self, name, **options)

    def figure_tables(self, name: str | None = None, **options: Any) -> dict[str, pl.DataFrame]:
        """The tables that such a chart draws, by name."""
        tables: dict[str, pl.DataFrame] = service("tables of a figure")(self, name, **options)
        return tables

    def __repr__(self) -> str:
        """Its leaderboard, as text that fits the terminal."""
        text: str = service("view as text")(self, screen_width())
        return text

    def _repr_html_(self) -> str:
        html: str = service("view as HTML")(self)
        return html

    def to_latex(self) -> str:
        """The view's main table for a paper: booktabs, the best in bold, ready to `\\input`."""
        latex: str = service("view as LaTeX")(self)
        return latex

    def to_xarray(self) -> dict[str, Any]:
        """Every table as an xarray dataset (extra `xarray`): what names a row is a dimension, the rest variables."""
        from optarena.views._datasets import dataset

        return {name: dataset(table) for name, table in self.tables.items()}

    @no_collection()
    def to_data(self) -> dict[str, Any]:
        """The envelope that `optarena score --format json` prints: an undefined number is null."""
        return {
            "view": self.name,
            "mode": self.mode,
            "frame": self.frame,
            "excluded": self.excluded,
            "notes": self.notes,
            "failed": self.failed,
            "coverage": self.coverage,
            "leaderboard": {"intervals": self.intervals, "rows": self._ranked().to_dicts()},
            "tables": {
                name: table.with_columns(pl.selectors.float().fill_nan(None)).to_dicts()
                for name, table in self.tables.items()
            },
        }


def _of_dimension(scores: Scores, dimension: int | None) -> Scores:
    return scores if dimension is None else scores.on(np.array([one == dimension for one in scores.dimensions]))
