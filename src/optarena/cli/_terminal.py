"""What commands print to: a terminal, with its width, or a program that reads strict JSON."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from typing import Annotated, Any, TextIO

import typer

from optarena._text import clean, visible_json
from optarena._widths import wrapped, wrapped_command

NARROWEST, USUAL = 40, 80
"""Columns of a terminal: fewer are not served, and how many there are where it does not say."""

Wide = Annotated[
    bool, typer.Option("--wide", help="Every column of the tables, however wide the terminal is.", show_default=False)
]


def print_json(value: Any) -> None:
    """Strict JSON: an infinite number is the text "inf" or "-inf", an absent one is null."""
    import msgspec  # here, so that help is quick

    from optarena._json import strict

    text = msgspec.json.format(msgspec.json.encode(strict(value)), indent=2).decode()
    sys.stdout.write(visible_json(text) + "\n")


def terminal_width(stream: TextIO | None = None, *, wide: bool = False) -> int | None:
    """How many characters fit in a line of standard output, or of this stream; None where it is not a terminal, unless
    COLUMNS says how wide it is. wide: tables may be wider than the terminal."""
    if wide:
        return None
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return max(NARROWEST, int(given))
    stream = stream or sys.stdout
    if not stream.isatty():
        return None
    try:
        return max(NARROWEST, os.get_terminal_size(stream.fileno()).columns or USUAL)
    except (OSError, ValueError):
        return USUAL


def say_command(before: str, words: Sequence[str], *, file: TextIO | None = None) -> None:
    """Print a sentence that ends with a command, so that the command can be copied."""
    quoted = [clean(shlex.quote(word)) for word in words]
    print(wrapped_command(before, quoted, terminal_width(file)), file=file)


def say(text: str = "", *, file: TextIO | None = None) -> None:
    """Print sentences, one per line, wrapped to the terminal."""
    print(wrapped(text, terminal_width(file)), file=file)
