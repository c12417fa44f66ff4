"""One colour per optimizer, everywhere: page, figures, papers. Nothing is drawn here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from optarena.optimizer import is_random_search

# seven colours that people with any kind of colour blindness tell apart, and that stand out on white and on black
PALETTE = ("#0077bb", "#ee7733", "#009988", "#cc3311", "#33a7d8", "#e0408a", "#8a63c9")
BASELINE = "#8a8a8a"
"""Random search is what the others are measured against: it is always grey."""
DASHES: tuple[tuple[int, ...], ...] = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3))
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")


@dataclass(frozen=True)
class Colours:
    """The names, sorted, and for each its colour, the dashes of its line and the shape of its point."""

    names: tuple[str, ...]
    colours: tuple[str, ...]
    dashes: tuple[tuple[int, ...], ...]
    shapes: tuple[str, ...]

    @property
    def repeat(self) -> bool:
        """Whether there are more optimizers than colours, so that dashes are needed to tell lines apart."""
        return len(set(self.colours)) < len(self.names)


def assign(names: Iterable[str]) -> Colours:
    """By sorted name, so that the same store always has the same colours; beyond the palette, dashes change."""
    ordered = sorted(set(names))
    baselines = [name for name in ordered if is_random_search(name)]
    others = [name for name in ordered if not is_random_search(name)]
    place = {name: i for i, name in enumerate(others)}
    colours, rounds = [], []
    for name in ordered:
        if name in place:
            colours.append(PALETTE[place[name] % len(PALETTE)])
            rounds.append(place[name] // len(PALETTE))
        else:
            colours.append(BASELINE)
            rounds.append(baselines.index(name))
    return Colours(
        tuple(ordered),
        tuple(colours),
        tuple(DASHES[i % len(DASHES)] for i in rounds),
        tuple(SHAPES[i % len(SHAPES)] for i in range(len(ordered))),
    )
