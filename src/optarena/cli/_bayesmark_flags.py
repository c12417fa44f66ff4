"""What the commands of `optarena bayesmark` share: their flags as Bayesmark names them, and what they say."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from optarena._text import clean
from optarena.bayesmark.studies import revision
from optarena.cli import _terminal

NAMED = 10
"""How many missing studies are named one by one, where not all are asked for."""


def as_bayesmark_says(flags: argparse.Namespace, **more: Any) -> dict[str, Any]:
    """The flags under Bayesmark's names, as its files and its jobs files have them."""
    titles = {
        "uuid": "--uuid", "db_root": "-db-root", "opt_root": "--opt-root", "data_root": "--data-root", "db": "--db",
        "opt": "--opt", "data": "--data", "classifier": "--classifier", "metric": "--metric", "calls": "--calls",
        "suggestions": "--suggestions", "repeat": "--repeat", "num_jobs": "--num-jobs", "jobs_file": "--jobs-file",
        "ravel": "--ravel", "verbose": "--verbose", "timeout": "--timeout",
    }  # fmt: skip
    given = vars(flags)
    out = {title: given[name] for name, title in titles.items() if name in given}
    out = {title: str(value.resolve()) if isinstance(value, Path) else value for title, value in out.items()}
    return {**out, "dry_run": False, "rev": revision(), "opt_rev": None, **more}


def program(name: str) -> str:
    """What one of the commands was called by: `bayesmark-launch`, or `optarena bayesmark launch`."""
    script = f"bayesmark-{name}"
    return script if Path(sys.argv[0]).name == script else f"optarena bayesmark {name}"


def typed(rest: Sequence[str], name: str) -> str:
    """The command as it was typed."""
    return shlex.join([*program(name).split(), *rest])


def database(flags: argparse.Namespace) -> Path:
    """The folder of the database that the flags name."""
    return (flags.db_root / flags.db).resolve()


def say(text: str) -> None:
    """Something that is not a result."""
    _terminal.say(text, file=sys.stderr)


def name_some(lines: Sequence[str], all_of_them: bool) -> None:
    """Say what is missing: the first few, or all."""
    shown = lines if all_of_them or len(lines) <= NAMED + 1 else lines[:NAMED]
    for line in shown:
        say(clean(line))
    if len(shown) < len(lines):
        say(f"… and {len(lines) - len(shown)} more (-v names all)")
