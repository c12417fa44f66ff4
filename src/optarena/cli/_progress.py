"""Progress of a run: bars on a terminal, an occasional plain line elsewhere. It only shows what is reported to it."""

from __future__ import annotations

import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, TextIO

from optarena._numbers import counted, duration
from optarena._text import clean, shortened
from optarena._widths import apart, cells, middle_cut, padded, wrapped
from optarena.cli._terminal import say, terminal_width
from optarena.experiment import Plan, Study
from optarena.runner.attempt import Outcome
from optarena.runner.estimate import TimeLeft, roughly
from optarena.runner.local import Standing
from optarena.runner.reasons import Reasons
from optarena.runner.tail import FirstFailure
from optarena.solver import Solver
from optarena.status import RECORDED
from optarena.store import Store

PLAIN_SECONDS = 5.0
LOOK_SECONDS = 2.0
"""Between two looks for the first evaluation that failed."""
REASONS = 3
NOTE = 12
"""Characters at the right of a bar, for what failed."""


class RunProgress:
    """Counts what ends and shows it; use as a context manager round the run."""

    def __init__(self, store: str, out: TextIO | None = None, *, planned: Callable[[], None] | None = None) -> None:
        """planned: called when the plan is made and good, before anything is shown."""
        self.store = store
        self._planned = planned
        self.out = out or sys.stdout
        self.began = time.monotonic()
        self.plan: Plan | None = None
        self.total = 0
        self.workers = 0
        self.solvers_only = False
        self.outcomes: Counter[str] = Counter()
        self.failed: list[tuple[Study, Outcome]] = []
        self.late: list[tuple[Study, Outcome]] = []
        """Studies that timed out."""
        self.evaluations = 0
        self.failures = 0
        self.failing = 0
        """Studies with failed evaluations."""
        self.reasons = Reasons()
        self.notices: list[str] = []
        """What else is said when it has ended."""
        self._standing: Standing | None = None
        """Of a race, after its last round."""
        self._round = 0
        """Studies of the current round."""
        self._live: dict[str, tuple[Study, int]] = {}
        """What runs now, with its evaluations so far."""
        self._screen: Any = None
        self._todo: Counter[str] = Counter()
        self._done_by: Counter[str] = Counter()
        self._failed_by: Counter[str] = Counter()
        self._out: set[str] = set()
        """Optimizers that left a race."""
        self._time = TimeLeft(1, self.began)
        self._next_line = time.monotonic() + PLAIN_SECONDS
        self._looking: FirstFailure | None = None
        """Until an evaluation has failed."""
        self._next_look = 0.0

    def __enter__(self) -> RunProgress:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._screen is not None:
            self._screen.stop()
            self._screen = None

    def begin(self, plan: Plan, todo: list[Study], finished: int, workers: int) -> None:
        if self._planned is not None and plan.studies:
            self._planned()
        self.plan, self.total, self.workers = plan, len(todo), workers
        self._looking = FirstFailure(Store(self.store)) if todo else None
        self._next_look = time.monotonic() + LOOK_SECONDS
        # a race is run on what all its optimizers can take
        raced = {problem.id for problem, _ in plan.pairs} if plan.experiment.race is not None else ()
        problems = raced or plan.problems
        solvers = sum(issubclass(cls, Solver) for cls in plan.classes.values())
        who = [(len(plan.classes) - solvers, "optimizer"), (solvers, "solver")]
        self.solvers_only = solvers == len(plan.classes)
        trials = counted(plan.experiment.trials, "trial")
        whole = f" × {trials}: {counted(len(plan.studies), 'study')}"
        if plan.experiment.race is not None:
            self._round = len(todo)
            whole = f", until decided (at most {trials} each)"
        self._say(
            f"{' and '.join(counted(n, word) for n, word in who if n)} × {counted(len(problems), 'problem')}{whole}"
            + (f", {finished:,} of them finished before" if finished and plan.experiment.race is None else "")
        )
        self._say(f"root {plan.root}  store {clean(self.store)}  (same root, same result; Ctrl-C is safe: run again)")
        for notice in plan.notices:
            self._say(clean(notice))
        for refusal in plan.refused:
            self._say(f"refused: {clean(refusal.optimizer)} on {clean(refusal.problem)}: {clean(refusal.reason)}")
        self.out.flush()
        self._time = TimeLeft(workers, time.monotonic())
        self._time.add(todo)
        # of a race that goes on in the middle of a round, some have nothing to do before the next
        later = plan.studies if plan.experiment.race is not None else []
        self._todo = Counter(dict.fromkeys((clean(study.optimizer.label) for study in later), 0))
        self._todo.update(clean(study.optimizer.label) for study in todo)
        if self.out.isatty() and todo:
            self._start_screen()

    def _say(self, line: str) -> None:
        say(line, file=self.out)

    def _start_screen(self) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        console = Console(file=self.out, width=terminal_width(self.out), highlight=False)

        def drawn() -> Text:
            width, height = console.width - 1, console.height
            return Text("\n".join(self.screen(width, height)), no_wrap=True, overflow="crop")

        # it is gone when the run ends, however that happens: what stays is the summary
        self._screen = Live(get_renderable=drawn, console=console, refresh_per_second=5, transient=True)
        self._screen.start()

    def screen(self, width: int, height: int) -> list[str]:
        """A bar per optimizer and one for all, what was done so far and the time left, and what runs now."""
        labels = list(self._todo)
        room = max(3, height - 6)
        shown = labels if len(labels) <= room else labels[: room - 1]
        counts = {label: f"{self._done_by[label]:,}/{self._todo[label]:,}" for label in shown}
        done, total = sum(self.outcomes.values()), self.total
        first = "all" if self._standing is None else f"round {self._standing.round + bool(self._round)}"
        counts[first] = f"{done:,}/{total:,}"
        names = dict(zip(shown, apart(shown, max(12, width - 46)), strict=True)) | {first: first}
        wide = max(map(cells, names.values()))
        digits = max(map(len, counts.values()))
        bar = max(8, min(40, width - wide - digits - 6 - NOTE))
        lines = []
        for label, name in names.items():
            part = (done, total) if label == first else (self._done_by[label], self._todo[label])
            filled = round(bar * part[0] / part[1]) if part[1] else 0
            failed = len(self.failed) if label == first else self._failed_by[label]
            note = "out" if label in self._out else f"{failed:,} failed" if failed else ""
            line = f"  {padded(name, wide)}  {'█' * filled}{'░' * (bar - filled)}  {counts[label]:>{digits}}  {note}"
            lines.append(shortened(line.rstrip(), width))
            if label != first and label == shown[-1] and len(shown) < len(labels):
                lines.append(f"  … and {len(labels) - len(shown)} more optimizers")
        lines.append(shortened(f"  {self._note()}", width))
        if self._live:
            now = [f"{study.optimizer.label} on {study.problem}" for study, _ in self._live.values()]
            lines.append(_listed(list(map(clean, now)), "  now: ", width))
        return lines

    def tick(self, study: Study, evaluations: int) -> None:
        self._live[study.id] = (study, evaluations)
        self._time.runs(study, evaluations, time.monotonic())
        if time.monotonic() >= self._next_look:
            self._look()
        self._show()

    def ended(self, study: Study, outcome: Outcome) -> None:
        self._live.pop(study.id, None)
        self._time.ended(study, time.monotonic())
        self._done_by[clean(study.optimizer.label)] += 1
        self.evaluations += outcome.evaluations
        self.outcomes[outcome.status] += 1
        self.failures += outcome.failures
        self.failing += outcome.failures > 0
        self.reasons.update(outcome.reasons)
        if outcome.failures:
            self._look()
        if outcome.status == "failed":
            self.failed.append((study, outcome))
            self._failed_by[clean(study.optimizer.label)] += 1
        elif outcome.status == "timed out":
            self.late.append((study, outcome))
        self._show()

    def looked(self, standing: Standing, todo: list[Study]) -> None:
        """After a round of a race: how it stands, and the studies of the next round."""
        self.total += len(todo)
        self._standing, self._round = standing, len(todo)
        self._time.add(todo)
        coming = Counter(clean(study.optimizer.label) for study in todo)
        self._todo.update(coming)
        if not standing.over:
            self._out = self._todo.keys() - coming.keys()
        line = clean(self._stands(standing))
        if self._screen is not None:
            if standing.news:
                self._screen.console.print(wrapped(f"  {line}", self._screen.console.width), markup=False)
        elif standing.news or time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + PLAIN_SECONDS
            self._say(line)
            self.out.flush()

    def _stands(self, standing: Standing) -> str:
        parts = [f"round {standing.round} of at most {standing.at_most}", *standing.news]
        if not standing.over:
            parts.append(f"{counted(standing.open, 'pair')} open")
            if standing.likely is not None:
                parts.append(f"about {counted(standing.likely, 'more round')}")
        return " · ".join(parts)

    def _look(self) -> None:
        """Say it when the first evaluation has failed: the summary may be hours away."""
        if self._looking is None:
            return
        self._next_look = time.monotonic() + LOOK_SECONDS
        found = self._looking.look()
        if found is None:
            return
        from optarena.trying.recommendation import said_point  # nothing heavy is imported before it is needed

        self._looking = None
        at = f" at {said_point(found.point)}" if found.point else ""
        line = (
            f"An evaluation failed: {clean(found.reason)}{at}, of {clean(found.optimizer)} on {clean(found.problem)}."
            " It has no value; the run goes on."
        )
        if self._screen is not None:
            text = wrapped(line, terminal_width(self.out))
            self._screen.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            self._say(line)
            self.out.flush()

    def notice(self, text: str) -> None:
        if text not in self.notices:
            self.notices.append(text)

    def _show(self) -> None:
        """A plain line now and then, where there is no screen that shows all."""
        if self._screen is None and time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + PLAIN_SECONDS
            self._say(f"{sum(self.outcomes.values()):,}/{self.total:,} studies · {self._note()}")
            self.out.flush()

    def _note(self) -> str:
        """What was done so far, how fast, and the time left."""
        spent = time.monotonic() - self.began
        made = self.evaluations + sum(evaluations for _, evaluations in self._live.values())
        what = "solutions" if self.solvers_only else "evaluations"
        crew = counted(self.workers, "worker") if self.workers else "in this process"
        parts = [f"{made:,} {what}", crew, f"{made / max(spent, 1e-9):,.0f}/s"]
        if self._standing is not None:
            parts = [f"{counted(self._standing.open, 'pair')} open", f"{made:,} {what}"]
        if self.failures:  # of studies that have ended
            parts.append(f"{counted(self.failures, 'evaluation')} failed")
        return " · ".join([*parts, *self._left()])

    def _left(self) -> list[str]:
        """How long it takes; of a race, if all goes on as it did, or else at most."""
        race = None if self.plan is None else self.plan.experiment.race
        rounds, most = 0, "about"
        if race is not None:
            stands = self._standing
            likely = None if stands is None or stands.likely is None else max(0, stands.likely - 1)
            rounds = race.max_trials - (1 if stands is None else stands.round + 1) if likely is None else likely
            most = "at most" if likely is None else "about"
        if sum(self.outcomes.values()) >= self.total:
            return []
        left = self._time.left(time.monotonic(), more=max(0, rounds) * self._round)
        return [] if left is None else [f"{most} {roughly(left)} left"]

    def summary(self) -> str:
        """How long it took, how the studies ended, and what failed most often."""
        parts = [f"{self.outcomes[status]:,} {status}" for status in RECORDED if self.outcomes[status]]
        lines = [
            f"finished in {duration(time.monotonic() - self.began)} · {' · '.join(parts) or 'nothing was left to do'}"
        ]
        for status, ended in (("failed", self.failed), ("timed out", self.late)):
            if ended:
                why = Reasons()
                for study, outcome in ended:
                    why.add(f"{study.optimizer.label}: {outcome.reason}")
                lines.append(f"{len(ended):,} of {counted(sum(self.outcomes.values()), 'study')} {status}:")
                lines += _most_frequent(why, len(ended))
        if self.failures:
            lines.append(
                f"{self.failures:,} of {counted(self.evaluations, 'evaluation')} failed, in"
                f" {counted(self.failing, 'study')}:"
            )
            lines += _most_frequent(self.reasons, self.failures)
        if self.failed or self.late or self.failures:
            lines.append(f"see all: optarena status {clean(shlex.quote(self.store))} --failed")
        lines += map(clean, self.notices)
        return "\n".join(lines)


def _most_frequent(reasons: Reasons, total: int) -> list[str]:
    """The most frequent reasons, one per line with an example, and how many had others."""
    found = list(reasons.counts().items())[:REASONS]
    width = len(f"{total:,}")
    shown = [f"  {count:>{width},} × {_like(example, count)}" for example, count in found]
    others = total - sum(count for _, count in found)
    return [*shown, f"  {others:>{width},} × other reasons"] if others else shown


def _like(example: str, count: int) -> str:
    """A reason; one that has numbers stands for others that may have other numbers."""
    several = count > 1 and any(sign.isdigit() for sign in example)
    return f"{'such as ' if several else ''}{shortened(clean(example), 100)}"


def _listed(names: list[str], begin: str, width: int) -> str:
    """As many names as fit in a line, and how many more there are."""
    for shown in range(len(names), 0, -1):
        more = f" and {len(names) - shown} more" if shown < len(names) else ""
        line = f"{begin}{' · '.join(names[:shown])}{more}"
        if cells(line) <= width:
            return line
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{begin}{middle_cut(names[0], max(8, width - len(begin) - len(more)))}{more}"
