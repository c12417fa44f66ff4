"""How far an experiment is: counted from what a follower's looks find, so that a look costs what is new.

Nothing here reads a file: it counts attempts, runs and failures, and gives plain data for the page.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from optarena._numbers import counted, duration
from optarena._numbers import seconds as brief
from optarena._text import shortened, visible
from optarena.dataset.studies import status_of
from optarena.runner.reasons import kind_of, reason_of
from optarena.status import ALL, EVALUATION, FINISHED, SUCCEEDED, UNSUCCESSFUL
from optarena.store import RunFile
from optarena.store.columns import Attempt
from optarena.store.following import Follower, Growth
from optarena.store.runs import KILLED, LIVE, QUEUED, pilots

SHOWN_RUNNING, SHOWN_GROUPS, SHOWN_KINDS, SHOWN_RUNS = 60, 300, 30, 6
"""Rows on the page: what it is sent stays small, however large the store is."""
MOST_KINDS = 200
RATE_SECONDS = 30.0
"""The rate is that of the last seconds."""
LONGEST = 300
"""Characters of a name or a reason; a traceback may have more."""
LONGEST_TRACEBACK = 8000
SAID = {
    "done": "finished",
    "interrupted": "interrupted",
    "failed": "ended with an error",
    "ended": "ended",
    LIVE: "running",
    KILLED: "killed",
    QUEUED: "waits for its pilots",
}
"""Of a run's state; a file from elsewhere may have another, which is shown as it is."""


@dataclass
class Group:
    """The studies of one optimizer on one suite."""

    statuses: Counter[str] = field(default_factory=Counter)
    evaluations: int = 0
    ended: int = 0
    seconds: float = 0.0
    """That those which ended took."""


@dataclass(slots=True)
class Known:
    """A study, as it was counted."""

    owner: int
    group: tuple[str, str]
    status: str
    evaluations: int
    seconds: float


@dataclass
class Kind:
    """Failures that differ in numbers only."""

    example: str
    count: int = 0
    optimizers: set[str] = field(default_factory=set)
    problems: set[str] = field(default_factory=set)
    studies: dict[str, None] = field(default_factory=dict)


class Progress:
    """Counts what each look finds; `snapshot` is what the page shows of it."""

    def __init__(self, follower: Follower) -> None:
        self.follower = follower
        self.live: list[RunFile] = []
        self._rates: deque[tuple[float, int]] = deque()
        self._forget()

    def _forget(self) -> None:
        self.groups: dict[tuple[str, str], Group] = {}
        self.studies: dict[str, Known] = {}
        self._missing: dict[str, tuple[str, str]] = {}
        self._suites: dict[str, str] = {}
        self._regroup = False
        """Whether planned studies were counted under a suite that is not theirs."""
        self._open: set[str] = set()
        self._failed: dict[str, Kind] = {}
        self._evaluations: dict[str, Kind] = {}
        self._rates.clear()

    # ---- counting --------------------------------------------------------------------------------------------------

    def update(self, growth: Growth) -> None:
        """Count what a look found."""
        if growth.again:
            self._forget()
        self.live = self.follower.stores.live(self.follower.runs)
        hosts = {run.host for run in self.live}
        for owner in sorted(growth.changed):
            self._count(owner, hosts)
        for study in list(self._open):
            self._count(self.studies[study].owner, hosts)
        if growth.runs or growth.again or self._regroup:
            self._plan()
        for failure in growth.failures:
            attempt = self.follower.attempts[failure.owner]
            reason = reason_of(EVALUATION[failure.status], failure.message)
            self._fail(self._evaluations, reason, attempt)
        made = sum(group.evaluations for group in self.groups.values())
        now = time.monotonic()
        self._rates.append((now, made))
        while len(self._rates) > 2 and self._rates[0][0] < now - RATE_SECONDS:
            self._rates.popleft()

    def _count(self, owner: int, hosts: set[str]) -> None:
        attempts = self.follower.attempts
        attempt = attempts[owner]
        study = attempt.start.study
        old = self.studies.get(study)
        if old is not None and attempts[old.owner].start.attempt > attempt.start.attempt:
            return
        status, _, ended = status_of(attempt, hosts)
        self._learn(attempt.card.id, attempt.card.suite)
        group = (attempt.start.optimizer, attempt.card.suite)
        seconds = max(0.0, ended - attempt.start.time) if ended is not None and status in FINISHED else -1.0
        new = Known(owner, group, status, self._made(owner, attempt), seconds)
        if old is not None:
            if old == new:
                return
            self._add(old, -1)
            if old.status in UNSUCCESSFUL:
                self._recover(study, attempts[old.owner])
        elif study in self._missing:
            self._uncount_missing(study)
        self.studies[study] = new
        self._add(new, 1)
        if status in UNSUCCESSFUL:
            self._fail(self._failed, self._why(attempt), attempt)
        (self._open.discard if status in FINISHED else self._open.add)(study)

    def _learn(self, problem: str, suite: str) -> None:
        """The suite of a problem, of which a plan has only the id."""
        if problem not in self._suites:
            self._suites[problem] = suite
            self._regroup = self._regroup or suite != _suite_in(problem)

    def _made(self, owner: int, attempt: Attempt) -> int:
        tally = self.follower.tally
        made = max(int(tally.last[owner]) if owner < len(tally.last) else 0, attempt.counted)
        for end in attempt.ends:
            made = max(made, end.evaluations)
        return made

    def _add(self, known: Known, sign: int) -> None:
        group = self.groups.get(known.group)
        if group is None:
            group = self.groups[known.group] = Group()
        group.statuses[known.status] += sign
        group.evaluations += sign * known.evaluations
        if known.seconds >= 0:
            group.ended += sign
            group.seconds += sign * known.seconds

    def _plan(self) -> None:
        """What runs mean to do and nobody has begun."""
        self._regroup = False
        for study in list(self._missing):
            self._uncount_missing(study)
        for run in self.follower.runs:
            for planned in run.studies:
                if planned.id not in self.studies and planned.id not in self._missing:
                    suite = self._suites.get(planned.problem, _suite_in(planned.problem))
                    group = (planned.optimizer, suite)
                    self._missing[planned.id] = group
                    self.groups.setdefault(group, Group()).statuses["missing"] += 1

    def is_planned(self, study: str) -> bool:
        """Whether a run means to do it, and nobody has begun."""
        return study in self._missing

    def _uncount_missing(self, study: str) -> None:
        group = self._missing.pop(study)
        self.groups[group].statuses["missing"] -= 1
        if not any(self.groups[group].statuses.values()):
            del self.groups[group]

    @staticmethod
    def _why(attempt: Attempt) -> str:
        end = attempt.last_end
        return "" if end is None else f"{end.status}: {end.reason}" if end.status != "failed" else end.reason

    def _fail(self, kinds: dict[str, Kind], reason: str, attempt: Attempt) -> None:
        name = kind_of(reason)
        if name not in kinds and len(kinds) >= MOST_KINDS:
            name, reason = "", "other reasons"
        kind = kinds.setdefault(name, Kind(reason))
        kind.count += 1
        kind.optimizers.add(attempt.start.optimizer)
        kind.problems.add(attempt.card.id)
        if len(kind.studies) < MOST_KINDS:
            kind.studies[attempt.start.study] = None

    def _recover(self, study: str, attempt: Attempt) -> None:
        """A study that failed is run again."""
        name = kind_of(self._why(attempt))
        kind = self._failed.get(name) or self._failed.get("")
        if kind is not None:
            kind.count -= 1
            kind.studies.pop(study, None)
            if not kind.count:
                self._failed = {key: one for key, one in self._failed.items() if one is not kind}

    # ---- what is shown ---------------------------------------------------------------------------------------------

    @property
    def counts(self) -> Counter[str]:
        """Studies by status."""
        out: Counter[str] = Counter()
        for group in self.groups.values():
            out.update(group.statuses)
        return out

    @property
    def rate(self) -> float:
        """Evaluations per second, lately."""
        (first, before), (last, made) = (self._rates[0], self._rates[-1]) if self._rates else ((0.0, 0), (0.0, 0))
        return (made - before) / (last - first) if last > first else 0.0

    def snapshot(self) -> dict[str, Any]:
        """Plain data for the page; texts with nothing hidden in them."""
        counts = self.counts
        total = sum(counts.values())
        ended = sum(counts[status] for status in FINISHED)
        left = self._left()
        return {
            "total": total,
            "ended": ended,
            "counts": {status: counts[status] for status in ALL if counts[status]},
            "failed": sum(counts[status] for status in UNSUCCESSFUL),
            "evaluations": sum(group.evaluations for group in self.groups.values()),
            "rate": round(self.rate, 1) if self.live else 0,
            "left": self._said(sum(left.values())) if left else "",
            "live": bool(self.live),
            "racing": any(run.race is not None for run in self.live),
            "groups": self._groups(left),
            "running": self._running(),
            "runs": self._runs(),
            "failures": [*self._kinds(self._failed, "study"), *self._kinds(self._evaluations, "evaluation")],
        }

    def _groups(self, left: dict[tuple[str, str], float]) -> list[dict[str, Any]]:
        out = []
        for (optimizer, suite), group in sorted(self.groups.items())[:SHOWN_GROUPS]:
            statuses = group.statuses
            total = sum(statuses.values())
            out.append(
                {
                    "optimizer": _text(optimizer),
                    "suite": _text(suite),
                    "total": total,
                    "good": sum(statuses[status] for status in SUCCEEDED),
                    "failed": sum(statuses[status] for status in UNSUCCESSFUL),
                    "running": statuses["running"],
                    "evaluations": group.evaluations,
                    "each": _each(group.seconds / group.ended) if group.ended else "",
                    "left": self._said(left[optimizer, suite]) if left.get((optimizer, suite)) else "",
                }
            )
        return out

    def _left(self) -> dict[tuple[str, str], float]:
        """Seconds that each group still takes with as many studies at a time as now; nothing while nobody can know."""
        working = [self.studies[study] for study in self._open if self.studies[study].status == "running"]
        ended = [group for group in self.groups.values() if group.ended]
        if not self.live or not working or not ended:
            return {}
        usual = sum(group.seconds for group in ended) / sum(group.ended for group in ended)
        by_optimizer: dict[str, tuple[float, int]] = {}
        for (optimizer, _), group in self.groups.items():
            seconds, n = by_optimizer.get(optimizer, (0.0, 0))
            by_optimizer[optimizer] = (seconds + group.seconds, n + group.ended)
        now, out = time.time(), {}
        for key, group in self.groups.items():
            seconds, n = by_optimizer[key[0]]
            each = group.seconds / group.ended if group.ended else seconds / n if n else usual
            waiting = sum(group.statuses[status] for status in ("missing", "interrupted", "stale"))
            begun = (now - self.follower.attempts[one.owner].start.time for one in working if one.group == key)
            out[key] = (waiting * each + sum(max(0.0, each - spent) for spent in begun)) / len(working)
        return out

    @staticmethod
    def _said(seconds: float) -> str:
        whole = max(1, round(seconds))
        return "" if seconds <= 0 else f"{whole} s" if whole < 10 else duration(whole)

    def _running(self) -> dict[str, Any]:
        found = [study for study in self._open if self.studies[study].status == "running"]
        now, rows = time.time(), []
        for study in sorted(found, key=lambda one: self.follower.attempts[self.studies[one].owner].start.time):
            known = self.studies[study]
            attempt = self.follower.attempts[known.owner]
            header = attempt.open_in[-1] if attempt.open_in else None
            rows.append(
                {
                    "study": study,
                    "optimizer": _text(attempt.start.optimizer),
                    "problem": _text(attempt.card.id),
                    "trial": attempt.start.trial,
                    "where": "" if header is None else _text(f"{header.host}, process {header.pid}"),
                    "evaluations": known.evaluations,
                    "budget": attempt.start.budget.evaluations,
                    "since": duration(max(0.0, now - attempt.start.time)),
                }
            )
            if len(rows) == SHOWN_RUNNING:
                break
        return {"count": len(found), "rows": rows}

    def _runs(self) -> list[dict[str, Any]]:
        runs = self.follower.runs
        live = {run.id for run in self.live}
        out = []
        for run in [run for run in runs if not run.of][-SHOWN_RUNS:]:
            if run.id in live:
                how = LIVE
            elif run.ended is None:
                how = QUEUED if run.pilots and not any(other.of == run.id for other in runs) else KILLED
            else:
                how = run.how or "ended"
            crew = pilots(self.follower.stores.store_of(run), run, runs) if run.pilots else {}
            where = f"{run.host}, process {run.pid}" if run.pid else counted(run.pilots, "pilot")
            out.append(
                {
                    "id": run.id,
                    "how": how,
                    "said": SAID.get(how, _text(how)),
                    "where": _text(where),
                    "pilots": ", ".join(f"{n:,} {word}" for word, n in crew.items()),
                    "studies": len(run.todo),
                    "began": run.time,
                }
            )
        return out[::-1]

    def _kinds(self, kinds: dict[str, Kind], what: str) -> list[dict[str, Any]]:
        out = []
        for kind in sorted(kinds.values(), key=lambda one: -one.count)[:SHOWN_KINDS]:
            out.append(
                {
                    "what": counted(kind.count, what),
                    "reason": _text(kind.example),
                    "optimizers": _some(kind.optimizers, "optimizer"),
                    "problems": _some(kind.problems, "problem"),
                    "studies": list(kind.studies)[:5],
                    "traceback": self._traceback(kind),
                }
            )
        return out

    def _traceback(self, kind: Kind) -> str:
        for study in list(kind.studies)[:20]:
            end = self.follower.attempts[self.studies[study].owner].last_end if study in self.studies else None
            if end is not None and end.detail and _tells_of(end.detail, kind.example):
                return "\n".join(map(visible, shortened(end.detail, LONGEST_TRACEBACK).split("\n")))
        return ""


def _text(text: str) -> str:
    return visible(shortened(text, LONGEST))


def _some(names: Iterable[str], noun: str) -> str:
    every = sorted(names)
    return _text(", ".join(every)) if len(every) <= 2 else counted(len(every), noun)


def _suite_in(problem: str) -> str:
    """The suite that a problem's id names; a problem of one's own, such as mine.py:loss, has none."""
    head, _, rest = problem.partition("/")
    return head if rest and ":" not in problem else ""


def _each(seconds: float) -> str:
    return duration(seconds) if seconds >= 0.1 else brief(float(f"{seconds:.1g}"))


def _tells_of(traceback: str, reason: str) -> bool:
    """Whether a traceback is of this reason: a study keeps one, and may have failed in several ways."""
    lines = [line for line in traceback.split("\n") if line[:1].strip() and not line.startswith("Traceback ")]
    return any(kind_of(_message(line))[:60] in kind_of(reason) for line in lines)


def _message(line: str) -> str:
    """Of the last line of a traceback: the message, or the name of the exception where it has none."""
    name, _, message = line.partition(": ")
    return message or name.rpartition(".")[2]
