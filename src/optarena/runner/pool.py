"""The supervisor: runs tasks in worker processes, keeps deadlines, and tells one kind of death from another.

Workers record what they do themselves. The supervisor records, in a journal of its own, only what a dead worker cannot:
an evaluation that timed out or crashed, a study that ran out of time.
"""

from __future__ import annotations

import contextlib
import math
import os
import secrets
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from optarena._process import (
    carrying,
    descendants,
    ended_with_us,
    groups_of_session,
    kill_all,
    kill_exactly,
    resident_bytes,
    state,
    tree_bytes,
)
from optarena._scratch import WITHIN, Scratch
from optarena.errors import WorkError
from optarena.experiment import Limits
from optarena.runner import cell as cells
from optarena.runner.cell import Cell
from optarena.runner.environment import for_workers
from optarena.runner.guard import EXIT_CODE, MARK
from optarena.runner.recorded import plain
from optarena.runner.worker import Answer, Task
from optarena.store import Store
from optarena.store.pieces import NAME

POLL_SECONDS = 0.05
WATCH_SECONDS = 0.2
STOPPED_SECONDS = 2.0
PAUSE_SECONDS = 1.0
START_SECONDS = 120.0
PREPARE_SECONDS = 600.0
"""How long a solver's instance and library may take to load; beyond a study's limit, that of any study."""
GRACE_SECONDS = 5.0
AHEAD = 2
MAKING, WAITING = "making", "waiting"
"""Instead of a task: the next one takes a while to make; there is none before others have ended."""
STILLBORN = 3
ERROR_TAIL = 4_000
LONGEST_ANSWER = 1 << 24

FAULTS = {signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL, signal.SIGSYS, signal.SIGTRAP}
FAULTS |= {signal.SIGXFSZ}  # of a limit that only its own code can have set

_encode = msgspec.json.Encoder(enc_hook=plain).encode
_decode = msgspec.json.Decoder(Answer).decode


class Death(msgspec.Struct):
    """How a worker died: what it was doing, and why."""

    task: Task
    phase: int
    evaluation: int
    rows: int
    journal: str
    ours: str = ""
    """'timed out', 'memory', 'study', 'preparing' or 'stopped' when we killed it for that, 'harmed' when user code did
    something to it, 'overtaken' when it had gone on before we could; else empty."""
    fault: bool = False
    text: str = ""


def preparation(task: Task, limits: Limits) -> float:
    """Seconds that may pass before a study begins; without a limit a solver has some too, as it is due at a time."""
    if limits.study is None:
        return PREPARE_SECONDS if task.study.solver else math.inf
    return PREPARE_SECONDS + limits.study


class _Worker:
    """One worker process as its supervisor sees it."""

    def __init__(self, number: int, store: Path, environment: dict[str, str]) -> None:
        self.number = number
        self.token = secrets.token_hex(8)
        with cells.memory() as memory:  # it has no name, so nothing is left of it whoever dies
            self.cell = Cell(memory.fileno())
            self.process = subprocess.Popen(
                [sys.executable, "-m", "optarena.runner.worker", str(store), str(memory.fileno()), str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment | {MARK: self.token},
                pass_fds=(memory.fileno(),),
                start_new_session=True,
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.tasks: deque[Task] = deque()
        self.journal = ""
        self.ours = ""
        self.last = False
        self.begun = False
        self.running = 0
        """The task that it has begun; 0 between two."""
        self.waits_since = 0.0
        """Since when it could begin its next task."""
        self.harm = ""
        self.family: dict[int, int] = {}
        """The processes that were seen below it, with their births."""
        self.took: float | None = None
        self.started = time.monotonic()
        self.retired_at: float | None = None
        self.stopped_since: float | None = None
        self.decided: tuple[int, int] | None = None
        self.tail = b""
        self._partial = b""
        self.outbox: deque[memoryview] = deque()
        self.offered = False
        self.stdin = self.process.stdin.fileno()
        self.stdout = self.process.stdout.fileno()
        self.stderr = self.process.stderr.fileno()
        for fd in (self.stdin, self.stdout, self.stderr):
            os.set_blocking(fd, False)

    def give(self, task: Task) -> None:
        task.token = self.token
        if not self.tasks:
            self.waits_since = time.monotonic()
        self.tasks.append(task)
        self.outbox.append(memoryview(_encode(task) + b"\n"))
        self.send()

    def send(self) -> None:
        """As much of the outbox as the pipe takes; a worker that reads nothing never holds us up."""
        try:
            while self.outbox:
                rest = self.outbox[0][os.write(self.stdin, self.outbox[0][: 1 << 16]) :]
                if rest:
                    self.outbox[0] = rest
                else:
                    self.outbox.popleft()
        except BlockingIOError:
            pass
        except OSError:  # its death will be noticed
            self.outbox.clear()

    def answers(self) -> Iterator[Answer]:
        """What it says of its task; anything else in its pipe is harm, after which nothing is believed."""
        data = _read(self.stdout)
        *lines, self._partial = (self._partial + data).split(b"\n")
        for line in lines:
            try:
                answer = None if self.harm else _decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                answer = None
            if answer is None or not self._expected(answer):
                self.harm = self.harm or "unexpected data was written to the pipe of its worker"
                return
            yield answer
        if len(self._partial) > LONGEST_ANSWER:
            self._partial = b""
            self.harm = self.harm or "an endless line was written to the pipe of its worker"

    def _expected(self, answer: Answer) -> bool:
        """Whether it can be an answer of this worker, now."""
        if answer.token != self.token or not self.tasks or answer.serial != self.tasks[0].serial:
            return False
        if answer.what == "begun":
            return self.running == 0 and NAME.fullmatch(answer.journal) is not None
        return self.running == answer.serial and answer.what in ("ended", "broken", "harmed")

    def read_errors(self) -> bool:
        data = _read(self.stderr)
        self.tail = (self.tail + data)[-ERROR_TAIL:]
        return bool(data)

    def kill(self, why: str) -> None:
        """Kill it with all that it started, wherever that is now."""
        self.ours = self.ours or why
        self.look_at_family()
        if self.process.returncode is None:  # so that its id is certainly its own
            for group in (self.process.pid, *groups_of_session(self.process.pid)):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(group, signal.SIGKILL)
        kill_exactly(self.family)
        kill_all(lambda: carrying(f"{MARK}={self.token}"))

    def look_at_family(self) -> None:
        """Remember its child processes: after its death they cannot be found any more."""
        if self.process.returncode is None:
            self.family |= descendants(self.process.pid)

    def gone(self) -> bool:
        """Whether it has ended; what it started ends with it, before the system may give its id to somebody else."""
        if self.process.returncode is None and hasattr(os, "waitid"):
            with contextlib.suppress(ChildProcessError):
                if os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                    return False
                self.kill(self.ours)
        return self.process.poll() is not None

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(OSError):
                stream.close()  # type: ignore[union-attr]
        self.cell.close()


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 1 << 20)
    except (BlockingIOError, OSError):
        return b""


class Pool:
    """Runs tasks on some workers; what happens is reported to `handler`.

    handler.ended(task, answer), handler.progressed(task, evaluations), and
    handler.died(death) -> a task to run again, or None when the death was the study's end.
    """

    def __init__(self, store: Path, workers: int, limits: Limits, handler: Any, kernels: str) -> None:
        self.store = store.resolve()
        self.limits = limits
        self.handler = handler
        self.wanted = workers
        self._workers: dict[int, _Worker] = {}
        self._selector = selectors.DefaultSelector()
        self._number = 0
        self._memory = (
            limits.memory * 1e6
            if limits.memory
            else int(0.9 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
        )
        self._next_watch = self._next_ask = 0.0
        self._paused = False
        self._place = Store(self.store)
        self.pause_seconds = PAUSE_SECONDS
        """How often the store is asked whether it is paused."""
        self._stillborn = 0
        self._spent: dict[int, float] = {}
        """Task -> seconds of its study in workers that died."""
        self._scratch = Scratch("run")
        """What workers that are killed leave behind goes with it."""
        self._environment = {**for_workers(kernels), WITHIN: self._scratch.name}
        self.alone: Callable[[Task], bool] = lambda task: False  # noqa: ARG005

    def run(self, tasks: Iterator[Task | str], beat: Callable[[], None]) -> None:
        """Run all tasks; `beat` is called between polls. An exception (an interrupt, say) ends every worker first.

        `MAKING` or `WAITING` instead of a task: this is the time to look after workers.
        """
        todo: deque[Task] = deque()
        held = contextlib.ExitStack()
        try:
            held.enter_context(ended_with_us(f"{WITHIN}={self._scratch.name}"))
            while True:
                # a task is made when it is about to be given: its past may be large
                next_one = self._more(tasks, todo)
                if not todo and next_one is None and not any(worker.tasks for worker in self._workers.values()):
                    break
                if not self._is_paused():
                    self._fill(todo)
                self._listen(todo, 0.0 if next_one is MAKING else POLL_SECONDS)
                beat()
            self._dismiss()
        except BaseException:
            self._interrupt()
            raise
        finally:
            for worker in list(self._workers.values()):
                worker.kill("end")
                worker.process.wait()
                self._forget(worker)
            self._selector.close()
            held.close()
            self._scratch.cleanup()

    def _more(self, tasks: Iterator[Task | str], todo: deque[Task]) -> str | None:
        """Take the next tasks, as many as are wanted; why there are no more just now, or None."""
        while len(todo) < self.wanted * AHEAD:
            try:
                task = next(tasks)
            except StopIteration:
                return None
            if isinstance(task, str):
                return task
            todo.append(task)
        return WAITING

    def _is_paused(self) -> bool:
        """Whether nothing further is to begin; the store is asked now and then."""
        if time.monotonic() >= self._next_ask:
            self._next_ask = time.monotonic() + self.pause_seconds
            self._paused = self._place.paused
        return self._paused

    # ---- giving work -----------------------------------------------------------------------------------------------

    def _fill(self, todo: deque[Task]) -> None:
        """Give each worker a task and the next ones ahead, so that it never waits for us.

        A task that wants a process of its own goes to a worker that has done nothing, and is its last.
        """
        for worker in self._workers.values():
            if not worker.tasks and not worker.ours and todo and (worker.last or self.alone(todo[0])):
                self._retire(worker)
        while todo and sum(not worker.ours for worker in self._workers.values()) < self.wanted:
            worker = self._start()
            worker.last = self.alone(todo[0])
            worker.give(todo.popleft())
        for depth in range(1, AHEAD + 1):
            for worker in self._workers.values():
                ready = not worker.ours and not worker.last and len(worker.tasks) < depth
                if todo and ready and not self.alone(todo[0]):
                    worker.give(todo.popleft())

    def _retire(self, worker: _Worker) -> None:
        """End a worker's input: it closes its journal and goes; a fresh one takes its place."""
        worker.ours = worker.ours or "retired"
        worker.retired_at = time.monotonic()
        self._offer(worker)
        with contextlib.suppress(OSError):
            worker.process.stdin.close()  # type: ignore[union-attr]

    def _start(self) -> _Worker:
        self._number += 1
        worker = _Worker(self._number, self.store, self._environment)
        self._workers[worker.number] = worker
        for fd in (worker.stdout, worker.stderr):
            self._selector.register(fd, selectors.EVENT_READ, worker)
        return worker

    def _forget(self, worker: _Worker) -> None:
        worker.outbox.clear()
        self._offer(worker)
        for fd in (worker.stdout, worker.stderr):
            self._deafen(fd)
        worker.close()
        self._workers.pop(worker.number, None)

    # ---- listening -------------------------------------------------------------------------------------------------

    def _listen(self, todo: deque[Task], seconds: float) -> None:
        for worker in self._workers.values():
            self._offer(worker)
        for key, _ in self._selector.select(seconds):
            worker = key.data
            if key.fd == worker.stdin:
                worker.send()
            elif key.fd == worker.stderr:
                if not worker.read_errors():
                    self._deafen(key.fd)
            else:
                self._take(worker)
        for worker in list(self._workers.values()):
            if worker.gone():
                for _ in range(64):
                    if not worker.read_errors():
                        break
                self._take(worker)
                self._bury(worker, todo)
        if time.monotonic() >= self._next_watch:
            self._next_watch = time.monotonic() + WATCH_SECONDS
            for worker in self._workers.values():
                self._watch(worker)

    def _offer(self, worker: _Worker) -> None:
        """Wait for a worker to take more of what is to be sent to it, while there is any."""
        sending = bool(worker.outbox) and not worker.ours
        if sending and not worker.offered:
            self._selector.register(worker.stdin, selectors.EVENT_WRITE, worker)
        elif worker.offered and not sending:
            self._deafen(worker.stdin)  # only then: the number of a closed pipe may be another's by now
        worker.offered = sending

    def _deafen(self, fd: int) -> None:
        """Stop listening to a pipe that its other end has closed."""
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(fd)

    def _take(self, worker: _Worker) -> None:
        for answer in worker.answers():
            task = worker.tasks[0]
            if answer.what == "begun":
                worker.journal, worker.begun, self._stillborn = answer.journal, True, 0
                worker.running, worker.took = task.serial, time.monotonic()
            elif answer.what == "ended":
                worker.tasks.popleft()
                worker.running, worker.waits_since = 0, time.monotonic()
                self._spent.pop(task.serial, None)
                answer.journal = worker.journal
                self.handler.ended(task, answer)
                if answer.changed:
                    self._retire(worker)
            elif answer.what == "harmed":
                worker.harm = answer.reason
            else:
                raise WorkError(answer.reason)
        if worker.harm and not worker.ours:
            worker.kill("harmed")

    def _watch(self, worker: _Worker) -> None:
        """A worker that was stopped or does not go, memory, deadlines, and how far it is."""
        now = time.monotonic()
        if worker.retired_at is not None and now - worker.retired_at > GRACE_SECONDS:
            worker.kill("retired")  # a thread that somebody left behind keeps it
        if not worker.tasks or worker.ours:
            return
        if state(worker.process.pid) == "T":  # a stopped clock says nothing of an evaluation
            worker.stopped_since = worker.stopped_since or now
            if now - worker.stopped_since > STOPPED_SECONDS:
                worker.kill("stopped")
            return
        worker.stopped_since = None
        worker.look_at_family()
        task, view = worker.tasks[0], worker.cell.view
        held = tree_bytes if task.study.solver else resident_bytes  # a solver's programs are part of it
        if held(worker.process.pid) > self._memory:
            worker.kill("memory")
            return
        known = any(view[cells.SERIAL] == given.serial for given in worker.tasks)  # it may have begun the next one
        possible = 0 <= view[cells.PHASE] < len(cells.PHASES)
        if view[cells.SERIAL] != task.serial or not possible:
            if worker.running and not (known and possible):
                worker.harm = "the memory that its worker shares with the supervisor was overwritten"
                worker.kill("harmed")
            elif worker.outbox:
                worker.waits_since = now  # it is still reading
            elif not worker.running and now - worker.waits_since > START_SECONDS:
                worker.kill("stopped")  # or somebody else has read the task
            return
        self.handler.progressed(task, view[cells.DONE])
        phase, evaluation, since = view[cells.PHASE], view[cells.EVALUATION], view[cells.SINCE]
        elapsed = (time.monotonic_ns() - since) * 1e-9
        if late := self._late(worker, task):
            worker.kill(late)
        elif elapsed > self._allowed(task) and phase == cells.EVALUATE:
            worker.decided = (evaluation, since)
            worker.kill("timed out")

    def _late(self, worker: _Worker, task: Task) -> str:
        """Why a study is out of time: its own, or what it may take to get ready; empty while it is not."""
        if self.limits.study is not None and self._seconds(worker, task) > self.limits.study:
            return "study"
        waiting = worker.took is not None and not worker.cell.view[cells.STARTED]
        most = preparation(task, self.limits)
        return "preparing" if waiting and time.monotonic() - (worker.took or 0.0) > most else ""

    def _seconds(self, worker: _Worker, task: Task) -> float:
        """How long a study has run, in this worker since its optimizer is being created, and in those that died."""
        started = worker.cell.view[cells.STARTED]
        here = (time.monotonic_ns() - started) * 1e-9 if started else 0.0
        return here + self._spent.get(task.serial, 0.0)

    def _allowed(self, task: Task) -> float:
        """Seconds that an evaluation may take, or a solver all in all."""
        limit = task.hard if task.study.solver else self.limits.evaluation
        return math.inf if limit is None else limit

    def _bury(self, worker: _Worker, todo: deque[Task]) -> None:
        """A worker has ended: hand on what it was doing, and give the rest of its tasks back."""
        code = worker.process.returncode
        tasks = list(worker.tasks)
        view = worker.cell.view
        if code == EXIT_CODE and not worker.harm:
            worker.harm = "a pipe between the worker and its supervisor was closed or replaced"
        if worker.harm:
            worker.ours = "harmed"
        if tasks:
            current = tasks[0]
            began = worker.running if worker.harm else view[cells.SERIAL]
            if began == current.serial and worker.ours != "retired":
                # between the decision and the kill it may have gone on: then that evaluation was not late after all
                overtaken = worker.decided not in (None, (view[cells.EVALUATION], view[cells.SINCE]))
                again = self.handler.died(
                    Death(
                        task=current,
                        phase=view[cells.PHASE] if 0 <= view[cells.PHASE] < len(cells.PHASES) else cells.IDLE,
                        evaluation=view[cells.EVALUATION],
                        rows=max(1, view[cells.ROWS]),
                        journal=worker.journal,
                        ours="overtaken" if overtaken or _left(worker) else worker.ours,
                        fault=code >= 0 or -code in FAULTS,
                        text=worker.harm or _how(code, worker.tail),
                    )
                )
                if again is not None:
                    self._spent[current.serial] = self._seconds(worker, current)
                tasks = tasks[1:] if again is None else [again, *tasks[1:]]
            elif not worker.begun and not worker.ours and code >= 0:
                self._never_began(worker)
        todo.extendleft(reversed(tasks))
        self._forget(worker)

    def _never_began(self, worker: _Worker) -> None:
        """A worker that ends by itself before its first task is not the task's fault; again and again, everyone's."""
        self._stillborn += 1
        if self._stillborn > STILLBORN:
            raise WorkError(f"workers do not start: {worker.tail.decode(errors='replace').strip()[-500:]}")

    # ---- ending ----------------------------------------------------------------------------------------------------

    def _dismiss(self) -> None:
        """All is done: let workers close their journals."""
        for worker in self._workers.values():
            self._retire(worker)
        self._wait()

    def _interrupt(self) -> None:
        """Ask workers to end where they are; who does not within the grace is killed (what it wrote is safe)."""
        for worker in self._workers.values():
            with contextlib.suppress(ProcessLookupError):
                worker.process.send_signal(signal.SIGCONT)
                worker.process.terminate()
        self._wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + GRACE_SECONDS
        for worker in self._workers.values():
            while not worker.gone() and time.monotonic() < deadline:
                worker.read_errors()
                _read(worker.stdout)
                time.sleep(0.005)


def _left(worker: _Worker) -> bool:
    """Whether a worker that we killed for its evaluation had left that evaluation."""
    return worker.ours == "timed out" and worker.cell.view[cells.PHASE] != cells.EVALUATE


def _how(code: int, tail: bytes) -> str:
    """A death in words: the signal or the exit code, and the last line of what the worker said."""
    if code < 0:
        with contextlib.suppress(ValueError):
            return signal.Signals(-code).name
        return f"signal {-code}"
    last = tail.decode(errors="replace").strip().splitlines()
    return f"exit code {code}" + (f" ({last[-1][:200]})" if last else "")
