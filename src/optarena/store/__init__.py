"""The store: a directory with the traces of any number of experiments (`journal` writes, `results` reads)."""

from __future__ import annotations

import os
import sys
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from optarena.errors import OptarenaError, WorkError
from optarena.store.records import FORMAT_VERSION, refuse_newer

if TYPE_CHECKING:
    from optarena.experiment import Plan

PARTS = ("journal", "shards", "runs")


class PlannedStudy(msgspec.Struct, array_like=True):
    """A study that a run means to do: what status needs to say that it is missing."""

    id: str
    optimizer: str
    problem: str
    trial: int


class RunFile(msgspec.Struct):
    """What a run means to do, in `runs/<id>.json`."""

    id: str
    root: str
    time: float
    argv: list[str]
    experiment: dict[str, Any]
    studies: list[PlannedStudy]
    refused: list[tuple[str, str, str]]
    version: int = FORMAT_VERSION


class Store:
    """The paths of a store and its run files."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @property
    def journals(self) -> Path:
        return self.path / "journal"

    @property
    def exists(self) -> bool:
        return any((self.path / part).is_dir() for part in PARTS)

    def create(self) -> None:
        """Make the directories; a directory with other things in it, or one that cannot be written, is refused."""
        try:
            if self.path.exists() and not self.exists and any(self.path.iterdir()):
                raise OptarenaError(f"{self.path} is not a store and is not empty: name another directory")
            for part in ("journal", "runs"):
                (self.path / part).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OptarenaError(f"cannot write to {self.path}: {error.strerror}") from error

    def must_exist(self) -> None:
        if not self.exists:
            what = "is not a store" if self.path.exists() else "does not exist"
            raise OptarenaError(f"store {self.path} {what}; 'optarena run … --store {self.path}' makes one")

    def runs(self) -> list[RunFile]:
        """Every run that this store knows of, oldest first."""
        out = []
        for path in sorted((self.path / "runs").glob("*.json")):
            data = path.read_bytes()
            refuse_newer(path, data)
            try:
                out.append(msgspec.json.decode(data, type=RunFile))
            except msgspec.DecodeError as error:
                raise OptarenaError(f"{path}: not a run file ({error})") from error
        return sorted(out, key=lambda run: run.time)

    def root(self) -> uuid.UUID | None:
        """The root of the newest run: the same command on the same store goes on under it."""
        runs = self.runs() if self.exists else []
        return uuid.UUID(runs[-1].root) if runs else None

    def write_run(self, plan: Plan) -> RunFile:
        """Say what is going to be done, before it is done: written beside and renamed, so never half there."""
        run = RunFile(
            id=uuid.uuid4().hex[:12],
            root=str(plan.root),
            time=time.time(),
            argv=["optarena", *sys.argv[1:]] if Path(sys.argv[0]).name == "optarena" else [],
            experiment=plan.experiment.to_data(),
            studies=[PlannedStudy(s.id, s.optimizer.label, s.problem, s.trial) for s in plan.studies],
            refused=[(r.optimizer, r.problem, r.reason) for r in plan.refused],
        )
        path = self.path / "runs" / f"{run.id}.json"
        try:
            with path.with_suffix(".tmp").open("wb") as file:
                file.write(msgspec.json.encode(run))
                file.flush()
                os.fsync(file.fileno())
            path.with_suffix(".tmp").rename(path)
        except OSError as error:
            raise WorkError(f"cannot write to {path}: {error.strerror}") from error
        return run
