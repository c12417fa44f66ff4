"""Putting stores together: their files are copied side by side; equal rows collapse when read, others are named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from optarena._files import write_atomically
from optarena.errors import OptarenaError
from optarena.problem import Known
from optarena.store import Store
from optarena.store.columns import Attempt, Columns
from optarena.store.damage import sentence
from optarena.store.records import ProblemCard
from optarena.store.signatures import facts_of, has_changed, made_with
from optarena.store.streaming import read_store

TINY = 1e-9
DIFFERENCE = "f - f_opt"
"""What a foreign log whose optimum is 0 says of its values, in the attribute `values`."""
DEFINITION = ("space", "objectives", "constraints", "metrics", "noisy", "stateless", "known", "source")


class Opened(NamedTuple):
    """A store that was read."""

    path: Path
    columns: Columns


def merge(sources: Sequence[Store], target: Store) -> None:
    """Copy what the target lacks. Problems that share an id and a version must be the same problem.

    Everything is checked before the first file is copied.
    """
    if not sources:
        raise OptarenaError("nothing to merge: name at least one store")
    for store in sources:
        store.must_exist()
        if store.path.resolve() == target.path.resolve():
            raise OptarenaError(f"{store.path} is both a source and the target")
    stores = [store for store in [*sources, target] if store.exists]
    opened = [Opened(store.path, read_store(store.journal_paths, store.shard_paths)) for store in stores]
    for path, columns in opened:
        if columns.damage:
            raise OptarenaError(f"{sentence(path, columns.damage)}; nothing was merged")
    _refuse_mismatch(opened)
    _refuse_conflicts(stores, opened)
    copies = [
        (path, target.path / path.parent.name / path.name)
        for store in sources
        for paths in (store.journal_paths, store.shard_paths, store.run_paths)
        for path in sorted(paths())
    ]
    _refuse_changed_files(copies)
    target.create()
    with target.lock("compact"):
        for path, to in copies:
            data = _newer(path, to)
            if data is not None:
                write_atomically(to, data)


def differing(one: ProblemCard, two: ProblemCard) -> str | None:
    """The first part of the definition in which two cards of one problem differ; signatures are no part of it."""
    # what an imported file tells of a problem is what it has columns for, and files differ in them
    parts = ("objectives",) if one.imported else DEFINITION
    return next((what for what in parts if not _same(getattr(one, what), getattr(two, what))), None)


def _same(one: Any, two: Any) -> bool:
    """Whether two parts are the same; fronts are computed, so that other machines may tell other last digits."""
    if one == two or not isinstance(one, Known):
        return bool(one == two)
    fronts = [np.array(known.front) for known in (one, two) if known.front is not None]
    if len(fronts) < 2 or fronts[0].shape != fronts[1].shape:
        return False
    bounds = [np.array([*(known.ideal or ()), *(known.nadir or ())]) for known in (one, two)]
    rest = [msgspec.structs.replace(known, front=None, ideal=None, nadir=None) for known in (one, two)]
    near = all(len(a) == len(b) and np.allclose(a, b, rtol=1e-8, atol=1e-8) for a, b in (fronts, bounds))
    return near and rest[0] == rest[1]


class Optimum(NamedTuple):
    """The optimum of f itself that a study tells, and how far its digits reach."""

    value: float
    within: float

    def agrees(self, other: Optimum) -> bool:
        return abs(self.value - other.value) <= max(self.within, other.within)


def told_optimum(card: ProblemCard, attributes: Mapping[str, str]) -> Optimum | None:
    """What a study says of the optimum of f; one that was imported as f - f_opt says what was subtracted, if that."""
    if len(card.objectives) != 1:
        return None
    if attributes.get("values") == DIFFERENCE:
        text = attributes.get("coco_f_opt", "")
        try:
            value = float(text)
        except ValueError:
            return None
        digits = len(text.lower().partition("e")[0].replace(".", "").lstrip("+-0"))
        return Optimum(value, abs(value) * 10.0 ** (1 - max(digits, 1)) + TINY)
    known = card.known.optimum
    return None if known is None else Optimum(float(known[0]), abs(float(known[0])) * TINY + TINY)


def _refuse_mismatch(opened: Sequence[Opened]) -> None:
    cards: dict[tuple[str, str], tuple[ProblemCard, Path]] = {}
    optima: dict[tuple[str, int | None], tuple[Optimum, Path, bool]] = {}
    signed: dict[tuple[str, str], list[tuple[ProblemCard, Path]]] = {}
    for results in opened:
        _refuse_other_values(results, signed)
        for attempt in results.columns.attempts:
            card = attempt.card
            known, where = cards.setdefault((card.id, card.version), (card, results.path))
            what = differing(card, known)
            if what is not None:
                raise OptarenaError(
                    f"{card.id}, version {card.version}: its {what} in {results.path} is not that in {where};"
                    " they are two problems and need two versions"
                )
            optimum, ran = told_optimum(card, attempt.start.attributes), not card.imported
            if optimum is None:
                continue
            other, there, was_run = optima.setdefault((card.id, card.instance), (optimum, results.path, ran))
            # what was run has a version, and two versions may differ
            if not (ran and was_run) and not optimum.agrees(other):
                raise OptarenaError(
                    f"{card.id}: its optimum is {optimum.value!r} in {results.path} and {other.value!r} in {there};"
                    " they are two problems, keep these stores apart"
                )


def _refuse_other_values(results: Opened, known: dict[tuple[str, str], list[tuple[ProblemCard, Path]]]) -> None:
    """Refuse a problem that other packages have changed; what only other machines have changed is noted when read."""
    for key, signed in results.columns.signed.items():
        for card in {item.card.hash: item.card for item in signed}.values():
            for other, where in known.get(key, ()):
                if has_changed(card, other):
                    raise OptarenaError(
                        f"{card.id}, version {card.version}: its signature in {results.path} ({made_with(card)})"
                        f" is not that in {where} ({made_with(other)}): the same points give other values;"
                        " keep these stores apart"
                    )
            known.setdefault(key, []).append((card, results.path))


def _refuse_conflicts(stores: Sequence[Store], opened: Sequence[Opened]) -> None:
    """Refuse evaluations that have one number in one study and other values in different stores."""
    together = read_store(
        lambda: (path for store in stores for path in store.journal_paths()),
        lambda: (path for store in stores for path in store.shard_paths()),
    )
    before = {key for results in opened for key in _conflicts(results.columns)}
    new = [attempt for key, attempt in _conflicts(together).items() if key not in before]
    if not new:
        return
    attempt = new[0]
    kernels = sorted({facts_of(header)[-1] for header in attempt.headers})
    hint = f" (made with kernels {' and '.join(kernels)})" if len(kernels) > 1 else ""
    others = f" (and {len(new) - 1:,} more)" if len(new) > 1 else ""
    raise OptarenaError(
        f"study {attempt.start.study} ({attempt.start.optimizer} on {attempt.card.id}, trial {attempt.start.trial}):"
        f" evaluation {attempt.conflicts[0]} has other values in different stores{hint}{others}; nothing was merged,"
        " keep these stores apart"
    )


def _conflicts(columns: Columns) -> dict[tuple[str, int], Attempt]:
    """The attempts whose rows contradict each other."""
    return {(item.start.study, item.start.attempt): item for item in columns.attempts if item.conflicts}


def _refuse_changed_files(copies: Sequence[tuple[Path, Path]]) -> None:
    """Refuse files of one name that neither grew from each other nor from what the target has."""
    first: dict[Path, Path] = {}
    for path, to in copies:
        _newer(path, to)
        _newer(path, first.setdefault(to, path))


def _newer(path: Path, have: Path) -> bytes | None:
    """The content of a file where it is newer than another of its name; None where that has it all.

    A journal only grows, so one must begin with the other. Of run files, the one that has ended is the newer.
    """
    data = path.read_bytes()
    if not have.exists():
        return data
    known = have.read_bytes()
    if known.startswith(data):
        return None
    if data.startswith(known):
        return data
    if path.suffix == ".json":
        try:
            ended = msgspec.json.decode(data).get("ended")
        except (msgspec.DecodeError, AttributeError):
            ended = None
        return data if ended is not None else None
    raise OptarenaError(
        f"{path} and {have} differ, and neither begins with the other: one of them was changed by hand; nothing was"
        " merged"
    )
