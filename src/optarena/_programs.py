"""What a manifest says of a program, for problems, optimizers and solvers: where it is, its time, its settings."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from optarena.errors import OptarenaError
from optarena.settings import Setting, flag, number, text, whole


def as_command(given: Any, example: str) -> list[str]:
    """A program and its arguments: a list of texts."""
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        raise OptarenaError(f"expected a list such as {example}, got {given!r}", field="command")
    if not all(isinstance(word, str) and word and "\0" not in word for word in given):
        raise OptarenaError(f"every word must be a text, got {list(given)!r}", field="command")
    return list(given)


def as_seconds(given: Any, hint: str = "") -> float:
    """A time limit."""
    if not (type(given) in (int, float) and 0 < given < math.inf):
        raise OptarenaError(f"expected a number above 0{hint}, got {given!r}", field="seconds")
    return float(given)


def as_settings(given: Any, field: str, reserved: Sequence[str] = ()) -> dict[str, Setting]:
    """A manifest's table of settings with their defaults: a value must be of its default's type."""
    if not isinstance(given, Mapping):
        raise OptarenaError(f"expected a table of defaults, got {given!r}", field=field)
    for key in given:
        if key in reserved:
            raise OptarenaError("the name is reserved", field=f"{field}.{key}")
    return {key: _setting(default, f"{field}.{key}") for key, default in given.items()}


def _setting(default: Any, field: str) -> Setting:
    if isinstance(default, bool):
        return flag(default)
    if isinstance(default, int):
        return whole(default, -(2**63), 2**63 - 1)
    if isinstance(default, float):
        return number(default, -math.inf)
    if isinstance(default, str):
        return text(default)
    raise OptarenaError(f"a default is a number, a text, true or false, got {default!r}", field=field)


def as_environment(given: Any) -> dict[str, str]:
    """What is added to the environment: names that the system takes, and texts."""
    if not isinstance(given, Mapping) or not all(isinstance(value, str) for value in given.values()):
        raise OptarenaError(f"expected a table of texts, got {given!r}", field="environment")
    for name, value in given.items():
        if not isinstance(name, str) or not name or "=" in name or "\0" in name:
            raise OptarenaError(f"a name is a text without '=' and NUL, got {name!r}", field="environment")
        if "\0" in value:
            raise OptarenaError(f"a text without NUL is expected, got {value!r}", field=f"environment.{name}")
    return dict(given)


def find_program(name: str, directory: Path, path: str | None) -> str:
    """The file of a program: relative to the directory when it has a slash, else as found on the PATH."""
    if "/" in name:
        file = directory / name
        if not file.is_file():
            raise OptarenaError(f"there is no program {file}", field="command")
        if not os.access(file, os.X_OK):
            raise OptarenaError(f"{file} is not executable (chmod +x {file})", field="command")
        return str(file)
    found = shutil.which(name, path=path)
    if found is None:
        hint = f" (is it './{name}'?)" if (directory / name).is_file() else ""
        raise OptarenaError(f"no program {name!r} is found on the PATH{hint}", field="command")
    return found
