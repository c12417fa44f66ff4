"""Shared by the benchmarks: CPU time of a call, and one study run with nothing around it."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import optarena as oa
from optarena.optimizer import BUILT_IN, Entry
from optarena.runner.loop import run_study
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
    BUILT_IN[name] = Entry(name, f"{cls.__module__}:{cls.__name__}")


def study(optimizer: str, problem: str, evaluations: int, record: str = "all") -> Callable[[], None]:
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
