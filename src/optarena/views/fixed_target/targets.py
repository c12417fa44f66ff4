"""Which targets: absolute precisions, parts of the way from random search to the best, or by run length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from optarena.errors import OptarenaError, one_of
from optarena.traces import Bools, Floats
from optarena.views.fixed_target.reference import runlength_targets
from optarena.views.fixed_target.runs import Runs

DEFAULT = 10.0 ** (np.arange(10, -41, -1) / 5)
"""COCO's 51 targets: 10**(2, 1.8, …, -8)."""
PARTS = 10.0 ** (np.arange(0, -51, -1) / 10)
"""Where no optimum is known: 51 parts, 1 … 1e-5, of the way that is left from where random search begins."""
BIOBJECTIVE = np.concatenate((PARTS, [0.0], -(10.0 ** (np.arange(-25, -19) / 5))))
"""Of the bi-objective indicator: cocopp's 58, 1 … 1e-5, 0, -1e-5 … -1e-4."""
COCO_BIOBJECTIVE = np.concatenate((10.0 ** np.arange(0, -5.1, -0.1), [0.0], -(10.0 ** np.arange(-5, -3.9, 0.2))))
"""The same to the last digit as cocopp computes them, which decides where they fall on its grid."""
_POSITIVE = 10.0 ** (np.arange(-200, 101) / 10)
FINE_GRID = np.concatenate((-_POSITIVE[::-1], [0.0], _POSITIVE))
CONSTRAINED = DEFAULT[:41]
"""Of bbob-constrained in mode coco: cocopp's 41, 10**(2, 1.8, …, -6)."""
KINDS = ("absolute", "relative", "runlength")
FINAL = 1e-8


@dataclass
class Targets:
    """What was asked for: a kind and its numbers."""

    kind: str
    values: Floats
    moved: bool = False
    """Whether they were not given from the easiest to the hardest, each once."""


def parse(given: str | list[float] | Floats | None) -> Targets | None:
    """`1e1,1e-1`, `relative:1,0.1`, `runlength:0.5,1.2,3,10,50`, or numbers; None for the default."""
    if given is None:
        return None
    kind = "absolute"
    if isinstance(given, str):
        head, colon, rest = given.partition(":")
        if colon:
            kind, given = head.strip(), rest
        one_of("the kind of targets", kind, KINDS)
        try:
            values = np.array([float(text) for text in given.split(",") if text.strip()])
        except ValueError as error:
            raise OptarenaError(f"targets are numbers with commas between them, such as 1e1,1e-1: {error}") from None
    else:
        values = np.asarray(given, dtype=float).ravel()
    if not len(values) or not np.isfinite(values).all():
        raise OptarenaError("targets are finite numbers with commas between them, such as 1e1,1e-1")
    if kind == "runlength" and (values <= 0).any():
        raise OptarenaError(f"a run length is more than 0; got {values.min():g}")
    ordered = np.unique(values)[:: 1 if kind == "runlength" else -1]
    return Targets(kind, ordered, moved=not np.array_equal(ordered, values))


def per_cell(runs: Runs, wanted: Targets | None, mode: str) -> tuple[Floats, Floats]:
    """(cells, targets): the targets of each cell, as precisions of its runs, from the easiest to the hardest.

    NaN at the end of those that have fewer. Twice: as they are called, and as runs are compared with them.
    See docs/scores.md 2.2.
    """
    rows, compared = [], []
    indicator, parts = _any(runs, runs.indicator), _any(runs, runs.parts)
    for c, row in enumerate(runs.cells.iter_rows(named=True)):
        if wanted is None:
            usual = CONSTRAINED if mode == "coco" and row["suite"] == "bbob-constrained" else DEFAULT
            two = COCO_BIOBJECTIVE if mode == "coco" else BIOBJECTIVE
            mine = two if indicator[c] else PARTS if parts[c] else usual
        elif wanted.kind == "runlength":
            found = runlength_targets(row["suite"], row["function"], row["dimension"], wanted.values, mode)
            if found is None:
                raise OptarenaError(
                    "run-length targets need a reference algorithm: none is known for "
                    f"{row['suite']}/{row['function']} in dimension {row['dimension']} "
                    "(best 2009 covers bbob in 2, 3, 5, 10, 20 and 40 dimensions)"
                )
            mine = found
        else:
            mine = wanted.values
            if (mine < 0).any() and not indicator[c]:
                raise OptarenaError(
                    f"a target is a distance to the optimum, which is never negative; got {mine.min():g} "
                    "(only the indicator of bbob-biobj may pass its reference)"
                )
        if mode == "coco" and not indicator[c]:
            mine = on_grid(mine)
            if (mine < FINAL * (1 - 1e-9)).any():
                raise OptarenaError(
                    "in mode coco a run ends at 1e-8, so harder targets cannot be scored: use mode exact"
                )
        rows.append(mine)
        compared.append(on_fine_grid(mine) if mode == "coco" and indicator[c] else mine)
    return _padded(rows), _padded(compared)


def _padded(rows: list[Floats]) -> Floats:
    out = np.full((len(rows), max(map(len, rows))), np.nan)
    for c, mine in enumerate(rows):
        out[c, : len(mine)] = mine
    return out


def _any(runs: Runs, flags: Bools) -> Bools:
    """(cells,): whether any of its runs has the flag."""
    out = np.zeros(runs.cells.height, dtype=bool)
    out[runs.cell[flags]] = True
    return out


def on_grid(targets: Floats) -> Floats:
    """COCO's grid 10**(i/5): a target between two of its points is rounded to the next harder (docs/scores.md 2.14)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.floor(5 * np.log10(targets) + 1e-6)
    return np.where(np.isfinite(steps), 10.0 ** (steps / 5), targets)


def on_fine_grid(targets: Floats) -> Floats:
    """COCO's grid for two objectives, 10**(i/10), 0 and the negatives: as floats, the next harder.

    See docs/scores.md 2.14.
    """
    at = np.searchsorted(FINE_GRID, targets, side="right") - 1
    return np.where(at >= 0, FINE_GRID[np.maximum(at, 0)], targets)


def to_data(wanted: Targets | None, used: Floats) -> dict[str, Any]:
    """For the frame. used: (cells, targets), those of each cell."""
    if wanted is None:  # those of the first kind of problems; others may have their own
        return {"kind": "default", "values": [float(f"{v:.12g}") for v in used[0][~np.isnan(used[0])]]}
    return {"kind": wanted.kind, "values": [float(v) for v in wanted.values]}
