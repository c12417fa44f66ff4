"""What is said of one problem must be the same in all studies: of a table, of all tables of an import, of the store.

A problem is compared by its cards. What a table leaves out contradicts nothing, but the sense: without one it is min.
Several instances may share a problem's id; each then has known values of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from optarena.dataset import Dataset
from optarena.errors import OptarenaError
from optarena.formats.into_store import study_cards
from optarena.formats.runs import Runs
from optarena.formats.tidy import FRONT, KNOWN_VALUES, SHOWN, Tidy
from optarena.store.merging import DIFFERENCE, Optimum, told_optimum
from optarena.store.records import ProblemCard


class _Claim(NamedTuple):
    value: Any
    where: Callable[[], str]
    """Its place, looked up only when it must be named."""
    run: bool


class _Claims:
    """What was said so far: (problem, column, instance) -> the first to say it."""

    def __init__(self) -> None:
        self._said: dict[tuple[str, str, int | None], _Claim] = {}

    def contradicted(self, card: ProblemCard, column: str, value: Any, claim: _Claim) -> _Claim | None:
        """Take note of a claim; the earlier one that it contradicts."""
        instance = card.instance if column.partition(".")[0] in (FRONT, *KNOWN_VALUES) else None
        said = self._said
        # what is said without an instance holds for all of them
        for key in dict.fromkeys([(card.id, column, instance), (card.id, column, None)]):
            earlier = said.get(key)
            # files may have several instances of a problem; a problem that was run is one of them
            if earlier and earlier.value != value and (column != "instance" or earlier.run or claim.run):
                return earlier
        said.setdefault((card.id, column, instance), claim)
        if instance is not None:
            said.setdefault((card.id, f"{column} of any", None), claim)
        else:
            any_instance = said.get((card.id, f"{column} of any", None))
            if any_instance is not None and any_instance.value != value:
                return any_instance
        return None


class _Optima:
    """The optimum of f of each problem and instance, as its studies tell it; a log of f - f_opt tells it, too."""

    def __init__(self) -> None:
        self._said: dict[tuple[str, int | None], tuple[Optimum, str, bool]] = {}

    def compare(self, card: ProblemCard, attributes: Mapping[str, str], where: str) -> None:
        optimum, ran = told_optimum(card, attributes), not card.imported
        if optimum is None:
            return
        other, there, was_run = self._said.setdefault((card.id, card.instance), (optimum, where, ran))
        if not (ran and was_run) and not optimum.agrees(other):  # what was run has a version, and two may differ
            raise OptarenaError(
                f"{where}: the optimum of {card.id} is {optimum.value!r} there, but {other.value!r} in {there}; two"
                " problems need two names; nothing was imported"
            )


def refuse_contradictions(read: Sequence[Tidy | Runs], known: Dataset | None) -> None:
    """Compare each problem of tables with what they and a store say of it, and the optima that logs tell."""
    claims, optima = _Claims(), _Optima()
    if known is not None:
        where, attempts = f"store {known.path}", known.columns.attempts
        for attempt in attempts:
            optima.compare(attempt.card, attempt.start.attributes, where)
        for attempt in {id(a.card): a for a in attempts}.values():
            card, difference = attempt.card, attempt.start.attributes.get("values") == DIFFERENCE
            for column, value in _facts(card, True):
                if column == "f_opt" and difference:  # 0, of f - f_opt; `optima` has that of f
                    continue
                run = not card.imported
                claims.contradicted(card, column, value, _Claim(value, lambda: where, run))
    for item in read:
        if isinstance(item, Runs):
            for one in item.runs:
                optima.compare(one.card, one.attributes, item.name)
    tables = [item for item in read if isinstance(item, Tidy)]
    mistakes = []
    for tidy in tables:
        seen = set()
        for card, study in zip(study_cards(tidy), tidy.studies.iter_rows(named=True), strict=True):
            if card.hash in seen:
                continue
            seen.add(card.hash)
            for column, value in _facts(card, study["_events"] > 0):
                claim = _Claim(value, partial(_place, tidy, card, column, study["_study"]), False)
                earlier = claims.contradicted(card, column, value, claim)
                if earlier is not None:
                    mistakes.append(_sentence(tidy, card, column, claim, earlier))
    if mistakes:
        more = len(mistakes) - SHOWN
        if len(mistakes) == 1:
            raise OptarenaError(f"{mistakes[0]}; nothing was imported")
        texts = mistakes[:SHOWN] + ([f"… and {more:,} more"] if more > 0 else [])
        raise OptarenaError("\n".join([*texts, "nothing was imported"]))
    for tidy in tables:
        for card in {card.hash: card for card in study_cards(tidy)}.values():
            optima.compare(card, {}, tidy.table.name)


def _facts(card: ProblemCard, some: bool) -> Iterator[tuple[str, Any]]:
    """What a card says, by column; `some`: whether there are evaluations, whose columns name the objectives."""
    names = [objective.name for objective in card.objectives]
    if some:
        yield "objectives", names
    for objective in card.objectives:
        yield (f"sense.{objective.name}" if len(names) > 1 else "sense"), objective.sense
    for column, value in (("suite", card.suite), ("function", card.function), ("dimension", card.dimension)):
        if value:
            yield column, value
    if card.instance is not None:
        yield "instance", card.instance
    for head, field in KNOWN_VALUES.items():
        for name, value in zip(names, getattr(card.known, field) or (), strict=False):
            yield (f"{head}.{name}" if len(names) > 1 else head), value
    if card.known.front is not None:
        yield FRONT, card.known.front


def _place(tidy: Tidy, card: ProblemCard, column: str, study: int) -> str:
    """The first row of the study that has the column, else its first row."""
    rows = tidy.rows.filter(tidy.rows["_study"] == study)
    for name in (column, column.partition(".")[0], f"{column}.{card.objectives[0].name}"):
        if name in rows.columns and rows[name].null_count() < rows.height:
            rows = rows.filter(rows[name].is_not_null())
            break
    return tidy.table.where(int(rows["_row"].min()))  # type: ignore[arg-type]


def _sentence(tidy: Tidy, card: ProblemCard, column: str, claim: _Claim, earlier: _Claim) -> str:
    place, advice = f"column {column!r}", "two problems need two names"
    if column == "objectives":
        place, advice = "its objectives", "name its columns as there (value, or f.<name> each)"
    elif column == "dimension" and "dimension" not in tidy.rows.columns:
        place, advice = "its 'x.' columns", "give it in a column 'dimension'"
    elif column.startswith("sense") and column not in tidy.rows.columns and "sense" not in tidy.rows.columns:
        place, advice = "no column 'sense', which means min", "add the column, or give it another name"
    one, two = (_shown(value) for value in (claim.value, earlier.value))
    head = f"{claim.where()}, {place}: {one} for problem {card.id!r}, but {two} in {earlier.where()}"
    return f"{head}; {advice}"


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return f"{len(value)} other points" if len(value) > 3 else repr(value)
    return ", ".join(map(repr, value)) if isinstance(value, list) else repr(value)
