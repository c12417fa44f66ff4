"""The worker program: `python -m optarena.runner.worker STORE CELL SUPERVISOR`.

It takes JSON lines on its standard input, a task each, and answers with JSON lines on the standard output that it was
started with. Both are moved out of the way before anybody's code is loaded: what a study prints goes into a file, where
a task names one, else nowhere, and it finds no input. It stays warm from one study to the next, and ends with its input
or with its supervisor.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import os
import resource
import select
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import msgspec

from optarena._files import moved_up
from optarena._process import adopt_orphans, end_descendants
from optarena.experiment import Study
from optarena.runner.guard import EXIT_CODE, Guard
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
    prints: str = ""
    """The file that keeps what the study prints; empty: it is not kept."""
    token: str = ""
    """What answers about it must repeat: what others write into the pipe of answers does not know it."""


class Answer(msgspec.Struct, omit_defaults=True):
    """What became of a task: `begun`, then `ended` with how it ended.

    Or `broken`, when the store cannot be written, or `harmed`, when the study did something to its worker.
    """

    serial: int
    what: str
    status: str = ""
    evaluations: int = 0
    reason: str = ""
    journal: str = ""
    failures: int = 0
    reasons: dict[str, int] = {}
    changed: str = ""
    """What the study changed of the process: the worker ends, and a fresh one takes the next task."""
    token: str = ""


def main() -> None:
    """Take tasks until the input ends."""
    tasks, answers = moved_up(os.dup(0)), moved_up(os.dup(1))
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    faulthandler.enable()
    _die_with(int(sys.argv[3]))
    adopt_orphans()
    atexit.register(end_descendants)  # the first, so that it runs last
    watch()
    with contextlib.suppress(OSError):  # the kernel should take a worker, not its supervisor, when memory runs out
        Path("/proc/self/oom_score_adj").write_text("500")
    store, cell = Path(sys.argv[1]), int(sys.argv[2])
    with contextlib.suppress(KeyboardInterrupt):
        _work(store, cell, tasks, _Answers(answers, Guard((tasks, answers))))


class _Answers:
    """The pipe to the supervisor."""

    def __init__(self, descriptor: int, guard: Guard) -> None:
        self._descriptor, self.guard = descriptor, guard
        self._write, self._encode, self._exit = os.write, msgspec.json.Encoder().encode, os._exit

    def __call__(self, answer: Answer) -> None:
        if self.guard.harm():
            self._exit(EXIT_CODE)
        self._write(self._descriptor, self._encode(answer) + b"\n")

    def die(self, task: Task, harm: str) -> NoReturn:
        """Say what was done to this process, and end it before it does more."""
        self(Answer(task.serial, "harmed", reason=harm, token=task.token))
        self._exit(EXIT_CODE)
        raise AssertionError("unreachable")


def _work(store: Path, memory: int, tasks: int, answer: _Answers) -> None:
    from optarena import environments
    from optarena.errors import Harmed, OptarenaError, WorkError
    from optarena.optimizer import ready_optimizer
    from optarena.optimizers.isolated import isolated_optimizer
    from optarena.problem import Subject, build
    from optarena.runner.cell import DONE, IDLE, Cell
    from optarena.runner.environment import environment
    from optarena.runner.kernels import PINNED, in_use
    from optarena.runner.study import run_study
    from optarena.runner.torch_kernels import pin_torch
    from optarena.solver import get_solver
    from optarena.store import Store
    from optarena.store.journal import Journal

    environments.only_find()
    if in_use() == PINNED:
        pin_torch()
    cell = Cell(memory)
    os.close(memory)
    guard = answer.guard
    problems: dict[tuple[str, str | None], Subject] = {}
    journal: Journal | None = None

    def sync() -> None:
        if journal is not None:
            journal.sync()

    try:
        for task in _tasks(tasks, sync):
            if journal is None:
                try:
                    journal = Journal(Store(store).journals, environment())
                except (WorkError, OptarenaError) as error:  # a full disk, say: the supervisor tells it, in a sentence
                    print(error, file=sys.stderr, flush=True)
                    raise SystemExit(1) from None
            cell.take(task.serial)
            answer(Answer(task.serial, "begun", journal=journal.path.name, token=task.token))
            _limit_memory(task.memory)
            base = Path(task.base) if task.base is not None else None
            key = (task.problem, task.base)
            if key not in problems:
                if len(problems) >= 64:
                    problems.clear()
                problems[key] = build(task.problem, base)

            def tick(evaluations: int) -> None:
                cell.view[DONE] = evaluations

            guard.begin()
            used = task.study.optimizer
            try:
                with _printing(task.prints):
                    outcome = run_study(
                        task.study,
                        problems[key],
                        get_solver(used.use, base)
                        if task.study.solver
                        else isolated_optimizer(used.use, used.settings)
                        if used.isolated
                        else ready_optimizer(used.use, base, used.settings),
                        journal,
                        source=task.source,
                        past=task.past,
                        cell=cell,
                        singly=task.singly,
                        tick=tick,
                    )
            except Harmed as error:
                answer.die(task, str(error))
            except WorkError as error:
                if found := [text for text in (journal.harm(), *guard.lowered()) if text]:
                    answer.die(task, f"journal {journal.path.name} cannot be written any more: {', '.join(found)}")
                answer(Answer(task.serial, "broken", reason=str(error), token=task.token))
                return
            cell.enter(IDLE)
            changed = ", ".join(guard.changes())
            answer(
                Answer(
                    task.serial,
                    "ended",
                    outcome.status,
                    outcome.evaluations,
                    outcome.reason,
                    failures=outcome.failures,
                    reasons=outcome.reasons,
                    changed=changed,
                    token=task.token,
                )
            )
            if changed:
                return
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


@contextlib.contextmanager
def _printing(file: str) -> Iterator[None]:
    """Keep what is printed meanwhile, also by other languages, in a file; there is none if nothing is."""
    if not file:
        yield
        return
    _print_to(file)
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError, AttributeError):  # it may have been closed or replaced
            sys.stdout.flush()
        with contextlib.suppress(OSError):
            if not os.fstat(1).st_size:
                Path(file).unlink()
        _print_to(os.devnull)


def _print_to(file: str) -> None:
    opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    os.dup2(opened, 1)
    os.close(opened)


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
