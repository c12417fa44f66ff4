"""Optimizers in files that were written for Bayesmark, run unchanged.

    optarena run -o wrappers:OpenTuner-GA-New …   a directory with config.json: {name: [file, keyword arguments]}
    optarena run -o submissions/turbo …           a folder with optimizer.py, named after the folder
    optarena run -o my_wrapper.py …               a file with one wrapper class

Modules called `bayesmark.…` stand in for Bayesmark's own while such a file is loaded and while its methods run; what
the files import from their own folder stays theirs. Afterwards `sys.modules` and `sys.path` are what they were.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import inspect
import json
import random
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from optarena._global_state import GlobalState
from optarena._source import load_module
from optarena.bayesmark.standins.abstract_optimizer import AbstractOptimizer
from optarena.bayesmark.standins.room import Room
from optarena.errors import OptarenaError, nearest
from optarena.optimizer import Capabilities, Optimizer
from optarena.registry import Reference
from optarena.space import Array, Point, Space

REGISTERED = {"opens": ["folder", ".py"]}

CONFIG = "config.json"
CHALLENGE = "optimizer.py"


# ---- finding them ---------------------------------------------------------------------------------------------------


class Wrapper(NamedTuple):
    """A wrapper's file, what it is called, its keyword arguments, and its class if that is told."""

    name: str
    file: Path
    settings: dict[str, Any]
    attribute: str = ""


def wrappers_in(folder: Path) -> dict[str, Wrapper]:
    """What a directory offers: the names in its config.json, else its folders with an optimizer.py, wherever below."""
    folder = folder.resolve()
    config = folder / CONFIG
    if config.is_file():
        return {name: Wrapper(name, folder / file, settings) for name, (file, settings) in _config(config).items()}
    out: dict[str, Wrapper] = {}
    for file in sorted(folder.glob(f"**/{CHALLENGE}")):
        if any(part.startswith(".") or part == "site-packages" for part in file.relative_to(folder).parts):
            continue  # what is installed below has files of that name, too
        name = cleaned("-".join(file.parent.relative_to(folder).parts) or folder.name)
        if name in out:
            raise OptarenaError(f"{file.parent} and {out[name].file.parent} would both be called {name!r}")
        out[name] = Wrapper(name, file, {})
    return out


def cleaned(name: str) -> str:
    """A name that can stand in Bayesmark's own, which are put together with underscores."""
    return name.replace("_", "-").replace(" ", "-")


def called(name: str, known: Mapping[str, Wrapper]) -> Wrapper | None:
    """The wrapper of this name; an underscore and a hyphen are the same where only one wrapper can be meant."""
    if name in known:
        return known[name]
    near = [wrapper for other, wrapper in known.items() if cleaned(other) == cleaned(name)]
    return near[0] if len(near) == 1 else None


def _config(path: Path) -> dict[str, tuple[str, dict[str, Any]]]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise OptarenaError(f"{path}: not a configuration of wrappers ({error})") from None
    out = {}
    for name, line in data.items() if isinstance(data, dict) else ():
        if (
            not isinstance(line, list)
            or len(line) != 2
            or not isinstance(line[0], str)
            or not isinstance(line[1], dict)
        ):
            raise OptarenaError(f'{path}, {name!r}: expected ["file.py", {{keyword arguments}}], got {line!r}')
        odd = "\0" in line[0] or Path(line[0]).is_absolute() or ".." in Path(line[0]).parts
        if odd or not line[0].endswith(".py"):
            raise OptarenaError(f"{path}, {name!r}: {line[0]!r} is not a .py file in that directory")
        out[name] = (line[0], line[1])
    if not out:
        raise OptarenaError(f'{path}: names no optimizer; expected {{"name": ["file.py", {{}}]}}')
    return out


def opens(reference: Reference) -> bool:
    """Whether it was written for Bayesmark: only then `bayesmark` is not what is installed."""
    return reference.kind != "object" or reference.contains(b"bayesmark")


def open_reference(reference: Reference) -> type[Optimizer]:
    """The class behind `DIR:Name`, `DIR`, `file.py` or `file.py:Class`."""
    return load(find(reference))[0]


def source_of(reference: Reference) -> str:
    """The hash of what it is made of."""
    return load(find(reference))[1]


def find(reference: Reference) -> Wrapper:
    """The wrapper of `DIR:Name`, `DIR`, `file.py` or `file.py:Class`."""
    file = folder = reference.path.resolve()
    if reference.kind == "object":
        return Wrapper(reference.part, file, {}, reference.part)
    if reference.kind == "file":
        return Wrapper(file.parent.name if file.name == CHALLENGE else file.stem, file, {})
    name = reference.part
    if not folder.is_dir():
        raise OptarenaError(f"{reference.text!r}: there is no directory {folder} with wrappers of optimizers")
    known = wrappers_in(folder)
    if not known:
        raise OptarenaError(f"{folder} has neither a {CONFIG} nor a folder with an {CHALLENGE}")
    if name:
        found = called(name, known)
        if found is None:
            raise OptarenaError(
                f"{folder} has no optimizer {name!r}.{nearest(name, known)} (it has {', '.join(known)})"
            )
        return found
    if len(known) > 1:
        raise OptarenaError(f"{folder} has {len(known)} optimizers: name one, as {reference.text}:{next(iter(known))}")
    return next(iter(known.values()))


def load(wrapper: Wrapper) -> tuple[type[Optimizer], str]:
    """Its class, ready to run here, and the hash of what it is made of: its file, its neighbours, its arguments."""
    room = Room.of(wrapper.file.resolve().parent)
    with room:
        module = load_module(wrapper.file)
    inner = _class_of(module, wrapper)
    digest = hashlib.sha256(json.dumps(wrapper.settings, sort_keys=True).encode())
    for file in _files_of(wrapper.file.resolve()):
        digest.update(file.read_bytes())
    source = digest.hexdigest()[:16]
    if issubclass(inner, Optimizer):  # one of ours, in a file that only speaks of Bayesmark
        return inner, source
    made = type(
        wrapper.name,
        (BayesmarkWrapper,),
        {
            "__doc__": inner.__doc__,
            "__module__": module.__name__,
            "wrapped": inner,
            "arguments": wrapper.settings,
            "room": room,
            "packages": _packages(inner),
        },
    )
    return made, source


def _packages(inner: type) -> tuple[str, ...]:
    """What a wrapper says that it is made of; what stands in for Bayesmark is ours."""
    name = getattr(inner, "primary_import", None)
    return () if not name else ("optarena",) if name == "bayesmark" else (name,)


def _files_of(file: Path) -> list[Path]:
    """The file, and those of its folder that it imports, or that they import: what its results depend on."""
    found, todo = [file], [file]
    while todo:
        for node in ast.walk(ast.parse(todo.pop().read_bytes())):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names = (
                    [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
                )
                for top in {name.partition(".")[0] for name in names} - {""}:
                    beside = [file.parent / f"{top}.py", *sorted((file.parent / top).glob("**/*.py"))]
                    new = [path for path in beside if path.is_file() and path not in found]
                    found += new
                    todo += new
    return [file, *sorted(found[1:])]


def wrapper_classes(file: Path) -> list[str]:
    """The names of the wrapper classes that a file defines; none in a file that does not speak of Bayesmark."""
    if not file.is_file() or b"bayesmark" not in file.read_bytes():
        return []
    with Room.of(file.resolve().parent):
        module = load_module(file)
    return list(_own_classes(module))


def _own_classes(module: ModuleType) -> dict[str, type]:
    own: dict[type, str] = {}
    for name, thing in vars(module).items():
        if inspect.isclass(thing) and issubclass(thing, AbstractOptimizer) and thing.__module__ == module.__name__:
            own.setdefault(thing, name)  # a second name for it is not another class
    return {name: cls for cls, name in own.items()}


def _class_of(module: ModuleType, wrapper: Wrapper) -> type:
    """The class that the file says it is about: by name, by `experiment_main(Class)`, or as the only one."""
    here = {name: thing for name, thing in vars(module).items() if inspect.isclass(thing)}
    own = _own_classes(module)
    offered = [name for name, cls in here.items() if "_optarena_offered" in vars(cls)]
    told = [wrapper.attribute] if wrapper.attribute else offered or _named_in(wrapper.file) or list(own)
    if not told:
        raise OptarenaError(
            f"{wrapper.file}, the file of {wrapper.name!r}, has no wrapper class: it should define a subclass of"
            " bayesmark.abstract_optimizer.AbstractOptimizer with suggest and observe"
        )
    if len(set(told)) != 1:
        some = ", ".join(dict.fromkeys(told))
        raise OptarenaError(
            f"{wrapper.file}, the file of {wrapper.name!r}, has several wrapper classes ({some}): it should offer one"
            f" with experiment_main(Class), or be named as {wrapper.file.name}:{told[0]}"
        )
    found = here.get(told[0])
    if found is None or not all(callable(getattr(found, method, None)) for method in ("suggest", "observe")):
        raise OptarenaError(
            f"{wrapper.file}: {told[0]!r} is not a class with suggest and observe.{nearest(told[0], own)}"
        )
    return found


def _named_in(file: Path) -> list[str]:
    """The classes in calls of `experiment_main`, which usually stand under `if __name__ == "__main__"`."""
    out = []
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Name):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name == "experiment_main":
                out.append(node.args[0].id)
    return out


# ---- running them ---------------------------------------------------------------------------------------------------


def seeds_of(key: int) -> tuple[int, int]:
    """The seeds of Python's and of NumPy's global stream that Bayesmark makes of a study's id."""
    stream = random.Random(key)
    return stream.randint(0, 2**32 - 1), stream.randint(0, 2**32 - 1)


class SeededState(GlobalState):
    """The states after `random.seed(python)` and `numpy.random.seed(numpy)`."""

    def __init__(self, python: int, numpy: int) -> None:
        super().__init__(np.random.default_rng(0))
        self._random = random.Random(python).getstate()
        self._numpy = np.random.RandomState(numpy)._bit_generator


class BayesmarkWrapper(Optimizer):
    """Such a class as one of ours. It finds the global random streams seeded, and its own from one call to the next."""

    capabilities = Capabilities(failures="worst")
    wrapped: type
    arguments: Mapping[str, Any]
    room: Room

    def __init__(
        self, space: Space, *, objectives: int = 1, rng: np.random.Generator | None = None, **settings: Any
    ) -> None:
        super().__init__(space, objectives=objectives, rng=rng)
        seed: Any = self.rng.bit_generator.seed_seq
        entropy = getattr(seed, "entropy", None)
        key = entropy if isinstance(entropy, int) else int(self.rng.integers(2**63))
        self._state = SeededState(*seeds_of(key))
        arguments = {**copy.deepcopy(dict(self.arguments)), **settings}
        with self._state, self.room, redirect_stderr(sys.stdout):
            self._inner: Any = self.wrapped(space.config, **arguments)

    def suggest(self, n: int) -> list[Point]:
        with self._state, self.room, redirect_stderr(sys.stdout):
            return list(self._inner.suggest(n))

    def observe(self, X: Any, y: Array, violations: Array | None = None) -> None:  # noqa: ARG002
        values = np.where(np.isnan(y[:, 0]), np.inf, y[:, 0]).tolist()  # what Bayesmark says of a failed evaluation
        with self._state, self.room, redirect_stderr(sys.stdout):
            self._inner.observe([dict(point) for point in X], values)
