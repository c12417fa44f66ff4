"""Fronts: anytime hypervolume, the non-dominated filter, and the whole view of 600 bi-objective studies.

python benchmarks/pareto.py [STUDIES]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import moocore
import numpy as np

import optarena as oa
from _measure import cpu, load
from optarena.runner.environment import environment
from optarena.store import Store
from optarena.store.journal import Journal
from optarena.store.records import End, ProblemCard, Rows, Start
from optarena.views.pareto import anytime_hypervolume, non_dominated

PROBLEMS, OPTIMIZERS, EVALUATIONS = 20, 3, 5000


def improving(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """Points that come near a sphere as time goes on: many enter the front."""
    x = np.abs(rng.normal(size=(n, m)))
    x /= np.linalg.norm(x, axis=1)[:, None]
    return x * (1 + rng.random((n, 1)) * np.exp(-4 * np.arange(n) / n)[:, None]) / 2


def whenever_accepted(x: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """The plain way: moocore's hypervolume of the archive each time a point enters it."""
    out, archive, volume = np.zeros(len(x)), np.empty((0, x.shape[1])), 0.0
    for i, p in enumerate(x):
        if not (archive <= p).all(axis=1).any():
            archive = np.vstack((archive[~(archive >= p).all(axis=1)], p))
            volume = moocore.hypervolume(archive, ref=reference)
        out[i] = volume
    return out


def anytime(name: str, x: np.ndarray) -> None:
    reference = np.full(x.shape[1], 1.1)
    ours = cpu(lambda: anytime_hypervolume(x, reference))
    if x.shape[1] == 2:
        print(f"anytime hypervolume, {name}: {ours:.3f} s CPU (to reach: 0.1; {load()})")
        return
    theirs = cpu(lambda: whenever_accepted(x, reference), 1)
    print(f"anytime hypervolume, {name}: {ours:.3f} s, moocore when accepted {theirs:.3f} s CPU: "
          f"ratio {ours / theirs:.3f} (to reach: 0.333)")  # fmt: skip


def write_store(path: Path, count: int, rng: np.random.Generator) -> None:
    """Studies as a run leaves them, with made-up values: each optimizer comes nearer to the front than the last."""
    store = Store(path)
    store.create()
    journal = Journal(store.journals, environment())
    space = {"x": {"type": "real", "space": "linear", "range": [0, 1]}}
    two = (oa.Objective("f1"), oa.Objective("f2"))
    handle = 0
    for p in range(PROBLEMS):
        card = ProblemCard(f"{p:064x}", f"made/p{p}/d1", "1", space, 1, two, suite="made", function=f"p{p}")
        journal.write(card)
        for i in range(count // PROBLEMS):
            optimizer = f"O{i % OPTIMIZERS}" if i % OPTIMIZERS else "RandomSearch"
            start = Start(handle, f"{p}-{i}", card.hash, optimizer, optimizer, i // OPTIMIZERS, "root", time.time(),
                          oa.experiment.Budget(evaluations=EVALUATIONS))  # fmt: skip
            journal.write(start)
            a = rng.random(EVALUATIONS)
            far = rng.random(EVALUATIONS) * np.exp(-(i % OPTIMIZERS) * 2 * np.arange(EVALUATIONS) / EVALUATIONS)
            y = np.column_stack((a, (1 + p) * (1 - np.sqrt(a) + far)))
            for k in range(0, EVALUATIONS, 500):
                part = y[k : k + 500].tolist()
                journal.write(Rows(handle, k + 1, part, [0] * 6, x=[[0.5]] * len(part)))
            journal.write(End(handle, "done", EVALUATIONS, time.time(), [0] * 6))
            handle += 1
    journal.close()


def view(count: int, rng: np.random.Generator) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "store"
        write_store(path, count, rng)
        opening = cpu(lambda: oa.open(path).studies, 1)
        results = oa.open(path)
        began = time.process_time()
        scored = results.pareto()
        seconds = time.process_time() - began
        rows = sum(table.height for table in scored.tables.values())
        print(f"the whole view of {count} studies of {EVALUATIONS:,} evaluations: {seconds:.2f} s CPU, {rows:,} rows "
              f"(to reach: 10), opening the store {opening:.2f} s")  # fmt: skip


def main() -> None:
    rng = np.random.default_rng(0)
    anytime("2 objectives, 20,000 random", rng.random((20_000, 2)))
    anytime("2 objectives, 20,000 improving", improving(20_000, 2, rng))
    anytime("3 objectives, 20,000 random", rng.random((20_000, 3)))
    anytime("3 objectives, 20,000 improving", improving(20_000, 3, rng))
    anytime("4 objectives, 5,000 improving", improving(5_000, 4, rng))
    for m in (2, 3, 4):
        x = rng.random((1_000_000, m))
        ours, theirs = cpu(lambda x=x: non_dominated(x)), cpu(lambda x=x: moocore.is_nondominated(x))
        print(f"non-dominated of a million points, {m} objectives: {ours:.2f} s, moocore {theirs:.2f} s CPU: "
              f"ratio {ours / theirs:.2f}")  # fmt: skip
    view(int(sys.argv[1]) if len(sys.argv) > 1 else 600, rng)


if __name__ == "__main__":
    main()
