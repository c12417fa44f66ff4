"""Logs of solvers, a file a run, as one tidy table: whose run a file is, and which way is better.

A `manifest.csv` beside the files may tell: `file`, and any of `problem`, `optimizer` (or `configuration`), `trial`,
`sense`, `budget_seconds`, `best_known`, `f_opt`. Without one, names do: `configuration/problem.json`, or
`problem__configuration__trial.json`.
"""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from optarena.errors import OptarenaError, nearest
from optarena.formats.folders import Folder
from optarena.formats.tidy import Table

MANIFEST = "manifest.csv"
TOLD = ("file", "problem", "optimizer", "configuration", "trial", "sense", "budget_seconds", "best_known", "f_opt")
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


class Files:
    """The files of a folder or archive, or one file by itself, and what a manifest tells of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.single = path.is_file() and path.suffix in (".csv", ".json", ".jsonl", ".txt", ".log", ".out")
        self._folder = None if self.single else Folder(path)
        self.manifest = self._told()

    def names(self, *suffixes: str) -> list[str]:
        if self._folder is None:
            return [self.path.name] if self.path.name.endswith(suffixes) else []
        return [name for name in self._folder.names(*suffixes) if Path(name).name != MANIFEST]

    def read(self, name: str) -> str | None:
        """The text of a file; None where there is none."""
        if self._folder is None:
            beside = self.path.parent / name
            return beside.read_text(encoding="utf-8", errors="replace") if beside.is_file() else None
        return self._folder.read(name).decode(errors="replace") if name in self._folder else None

    def _told(self) -> dict[str, dict[str, Any]]:
        text = self.read(MANIFEST)
        if text is None:
            return {}
        out: dict[str, dict[str, Any]] = {}
        columns, rows = cells(text, f"{self.path}: {MANIFEST}")
        for name in columns:
            if name not in TOLD:
                raise OptarenaError(
                    f"{self.path}: {MANIFEST}: no column {name!r}.{nearest(name, TOLD)} ({', '.join(TOLD)})"
                )
        if "file" not in columns:
            raise OptarenaError(f"{self.path}: {MANIFEST} needs a column 'file'")
        for number, row in rows:
            told: dict[str, Any] = {key: value.strip() for key, value in row.items() if value and value.strip()}
            for key in NUMBERS:
                if key in told:
                    told[key] = _number(told[key], f"{self.path}: {MANIFEST} line {number}, column {key!r}")
            if not float(told.get("trial", 0)).is_integer():
                raise OptarenaError(f"{self.path}: {MANIFEST} line {number}: trial {told['trial']} is no whole number")
            if "configuration" in told:
                told["optimizer"] = told.pop("configuration")
            out[told.pop("file", "")] = told
        return out

    def log(self, name: str) -> Log:
        """The run that a file is of, as the manifest or its name tells."""
        told = dict(self.manifest.get(name, {}))
        if self.manifest and name not in self.manifest:
            raise OptarenaError(f"{self.path}: {MANIFEST} does not name {name}")
        problem, optimizer, trial = _by_name(name)
        out = Log(
            name,
            told.pop("problem", problem),
            told.pop("optimizer", optimizer),
            int(told.pop("trial", trial)),
            facts=told,
        )
        out.sense = str(told.pop("sense", "")).lower()
        if not out.problem or not out.optimizer:
            raise OptarenaError(
                f"{self.path}: whose run is {name}? Name it problem__configuration{Path(name).suffix}, put it into a"
                f" folder that is called as its configuration, or write a {MANIFEST} (docs/solvers.md)"
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
    if len(words) == 3 and words[2].isdecimal():
        return words[0], words[1], int(words[2])
    return (words[0], words[1], 0) if len(words) == 2 else ("", "", 0)


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise OptarenaError(f"{where}: {text!r} is not a number") from None


def table(name: str, logs: list[Log]) -> Table:
    """All runs as one table; which way is better is found from how their objectives change, where nobody tells."""
    if not logs:
        raise OptarenaError(f"{name}: there is no run in it")
    senses = _senses(name, logs)
    rows = []
    for log in logs:
        head = {"problem": log.problem, "optimizer": log.optimizer, "trial": log.trial, "sense": senses[log.problem]}
        head |= log.facts
        rows += [{**head, **row} for row in log.rows]
        rows.append({**head, **log.end})
    return Table(name, pl.DataFrame(rows, infer_schema_length=None), unit="event")


def _senses(name: str, logs: list[Log]) -> dict[str, str]:
    """Solutions of one run only ever improve: whether they rise or fall tells the sense of their problem."""
    told: dict[str, set[str]] = defaultdict(set)
    for log in logs:
        values = [row["value"] for row in log.rows]
        if log.sense:
            told[log.problem].add(log.sense)
        else:
            told[log.problem] |= {"max" if b > a else "min" for a, b in pairwise(values) if a != b}
    for problem, found in told.items():
        if len(found) > 1:
            raise OptarenaError(
                f"{name}: the objectives of {problem} rise here and fall there, so nobody knows which way is better:"
                f" say it in a {MANIFEST} with the columns 'file' and 'sense' (min or max)"
            )
    return defaultdict(lambda: "min", {problem: next(iter(found)) for problem, found in told.items() if found})
