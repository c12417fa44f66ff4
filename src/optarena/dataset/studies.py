"""The frame of studies: one row per study, who, on what, how it ended, how much it spent, and the best it found."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import polars as pl

from optarena._process import alive, host
from optarena.dataset.facts import Facts
from optarena.status import FINISHED
from optarena.store import RunFile
from optarena.store.columns import Attempt
from optarena.store.costs import CPU, EVALUATE, OBSERVE, SECONDS, SUGGEST
from optarena.store.records import ProblemCard
from optarena.traces import Ints, Traces, first_argmin

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


def table_of(facts: Facts, chosen: Ints, traces: Traces, live_hosts: Collection[str]) -> pl.DataFrame:
    """One row per started study, by their attempts; `lost` says how many of its evaluations are (see `finished`)."""
    attempts = [facts.attempts[i] for i in chosen.tolist()]
    starts = [attempt.start for attempt in attempts]
    stand = [status_of(attempt, live_hosts) for attempt in attempts]
    cards = pl.DataFrame([_of_card(card) for card in facts.cards], schema={key: SCHEMA[key] for key in _OF_CARDS})
    budgets = [start.budget for start in starts]
    own: dict[str, Any] = {
        "study": [start.study for start in starts],
        "optimizer": pl.Series(facts.optimizers, dtype=pl.String).gather(facts.optimizer[chosen]),
        "trial": [start.trial for start in starts],
        "status": [one[0] for one in stand],
        "reason": [one[1] for one in stand],
        "budget": [budget.evaluations for budget in budgets],
        "budget_seconds": [budget.seconds for budget in budgets],
        "batch": facts.batch[chosen],
        "record": [start.record for start in starts],
        "attempt": [start.attempt for start in starts],
        "conflicts": [len(attempt.conflicts) for attempt in attempts],
        "root": [start.root for start in starts],
        "started": [start.time for start in starts],
        "ended": [one[2] for one in stand],
    }
    frame = pl.DataFrame(own, schema={key: SCHEMA[key] for key in own})
    return frame.hstack(cards[facts.card[chosen]]).with_columns(**_reductions(facts, chosen, traces))


def rows_of(chosen: Ints, attempts: int) -> Ints:
    """(attempts,): where each stands in a table of those that were chosen; -1 where it was not."""
    out = np.full(attempts, -1, dtype=np.int64)
    out[chosen] = np.arange(len(chosen))
    return out


def finished(frame: pl.DataFrame, attempts: Sequence[Attempt], runs: Sequence[RunFile]) -> pl.DataFrame:
    """The table with what was lost: such a study counts as interrupted."""
    frame = _name_lost_ends(frame, attempts, runs)
    lost = pl.col("lost") > 0
    ended = pl.col("status").is_in(FINISHED)
    return frame.with_columns(
        status=pl.when(lost & ended).then(pl.lit("interrupted")).otherwise("status"),
        reason=pl.when(pl.col("lost") == 1)
        .then(pl.lit("1 evaluation is lost"))
        .when(lost)
        .then(pl.format("{} evaluations are lost", "lost"))
        .otherwise("reason"),
    ).select(list(SCHEMA))


_OF_CARDS = ("problem", "suite", "function", "dimension", "instance", "sense", "optimum", "best_known")


def _of_card(card: ProblemCard) -> dict[str, Any]:
    single = len(card.objectives) == 1
    return {
        "problem": card.id,
        "suite": card.suite,
        "function": card.function,
        "dimension": card.dimension,
        "instance": card.instance,
        "sense": card.objectives[0].sense if single else None,
        "optimum": card.known.optimum[0] if single and card.known.optimum else None,
        "best_known": card.known.best_known[0] if single and card.known.best_known else None,
    }


def _reductions(facts: Facts, chosen: Ints, traces: Traces) -> dict[str, pl.Series]:
    """What rows say of their studies, for all studies at once."""
    columns, at = facts.columns, chosen.tolist()
    tally = columns.tally
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
    single = facts.of_cards(lambda card: len(card.objectives) == 1, bool)[chosen]
    found = (row >= 0) & single
    sign = facts.of_cards(lambda card: card.objectives[0].sign, float)[chosen]
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


def _name_lost_ends(frame: pl.DataFrame, attempts: Sequence[Attempt], runs: Sequence[RunFile]) -> pl.DataFrame:
    """A study that a run took further, and of which the store has no more than before that run, has lost that part."""
    before: dict[str, tuple[int, int]] = {}
    for run in runs:
        if run.how == "done":
            for study, there in run.before.items():
                before[study] = max(there, before.get(study, there))
    if not before:
        return frame
    starts = [attempt.start for attempt in attempts]
    lost = [start.study in before and (start.attempt, start.life) <= before[start.study] for start in starts]
    mine = pl.Series(lost, dtype=pl.Boolean)
    return frame.with_columns(
        status=pl.when(mine).then(pl.lit("interrupted")).otherwise("status"),
        reason=pl.when(mine).then(pl.lit("a later run of it is lost")).otherwise("reason"),
    )


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


def status_of(attempt: Attempt, live_hosts: Collection[str]) -> tuple[str, str, float | None]:
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
