"""A comparison as tidy tables, plain data and LaTeX: nothing is computed here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from optarena.comparison.overall import TAU
from optarena.comparison.stability import ordered
from optarena.stats.effects import magnitude
from optarena.stats.ranks import Friedman
from optarena.views.ranking import Ends

if TYPE_CHECKING:
    from optarena.comparison.compare import Comparison


def tables(made: Comparison) -> dict[str, pl.DataFrame]:
    """All of them, by name; without a ranking, only the pairs and the problems."""
    if made.overall is None:
        return {"pairs": pairs(made), "problems": problems(made)}
    return {
        "optimizers": optimizers(made),
        "pairs": pairs(made),
        "rankings": rankings(made),
        "stability": stability(made),
        "groups": groups(made),
        "scott_knott": scott_knott(made),
        "profiles": profiles(made),
        "problems": problems(made),
    }


def optimizers(made: Comparison) -> pl.DataFrame:
    """One row per optimizer, the best mean score first."""
    o = made.rated
    names = pl.Series(made.optimizers)

    def ends(name: str, figure: Ends) -> dict[str, Any]:
        return {name: figure[0], f"{name}_lb": figure[1], f"{name}_ub": figure[2]}

    table = pl.DataFrame(
        {
            "optimizer": names,
            **ends("score", o.score),
            **ends("rank", o.details.rank),
            "best_on": o.details.best_on,
            "problems": np.full(len(names), len(made.scores.problems)),
            "group": o.details.group,
            **ends("iqm", o.details.iqm),
            **ends("median", o.details.median),
            **ends("optimality_gap", o.details.gap),
            **ends("strength", o.details.strength),
        }
    )
    return table[o.order.tolist()].with_columns(pl.selectors.float().fill_nan(None))


def pairs(made: Comparison) -> pl.DataFrame:
    """One row per pair, read "optimizer against other"; the better by mean score first."""
    p = made.pairs
    rank = np.arange(len(made.optimizers)) if made.overall is None else np.argsort(made.overall.order)
    turned = rank[p.first] > rank[p.second]
    a, b = np.where(turned, p.second, p.first), np.where(turned, p.first, p.second)
    names = pl.Series(made.optimizers)

    def either(here: Any, there: Any) -> Any:
        return np.where(turned, there, here)

    improvement = either(p.improvement, 1 - p.improvement)
    columns: dict[str, Any] = {
        "optimizer": names.gather(a),
        "other": names.gather(b),
        "improvement": improvement,
        "improvement_lb": either(p.lower, 1 - p.upper),
        "improvement_ub": either(p.upper, 1 - p.lower),
        "verdict": [p.between(int(x), int(y))[3] for x, y in zip(a, b, strict=True)],
        "wins": either(p.wins, p.losses),
        "ties": p.ties,
        "losses": either(p.losses, p.wins),
        "p": p.p,
        "effect": [None if np.isnan(value) else magnitude(float(value)) for value in improvement],
        "cliffs_delta": 2 * improvement - 1,
        "difference": either(p.difference, -p.difference),
        "difference_lb": either(p.difference_lb, -p.difference_ub),
        "difference_ub": either(p.difference_ub, -p.difference_lb),
        "p_holm": p.other_p,
        "p_better": either(p.bayes[:, 0], p.bayes[:, 2]),
        "p_equivalent": p.bayes[:, 1],
        "p_worse": either(p.bayes[:, 2], p.bayes[:, 0]),
        "more_trials": _known(made.power.trials),
        "more_functions": _known(made.power.functions),
    }
    if made.ratios is not None:
        r = made.ratios
        with np.errstate(divide="ignore"):
            columns |= {
                "ratio": either(r.ratio, 1 / r.ratio),
                "ratio_lb": either(r.lower, 1 / r.upper),
                "ratio_ub": either(r.upper, 1 / r.lower),
                "targets_both": r.both,
                "targets_alone": either(r.only_first, r.only_second),
                "targets_other": either(r.only_second, r.only_first),
            }
    if made.overall is not None and "nemenyi" in made.overall.details.diagrams:
        columns["p_nemenyi"] = made.overall.details.diagrams["nemenyi"].p[p.first, p.second]
    table = pl.DataFrame(columns).with_columns(_a=rank[a], _b=rank[b]).sort("_a", "_b").drop("_a", "_b")
    return table.with_columns(pl.selectors.float().fill_nan(None))


def _known(figures: Any) -> pl.Series:
    return pl.Series([None if value < 0 else int(value) for value in figures], dtype=pl.Int64)


def rankings(made: Comparison) -> pl.DataFrame:
    """One row per optimizer and way of scoring: its place."""
    ways = [("this comparison", *ordered(made.optimizers, made.rated.score[0]), 1.0)]
    ways += [(c.label, c.order, c.places, c.tau) for c in made.changes if c.kind == "ranking"]
    rows = [
        {"ranking": label, "optimizer": name, "place": place, "tau": tau}
        for label, order, places, tau in ways
        for name, place in zip(order, places, strict=True)
    ]
    return pl.DataFrame(rows)


def stability(made: Comparison) -> pl.DataFrame:
    """A row for everything that was left out or scored otherwise, and what changes."""

    def listed(found: list[tuple[str, str]]) -> str:
        return "; ".join(f"{a} > {b}" for a, b in found)

    rows = [
        {
            "kind": c.kind,
            "without": c.label if c.kind != "ranking" else None,
            "ranking": c.label if c.kind == "ranking" else None,
            "first": c.order[0],
            "same_first": c.same_first,
            "tau": c.tau,
            "reversed": listed(c.reversed) if c.tested else None,
            "lost": listed(c.lost) if c.tested else None,
            "gained": listed(c.gained) if c.tested else None,
        }
        for c in made.changes
    ]
    text = dict.fromkeys(("kind", "without", "ranking", "first"), pl.String)
    schema = {**text, "same_first": pl.Boolean, "tau": pl.Float64} | dict.fromkeys(
        ("reversed", "lost", "gained"), pl.String
    )
    return pl.DataFrame(rows, schema=schema)


def groups(made: Comparison) -> pl.DataFrame:
    """One row per bar of the critical-difference diagram and optimizer: no test separates those in one."""
    rows = [
        {"test": test, "bar": i + 1, "optimizer": made.optimizers[o], "rank": float(found.ranks[o])}
        for test, found in made.rated.details.diagrams.items()
        for i, members in enumerate(found.bars)
        for o in members
    ]
    return pl.DataFrame(rows, schema={"test": pl.String, "bar": pl.Int64, "optimizer": pl.String, "rank": pl.Float64})


def scott_knott(made: Comparison) -> pl.DataFrame:
    """One row per optimizer: its group, and quartiles of its scores over problems (over trials, on one problem)."""
    means = made.scores.means
    several = len(means) > 1
    rows = []
    for rank, members in enumerate(made.rated.details.scott_knott.groups):
        for name in members:
            o = made.optimizers.index(name)
            values = means[:, o] if several else made.scores.values[0, o]
            q1, middle, q3 = np.nanquantile(values, [0.25, 0.5, 0.75]).tolist()
            rows.append({"optimizer": name, "group": rank + 1, "median": middle, "q1": q1, "q3": q3})
    return pl.DataFrame(rows)


def profiles(made: Comparison) -> pl.DataFrame:
    """One row per optimizer and tau: the part of trials with a score below 1 - tau, each problem counting alike."""
    k = len(made.optimizers)
    return pl.DataFrame(
        {
            "optimizer": pl.Series(made.optimizers).gather(np.repeat(np.arange(k), len(TAU))),
            "tau": np.tile(TAU, k),
            "fraction": made.rated.details.profile.ravel(),
        }
    )


def problems(made: Comparison) -> pl.DataFrame:
    """One row per problem and optimizer: the mean score and the number of trials."""
    n, k = made.scores.means.shape
    return pl.DataFrame(
        {
            "problem": pl.Series(made.scores.problems).gather(np.repeat(np.arange(n), k)),
            "optimizer": pl.Series(made.optimizers).gather(np.tile(np.arange(k), n)),
            "score": made.scores.means.ravel(),
            "trials": made.scores.trials.ravel(),
        }
    )


def to_data(made: Comparison) -> dict[str, Any]:
    """Everything, as plain data; the answer first."""
    friedman = None if made.overall is None else made.overall.details.friedman
    nemenyi = None if made.overall is None else made.overall.details.diagrams.get("nemenyi")
    out: dict[str, Any] = {
        "answer": made.answer.to_data(),
        "view": made.scores.view,
        "metric": made.scores.metric,
        "score": made.scores.what,
        "over": made.over,
        "rope": made.rope,
        "alpha": made.alpha,
        "detect": made.power.detect,
        "resamples": made.resamples,
        "seed": made.seed,
        "tests": made.pairs.tests,
        "intervals": {"pairs": made.pairs.method, "optimizers": f"95 % over {made.over}"},
        "other_test": made.pairs.other_test,
        "verdict": made.sentences,
        "notes": made.notes,
        "excluded": made.excluded,
        "frame": made.frame,
        "friedman": None if friedman is None else friedman_data(friedman),
        "critical_difference": None if nemenyi is None else nemenyi.cd,
        "tables": {
            name: table.with_columns(pl.selectors.float().fill_nan(None)).to_dicts()
            for name, table in made.tables.items()
        },
    }
    if made.race is not None:
        out["race"] = made.race.to_data()
    return out | ({"others": [to_data(other) for other in made.others]} if made.others else {})


def friedman_data(found: Friedman) -> dict[str, Any]:
    return {
        "chi2": found.statistic,
        "p": found.p,
        "iman_davenport_F": found.iman_davenport_F,
        "iman_davenport_p": None if np.isnan(found.iman_davenport_p) else found.iman_davenport_p,
        "method": found.method,
        "note": found.note,
        "functions": found.n,
    }
