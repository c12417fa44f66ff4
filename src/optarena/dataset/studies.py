"""The frame of studies: one row per study, who, on what, how it ended, how much it spent, and the best it found."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import polars as pl

from optarena._process import alive, host
from optarena.status import FINISHED
from optarena.store import RunFile
from optarena.store.columns import Attempt, Columns
from optarena.store.costs import CPU, EVALUATE, OBSERVE, SECONDS, SUGGEST
from optarena.traces import Traces, first_argmin

SCHEMA = {
    "study": pl.String,
    "optimizer": pl.String,
    "problem": pl.String,
    "suite": pl.String,
    "function": pl.String,
    "dimension": pl.Int64,
    "instance": pl.Int64,
    "trial": pl.Int64,
    "status": pl.String,
    "reason": pl.String,
    "evaluations": pl.Int64,
    "budget": pl.Int64,
    "budget_seconds": pl.Float64,
    "batch": pl.Int64,
    "sense": pl.String,
    "best": pl.Float64,
    "best_evaluation": pl.Int64,
    "optimum": pl.Float64,
    "best_known": pl.Float64,
    "failures": pl.Int64,
    "suggest_seconds": pl.Float64,
    "evaluate_seconds": pl.Float64,
    "observe_seconds": pl.Float64,
    "cpu_seconds": pl.Float64,
    "record": pl.String,
    "attempt": pl.Int64,
    "conflicts": pl.Int64,
    "root": pl.String,
    "started": pl.Float64,
    "ended": pl.Float64,
}

_REDUCED = {
    "evaluations",
    "best",
    "best_evaluation",
    "failures",
    "suggest_seconds",
    "evaluate_seconds",
    "observe_seconds",
    "cpu_seconds",
}


def table_of(
    columns: Columns,
    chosen: Sequence[int],
    traces: Traces,
    live_hosts: Collection[str],
    runs: Sequence[RunFile],
) -> pl.DataFrame:
    """One row per begun study."""
    rows = [_facts(columns.attempts[i], live_hosts) for i in chosen]
    _name_lost_ends(rows, [columns.attempts[i] for i in chosen], runs)
    frame = pl.DataFrame(rows, schema={key: kind for key, kind in SCHEMA.items() if key not in _REDUCED})
    frame = frame.with_columns(**_reductions(columns, chosen, traces))
    lost = pl.col("lost") > 0
    finished = pl.col("status").is_in(FINISHED)
    return frame.with_columns(
        status=pl.when(lost & finished).then(pl.lit("interrupted")).otherwise("status"),
        reason=pl.when(pl.col("lost") == 1)
        .then(pl.lit("1 evaluation is lost"))
        .when(lost)
        .then(pl.format("{} evaluations are lost", "lost"))
        .otherwise("reason"),
    ).select(list(SCHEMA))


def _facts(attempt: Attempt, live_hosts: Collection[str]) -> dict[str, Any]:
    start, card = attempt.start, attempt.card
    status, reason, ended = _status(attempt, live_hosts)
    single = len(card.objectives) == 1
    return {
        "study": start.study,
        "optimizer": start.optimizer,
        "problem": card.id,
        "suite": card.suite,
        "function": card.function,
        "dimension": card.dimension,
        "instance": card.instance,
        "trial": start.trial,
        "status": status,
        "reason": reason,
        "budget": start.budget.evaluations,
        "budget_seconds": start.budget.seconds,
        "batch": start.batch,
        "sense": card.objectives[0].sense if single else None,
        "optimum": card.known.optimum[0] if single and card.known.optimum else None,
        "best_known": card.known.best_known[0] if single and card.known.best_known else None,
        "record": start.record,
        "attempt": start.attempt,
        "conflicts": len(attempt.conflicts),
        "root": start.root,
        "started": start.time,
        "ended": ended,
    }


def _reductions(columns: Columns, at: Sequence[int], traces: Traces) -> dict[str, pl.Series]:
    """What rows say of their studies, for all studies at once."""
    chosen, tally = np.array(at, dtype=np.int64), columns.tally
    nanoseconds, made = tally.spent.copy(), tally.last.copy()
    ended = [(i, end) for i in at for end in columns.attempts[i].ends]
    if ended:
        owners = np.array([i for i, _ in ended], dtype=np.int64)
        np.maximum.at(made, owners, [end.evaluations for _, end in ended])
        np.add.at(nanoseconds, owners, [end.w for _, end in ended])
    made[chosen] = np.maximum(made[chosen], [columns.attempts[i].counted for i in at])
    # where every evaluation is kept, missing rows were lost with a file; the same command makes them again
    whole = np.array([attempt.start.record == "all" for attempt in columns.attempts], dtype=bool)
    told = np.array([attempt.told for attempt in columns.attempts], dtype=np.int64)
    lost = np.where(whole, made - tally.rows, np.maximum(told - tally.rows, 0)) if len(whole) else made
    made -= np.where(whole, lost, 0) if len(whole) else lost
    y = np.where(traces.feasible & ~np.isnan(traces.values[:, 0]), traces.values[:, 0], np.inf)
    row = first_argmin(y, traces.offsets)
    single = np.array([len(columns.attempts[i].card.objectives) == 1 for i in at], dtype=bool)
    found = (row >= 0) & single
    sign = np.array([columns.attempts[i].card.objectives[0].sign for i in at])
    best = np.full(len(chosen), np.nan)
    best[found] = y[row[found]] * sign[found]
    when = np.zeros(len(chosen), dtype=np.int64)
    when[found] = traces.evaluation[row[found]]
    spent = nanoseconds[chosen] * SECONDS
    return {
        "evaluations": pl.Series(made[chosen]),
        "lost": pl.Series(lost[chosen]),
        "best": pl.Series(best).fill_nan(None),
        "best_evaluation": pl.Series(when).set(pl.Series(~found), None) if len(when) else pl.Series(when),
        "failures": pl.Series(tally.failures[chosen]),
        "suggest_seconds": pl.Series(spent[:, SUGGEST]),
        "evaluate_seconds": pl.Series(spent[:, EVALUATE]),
        "observe_seconds": pl.Series(spent[:, OBSERVE]),
        "cpu_seconds": pl.Series(spent[:, CPU[0]] + spent[:, CPU[1]] + spent[:, CPU[2]]),
    }


def _name_lost_ends(rows: list[dict[str, Any]], attempts: Sequence[Attempt], runs: Sequence[RunFile]) -> None:
    """A study that a run took further, and of which the store has no more than before that run, has lost that part."""
    before: dict[str, tuple[int, int]] = {}
    for run in runs:
        if run.how == "done":
            for study, there in run.before.items():
                before[study] = max(there, before.get(study, there))
    if not before:
        return
    for row, attempt in zip(rows, attempts, strict=True):
        start = attempt.start
        if start.study in before and (start.attempt, start.life) <= before[start.study]:
            row |= {"status": "interrupted", "reason": "a later run of it is lost"}


def missing(runs: Sequence[RunFile], begun: Collection[str]) -> pl.DataFrame:
    """Studies that a run meant to do and no journal has begun."""
    rows: dict[str, dict[str, Any]] = {}
    for run in runs:
        for study in run.studies:
            if study.id not in begun:
                rows[study.id] = {
                    "study": study.id,
                    "optimizer": study.optimizer,
                    "problem": study.problem,
                    "trial": study.trial,
                    "status": "missing",
                    "root": run.root,
                    "evaluations": 0,
                    "failures": 0,
                    "conflicts": 0,
                }
    return pl.DataFrame(list(rows.values()), schema=SCHEMA)


def _status(attempt: Attempt, live_hosts: Collection[str]) -> tuple[str, str, float | None]:
    """How a study stands: its last end, unless it was begun again since."""
    last = attempt.last_end
    if last is None or attempt.begun_again:
        elsewhere = [header.host for header in attempt.open_in if header.host != host()]
        if any(header.host == host() and alive(header.pid, header.born) for header in attempt.open_in):
            return "running", "", None
        if elsewhere:
            if any(name in live_hosts for name in elsewhere):
                return "running", f"on {elsewhere[0]}", None
            return "stale", f"no heartbeat from {elsewhere[0]}", None
        return "interrupted", "its process ended without an end record", None
    return last.status, last.reason, last.time
