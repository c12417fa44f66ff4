"""Kill anything, at any time, and prove that nothing is lost.

    python benchmarks/kill_rig.py [--kills 200] [--seed 1]

An experiment with fast, slow, noisy and population-based studies runs on two workers. At random moments a worker, the
supervisor or the whole tree gets SIGKILL, or a worker SIGSTOP; a dead supervisor is started again with the same
command. Now and then the store is compacted meanwhile, and that is killed too.
At the end: every evaluation that was ever read from the store is still there, and all traces equal, bit for bit, those
of a run that nobody disturbed.
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

ROOT = "00000000-0000-0000-0000-00000000abcd"
PROGRAM = [sys.executable, "-c", "from optarena.cli import main; raise SystemExit(main())"]
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


def traces(store: Path) -> dict[str, list[str]]:
    """Every scored row: evaluation, point, values, status; times aside."""
    results = oa.open(store)
    keys = ("evaluation", "parameters", "values", "status", "message")
    return {
        study: [repr([row[key] for key in keys]) for row in results.points(study)]
        for study in results.studies.filter(results.studies["status"] != "missing")["study"]
    }


def children(pid: int) -> list[int]:
    out = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False).stdout
    return [int(word) for word in out.split()]


def start(directory: Path) -> subprocess.Popen[bytes]:
    command = [*PROGRAM, "run", "plan.toml", "--store", "store", "--workers", "2", "--seed", ROOT]
    return subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def disturb(process: subprocess.Popen[bytes], rng: random.Random) -> str:
    """Do one bad thing; what it was."""
    what = rng.choices(["worker", "stop", "supervisor", "tree"], weights=[5, 1, 2, 2])[0]
    workers = children(process.pid)
    with contextlib.suppress(ProcessLookupError):
        if what == "worker" and workers:
            os.kill(rng.choice(workers), signal.SIGKILL)
        elif what == "stop" and workers:
            os.kill(rng.choice(workers), signal.SIGSTOP)
        elif what == "supervisor":
            process.kill()
        elif what == "tree":
            for pid in [process.pid, *workers]:
                os.kill(pid, signal.SIGKILL)
        else:
            return "nobody there"
    return what


def compact(directory: Path, rng: random.Random) -> str:
    """Compact beside the run, perhaps not to the end; what was done."""
    process = subprocess.Popen([*PROGRAM, "compact", "store"], cwd=directory, stdout=subprocess.DEVNULL)
    if rng.random() < 0.5:
        assert process.wait() == 0
        return "compactions"
    time.sleep(rng.uniform(0.2, 1.0))
    process.kill()
    process.wait()
    return "compactions killed"


def rig(directory: Path, kills: int, seed: int, budget: int, trials: int, pause: float) -> Counter[str]:
    """Run under fire until done; AssertionError if anything is lost or different."""
    rng = random.Random(seed)
    (directory / "mine.py").write_text(FILE)
    (directory / "plan.toml").write_text(PLAN.format(budget=budget, trials=trials))
    experiment = oa.Experiment.load(directory / "plan.toml", seed=ROOT)
    experiment.run(directory / "calm", workers=2)
    calm = traces(directory / "calm")
    done: Counter[str] = Counter()
    compacted: Counter[str] = Counter()
    acknowledged: dict[str, list[str]] = {}
    process = start(directory)
    while sum(done.values()) < kills:
        time.sleep(rng.uniform(0.05, pause))
        if (directory / "store" / "journal").exists() and rng.random() < 0.3:
            compacted[compact(directory, rng)] += 1
        if process.poll() is None:
            done[disturb(process, rng)] += 1
        if process.poll() is not None:
            process.wait()
            if process.returncode == 0:
                break
            if (directory / "store").exists() and rng.random() < 0.2:
                acknowledged.update(traces(directory / "store"))
            process = start(directory)
    _, errors = process.communicate()
    if process.returncode != 0:
        process = start(directory)
        _, errors = process.communicate()
    assert process.returncode == 0, errors.decode()[-2000:]
    final = traces(directory / "store")
    for study, rows in acknowledged.items():
        assert final[study][: len(rows)] == rows, f"study {study} lost acknowledged evaluations"
    assert final.keys() == calm.keys()
    for study, rows in calm.items():
        assert final[study] == rows, f"study {study} is not as in the run that nobody disturbed"
    frame = oa.open(directory / "store").studies
    assert frame["conflicts"].sum() == 0
    assert set(frame["status"]) == {"done"}
    done += compacted
    done["evaluations compared"] = sum(map(len, calm.values()))
    done["reads in between"] = len(acknowledged)
    return done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=int, default=200)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--pause", type=float, default=1.5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        done = rig(Path(directory), given.kills, given.seed, given.budget, given.trials, given.pause)
    print(", ".join(f"{count:,} {what}" for what, count in done.items()))
    print("nothing lost, nothing different")


if __name__ == "__main__":
    main()
