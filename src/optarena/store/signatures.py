"""Signatures: a problem's values at a few fixed points, which tell a changed problem from another machine.

Other packages and other values: the problem has changed, and its studies must not be mixed. The same packages and other
values: another CPU or other numeric kernels rounded differently; studies continue, and readers are warned.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from optarena.errors import OptarenaError
from optarena.store.records import Header, ProblemCard

if TYPE_CHECKING:
    from optarena.store.columns import Columns

TOLERANCE = 1e-4
"""Relative: values that other packages moved by more than this make another problem."""
EQUAL = 1e-12
"""Relative: values that agree to this are equal."""
FACTS = ("cpu", "blas", "kernels")
"""What may change digits where packages are the same."""
FOREIGN = "bayesmark"
"""The package that an imported study names: which others decided its values is not known."""


class Signed(NamedTuple):
    """A signature and where it was computed."""

    card: ProblemCard
    facts: tuple[str, ...]


def facts_of(header: Header) -> tuple[str, ...]:
    """The facts of a process; journals from before the pinning of kernels were made with native ones."""
    found = {"kernels": "native", **header.environment}
    return tuple(str(found.get(key, "unknown")) for key in FACTS)


def gap(one: ProblemCard, two: ProblemCard) -> float:
    """The largest relative difference between two signatures; 0 where one of them is missing."""
    if not one.signature or not two.signature:
        return 0.0
    return relative_gap(_values(one), _values(two))


def _values(card: ProblemCard) -> list[float]:
    try:
        return [float(value) for value in card.signature if value is not None]
    except ValueError:
        raise OptarenaError(f"the signature of {card.id} is {list(card.signature)}: expected numbers") from None


def relative_gap(one: Iterable[float], two: Iterable[float]) -> float:
    """The largest relative difference between two lists of values; infinite where they cannot be compared."""
    a, b = np.array(list(one)), np.array(list(two))
    if a.shape != b.shape:
        return float("inf")
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.abs(a - b) / np.maximum(np.abs(a), np.abs(b))
    return float(np.max(np.where(same, 0.0, np.where(np.isfinite(ratio), ratio, np.inf)), initial=0.0))


def same_packages(one: ProblemCard, two: ProblemCard) -> bool:
    """Whether two cards were made with the same packages, as far as that is known."""
    return bool(one.versions) and one.versions == two.versions and FOREIGN not in one.versions


def has_changed(one: ProblemCard, two: ProblemCard) -> bool:
    """Whether two cards of one problem tell of two problems: its packages changed, and its values moved."""
    return not same_packages(one, two) and gap(one, two) > TOLERANCE


def made_with(card: ProblemCard) -> str:
    """'scikit-learn 1.9.1, numpy 2.4.6, …': what decided the values of a problem."""
    return ", ".join(f"{name} {version}" for name, version in card.versions.items()) or "unknown packages"


def notes(columns: Columns, problems: Iterable[str]) -> list[str]:
    """One sentence per group of problems whose values differ between the machines or packages of a store."""
    wanted = set(problems)
    groups: dict[tuple[str, ...], list[tuple[str, float]]] = {}
    for (problem, _), signed in columns.signed.items():
        if problem not in wanted or len(signed) < 2:
            continue
        furthest = max(gap(one.card, two.card) for one, two in combinations(signed, 2))
        if furthest > EQUAL:
            groups.setdefault(_differences(signed), []).append((problem, furthest))
    return [_sentence(found, where) for where, found in groups.items()]


def _sentence(found: list[tuple[str, float]], where: tuple[str, ...]) -> str:
    worst, furthest = max(found, key=lambda item: item[1])
    if len(found) == 1:
        who, most = worst, ""
    else:
        who, most = f"{len(found)} problems", f", most on {worst}"
    return (
        f"{who}: the same points gave values that differ by up to {furthest:.1e} (relative{most})"
        f" between {' and '.join(where) or 'two processes'}"
    )


def _differences(signed: list[Signed]) -> tuple[str, ...]:
    """Where each signature was computed, in what tells them apart: CPU, BLAS, kernels, packages."""
    parts = [(*item.facts[:-1], f"kernels {item.facts[-1]}", made_with(item.card)) for item in signed]
    telling = [column for column in zip(*parts, strict=True) if len(set(column)) > 1]
    return tuple(dict.fromkeys(", ".join(row) for row in zip(*telling, strict=True)))


def kernels_of(crews: Iterable[tuple[Iterable[Header], int]]) -> Mapping[str, int]:
    """How many attempts ran with which numeric kernels; several at one study are joined by ' and '.

    crews: processes that worked at the same attempts, and at how many.
    """
    counts: dict[str, int] = {}
    for headers, attempts in crews:
        ran = [header for header in headers if "blas" in header.environment]  # what was imported does not tell
        if ran and attempts:
            name = " and ".join(sorted({facts_of(header)[-1] for header in ran}))
            counts[name] = counts.get(name, 0) + attempts
    return dict(sorted(counts.items()))
