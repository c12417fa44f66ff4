"""Bayesmark's files: a study's three, and the cubes in `derived` that are made of them.

They are not strict JSON: Infinity and NaN stand for themselves. What a study is to a store: `records` and `studies`.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from optarena._bayesmark_names import VISIBLE
from optarena._damage import damage_in_words, is_damage
from optarena._files import write_atomically
from optarena._text import all_without_places
from optarena.errors import OptarenaError
from optarena.traces import Floats

FOLDERS = ("eval", "time", "suggest_log", "derived", "log")
CUBE = ("iter", "suggestion", "function", "optimizer", "study_id")
RESERVED = ("eval", "time", "baseline", "perf", "summary")
"""What Bayesmark calls files of its own beside those of problems."""
MAX_SECONDS = 1e9
_HEX = re.compile(r"[0-9a-f]{32}")


@dataclass
class FileStudy:
    """What Bayesmark keeps of a study: values (iter, suggestion) by objective, times, and points by parameter."""

    uuid: str
    problem: str
    """model_data_metric"""
    method: str
    """name_version_revision"""
    values: dict[str, Floats]
    times: dict[str, Floats] = field(default_factory=dict)
    """suggest (iter,), eval (iter, suggestion), observe (iter,), in seconds."""
    points: dict[str, list[list[Any]]] = field(default_factory=dict)
    signature: tuple[list[dict[str, Any]], list[float]] = field(default_factory=lambda: ([], []))
    args: dict[str, Any] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = self.values[VISIBLE].shape
        return rows, columns


# ---- a study --------------------------------------------------------------------------------------------------------


def read_database(path: Path) -> list[FileStudy]:
    """The studies of a database folder, by uuid; from its cubes where only `derived` is left."""
    if not (path / "eval").is_dir() and not (path / "derived" / "eval.json").is_file():
        raise OptarenaError(f"{path} is not a database of Bayesmark: it has neither eval/ nor derived/eval.json")
    files = sorted((path / "eval").glob("*.json")) if (path / "eval").is_dir() else []
    if not files:
        if (path / "derived" / "eval.json").is_file():
            return read_cubes(path)
        raise OptarenaError(f"{path}/eval has no study")
    return [read_study(path, file.stem) for file in files]


def read_study(path: Path, uuid: str) -> FileStudy:
    """A study's files; times and points are optional."""
    file = path / "eval" / f"{uuid}.json"
    if not _HEX.fullmatch(uuid):
        raise OptarenaError(f"{file}: a study's file is called by its 32 hexadecimal digits")
    meta, values = _load(file)
    args = meta.get("args") or {}
    if not isinstance(args, dict):
        raise OptarenaError(f"{file}: the arguments in its meta data are not a table")
    try:
        problem, method = problem_name(args), method_name(args)
    except KeyError as error:
        raise OptarenaError(f"{file}: its meta data lacks {error}") from None
    for name in (problem, method):  # they become names of files
        if any(sign in name for sign in "/\\\0") or name.startswith(".") or name in RESERVED:
            raise OptarenaError(f"{file}: {name!r} cannot be the name of a problem or of a method")
    if VISIBLE not in values or any(value.ndim != 2 for value in values.values()):
        raise OptarenaError(f"{file}: expected {VISIBLE} by iter and suggestion, got {', '.join(values) or 'nothing'}")
    study = FileStudy(uuid, problem, method, {name: _floats(v, file) for name, v in values.items()}, args=args)
    if not study.values[VISIBLE].size:
        raise OptarenaError(f"{file}: has no evaluation")
    for name, value in study.values.items():
        if value.shape != study.shape:
            raise OptarenaError(f"{file}: {name} has the shape {value.shape}, {VISIBLE} has {study.shape}")
    signature: Any = meta.get("signature") or ([], [])
    try:
        points_of, numbers_of = signature
        study.signature = (list(points_of), [float(value) for value in numbers_of])
    except (TypeError, ValueError, OverflowError):
        raise OptarenaError(f"{file}: its signature is not a list of points and a list of numbers") from None
    times, points = path / "time" / file.name, path / "suggest_log" / file.name
    if times.is_file():
        study.times = {name: _floats(value, times) for name, value in _load(times)[1].items()}
        if study.times.get("eval", np.zeros(0)).shape != study.shape:
            raise OptarenaError(f"{times}: its evaluations are not those of {file}")
        if not all((np.isfinite(value) & (value >= 0) & (value < MAX_SECONDS)).all() for value in study.times.values()):
            raise OptarenaError(f"{times}: a time is not finite, below 0 or beyond {MAX_SECONDS:g} seconds")
        for name in ("suggest", "observe"):
            if study.times.get(name, np.zeros(0)).shape != study.shape[:1]:
                raise OptarenaError(f"{times}: expected {name} by iter, as many as in {file}")
    if points.is_file():
        study.points = {name: value.tolist() for name, value in _load(points)[1].items()}
        if any(not _is_grid(value, study.shape) for value in study.points.values()):
            raise OptarenaError(f"{points}: its points are not those of {file}")
        if any(_is_huge(cell) for rows in study.points.values() for row in rows for cell in row):
            raise OptarenaError(f"{points}: a whole number beyond 64 bits")
    return study


def _is_grid(values: Any, shape: tuple[int, int]) -> bool:
    """Whether lists are so many rows of so many cells, none of them a list."""
    rows = values if isinstance(values, list) else []
    if len(rows) != shape[0] or not all(isinstance(row, list) and len(row) == shape[1] for row in rows):
        return False
    return not any(isinstance(cell, (list, dict)) for row in rows for cell in row)


def _is_huge(cell: Any) -> bool:
    return isinstance(cell, int) and abs(cell) >= 2**63


def write_study(path: Path, study: FileStudy) -> None:
    """The three files; `eval` last, since a study is there when that is."""
    meta = {"args": study.args, "signature": list(study.signature)}
    rows, columns = study.shape
    coords = {"iter": list(range(rows)), "suggestion": list(range(columns))}

    def by_iteration(variables: Mapping[str, Any]) -> dict[str, Any]:
        return dataset(coords, {name: (("iter", "suggestion")[: np.ndim(v)], v) for name, v in variables.items()})

    for folder, variables in (("suggest_log", study.points), ("time", study.times), ("eval", study.values)):
        _dump(path / folder / f"{study.uuid}.json", meta, by_iteration(variables))


def problem_name(args: Mapping[str, Any]) -> str:
    return "_".join(str(args[key]) for key in ("--classifier", "--data", "--metric"))


def method_name(args: Mapping[str, Any]) -> str:
    return "_".join(str(args[key]) for key in ("--opt", "opt_rev", "rev"))


# ---- cubes ----------------------------------------------------------------------------------------------------------


def read_cubes(path: Path) -> list[FileStudy]:
    """The studies that `derived/eval.json` was made of, without what it does not have: ids, times and points."""
    file = path / "derived" / "eval.json"
    _must_be_there(file)
    meta, _, coords, variables = _load_whole(file)
    signatures = meta.get("signature") or {}
    if not isinstance(signatures, dict):
        raise OptarenaError(f"{file}: its signatures are not a table")
    missing = {tuple(map(str, place)) for place in meta.get("missing") or () if isinstance(place, list)}
    if VISIBLE not in variables or any(name not in coords for name in CUBE):
        raise OptarenaError(f"{file}: expected {VISIBLE} by {', '.join(CUBE)}")
    shape = tuple(len(coords[name]) for name in CUBE)
    for name, (dims, data) in variables.items():
        if sorted(dims) != sorted(CUBE) or data.transpose([dims.index(dim) for dim in CUBE]).shape != shape:
            raise OptarenaError(f"{file}: {name} is not as large as its coordinates: {', '.join(CUBE)}")
    if not all(isinstance(text, str) for name in ("function", "optimizer") for text in coords[name]):
        raise OptarenaError(f"{file}: functions and optimizers are called by texts")
    out = []
    for f, problem in enumerate(coords["function"]):
        for o, method in enumerate(coords["optimizer"]):
            for n in range(len(coords["study_id"])):
                if (problem, method, str(n)) in missing:
                    continue
                place = {"function": f, "optimizer": o, "study_id": n}
                signature: tuple[list[Any], list[float]] = ([], list(signatures.get(problem, [])))
                values = {name: _floats(_part(v, place), file) for name, v in variables.items()}
                out.append(FileStudy("", str(problem), str(method), values, signature=signature))
    return out


def _part(variable: tuple[list[str], Any], place: dict[str, int]) -> Any:
    """One study's part of a cube's variable, iterations first."""
    dims, data = variable
    order = [dims.index(dim) for dim in CUBE if dim in dims]
    return data.transpose(order)[(..., *(place[dim] for dim in CUBE[2:]))]


def signatures_of(studies: Sequence[FileStudy]) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """The median signature of each problem, and the greatest differences from it, point by point."""
    by_problem: dict[str, list[list[float]]] = {}
    for study in studies:
        if study.signature[1]:
            by_problem.setdefault(study.problem, []).append(study.signature[1])
    medians, errors = {}, {}
    for problem, rows in sorted(by_problem.items()):
        values = np.array(rows, dtype=float)
        medians[problem] = np.median(values, axis=0).tolist()
        with np.errstate(invalid="ignore"):
            errors[problem] = np.nan_to_num(np.abs(values - medians[problem])).max(axis=0).tolist()
    return medians, errors


# ---- JSON -----------------------------------------------------------------------------------------------------------


def dataset(coords: Mapping[str, Sequence[Any]], variables: Mapping[str, tuple[Sequence[str], Any]]) -> dict[str, Any]:
    """What xarray's `Dataset.to_dict` gives."""
    return {
        "coords": {n: {"dims": [n], "attrs": {}, "data": list(values)} for n, values in coords.items()},
        "attrs": {},
        "dims": {name: len(values) for name, values in coords.items()},
        "data_vars": {
            n: {
                "dims": list(dims),
                "attrs": {},
                "data": np.asarray(data).tolist() if not isinstance(data, list) else data,
            }
            for n, (dims, data) in variables.items()
        },
    }


def write_dataset(file: Path, args: Mapping[str, Any], signature: Any, data: Mapping[str, Any], **more: Any) -> None:
    """A file of `derived`; `more` stands in its meta data beside what Bayesmark has there."""
    _dump(file, {"args": dict(args), "signature": signature, **more}, data)


def left_out_of_cubes(path: Path) -> list[str]:
    """What `derived/eval.json` was not made of, in words, as its first line says where it was written here."""
    return [str(text) for text in _first_line(path).get("left_out", [])]


def files_of(path: Path) -> dict[str, Any]:
    """The studies that a database has, as `derived/eval.json` tells what it was made of: how many, and a hash."""
    files = sorted((path / "eval").glob("*.json")) if (path / "eval").is_dir() else []
    text = "\n".join(f"{file.name} {file.stat().st_size}" for file in files)
    return {"studies": len(files), "hash": hashlib.sha256(text.encode()).hexdigest()[:16]}


def signatures_in(file: Path) -> dict[str, list[float]]:
    """The signatures of problems that a derived file has; what is no list of numbers is left out."""
    found = _load_whole(file)[0].get("signature") or {}
    return {
        name: [float(value) for value in values]
        for name, values in (found.items() if isinstance(found, dict) else ())
        if isinstance(values, list) and all(isinstance(value, (int, float)) for value in values)
    }


def made_of(path: Path) -> dict[str, Any]:
    """What `derived/eval.json` was made of; where Bayesmark wrote it, only how many studies its cube has."""
    recorded = _first_line(path).get("made_of")
    return recorded if isinstance(recorded, dict) and "studies" in recorded else {"studies": len(read_cubes(path))}


def _first_line(path: Path) -> dict[str, Any]:
    """The meta data of `derived/eval.json`, read from its first line, which is theirs where it was written here."""
    file = path / "derived" / "eval.json"
    _must_be_there(file)
    with file.open("rb") as lines:
        first = lines.readline().strip().removesuffix(b",")
    try:
        return dict(json.loads(first + b"}")["meta"])
    except (ValueError, KeyError, TypeError):
        return {}


def _must_be_there(file: Path) -> None:
    if not file.is_file():
        raise OptarenaError(f"{file} is missing: optarena bayesmark agg makes it")


def _dump(file: Path, meta: Mapping[str, Any], data: Mapping[str, Any]) -> None:
    meta = all_without_places(meta)  # databases are mailed: no directories in their arguments and reasons
    write_atomically(file, f'{{"meta": {json.dumps(meta)},\n"data": {json.dumps(data)}}}\n'.encode())


def _load_whole(file: Path) -> tuple[dict[str, Any], Any, dict[str, list[Any]], dict[str, tuple[list[str], Any]]]:
    try:
        whole = json.loads(file.read_bytes())  # Python's own reader takes Infinity and NaN
        data = whole["data"]
        coords = {name: list(coord["data"]) for name, coord in data["coords"].items()}
        variables = {
            name: (list(v["dims"]), _array(v["data"], len(v["dims"]))) for name, v in data["data_vars"].items()
        }
        return dict(whole["meta"]), data, coords, variables
    except OSError as error:
        raise OptarenaError(f"{file}: {error.strerror}") from None
    except Exception as error:
        if not is_damage(error):
            raise
        what = damage_in_words(error)
        raise OptarenaError(f"{file} is not a file of Bayesmark's, meta and data ({what})") from None


def _array(data: Any, ndim: int) -> Any:
    """Nested lists as an array of objects: whole numbers, bools and texts stay what they are."""
    shape: list[int] = []
    inner = data
    for _ in range(ndim):
        shape.append(len(inner))
        inner = inner[0] if len(inner) else []
    out = np.empty(shape, dtype=object)
    out[...] = np.array(data, dtype=object).reshape(shape) if math.prod(shape) else out
    return out


def _load(file: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    meta, _, _, variables = _load_whole(file)
    return meta, {name: data for name, (_, data) in variables.items()}


def _floats(data: Any, file: Path) -> Floats:
    try:
        return np.asarray(data).astype(float)
    except (TypeError, ValueError, OverflowError):
        raise OptarenaError(f"{file}: holds something that is not a number") from None
