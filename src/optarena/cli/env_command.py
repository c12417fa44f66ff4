"""`optarena env`: the environments that optimizers have of their own."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from optarena import environments
from optarena._json import unstrict
from optarena._numbers import counted, duration
from optarena._text import clean, table
from optarena.cli._terminal import Wide, say, terminal_width
from optarena.dataset import Dataset
from optarena.environments import (
    Environment,
    NotMade,
    Wanted,
    different,
    find,
    known,
    make_as,
    ready,
    remove,
    unfinished,
)
from optarena.errors import OptarenaError, WorkError
from optarena.optimizer import OPTIMIZERS
from optarena.optimizers.command import Manifest
from optarena.optimizers.isolated import original_of, wanted
from optarena.runner.again import find_study
from optarena.settings import read_call


class Action(StrEnum):
    create = "create"
    list = "list"
    remove = "remove"


def command(
    action: Annotated[Action, typer.Argument(help="create, list or remove.")],
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME…]", help="Optimizers, my.toml, or keys as 'list' shows them."),
    ] = None,
    all: Annotated[bool, typer.Option("--all", help="With remove: all of them.")] = False,
    lock: Annotated[
        Path | None,
        typer.Option(
            metavar="STORE", help="With create: of the packages that studies of this store recorded; give ids."
        ),
    ] = None,
    wide: Wide = False,
) -> None:
    """Make, show or remove them."""
    if all and (action is not Action.remove or names):
        raise OptarenaError("--all goes with remove, and without names")
    if lock is not None and action is not Action.create:
        raise OptarenaError("--lock goes with create")
    if action is Action.list:
        _list(names or [], terminal_width(wide=wide))
    elif not names and not all:
        what = "the names of optimizers, or my.toml" if lock is None else "ids of studies"
        raise OptarenaError(f"give {what} (optarena env {action} --help)")
    elif action is Action.create:
        _create([(name, _wanted(name)) for name in names or []] if lock is None else _locked(lock, names or []))
    else:
        _remove(names or [], all)


def _locked(store: Path, studies: Sequence[str]) -> list[tuple[str, Wanted]]:
    """What optimizers of studies need; it will be made of the packages that these recorded."""
    out = []
    for start in [find_study(Dataset.of_store(store), study).attempts[0].start for study in studies]:
        own = "" if start.isolated else Path(start.use).stem  # what a program says of itself
        lock = {name: version for name, version in start.versions.items() if name != own}
        if "python" not in lock:
            raise OptarenaError(f"study {start.study} of {start.optimizer} had no environment of its own")
        want = _wanted(start.use, unstrict(start.settings))
        found = find(want)
        if found is not None and (differing := different(found.versions, lock)):
            raise OptarenaError(
                f"{start.optimizer} has an environment of other packages: {differing}; remove it first"
                f" (optarena env remove {found.key})"
            )
        make_as({want.key: lock})
        out.append((start.optimizer, want))
    return out


def _create(needed: Sequence[tuple[str, Wanted]]) -> None:
    failed = 0
    for name, want in needed:
        if (found := find(want)) is not None:
            print(f"{clean(name)}: has its environment, {found.key}")
            continue
        began = time.monotonic()
        try:
            found = ready(want, name)
        except NotMade as error:
            failed += 1
            say(f"optarena: {clean(name)}: {clean(error)}", file=sys.stderr)
            continue
        size, took = megabytes(found.bytes), duration(time.monotonic() - began)
        print(f"{clean(name)}: {found.key}, {counted(len(found.lock), 'package')}, {size}, made in {took}")
    if failed:
        raise typer.Exit(1)


def _list(names: Sequence[str], width: int | None) -> None:
    """All of them, or the lock of each that is named."""
    for name in names:
        found = _found(name)
        print(f"# {found.key}: Python {found.python}, {megabytes(found.bytes)}, {clean(found.folder)}")
        for package, version in found.lock.items():
            print(clean(f"{package}=={version}"))
    if names:
        return
    rows = [_row(found) for found in known()]
    if rows:
        print(table(["key", "python", "made", "size", "asked for"], rows, fold=("asked for",), width=width))
    total = sum(found.bytes for found in known())
    say(f"{counted(len(rows), 'environment')}, {megabytes(total)}, in {clean(environments.place())}")
    if left := unfinished():
        say(f"{counted(len(left), 'environment')} not complete: made again when needed, removed by env remove --all")


def _row(found: Environment) -> list[str]:
    asked = ", ".join(Path(text).name if text.startswith("/") else text for text in found.packages)
    made = time.strftime("%Y-%m-%d", time.localtime(found.made))
    return [found.key, found.python, made, megabytes(found.bytes), clean(asked)]


def _remove(names: Sequence[str], all: bool) -> None:
    gone = known() if all else [_found(name) for name in names]
    freed = sum(found.bytes for found in gone)
    for key in dict.fromkeys([*(found.key for found in gone), *(home.name for home in unfinished() if all)]):
        try:
            remove(key)
        except OSError as error:
            raise WorkError(f"{error.filename}: {error.strerror}") from error
    print(f"removed {counted(len(gone), 'environment')}, {megabytes(freed)}")


def _found(name: str) -> Environment:
    """The environment that exists, by its key or by who uses it."""
    for found in known():
        if found.key == name:
            return found
    existing = find(_wanted(name))
    if existing is None:
        raise OptarenaError(f"{name} has no environment yet (optarena env list shows all)")
    return existing


def _wanted(name: str, given: Mapping[str, Any] | None = None) -> Wanted:
    """What an optimizer of ours or a manifest needs; given: its settings, where they are not in the name."""
    plain, settings = read_call(name) if given is None else (name, given)
    reference = OPTIMIZERS.reference(plain)
    if reference.kind == "manifest":
        found = Manifest.load(reference.path).wanted
        if found is None:
            raise OptarenaError(f"{name}: there is no [environment] in it (docs/environments.md)")
        return found
    return wanted(plain, *original_of(plain).as_used(settings).wraps)


def megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size < 1e7 else f"{size / 1e6:,.0f} MB"
