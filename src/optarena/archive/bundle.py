"""What a bundle is: its files, and what `bundle.json` says of it."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import Any

import msgspec

from optarena._damage import damage_named
from optarena.errors import OptarenaError
from optarena.store.verifying import MEMORY

FACTS, SUMS, STORE, TABLE, REPORT, INDEX = (
    "bundle.json",
    "SHA256SUMS",
    "store",
    "evaluations.parquet",
    "report.html",
    "index.html",
)
FORMAT = 1


class Bundle(msgspec.Struct):
    """The facts of a bundle."""

    name: str
    optarena: str
    """The version that wrote it."""
    studies: int
    evaluations: int
    failed: int
    """Studies that did not end well."""
    optimizers: list[str]
    problems: list[str]
    answer: str
    """The first sentence of the comparison, or why there is none."""
    experiments: list[dict[str, Any]]
    """What was asked for, run by run, with its root."""
    environments: list[dict[str, Any]]
    """Versions, kernels and locks of what ran it."""
    files: list[str] = []
    """Users' files that studies need to run again. They are not in the bundle."""
    format: int = FORMAT


def is_archive(path: Path) -> bool:
    """Whether it is a bundle or a directory of bundles."""
    return bool(bundles_in(path))


def bundles_in(path: Path) -> list[Path]:
    """The bundles of an archive, or the one that this is, by name; one that lost its facts still has its sums."""
    if (path / FACTS).is_file() or ((path / SUMS).is_file() and (path / STORE).is_dir()):
        return [path]
    found = {file.parent for name in (FACTS, SUMS) for file in path.glob(f"*/{name}")}
    return sorted(bundle for bundle in found if not bundle.name.startswith("."))


def read_facts(bundle: Path) -> Bundle:
    file = bundle / FACTS
    with damage_named(file, "the facts of a bundle"):
        facts = msgspec.json.decode(file.read_bytes(), type=Bundle)
    if facts.format > FORMAT:
        raise OptarenaError(f"{file} has the format {facts.format} of a newer optarena")
    return facts


def files_of(bundle: Path) -> list[str]:
    """The relative paths of all files that have a sum, in order."""
    return [name for name, regular in entries_of(bundle) if regular]


def entries_of(bundle: Path) -> list[tuple[str, bool]]:
    """What is in a bundle beside its sums and directories, by relative path, and whether it is a regular file.

    A link is none, wherever it leads. What reading a store leaves in it is no part of the bundle. The sums and what
    reading leaves are named only where they are no regular files.
    """
    out = []
    for folder, directories, files in os.walk(bundle):
        place = Path(folder)
        for path in (*(place / name for name in files), *(place / name for name in directories)):
            name, mode = path.relative_to(bundle).as_posix(), path.lstat().st_mode
            regular = stat.S_ISREG(mode)
            if not stat.S_ISDIR(mode) and not (regular and name in (SUMS, f"{STORE}/{MEMORY}")):
                out.append((name, regular))
    return sorted(out)


def sum_of(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
