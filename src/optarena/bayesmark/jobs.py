"""Launches as jobs: the command of each study, and which job runs it."""

from __future__ import annotations

import random
import shlex
import uuid
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from optarena.bayesmark.launch import Command, Launch


def launcher_seed(root: uuid.UUID) -> int:
    """The seed of what the launcher itself draws."""
    return random.Random(root.int).randint(0, 2**32 - 1)


def deal(by_optimizer: Sequence[Sequence[str]], jobs: int, root: uuid.UUID) -> list[list[str]]:
    """Share commands out at random: the jobs differ by at most one command, in all and of each optimizer."""
    stream = np.random.RandomState(launcher_seed(root))
    out: list[list[str]] = [[] for _ in range(min(jobs, sum(map(len, by_optimizer))))]
    places = stream.permutation(len(out)).tolist()
    at = 0
    for commands in by_optimizer:
        for i in stream.permutation(len(commands)).tolist():
            out[places[at % len(out)]].append(commands[i])
            at += 1
    return [[job[i] for i in stream.permutation(len(job)).tolist()] for job in out]


def flags_of(launch: Launch, command: Command, root: Path, db: str, *, retry: bool = False) -> list[str]:
    """The flags of `bayesmark exp` for one study, in the order of Bayesmark's own messages.

    root, db: the directory of the databases, and the name of this one.
    """
    out = ["-c", command.model, "-d", command.data, "-o", command.optimizer, "-u", command.uuid, "-m", command.metric]
    out += ["-n", str(launch.calls), "-p", str(launch.batch), "-dir", str(root.resolve()), "-b", db]
    out += ["-dr", str(launch.data_root)] if launch.data_root is not None else []
    out += ["-t", str(launch.timeout)] if launch.timeout else []
    return [*out, "--retry"] if retry else out


def job_lines(launch: Launch, jobs: int, root: Path, db: str, *, retry: bool = False) -> list[str]:
    """One line per job: a name, and commands that can be run anywhere, since their paths are absolute."""
    assert launch.seed is not None
    own = {use.label for use in launch.optimizers if use.use != use.label}
    folder = ["-odir", str((launch.optimizer_root or Path.cwd()).resolve())]
    by_optimizer: dict[str, list[str]] = {}
    for command in launch.commands():
        words = flags_of(launch, command, root, db, retry=retry) + (folder if command.optimizer in own else [])
        by_optimizer.setdefault(command.optimizer, []).append(shlex.join(["optarena", "bayesmark", "exp", *words]))
    dealt = deal(list(by_optimizer.values()), jobs, launch.seed)
    digits = len(str(len(dealt) - 1))
    return [f"job_{launch.seed.hex[:7]}_{i:0{digits}} {' && '.join(job)}" for i, job in enumerate(dealt)]
