"""The worker program: `python -m optarena.runner.worker STORE CELL SUPERVISOR`.

It takes JSON lines on its standard input, a task each, and answers with JSON lines on the standard output that it was
started with. Both are moved out of the way before anybody's code is loaded: what a problem prints goes nowhere, and it
finds no input. It stays warm from one study to the next, and ends with its input or with its supervisor.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import resource
import select
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from optarena.experiment import Study
from optarena.runner.interrupts import watch
from optarena.runner.past import Past
from optarena.runner.recorded import array


class Task(msgspec.Struct, omit_defaults=True):
    """One study to run."""

    serial: int
    study: Study
    problem: str
    """The id by which the problem is built: a user's file with its directory."""
    base: str | None = None
    source: str | None = None
    past: Past | None = None
    singly: bool = False
    memory: int | None = None
    """Bytes that the process may hold."""
    hard: float | None = None
    """Seconds after which a solver is killed, whatever it does."""


class Answer(msgspec.Struct, omit_defaults=True):
    """What became of a task: `begun`, then `ended` with how it ended, or `broken` when the store cannot be written."""

    serial: int
    what: str
    status: str = ""
    evaluations: int = 0
    reason: str = ""
    journal: str = ""
    failures: int = 0
    reasons: dict[str, int] = {}


def main() -> None:
    """Take tasks until the input ends."""
    tasks, answers = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    faulthandler.enable()
    _die_with(int(sys.argv[3]))
    watch()
    with contextlib.suppress(OSError):  # the kernel should take a worker, not its supervisor, when memory runs out
        Path("/proc/self/oom_score_adj").write_text("500")
    store, cell = Path(sys.argv[1]), int(sys.argv[2])
    encode = msgspec.json.Encoder().encode

    def answer(message: Answer) -> None:
        os.write(answers, encode(message) + b"\n")

    with contextlib.suppress(KeyboardInterrupt):
        _work(store, cell, tasks, answer)


def _work(store: Path, memory: int, tasks: int, answer: Any) -> None:
    from optarena.errors import WorkError
    from optarena.optimizer import ready_optimizer
    from optarena.problem import Subject, build
    from optarena.runner.cell import DONE, IDLE, Cell
    from optarena.runner.environment import environment
    from optarena.runner.kernels import PINNED, in_use
    from optarena.runner.study import run_study
    from optarena.runner.torch_kernels import pin_torch
    from optarena.solver import get_solver
    from optarena.store import Store
    from optarena.store.journal import Journal

    if in_use() == PINNED:
        pin_torch()
    cell = Cell(memory)
    os.close(memory)
    problems: dict[tuple[str, str | None], Subject] = {}
    journal: Journal | None = None

    def sync() -> None:
        if journal is not None:
            journal.sync()

    try:
        for task in _tasks(tasks, sync):
            if journal is None:
                journal = Journal(Store(store).journals, environment())
            cell.take(task.serial)
            answer(Answer(task.serial, "begun", journal=journal.path.name))
            _limit_memory(task.memory)
            base = Path(task.base) if task.base is not None else None
            key = (task.problem, task.base)
            if key not in problems:
                if len(problems) >= 64:
                    problems.clear()
                problems[key] = build(task.problem, base)

            def tick(evaluations: int) -> None:
                cell.view[DONE] = evaluations

            try:
                outcome = run_study(
                    task.study,
                    problems[key],
                    (get_solver if task.study.solver else ready_optimizer)(task.study.optimizer.use, base),
                    journal,
                    source=task.source,
                    past=task.past,
                    cell=cell,
                    singly=task.singly,
                    tick=tick,
                )
            except WorkError as error:
                answer(Answer(task.serial, "broken", reason=str(error)))
                return
            cell.enter(IDLE)
            answer(
                Answer(
                    task.serial,
                    "ended",
                    outcome.status,
                    outcome.evaluations,
                    outcome.reason,
                    failures=outcome.failures,
                    reasons=outcome.reasons,
                )
            )
            if journal.full:
                journal.close()
                journal = None
    finally:
        if journal is not None:
            journal.close()


def _tasks(fd: int, before_waiting: Callable[[], None]) -> Iterator[Task]:
    """The tasks as they come."""
    decode = msgspec.json.Decoder(Task, dec_hook=array).decode
    pending: list[bytes] = []  # of a line that may be long and comes in small pieces
    while True:
        if not select.select([fd], [], [], 0)[0]:
            before_waiting()
        block = os.read(fd, 1 << 20)
        if not block:
            return
        *lines, rest = block.split(b"\n")
        for line in lines:
            whole = b"".join([*pending, line])
            pending.clear()
            yield decode(whole)
        pending.append(rest)


def _limit_memory(limit: int | None) -> None:
    """Let an allocation beyond the limit fail as MemoryError, which is a failed evaluation like any other."""
    if limit is not None:
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def _die_with(supervisor: int) -> None:
    """On Linux the kernel kills us when our supervisor dies; elsewhere we end with our input, after a study."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != supervisor:  # it died before we asked
            raise SystemExit(1)


if __name__ == "__main__":
    main()
