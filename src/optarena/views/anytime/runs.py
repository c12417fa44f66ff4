"""From a store to the envelope of every run, where its horizon ends, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from optarena._numbers import counted
from optarena.dataset import Dataset
from optarena.status import CRASHED, DECIDED, OUT_OF_MEMORY, PROVEN, WRONG
from optarena.traces import Bools, Floats, Ints
from optarena.views.anytime.claims import TABLE, Audit, audit
from optarena.views.anytime.scores import improving
from optarena.views.selection import COUNTED, FAILURES, SEVERAL, Candidates, Selection, cube

SAY_MORE = (*PROVEN, "no solution", CRASHED, OUT_OF_MEMORY, WRONG)
"""Endings that say more than the status of a study."""

FAILED = (WRONG, CRASHED, OUT_OF_MEMORY, "failed")
OPEN = ("interrupted", "running", "stale")


@dataclass
class Runs:
    """All runs that can be scored; values are minimised. The events are those of the envelopes, run after run."""

    results: Dataset
    axis: str
    optimizers: list[str]
    instances: list[str]
    optimizer: Ints
    """(runs,): index into `optimizers`; `instance` likewise."""
    instance: Ints
    trial: Ints
    status: list[str]
    """(runs,): how each ended: optimal, done, timed out, failed, …"""
    sign: Floats
    """(instances,): -1 where it is maximised."""
    best_known: Floats
    """(instances,): the optimum or the best known value, minimised; NaN where there is none."""
    budget: Floats
    """(instances,): the largest declared on this axis; where there is none, the furthest that any run went."""
    end: Floats
    """(runs,): where the run ended on the axis."""
    proved: Bools
    offsets: Ints
    times: Floats
    values: Floats
    functions: list[str] = field(default_factory=list)
    """(instances,)"""
    excluded: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failures: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=FAILURES))
    """See `Selection.failures`."""
    wrong: Bools = field(default_factory=lambda: np.zeros(0, dtype=bool))
    """(runs,): whether it claims what cannot be true: it solved nothing (docs/scores.md 4.10)."""
    decided: list[str] = field(default_factory=list)
    """(instances,): infeasible or unbounded, where that was proved: the proof is the event, its value is 0."""
    disputed: Bools = field(default_factory=lambda: np.zeros(0, dtype=bool))
    """(instances,): whether claims contradict each other and none was checked: nothing is scored."""
    contradictions: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=TABLE))
    bound_run: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """(bounds,): the run of each reported bound, by run and time; `bound_times` and `bound_values` likewise."""
    bound_times: Floats = field(default_factory=lambda: np.zeros(0))
    bound_values: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def has(self) -> Bools:
        """(instances, optimizers): who ran what, where that counts."""
        out = np.zeros((len(self.instances), len(self.optimizers)), dtype=bool)
        out[self.instance, self.optimizer] = True
        return out & ~self.disputed[:, None]

    @property
    def no_value(self) -> Bools:
        """(instances,): where a proof is the solution, and no value is."""
        return np.array([word != "" for word in self.decided], dtype=bool)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def cube(self, values: Floats) -> Floats:
        """(instances, optimizers, trials): numbers that come one per run; NaN where a pair has fewer trials."""
        shape = (len(self.instances), len(self.optimizers))
        return cube(self.instance, self.optimizer, self.trial, values, shape)

    @property
    def run(self) -> Ints:
        """(events,): the run of each event."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def until(self, horizon: Floats, proofs: bool = True) -> Runs:
        """The same, without the solutions after each instance's horizon; `proofs`: and without proofs after it."""
        run = self.run
        kept = self.times <= horizon[self.instance[run]]
        late, unproved = int((~kept).sum()), self.proved & (self.end > horizon[self.instance]) & proofs
        notes = []
        if late:
            cut = len(np.unique(run[~kept]))
            notes.append(f"{late:,} solutions of {cut:,} runs came after the horizon: they do not count")
        if unproved.any():
            notes.append(f"{int(unproved.sum()):,} proofs came after the horizon: they do not count")
        if not notes:
            return self
        counts = np.bincount(run[kept], minlength=len(self))
        return replace(
            self,
            offsets=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
            times=self.times[kept],
            values=self.values[kept],
            proved=self.proved & ~unproved,
            notes=[*self.notes, *notes],
        )


def runs_of(results: Dataset, axis: str, tolerance: float, horizon: str = "budget") -> Runs:
    """Every study with one objective that has this effort."""
    found = Candidates(results)
    checked = audit(found)
    traces, effort, study = results.traces(), results.efforts(axis), found.study_of_row
    y = traces.values[:, 0]
    y = np.where(traces.feasible & np.isfinite(y), y, np.nan)
    y[checked.reported.unchecked & checked.wrong[study]] = np.nan
    several, lacking = found.table["sense"].is_null().to_numpy(), _lacking(found, axis, y, effort)
    found.leave_out(several | lacking, lambda row: SEVERAL if row["sense"] is None else f"it has no {axis}")
    endings = results.endings()
    proved = np.array([word in PROVEN for word in endings], dtype=bool) & ~checked.wrong
    found.settle(found.having(~np.isnan(y)) | proved)  # a proof that there is no solution is no failure
    axes = f" (axes: {', '.join(results.axes)})"
    chosen = found.selection(axis, Selection, f"can be scored by {axis}", axes)
    kept, part = chosen.kept, chosen.table
    rows = np.flatnonzero(~np.isnan(y) & found.usable[study])
    number = np.full(len(traces), -1, dtype=np.int64)
    number[kept] = np.arange(len(kept))
    # by time within each run: imported events may stand in any order
    rows = rows[np.lexsort((effort[rows], number[study[rows]]))]
    offsets = np.searchsorted(number[study[rows]], np.arange(len(kept) + 1)).astype(np.int64)
    events, best = improving(effort[rows], y[rows], offsets, tolerance)
    instances, optimizers = chosen.problems, chosen.optimizers
    instance, optimizer = chosen.problem, chosen.optimizer
    end = _ends(results, axis, part, kept, effort, study)
    wrong = checked.wrong[kept]
    words = [endings[i] for i in kept.tolist()]
    ended = [word if word in SAY_MORE else row for word, row in zip(words, part["status"], strict=True)]
    notes = [*checked.notes(), *_cut_short(ended)]
    status = [WRONG if lies else word for word, lies in zip(ended, wrong.tolist(), strict=True)]
    sign = chosen.sign
    told = part["optimum"].fill_null(part["best_known"]).to_numpy().astype(float) * sign[instance]
    known = np.full(len(instances), np.nan)
    known[instance[~np.isnan(told)]] = told[~np.isnan(told)]
    disputed = np.zeros(len(instances), dtype=bool)
    disputed[instance[checked.disputed[kept]]] = True
    out = Runs(
        results=results,
        axis=axis,
        optimizers=optimizers,
        instances=instances,
        optimizer=optimizer,
        instance=instance,
        trial=part["trial"].to_numpy(),
        status=status,
        sign=sign,
        best_known=known,
        budget=_budgets(chosen, end, notes if horizon == "budget" else []),
        end=end,
        proved=checked.reported.optimal[kept] & ~wrong,
        offsets=np.searchsorted(number[study[rows[events]]], np.arange(len(kept) + 1)).astype(np.int64),
        times=effort[rows[events]],
        values=best,
        functions=chosen.functions,
        excluded=chosen.excluded,
        notes=notes,
        failures=chosen.failures,
        wrong=wrong,
        decided=[""] * len(instances),
        disputed=disputed,
        contradictions=checked.contradictions,
    )
    _take_bounds(out, number, effort, study, kept)
    return _by_proof(out, checked, kept)


def _take_bounds(runs: Runs, number: Ints, effort: Floats, study: Ints, kept: Ints) -> None:
    """Note the bounds that runs reported, with their solutions and at their end; those of wrong runs tell nothing."""
    results = runs.results
    at_rows, at_end = results.extra("bound"), results.extra_at_end("bound")[kept]
    rows = np.flatnonzero(np.isfinite(at_rows) & (number[study] >= 0) & ~np.isnan(effort))
    ends = np.flatnonzero(np.isfinite(at_end))
    run = np.concatenate((number[study[rows]], ends))
    times = np.concatenate((effort[rows], runs.end[ends]))
    values = np.concatenate((at_rows[rows], at_end[ends])) * runs.sign[runs.instance[run]]
    order = np.lexsort((times, run))
    order = order[~runs.wrong[run[order]]]
    runs.bound_run, runs.bound_times, runs.bound_values = run[order], times[order], values[order]


def _by_proof(runs: Runs, checked: Audit, kept: Ints) -> Runs:
    """The same runs, in which a proof that there is no best solution is the only event of its instance.

    Its value stands for nothing but "solved": all that is scored follows from it (docs/scores.md 4.11).
    """
    words = checked.decided()
    proof = np.array([words[i] != "" for i in kept.tolist()], dtype=bool)
    decided = [""] * len(runs.instances)
    for i in np.flatnonzero(proof).tolist():
        decided[runs.instance[i]] = words[kept[i]]
    by_proof = np.array([word != "" for word in decided], dtype=bool)
    if not by_proof.any() and not runs.disputed.any():
        return runs
    run = runs.run
    stays = ~(by_proof | runs.disputed)[runs.instance[run]]
    lost = len(np.unique(run[by_proof[runs.instance[run]] & ~proof[run]]))
    owner = np.concatenate((run[stays], np.flatnonzero(proof)))
    order = np.argsort(owner, kind="stable")
    notes = [*runs.notes]
    for word in DECIDED:
        if n := decided.count(word):
            notes.append(f"{counted(n, 'instance')} proved {word}: the proof counts as the solution")
    if lost:
        notes.append(f"{counted(lost, 'run')} found only values on unbounded instances: these solve nothing")
    return replace(
        runs,
        offsets=np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=len(runs))))).astype(np.int64),
        times=np.concatenate((runs.times[stays], runs.end[proof]))[order],
        values=np.concatenate((runs.values[stays], np.zeros(int(proof.sum()))))[order],
        proved=np.where(by_proof[runs.instance], proof, runs.proved & ~runs.disputed[runs.instance]),
        best_known=np.where(by_proof, np.nan, runs.best_known),
        decided=decided,
        notes=notes,
    )


def _budgets(chosen: Selection, end: Floats, notes: list[str]) -> Floats:
    """(instances,): the largest budget declared on the axis, or the furthest that any run went.

    Of seconds of different machines: what this budget is on the slowest of them, which all runs had.
    """
    axis, part, instance, names = chosen.axis, chosen.table, chosen.problem, chosen.problems
    column = {"seconds": "budget_seconds", "evaluations": "budget"}.get(axis)
    declared = np.full(part.height, np.nan) if column is None else part[column].to_numpy().astype(float)
    largest = np.full(len(names), -np.inf)
    np.maximum.at(largest, instance[~np.isnan(declared)], declared[~np.isnan(declared)])
    least = np.full(len(names), np.inf)
    np.minimum.at(least, instance[~np.isnan(declared)], declared[~np.isnan(declared)])
    differ = int((least < largest).sum())
    if differ:
        notes.append(f"the budgets of runs differ on {counted(differ, 'instance')}: the largest is the horizon")
    furthest = np.zeros(len(names))
    np.maximum.at(furthest, instance, end)
    without = np.isinf(largest)
    if without.any():
        notes.append(
            f"no budget in {axis} is declared for {counted(int(without.sum()), 'instance')}: the horizon is the "
            "largest effort of any run"
        )
    if axis == "seconds" and (scale := chosen.results.clocks.scale) is not None:
        slowest = np.full(len(names), np.inf)
        np.fmin.at(slowest, instance, scale[chosen.kept])
        largest *= np.where(np.isinf(slowest), 1.0, slowest)
    return np.where(without, furthest, largest)


def _lacking(found: Candidates, axis: str, y: Floats, effort: Floats) -> Bools:
    """(started studies,): which have a solution without this effort, or never tell any of it, solved or not.

    Every run has seconds, evaluations and batches, also one that found nothing (docs/scores.md 4.1).
    """
    out = found.lacking(axis, ~np.isnan(y))
    if axis in (*COUNTED, "seconds"):
        return out
    return out | (np.isnan(found.results.efforts_at_end(axis)) & ~found.having(~np.isnan(effort)))


def _ends(results: Dataset, axis: str, part: pl.DataFrame, kept: Ints, effort: Floats, study: Ints) -> Floats:
    """(runs,): the last effort of any row, or what the run's end says."""
    last = np.zeros(len(results.traces()))
    there = ~np.isnan(effort)
    np.maximum.at(last, study[there], effort[there])
    if axis == "evaluations":
        return np.maximum(last[kept], part["evaluations"].to_numpy().astype(float))
    if axis == "batches":
        return last[kept]
    return np.fmax(last[kept], results.efforts_at_end(axis)[kept])


def _cut_short(status: list[str]) -> list[str]:
    """Which runs did not come to their own end: they are scored by what they found."""
    notes = []
    for words, said in ((FAILED, "failed"), (OPEN, "are not finished")):
        counts = {word: status.count(word) for word in words if word in status}
        if counts:
            each = ", ".join(f"{count:,} {word}" for word, count in counts.items())
            notes.append(f"{sum(counts.values()):,} runs {said} ({each}): what they found counts")
    return notes
