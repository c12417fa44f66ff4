"""The main score of each optimizer with its interval: one rule and one formula for comparisons and leaderboards.

A leaderboard that shows a store's score shows the numbers that decide in its comparison (docs/scores.md 1.8 and 5.3).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from optarena.stats import estimates
from optarena.stats.improvement import enough_functions
from optarena.stats.ranks import ranks_of
from optarena.traces import Bools, Floats, Ints
from optarena.views._scores import Scores

Ends = tuple[Floats, Floats, Floats]
"""Values (optimizers,) and the ends of their intervals."""


# ---- what claims are about -------------------------------------------------------------------------------------------


def claims_about(trials: Scores, alpha: float = estimates.ALPHA) -> str:
    """What claims are about where nobody chose: similar `problems`, if there are functions enough to decide any pair.

    With fewer they are about new `trials` on just these problems, where there are several (docs/scores.md 5.3).
    """
    k = len(trials.optimizers)
    enough = enough_functions(len(set(trials.functions)), max(1, k * (k - 1) // 2), alpha)
    return "problems" if enough or int(trials.trials.max(initial=0)) < 2 else "trials"


def run_by_all(trials: Scores) -> Scores:
    """On the problems that all have run; who has nothing anywhere does not count (docs/scores.md 0.4)."""
    has = trials.trials > 0
    found = trials.of([trials.optimizers[o] for o in np.flatnonzero(has.any(axis=0)).tolist()])
    return found.on(np.asarray((found.trials > 0).all(axis=1)))


# ---- the score and the order -----------------------------------------------------------------------------------------


def main_score(scores: Scores, over: str) -> Ends:
    """The view's main score of each optimizer with its t interval, over problems or trials (docs/scores.md 1.8).

    The interval stays within what is possible; NaN where it has no end.
    """
    use = used(scores)
    found = estimates.mean(scores.means[use].T)
    value, half = found.value, found.upper - found.value
    if over == "trials":
        each = estimates.mean(scores.values[use])
        half = estimates.half_of_mean((each.upper - each.value).T, each.n.T)
    lower, upper = value - half, value + half
    values = scores.values[~np.isnan(scores.values)]
    if scores.unit and len(values):  # a mean of numbers from 0 to 1 lies there too
        lower = np.maximum(lower, 0.0) if values.min() >= 0 else lower
        upper = np.minimum(upper, 1.0) if values.max() <= 1 else upper
    unit = scale_of(scores)
    known = np.isfinite(half)
    return value / unit, np.where(known, lower / unit, np.nan), np.where(known, upper / unit, np.nan)


def leaderboard(scores: Scores, trials: Scores, over: str, first: Sequence[str] = ()) -> pl.DataFrame:
    """optimizer, score, score_lb, score_ub on the problems that all have run, the best first; null: no such number.

    trials: by what trials are ordered. first: the order of optimizers whose scores are equal.
    """
    names = [*first, *(name for name in scores.optimizers if name not in first)]
    scores, trials = scores.of(names), trials.of(names)
    common = run_by_all(trials)
    shown = common.optimizers
    whole = scores.of(shown)
    whole = whole.on(np.isin(whole.problems, common.problems)).complete()
    none = np.full(len(shown), np.nan)
    ends, order = (none, none, none), np.arange(len(shown))
    if len(whole.problems):
        ends, order = main_score(whole, over), by_score(whole)
    table = pl.DataFrame(
        {"optimizer": shown, **dict(zip(("score", "score_lb", "score_ub"), ends, strict=True))},
        schema_overrides={"optimizer": pl.String},
    )
    rest = pl.DataFrame({"optimizer": [name for name in names if name not in shown]}, schema={"optimizer": pl.String})
    return pl.concat([table[order.tolist()].with_columns(pl.selectors.float().fill_nan(None)), rest], how="diagonal")


def by_score(scores: Scores) -> Ints:
    """Numbers of optimizers by their main score, the best first; ties by average rank."""
    means = settled(scores.means[used(scores)])
    order: Ints = np.lexsort((ranks_of(means, axis=1).mean(axis=0), settled(means.mean(axis=0))))
    return order


def settled(means: Floats) -> Floats:
    """Means that are equal but for rounding made equal, so that they tie."""
    return np.round(means, 12)


def used(scores: Scores) -> Bools:
    """(problems,): which are in the main score: those that have a scale; all, where none has."""
    known = np.isfinite(scores.scale)
    return known if known.any() else np.ones(len(known), dtype=bool)


def scale_of(scores: Scores) -> float:
    """What mean scores are divided by: random search's own mean, where the view has one; 1 where that is undefined."""
    unit = float(np.nanmean(scores.scale)) if np.isfinite(scores.scale).any() else np.nan
    return unit if unit >= 1e-6 else 1.0
