"""MiniZinc's streams of JSON lines, one file per run, as `minizinc --json-stream -i --output-time --output-objective
--output-mode json` prints them. Whose run a file is, its name or a manifest tells (see `_solver_logs`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from optarena.dataset import Dataset
from optarena.errors import OptarenaError
from optarena.formats._solver_logs import Files, Log, Read, tables
from optarena.formats.tidy import Table
from optarena.status import SATISFIABLE

REGISTERED = {
    "names": {"minizinc": ""},
    "what": "MiniZinc's JSON streams, one file per run (docs/solvers.md)",
    "writes": False,
}

SUFFIXES = (".jsonl", ".json", ".txt", ".log", ".out")
SATISFY = "satisfy"
"""What MiniZinc's statistics say of a model without an objective: a solution has the value 0."""
COUNTERS = {"nodes": "effort.nodes", "failures": "effort.conflicts", "restarts": "effort.restarts"}
SENSES = {"minimize": "min", "maximize": "max", SATISFY: "min"}
WANTED = "minizinc --json-stream -i --output-time --output-objective --output-mode json"


def read_together(paths: Sequence[Path], known: Dataset | None) -> list[Table]:
    """The runs of all paths, each a folder, an archive or the file of one run."""
    return tables([_read(path) for path in paths], known)


def _read(path: Path) -> Read:
    files = Files(path)
    return Read(str(path), [_run(files, name) for name in files.names(*SUFFIXES)], files.notices)


def _run(files: Files, name: str) -> Log:
    log = files.log(name)
    counters: dict[str, float] = {}
    last: dict[str, Any] = {}
    satisfied = False
    for number, line in enumerate((files.read(name) or "").splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{files.path}: {name} line {number}"
        try:
            told = msgspec.json.decode(line)
            kind = told["type"]
        except (msgspec.DecodeError, KeyError, TypeError):
            raise OptarenaError(f"{where}: not a line of MiniZinc's stream ({WANTED})") from None
        if kind == "solution":
            log.rows.append({**_solution(told, where), "where": where})
        elif kind == "statistics":
            numbers = told.get("statistics")
            numbers = numbers if isinstance(numbers, dict) else {}
            log.sense = log.sense or SENSES.get(str(numbers.get("method")), "")
            satisfied |= numbers.get("method") == SATISFY
            counters |= {ours: float(numbers[key]) for key, ours in COUNTERS.items() if _is_number(numbers.get(key))}
        elif kind == "status":
            last = {"status": str(told.get("status", "")).lower().replace("_", " ")}
            if _is_number(told.get("time")):
                last["seconds"] = told["time"] * 1e-3
        elif kind == "error":
            last = {"status": "failed", "reason": f"{told.get('what', 'error')}: {told.get('message', '')}"}
    log.rows = [_valued(row, satisfied) for row in log.rows[: 1 if satisfied else None]]
    if satisfied and log.rows:  # the first solution is all that was asked for
        last = {"status": SATISFIABLE, "seconds": log.rows[0]["seconds"]}
    # a run that was stopped may print no status
    log.end = {**(last or {"status": "feasible" if log.rows else "unknown"}), **counters}
    return log


def _valued(row: dict[str, Any], satisfied: bool) -> dict[str, Any]:
    """A solution with its value: 0 where the model has no objective."""
    where = row.pop("where")
    if satisfied:
        return {**row, "value": 0.0}
    if row["value"] is None:
        raise OptarenaError(f"{where}: a solution without an objective: run {WANTED} -s")
    return row


def _solution(told: dict[str, Any], where: str) -> dict[str, Any]:
    output = told.get("output", {})
    values = output.get("json") if isinstance(output, dict) else None
    value = values.get("_objective") if isinstance(values, dict) else None
    if value is not None and not _is_number(value):
        raise OptarenaError(f"{where}: an objective that is not a number: run {WANTED}")
    if not _is_number(told.get("time")):
        raise OptarenaError(f"{where}: a solution without a time: run {WANTED}")
    return {"value": None if value is None else float(value), "seconds": told["time"] * 1e-3}


def _is_number(value: Any) -> bool:
    """Whether it is one, and not a whole number beyond all floats."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300
