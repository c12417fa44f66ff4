"""What may be decided while a run goes on: its complete rounds (docs/scores.md 6.1), and nothing else.

A round is a trial of every optimizer on every problem of the plan. A study that still runs is in none; so what comes
later never changes what was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from optarena._numbers import counted
from optarena.errors import OptarenaError
from optarena.facade import Results
from optarena.status import FINISHED
from optarena.store import RunFile


def complete_rounds(results: Results, runs: Sequence[RunFile], wanted: Callable[[str, str], bool]) -> Results:
    """The studies of all complete rounds of runs that go on; an error, where there is none, says how far the first is.

    wanted: whether an optimizer and a problem of the plan are among what was chosen.
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
    places: list[int] = []
    for trial in sorted(planned):  # in their order: a later one that is complete waits for those before
        if not all(study in ended for study in planned[trial]):
            break
        places += [ended[study] for study in planned[trial]]
    if not places:
        first = planned[min(planned)] if planned else {}
        have = sum(study in ended for study in first)
        raise OptarenaError(
            f"no round is complete yet, {have:,} of {counted(len(first), 'study')} of the first have ended"
        )
    return results.select(np.array(sorted(places), dtype=np.int64))
