"""What a manifest says of a program, for problems and for solvers: where it is, and what its environment gets."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from optarena.errors import OptarenaError


def as_environment(given: Any) -> dict[str, str]:
    """What is added to the environment: names that the system takes, and texts."""
    if not isinstance(given, Mapping) or not all(isinstance(text, str) for text in given.values()):
        raise OptarenaError(f"expected a table of texts, got {given!r}", field="environment")
    for name, text in given.items():
        if not isinstance(name, str) or not name or "=" in name or "\0" in name:
            raise OptarenaError(f"a name is a text without '=' and NUL, got {name!r}", field="environment")
        if "\0" in text:
            raise OptarenaError(f"a text without NUL is expected, got {text!r}", field=f"environment.{name}")
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
