"""The anytime view: a million solution events (1,000 instances x 20 configurations x 50) scored.

No peer scores curves; moocore's hypervolume of every run stands beside it, as area = 1 - hypervolume / box.

python benchmarks/anytime.py [INSTANCES]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import moocore
import numpy as np
import polars as pl

import optarena as oa
from _measure import cpu, load
from optarena.cli import main as optarena

CONFIGURATIONS, EVENTS, BUDGET = 20, 50, 1000.0


def sheet(instances: int, path: Path) -> None:
    """Made-up solutions: values that fall, at times that grow."""
    rng = np.random.default_rng(0)
    shape = (instances * CONFIGURATIONS, EVENTS)
    times = np.minimum(rng.exponential(15, shape).cumsum(axis=1), BUDGET)
    values = 1e4 - rng.exponential(20, shape).cumsum(axis=1)
    run = np.repeat(np.arange(shape[0]), EVENTS)
    pl.DataFrame(
        {
            "problem": pl.Series([f"i{i:04}" for i in range(instances)]).gather(run // CONFIGURATIONS),
            "optimizer": pl.Series([f"c{i:02}" for i in range(CONFIGURATIONS)]).gather(run % CONFIGURATIONS),
            "seconds": times.ravel(),
            "value": values.ravel(),
            "budget_seconds": np.full(len(run), BUDGET),
        }
    ).write_csv(path)


def main() -> None:
    instances = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as directory:
        path, store = Path(directory) / "events.csv", Path(directory) / "store"
        sheet(instances, path)
        optarena(["import", "csv", str(path), "--store", str(store)])
        results = oa.open(store)
        assert results.studies.height  # loaded, as for the other views
        ours = cpu(results.anytime, 1)
        view = results.anytime().scored
        assert view is not None
        runs, bounds = view.runs, view.bounds

        def peer() -> None:
            for i in range(len(runs)):
                rows = slice(runs.offsets[i], runs.offsets[i + 1])
                corner = [bounds.end[runs.instance[i]], bounds.worst[runs.instance[i]]]
                moocore.hypervolume(np.column_stack((runs.times[rows], runs.values[rows])), ref=corner)

        theirs = cpu(peer, 1)
    events = instances * CONFIGURATIONS * EVENTS
    print(f"all tables of {events:,} solution events: {ours:.2f} s CPU (to reach: 2; {load()})")
    print(f"moocore's hypervolume of every run alone: {theirs:.2f} s CPU, {theirs / ours:.2f} times ours")


if __name__ == "__main__":
    main()
