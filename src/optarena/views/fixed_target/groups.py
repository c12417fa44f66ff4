"""The groups that COCO gives the functions of its suites, by their numbers."""

from __future__ import annotations

from itertools import combinations_with_replacement

_BBOB = (
    ("separable", 1, 5),
    ("moderate", 6, 9),
    ("ill-conditioned", 10, 14),
    ("multi-modal", 15, 19),
    ("weakly structured", 20, 24),
)
_CONSTRAINED = (
    *("sphere", "separable ellipsoid", "linear slope", "rotated ellipsoid", "discus", "bent cigar"),
    *("different powers", "separable Rastrigin", "rotated Rastrigin"),
)


def _ranges(*named: tuple[str, int, int]) -> dict[int, str]:
    return {number: name for name, low, high in named for number in range(low, high + 1)}


def _pairs() -> dict[int, str]:
    """bbob-biobj: every two of ten functions, two of each group of bbob."""
    names = [name for name, _, _ in _BBOB for _ in range(2)]
    return {i + 1: f"{a} + {b}" for i, (a, b) in enumerate(combinations_with_replacement(names, 2))}


GROUPS: dict[str, dict[int, str]] = {
    **dict.fromkeys(("bbob", "bbob-boxed", "bbob-largescale", "bbob-mixint"), _ranges(*_BBOB)),
    "bbob-noisy": _ranges(
        ("moderate noise", 101, 106), ("severe noise", 107, 121), ("severe noise, multi-modal", 122, 130)
    ),
    "bbob-constrained": _ranges(*((name, 6 * i + 1, 6 * i + 6) for i, name in enumerate(_CONSTRAINED))),
    "bbob-biobj": _pairs(),
}
"""Suite -> number of a function -> group."""


def groups_of(suite: str | None, function: str, *, several: bool = False) -> list[str]:
    """The groups that a function is counted in: itself, its group in the suite, all.

    several: the store has several suites, so that names say which.
    """
    number = int(function[1:]) if function[:1] == "f" and function[1:].isdigit() else 0
    named = GROUPS.get(suite or "", {}).get(number)
    own = [function] if named is None else [function, named]
    return [*(f"{suite}/{name}" if several and suite else name for name in own), "all"]
