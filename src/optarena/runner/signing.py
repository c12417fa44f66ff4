"""Signatures of problems, computed with the kernels that their studies would have.

As a program, `python -m optarena.runner.signing` reads a JSON list of [reference, folder] and prints one list of values
for each.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec

from optarena._json import Number, numbers
from optarena.errors import WorkError
from optarena.experiment import Plan
from optarena.problem import build
from optarena.runner.environment import for_workers

Sign: TypeAlias = Callable[[Plan, Sequence[str]], dict[str, list[float]]]


def signatures(plan: Plan, ids: Sequence[str], kernels: str | None) -> dict[str, list[float]]:
    """The signatures of some problems of a plan; kernels: those of a process to be started, None: this process."""
    here = [id for id in ids if kernels is None or id not in plan.references]
    out = {id: list(plan.problems[id].signature()) for id in here}
    there = [id for id in ids if id not in out]
    if there:
        assert kernels is not None
        base = str((plan.experiment.base or Path.cwd()).resolve())
        found = _elsewhere([(plan.references[id], base) for id in there], kernels)
        out.update(zip(there, found, strict=True))
    return out


def _elsewhere(tasks: Sequence[tuple[str, str]], kernels: str) -> list[list[float]]:
    done = subprocess.run(
        [sys.executable, "-m", "optarena.runner.signing"],
        input=msgspec.json.encode(tasks),
        capture_output=True,
        env=for_workers(kernels),
        check=False,
    )
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise WorkError(f"cannot compute the signatures of {', '.join(ref for ref, _ in tasks[:3])}: {last[0]}")
    found = msgspec.json.decode(done.stdout, type=list[list[Number]])
    return [[float(value) for value in values if value is not None] for values in found]


def main() -> None:
    """Read tasks, print signatures; what problems print goes nowhere."""
    answers = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    tasks = msgspec.json.decode(sys.stdin.buffer.read(), type=list[tuple[str, str]])
    found = [numbers(list(build(reference, Path(base)).signature())) for reference, base in tasks]
    with os.fdopen(answers, "wb") as file:
        file.write(msgspec.json.encode(found))


if __name__ == "__main__":
    main()
