"""Which studies a view scores, and how far each is known on an axis of effort: decided once, for all views.

A view names what it cannot score and why (`Candidates.leave_out`); what remains is a `Selection`, with the problems,
the optimizers and the places of its studies in a cube (problem, optimizer, trial). See docs/scores.md 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import polars as pl

from optarena._numbers import counted
from optarena._order import natural
from optarena.dataset import Dataset
from optarena.dataset.facts import of_cards
from optarena.errors import OptarenaError
from optarena.sense import signs
from optarena.status import FINISHED, UNSUCCESSFUL
from optarena.traces import Bools, Floats, Ints

COUNTED = ("batches", "evaluations")
"""The axes that count whole numbers."""
SEVERAL = "it has several objectives: see the pareto view"
ONE = "it has one objective: see the fixed-cost and fixed-target views"
LEVEL = (
    # a file's object is named by where it stands: several may have been made by one Python function
    pl.when((pl.col("function").fill_null("") == "") | pl.col("problem").str.contains(r"\.py:"))
    .then("problem")
    .when(pl.col("suite").fill_null("") == "")
    .then("function")
    .otherwise(pl.concat_str("suite", "function", separator="/"))
)
"""The function that a study's problem is an instance of, with its suite; without one it is its own function."""
SHOWN = 3
"""Optimizers whose failures are listed one by one."""
Excluded = dict[str, Any]
FAILURES = {
    "problem": pl.String,
    "optimizer": pl.String,
    **dict.fromkeys(("studies", "of", "evaluations", "without_value", "left_out"), pl.Int64),
}
S = TypeVar("S", bound="Selection")


class Candidates:
    """The started studies of a dataset, from which a view takes out those that it cannot score, each with a reason."""

    def __init__(self, results: Dataset, *, instances_apart: bool = True) -> None:
        """instances_apart: several instances under one problem id are problems of their own."""
        frame = results.studies
        self.results = results
        begun, planned = frame.head(len(results.chosen)), frame[len(results.chosen) :]
        self.excluded: list[Excluded] = [named(row, "planned, not started") for row in planned.iter_rows(named=True)]
        begun = begun.with_columns(level=LEVEL)
        self.table = by_instance(begun) if instances_apart else begun
        """One row per started study."""
        self.usable: Bools = np.ones(self.table.height, dtype=bool)
        self.valued: Bools = np.ones(self.table.height, dtype=bool)
        """(started studies,): whether it has a value; see `settle`."""
        self.lost: Bools = np.zeros(self.table.height, dtype=bool)
        """(started studies,): failures that are left out all the same, as an original does."""

    @cached_property
    def study_of_row(self) -> Ints:
        """(rows of the results,): the started study of each."""
        traces = self.results.traces()
        return np.repeat(np.arange(len(traces)), traces.lengths)

    @property
    def never_evaluated(self) -> Bools:
        """Which studies have no evaluation. Where only improvements are kept, one without rows may have made some."""
        return (self.results.traces().lengths == 0) & (self.table["evaluations"].to_numpy() == 0)

    @property
    def ended(self) -> Bools:
        """(started studies,): whether it ended."""
        return self.table["status"].is_in(FINISHED).to_numpy()

    def having(self, rows: Bools) -> Bools:
        """(started studies,): whether it has any of these rows of the results."""
        return np.bincount(self.study_of_row[rows], minlength=len(self.usable)) > 0

    def settle(self, valued: Bools) -> None:
        """What becomes of studies without any value: those that ended are scored as the worst, others are missing.

        See docs/scores.md 0.2.
        """
        self.valued = valued
        self.leave_out(~valued & ~self.ended, no_value)

    def settle_as_bayesmark(self, valued: Bools) -> None:
        """Bayesmark has no studies without an evaluation: they are left out, failures too."""
        self.valued = valued
        self.lost = self.never_evaluated & self.ended & self.usable
        self.leave_out(self.never_evaluated, no_evaluation)

    def leave_out(self, which: Bools, why: str | Callable[[dict[str, Any]], str]) -> None:
        """Take some studies out; `why`: a reason for all, or what gives the reason for the row of a study."""
        self.leave_out_each(
            {
                i: why if isinstance(why, str) else why(self.table.row(i, named=True))
                for i in np.flatnonzero(which & self.usable).tolist()
            }
        )

    def leave_out_each(self, reasons: Mapping[int, str]) -> None:
        """Take studies out, by their numbers, each for its own reason."""
        for i in sorted(reasons):
            if self.usable[i]:
                self.usable[i] = False
                self.excluded.append(named(self.table.row(i, named=True), reasons[i]))

    def lacking(self, axis: str, rows: Bools | None = None) -> Bools:
        """Which studies have a row (of some rows) without this effort. An axis that no study has is named."""
        unknown = np.isnan(self.results.efforts(axis))
        unknown = unknown if rows is None else unknown & rows
        return np.bincount(self.study_of_row[unknown], minlength=len(self.usable)) > 0

    def selection(self, axis: str, kind: type[S], wanted: str = "can be scored", hint: str = "", **own: Any) -> S:
        """What is left, as a view's own kind of selection; where that is nothing, an error that gives the reasons."""
        if not self.usable.any():
            reasons = "; ".join(dict.fromkeys(item["reason"] for item in self.excluded)) or "it is empty"
            raise OptarenaError(f"nothing in store {self.results.path} {wanted}: {reasons}{hint}")
        kept = np.flatnonzero(self.usable)
        own = {"valued": self.valued[kept], "failures": self._failures(), **own}
        table = self.table if len(kept) == self.table.height else self.table[kept]
        return kind(self.results, axis, table, kept, self.excluded, **own)

    @property
    def _infinite(self) -> Ints:
        """(started studies,): evaluations with a value that is not finite, which is no value, though nothing failed."""
        values = self.results.traces().values
        rows = (self.results.row_statuses() == 0) & ~np.isfinite(values).all(axis=1)
        wide = of_cards(self.results, lambda card: len(card.objectives), np.int64)[self.study_of_row[rows]]
        theirs = np.arange(values.shape[1])[None, :] < wide[:, None]
        rows[rows] = np.any(theirs & ~np.isfinite(values[rows]), axis=1)
        return np.bincount(self.study_of_row[rows], minlength=len(self.usable))

    def _failures(self) -> pl.DataFrame:
        counted = self.usable | self.lost
        nothing = ~self.valued & self.ended
        return (
            self.table.select(
                "problem",
                "optimizer",
                failures=pl.col("failures").fill_null(0) + pl.Series(self._infinite),
                failed=pl.Series(nothing) | pl.col("status").is_in(UNSUCCESSFUL),
                nothing=pl.Series(nothing),
                lost=pl.Series(self.lost),
            )
            .filter(counted)
            .group_by("problem", "optimizer", maintain_order=True)
            .agg(
                studies=pl.col("failed").sum().cast(pl.Int64),
                of=pl.len().cast(pl.Int64),
                evaluations=pl.col("failures").sum().cast(pl.Int64),
                without_value=pl.col("nothing").sum().cast(pl.Int64),
                left_out=pl.col("lost").sum().cast(pl.Int64),
            )
        )


@dataclass
class Selection:
    """The studies that a view scores."""

    results: Dataset
    axis: str
    table: pl.DataFrame
    """One row per study, as in `results.studies`; several instances under one problem id are problems of their own."""
    kept: Ints
    """(studies,): which of the started studies of the results."""
    excluded: list[Excluded] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    valued: Bools = field(default_factory=lambda: np.ones(0, dtype=bool))
    """(studies,): whether it has a value; one that ended without counts as the worst."""
    failures: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=FAILURES))
    """One row per optimizer: how many of its studies failed, of how many, and how many evaluations (0.2).

    `without_value`: how many of those studies have no value; `left_out`: how many are not scored, as in an original."""
    original: bool = False
    """Whether another tool's rules hold instead of docs/scores.md 0."""

    def __len__(self) -> int:
        return len(self.kept)

    @cached_property
    def problems(self) -> list[str]:
        return natural(self.table["problem"].unique())

    @cached_property
    def optimizers(self) -> list[str]:
        return self.table["optimizer"].unique(maintain_order=True).to_list()

    @cached_property
    def problem(self) -> Ints:
        """(studies,): place in `problems`."""
        return _places(self.table["problem"], self.problems)

    @cached_property
    def optimizer(self) -> Ints:
        """(studies,): place in `optimizers`."""
        return _places(self.table["optimizer"], self.optimizers)

    @property
    def trial(self) -> Ints:
        """(studies,)"""
        return self.table["trial"].to_numpy()

    @cached_property
    def size(self) -> Ints:
        """(studies,): how many evaluations its batches have, as it was asked for."""
        return np.maximum(self.table["batch"].fill_null(1).to_numpy(), 1).astype(np.int64)

    @cached_property
    def sign(self) -> Floats:
        """(problems,): -1 where the problem is maximised."""
        out = np.ones(len(self.problems))
        np.minimum.at(out, self.problem, signs(self.table["sense"]))
        return out

    @property
    def dimensions(self) -> list[int | None]:
        """(problems,): of any of its studies."""
        of = dict(zip(self.problem.tolist(), self.table["dimension"].to_list(), strict=True))
        return [of[p] for p in range(len(self.problems))]

    @property
    def functions(self) -> list[str]:
        """(problems,): the function of each, which its instances and dimensions repeat (docs/scores.md 0.4)."""
        of = dict(zip(self.problem.tolist(), self.table["level"].to_list(), strict=True))
        return [of[p] for p in range(len(self.problems))]

    @property
    def optimum(self) -> Floats:
        """(problems,): as its studies tell it, minimised; NaN where none does."""
        out = np.full(len(self.problems), np.nan)
        told = self.table["optimum"].to_numpy().astype(float) * self.sign[self.problem]
        out[self.problem[~np.isnan(told)]] = told[~np.isnan(told)]
        return out

    # ---- how far a study is known ------------------------------------------------------------------------------------

    @cached_property
    def ended(self) -> Bools:
        """(studies,): whether it ended."""
        return self.table["status"].is_in(FINISHED).to_numpy()

    @cached_property
    def reach(self) -> Ints:
        """(studies,): up to which evaluation its best is known: an ended one keeps it to the end of its budget."""
        made, budget = self.table["evaluations"].to_numpy(), self.table["budget"].fill_null(0).to_numpy()
        return np.where(self.ended, np.maximum(made, budget), made)

    @cached_property
    def last(self) -> Floats:
        """(studies,): where its last row stands on the axis, or its budget of seconds; 0 without rows."""
        traces, effort = self.results.traces(), self.results.efforts(self.axis)
        at = np.where(traces.lengths[self.kept] > 0, traces.offsets[1:][self.kept] - 1, len(effort))
        out = np.append(effort, 0.0)[at]
        if self.axis == "seconds":
            out = np.fmax(out, np.where(self.ended, self._seconds_given, np.nan))
        return out

    @cached_property
    def _seconds_given(self) -> Floats:
        """(studies,): its budget in seconds, as on the axis; NaN without one."""
        given = self.table["budget_seconds"].fill_null(np.nan).to_numpy()
        scale = self.results.clocks.scaled("seconds", np.ones(len(self.results.chosen)))
        return given * scale[self.kept]

    @cached_property
    def end(self) -> Floats:
        """(studies,): how far its best is known: an ended study keeps it to the end of its budget.

        On an axis that is not counted it keeps it forever: nothing more was to come. Where seconds are converted, the
        same budget is less on a slower machine: a study is known to the end of its own.
        """
        if self.axis not in COUNTED:
            own = np.full(len(self.last), np.nan)
            if self.axis == "seconds" and self.results.clocks.scale is not None:
                own = self._seconds_given
            return np.where(self.ended, np.where(np.isnan(own), np.inf, own), self.last)
        reach = self.reach if self.axis == "evaluations" else np.ceil(self.reach / self.size)
        out = np.maximum(self.last, reach)
        if self.original or not self.unlimited.any():
            return out
        furthest = np.zeros(len(self.problems))
        np.maximum.at(furthest, self.problem, out)
        return np.where(self.unlimited, furthest[self.problem], out)

    @cached_property
    def unlimited(self) -> Bools:
        """(studies,): failures without a value or a known budget: they stay as they are to the end of the problem's."""
        no_budget = self.table["budget"].is_null() & self.table["budget_seconds"].is_null()
        unsuccessful = no_budget & self.table["status"].is_in(UNSUCCESSFUL)
        return self.ended & (~self.valued | unsuccessful.to_numpy())

    def note_unfinished(self) -> None:
        """Note the studies that are scored although they made fewer evaluations than their budget."""
        made, budget = self.table["evaluations"].to_numpy(), self.table["budget"].fill_null(0).to_numpy()
        to_the_end = "the best value counts to the end of the budget"
        for status, what in (
            ("stopped early", to_the_end),
            ("interrupted", "scored from what it recorded"),
            ("running", "scored from what it recorded"),
            ("stale", "scored from what it recorded"),
        ):
            mine = (self.table["status"] == status).to_numpy() & ((made < budget) | (budget == 0))
            if count := int(mine.sum()):
                self.notes.append(f"{counted(count, 'study')} {status}: {what}")

    def note_unequal_trials(self) -> None:
        """Note that some pairs of problem and optimizer have more trials than others."""
        trials = np.bincount(self.problem * len(self.optimizers) + self.optimizer)
        some = trials[trials > 0]
        if some.min() < some.max():
            self.notes.append(f"the number of trials differs: from {some.min()} to {some.max()}")

    # ---- cubes -------------------------------------------------------------------------------------------------------

    def cube(self, values: Floats) -> Floats:
        """(problems, optimizers, trials): numbers that come one per study; trials in their order, NaN where none is."""
        return cube(
            self.problem,
            self.optimizer,
            self.trial,
            values,
            (len(self.problems), len(self.optimizers)),
        )


def cube(problem: Ints, optimizer: Ints, trial: Ints, values: Floats, shape: tuple[int, int]) -> Floats:
    """(problems, optimizers, trials) of numbers that come one per study; NaN where a pair has fewer trials."""
    order = np.lexsort((np.arange(len(values)), trial, optimizer, problem))
    pair = (problem * shape[1] + optimizer)[order]
    first = np.searchsorted(pair, pair)
    place = np.arange(len(pair)) - first
    out = np.full((shape[0] * shape[1], int(place.max(initial=-1)) + 1), np.nan)
    out[pair, place] = values[order]
    return out.reshape(*shape, -1)


def named(row: dict[str, Any], reason: str) -> Excluded:
    """A study that is not scored, and why."""
    return {"optimizer": row["optimizer"], "problem": row["problem"], "trial": row["trial"], "reason": reason}


def no_evaluation(row: dict[str, Any]) -> str:
    """Why a study without evaluations is not scored."""
    return f"no evaluation is recorded ({row['reason'] or row['status']})"


def no_value(row: dict[str, Any]) -> str:
    """Why a study that did not end is not scored."""
    return f"it has no value yet ({row['status']})" if row["evaluations"] else no_evaluation(row)


def by_optimizer(failures: pl.DataFrame) -> pl.DataFrame:
    """What failed on all problems together, one row per optimizer."""
    return failures.drop("problem").group_by("optimizer", maintain_order=True).sum()


def failed_studies(failures: pl.DataFrame, original: str = "") -> list[str]:
    """Which optimizers' studies failed, the worst first; nothing where none did. original: a tool's name."""
    failed = (
        by_optimizer(failures)
        .filter(pl.col("studies") > 0)
        .sort(pl.col("studies") / pl.col("of"), descending=True, maintain_order=True)
    )
    out = [_failed(row, original) for row in failed.head(SHOWN).iter_rows(named=True)]
    if failed.height > SHOWN:
        more = failed[SHOWN:]
        out.append(
            f"{more.height} more optimizers failed in {more['studies'].sum():,} of {more['of'].sum():,} studies: "
            f"{more['without_value'].sum():,} without any value"
        )
    return out


def failed_evaluations(failures: pl.DataFrame) -> list[str]:
    """Which optimizers have failed evaluations, though none of their studies failed; nothing where none has."""
    only = (
        by_optimizer(failures)
        .filter(pl.col("studies") == 0, pl.col("evaluations") > 0)
        .sort("evaluations", descending=True)
    )
    each = [f"{row['evaluations']:,} of {row['optimizer']}" for row in only.head(SHOWN).iter_rows(named=True)]
    rest = f" and some of {only.height - SHOWN} more optimizers" if only.height > SHOWN else ""
    return [f"failed evaluations: {', '.join(each)}{rest}"] if each else []


def _failed(row: dict[str, Any], original: str) -> str:
    nothing, kept = row["without_value"], row["studies"] - row["without_value"]
    text = f"{row['optimizer']} failed in {row['studies']:,} of {counted(row['of'], 'study')}: "
    if not nothing:
        text += "what it had found counts"
    elif row["left_out"]:
        lost = f"{row['left_out']:,} {'is' if row['left_out'] == 1 else 'are'}"
        text += f"{nothing:,} without any value, of which {lost} left out, as in {original}"
    else:
        text += f"{nothing:,} without any value, which {'counts' if nothing == 1 else 'count'} as the worst"
        text += f"; in {kept:,} what it had found counts" if kept else ""
    return text + (f"; {row['evaluations']:,} evaluations failed" if row["evaluations"] else "")


def by_instance(frame: pl.DataFrame) -> pl.DataFrame:
    """Instances that an import gave one problem id are problems of their own: each has its own optimum."""
    several = frame.group_by("problem").agg(count=pl.col("instance").n_unique()).filter(pl.col("count") > 1)["problem"]
    apart = pl.format("{} instance {}", "problem", pl.col("instance").cast(pl.String).fill_null("?"))
    return frame.with_columns(
        problem=pl.when(pl.col("problem").is_in(several.to_list())).then(apart).otherwise("problem")
    )


def _places(names: pl.Series, known: list[str]) -> Ints:
    return names.replace_strict(known, np.arange(len(known)), return_dtype=pl.Int64).to_numpy().astype(np.int64)


def spans(starts: Ints, lengths: Ints) -> Ints:
    """The rows of several spans, one after the other."""
    before = np.concatenate(([0], np.cumsum(lengths)[:-1])) if len(lengths) else np.zeros(0, dtype=np.int64)
    return np.repeat(starts - before, lengths) + np.arange(lengths.sum())
