"""What a bundle is: its files, and what `bundle.json` says of it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec

from optarena._damage import damage_named
from optarena.errors import OptarenaError

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
    format: int = FORMAT


def is_archive(path: Path) -> bool:
    """Whether it is a bundle or a directory of bundles."""
    return (path / FACTS).is_file() or any(path.glob(f"*/{FACTS}"))


def bundles_in(path: Path) -> list[Path]:
    """The bundles of an archive, or the one that this is, by name."""
    if (path / FACTS).is_file():
        return [path]
    return sorted(file.parent for file in path.glob(f"*/{FACTS}") if not file.parent.name.startswith("."))


def read_facts(bundle: Path) -> Bundle:
    file = bundle / FACTS
    with damage_named(file, "the facts of a bundle"):
        facts = msgspec.json.decode(file.read_bytes(), type=Bundle)
    if facts.format > FORMAT:
        raise OptarenaError(f"{file} has the format {facts.format} of a newer optarena")
    return facts


def files_of(bundle: Path) -> list[str]:
    """The relative paths of all files that have a sum, in order. A link is no file of a bundle."""
    return sorted(
        file.relative_to(bundle).as_posix()
        for file in bundle.rglob("*")
        if file.is_file() and not file.is_symlink() and file.name != SUMS and not file.name.startswith(".")
    )


def sum_of(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
