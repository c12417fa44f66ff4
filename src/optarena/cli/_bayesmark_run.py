"""`optarena bayesmark launch` and `exp`: run studies under Bayesmark's ids, and keep them in its files."""

from __future__ import annotations

import argparse
import functools
import signal
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path

from optarena._files import write_atomically
from optarena._text import clean
from optarena.bayesmark.database import STORE, Unfinished, made_elsewhere, prepare, put_into_database
from optarena.bayesmark.jobs import flags_of, job_lines
from optarena.bayesmark.launch import Launch, One, killed_launch, refuse_other_batches
from optarena.bayesmark.logs import read_log, read_printed
from optarena.cli._bayesmark_flags import as_bayesmark_says, database, name_some, program, say, typed
from optarena.cli._progress import RunProgress
from optarena.cli._terminal import say_command
from optarena.cli.run_command import _interrupt
from optarena.errors import OptarenaError
from optarena.experiment import Study
from optarena.runner.attempt import Outcome
from optarena.runner.local import run
from optarena.status import UNSUCCESSFUL


def launch(flags: argparse.Namespace, rest: Sequence[str]) -> int:
    """Run all, or write the jobs file."""
    if flags.timeout and flags.workers == 0:
        raise OptarenaError("-t is kept by ending a worker process: it needs --workers of at least 1")
    make = functools.partial(
        Launch,
        models=flags.classifier,
        data=flags.data,
        metrics=flags.metric,
        optimizers=flags.opt,
        calls=flags.calls,
        suggestions=flags.suggestions,
        repeat=flags.repeat,
        timeout=flags.timeout or None,
        data_root=flags.data_root,
        optimizer_root=flags.opt_root,
    )
    killed = killed_launch(database(flags), make) if flags.db and not flags.uuid and not flags.num_jobs else None
    experiment = killed or make(uuid.UUID(flags.uuid) if flags.uuid else uuid.uuid4())
    root = experiment.seed
    assert root is not None
    flags.uuid, flags.db = root.hex, flags.db or f"bo_{root.hex[:8]}"
    print(f"Supply --uuid {root.hex} to reproduce this run.")
    print(f"Supply --dbid {flags.db} to append to this experiment or reproduce jobs file.")
    print("User must ensure equal reps of each optimizer for unbiased results", flush=True)
    if killed:
        say("The last launch of these studies did not end: it goes on (another --uuid begins a new one)")
    for notice in experiment.notices:
        say(clean(notice))
    commands = list(experiment.commands())
    if flags.verbose:
        for command in commands:
            print(" ".join(flags_of(experiment, command, flags.db_root, flags.db, retry=flags.retry)))
    if flags.num_jobs > 0:
        for refusal in experiment.plan().refused:
            say(f"refused: {clean(refusal.optimizer)} on {clean(refusal.problem)}: {clean(refusal.reason)}")
        _write_jobs(experiment, len(commands), flags, rest)
        print("done")
        return 0
    path = database(flags)
    prepare(path)
    refuse_other_batches(experiment, path)
    ids = {str(uuid.UUID(command.uuid)) for command in commands}
    experiment.elsewhere = made_elsewhere(path, ids)
    if experiment.elsewhere:
        say(f"{len(experiment.elsewhere)} of these studies are in the database, made by another tool")
    unfinished: list[Unfinished] = []
    if ids - experiment.elsewhere or not commands:
        signal.signal(signal.SIGTERM, _interrupt)
        experiment.prints = path / "log"
        with (_Logged if flags.verbose else RunProgress)(str(path / STORE), sys.stderr) as progress:
            try:
                run(experiment, path / STORE, workers=flags.workers, retry=flags.retry, progress=progress)
            except KeyboardInterrupt:
                put_into_database(path)
                progress.__exit__()
                again = _again(flags, rest)
                say_command("interrupted; what was evaluated is kept. Continue:", again, file=sys.stderr)
                return 130
            unfinished = [study for study in put_into_database(path) if str(uuid.UUID(study.uuid)) in ids]
    failures = sum(study.status in (*UNSUCCESSFUL, "interrupted") for study in unfinished)
    name_some([f"not in the database: {study.text}" for study in unfinished], flags.verbose)
    if failures:
        say_command("Run what failed again:", [*_again(flags, rest), "--retry"], file=sys.stderr)
    print(f"{failures} failures of benchmark script after {len(commands)} studies.")
    print("done")
    return 1 if failures or experiment.unloadable else 0


class _Logged(RunProgress):
    """Also prints the log of each study that ends, and what it printed, instead of bars."""

    def _start_screen(self) -> None:
        """Nothing: bars would run between the lines, and take what is printed for a pipe."""

    def ended(self, study: Study, outcome: Outcome) -> None:
        super().ended(study, outcome)
        path = Path(self.store).parent
        put_into_database(path, [study.id])
        _tell_log(path, uuid.UUID(study.id).hex)


def _tell_log(path: Path, id: str) -> None:
    print(read_log(path, id), end="", file=sys.stderr, flush=True)
    print(read_printed(path, id), end="", flush=True)


def _again(flags: argparse.Namespace, rest: Sequence[str]) -> list[str]:
    """The words of the command that continues this launch: as it was typed, with its ids."""
    words = [word for word in rest if word != "--retry"]
    for given, flag, value in (
        (("-u", "--uuid"), "--uuid", flags.uuid),
        (("-b", "--db", "--dbid"), "--dbid", flags.db),
    ):
        if not any(word == name or word.startswith(f"{name}=") for word in words for name in given):
            words += [flag, value]
    return [*program("launch").split(), *words]


def exp(flags: argparse.Namespace, _rest: Sequence[str]) -> int:
    """One study. One that fails is recorded as failed and is not an error, so that the rest of its job continues."""
    path = database(flags)
    experiment = One(
        uuid.UUID(flags.uuid),
        models=[flags.classifier],
        data=[flags.data],
        metrics=[flags.metric],
        optimizers=[flags.opt],
        calls=flags.calls,
        suggestions=flags.suggestions,
        timeout=flags.timeout or None,
        data_root=flags.data_root,
        optimizer_root=flags.opt_root,
    )
    prepare(path)
    id = str(uuid.UUID(flags.uuid))
    if made_elsewhere(path, [id]):
        say(f"study {flags.uuid} is in {path}, made by another tool")
        return 0
    signal.signal(signal.SIGTERM, _interrupt)
    experiment.prints = path / "log"
    run(experiment, path / STORE, workers=1, retry=flags.retry)
    unfinished = put_into_database(path, [id])
    if flags.verbose:
        _tell_log(path, uuid.UUID(id).hex)
    for study in unfinished:
        say(f"not in the database: {clean(study.text)}")
    return 0


def _write_jobs(experiment: Launch, studies: int, flags: argparse.Namespace, rest: Sequence[str]) -> None:
    """The jobs file, whose first lines say how it was made."""
    assert experiment.seed is not None
    jobs = job_lines(experiment, flags.num_jobs, flags.db_root, flags.db, retry=flags.retry)
    said = as_bayesmark_says(flags, dry_run=True, **{"--uuid": experiment.seed.hex})
    lines = [f"# running: {said}", f"# cmd: {typed(rest, 'launch')}", *jobs]
    write_atomically(flags.jobs_file.resolve(), ("\n".join(lines) + "\n").encode())
    print(f"{studies} studies in {len(jobs)} jobs: {flags.jobs_file}")
