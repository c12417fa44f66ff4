"""`optarena run`: make an experiment of a file and flags, run what its store lacks, say how to go on."""

from __future__ import annotations

import contextlib
import functools
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer

from optarena._numbers import counted
from optarena._text import clean
from optarena.cli._experiment_options import with_experiment_options
from optarena.cli._progress import RunProgress
from optarena.cli._terminal import say, say_command
from optarena.cli.serve_command import open_page, server_module
from optarena.errors import OptarenaError
from optarena.experiment import Experiment
from optarena.facade import execute
from optarena.runner.dask_pilots import client_of
from optarena.runner.slurm_pilots import submit


@with_experiment_options
def command(
    experiment: Experiment,
    sbatch: Annotated[
        list[str] | None, typer.Argument(metavar="[-- SBATCH FLAGS]", help="With --slurm: more flags for sbatch.")
    ] = None,
    store: Annotated[Path, typer.Option("--store", help="Directory for the results.")] = Path("results"),
    workers: Annotated[
        int | None, typer.Option("--workers", help="Processes; 0 runs in this one, without hard limits [all cores].")
    ] = None,
    kernels: Annotated[
        str,
        typer.Option(
            "--kernels",
            help="'pinned': the same bits on every x86-64 CPU with AVX2; 'native': what this CPU offers.",
        ),
    ] = "pinned",
    retry: Annotated[bool, typer.Option("--retry", help="Run failed and timed-out studies again.")] = False,
    new: Annotated[bool, typer.Option("--new", help="Start again under a new root; old studies are kept.")] = False,
    share: Annotated[
        str | None, typer.Option("--share", metavar="I/K", help="Only the I-th of K shares of the studies.")
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            "--dask", metavar="ADDRESS", help="On a Dask cluster: tcp://host:8786, or local:4 (docs/clusters.md)."
        ),
    ] = None,
    slurm: Annotated[
        bool, typer.Option("--slurm", help="Submit pilots to SLURM and return (docs/clusters.md).")
    ] = False,
    nodes: Annotated[int | None, typer.Option("--nodes", help="With --slurm: how many pilots [1].")] = None,
    time: Annotated[
        str | None, typer.Option("--time", help="With --slurm: the time limit of a job, such as 4:00:00 [1:00:00].")
    ] = None,
    partition: Annotated[str | None, typer.Option("--partition", help="With --slurm: SLURM's partition.")] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Show the run in a browser meanwhile (docs/serve.md).")
    ] = False,
) -> None:
    """Make the experiment and run it."""
    options: dict[str, Any] = {"workers": workers, "retry": retry, "new": new, "kernels": kernels}
    if share is not None:
        options["share"] = _share(share)
    if slurm:
        if share is not None or dask is not None or serve:
            raise OptarenaError("--slurm goes without --share, --dask and --serve")
        _submit(experiment, store, nodes or 1, {**options, "time": time, "partition": partition, "flags": sbatch or ()})
        return
    if sbatch or (nodes, time, partition) != (None, None, None):
        raise OptarenaError("--nodes, --time, --partition and flags of sbatch go with --slurm")
    signal.signal(signal.SIGTERM, _interrupt)
    with contextlib.ExitStack() as stack:
        if serve:
            server_module()
        if dask is not None:
            options["client"] = stack.enter_context(client_of(dask))
        pages: list[subprocess.Popen[bytes]] = []
        planned = functools.partial(_serve, store, stack, pages) if serve else None
        progress = stack.enter_context(RunProgress(str(store), planned=planned))
        try:
            race = execute(experiment, store, progress=progress, **options)
        except KeyboardInterrupt:
            progress.__exit__()
            again = ["optarena", *[word for word in sys.argv[1:] if word != "--new"]]
            say_command("interrupted; what was evaluated is kept. Continue:", again, file=sys.stderr)
            raise typer.Exit(130) from None
        progress.__exit__()
        say(progress.summary())
        if race is not None:
            say("\n".join(clean(sentence) for sentence in race.sentences))
        place = clean(shlex.quote(str(store)))
        say(f"look: optarena compare {place}   ·   optarena report {place}")
        for page in pages if sys.stdout.isatty() else []:
            say("the live page stays until Ctrl-C")
            with contextlib.suppress(KeyboardInterrupt):
                page.wait()
    if progress.failed:
        raise typer.Exit(1)


def _serve(store: Path, stack: contextlib.ExitStack, pages: list[subprocess.Popen[bytes]]) -> None:
    """The live page of a store that is about to be run; it ends with this process."""
    guard, process = server_module().serve_beside(store)
    stack.callback(_end, process)
    say(f"live page: {guard.address}")
    open_page(guard.address)
    pages.append(process)


def _end(page: subprocess.Popen[bytes]) -> None:
    """Let the live page say how the run ended."""
    page.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        page.wait(timeout=10)


def _submit(experiment: Experiment, store: Path, nodes: int, options: dict[str, Any]) -> None:
    done = submit(experiment, store, nodes=nodes, **options)
    for notice in done.announced.plan.notices:
        print(clean(notice))
    place = clean(shlex.quote(str(store)))
    if done.announced.run is None:
        print(f"nothing is left to do in {place}")
        return
    what = f"{counted(done.announced.run.pilots, 'pilot')} for {counted(done.announced.todo, 'study')}"
    print(f"SLURM job {done.job}: {what}, root {done.announced.plan.root}")
    print(f"look: optarena status {place}   ·   stop: optarena cancel {place}   ·   logs: {clean(str(done.logs))}")


def _share(text: str) -> tuple[int, int]:
    """`3/50`: the third of fifty."""
    which, _, of = text.partition("/")
    if not (which.isdecimal() and of.isdecimal() and 1 <= int(which) <= int(of)):
        raise OptarenaError(f"--share: expected I/K, such as 3/50, got {text!r}")
    return int(which), int(of)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
