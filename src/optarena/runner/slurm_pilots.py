"""Pilots as one array of SLURM jobs, submitted by submitit: the run goes on without the process that submitted it.

A pilot near its time limit gets a signal, stops in order, gives back its chunks and is put into the queue again. So it
is when its node fails or somebody needs it.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time as clock
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, NoReturn

from optarena._files import write_atomically
from optarena._process import usable_cores
from optarena.errors import OptarenaError, WorkError
from optarena.experiment import Experiment
from optarena.runner.ending import stop
from optarena.runner.pilot import Announced, Requeued, Stopped, announce, pilot
from optarena.store import RunFile, Store

MINUTES = 60
"""How long a pilot may run where no time is given; it is requeued then."""
SIGNAL_SECONDS = 90
"""How long before its end a job gets the signal; a sixth of its time if that is less. SLURM may be a minute early."""
OFTEN = 1_000_000
TRIES = 5
"""How often SLURM is asked to requeue a job: it may be busy."""


class Submitted(NamedTuple):
    """Pilots in SLURM's queue; no job where there is nothing left to do."""

    job: str
    announced: Announced
    logs: Path | None = None
    """Where what jobs print goes."""


class Flight:
    """What a job does; when it gets its signal, the pilot stops in order, and then the job is requeued.

    Until the pilot begins, submitit answers the signal: it asks `checkpoint` what is to be done next, the same again.
    """

    def __init__(self, store: str, run: str, workers: int | None) -> None:
        self.store, self.run, self.workers = store, run, workers

    def __call__(self, number: int) -> str:
        import submitit

        requeued = False

        def end(which: int, _frame: FrameType | None) -> NoReturn:
            nonlocal requeued
            for one in (again, signal.SIGTERM):
                signal.signal(one, signal.SIG_IGN)
            requeued = which == again
            raise Requeued if requeued else Stopped

        again = getattr(signal, f"SIG{submitit.JobEnvironment.USR_SIG}")
        try:
            signal.signal(again, end)
            signal.signal(signal.SIGTERM, end)  # of scancel, or where others need the node: SLURM decides what is next
            how = pilot(self.store, self.run, number=number, workers=self.workers or given_cores()).how
        except Stopped:
            how = "stopped"
        if how == "stopped" and requeued and not self._is_over():
            _requeue(submitit.JobEnvironment().job_id)
            sys.exit(1)
        return how

    def _is_over(self) -> bool:
        head = Store(self.store).run(self.run)
        return head is None or head.ended is not None

    def checkpoint(self, number: int) -> Any:
        import submitit

        return submitit.helpers.DelayedSubmission(self, number)


def given_cores() -> int:
    """The cores that SLURM gives this job, of which not all may be for its processes."""
    given = os.environ.get("SLURM_CPUS_ON_NODE", "")
    return min(int(given), usable_cores()) if given.isdecimal() and int(given) else usable_cores()


def _requeue(job: str) -> None:
    """Put this job into the queue again: SLURM then ends all its processes, the one that asks, too."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # also in what we start
    for left in reversed(range(TRIES)):
        asked = subprocess.run(["scontrol", "requeue", job], capture_output=True, text=True, check=False)
        if asked.returncode <= 0:
            return
        if left:
            clock.sleep(2)
    raise WorkError(f"SLURM did not requeue job {job}: {asked.stderr.strip()}")


def submit(
    experiment: Experiment,
    store: str | Path,
    *,
    nodes: int = 1,
    time: str | None = None,
    partition: str | None = None,
    flags: Sequence[str] = (),
    workers: int | None = None,
    retry: bool = False,
    new: bool = False,
    kernels: str = "pinned",
) -> Submitted:
    """Submit an array of pilots, one per node, for what the store lacks; returns at once.

    nodes: how many; fewer are submitted where there are fewer studies.
    flags: more for sbatch, such as --account=physics. workers: processes of a pilot, by default the CPUs that SLURM
    gives it.
    """
    try:
        import submitit
    except ImportError:
        raise OptarenaError("submitit is not installed: pip install 'optarena[slurm]'") from None
    if shutil.which("sbatch") is None:
        raise OptarenaError("there is no SLURM here: the command sbatch is missing")
    if not 1 <= nodes <= 10_000:
        raise OptarenaError(f"--nodes: expected a whole number from 1 to 10,000, got {nodes}")
    minutes = MINUTES if time is None else minutes_of(time)
    more = as_parameters(flags)
    place = Store(store)
    _refuse_queued(place)
    made = announce(experiment, store, pilots=nodes, retry=retry, new=new, kernels=kernels)
    if made.run is None:
        return Submitted("", made)
    folder = _folder(place, made.run)
    executor = submitit.AutoExecutor(folder=str(folder.resolve()), cluster="slurm", slurm_max_num_timeout=OFTEN)
    parameters = {
        "name": f"optarena-{made.run.id}",
        "timeout_min": minutes,
        "slurm_signal_delay_s": min(SIGNAL_SECONDS, minutes * 10),
        "slurm_array_parallelism": made.run.pilots,
        "slurm_additional_parameters": {"requeue": True, **more},
        "slurm_partition": partition,
        "cpus_per_task": workers,
        # srun does not take this from sbatch, from SLURM 22.05 on
        "slurm_srun_args": None if workers is None else ["--cpus-per-task", str(workers)],
    }
    executor.update_parameters(**{name: value for name, value in parameters.items() if value is not None})
    flight = Flight(str(place.path.resolve()), made.run.id, workers)
    try:
        jobs = executor.map_array(flight, list(range(1, made.run.pilots + 1)))
    except (submitit.core.utils.FailedJobError, subprocess.CalledProcessError, OSError) as error:
        stop(place.path, made.run.id, "failed")
        raise WorkError(f"sbatch refused the jobs: {str(error).strip().splitlines()[-1]}") from error
    job = str(jobs[0].job_id).partition("_")[0]
    write_atomically(folder / "job", job.encode())
    return Submitted(job, made, folder)


def cancel(store: str | Path, runs: Sequence[RunFile]) -> list[str]:
    """Take the pilots of some runs out of SLURM's queue; those that run have been asked to stop. The jobs."""
    out = []
    for run in runs:
        job = _job(Store(store), run)
        if job and shutil.which("scancel"):
            subprocess.run(["scancel", "--state=PENDING", job], capture_output=True, check=False)
            out.append(job)
    return out


def _folder(store: Store, run: RunFile) -> Path:
    """Where submitit keeps its files: jobs read them after the run has ended, too."""
    return store.pilots(f"slurm-{run.id}")


def _job(store: Store, run: RunFile) -> str:
    try:
        text = (_folder(store, run) / "job").read_text()
    except OSError:
        return ""
    return text if text.isdecimal() else ""


def _refuse_queued(store: Store) -> None:
    for run in store.runs() if store.exists else ():
        if run.pilots and run.ended is None and (job := _job(store, run)):
            asked = subprocess.run(["squeue", "--noheader", "--job", job], capture_output=True, text=True, check=False)
            if asked.returncode and "invalid job id" not in asked.stderr.lower():  # which is one that ended long ago
                raise OptarenaError(
                    f"squeue does not say whether pilots of {store.path} wait in SLURM's queue, job {job}"
                    f" ({asked.stderr.strip() or f'exit code {asked.returncode}'}); try again, or stop them"
                    f" (optarena cancel {store.path})"
                )
            if asked.stdout.strip():
                raise OptarenaError(
                    f"store {store.path} has pilots in SLURM's queue, job {job}; wait for them, or stop them"
                    f" (optarena cancel {store.path})"
                )


def minutes_of(time: str) -> int:
    """SLURM's time limits: M, M:S, H:M:S, D-H, D-H:M or D-H:M:S."""
    found = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", time)
    if found is None:
        raise OptarenaError(f"--time: expected minutes, H:M:S or D-H:M:S, got {time!r}")
    days, *rest = found.groups()
    numbers = [int(part) for part in rest if part is not None]
    if days is not None:
        hours, minutes, seconds = [*numbers, 0, 0][:3]
    else:
        hours, minutes, seconds = numbers if len(numbers) == 3 else (0, *[*numbers, 0][:2])
    total = ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds
    if not total:
        raise OptarenaError(f"--time: expected some time, got {time!r}")
    return -(-total // 60)


def as_parameters(flags: Sequence[str]) -> dict[str, str | bool]:
    """Flags of sbatch, `--name=value`, `--name value` or `--name`, by name."""
    out: dict[str, str | bool] = {}
    name = ""
    for word in flags:
        if word.startswith("--"):
            name, given, value = word[2:].partition("=")
            out[name] = value if given else True
        elif name and out[name] is True:
            out[name] = word
        else:
            raise OptarenaError(f"sbatch flags: expected --name=value, got {word!r}")
    return out
