"""Commands from the page: pause, resume, stop, retry what failed, add trials. Each is recorded in the store.

A run is never touched by force: what was begun ends as it would for whoever presses Ctrl-C in its terminal.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec

from optarena._files import cannot_write
from optarena._json import unstrict
from optarena._numbers import counted
from optarena._process import alive, host, place
from optarena.errors import OptarenaError, WorkError
from optarena.registry import Reference
from optarena.settings import read_call
from optarena.store import RunFile, Store
from optarena.store.following import Stores

RECORD = "control.jsonl"
ACTIONS = ("pause", "resume", "stop", "retry", "trials")
MOST_TRIALS = 1000
STARTING = ("retry", "trials")
"""Those that start a run."""
NAMED = ("optimizers", "solvers", "problems")
"""The parts of an experiment that may name code."""
SHOWN, MOST_NAMED = 5, 8
STOPPED = 130
"""The exit code of a run that was interrupted."""


class Question(NamedTuple):
    """What a command would run. key: who gives it says by this that the text was read."""

    text: str
    key: str


class Control:
    """What the page may command. `begun`: processes that were started from here."""

    def __init__(self, stores: Stores) -> None:
        self.stores = stores
        self._begun: list[tuple[subprocess.Popen[bytes], Path, str]] = []
        self.trouble = ""
        """Why the last run that was started from here failed."""

    def do(self, action: str, runs: Sequence[RunFile], live: Sequence[RunFile], trials: int = 0) -> str:
        """Do it; what was done, in a sentence. What cannot be done, or not be recorded before, is refused in one."""
        if action not in ACTIONS:
            raise OptarenaError(f"no such command: {', '.join(ACTIONS)}")
        self._record({"action": action, "state": "asked"})
        said = {"pause": self._pause, "resume": self._resume, "stop": self._stop}.get(action)
        try:
            text = said(live) if said else self._run(action, runs, live, trials)
        except Exception as error:
            with contextlib.suppress(WorkError):
                self._record({"action": action, "state": "refused", "why": str(error)})
            raise
        with contextlib.suppress(WorkError):  # that it was asked for is recorded
            self._record({"action": action, "state": "done", "did": text})
        return text

    def _record(self, line: dict[str, str]) -> None:
        for store in self.stores.stores:
            record(store, {"time": time.time(), "by": "live page", **line})

    def question(
        self, action: str, runs: Sequence[RunFile], live: Sequence[RunFile], trials: int = 0
    ) -> Question | None:
        """What a command would run, for whoever gives it to read first; None of one that runs nothing."""
        if action not in STARTING:
            return None
        last, files = self._last(action, runs, live, trials)
        data = unstrict(last.experiment)
        if action == "trials":
            data["trials"] = int(data.get("trials", 1)) + trials
        what = "; ".join(f"{key}: {_some(names)}" for key in NAMED if (names := _texts(data, key)))
        rest = ", ".join(f"{key} {value}" for key, value in data.items() if key in ("trials", "budget", "seconds"))
        code = f" It executes {', '.join(map(str, files))}." if files else ""
        again = "Run again what failed" if action == "retry" else f"Add {counted(trials, 'trial')}"
        return Question(f"{again} in {Path.cwd()}? {what}; {rest}.{code}", key_of(last))

    def _last(
        self, action: str, runs: Sequence[RunFile], live: Sequence[RunFile], trials: int
    ) -> tuple[RunFile, list[Path]]:
        """The run that would be continued, and the files whose code it executes; refused where it may not be."""
        last = next((run for run in reversed(runs) if not run.of), None)
        if action == "trials" and not 1 <= trials <= MOST_TRIALS:
            raise OptarenaError(f"trials to add: a whole number from 1 to {MOST_TRIALS}")
        if live or any(process.poll() is None for process, *_ in self._begun):
            raise OptarenaError("something runs: wait until it has ended, or stop it first")
        if last is None:
            raise OptarenaError("no run is recorded here that could be continued")
        if last.race is not None:
            raise OptarenaError("the last run was a race, which counts its failures and decides its trials itself")
        store = self.stores.store_of(last)
        if last.host != host() or not is_mine(store, last):
            raise OptarenaError("the last run was not started here by you: continue it with optarena run")
        return last, files_of(last.experiment, [one.path for one in self.stores.stores])

    def _pause(self, live: Sequence[RunFile]) -> str:
        if not live:
            raise OptarenaError("nothing runs that could be paused")
        for store in self._of(live):
            store.pause()
        return "Paused: what was begun goes on to its end, nothing else begins."

    def _resume(self, _live: Sequence[RunFile]) -> str:
        for store in self.stores.stores:
            store.resume()
        return "Resumed."

    def _of(self, runs: Sequence[RunFile]) -> list[Store]:
        paths = {self.stores.store_of(run).path for run in runs}
        return [store for store in self.stores.stores if store.path in paths]

    def _stop(self, live: Sequence[RunFile]) -> str:
        alone = [run for run in live if not run.pilots and not run.of]
        led = [run for run in live if run.pilots]
        if not alone and not led:
            raise OptarenaError("nothing runs that could be stopped")
        for run in alone:
            if (run.host, run.place) != (host(), place()):
                raise OptarenaError(f"the run is on {run.host}: stop it there with Ctrl-C")
            if not is_mine(self.stores.store_of(run), run) or not is_my_process(run):
                raise OptarenaError(f"process {run.pid} is not a run of yours: stop it where it was started")
        for run in alone:
            if alive(run.pid, run.born):
                os.kill(run.pid, _interrupt(run.pid))
        from optarena.runner.ending import stop as stop_pilots  # here, so that the first screen does not wait for them
        from optarena.runner.slurm_pilots import cancel

        for store in self._of(led):
            cancel(store.path, stop_pilots(store.path))
        self._resume(live)
        return f"Stopped {counted(len(alone) + len(led), 'run')}; what was evaluated is kept, the same command goes on."

    def _run(self, action: str, runs: Sequence[RunFile], live: Sequence[RunFile], trials: int) -> str:
        last, _ = self._last(action, runs, live, trials)
        path = self.stores.store_of(last).path
        words = [sys.executable, "-m", "optarena.serve.control", str(path), last.id, action, str(trials), key_of(last)]
        log = path / ".control.log"
        try:
            out = _opened(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        except OSError as error:
            raise cannot_write(path, error) from error
        with out:
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
            )
        self._begun.append((process, log, action))
        return "Running what failed again." if action == "retry" else f"Adding {counted(trials, 'trial')}."

    def look(self) -> None:
        """Notice how runs that were started from here ended."""
        for one in list(self._begun):
            process, log, _ = one
            if process.poll() is not None:
                self._begun.remove(one)
                self.trouble = ""
                if process.returncode not in (0, 1, STOPPED):  # 1: studies failed, which the page shows
                    with contextlib.suppress(OSError):
                        self.trouble = log.read_text(errors="replace").strip().rpartition("\n")[2][:500]

    @property
    def paused(self) -> bool:
        return any(store.paused for store in self.stores.stores)

    def recorded(self) -> list[dict[str, Any]]:
        """The last commands, the newest first."""
        found = [line for store in self.stores.stores for line in _records(store)]
        return sorted(found, key=lambda line: -line["time"])[:SHOWN]


def key_of(run: RunFile) -> str:
    """Of a run's experiment: another one has another."""
    return hashlib.sha256(msgspec.json.encode([run.id, run.experiment], order="sorted")).hexdigest()[:32]


def is_mine(store: Store, run: RunFile) -> bool:
    """Whether the file of a run is of the user whom the server works for: others may write into a shared store."""
    return all(path.lstat().st_uid == os.geteuid() for path in store.run_paths(run.id))


def is_my_process(run: RunFile) -> bool:
    """Whether the process of a run is this user's, the one that was meant, and Python; where the system tells."""
    proc = Path(f"/proc/{run.pid}")
    if not proc.exists():
        return sys.platform != "linux" or not alive(run.pid, run.born)
    try:
        words = (proc / "cmdline").read_bytes()
        return proc.stat().st_uid == os.geteuid() and bool(run.born) and (b"python" in words or b"optarena" in words)
    except OSError:
        return False


def files_of(experiment: Mapping[str, Any], stores: Sequence[Path]) -> list[Path]:
    """The files and folders whose code an experiment executes. One that lies in a store is refused: a store is data,
    and may have come from elsewhere."""
    found: dict[Path, None] = {}
    for key in NAMED:
        for text in _texts(experiment, key):
            reference = Reference.of(text, folders=key != "problems")
            if reference.kind == "name":
                continue
            if set(text) & set("*?[{"):
                raise OptarenaError(f"{text}: which files this stands for cannot be shown before: use optarena run")
            found[Path(reference.place).expanduser().resolve()] = None
    for file in found:
        for store in stores:
            if store.resolve() == file or store.resolve() in file.parents:
                raise OptarenaError(f"{file} lies in the store: nothing of a store is executed from here")
    return list(found)


def _texts(experiment: Mapping[str, Any], key: str) -> list[str]:
    """What a part of an experiment names, without settings."""
    given = experiment.get(key, ())
    items = given if isinstance(given, list) else [given] if given else []
    return [str(item.get("use", "")) if isinstance(item, Mapping) else read_call(str(item))[0] for item in items]


def _some(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def record(store: Store, line: dict[str, Any]) -> None:
    try:
        with _opened(store.path / RECORD, os.O_WRONLY | os.O_CREAT | os.O_APPEND) as file:
            file.write(msgspec.json.encode(line) + b"\n")
    except OSError as error:
        raise cannot_write(store.path, error) from error


def _records(store: Store) -> list[dict[str, Any]]:
    """The last lines of the record; whatever else is in it is passed over."""
    try:
        with _opened(store.path / RECORD, os.O_RDONLY) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 10_000))
            lines = file.read().splitlines()
    except OSError:
        return []
    out = []
    for line in lines:
        with contextlib.suppress(msgspec.MsgspecError, TypeError, ValueError, KeyError):
            found = msgspec.json.decode(line)
            out.append({"time": float(found["time"]), "action": str(found["action"]), "did": str(found["did"])})
    return out[-SHOWN:]


def _opened(path: Path, flags: int) -> IO[bytes]:
    """A file of a store. A link or a pipe that somebody left in its place is an error: it is not followed."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, f"{path.name} is not a file")
    return os.fdopen(descriptor, "wb" if flags & os.O_WRONLY else "rb")


def _interrupt(pid: int) -> int:
    """The signal by which a run stops in order: a shell's background job ignores that of Ctrl-C."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("SigIgn:") and int(line.split()[1], 16) & (1 << (signal.SIGINT - 1)):
                return signal.SIGTERM
    return signal.SIGINT


def main(words: Sequence[str]) -> int:
    """Run an experiment of a store again, in a process of its own: `STORE RUN retry|trials N`."""
    from optarena.experiment import Experiment
    from optarena.facade import execute

    path, id, action, trials, key = words
    run = Store(path).run(id)
    if run is None or key_of(run) != key:
        raise OptarenaError("the run to be continued is not there any more, or has changed")
    files_of(run.experiment, [Path(path)])
    data = unstrict(run.experiment)
    if action == "trials":
        data["trials"] = int(data.get("trials", 1)) + int(trials)
    execute(Experiment.from_data(data, base=Path.cwd()), path, retry=action == "retry", kernels=run.kernels or "pinned")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (OptarenaError, WorkError) as problem:
        print(problem)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(STOPPED)
