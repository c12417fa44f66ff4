"""Instances in files: mixed-integer programs (`folder/*.mps`) and MiniZinc models (`folder/model.mzn:*.dzn`).

A problem's id is the name of its file, without the folder. What is known of the files of a folder may stand in a
`known.toml` beside them:

    [optimum]
    "p0033.mps" = 3089
    [best_known]
    "golomb.mzn:09.dzn" = 44
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import numpy as np

from optarena import _patterns
from optarena._files import read_toml
from optarena.errors import OptarenaError
from optarena.instance import Instance, Linear
from optarena.problem import Known, Objective
from optarena.problems import _mps
from optarena.registry import Reference
from optarena.sense import Sense

REGISTERED = {"opens": [".mps", ".mps.gz", ".mzn"]}

MPS = (".mps", ".mps.gz")
DATA = (".dzn", ".json")
KNOWN = ("optimum", "best_known")


def select_references(reference: Reference) -> list[str]:
    """The files that a pattern stands for; the names of a model and of its data may have wildcards and braces."""
    out: dict[str, None] = {}
    for text in _patterns.expand_braces(reference.text):
        one = Reference.of(text, reference.base)
        for model in _found(one.place, reference.base):
            folder = Path(model).parent
            data = _found(str(folder / one.part), reference.base) if one.part else ()
            out.update({f"{model}:{Path(found).relative_to(folder)}": None for found in data} or {model: None})
    return list(out)


def _found(file: str, base: Path | None) -> list[str]:
    place = (base or Path.cwd()) / file
    if place.is_file() or not _patterns.has_glob(file):
        return [file]
    found = sorted(path for path in place.parent.glob(place.name) if path.is_file())
    if not found:
        raise OptarenaError(f"no file matches {place}")
    return [str(Path(file).parent / path.name) for path in found]


def open_reference(reference: Reference) -> Instance:
    """The instance in a file."""
    path = reference.path.resolve()
    out: Instance
    if reference.form in MPS:
        out = Mip(path)
    else:
        out = MiniZincModel(path, path.parent / reference.part if reference.part else None)
    out.id = f"{path.name}:{reference.part}" if reference.part else path.name
    out.known = _known(path.parent / "known.toml", out.id)
    return out


def _known(path: Path, id: str) -> Known:
    if not path.is_file():
        return Known()
    data = read_toml(path)
    for kind, table in data.items():
        if kind not in KNOWN or not isinstance(table, dict):
            raise OptarenaError(f"{path}: expected the tables {' and '.join(KNOWN)}, got {kind!r}")
    found: dict[str, tuple[float]] = {}
    for kind in KNOWN:
        value = data.get(kind, {}).get(id)
        if value is not None:
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise OptarenaError(f"{path}: {kind}.{id}: expected a number, got {value!r}")
            found[kind] = (float(value),)
    return Known(**found)  # type: ignore[arg-type]


class Mip(Instance):
    """A mixed-integer program in an MPS file. A solution has a value for each column, in the order of the file."""

    forms = ("linear", "file")

    def __init__(self, path: Path) -> None:
        self.source, self.suite, self.function = path, "mip", path.name.removesuffix(".gz").removesuffix(".mps")
        model = self.model
        self.size = model.columns
        self.objectives = (Objective("value", "max" if model.maximise else "min"),)
        costs = model.cost != 0
        self.exact = bool(
            model.whole[costs].all() and (model.cost == np.rint(model.cost)).all() and model.constant.is_integer()
        )

    def linear(self) -> Linear:
        assert self.source is not None
        return _mps.read(self.source)

    def verify(self, solution: Any) -> float:
        return self.model.objective(solution)

    def file(self) -> Path:
        assert self.source is not None
        return self.source


class MiniZincModel(Instance):
    """A MiniZinc model and its data. What its solutions are worth is taken from the solver: nothing here can tell."""

    forms = ("minizinc",)
    verifies = False
    exact = False

    def __init__(self, model: Path, data: Path | None) -> None:
        for file in (model, data):
            if file is not None and not file.is_file():
                raise OptarenaError(f"there is no file {file}")
        if data is not None and data.suffix not in DATA:
            raise OptarenaError(f"{data}: data for MiniZinc end in {' or '.join(DATA)}")
        self.source, self.data, self.suite, self.function = model, data, "minizinc", model.stem
        goal = _goal(model)
        self.decision = goal == "satisfy"
        self.objectives = (Objective("satisfied") if self.decision else Objective("value", GOALS[goal]),)
        # the card keeps what the model was; its data differ in the version
        self.version = hashlib.sha256(data.read_bytes()).hexdigest()[:8] if data is not None else "1"

    def minizinc(self) -> tuple[Path, Path | None]:
        assert self.source is not None
        return self.source, self.data


GOALS: dict[str, Sense] = {"minimize": "min", "maximize": "max"}


def _goal(model: Path) -> str:
    """What a model asks for: minimize, maximize or satisfy; one that includes its goal is refused."""
    text = model.read_text(encoding="utf-8", errors="replace")
    text = re.sub(r'"(?:\\.|[^"\\])*"|%[^\n]*|/\*.*?\*/', " ", text, flags=re.DOTALL)
    found = re.search(r"\bsolve\b[^;]*?\b(minimize|maximize|satisfy)\b", text)
    if found is None:
        raise OptarenaError(f"{model}: it has no 'solve … minimize', 'maximize' or 'satisfy' of its own")
    return found[1]
