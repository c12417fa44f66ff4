"""Shared by the benchmarks: CPU time of a call, and one study run with nothing around it."""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import optarena as oa
from optarena.optimizer import OPTIMIZERS
from optarena.registry import Entry
from optarena.runner.study import run_study
from optarena.store import Store
from optarena.store.journal import Journal


def cpu(call: Callable[[], object], repeats: int = 3) -> float:
    """The least CPU seconds of some calls: what the work costs when nothing disturbs it."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        call()
        times.append(time.process_time() - began)
    return min(times)


def load() -> str:
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def register(name: str, cls: type[oa.Optimizer]) -> None:
    """Let a benchmark's own optimizer be named."""
    OPTIMIZERS.built_in[name] = Entry(name, f"{cls.__module__}:{cls.__name__}")


def study(optimizer: str, problem: str | oa.Problem, evaluations: int, record: str = "all") -> Callable[[], None]:
    """A call that runs one study of a fresh store, journal and all."""
    experiment = oa.Experiment(optimizer, problem, evaluations, record=record)

    def call() -> None:
        with tempfile.TemporaryDirectory() as directory:
            store = Store(Path(directory) / "store")
            store.create()
            plan = experiment.plan()
            (planned,) = plan.studies
            journal = Journal(store.journals, {})
            outcome = run_study(planned, plan.problems[planned.problem], plan.classes[planned.optimizer.label], journal)
            journal.close()
            assert outcome.status == "done", outcome.reason

    return call


def cpu_of_command(command: list[str], cwd: Path | None = None) -> float:
    """CPU seconds of a command and all its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[:3]} failed: {done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def write_table(name: str, title: str, rows: list[tuple[str, float, float, str]]) -> None:
    """Print peer, ours and their ratio, and keep the table in docs/benchmarks/."""
    lines = [f"## {title}", "", "| work | peer | optarena | ratio |", "| --- | ---: | ---: | ---: |"]
    for work, theirs, ours, unit in rows:
        lines.append(f"| {work} | {theirs:.3g} {unit} | {ours:.3g} {unit} | {theirs / ours:.3g} |")
    text = "\n".join(lines) + "\n"
    print(text)
    place = Path(__file__).parent.parent / "docs" / "benchmarks"
    place.mkdir(exist_ok=True)
    (place / f"{name}.md").write_text(text)
