"""`optarena demo`: a small experiment from start to end."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from optarena.cli._progress import RunProgress
from optarena.cli._text import table
from optarena.experiment import Experiment
from optarena.runner.local import run
from optarena.store.results import Results, open_store

PROBLEMS = [
    "functions/{sphere,rosenbrock,ackley,rastrigin}/d5",
    "functions/branin/d2",
    "functions/mixed-tuning/d9",
]


def command(
    store: Annotated[Path, typer.Option("--store", help="Directory for the results.")] = Path("demo-store"),
) -> None:
    """Run it, and show who found what."""
    experiment = Experiment(["RandomSearch", "QuasiRandom"], PROBLEMS, budget=200, trials=10)
    with RunProgress(str(store)) as progress:
        run(experiment, store, progress=progress)
    results = open_store(store)
    print(progress.summary())
    print("\nmedian over 10 trials of the best value after 200 evaluations (less is better)")
    print(medians(results))
    print(f"\ngo on: optarena status {store}   ·   optarena best {store}")


def medians(results: Results) -> str:
    """A row a problem, a column an optimizer, and the best that is possible."""
    frame = results.studies.filter(pl.col("best").is_not_null())
    optimizers = list(dict.fromkeys(frame["optimizer"]))
    rows = []
    for problem in dict.fromkeys(frame["problem"]):
        part = frame.filter(pl.col("problem") == problem)
        middle = [part.filter(pl.col("optimizer") == name)["best"].median() for name in optimizers]
        rows.append([problem, *middle, part["optimum"][0]])
    return table(["problem", *optimizers, "optimum"], rows, right=(*optimizers, "optimum"))
