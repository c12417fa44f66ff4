"""A Bayesmark database with a store in it: its folders, which studies are complete, and why the others are not."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from optarena._bayesmark_names import VISIBLE, bayesmark_name
from optarena.bayesmark.files import FOLDERS, read_study, write_study
from optarena.bayesmark.logs import write_log
from optarena.bayesmark.studies import begun_studies, studies_of
from optarena.dataset import Dataset
from optarena.errors import OptarenaError
from optarena.status import UNSUCCESSFUL
from optarena.store import IN_DATABASE, Store

STORE = IN_DATABASE
"""The store of a database, in its folder."""
FEW = 10
"""Studies that are looked for one by one in its journals; of more, all are read."""


class Unfinished(NamedTuple):
    """A study that was begun or planned and that Bayesmark's files do not have as it should be."""

    uuid: str
    optimizer: str
    problem: str
    """model_data_metric"""
    trial: int
    status: str
    reason: str
    root: str
    shorter: bool
    """Whether there are files of it, from when it was to have fewer iterations."""

    @property
    def text(self) -> str:
        """In words."""
        ended = {"missing": "planned, not started", "done": "incomplete"}.get(self.status, self.status)
        why = f": {self.reason}" if self.reason else ""
        return f"{self.optimizer} on {self.problem}, repetition {self.trial} ({self.uuid}): {ended}{why}"


def prepare(path: Path) -> None:
    """Make the folders of a database."""
    try:
        for folder in FOLDERS:
            (path / folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptarenaError(f"cannot write to {path}: {error.strerror}") from error


def has_file(path: Path, study: str) -> bool:
    """Whether Bayesmark's files of a study are there."""
    return (path / "eval" / f"{uuid.UUID(study).hex}.json").is_file()


def made_elsewhere(path: Path, studies: Collection[str]) -> frozenset[str]:
    """Those of these studies that the database has and its store has not: another tool made them."""
    there = {study for study in studies if has_file(path, study)}
    if there and Store(path / STORE).exists:
        there -= set(_results_of(path, there).studies["study"])
    return frozenset(there)


def _results_of(path: Path, studies: Collection[str] | None) -> Dataset:
    """The results of a database's store: of a few studies, or of all."""
    return Dataset.of_store(path / STORE, *(studies if studies is not None and len(studies) <= FEW else ()))


def put_into_database(path: Path, only: Collection[str] | None = None) -> list[Unfinished]:
    """Write Bayesmark's files for the complete studies of a database's store that lack them; the others.

    only: the studies to look at, if not all.
    """
    if not Store(path / STORE).exists:
        return []
    results = _results_of(path, only)
    frame = results.studies
    rows = {row["study"]: row for row in frame.iter_rows(named=True) if only is None or row["study"] in only}

    def wanted(study: str) -> bool:
        if study not in rows:
            return False
        if not has_file(path, study):
            return True
        return read_study(path, uuid.UUID(study).hex).values[VISIBLE].size != rows[study]["evaluations"]

    studies, left_out = studies_of(results, path, wanted)
    for study in studies:
        write_study(path, study)
        write_log(path, study)
    out = []
    for id, row in rows.items():
        there = has_file(path, id)
        if not there or row["status"] != "done":
            reason = left_out.get(id, "") if row["status"] == "done" else row["reason"] or ""
            name = bayesmark_name(row["problem"])
            told = (row["trial"], row["status"], reason, row["root"])
            out.append(Unfinished(uuid.UUID(id).hex, row["optimizer"], name, *told, there))
    ends = {study.uuid: study for study in out if study.status in UNSUCCESSFUL}
    for begun in begun_studies(results, path, {str(uuid.UUID(id)) for id in ends}):
        write_log(path, begun, f"{ends[begun.uuid].status}: {ends[begun.uuid].reason}")
    return out
