"""The trials of a comparison as the page holds them: what its filters compute the answer from.

The page repeats `Comparison.part` for the chosen optimizers and problems (static/answer.js): constants, texts and the
patterns of signs come from here, so that both give the same numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from optarena._json import numbers
from optarena._text import visible
from optarena._widths import middle_cut
from optarena.comparison import Comparison
from optarena.comparison.answer import LONG, SIGNS, WIDEST
from optarena.comparison.words import LISTED, WARNINGS
from optarena.report.boards.answer import MATRIX
from optarena.stats import improvement
from optarena.views._scores import AT_OPTIMUM, SAME
from optarena.views.selection import SHOWN

MOST = 50_000
"""Trials that a page holds: beyond, its answer is about all optimizers and problems."""


def trials_of(made: Comparison) -> dict[str, Any] | None:
    """All that a part of the comparison needs; None where it would be too much, or where only some pairs are known."""
    if made.given is None or made.given[1].values.size > MOST or not made.pairs.all_are_here:
        return None
    scores, trials = made.given
    rows = {name: p for p, name in enumerate(scores.problems)}
    failed = made.failures_on.filter(pl.col("optimizer").is_in(trials.optimizers))
    return {
        "optimizers": [visible(name) for name in trials.optimizers],
        "problems": [
            {
                "name": visible(name),
                "function": visible(function),
                "optimum": _known(optimum),
                "sign": made.signs.get(name, 1.0),
                "values": [_list(one) for one in trials.values[p]],
                "scores": [_list(one) for one in scores.values[rows[name]]] if name in rows else None,
                "scale": _known(scores.scale[rows[name]]) if name in rows else None,
            }
            for p, (name, function, optimum) in enumerate(
                zip(trials.problems, trials.functions, trials.optimum.tolist(), strict=True)
            )
        ],
        "failed": [[visible(value) if isinstance(value, str) else value for value in row] for row in failed.rows()],
        "unscored": [[visible(text) for text in one] for one in made.unscored],
        "standing": [visible(text) for text in made.standing],
        "original": made.original,
        "view": trials.view,
        "metric": trials.metric,
        "same_view": made.scores.view == trials.view,
        "unit": scores.unit,
        "scale": {"undefined": made.scale_for(1.0), "usual": made.scale_for(0.5)},
        "race": None if made.race is None else {"live": [visible(name) for name in made.race.live]},
        "decided": _decided(made) if made.pairs.at_every_look else None,
        "alpha": made.alpha,
        "rope": made.rope,
        "generator": _generator(made.seed),
        "constants": CONSTANTS,
    }


CONSTANTS = {
    "same": SAME,
    "at_optimum": AT_OPTIMUM,
    "rope": improvement.ROPE,
    "apart": improvement.APART,
    "rounded": improvement.ROUNDED,
    "enumerated": improvement.ENUMERATED,
    "flips": improvement.FLIPS,
    "flip_work": improvement.FLIP_WORK,
    "signs": SIGNS,
    "matrix": MATRIX,
    "longest_name": LONG,
    "name_begin": middle_cut("x" * (LONG + 1), LONG).index("…"),
    "longest_figure": WIDEST,
    "listed": LISTED,
    "warnings": WARNINGS,
    "failures": SHOWN,
}
"""What the formulas in Python have fixed, so that the page has the same."""


def _decided(made: Comparison) -> list[list[Any]]:
    """Of a race: each pair with its probability and the interval that held at every look."""
    p = made.pairs
    names = [visible(name) for name in made.optimizers]
    return [
        [names[a], names[b], _known(value), lower, upper]
        for a, b, value, lower, upper in zip(
            p.first.tolist(), p.second.tolist(), p.improvement.tolist(), p.lower.tolist(), p.upper.tolist(), strict=True
        )
    ]


def _generator(seed: int) -> dict[str, str]:
    """Where the random patterns of signs begin: the state of NumPy's PCG64, as texts of whole numbers."""
    state = np.random.PCG64(seed).state["state"]
    return {"state": str(state["state"]), "inc": str(state["inc"])}


def _list(values: Any) -> list[Any]:
    """Trials of one optimizer on one problem: those that are there, an infinite one as a text."""
    return numbers(values[~np.isnan(values)].tolist())


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
