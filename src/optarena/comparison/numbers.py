"""For people who only have numbers: lines of `name number number …` in, Scott-Knott ranks and quartile charts out.

>>> [(one.rank, one.name) for one in rank_numbers(read_numbers("old 5 6 5 7 6\\nnew 2 3 2 3 2"))[0]]
[(1, 'new'), (2, 'old')]
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

import numpy as np

from optarena.errors import OptarenaError
from optarena.stats.scott_knott import ScottKnott, scott_knott
from optarena.traces import Floats

WIDTH = 40
LARGEST = 1e150
"""Of a number: squares and differences of what is larger overflow."""


@dataclass(frozen=True)
class Ranked:
    """A name with its Scott-Knott rank, median, interquartile range, quantiles and chart."""

    rank: int
    name: str
    n: int
    median: float
    iqr: float
    quantiles: tuple[float, ...]
    """At 10, 25, 50, 75 and 90 %."""
    chart: str


def read_numbers(text: str) -> dict[str, Floats]:
    """Names with their numbers. A name is a word, or words in quotes; a line of numbers goes on with the last name."""
    found: dict[str, list[float]] = {}
    last: str | None = None
    for line, content in enumerate(text.removeprefix("\ufeff").splitlines(), start=1):
        content = content.replace(",", " ")
        if not content.strip() or content.lstrip().startswith("#"):
            continue
        try:
            words = shlex.split(content)
        except ValueError:
            raise OptarenaError(f"line {line}: a quotation mark is not closed") from None
        if _number(words[0]) is None:
            last, words = words[0].removesuffix(":"), words[1:]
            if not last.strip():
                raise OptarenaError(f"line {line}: the name is empty")
            found.setdefault(last, [])
        if last is None:
            raise OptarenaError(f"line {line}: a line begins with a name, as: RandomSearch 0.3 0.5; got {words[0]!r}")
        for word in words:
            value = _number(word)
            if value is not None and abs(value) > LARGEST:
                raise OptarenaError(f"line {line}: {word} is too large to rank (up to {LARGEST:g} can be)")
            if value is None or not np.isfinite(value):
                raise OptarenaError(f"line {line}: {word!r} is not a number (a name of several words needs quotes)")
            found[last].append(value)
    empty = next((name for name, values in found.items() if not values), None)
    if empty is not None:
        raise OptarenaError(f"{empty!r} has no numbers")
    if not found:
        raise OptarenaError("there are no numbers: give lines such as: RandomSearch 0.3 0.5 0.4")
    return {name: np.array(values) for name, values in found.items()}


def rank_numbers(
    data: dict[str, Floats],
    *,
    maximise: bool = False,
    alpha: float = 0.05,
    seed: int = 0,
    method: str = "permutation",
) -> tuple[list[Ranked], ScottKnott]:
    """Ranked by Scott-Knott; rank 1 has the least numbers, or the greatest when maximising.

    method: `permutation`, which is calibrated, or `bootstrap`, the original recipe (docs/scores.md 5.7).
    """
    sign = -1.0 if maximise else 1.0
    knots = scott_knott({name: sign * values for name, values in data.items()}, alpha=alpha, seed=seed, method=method)
    everything = np.concatenate(list(data.values()))
    low, high = float(everything.min()), float(everything.max())
    out = []
    for rank, members in enumerate(knots.groups, start=1):
        for name in members:
            q = tuple(np.quantile(data[name], [0.1, 0.25, 0.5, 0.75, 0.9]).tolist())
            out.append(Ranked(rank, name, len(data[name]), q[2], q[3] - q[1], q, chart(q, low, high)))
    return out, knots


def chart(quantiles: tuple[float, ...], low: float, high: float, width: int = WIDTH) -> str:
    """Dashes from 10 to 90 %, an equals sign for each part between the quartiles, a star at the median."""
    span = high - low
    places = [round((q - low) / span * (width - 1)) if span > 0 else 0 for q in quantiles]
    signs = [" "] * width
    signs[width // 2] = "|"
    signs[places[0] : places[4] + 1] = "-" * (places[4] - places[0] + 1)
    signs[places[1] : places[3] + 1] = "=" * (places[3] - places[1] + 1)
    signs[places[2]] = "*"
    return "".join(signs)


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None
