"""The groups and the names that COCO gives the functions of its suites, by their numbers."""

from __future__ import annotations

from collections.abc import Iterable
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


_NAMES = (
    *("Sphere", "Separable ellipsoid", "Separable Rastrigin", "Büche-Rastrigin", "Linear slope", "Attractive sector"),
    *("Step ellipsoid", "Rosenbrock", "Rotated Rosenbrock", "Ellipsoid", "Discus", "Bent cigar", "Sharp ridge"),
    *("Different powers", "Rastrigin", "Weierstrass", "Schaffer F7", "Ill-conditioned Schaffer F7"),
    *("Griewank-Rosenbrock", "Schwefel", "Gallagher 101 peaks", "Gallagher 21 peaks", "Katsuura"),
    "Lunacek bi-Rastrigin",
)
_NOISY = (
    *("Sphere, moderate", "Rosenbrock, moderate", "Sphere,", "Rosenbrock,", "Step ellipsoid,", "Ellipsoid,"),
    *("Different powers,", "Schaffer F7,", "Griewank-Rosenbrock,", "Gallagher 101 peaks,"),
)
_CONSTRAINTS = ("1", "3", "9", "9 + 3D/4", "9 + 3D/2", "9 + 9D/2")
_PAIRED = (1, 2, 6, 8, 13, 14, 15, 17, 20, 21)


def _numbered(names: Iterable[str], first: int = 1) -> dict[int, str]:
    return dict(enumerate(names, start=first))


NAMES: dict[str, dict[int, str]] = {
    **dict.fromkeys(("bbob", "bbob-boxed", "bbob-largescale", "bbob-mixint"), _numbered(_NAMES)),
    "bbob-noisy": _numbered(
        (f"{name} {noise} noise" for name in _NOISY for noise in ("Gauss", "uniform", "Cauchy")), 101
    ),
    "bbob-constrained": _numbered(
        f"{name[0].upper()}{name[1:]}, {n} constraint{'s' * (n != '1')}" for name in _CONSTRAINED for n in _CONSTRAINTS
    ),
    "bbob-biobj": _numbered(f"{_NAMES[a - 1]} / {_NAMES[b - 1]}" for a, b in combinations_with_replacement(_PAIRED, 2)),
}
"""Suite -> number of a function -> its name."""


def name_of(suite: str | None, function: str) -> str | None:
    """What COCO calls a function of one of its suites."""
    return NAMES.get(suite or "", {}).get(_number(function))


def _number(function: str) -> int:
    return int(function[1:]) if function[:1] == "f" and function[1:].isdigit() else 0


def groups_of(suite: str | None, function: str, *, several: bool = False) -> list[str]:
    """The groups that a function is counted in: itself, its group in the suite, all.

    several: the store has several suites, so that names say which.
    """
    named = GROUPS.get(suite or "", {}).get(_number(function))
    own = [function] if named is None else [function, named]
    return [*(f"{suite}/{name}" if several and suite else name for name in own), "all"]


def title_of(suite: str | None, function: str, shown: str = "") -> str:
    """A function with its name: `f1 Sphere`. shown: what stands for the id."""
    return f"{shown or function} {name_of(suite, function) or ''}".rstrip()
