"""`optarena bayesmark launch` and `exp`: run studies under Bayesmark's ids, and keep them in its files."""

from __future__ import annotations

import argparse
import shlex
import signal
import uuid
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from optarena._files import write_whole
from optarena.bayesmark import (
    STORE,
    Command,
    Launch,
    One,
    deal,
    made_elsewhere,
    prepare,
    put_into_database,
    refuse_other_batches,
)
from optarena.cli._progress import RunProgress
from optarena.cli._text import clean
from optarena.cli.bayesmark_command import as_bayesmark_says, database, say, typed
from optarena.cli.run_command import _interrupt
from optarena.errors import OptarenaError
from optarena.runner.local import Silent, run
from optarena.store import Store
from optarena.store.results import open_store

BAD = ("failed", "timed out", "interrupted")


def launch(flags: argparse.Namespace, rest: Sequence[str]) -> int:
    """Run all, or write the jobs file."""
    root = uuid.UUID(flags.uuid) if flags.uuid else uuid.uuid4()
    flags.db = flags.db or f"bo_{root.hex[:8]}"
    experiment = Launch(
        root,
        models=flags.classifier,
        data=flags.data,
        metrics=flags.metric,
        optimizers=flags.opt,
        calls=flags.calls,
        suggestions=flags.suggestions,
        repeat=flags.repeat,
        timeout=flags.timeout if flags.timeout > 0 else None,
        data_root=flags.data_root,
        optimizer_root=flags.opt_root,
    )
    print(f"Supply --uuid {root.hex} to reproduce this run.")
    print(f"Supply --dbid {flags.db} to append to this experiment or reproduce jobs file.")
    print("User must ensure equal reps of each optimizer for unbiased results", flush=True)
    for notice in experiment.notices:
        say(notice)
    commands = list(experiment.commands())
    if flags.verbose:
        for command in commands:
            print(" ".join(_words(command, flags)))
    if flags.num_jobs > 0:
        for refusal in experiment.plan().refused:
            say(f"refused: {clean(refusal.optimizer)} on {clean(refusal.problem)}: {clean(refusal.reason)}")
        _write_jobs(experiment, commands, flags, rest)
        print("done")
        return 0
    path = database(flags)
    prepare(path)
    refuse_other_batches(experiment, path)
    ids = {str(uuid.UUID(command.uuid)) for command in commands}
    experiment.elsewhere = made_elsewhere(path) & ids
    if experiment.elsewhere:
        say(f"{len(experiment.elsewhere)} of these studies are in the database, made by another tool")
    left_out: list[str] = []
    failures = 0
    if ids - experiment.elsewhere or not commands:
        signal.signal(signal.SIGTERM, _interrupt)
        with RunProgress(str(path / STORE)) as progress:
            try:
                run(experiment, path / STORE, workers=flags.workers, progress=progress)
            finally:
                left_out = put_into_database(path)
        frame = open_store(path / STORE).studies
        failures = frame.filter(pl.col("study").is_in(list(ids)), pl.col("status").is_in(BAD)).height
    for text in left_out:
        say(f"not in the database: {clean(text)}")
    print(f"{failures} failures of benchmark script after {len(commands)} studies.")
    print("done")
    return 1 if failures else 0


def exp(flags: argparse.Namespace, _rest: Sequence[str]) -> int:
    """One study. One that fails is recorded as failed and is no error, so that the rest of its job goes on."""
    path = database(flags)
    prepare(path)
    id = str(uuid.UUID(flags.uuid))
    known = open_store(path / STORE).studies if Store(path / STORE).exists else None
    experiment = One(
        uuid.UUID(flags.uuid),
        0,
        models=[flags.classifier],
        data=[flags.data],
        metrics=[flags.metric],
        optimizers=[flags.opt],
        calls=flags.calls,
        suggestions=flags.suggestions,
        data_root=flags.data_root,
        optimizer_root=flags.opt_root,
    )
    if known is not None:
        mine = known.filter(pl.col("study") == id)
        if mine.height and mine["batch"][0] not in (None, flags.suggestions):
            raise OptarenaError(f"study {flags.uuid} of {path} was run with -p {mine['batch'][0]}")
        same = known.filter(pl.col("optimizer") == flags.opt, pl.col("problem") == experiment.problem)
        experiment.number = int(mine["trial"][0]) if mine.height else same.height
    if id in made_elsewhere(path):
        say(f"study {flags.uuid} is in {path}, made by another tool")
        return 0
    progress = _Told()
    run(experiment, path / STORE, workers=1, progress=progress)
    for text in [*progress.failed, *put_into_database(path)]:
        say(clean(text))
    return 0


class _Told(Silent):
    """Remembers why studies failed."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def ended(self, study, outcome) -> None:  # type: ignore[no-untyped-def]
        if outcome.status != "done":
            self.failed.append(f"{study.optimizer.label} on {study.problem} {outcome.status}: {outcome.reason}")


# ---- jobs -----------------------------------------------------------------------------------------------------------


def _words(command: Command, flags: argparse.Namespace) -> list[str]:
    """The flags of one study, in the order of Bayesmark's own messages."""
    out = ["-c", command.model, "-d", command.data, "-o", command.optimizer, "-u", command.uuid, "-m", command.metric]
    out += ["-n", str(flags.calls), "-p", str(flags.suggestions), "-dir", str(flags.db_root.resolve()), "-b", flags.db]
    out += ["-dr", str(flags.data_root)] if flags.data_root is not None else []
    return out


def _write_jobs(
    experiment: Launch, commands: Sequence[Command], flags: argparse.Namespace, rest: Sequence[str]
) -> None:
    """A line a job: a name, and commands that can be run anywhere, since their paths are absolute."""
    own = {use.label for use in experiment.optimizers if use.use != use.label}
    root = ["-odir", str((flags.opt_root or Path.cwd()).resolve())]
    by_optimizer: dict[str, list[str]] = {}
    for command in commands:
        words = [*_words(command, flags), *(root if command.optimizer in own else [])]
        by_optimizer.setdefault(command.optimizer, []).append(shlex.join(["optarena", "bayesmark", "exp", *words]))
    assert experiment.seed is not None
    jobs = deal(list(by_optimizer.values()), flags.num_jobs, experiment.seed)
    digits = len(str(len(jobs) - 1))
    said = as_bayesmark_says(flags, dry_run=True, **{"--uuid": experiment.seed.hex})
    lines = [f"# running: {said}", f"# cmd: {typed(rest, 'launch')}"]
    lines += [f"job_{experiment.seed.hex[:7]}_{i:0{digits}} {' && '.join(job)}" for i, job in enumerate(jobs)]
    write_whole(flags.jobs_file.resolve(), ("\n".join(lines) + "\n").encode())
    print(f"{len(commands)} studies in {len(jobs)} jobs: {flags.jobs_file}")
