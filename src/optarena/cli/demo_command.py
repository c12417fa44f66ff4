"""`optarena demo`: a small experiment from start to end."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optarena import optimizer
from optarena._text import clean
from optarena.cli._progress import RunProgress
from optarena.cli._terminal import say, terminal_width
from optarena.experiment import Experiment
from optarena.facade import open_store
from optarena.runner.local import run

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
    """Run it, score it, and report it."""
    entries = [optimizer.OPTIMIZERS.entry(name) for name in OPTIMIZERS]
    there = [entry.name for entry in entries if entry.installed]
    for entry in entries:
        if not entry.installed:
            say(f"without {entry.name}: {entry.install} adds it")
    experiment = Experiment(there, PROBLEMS, budget=EVALUATIONS, trials=TRIALS)
    with RunProgress(str(store)) as progress:
        run(experiment, store, progress=progress)
    results = open_store(store)
    say(progress.summary())
    say(f"\n{results.compare().text(terminal_width())}")
    path = results.report(store / "report.html")
    say(
        f"\nreport: {clean(path)}   ·   look further: optarena compare {clean(store)} --details   ·   "
        f"optarena best {clean(store)}"
    )
