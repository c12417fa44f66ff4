"""IOHprofiler's data folders: a JSON file a function, and text files of evaluations beside it. docs/coco.md.

A row has the value of an evaluation that a trigger logged, the last row that of the last evaluation, so improvements
are kept, or all rows where every evaluation was logged. On bbob values are f - f_opt. Nothing in a file is executed.
"""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from optarena._damage import damage_in_words, is_damage
from optarena._files import write_atomically
from optarena._version import __version__
from optarena.dataset import Dataset
from optarena.errors import OptarenaError
from optarena.formats._number_blocks import MOST, Say, blocks_of_numbers, without_cut_line
from optarena.formats.folders import Folder
from optarena.formats.from_results import Log, by_folder, logs
from optarena.formats.limits import is_dimension, is_whole, shown
from optarena.formats.runs import Run, Runs, improvements
from optarena.formats.same_run import IOH_VERSION
from optarena.problem import Known, Objective

REGISTERED = {
    "names": {"iohprofiler": ""},
    "what": "IOHprofiler's data folders, or archives of them (docs/coco.md)",
}

SUFFIXES: tuple[str, ...] = ()
FORMAT = "0.3.22"  # the version of ioh whose files these are
BBOB = (
    *("Sphere", "Ellipsoid", "Rastrigin", "BuecheRastrigin", "LinearSlope", "AttractiveSector", "StepEllipsoid"),
    *("Rosenbrock", "RosenbrockRotated", "EllipsoidRotated", "Discus", "BentCigar", "SharpRidge", "DifferentPowers"),
    *("RastriginRotated", "Weierstrass", "Schaffers10", "Schaffers1000", "GriewankRosenbrock", "Schwefel"),
    *("Gallagher101", "Gallagher21", "Katsuura", "LunacekBiRastrigin"),
)
"""What ioh calls the functions of bbob."""


def read(path: Path) -> Runs:
    """Every run of a folder or an archive; what cannot be read is named in the notices."""
    folder = Folder(path)
    out = Runs(str(path), [], folder.notices)
    names = folder.names(".json")
    if not names:
        raise OptarenaError(f"{path} has no .json file: not an IOHprofiler data folder")
    for name in names:
        try:
            data = json.loads(folder.read(name))
            _read_function(folder, name, data, out)
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
            out.notices.append(f"{name}: not valid JSON ({damage_in_words(error)}); left out")
        except Exception as error:
            if not is_damage(error):
                raise
            out.notices.append(f"{name}: not as IOHprofiler writes it ({damage_in_words(error)}); left out")
    if not out.runs:
        reasons = "; ".join(out.notices[:3])
        raise OptarenaError(f"{path}: no run can be read ({reasons or 'its .json files name none'})")
    return out


def _read_function(folder: Folder, name: str, data: dict[str, Any], out: Runs) -> None:
    def say(text: str) -> None:
        out.notices.append(f"{name}: {text}")

    number, called = int(data["function_id"]), str(data["function_name"])
    if not is_whole(number):
        raise ValueError(f"function_id {shown(number)}")
    suite = str(data["suite"]).lower()
    bbob = suite == "bbob" or (1 <= number <= 24 and called.lower() == BBOB[number - 1].lower())
    if bbob and suite != "bbob":
        say(f"suite {data['suite']!r} taken as bbob: function {number} is called {called}")
    facts = {
        "optimizer": str(data["algorithm"]["name"]),
        "suite": "bbob" if bbob else "ioh" if suite == "unknown_suite" else suite,
        "function": f"f{number}",
        "objectives": (Objective(sense="max" if data["maximization"] else "min"),),
        "known": Known(optimum=(0.0,)) if bbob else Known(),
    }
    attributes = {
        "ioh_function": called,
        IOH_VERSION: str(data["version"]),
        "ioh_info": str(data["algorithm"].get("info", "")),
        **({"values": "f - f_opt"} if bbob else {}),
    }
    for pair in data.get("experiment_attributes", []):
        attributes |= {f"ioh_{key}": str(value) for key, value in dict(pair).items()}
    for scenario in data["scenarios"]:
        file = folder.beside(name, str(scenario["path"]))
        runs = scenario["runs"]
        if file is None:
            say(f"{scenario['path']!r} points outside the folder; its {len(runs)} runs are left out")
        elif file not in folder:
            say(f"{scenario['path']} is missing; its {len(runs)} runs are left out")
        elif not is_dimension(dimension := int(scenario["dimension"])):
            say(f"{scenario['path']}: impossible dimension {shown(dimension)}; its {len(runs)} runs are left out")
        else:
            _read_scenario(folder, file, dimension, runs, facts, attributes, out)


def _read_scenario(
    folder: Folder,
    file: str,
    dimension: int,
    runs: list[dict[str, Any]],
    facts: dict[str, Any],
    attributes: dict[str, str],
    out: Runs,
) -> None:
    def say(text: str) -> None:
        out.notices.append(f"{file}: {text}")

    lines = without_cut_line(folder.read(file), say)
    heads = [i for i, line in enumerate(lines) if line[:1].isalpha() or line[:1] == b'"']
    if not heads:
        say(f"has no line that names its columns; its {len(runs)} runs are left out")
        return
    columns = [word.strip('"') for word in lines[heads[0]].decode("utf-8", "backslashreplace").split()]
    if "evaluations" not in columns[:1] or "raw_y" not in columns:
        say(f"expected columns 'evaluations raw_y …', found {' '.join(columns)[:80]!r}; its runs are left out")
        return
    blocks = blocks_of_numbers(lines, heads, say, len(columns))
    if len(blocks) < len(runs):  # some loggers name the columns once: a run begins where evaluations is 1
        blocks = [run for block in blocks for run in np.split(block, np.flatnonzero(block[1:, 0] == 1) + 1)]
    if len(blocks) != len(runs):
        say(f"has {len(blocks)} runs, its .json names {len(runs)}: those without a counterpart are left out")
    for i, (told, rows) in enumerate(zip(runs, blocks, strict=False)):
        where: Say = lambda text, i=i: say(f"run {i + 1}: {text}")  # type: ignore[misc] # noqa: E731
        if rows.shape[1] != len(columns):
            where(f"has {rows.shape[1]} columns, the first line names {len(columns)}; left out")
            continue
        if not (is_whole(int(told["instance"])) and 0 <= int(told["evals"]) <= MOST):
            where(f"impossible instance {shown(told['instance'])} or {shown(told['evals'])} evaluations; left out")
            continue
        own = {f"ioh_{k}": str(v) for k, v in told.items() if k not in ("instance", "evals", "best")}
        run = _run(dict(zip(columns, rows.T, strict=True)), dimension, told, facts, where)
        run.attributes, run.source = attributes | own, file
        out.runs.append(run)


def _run(columns: dict[str, Any], dimension: int, told: dict[str, Any], facts: dict[str, Any], say: Say) -> Run:
    evaluation, values = columns["evaluations"].astype(np.int64), columns["raw_y"]
    made = max(int(told["evals"]), int(evaluation.max(initial=0)))
    sign = -1.0 if facts["objectives"][0].sense == "max" else 1.0
    best = told.get("best") or {}
    # the file has ten decimals, the JSON all digits of the best
    at = np.flatnonzero((evaluation == best.get("evals")) & (np.abs(values - float(best.get("y", "nan"))) < 1e-9))
    values = values.copy()
    values[at] = float(best.get("y", 0.0))
    whole = 0 < made == len(evaluation) and np.array_equal(evaluation, np.arange(1, made + 1))
    compared = np.where(np.isnan(values), np.inf, values * sign)
    kept = np.arange(made) if whole else improvements(evaluation, compared)
    if not len(evaluation):
        say("has no rows")
    names = [f"x{i}" for i in range(dimension)]
    points = np.column_stack([columns[name] for name in names])[kept] if set(names) <= set(columns) else None
    rest = [name for name in columns if name not in ("evaluations", "raw_y", *names)]
    return Run(
        **facts,
        dimension=dimension,
        instance=int(told["instance"]),
        evaluations=made,
        evaluation=evaluation[kept],
        values=values[kept][:, None],
        points=points,
        metrics={name: columns[name][kept] for name in rest},
        status="done" if len(evaluation) else "failed",
        reason="" if len(evaluation) else "its file has no rows",
        whole=whole,
    )


# ---- writing -------------------------------------------------------------------------------------------------------


def write(results: Dataset, path: Path) -> None:
    """A folder an optimizer and suite, as ioh's own logger writes it; every improvement, with all digits."""
    for name, optimizer, some in by_folder(logs(results, "iohprofiler")):
        for function, group in groupby(some, key=lambda log: log.function):
            _write_function(path / name, optimizer, function, list(group))


def _maximised(run: Log) -> bool:
    """Whether f itself is written, and to be maximised; where f_opt is known it is f - f_opt, to be minimised."""
    known = run.card.known
    return run.card.objectives[0].sense == "max" and known.optimum is None and known.best_known is None


def _write_function(folder: Path, optimizer: str, function: int, every: list[Log]) -> None:
    suite = every[0].suite
    called = BBOB[function - 1] if suite == "bbob" and 1 <= function <= 24 else f"f{function}"
    scenarios = []
    for dimension, group in groupby(every, key=lambda log: log.dimension):
        runs = list(group)
        part = f"data_f{function}_{called}/IOHprofiler_f{function}_DIM{dimension}.dat"
        points = all(run.points is not None and not np.isnan(run.points).any() for run in runs)
        head = " ".join(["evaluations raw_y", *(f"x{i}" for i in range(dimension) if points)])
        text = "".join(line for run in runs for line in [f"{head}\n", *_rows(run, points)])
        write_atomically(folder / part, text.encode(), synced=False)
        scenarios.append({"dimension": dimension, "path": part, "runs": [_told(run) for run in runs]})
    data = {
        "version": FORMAT,
        "suite": suite,
        "function_id": function,
        "function_name": called,
        "maximization": _maximised(every[0]),
        "algorithm": {"name": optimizer, "info": f"written by optarena {__version__}"},
        "attributes": ["evaluations", "raw_y"],
        "scenarios": scenarios,
    }
    write_atomically(
        folder / f"IOHprofiler_f{function}_{called}.json", (json.dumps(data, indent=1) + "\n").encode(), synced=False
    )


def _told(run: Log) -> dict[str, Any]:
    out: dict[str, Any] = {"instance": run.instance, "evals": run.evaluations}
    if len(run.best):
        x = [] if run.points is None or np.isnan(run.points[-1]).any() else run.points[-1].tolist()
        out["best"] = {"evals": int(run.evaluation[-1]), "y": _values(run)[-1], "x": x}
    else:
        out["best"] = {"evals": 0, "y": 1e308, "x": []}  # JSON has no infinity
    return out


def _rows(run: Log, points: bool) -> list[str]:
    """Improvements, and a row for the last evaluation, which has the best again."""
    at, rows = run.evaluation.tolist(), list(range(len(run.best)))
    if at and run.evaluations > at[-1]:
        at, rows = [*at, run.evaluations], [*rows, rows[-1]]
    tails = [""] * len(rows)
    if points and run.points is not None:
        tails = ["".join(f" {cell!r}" for cell in run.points[row].tolist()) for row in rows]
    values = _values(run)
    return [f"{k} {values[row]!r}{x}\n" for k, row, x in zip(at, rows, tails, strict=True)]


def _values(run: Log) -> list[float]:
    values: list[float] = (-run.best if _maximised(run) else run.best).tolist()
    return values
