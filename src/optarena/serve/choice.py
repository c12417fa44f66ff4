"""What a reader chose: optimizers, problems, suites, dimensions, settings and tags, as in a page's address."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import urlencode

import numpy as np

from optarena._numbers import counted
from optarena._order import natural
from optarena._text import visible
from optarena.dataset.facts import different_cards, studies_of
from optarena.dataset.matching import matcher
from optarena.errors import OptarenaError
from optarena.facade import Results
from optarena.store.columns import Attempt
from optarena.store.records import ProblemCard

MOST, LONGEST = 500, 500
"""Values in an address, and characters of one."""
ALTERNATIVES = 3000
"""Names that the braces of all chosen problems may stand for."""
LISTED = 300
"""Names that the page offers of each kind."""


@dataclass(frozen=True)
class Choice:
    """Nothing chosen is everything. A problem is a glob, or a part of its id."""

    optimizer: tuple[str, ...] = ()
    problem: tuple[str, ...] = ()
    suite: tuple[str, ...] = ()
    dimension: tuple[str, ...] = ()
    setting: tuple[str, ...] = ()
    tag: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: Iterable[tuple[str, str]]) -> Choice:
        """From the parameters of an address; others than these are not for us."""
        names = [field.name for field in fields(cls)]
        found: dict[str, list[str]] = {name: [] for name in names}
        for name, value in given:
            if name in found and value.strip():
                found[name].append(value.strip())
        if sum(map(len, found.values())) > MOST or any(len(one) > LONGEST for some in found.values() for one in some):
            raise OptarenaError(f"too much is chosen: at most {MOST} values of {LONGEST} characters each")
        for value in found["dimension"]:
            if not value.isdecimal():
                raise OptarenaError(f"a dimension is a whole number; got {value[:20]!r}")
        return cls(**{name: tuple(dict.fromkeys(values)) for name, values in found.items()})

    @property
    def query(self) -> str:
        return urlencode([(field.name, value) for field in fields(self) for value in getattr(self, field.name)])

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) for field in fields(self))

    def apply(self, results: Results) -> Results:
        """The studies that were chosen; where nothing is left, an error that says so."""
        if not self:
            return results
        named = self._problems()
        places = studies_of(results, self._runs, lambda card: self._is_on(card.id, card, named))
        if self.setting or self.tag:
            attempts = results.attempts
            places = places[np.array([self._has(attempts[i]) for i in places.tolist()], dtype=bool)]
        if not len(places):
            raise OptarenaError("no study matches these filters")
        return results.select(places)

    def planned(self, results: Results) -> Callable[[str, str], bool]:
        """Whether an optimizer and a problem of a plan are chosen, as far as their names and the store's cards tell."""
        cards, named = {card.id: card for card in different_cards(results)}, self._problems()
        return lambda optimizer, problem: self._runs(optimizer) and self._is_on(problem, cards.get(problem), named)

    def _problems(self) -> Callable[[str], bool]:
        globs = [one if "*" in one else f"*{one}*" for one in self.problem] if self.problem else None
        return matcher(globs, ALTERNATIVES)

    def _runs(self, optimizer: str) -> bool:
        return not self.optimizer or visible(optimizer) in self.optimizer

    def _is_on(self, problem: str, card: ProblemCard | None, named: Callable[[str], bool]) -> bool:
        return (
            named(problem)
            and (not self.suite or card is None or visible(card.suite) in self.suite)
            and (not self.dimension or card is None or str(card.dimension) in self.dimension)
        )

    def _has(self, attempt: Attempt) -> bool:
        """Whether its settings and its tags are chosen."""
        return (not self.setting or any(one in self.setting for one in settings_of(attempt))) and (
            not self.tag or any(one in self.tag for one in _pairs(attempt.start.attributes))
        )


def offered(results: Results) -> dict[str, list[str]]:
    """The names that can be chosen, of each kind; `cut` says of which kinds there are more."""
    cards, begun = different_cards(results), results.studies["optimizer"].head(len(results.chosen))
    found: dict[str, dict[str, None]] = {field.name: {} for field in fields(Choice)}
    found["optimizer"] = dict.fromkeys(visible(name) for name in begun.unique())
    for card in cards:
        found["problem"][visible(card.id)] = None
        found["suite"][visible(card.suite)] = None
        found["dimension"][str(card.dimension)] = None
    for attempt in results.attempts:
        start = attempt.start
        if start.settings or start.batch != 1:
            found["setting"] |= dict.fromkeys(settings_of(attempt))
        if start.attributes:
            found["tag"] |= dict.fromkeys(_pairs(start.attributes))
    found["suite"].pop("", None)
    out = {name: natural(list(values))[:LISTED] for name, values in found.items()}
    cut = [f"{LISTED} of {counted(len(values), name)}" for name, values in found.items() if len(values) > LISTED]
    return {**out, "cut": cut}


def settings_of(attempt: Attempt) -> list[str]:
    """The settings of a study's optimizer, and its batch, as texts."""
    batch = {"batch": attempt.start.batch} if attempt.start.batch != 1 else {}
    return _pairs({**attempt.start.settings, **batch})


def _pairs(given: Mapping[str, Any]) -> list[str]:
    return [visible(f"{name}={value}")[:LONGEST] for name, value in given.items()]
