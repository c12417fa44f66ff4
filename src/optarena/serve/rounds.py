"""What may be decided while a run goes on: its complete rounds (docs/scores.md 6.1), and nothing else.

A round is a trial of every optimizer on every problem of the plan. A study that still runs is in none; so what comes
later never changes what was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from optarena._numbers import counted
from optarena._text import shortened, visible
from optarena.comparison.race import no_round, race_so_far
from optarena.errors import OptarenaError
from optarena.facade import Results
from optarena.report.sections.overview import PROVISIONAL
from optarena.status import FINISHED
from optarena.store import RunFile

Wanted = Callable[[str, str], bool]
"""Whether an optimizer and a problem of a plan are among what was chosen."""
LISTED = 3
"""Optimizers without a round that are named."""


@dataclass(frozen=True)
class Going:
    """The runs whose plans are not done: those that are live, else those without an end that lack studies."""

    runs: list[RunFile] = field(default_factory=list)
    said: str = ""
    """In a sentence, for the page."""

    def __bool__(self) -> bool:
        return bool(self.runs)

    @property
    def race(self) -> RunFile | None:
        """The newest, where it is a round of a race."""
        newest = max(self.runs, key=lambda run: run.time)
        return newest if newest.race is not None else None

    @property
    def plain(self) -> list[RunFile]:
        return [run for run in self.runs if run.race is None]


def going_on(results: Results, live: Sequence[RunFile]) -> Going:
    """live: the runs with a process. One that was killed or waits in a queue may go on: what it has is half a plan."""
    if runs := [run for run in live if not run.of]:
        return Going(runs, PROVISIONAL)
    unended = [run for run in results.all_runs if run.ended is None and run.studies]
    if not unended:
        return Going()
    done = set(results.studies.filter(pl.col("status").is_in(list(FINISHED)))["study"])
    lacking = {run.id: [study.id for study in run.studies if study.id not in done] for run in unended}
    runs = [run for run in unended if lacking[run.id]]
    missing = len({study for run in runs for study in lacking[run.id]})
    of = len({study.id for run in runs for study in run.studies})
    which = "A run has" if len(runs) == 1 else f"{len(runs):,} runs have"
    said = f"{which} not come to {'its' if len(runs) == 1 else 'their'} end, {missing:,} of {counted(of, 'study')}"
    return Going(runs, f"{said} {'is' if missing == 1 else 'are'} missing: these numbers are provisional.")


def race_rounds(results: Results, run: RunFile, wanted: Wanted) -> Results:
    """The studies of all complete rounds of a race that goes on; an error, where there is none, says so.

    results: of all its optimizers, since who is in a round follows from the rounds before.
    """
    assert run.race is not None
    problems = {name for name in run.race.problems if any(wanted(other, name) for other in run.race.optimizers)}
    race = race_so_far(results, run, problems)
    return results.select(np.array(sorted(race.places), dtype=np.int64))


def complete_rounds(results: Results, runs: Sequence[RunFile], wanted: Wanted) -> Results:
    """The studies of all complete rounds of runs that go on; an error, where there is none, says how far the first is.

    Other optimizers of the same roots that were run before, on the same problems, are there with their own rounds.
    """
    planned: dict[int, dict[str, None]] = {}
    for run in runs:
        for study in run.studies:
            if wanted(study.optimizer, study.problem):
                planned.setdefault(study.trial, {})[study.id] = None
    begun = results.studies.head(len(results.chosen))
    ended = {
        study: i for i, (study, status) in enumerate(begun.select("study", "status").iter_rows()) if status in FINISHED
    }
    places = [ended[id] for id in _first_complete(planned, ended)]
    others = _others(results, runs)
    if not places and len(others) < 2:
        first = planned[min(planned)] if planned else {}
        raise OptarenaError(no_round(sum(study in ended for study in first), len(first)))
    for studies in others.values():
        places += [ended[id] for id in _first_complete(studies, ended)]
    return results.select(np.array(sorted(places), dtype=np.int64))


def _first_complete(planned: dict[int, dict[str, None]], ended: dict[str, int]) -> list[str]:
    """The studies of the first trials of which all have ended: a later one that is complete waits for those before."""
    out: list[str] = []
    for trial in sorted(planned):
        if not all(study in ended for study in planned[trial]):
            break
        out += planned[trial]
    return out


def _others(results: Results, runs: Sequence[RunFile]) -> dict[str, dict[int, dict[str, None]]]:
    """The begun studies, by trial, of each optimizer that no plan has; one per problem and trial.

    Of trials that it was begun on all its problems: nobody runs the rest of the others.
    """
    roots, planned = {run.root for run in runs}, {study.optimizer for run in runs for study in run.studies}
    problems = {study.problem for run in runs for study in run.studies}
    begun = results.studies.head(len(results.chosen))
    mine = begun.filter(
        pl.col("root").is_in(list(roots)),
        pl.col("problem").is_in(list(problems)),
        ~pl.col("optimizer").is_in(list(planned)),
    ).unique(["optimizer", "problem", "trial"], keep="first", maintain_order=True)
    each = mine.with_columns(
        of=pl.len().over("optimizer", "trial"), most=pl.col("problem").n_unique().over("optimizer")
    ).filter(pl.col("of") == pl.col("most"))
    out: dict[str, dict[int, dict[str, None]]] = {}
    for name, trial, study in each.select("optimizer", "trial", "study").iter_rows():
        out.setdefault(name, {}).setdefault(trial, {})[study] = None
    return out


def pairs_of(results: Results, runs: Sequence[RunFile]) -> int:
    """For how many pairs together the level holds: those of all optimizers of the plans, and of others beside them."""
    names = {study.optimizer for run in runs for study in run.studies} | _others(results, runs).keys()
    return len(names) * (len(names) - 1) // 2


def without_round(decided: Results, runs: Iterable[RunFile], wanted: Wanted) -> str:
    """Which optimizers of the plans are in no complete round yet, in a sentence; nothing where all are."""
    here = set(decided.studies["optimizer"])
    planned = {study.optimizer: None for run in runs for study in run.studies if wanted(study.optimizer, study.problem)}
    absent = [shortened(visible(name), 60) for name in planned if name not in here]
    if not absent:
        return ""
    more = f" and {len(absent) - LISTED} more" if len(absent) > LISTED else ""
    return f"Not in the comparison yet, for lack of a complete round: {', '.join(absent[:LISTED])}{more}."
