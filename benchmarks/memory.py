"""Whether memory stays flat: every installed optimizer on the sphere in 5-D, through the real loop, each in a process.

    $ python benchmarks/memory.py                                   # 30,000 evaluations each
    $ python benchmarks/memory.py --evaluations 2000 Optuna-TPE     # some of them

Those that stop early are told to go on, where they can; Optuna's, which get slow, make 2,000 evaluations unless
`--evaluations` says otherwise. Growth is counted from a third of the evaluations on, when
libraries are loaded and populations are made. The table goes to docs/benchmarks/memory.md; rows that a run does not
measure stay as they were.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import optarena as oa
from _measure import load
from optarena.optimizer import OPTIMIZERS, get_optimizer
from optarena.runner.study import run_study
from optarena.store import Store
from optarena.store.journal import Journal

TABLE = Path(__file__).parent.parent / "docs" / "benchmarks" / "memory.md"
EVERY = 100  # evaluations between two looks at the process
LEAST = 1_000  # evaluations below which a growth is nothing but the first allocations
GO_ON = {"Scipy-DifferentialEvolution": {"tol": 0.0}, "Scipy-DIRECT": {"vol_tol": 0.0, "len_tol": 0.0}}
HEAD = ["optimizer", "evaluations asked", "made", "ended", "most resident MB", "growth, MB per 10,000"]


def resident() -> float:
    """Megabytes that this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def measure(name: str, evaluations: int) -> dict[str, Any]:
    """One study in this process, looked at from inside `observe`."""
    cls = get_optimizer(name)
    settings = {"restarts": True} if "restarts" in cls.settings else GO_ON.get(name, {})
    looks = [(0, resident())]
    made = 0

    def observe(self: Any, X: Any, y: Any, *more: Any) -> None:
        nonlocal made
        cls.observe(self, X, y, *more)
        made += len(y)
        if made <= EVERY or made - EVERY >= looks[-1][0]:
            looks.append((made, resident()))

    watched = type(cls.__name__, (cls,), {"observe": observe, "capabilities": cls.capabilities})
    plan = oa.Experiment(oa.use(name, **settings), "functions/sphere/d5", evaluations).plan()
    (study,) = plan.studies
    with tempfile.TemporaryDirectory() as directory:
        store = Store(Path(directory) / "store")
        store.create()
        journal = Journal(store.journals, {})
        outcome = run_study(study, plan.problems[study.problem], watched, journal)
        journal.close()
    assert outcome.status in ("done", "stopped early"), outcome.reason
    growth = None
    if made >= LEAST:  # the last look is before the end, which frees what the study held
        start, end = next(look for look in looks if look[0] >= made / 3), looks[-1]
        growth = (end[1] - start[1]) / (end[0] - start[0]) * 10_000
    return {
        "optimizer": name
        + (f" ({', '.join(f'{key}={value}' for key, value in settings.items())})" if settings else ""),
        "asked": evaluations,
        "made": made,
        "ended": outcome.status,
        "resident": max(megabytes for _, megabytes in looks),
        "growth": growth,
    }


def row(found: dict[str, Any]) -> list[str]:
    growth = "too few to say" if found["growth"] is None else f"{found['growth'] + 0.0:.1f}"
    counts = [f"{found['asked']:,}", f"{found['made']:,}"]
    return [found["optimizer"], *counts, found["ended"], f"{found['resident']:.0f}", growth]


def write(rows: dict[str, list[str]]) -> None:
    """The table, in the order in which optimizers are listed, over what was there."""
    kept = {}
    if TABLE.exists():
        lines = [line.strip("| \n").split(" | ") for line in TABLE.read_text().splitlines() if line.startswith("| ")]
        kept = {cells[0].split(" (")[0]: cells for cells in lines[2:]}
    kept |= rows
    ordered = [kept[entry.name] for entry in OPTIMIZERS.entries() if entry.name in kept]
    align = ["---"] + ["---:" if i != 2 else "---" for i in range(len(HEAD) - 1)]
    body = "\n".join("| " + " | ".join(cells) + " |" for cells in [HEAD, align, *ordered])
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_text(
        "## Memory over a long study\n\n"
        "`benchmarks/memory.py`: one study of the sphere in 5-D through the real loop, every evaluation recorded,\n"
        "each optimizer in a process of its own. Growth is that of resident memory over the last two thirds.\n\n"
        f"{body}\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Resident memory over a long study, for each optimizer.")
    parser.add_argument("optimizers", nargs="*", help="their names; all that are installed, if none is given")
    parser.add_argument("--evaluations", type=int, help="default: 30,000; Optuna's 2,000")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.optimizers[0], given.evaluations)))
        return
    names = given.optimizers or [entry.name for entry in OPTIMIZERS.entries() if entry.installed]
    print(f"sphere, 5-D ({load()})")
    for name in names:
        evaluations = given.evaluations or (2_000 if name.startswith("Optuna-") else 30_000)
        command = [sys.executable, __file__, "--one", "--evaluations", str(evaluations), name]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        cells = row(json.loads(done.stdout))
        print("  " + ", ".join(f"{head}: {cell}" for head, cell in zip(HEAD, cells, strict=True)), flush=True)
        write({name: cells})


if __name__ == "__main__":
    main()
