"""A real SLURM on this machine, with one node, for tests: started in a directory, ended with the test."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from waiting import wait_for

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol")
CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={place}/munge.socket,cred_expire=20
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd.pid
SlurmdSpoolDir={place}/spool
StateSaveLocation={place}/state
SlurmctldLogFile={place}/slurmctld.log
SlurmdLogFile={place}/slurmd.log
SlurmdParameters=config_overrides
SwitchType=switch/none
MpiDefault=none
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
InactiveLimit=0
KillWait=10
MinJobAge=300
JobRequeue=1
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=1000 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> list[str]:
    """What this machine lacks; `apt-get install slurmctld slurmd slurm-client munge` brings it."""
    path = os.environ["PATH"] + ":/usr/sbin"
    return [name for name in PROGRAMS if shutil.which(name, path=path) is None] + (["root"] if os.getuid() else [])


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@contextlib.contextmanager
def running(place: Path) -> Iterator[dict[str, str]]:
    """SLURM, ready for jobs; the variables by which its commands find it."""
    place.chmod(0o755)
    for name in ("spool", "state"):
        (place / name).mkdir()
    key = place / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    host = socket.gethostname().partition(".")[0]
    config = place / "slurm.conf"
    config.write_text(CONFIGURATION.format(host=host, place=place, ports=_free_ports(2)))
    environment = os.environ | {"SLURM_CONF": str(config), "PATH": os.environ["PATH"] + ":/usr/sbin"}
    names = {name: place / f"munge.{name}" for name in ("socket", "pid", "log", "seed")}
    options = [f"--{'socket' if name == 'socket' else f'{name}-file'}={path}" for name, path in names.items()]
    commands = [
        ["munged", "-F", "--force", f"--key-file={key}", *options],
        ["slurmctld", "-D", "-f", str(config)],
        ["slurmd", "-D", "-f", str(config), "-N", host],
    ]
    started: list[subprocess.Popen] = []

    def asked(*command: str) -> str:
        return subprocess.run(command, env=environment, capture_output=True, text=True).stdout.strip()

    with (place / "out.log").open("wb") as log:
        try:
            for command in commands:
                started.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
                if command[0] == "munged":
                    wait_for(names["socket"].exists, 30)

            wait_for(lambda: asked("sinfo", "-h", "-o", "%T") == "idle", 60)
            yield {"SLURM_CONF": str(config), "PATH": environment["PATH"]}
        finally:
            asked("scancel", "--user=root")
            with contextlib.suppress(AssertionError):  # who ends SLURM before its jobs leaves them running
                wait_for(lambda: not asked("squeue", "--noheader"), 60)
            for process in reversed(started):
                process.terminate()
            for process in started:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(20)
                process.kill()
