"""The damage of a store: named, never used, and made again by the next run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec


class Damage(msgspec.Struct, frozen=True):
    """A damaged place in a store."""

    file: str
    """With its directory in the store: journal/…, shards/…, runs/…."""
    what: str
    """What is wrong, in words."""
    line: int | None = None
    """Of a journal, the first of them; None: the complete file."""
    size: int = 0
    """The bytes that are not used."""
    lines: int = 1

    @property
    def text(self) -> str:
        where = self.file
        if self.line is not None:
            where += f" line {self.line}" if self.lines == 1 else f" lines {self.line} to {self.line + self.lines - 1}"
        return f"{where}: {self.what}"


def place_of(path: Path) -> str:
    """A file of a store, with its directory there."""
    return f"{path.parent.name}/{path.name}"


def sentence(store: str | Path, damage: Sequence[Damage], *, places: bool = True) -> str:
    """What every command says of a damaged store.

    Without places it names no file: journals are called by their machine, which nothing that is mailed tells.
    """
    files = len({item.file for item in damage})
    more = f", and {len(damage) - 1:,} more places" if len(damage) > 1 else ""
    where = f" ({damage[0].text}{more})" if places else ""
    return (
        f"store {store} is damaged in {files:,} file{'s' * (files > 1)}{where}: its contents count as"
        f" missing. 'optarena verify {store}' lists it, 'optarena repair {store}' moves it aside, and the same"
        " 'optarena run …' as before makes it again"
    )
