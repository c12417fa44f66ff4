"""Where every row of a dataset is read from, when somebody asks for more than the rows that are kept."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from optarena.store.columns import Columns
from optarena.store.reading import Key
from optarena.store.records import ProblemCard
from optarena.store.streaming import every_row, read_columns


class Reader(Protocol):
    """Gives every row that was recorded."""

    def read(self, attempts: Collection[Key]) -> Columns:
        """All rows of some attempts."""

    def pieces(self, attempts: Collection[Key]) -> Iterable[Columns]:
        """The same, some at a time; an evaluation may come twice."""


class Files(Protocol):
    """The files of a store, or of several."""

    def journal_paths(self) -> Iterator[Path]: ...
    def shard_paths(self) -> Iterator[Path]: ...


class OnDisk(NamedTuple):
    """A store, as it is when it is asked. cards: of its problems, where a journal may have lost some."""

    store: Files
    cards: Sequence[ProblemCard] = ()

    def read(self, attempts: Collection[Key]) -> Columns:
        return read_columns(self.store.journal_paths(), self.store.shard_paths, attempts, self.cards)

    def pieces(self, attempts: Collection[Key]) -> Iterable[Columns]:
        return every_row(self.store.journal_paths, self.store.shard_paths, attempts, self.cards)


class InMemory(NamedTuple):
    """Rows that are in memory; others than those asked for are left out by whoever asks."""

    columns: Columns

    def read(self, attempts: Collection[Key]) -> Columns:  # noqa: ARG002
        return self.columns

    def pieces(self, attempts: Collection[Key]) -> Iterable[Columns]:  # noqa: ARG002
        return [self.columns]
