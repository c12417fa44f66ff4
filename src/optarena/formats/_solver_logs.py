"""Logs of solvers, one file per run, as one tidy table: whose run a file is, and which way is better.

A `manifest.csv` beside the files, or in one of the folders above them, may tell: `file`, and any of `problem`,
`optimizer` (or `configuration`), `trial`, `sense`, `budget_seconds`, `best_known`, `f_opt`. Without one, names do:
`configuration/problem.json`, or `problem__configuration__trial.json`.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from optarena.dataset import Dataset
from optarena.errors import OptarenaError, nearest
from optarena.formats._senses import MANIFEST, family_of, find_senses, stored_senses
from optarena.formats.folders import Folder
from optarena.formats.limits import is_whole
from optarena.formats.tidy import Table

COLUMNS = ("file", "problem", "optimizer", "configuration", "trial", "sense", "budget_seconds", "best_known", "f_opt")
HERE = Path()
LEVELS_ABOVE = 4  # results/<configuration>/<model>/<instance>/<instance>.csv
NUMBERS = ("trial", "budget_seconds", "best_known", "f_opt")


@dataclass
class Log:
    """One run: its solutions as rows of the tidy table, and how it ended."""

    file: str
    problem: str
    optimizer: str
    trial: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)
    end: dict[str, Any] = field(default_factory=dict)
    sense: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    model: str = ""
    """The model whose instance its problem is, where the format tells: all its instances have one sense."""
    path: str = ""
    """What the user named that has it."""

    @property
    def family(self) -> str:
        """The problems whose runs may tell the sense of this one: those of its model, or of its folder."""
        return self.model or family_of(self.problem)

    def take(self, told: dict[str, Any]) -> None:
        """Take what a row of a manifest tells."""
        facts = {key: value for key, value in told.items() if key != "where"}
        self.problem = facts.pop("problem", self.problem)
        self.optimizer = facts.pop("optimizer", self.optimizer)
        self.trial = int(facts.pop("trial", self.trial))
        self.sense = str(facts.pop("sense", self.sense)).lower()
        self.facts |= facts


class Files:
    """The files of a folder or archive, or one file by itself, and what manifests tell of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.single = path.is_file() and path.suffix in (".csv", ".json", ".jsonl", ".txt", ".log", ".out")
        self._folder = None if self.single else Folder(path)
        self._manifests = self._find_manifests()
        self._told: dict[str, list[dict[str, Any]]] = {}
        self.notices: list[str] = []
        for manifest in self._manifests:
            self._read_manifest(f"{self.path}: {manifest}", self.read(manifest) or "", below=Path(manifest).parent)
        self._above: Path | None = None
        if MANIFEST not in self._manifests and (self.single or path.is_dir()):
            self._look_above()

    def names(self, *suffixes: str) -> list[str]:
        if self._folder is None:
            return [self.path.name] if self.path.name.endswith(suffixes) else []
        return [name for name in self._folder.names(*suffixes) if Path(name).name != MANIFEST]

    def place(self, name: str) -> Path:
        """Where a file is; of an archive, in a folder of the archive's name."""
        return (self.path.parent if self.single else self.path).resolve() / name

    def read(self, name: str) -> str | None:
        """The text of a file; None where there is none."""
        if self._folder is None:
            beside = self.path.parent / name
            return beside.read_text(encoding="utf-8", errors="replace") if beside.is_file() else None
        return self._folder.read(name).decode(errors="replace") if name in self._folder else None

    def _find_manifests(self) -> list[str]:
        if self._folder is None:
            return [MANIFEST] if (self.path.parent / MANIFEST).is_file() else []
        return [name for name in self._folder.names(MANIFEST) if Path(name).name == MANIFEST]

    def _look_above(self) -> None:
        """Take the nearest manifest in a folder above what was named, if it names a file of it."""
        here = (self.path.parent if self.single else self.path).resolve()
        for folder in here.parents[:LEVELS_ABOVE]:
            manifest = folder / MANIFEST
            text = manifest.read_text(encoding="utf-8", errors="replace") if manifest.is_file() else ""
            if "file" not in text.partition("\n")[0]:  # somebody else's
                continue
            inside = here.relative_to(folder)
            if any(inside in Path((row.get("file") or "").strip()).parents for _, row in cells(text, str(manifest))[1]):
                self._above = manifest
                self._read_manifest(str(manifest), text, above=inside)
                self.notices.append(f"runs described by {manifest}")
                return

    def _read_manifest(self, where: str, text: str, *, below: Path = HERE, above: Path = HERE) -> None:
        """Take note of its rows, by the file that each names, relative to the manifest.

        below: where the manifest is, seen from what the user named; above: where that is, seen from the manifest.
        """
        columns, rows = cells(text, where)
        for name in columns:
            if name not in COLUMNS:
                raise OptarenaError(f"{where}: no column {name!r}.{nearest(name, COLUMNS)} ({', '.join(COLUMNS)})")
        if "file" not in columns:
            raise OptarenaError(f"{where} needs a column 'file'")
        for number, row in rows:
            told: dict[str, Any] = {key: value.strip() for key, value in row.items() if value and value.strip()}
            for key in NUMBERS:
                if key in told:
                    told[key] = _number(told[key], f"{where} line {number}, column {key!r}")
            trial = float(told.get("trial", 0))
            if not (trial.is_integer() and is_whole(trial)):
                raise OptarenaError(f"{where} line {number}: trial {told['trial']} is not a whole number")
            if told.get("sense", "min").lower() not in ("min", "max"):
                raise OptarenaError(f"{where} line {number}: {told['sense']!r} is not a sense: give min or max")
            if "configuration" in told:
                told["optimizer"] = told.pop("configuration")
            told["where"] = f"{where} line {number}"
            name = below / told.pop("file", "")
            if above == HERE or above in name.parents:
                self._told.setdefault(str(name.relative_to(above)), []).append(told)

    def told(self, name: str) -> list[dict[str, Any]]:
        """The rows of manifests that name a file."""
        return [dict(row) for row in self._told.get(name, ())]

    def refuse_unnamed(self, *names: str) -> None:
        """Where there is a manifest, it names every file, by one of these names."""
        over = [m for m in self._manifests if Path(m).parent in Path(names[0]).parents]
        over += [str(self._above)] if self._above else []
        if over and not any(name in self._told for name in names):
            raise OptarenaError(f"{self.path}: {over[0]} does not name {names[0]}")

    def log(self, name: str, problem: str = "", optimizer: str = "") -> Log:
        """The run that a file is of, as a manifest, the caller or its name tells, in this order."""
        self.refuse_unnamed(name)
        rows = self.told(name)
        if len(rows) > 1:
            raise OptarenaError(f"{rows[1]['where']}: names {name}, which is one run, a second time")
        by_name = _by_name(name)
        out = Log(name, problem or by_name[0], optimizer or by_name[1], by_name[2])
        if rows:
            out.take(rows[0])
        if not out.problem or not out.optimizer:
            raise OptarenaError(
                f"{self.path}: whose run is {name}? Name it problem__configuration{Path(name).suffix}, put it into a"
                f" folder named after its configuration, or write a {MANIFEST} (docs/solvers.md)"
            )
        return out


def cells(text: str, where: str) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """The columns of a CSV file, and its rows by column, each with its line; a row must be as wide as the header."""
    reader = csv.DictReader(io.StringIO(text, newline=""), restval="")
    try:
        columns = reader.fieldnames = [column.strip() for column in reader.fieldnames or ()]
        rows = [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise OptarenaError(f"{where} line {reader.line_num}: cannot be read as CSV ({error})") from None
    for number, row in rows:
        if None in row:
            raise OptarenaError(f"{where} line {number}: more cells than the {len(columns)} of the header")
    return list(columns), rows


def _by_name(name: str) -> tuple[str, str, int]:
    parts = list(Path(name).parts)
    stem = re.sub(r"\.(jsonl?|txt|log|out|csv)$", "", parts[-1])
    if len(parts) > 1:
        return "/".join([*parts[1:-1], stem]), parts[0], 0
    words = stem.split("__")
    if len(words) == 3 and words[2].isdecimal() and len(words[2]) < 16:
        return words[0], words[1], int(words[2])
    return (words[0], words[1], 0) if len(words) == 2 else ("", "", 0)


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise OptarenaError(f"{where}: {text!r} is not a number") from None


class Read(NamedTuple):
    """The runs of one path."""

    name: str
    logs: list[Log]
    notices: list[str]


def tables(read: Sequence[Read], known: Dataset | None) -> list[Table]:
    """All runs as one table per path, each with the sense of its problem."""
    for one in read:
        if not one.logs:
            raise OptarenaError(f"{one.name}: it has no run")
        for log in one.logs:
            log.path = one.name
    senses, said = find_senses([log for one in read for log in one.logs], stored_senses(known))
    out = []
    for one in read:
        rows = []
        for log in one.logs:
            head = {"problem": log.problem, "optimizer": log.optimizer, "trial": log.trial}
            head |= {"sense": senses[log.problem], **log.facts}
            rows += [{**head, **row} for row in log.rows]
            rows.append({**head, **log.end})
        families = dict.fromkeys(log.family for log in one.logs)
        notices = [*one.notices, *(text for family in families for text in said.pop(family, ()))]
        frame = pl.DataFrame(rows, infer_schema_length=None)
        if "value" not in frame.columns:  # no run found anything: it may be infeasible
            frame = frame.with_columns(value=pl.lit(None, dtype=pl.Float64))
        out.append(Table(one.name, frame, unit="event", notices=notices))
    return out
