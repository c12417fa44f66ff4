"""Which parameters matter on a problem: how much worse a model of its values predicts when one of them is shuffled.

>>> optarena.open("results").importance("mine.py:loss").table       # doctest: +SKIP
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from optarena._numbers import counted
from optarena.dataset import Dataset
from optarena.errors import NotInstalled, OptarenaError, nearest
from optarena.space import Space
from optarena.traces import Floats, Ints

MOST = 2000
"""Evaluations that the model learns from: whole studies, evenly taken from all."""
LEAST, EACH = 20, 10
"""Fewer evaluations than this, or than so many per parameter, tell nothing."""
EXPLAINED = 0.1
"""A model that explains less of the values it has not seen says nothing of parameters."""
TREES, SHUFFLES = 100, 10
IMPORTANCE = {"parameter": pl.String, "importance": pl.Float64, "spread": pl.Float64}


@dataclass(frozen=True)
class Importance:
    """`table`: one row per parameter, the most important first; empty where nothing can be said: `note` says why."""

    problem: str
    table: pl.DataFrame
    """`importance`: its share of what all parameters explain, from 0 to 1; `spread`: over shufflings, likewise."""
    evaluations: int
    explained: float
    """R² of the model on evaluations that it did not see: 1 is all, 0 nothing."""
    note: str = ""


def importance(results: Dataset, problem: str, *, seed: int = 0) -> Importance:
    """Permutation importance on a random forest of the ranks of all evaluations of a problem (docs/scores.md 7).

    Points of all optimizers are taken together. Where they look around the best point only, so does the answer.
    """
    names = results.studies["problem"].unique().to_list()
    if problem not in names:
        raise OptarenaError(f"store {results.path} has no problem {problem!r}.{nearest(problem, names)}")
    mine = np.flatnonzero((results.studies["problem"].head(len(results.chosen)) == problem).to_numpy())
    empty = pl.DataFrame(schema=IMPORTANCE)
    if not len(mine):
        return Importance(problem, empty, 0, 0.0, "nothing has been evaluated")
    card = results.cards[int(mine[0])]
    if len(card.objectives) > 1 or not card.space:
        why = "it has several objectives" if card.space else "its solutions are not points"
        return Importance(problem, empty, 0, 0.0, why)
    x, y = _evaluations(results, mine, card.space)
    d = len(card.space)
    if len(y) < max(LEAST, EACH * d) or d < 2:
        few = (
            "one parameter explains all" if d < 2 else f"{counted(len(y), 'evaluation')} of {d} parameters are too few"
        )
        return Importance(problem, empty, len(y), 0.0, few)
    shares, explained = _shuffled(x, y, seed)
    if explained < EXPLAINED or not (shares.mean(axis=1) > 0).any():
        why = f"the parameters explain too little of the values (R² {explained:.2f} where the model has not learned)"
        return Importance(problem, empty, len(y), explained, why)
    mean = np.maximum(shares.mean(axis=1), 0.0)
    table = pl.DataFrame(
        {
            "parameter": list(card.space),
            "importance": mean / mean.sum(),
            "spread": shares.std(axis=1, ddof=1) / mean.sum(),
        },
        schema=IMPORTANCE,
    )
    return Importance(problem, table.sort("importance", descending=True, maintain_order=True), len(y), explained)


def _evaluations(results: Dataset, studies: Ints, config: dict[str, dict[str, Any]]) -> tuple[Floats, Floats]:
    """Points in the unit cube and ranks of their values from 0 to 1; failures and violations are left out."""
    made = results.studies["evaluations"].head(len(results.chosen)).to_numpy()[studies]
    step = max(1, -(-int(made.sum()) // MOST))
    full = results.select(studies[::step]).in_full()
    traces = full.traces()
    points: list[dict[str, Any]] = []
    values: list[float] = []
    for i in range(len(traces)):
        rows = np.arange(traces.offsets[i], traces.offsets[i + 1])
        good = rows[traces.feasible[rows] & np.isfinite(traces.values[rows, 0])]
        for point, value in zip(full.parameters(good), traces.values[good, 0].tolist(), strict=True):
            if len(point) == len(config):
                points.append(dict(zip(config, point, strict=True)))
                values.append(value)
    points, values = points[:MOST], values[:MOST]
    if not points:
        return np.zeros((0, len(config))), np.zeros(0)
    order = np.unique(values, return_inverse=True)[1]
    space = Space(config)
    return space.to_unit(space.to_matrix(points)), order / max(1, order.max())


def _shuffled(x: Floats, y: Floats, seed: int) -> tuple[Floats, float]:
    """(parameters, shufflings): what is lost of R² on the half that the forest has not seen; and that R²."""
    try:
        from sklearn.ensemble import RandomForestRegressor
        from sklearn.inspection import permutation_importance
    except ImportError:
        raise NotInstalled("which parameters matter is found with scikit-learn, which needs", "problems") from None

    order = np.random.default_rng(seed).permutation(len(y))
    halves = order[::2], order[1::2]
    lost, explained = [], []
    for learned, tested in (halves, halves[::-1]):
        forest = RandomForestRegressor(TREES, min_samples_leaf=2, random_state=seed).fit(x[learned], y[learned])
        explained.append(float(forest.score(x[tested], y[tested])))
        found = permutation_importance(forest, x[tested], y[tested], n_repeats=SHUFFLES, random_state=seed)
        lost.append(found.importances)
    return np.concatenate(lost, axis=1), float(np.mean(explained))
