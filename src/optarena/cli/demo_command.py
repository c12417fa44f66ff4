"""`optarena demo`: a small experiment from start to end."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from optarena.cli._progress import RunProgress
from optarena.cli._text import table
from optarena.experiment import Experiment
from optarena.optimizer import BUILT_IN
from optarena.runner.local import run
from optarena.store.results import Results, open_store

OPTIMIZERS = ["RandomSearch", "CMA-ES", "Optuna-TPE", "Pymoo-DE", "Scipy-Powell"]
PROBLEMS = [
    "functions/{sphere,rosenbrock,ackley,rastrigin}/d5",
    "functions/branin/d2",
    "functions/mixed-tuning/d9",
]
EVALUATIONS, TRIALS = 60, 5


def command(
    store: Annotated[Path, typer.Option("--store", help="Directory for the results.")] = Path("demo-store"),
) -> None:
    """Run it, and show who found what."""
    there = [name for name in OPTIMIZERS if BUILT_IN[name].installed]
    for name in OPTIMIZERS:
        if name not in there:
            print(f"without {name}: pip install 'optarena[{BUILT_IN[name].extra}]' adds it")
    experiment = Experiment(there, PROBLEMS, budget=EVALUATIONS, trials=TRIALS)
    with RunProgress(str(store)) as progress:
        run(experiment, store, progress=progress)
    results = open_store(store)
    print(progress.summary())
    print(f"\nmedian over {TRIALS} trials of the best value after {EVALUATIONS} evaluations (less is better)")
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
