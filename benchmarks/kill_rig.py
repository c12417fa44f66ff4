"""Kill anything, at any time, and prove that nothing is lost.

    python benchmarks/kill_rig.py [--kills 300] [--seed 1]

An experiment with fast, slow, noisy and population-based studies runs on two workers; beside it, on the same store,
another one whose evaluations are made by a program. At random moments a living process gets SIGKILL: a worker, a
supervisor, the program, a whole tree, or a compaction at its work; now and then a worker gets SIGSTOP. Each kill is
aimed at a process that runs at that moment, and only kills that met one are counted. A dead supervisor is started again
with the same command. When both experiments are done, the next round begins with an empty store.

At the end of every round: every evaluation that was ever read from the store is still there, and all traces equal, bit
for bit, those of a run that nobody disturbed. Only an evaluation whose program was killed may say so instead.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import optarena as oa
from optarena._process import descendants, processes, state

ROOT = "00000000-0000-0000-0000-00000000abcd"
COMMAND = [sys.executable, "-c", "from optarena.cli import main; raise SystemExit(main())"]
PLANS = ("plan.toml", "programs.toml")
KILLED = "killed by SIGKILL"
FILE = """
import time
import numpy as np
import optarena as oa

LINE = {"type": "real", "space": "linear", "range": [-5.0, 5.0]}
S = {f"x{i}": LINE for i in range(4)}

@oa.as_problem(S)
def fast(x):
    return sum(v * v for v in x.values())

@oa.as_problem(S)
def slow(x):
    time.sleep(0.02)
    return sum(v * v for v in x.values())

@oa.as_problem(S, noisy=True)
def noisy(x, rng):
    time.sleep(0.002)
    return sum(v * v for v in x.values()) + rng.normal()

@oa.as_problem(S)
def failing(x):
    time.sleep(0.002)
    if x["x0"] > 3:
        raise ValueError("too far")
    return sum(v * v for v in x.values())

class Evolution(oa.Optimizer):
    '''A (mu + lambda) strategy: what it suggests depends on all that it observed.'''
    def __init__(self, space, *, objectives=1, rng=None):
        super().__init__(space, objectives=objectives, rng=rng)
        self.parents = []
    def suggest(self, n):
        u = self.rng.random((n, self.space.dimension))
        if len(self.parents) >= 5:
            chosen = self.rng.integers(0, 5, n)
            u = np.clip(np.array([self.parents[i][1] for i in chosen]) + 0.2 * (u - 0.5), 0, 1)
        return self.space.to_dicts(self.space.from_unit(u))
    def observe(self, X, y):
        for x, v in zip(self.space.to_unit(self.space.to_matrix(X)), y[:, 0]):
            if v == v:
                self.parents.append((float(v), x))
        self.parents = sorted(self.parents, key=lambda pair: pair[0])[:5]
"""
PLAN = """
problems = ["mine.py:fast", "mine.py:slow", "mine.py:noisy", "mine.py:failing", "bbob/f8/d5/i1",
            "functions/mixed-tuning/d9"]
optimizers = ["RandomSearch", "QuasiRandom", "mine.py:Evolution"]
budget = {budget}
batch = 4
trials = {trials}
"""
PROGRAMS = """
problems = ["program.toml"]
optimizers = ["RandomSearch"]
budget = {budget}
trials = {trials}
"""
PROBLEM = """
[problem]
command = ["{python}", "-S", "-E", "program.py"]
[problem.space.x]
type = "real"
space = "linear"
range = [-5, 5]
"""
PROGRAM = """
import json, sys, time
for line in sys.stdin:
    time.sleep(0.01)
    print(json.loads(line)["parameters"]["x"] ** 2, flush=True)
"""


def traces(store: Path) -> dict[str, list[str]]:
    """Every scored row: evaluation, point, values, status; times aside."""
    results = oa.open(store).in_full()  # read once, not for every study
    keys = ("evaluation", "parameters", "values", "status", "message")
    return {
        study: [repr([row[key] for key in keys]) for row in results.points(study)]
        for study in results.studies.filter(results.studies["status"] != "missing")["study"]
    }


class Run:
    """One of the experiments, started again whenever it was killed."""

    def __init__(self, directory: Path, plan: str, store: Path) -> None:
        self.directory, self.plan, self.store = directory, plan, store
        self.errors = directory / f"{plan}.errors"
        self.done = False
        self.start()

    def start(self) -> None:
        command = [*COMMAND, "run", self.plan, "--store", str(self.store), "--workers", "2", "--seed", ROOT]
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                command, cwd=self.directory, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True
            )

    def look(self) -> None:
        """Start it again if it was killed; whatever else it ends with is an error."""
        if self.done or self.process.poll() is None:
            return
        if self.process.returncode == 0:
            self.done = True
            return
        assert self.process.returncode == -signal.SIGKILL, self.errors.read_text()[-2000:]
        self.start()

    def workers(self) -> list[int]:
        return [pid for pid in descendants(self.process.pid) if _says(pid, "optarena.runner.worker")]

    def programs(self) -> list[int]:
        return [pid for pid in descendants(self.process.pid) if _says(pid, "program.py")]


def _says(pid: int, words: str) -> bool:
    """Whether a process was started by a command with these words."""
    with contextlib.suppress(OSError):
        return words.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def hit(pid: int, number: int = signal.SIGKILL) -> bool:
    """Send a signal to a living process, and to no other that has its id; whether there was one."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        if state(pid) in ("", "Z"):
            return False
        signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(descriptor)
    return True


def disturb(runs: list[Run], rng: random.Random) -> str:
    """Do one bad thing to a living process; what it was, or nothing where the chosen kind had none."""
    what = rng.choices(["worker", "stop", "supervisor", "tree", "program"], weights=[5, 1, 2, 2, 2])[0]
    run = rng.choice([run for run in runs if not run.done] or runs)
    targets = {
        "worker": run.workers,
        "stop": run.workers,
        "supervisor": lambda: [run.process.pid],
        "tree": lambda: [run.process.pid],
        "program": lambda: [pid for run in runs for pid in run.programs()],
    }[what]()
    if not targets or (what in ("supervisor", "tree") and run.process.poll() is not None):
        return ""
    below = list(descendants(run.process.pid)) if what == "tree" else []
    if not hit(rng.choice(targets), signal.SIGSTOP if what == "stop" else signal.SIGKILL):
        return ""
    for pid in below:
        hit(pid)
    return "stops" if what == "stop" else f"kills of a {what}"


def compact(store: Path, rng: random.Random) -> str:
    """Compact beside the runs, perhaps not to the end; what was done."""
    process = subprocess.Popen([*COMMAND, "compact", str(store)], stdout=subprocess.DEVNULL)
    if rng.random() < 0.4:
        assert process.wait() == 0
        return "compactions"
    # from when it has imported what it needs: a process that has not begun is no target
    journals = str(store / "journal").encode()
    while process.poll() is None and journals not in _opened(process.pid):
        time.sleep(0.001)
    time.sleep(rng.uniform(0.0, 0.05))
    process.kill()
    return "kills of a compaction" if process.wait() == -signal.SIGKILL else "compactions"


def _opened(pid: int) -> bytes:
    """The names of all files that a process has open."""
    out = b""
    with contextlib.suppress(OSError):
        for path in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                out += bytes(path.readlink()) + b"\n"
    return out


def kills(done: Counter[str]) -> int:
    return sum(count for what, count in done.items() if what.startswith("kills of"))


def round_of(directory: Path, store: Path, done: Counter[str], most: int, rng: random.Random, pause: float) -> None:
    """Run both experiments under fire until they are done; counts what was hit."""
    print(f"round {done['rounds'] + 1}: {kills(done)} of {most} kills so far", file=sys.stderr, flush=True)
    acknowledged: dict[str, list[str]] = {}
    runs = [Run(directory, plan, store) for plan in PLANS]
    while not all(run.done for run in runs):
        time.sleep(rng.uniform(0.05, pause))
        if kills(done) < most:
            if (store / "journal").exists() and rng.random() < 0.2:
                done[compact(store, rng)] += 1
            elif what := disturb(runs, rng):
                done[what] += 1
            if (store / "journal").exists() and rng.random() < 0.1:
                acknowledged.update(traces(store))
                done["reads in between"] += 1
        for run in runs:
            run.look()
    left = [pid for pid in processes() if _says(pid, str(store))]
    assert all(state(pid) == "T" for pid in left), "processes are left behind"  # but for those that the rig stopped
    for pid in left:
        hit(pid)
    final = traces(store)
    for study, rows in acknowledged.items():
        assert final[study][: len(rows)] == rows, f"study {study} lost acknowledged evaluations"
    calm = traces(directory / "calm")
    assert final.keys() == calm.keys()
    for study, rows in calm.items():
        for row, found in zip(rows, final[study], strict=True):
            if found != row:
                assert KILLED in found, f"study {study} is not as in the run that nobody disturbed: {found}, not {row}"
                done["evaluations whose program was killed"] += 1
    assert done["evaluations whose program was killed"] <= done["kills of a program"]
    frame = oa.open(store).studies
    assert frame["conflicts"].sum() == 0
    assert set(frame["status"]) == {"done"}
    done["evaluations compared"] += sum(map(len, calm.values()))
    done["rounds"] += 1


def rig(directory: Path, wanted: int, seed: int, budget: int, trials: int, pause: float) -> Counter[str]:
    """Rounds until so many kills have hit; AssertionError if anything is lost, different or left running."""
    rng = random.Random(seed)
    (directory / "mine.py").write_text(FILE)
    (directory / "plan.toml").write_text(PLAN.format(budget=budget, trials=trials))
    (directory / "program.py").write_text(PROGRAM)
    (directory / "program.toml").write_text(PROBLEM.format(python=sys.executable))
    (directory / "programs.toml").write_text(PROGRAMS.format(budget=budget, trials=3 * trials))
    for plan in PLANS:
        oa.Experiment.load(directory / plan, seed=ROOT).run(directory / "calm", workers=2)
    done: Counter[str] = Counter()
    while kills(done) < wanted:
        round_of(directory, directory / f"store-{done['rounds']}", done, wanted, rng, pause)
    return done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=int, default=200)
    parser.add_argument("--trials", type=int, default=8)
    parser.add_argument("--pause", type=float, default=1.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        done = rig(Path(directory), given.kills, given.seed, given.budget, given.trials, given.pause)
    print(f"{kills(done):,} kills that hit a living process:", ", ".join(f"{n:,} {what}" for what, n in done.items()))
    print("nothing lost, nothing different")


if __name__ == "__main__":
    main()
