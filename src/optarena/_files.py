"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from optarena.errors import WorkError


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
