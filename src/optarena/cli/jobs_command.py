"""`optarena jobs`: an experiment as lines of a file, one job each, for whatever runs jobs."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from optarena._files import write_atomically
from optarena._numbers import counted
from optarena._text import clean
from optarena.cli._experiment_options import with_experiment_options
from optarena.cli._terminal import say
from optarena.errors import OptarenaError
from optarena.experiment import Experiment
from optarena.runner.lacking import planned, refuse_empty
from optarena.runner.pilot import announce
from optarena.store import Store

MOST_JOBS = 100_000


@with_experiment_options
def command(
    experiment: Experiment,
    words: list[str],
    jobs: Annotated[int, typer.Option("-k", "--jobs", help="How many jobs.")],
    output: Annotated[Path, typer.Option("-O", "--output", help="The file: one line per job.")],
    store: Annotated[Path, typer.Option("--store", help="Directory for the results.")] = Path("results"),
    apart: Annotated[
        bool,
        typer.Option(
            "--apart", help="Jobs share no directory: each runs a fixed share in a store of its own, to be merged."
        ),
    ] = False,
    workers: Annotated[int | None, typer.Option("--workers", help="Processes of each job [all its cores].")] = None,
    kernels: Annotated[str, typer.Option("--kernels", help="'pinned' or 'native', as for run.")] = "pinned",
    retry: Annotated[bool, typer.Option("--retry", help="Run failed and timed-out studies again.")] = False,
    new: Annotated[bool, typer.Option("--new", help="Start again under a new root; old studies are kept.")] = False,
) -> None:
    """Each line is complete in itself and may be repeated: what is finished is not run again."""
    if not 1 <= jobs <= MOST_JOBS:
        raise OptarenaError(f"-k: expected a whole number from 1 to {MOST_JOBS:,}, got {jobs}")
    crew = [] if workers is None else ["--workers", str(workers)]
    if apart:
        if experiment.race is not None:
            raise OptarenaError("a race runs on one machine: its plan depends on results")
        plan = planned(experiment, Store(store), new)
        refuse_empty(plan)
        jobs, width = min(jobs, len(plan.studies)), len(str(jobs))
        stores = [f"{store}-{i:0{width}}" for i in range(1, jobs + 1)]
        shared = [*words, "--seed", str(plan.root), "--kernels", kernels, *(["--retry"] if retry else []), *crew]
        lines = [
            _line("run", *shared, "--store", own, "--share", f"{i}/{jobs}") for i, own in enumerate(stores, start=1)
        ]
        then = f"optarena merge {clean(shlex.quote(f'{store}-'))}* -O {clean(shlex.quote(str(store)))}"
    else:
        announced = announce(experiment, store, pilots=jobs, retry=retry, new=new, kernels=kernels)
        for notice in announced.plan.notices:
            say(clean(notice))
        if announced.run is None:
            say(f"nothing is left to do in {clean(store)}")
            return
        jobs, place = announced.run.pilots, str(store.resolve())
        lines = [_line("pilot", place, announced.run.id, "--number", str(i + 1), *crew) for i in range(jobs)]
        then = f"optarena status {clean(shlex.quote(str(store)))}"
    write_atomically(output, "".join(lines).encode())
    say(f"{clean(output)} has {counted(jobs, 'job')}, one per line")
    say(f"when they have run: {then}")


def _line(*words: str) -> str:
    """A line that a shell can run anywhere, with this Python, in this directory."""
    return f"cd {shlex.quote(str(Path.cwd()))} && {shlex.join([sys.executable, '-m', 'optarena', *words])}\n"
