"""Progress of a run in a notebook: one output that is replaced as the run goes on, and says at the end what it did.

Nothing but IPython is needed, which a notebook has.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from html import escape
from types import TracebackType
from typing import Any

from optarena._numbers import counted, duration
from optarena._text import clean, shortened, visible
from optarena.experiment import Plan, Study
from optarena.runner.attempt import Outcome
from optarena.runner.local import Standing
from optarena.runner.reasons import Reasons
from optarena.status import RECORDED, UNSUCCESSFUL

EVERY_SECONDS = 0.5
"""The output is replaced so often, at most."""
REASONS = 3
REFUSED = 5
RUNNING = 4
"""Studies that are named while they run."""
SURE = 0.02
"""The part of the work after which the time that is left is estimated."""


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook, which can replace an output."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


class NotebookProgress:
    """Counts what ends and shows it; use as a context manager round the run."""

    def __init__(self, store: str) -> None:
        self.store = store
        self.began = time.monotonic()
        self.total = 0
        self.evaluations = 0
        self.failures = 0
        """Failed evaluations."""
        self.outcomes: Counter[str] = Counter()
        self.why = Reasons()
        """Of failed evaluations and studies."""
        self.head = ""
        self.notices: list[str] = []
        self.race = ""
        """How a race stands."""
        self._live: dict[str, tuple[Study, int]] = {}
        self._handle: Any = None
        self._next = 0.0

    def __enter__(self) -> NotebookProgress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._live.clear()
        if self._handle is not None:
            self._show(end="interrupted" if kind is KeyboardInterrupt else "stopped" if error else "finished")

    # ---- what a run reports (`optarena.runner.local.Progress`) -----------------------------------------------------

    def begin(self, plan: Plan, todo: list[Study], finished: int, workers: int) -> None:
        self.total = len(todo)
        sizes = [counted(len(plan.classes), "optimizer"), counted(len(plan.problems), "problem")]
        trials = counted(plan.experiment.trials, "trial")
        raced = plan.experiment.race is not None
        self.head = f"{' × '.join(sizes)}{f', until decided (at most {trials} each)' if raced else f' × {trials}'}"
        self.head += f", {counted(workers, 'worker')}" if workers else ""
        if finished and not raced:
            self.notices.append(f"{counted(finished, 'study')} finished before")
        self.notices += plan.notices
        for refusal in plan.refused[:REFUSED]:
            self.notices.append(f"refused: {refusal.optimizer} on {refusal.problem}: {refusal.reason}")
        if len(plan.refused) > REFUSED:
            self.notices.append(f"… and {counted(len(plan.refused) - REFUSED, 'more pairing')} refused")
        self._show()

    def tick(self, study: Study, evaluations: int) -> None:
        self._live[study.id] = (study, evaluations)
        self._perhaps_show()

    def ended(self, study: Study, outcome: Outcome) -> None:
        self._live.pop(study.id, None)
        self.evaluations += outcome.evaluations
        self.failures += outcome.failures
        self.outcomes[outcome.status] += 1
        self.why.update(outcome.reasons)
        if outcome.status in UNSUCCESSFUL and not outcome.reasons:
            self.why.add(f"{study.optimizer.label}: {outcome.reason}")
        self._perhaps_show()

    def notice(self, text: str) -> None:
        if text not in self.notices:
            self.notices.append(text)

    def looked(self, standing: Standing, todo: list[Study]) -> None:
        self.total += len(todo)
        self.race = f"round {standing.round} of at most {standing.at_most} · {counted(standing.open, 'pair')} open"
        self._perhaps_show()

    # ---- what is shown ---------------------------------------------------------------------------------------------

    def _perhaps_show(self) -> None:
        if time.monotonic() >= self._next:
            self._show()

    def _show(self, end: str = "") -> None:
        """Replace the output. end: how the run ended."""
        from IPython.display import display

        self._next = time.monotonic() + EVERY_SECONDS
        # the text of the mimebundle is for those who cannot see HTML, such as a diff of two notebooks
        bundle = {"text/html": self.html(end), "text/plain": "\n".join(self.lines(end))}
        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)

    def lines(self, end: str = "") -> list[str]:
        """The state of the run in words: what is done, what runs, what failed, what else to know."""
        made = self.evaluations + sum(count for _, count in self._live.values())
        spent = time.monotonic() - self.began
        done = sum(self.outcomes.values())
        ended = " · ".join(f"{self.outcomes[status]:,} {status}" for status in RECORDED if self.outcomes[status])
        if end:
            nothing = "nothing was left to do" if end == "finished" else "no study had ended"
            first = f"{end} after {duration(spent)} · {ended or nothing}"
        else:
            first = f"{done:,} of {counted(self.total, 'study')}"
        first += f" · {made:,} evaluations" if made else ""
        left = "" if end else self._left(spent)
        out = [f"{first}{left}", *([self.race] if self.race else [])]
        if self._live:
            names = [f"{study.optimizer.label} on {study.problem}" for study, _ in list(self._live.values())[:RUNNING]]
            out.append(f"running: {', '.join(names)}{', …' if len(self._live) > RUNNING else ''}")
        failed = sum(self.outcomes[status] for status in UNSUCCESSFUL)
        if failed or self.failures:
            parts = [counted(failed, "study")] * bool(failed) + [counted(self.failures, "evaluation")] * bool(
                self.failures
            )
            out.append(f"failed: {' and '.join(parts)}")
            reasons = list(self.why.counts().items())[:REASONS]
            out += [f"  {count:,} × {shortened(clean(reason), 200)}" for reason, count in reasons]
        if end == "interrupted":
            out.append("what was evaluated is kept: run the same again to continue")
        return [*out, *self.notices]

    def _left(self, spent: float) -> str:
        """How long it takes, if all goes on as it did; a race ends when it is decided."""
        running = sum(_part(study, count) for study, count in self._live.values())
        part = (sum(self.outcomes.values()) + running) / max(1, self.total)
        if self.race or not SURE < part < 1:
            return ""
        return f" · about {duration(spent * (1 - part) / part)} left"

    def html(self, end: str = "") -> str:
        first, *rest = self.lines(end)
        done = sum(self.outcomes.values()) + sum(_part(study, count) for study, count in self._live.values())
        bar = ""
        if not end:
            bar = f'<progress value="{done:.3f}" max="{max(1, self.total)}" style="width: 16em"></progress> '
        small = "".join(f"<br>{escape(visible(line))}" for line in rest)
        head = f'<span style="color: gray">{escape(self.head)}</span><br>'
        return f'<div style="font-variant-numeric: tabular-nums">{head}{bar}{escape(first)}{small}</div>'


def _part(study: Study, evaluations: int) -> float:
    """How much of a study is done, by its evaluations; nothing where it is limited otherwise."""
    budget = study.budget.evaluations
    return min(1.0, evaluations / budget) if budget else 0.0
