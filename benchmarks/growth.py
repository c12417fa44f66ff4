"""What grows: extending a long study, time-outs in one study, many optimizers, many studies, a run with nothing to do.

    python benchmarks/growth.py [EVALUATIONS]       5,000,000 by default

Each call is a process of its own; printed are its seconds and the most memory that it held.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

LATE = """
import time
import optarena as oa

@oa.as_problem({"x": {"type": "real", "space": "linear", "range": [0.0, 1.0]}})
def problem(x):
    time.sleep(3600 if x["x"] > 0.5 else 0)
    return x["x"]
"""


def timed(what: str, *words: str) -> None:
    """Call the command line and print what that took."""
    began = time.perf_counter()
    pid = os.posix_spawn(
        sys.executable,
        [sys.executable, "-m", "optarena", *words],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )
    _, code, used = os.wait4(pid, 0)
    if code:
        raise SystemExit(f"{what}: optarena {' '.join(words)} ended with {os.waitstatus_to_exitcode(code)}")
    cpu = used.ru_utime + used.ru_stime
    print(f"{what:<58} {time.perf_counter() - began:8.1f} s {cpu:8.1f} s CPU {used.ru_maxrss / 1024:8,.0f} MB")


def made_up(optimizers: int, problems: int, trials: int, evaluations: int) -> pl.DataFrame:
    """A table of studies whose optimizers are of different quality."""
    shape = (optimizers, problems, trials, evaluations)
    quality = 1 + np.arange(optimizers)[:, None, None, None] / optimizers / 2
    o, p, t, n = np.indices(shape).reshape(4, -1)
    names = pl.Series(["RandomSearch", *(f"optimizer{i}" for i in range(1, optimizers))])
    return pl.DataFrame(
        {
            "optimizer": names.gather(o),
            "problem": pl.Series([f"problem{i}" for i in range(problems)]).gather(p),
            "trial": t,
            "evaluation": n + 1,
            "value": (np.random.default_rng(0).random(shape) * quality).ravel(),
        }
    )


def imported(directory: Path, what: str, *shape: int) -> str:
    file, store = directory / f"{what}.parquet", str(directory / what)
    made_up(*shape).write_parquet(file)
    timed(f"import {what}", "import", "parquet", str(file), "--store", store)
    return store


def rows(store: Path) -> int:
    """Lines of evaluations in a store's journals."""
    return sum(path.read_bytes().count(b'{"t":"e"') for path in (store / "journal").glob("*.jsonl"))


def main(evaluations: int = 5_000_000) -> None:
    with tempfile.TemporaryDirectory(prefix="optarena-growth-") as name:
        directory = Path(name)
        long = ["run", "-o", "RandomSearch", "-p", "functions/sphere/d2", "--workers", "1", "--store", f"{name}/long"]
        timed(f"{evaluations:,} evaluations", *long, "-n", str(evaluations))
        timed("  100 more", *long, "-n", str(evaluations + 100))
        timed("  nothing more", *long, "-n", str(evaluations + 100))
        (directory / "late.py").write_text(LATE)
        for n in (10, 20, 40):
            late = ["run", "-o", "RandomSearch", "-p", f"{name}/late.py:problem", "-n", str(n), "--seed", "1" * 32]
            limits = ["--workers", "1", "--evaluation-limit", "0.3", "--store", f"{name}/late{n}"]
            timed(f"{n} evaluations, about half of them time out", *late, *limits)
            print(f"  {rows(directory / f'late{n}')} rows written")
        many = imported(directory, "200-optimizers", 200, 20, 5, 20)
        timed("  compare", "compare", many)
        many = imported(directory, "1000-optimizers", 1000, 30, 3, 5)
        timed("  compare", "compare", many)
        many = imported(directory, "100800-studies", 7, 720, 20, 6)
        timed("  compare", "compare", many)
        timed("  report", "report", many, "-O", f"{name}/report.html")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
