"""aries-bench's CSV files: one file per run, or what its `collect` gathers in `<configuration>/results.csv`.

Columns: `type` (start, new_solution), `num_solutions`, `objective`, `time` or `time(us)` in microseconds,
`num_decisions`, `num_conflicts`, `num_dom_updates`, `num_restarts`; gathered ones begin with `problem` and `flatzinc`.
A run's own file is `<configuration>/<problem>/<instance>/<instance>.csv`; what the solver printed is beside it as
`.dzn`, and tells whether the optimum was proved.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from optarena.dataset import Dataset
from optarena.errors import OptarenaError, nearest
from optarena.formats._solver_logs import Files, Log, Read, cells, tables
from optarena.formats.tidy import Table

REGISTERED = {
    "names": {"aries": ""},
    "what": "aries-bench's CSV files and folders (docs/solvers.md)",
    "writes": False,
}

SUFFIXES = (".csv",)
GATHERED = "results.csv"
COUNTERS = {
    "num_decisions": "decisions",
    "num_conflicts": "effort.conflicts",
    "num_dom_updates": "effort.dom_updates",
    "num_restarts": "effort.restarts",
}
NEEDED = ("type", "objective")
TIMES = ("time(us)", "time")


def read_together(paths: Sequence[Path], known: Dataset | None) -> list[Table]:
    """The runs of all paths, whose models have one sense each, there and in the store."""
    return tables([_read(path) for path in paths], known)


def _read(path: Path) -> Read:
    """Every run of a folder (results, or one configuration of them), an archive of one, or a file."""
    files = Files(path)
    names = files.names(".csv")
    gathered = {str(Path(name).parent) for name in names if Path(name).name == GATHERED}
    logs: list[Log] = []
    for name in names:
        if Path(name).name == GATHERED:
            logs += _gathered(files, name)
        elif not any(str(parent) in gathered for parent in Path(name).parents):
            logs.append(_single(files, name))
    return Read(str(path), logs, files.notices)


def _parsed(files: Files, name: str) -> list[tuple[int, dict[str, str]]]:
    columns, rows = cells(files.read(name) or "", f"{files.path}: {name}")
    lacking = [column for column in NEEDED if column not in columns]
    if lacking or not any(column in columns for column in TIMES):
        raise OptarenaError(f"{files.path}: {name} is not from aries-bench: no column {(lacking or [TIMES[0]])[0]!r}")
    return rows


def _gathered(files: Files, name: str) -> list[Log]:
    """The runs of one configuration, in the order of the file."""
    folder = Path(name).parent
    configuration = "/".join(folder.parts) or files.place(name).parent.name
    logs: dict[tuple[str, str], Log] = {}
    for number, row in _parsed(files, name):
        if "problem" not in row or "flatzinc" not in row:
            raise OptarenaError(f"{files.path}: {name} has no columns 'problem' and 'flatzinc'")
        model, instance = key = (row["problem"], row["flatzinc"])
        if key not in logs:
            logs[key] = Log(name, f"{model}/{instance}", configuration, model=model)
            own = folder / model / instance / instance
            logs[key].end = _ending(files, f"{own}.dzn")
            files.refuse_unnamed(name, f"{own}.csv")
            for told in [*_selected(files, name, model, f"{model}/{instance}"), *files.told(f"{own}.csv")]:
                logs[key].take(told)
        _take(logs[key], row, f"{files.path}: {name} line {number}")
    known = {text for model, instance in logs for text in (model, f"{model}/{instance}")}
    for told in files.told(name):
        if "problem" in told and told["problem"] not in known:
            hint = nearest(told["problem"], known)
            raise OptarenaError(f"{told['where']}: {name} has no problem {told['problem']!r}.{hint}")
    return list(logs.values())


def _selected(files: Files, name: str, model: str, problem: str) -> list[dict[str, Any]]:
    """What a manifest says about a gathered run: of its file, of its model, of its problem; the last counts most."""
    rows = [row for row in files.told(name) if row.get("problem") in (None, model, problem)]
    rows.sort(key=lambda row: [None, model, problem].index(row.pop("problem", None)))
    return rows


def _single(files: Files, name: str) -> Log:
    path = Path(name)
    place = files.place(name)  # whatever part of the results was named, its runs have the same names
    if len(place.parts) > 4 and place.parts[-2] == path.stem:
        model = place.parts[-3]
        configuration = "/".join(path.parts[:-3]) or place.parts[-4]
        log = files.log(name, f"{model}/{path.stem}", configuration)
        log.model = model if log.problem == f"{model}/{path.stem}" else ""
    else:
        log = files.log(name)
    log.end = _ending(files, str(path.with_suffix(".dzn")))
    for number, row in _parsed(files, name):
        _take(log, row, f"{files.path}: {name} line {number}")
    return log


def _take(log: Log, row: dict[str, str], where: str) -> None:
    kind = (row["type"] or "").strip()
    if kind == "start":
        return
    if kind != "new_solution":
        raise OptarenaError(f"{where}: type {kind!r} is neither 'start' nor 'new_solution'")
    try:
        out: dict[str, Any] = {"value": float(row["objective"])}
        out["seconds"] = float(next(row[column] for column in TIMES if row.get(column))) * 1e-6
        out.update({ours: float(row[theirs]) for theirs, ours in COUNTERS.items() if row.get(theirs)})
    except (ValueError, TypeError, StopIteration):
        raise OptarenaError(f"{where}: a solution needs numbers as objective and time") from None
    log.rows.append(out)


def _ending(files: Files, name: str) -> dict[str, Any]:
    """What a run's own output says about its end, where it exists."""
    text = files.read(name)
    if text is None:
        return {"status": "unknown"}
    if "=====UNSATISFIABLE=====" in text:
        return {"status": "infeasible"}
    proved = any(line.strip() == "==========" for line in text.splitlines())
    return {"status": "optimal" if proved else "feasible" if "----------" in text else "unknown"}
