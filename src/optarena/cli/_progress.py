"""Progress of a run: bars on a terminal, an occasional plain line elsewhere. It only shows what is reported to it."""

from __future__ import annotations

import shlex
import sys
import time
from collections import Counter
from typing import Any, TextIO

from optarena._numbers import counted, duration
from optarena._text import clean, shortened
from optarena.experiment import Plan, Study
from optarena.runner.attempt import Outcome
from optarena.runner.local import Standing
from optarena.runner.reasons import Reasons
from optarena.solver import Solver
from optarena.status import RECORDED

PLAIN_SECONDS = 5.0
REASONS = 3


class RunProgress:
    """Counts what ends and shows it; use as a context manager round the run."""

    def __init__(self, store: str, out: TextIO | None = None) -> None:
        self.store = store
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
        self._live: dict[str, int] = {}
        self._bars: Any = None
        self._tasks: dict[str, Any] = {}
        self._failed_by: Counter[str] = Counter()
        self._next_line = time.monotonic() + PLAIN_SECONDS

    def __enter__(self) -> RunProgress:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._bars is not None:
            self._bars.stop()

    def begin(self, plan: Plan, todo: list[Study], finished: int, workers: int) -> None:
        self.plan, self.total, self.workers = plan, len(todo), workers
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
        if self.out.isatty() and todo:
            self._start_bars(todo)

    def _say(self, line: str) -> None:
        print(line, file=self.out)

    def _start_bars(self, todo: list[Study]) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self._bars = Progress(
            TextColumn("  {task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            refresh_per_second=5,
            console=Console(file=self.out),
        )
        # of a race that goes on in the middle of a round, some have nothing to do before the next
        later = self.plan.studies if self.plan is not None and self.plan.experiment.race is not None else []
        per_optimizer = Counter(dict.fromkeys((clean(study.optimizer.label) for study in later), 0))
        per_optimizer.update(clean(study.optimizer.label) for study in todo)
        for label, count in per_optimizer.items():
            self._tasks[label] = self._bars.add_task(label, total=count, note="")
        self._tasks[""] = self._bars.add_task("all", total=len(todo), note="")
        self._bars.start()

    def tick(self, study: Study, evaluations: int) -> None:
        self._live[study.id] = evaluations
        self._show()

    def ended(self, study: Study, outcome: Outcome) -> None:
        self._live.pop(study.id, None)
        self.evaluations += outcome.evaluations
        self.outcomes[outcome.status] += 1
        self.failures += outcome.failures
        self.failing += outcome.failures > 0
        self.reasons.update(outcome.reasons)
        if outcome.status == "failed":
            self.failed.append((study, outcome))
            self._failed_by[clean(study.optimizer.label)] += 1
        elif outcome.status == "timed out":
            self.late.append((study, outcome))
        if self._bars is not None:
            label = clean(study.optimizer.label)
            failed = self._failed_by[label]
            self._bars.update(self._tasks[label], advance=1, note=f"{failed} failed" if failed else "")
            self._bars.update(self._tasks[""], advance=1)
        self._show()

    def looked(self, standing: Standing, todo: list[Study]) -> None:
        """After a round of a race: how it stands, and the studies of the next round."""
        self.total += len(todo)
        self._standing, self._round = standing, len(todo)
        line = clean(self._stands(standing))
        if self._bars is not None:
            if standing.news:
                self._bars.console.print(f"  {line}", markup=False, highlight=False)
            coming = Counter(clean(study.optimizer.label) for study in todo)
            for label, task in self._tasks.items():
                if label in coming:
                    self._bars.update(task, total=self._bars.tasks[task].total + coming[label])
                elif label and not standing.over:
                    self._bars.update(task, note="out")
            self._bars.update(self._tasks[""], total=self.total, description=f"round {standing.round + bool(todo)}")
            self._show()
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

    def notice(self, text: str) -> None:
        if text not in self.notices:
            self.notices.append(text)

    def _show(self) -> None:
        spent = time.monotonic() - self.began
        made = self.evaluations + sum(self._live.values())
        done = sum(self.outcomes.values())
        left = f" · {self._left(spent, done)} left" if done and done < self.total else ""
        crew = counted(self.workers, "worker") if self.workers else "in this process"
        what = "solutions" if self.solvers_only else "evaluations"
        note = f"{made:,} {what} · {crew} · {made / max(spent, 1e-9):,.0f}/s{left}"
        if self._standing is not None:  # a race: there is no room for both
            note = f"{counted(self._standing.open, 'pair')} open · {made:,} {what}{left}"
        if self._bars is not None:
            self._bars.update(self._tasks[""], note=note)
        elif time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + PLAIN_SECONDS
            self._say(f"{done:,}/{self.total:,} studies · {note}")
            self.out.flush()

    def _left(self, spent: float, done: int) -> str:
        """How long it takes; of a race, if all goes on as it did, or else at most."""
        race = None if self.plan is None else self.plan.experiment.race
        rounds, most = 0, ""
        if race is not None:
            stands = self._standing
            likely = None if stands is None or stands.likely is None else max(0, stands.likely - 1)
            rounds = race.max_trials - (1 if stands is None else stands.round + 1) if likely is None else likely
            most = "at most " if likely is None else "about "
        return most + duration(spent / done * (self.total - done + rounds * self._round))

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
