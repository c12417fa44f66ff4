"""Journals changed by hand, with checks as if they had been written so."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from optarena.store.checks import sealed


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The lines of a journal without their checks."""
    out = [json.loads(line) for line in path.read_text().splitlines()]
    for line in out:
        line.pop("c", None)
    return out


def rewrite(path: Path, lines: Iterable[str | dict[str, Any]]) -> None:
    """Write a journal of these lines, whatever checks they had."""
    found = [json.loads(line) if isinstance(line, str) else line for line in lines]
    texts = ({key: value for key, value in line.items() if key != "c"} for line in found)
    path.write_bytes(sealed(json.dumps(text, separators=(",", ":")).encode() for text in texts))
