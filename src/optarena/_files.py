"""Files that are there whole or not at all, and texts and TOML files whose mistakes are named."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

from optarena.errors import OptarenaError, WorkError


def write_whole(path: Path, data: bytes) -> None:
    """Written beside, synced, renamed, the directory synced: nobody ever sees a part of it."""
    beside = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.rename(path)
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise WorkError(f"cannot write to {path}: {error.strerror}") from error


def read_text(path: Path) -> str:
    """A file's text in UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise OptarenaError(f"there is no file {path}") from None
    except OSError as error:
        raise OptarenaError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise OptarenaError(f"{path}: not UTF-8 ({error})") from error


def parse_toml(text: str, path: Path) -> dict[str, Any]:
    """What the text of a TOML file says."""
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise OptarenaError(f"{path}: not valid TOML: {error}") from error


def read_toml(path: Path) -> dict[str, Any]:
    """What a TOML file says."""
    return parse_toml(read_text(path), path)
