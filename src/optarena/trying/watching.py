"""What is shown while optimizers are tried: one bar, who beats whom, and the first evaluation that fails, at once."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any, TextIO

from optarena._numbers import counted
from optarena._text import clean, shortened
from optarena.dataset import Dataset
from optarena.errors import OptarenaError
from optarena.experiment import Plan, Study
from optarena.experiment.panel import Panel
from optarena.runner.attempt import Outcome
from optarena.runner.estimate import TimeLeft, roughly
from optarena.runner.local import Standing
from optarena.store.following import Follower, Stores
from optarena.trying.recommendation import first_failure, listed, on_screen

LINE_SECONDS, LOOK_SECONDS = 10.0, 2.0
"""Between two lines where there is no terminal, and between two looks for evaluations that failed."""


class Watching:
    """Shows a race on one problem; use it as a context manager round the run."""

    def __init__(self, out: TextIO | None = None) -> None:
        self.out = out or sys.stdout
        self.place: Path | None = None
        self.problem = ""
        self._total = self._done = self._round = 0
        self.rounds = 0
        self._made = 0
        self._live: dict[str, tuple[str, int]] = {}
        self._standing: Standing | None = None
        self._failure_shown = False
        self._next = self._next_look = 0.0
        self._begun = 0
        """Rounds that were finished before."""
        self._time = TimeLeft(1, time.monotonic())
        self._follower: Follower | None = None
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Watching:
        now = time.monotonic()
        self._next, self._next_look = now + LOOK_SECONDS, now + LOOK_SECONDS
        return self

    def __exit__(self, *exc: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    # ---- before it begins --------------------------------------------------------------------------------------------

    def chosen(self, problem: str, panel: Panel, budget: int) -> None:
        """Who is tried, and why."""
        names = [clean(item.label) for item in panel.optimizers]
        self.rounds = panel.max_trials
        who, each = counted(len(names), "optimizer"), counted(budget, "evaluation")
        self._say(
            f"{who} on {clean(problem)}, {each} each, until decided (at most {counted(panel.max_trials, 'trial')})"
        )
        slow = f"; too slow for that: {', '.join(panel.slow)}" if panel.slow else ""
        self._say(f"panel: {', '.join(names)} ({panel.why}{slow})")
        self.out.flush()

    def first_points(self, store: Path, problem: str, points: int) -> None:
        """Evaluations begin that show what one costs: with dear ones that takes a while."""
        what = "more point" if self.place == store else "point"
        self._say(f"evaluating {counted(points, what)} to see what one costs")
        self.watch(store, problem)

    def watch(self, store: Path, problem: str) -> None:
        """Where the evaluations are found."""
        if store != self.place:
            self.place, self._follower = store, Follower(Stores([store]))
        self.problem = problem
        self._look()

    # ---- what the runner tells ---------------------------------------------------------------------------------------

    def begin(self, plan: Plan, todo: list[Study], finished: int, workers: int) -> None:  # noqa: ARG002
        self._total, self._round = len(todo), len(plan.studies)
        self._begun = plan.studies[0].trial if plan.studies else 0
        self._time = TimeLeft(workers, time.monotonic())
        self._time.add(todo)
        if todo and self.out.isatty():
            self._start()

    def tick(self, study: Study, evaluations: int) -> None:
        self._live[study.id] = (study.optimizer.label, evaluations)
        self._time.runs(study, evaluations, time.monotonic())
        self.glance()
        self._show()

    def ended(self, study: Study, outcome: Outcome) -> None:
        self._live.pop(study.id, None)
        self._time.ended(study, time.monotonic())
        self._done += 1
        self._made += outcome.evaluations
        if outcome.failures:
            self._look()
        if outcome.status == "failed" and not outcome.failures and not self._failure_shown:
            self._failure_shown = True
            self._say(f"{clean(study.optimizer.label)} failed: {clean(outcome.reason)}; this counts as a loss.")
        self._show()

    def looked(self, standing: Standing, todo: list[Study]) -> None:
        self._standing, self._round = standing, len(todo)
        self._total += len(todo)
        self._time.add(todo)
        if standing.news:
            self._say(f"round {standing.round}: {clean(_grouped(standing.news))}")
        self._show()

    def notice(self, text: str) -> None:
        self._say(clean(text))

    # ---- how it looks ------------------------------------------------------------------------------------------------

    def glance(self, *, at_once: bool = False) -> None:
        """Look for an evaluation that failed, if that is due."""
        if at_once or time.monotonic() >= self._next_look:
            self._look()

    def _look(self) -> None:
        """Has an evaluation failed? The first is shown as soon as it is in the store, of which only news are read."""
        self._next_look = time.monotonic() + LOOK_SECONDS
        if self._failure_shown or self.place is None or self._follower is None or not self.place.exists():
            return
        try:
            if not self._follower.look().failures:
                return
            found = first_failure(Dataset.of_store(self.place), self.problem)
        except OptarenaError:
            return
        if found:
            self._failure_shown = True
            self._say(f"An evaluation failed: {found}. Such evaluations have no value; the run goes on.")

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[note]}", markup=False),
            refresh_per_second=5,
            console=Console(file=self.out),
            transient=True,
        )
        self._task = self._bar.add_task("round 1", total=max(1, self.rounds), note="")
        self._bar.start()
        self._show()

    def _show(self) -> None:
        finished = self._standing.round if self._standing is not None else self._begun
        part = 0.0 if not self._round else 1 - max(0, self._total - self._done) / self._round
        over = self._standing is not None and self._standing.over
        now = "comparing" if over else f"round {min(finished + 1, self.rounds)} of at most {self.rounds}"
        who = ", ".join(dict.fromkeys(clean(label) for label, _ in self._live.values()))
        left = "" if over else self._left()
        if self._bar is not None:
            room = max(10, self._bar.console.width - len(now) - len(left) - 20 - 8)
            note = "   ".join(word for word in (left, shortened(who, room)) if word)
            self._bar.update(self._task, completed=finished + part, description=now, note=note)
        elif time.monotonic() >= self._next:
            self._next = time.monotonic() + LINE_SECONDS
            made = self._made + sum(count for _, count in self._live.values())
            parts = [now, counted(made, "evaluation"), left]
            self._say(" · ".join(part for part in parts if part))

    def _left(self) -> str:
        """How long it takes, if all goes on as it did; "at most" where nobody knows when it will be decided."""
        stands = self._standing
        likely = None if stands is None else stands.likely
        done = self._begun if stands is None else stands.round
        rounds = self.rounds - done - 1 if likely is None else likely - 1
        left = self._time.left(time.monotonic(), more=max(0, rounds) * self._round)
        return "" if left is None else f"{'at most' if likely is None else 'about'} {roughly(left)} left"

    def _say(self, line: str) -> None:
        text = on_screen(line)
        if self._bar is not None:
            self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            print(text, file=self.out, flush=True)


def _grouped(news: list[str]) -> str:
    """'A ▲ B', 'A ▲ C' and 'D ≈ E' as 'A beats B and C; D ≈ E'."""
    beaten: dict[str, list[str]] = {}
    for by, sign, name in (text.partition(" ▲ ") for text in news):
        if sign:
            beaten.setdefault(by, []).append(name)
    said = [f"{by} beats {listed(names)}" for by, names in beaten.items()]
    return "; ".join([*said, *(text for text in news if " ▲ " not in text)])


class FirstPoints:
    """What a runner tells of the first points: nothing is counted, but a failure is shown when it happens."""

    def __init__(self, watching: Watching) -> None:
        self._of = watching

    def begin(self, plan: Plan, todo: list[Study], finished: int, workers: int) -> None: ...
    def looked(self, standing: Standing, todo: list[Study]) -> None: ...

    def tick(self, study: Study, evaluations: int) -> None:  # noqa: ARG002
        self._of.glance()

    def ended(self, study: Study, outcome: Outcome) -> None:  # noqa: ARG002
        self._of.glance(at_once=True)

    def notice(self, text: str) -> None:
        self._of.notice(text)


class Quiet(Watching):
    """Shows nothing."""

    def _say(self, line: str) -> None: ...
    def _start(self) -> None: ...
