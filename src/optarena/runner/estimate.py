"""How long a run still takes: by what studies of each optimizer took so far, said when it is steady.

Optimizers differ by orders of magnitude: a mean over all studies would jump whenever the next optimizer has its turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from statistics import mean

from optarena._numbers import duration
from optarena.experiment import Study

QUIET = 3.0
"""Seconds in which nothing is said: the first studies wait for processes and imports."""
UNSEEN = 0.05
"""Seconds of a study that ended before anybody saw it run."""
CALM = 10.0
"""Seconds over which what is said follows what is estimated."""


class TimeLeft:
    """Told what is to do, what runs and what ended, all at times of one clock; asked for the seconds that are left."""

    def __init__(self, workers: int, now: float) -> None:
        self.workers = max(1, workers)
        self._began = now
        self._todo: Counter[str] = Counter()
        self._running: dict[str, tuple[Study, float, int]] = {}
        """Of what runs now: since when, and its evaluations."""
        self._took: dict[str, list[float]] = {}
        self._end: tuple[float, float] | None = None
        """When this was said, and the end of the run that was said."""

    def add(self, studies: Iterable[Study]) -> None:
        self._todo.update(study.optimizer.label for study in studies)

    def runs(self, study: Study, evaluations: int, now: float) -> None:
        since = self._running[study.id][1] if study.id in self._running else now
        self._running[study.id] = (study, since, evaluations)

    def ended(self, study: Study, now: float) -> None:
        _, since, _ = self._running.pop(study.id, (study, now - UNSEEN, 0))
        self._took.setdefault(study.optimizer.label, []).append(now - since)
        self._todo[study.optimizer.label] -= 1

    def left(self, now: float, more: float = 0.0) -> float | None:
        """Seconds; None while nobody can know. more: studies that come on top of what is to do."""
        means = {label: found for label in self._todo if (found := self._seconds(label, now)) is not None}
        if not means or now - self._began < QUIET:
            return None
        usual = mean(means.values())
        work = sum(count * means.get(label, usual) for label, count in self._todo.items()) + more * usual
        rests = []
        for one in self._running.values():
            study, since, _ = one
            each = means.get(study.optimizer.label, usual)
            work -= min(now - since, each)
            likely = _will_take(*one, now) if now - since > each else None
            rests.append(max(0.0, (likely or each) - (now - since)))
        return self._calm(max(work / self.workers, *rests, 0.0), now)

    def _seconds(self, label: str, now: float) -> float | None:
        """Of one study: what others took, and what those that run will take if they go on as they did.

        Of what runs, beside others that ended, only what takes longer than they did is known to be different.
        """
        took = self._took.get(label, [])
        running = [one for one in self._running.values() if one[0].optimizer.label == label]
        if took:
            running = [one for one in running if now - one[1] > mean(took)]
        found = [seconds for one in running if (seconds := _will_take(*one, now)) is not None]
        return mean([*took, *found]) if took or found else None

    def _calm(self, left: float, now: float) -> float:
        end = now + left
        if self._end is not None:
            said, before = self._end
            share = min(1.0, (now - said) / CALM)
            end = before + share * (end - before)
        self._end = (now, end)
        return max(0.0, end - now)


def _will_take(study: Study, since: float, evaluations: int, now: float) -> float | None:
    """Seconds of a study that runs: its budget of them, or what its evaluations so far make likely."""
    if study.solver and study.budget.seconds is not None:
        return study.budget.seconds
    if evaluations and study.budget.evaluations:
        likely = (now - since) * study.budget.evaluations / evaluations
        return likely if study.budget.seconds is None else min(likely, study.budget.seconds)
    return study.budget.seconds


def roughly(seconds: float) -> str:
    """A time that is only estimated, without digits that would change at every look: 7 s, 40 s, 12 min, 3 h."""
    if seconds < 60:
        return f"{max(1, round(seconds)) if seconds < 10 else 5 * round(seconds / 5)} s"
    if seconds < 600:
        return f"{duration(30 * round(seconds / 30)) if seconds >= 120 else f'{10 * round(seconds / 10)} s'}"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {10 * (minutes % 60 // 10):02d} min"
