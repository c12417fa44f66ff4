"""What attempts say of themselves, as arrays: gathered once, so that choosing some of very many costs little."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from optarena.store import RunFile
from optarena.store.columns import Attempt, Columns
from optarena.store.costs import SECONDS, WALL
from optarena.store.records import Header, ProblemCard
from optarena.store.runs import finished
from optarena.traces import Floats, Ints

T = TypeVar("T", bound=Hashable)


class Facts:
    """Of all attempts of some columns; each array has one number per attempt."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.attempts: Sequence[Attempt] = columns.attempts
        cards = [attempt.card for attempt in self.attempts]
        known, self.card = numbered(map(id, cards))
        by_id = {id(card): card for card in cards}
        self.cards: list[ProblemCard] = [by_id[one] for one in known]
        """The different cards; `card` has the place of each attempt's own."""
        self.optimizers, self.optimizer = numbered(attempt.start.optimizer for attempt in self.attempts)
        self.finished: dict[str, int] | None = None
        """By run, how many of its studies it finished, once they are counted."""
        self.table: tuple[Ints, pl.DataFrame] | None = None
        """The table of all begun studies, once it is made, and the row of each attempt in it."""

    def of_cards(self, what: Callable[[ProblemCard], Any], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Something that each attempt's card says."""
        return np.array([what(card) for card in self.cards], dtype=dtype)[self.card]

    @cached_property
    def _crews(self) -> tuple[list[tuple[Header, ...]], Ints]:
        known, place = numbered(tuple(map(id, attempt.headers)) for attempt in self.attempts)
        first = np.zeros(len(known), dtype=np.int64)
        first[place[::-1]] = np.arange(len(place))[::-1]
        return [tuple(self.attempts[i].headers) for i in first.tolist()], place

    @property
    def crews(self) -> list[tuple[Header, ...]]:
        """The different groups of processes that worked at an attempt."""
        return self._crews[0]

    @property
    def crew(self) -> Ints:
        """The place of each attempt's own in `crews`."""
        return self._crews[1]

    @cached_property
    def versions(self) -> tuple[list[tuple[tuple[str, str], ...]], Ints]:
        """The packages of starts with their versions."""
        return numbered(tuple(attempt.start.versions.items()) for attempt in self.attempts)

    @cached_property
    def batch(self) -> Ints:
        return np.array([attempt.start.batch for attempt in self.attempts], dtype=np.int64)

    @cached_property
    def diverged(self) -> list[int]:
        """Attempts that were begun since the recorded evaluations could not be reproduced."""
        return [i for i, attempt in enumerate(self.attempts) if attempt.start.cause == "diverged"]

    @property
    def _continued(self) -> list[int]:
        """Attempts that have an end before their last evaluation: they went on after it."""
        each = zip(self.attempts, self.columns.tally.last.tolist(), strict=True)
        return [i for i, (attempt, last) in enumerate(each) if any(end.evaluations < last for end in attempt.ends)]

    @cached_property
    def seconds(self) -> Floats:
        """For every row: the seconds since its study began, as imported or as charged."""
        columns = self.columns
        charged: Floats = (columns.charged + self._of_earlier_ends()) * SECONDS
        given = columns.extras.get("seconds")
        imported = self.of_cards(lambda card: card.imported, bool)
        if imported.any():  # what a file does not tell is not known
            charged = np.where(imported[columns.owner], np.nan, charged)
        return charged if given is None else np.where(np.isnan(given), charged, given)

    def _of_earlier_ends(self) -> Floats:
        """For every row: the nanoseconds that the ends before it were charged, where a study went on after them."""
        columns = self.columns
        out, last = np.zeros(len(columns.owner)), columns.tally.last
        for owner in self._continued:
            for end in self.attempts[owner].ends:
                if end.evaluations < last[owner] and any(end.w):
                    low, high = np.searchsorted(columns.owner, [owner, owner + 1])
                    first = low + np.searchsorted(columns.evaluation[low:high], end.evaluations, side="right")
                    out[first:high] += sum(end.w[phase] for phase in WALL)
        return out

    @cached_property
    def telling(self) -> npt.NDArray[np.bool_]:
        """Whether an end says something of efforts or of a bound."""
        return np.array([any(end.a for end in attempt.ends) for attempt in self.attempts], dtype=bool)

    @cached_property
    def attributes(self) -> list[str]:
        """The names of what imported files say beyond the usual."""
        return list(dict.fromkeys(name for attempt in self.attempts for name in attempt.start.attributes))


def numbered(items: Iterable[T]) -> tuple[list[T], Ints]:
    """The different items in their order, and the place of each."""
    known: dict[T, int] = {}
    place = np.fromiter((known.setdefault(item, len(known)) for item in items), dtype=np.int64)
    return list(known), place


def in_order(codes: Ints) -> tuple[list[int], Ints]:
    """The different numbers in the order of their first places, and which of them each is."""
    found, first, place = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return found[order].tolist(), np.argsort(order)[place]


class Chosen(Protocol):
    """Some of the attempts, as a dataset has them."""

    @property
    def _facts(self) -> Facts: ...
    @property
    def _places(self) -> Ints: ...


def of_cards(chosen: Chosen, what: Callable[[ProblemCard], Any], dtype: npt.DTypeLike = bool) -> npt.NDArray[Any]:
    """(started studies,): something that each one's card says."""
    return chosen._facts.of_cards(what, dtype)[chosen._places]


def different_cards(chosen: Chosen) -> list[ProblemCard]:
    """The cards of begun studies, each once."""
    return [chosen._facts.cards[i] for i in in_order(chosen._facts.card[chosen._places])[0]]


def crews(chosen: Chosen) -> list[tuple[Header, ...]]:
    """The processes that worked at begun studies, each group once."""
    return [chosen._facts.crews[i] for i in in_order(chosen._facts.crew[chosen._places])[0]]


def studies_of(chosen: Chosen, optimizer: Callable[[str], bool], card: Callable[[ProblemCard], bool]) -> Ints:
    """The places of the begun studies whose optimizer and whose card match."""
    facts = chosen._facts
    mine = np.array([optimizer(name) for name in facts.optimizers], dtype=bool)[facts.optimizer]
    return np.flatnonzero((mine & facts.of_cards(card, bool))[chosen._places])


def finished_by_runs(chosen: Chosen, runs: Sequence[RunFile]) -> dict[str, int]:
    """Run -> how many of the studies that it was to run it finished; counted once for all parts of a store."""
    if chosen._facts.finished is None:
        chosen._facts.finished = finished(chosen._facts.attempts, runs)
    return chosen._facts.finished
