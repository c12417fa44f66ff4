"""`optarena demo`: a small experiment from start to end."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optarena import optimizer
from optarena._text import clean
from optarena.cli._progress import RunProgress
from optarena.cli._terminal import say, terminal_width
from optarena.errors import NotInstalled
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
    try:
        report = f"report: {clean(results.report(store / 'report.html'))}"
    except NotInstalled as error:
        report = f"no report: {error}"
    further = f"look further: optarena compare {clean(store)} --details   ·   optarena best {clean(store)}"
    say(f"\n{report}   ·   {further}")
