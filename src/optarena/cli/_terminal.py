"""What commands print to: a terminal, with its width, or a program that reads strict JSON."""

from __future__ import annotations

import shutil
import sys
from typing import Any

import msgspec

from optarena._json import strict
from optarena._text import visible_json


def print_json(value: Any) -> None:
    """Strict JSON: an infinite number is the text "inf" or "-inf", an absent one is null."""
    text = msgspec.json.format(msgspec.json.encode(strict(value)), indent=2).decode()
    sys.stdout.write(visible_json(text) + "\n")


def terminal_width() -> int | None:
    """How many characters fit in a line; None where the output is not a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
