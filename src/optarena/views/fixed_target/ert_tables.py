"""Tidy tables that the figures of the fixed-target view draw: expected running times and what is made of them."""

from __future__ import annotations

import numpy as np
import polars as pl

from optarena._numbers import power_of_ten
from optarena._order import natural
from optarena.traces import Floats
from optarena.views.fixed_target import virtual_best
from optarena.views.fixed_target.distributions import grid
from optarena.views.fixed_target.figure_tables import ALL, KEYS, reference_name
from optarena.views.fixed_target.groups import title_of
from optarena.views.fixed_target.reference import BEST_2009
from optarena.views.fixed_target.view import FixedTarget

ASIDE = 1.06
POWERS = (1, 0, -1, -2, -3, -5, -8)
"""The targets 10^k whose running times are drawn over dimensions: those of COCO's figures."""


def ert(view: FixedTarget, names: pl.DataFrame, *, thin: bool = False) -> pl.DataFrame:
    """The ERT per dimension of every target, its interval and the reference: one panel per function and dimension."""
    table = _expected(view)
    if thin:  # powers of ten
        exponent = pl.col("target").log10()
        table = table.filter((exponent - exponent.round()).abs() < 1e-6)
    table = table.join(names, on=KEYS, how="left", nulls_equal=True, maintain_order="left")
    order = pl.Enum(names["name"])
    return table.select(
        "optimizer",
        "dimension",
        function="name",
        title=_titles(table),
        place=pl.col("name").cast(order).to_physical(),
        target=pl.col("target").round_sig_figs(6),
        **_figures(view),
    ).sort("place", "optimizer", "target", descending=[False, False, True])


def ert_by_dimension(view: FixedTarget) -> pl.DataFrame:
    """The ERT per dimension of each function by dimension, to the hardest target that is reached in most dimensions."""
    keys = ["suite", "function"]
    table = _expected(view).filter(pl.col("dimension") > 0)
    reached = (
        table.filter(pl.col("ert").is_finite())
        .group_by(*keys, "target")
        .agg(pl.col("dimension").n_unique())
        .filter(pl.col("dimension") > 1)
        .sort("dimension", "target", descending=[True, False])
        .group_by(keys, maintain_order=True)
        .first()
        .drop("dimension")
    )
    joined = table.join(reached, on=[*keys, "target"], nulls_equal=True, maintain_order="left")
    joined = joined.with_columns(name=_name(), title=_titles(joined))
    order = pl.Enum(natural(joined["name"]))
    names = sorted(joined["optimizer"].unique())  # failures at the same budget stand side by side
    shift = {name: ASIDE ** (i - (len(names) - 1) / 2) for i, name in enumerate(names)}
    aside = pl.col("optimizer").replace_strict(shift, default=1.0, return_dtype=pl.Float64)
    return joined.select(
        "optimizer",
        panel=pl.format("{} to {}", "title", pl.col("target").map_elements(power_of_ten, return_dtype=pl.String)),
        place=pl.col("name").cast(order).to_physical(),
        D="dimension",
        **_figures(view),
        missed=_missed(view),
        beside=pl.col("dimension") * aside,
    ).sort("place", "optimizer", "D")


def scaling(view: FixedTarget) -> pl.DataFrame:
    """The ERT per dimension of each function by dimension, to the targets 10^k: a panel per function.

    `missed`: the greatest budget per dimension, where not every run reached the hardest of these targets.
    """
    exponent = pl.col("target").log10()
    near = exponent.round().cast(pl.Int64, strict=False)
    table = _expected(view).filter(pl.col("dimension") > 0, pl.col("target") > 0)
    table = table.with_columns(power=near).filter((exponent - near).abs() < 1e-6, pl.col("power").is_in(POWERS))
    table = table.with_columns(name=_name(), title=_titles(table))
    order = pl.Enum(natural(table["name"]))
    last = pl.col("power") == pl.col("power").min().over("optimizer", *KEYS)
    return table.select(
        "optimizer",
        panel="title",
        place=pl.col("name").cast(order).to_physical(),
        D="dimension",
        k=pl.col("target").map_elements(power_of_ten, return_dtype=pl.String),
        power="power",
        **_figures(view),
        missed=pl.when(last).then(_missed(view, every=True)),
        count=pl.when(last).then("n_success"),
    ).sort("place", "optimizer", "power", "D", descending=[False, False, True, False])


def _missed(view: FixedTarget, *, every: bool = False) -> pl.Expr:
    """The greatest budget per dimension where no run reached the target; every: where not all did."""
    per = _per(view)
    failed = pl.col("n_success") < pl.col("n_runs") if every else pl.col("ert").is_infinite()
    return pl.when(failed).then(pl.col("most") / per)


def _per(view: FixedTarget) -> pl.Expr:
    """By what an effort is divided: the dimension, for evaluations."""
    return pl.col("dimension").fill_null(1).clip(1) if view.frame["axis"] == "evaluations" else pl.lit(1)


def _name() -> pl.Expr:
    return pl.concat_str("suite", "function", separator="/", ignore_nulls=True)


def _titles(table: pl.DataFrame) -> pl.Series:
    """The name of each row's function, with its suite where there are several."""
    several = table["suite"].n_unique() > 1
    known = {
        (suite, function): title_of(suite, function, f"{suite}/{function}" if several and suite else "")
        for suite, function in table.select("suite", "function").unique().iter_rows()
    }
    return pl.Series([known[key] for key in table.select("suite", "function").iter_rows()], dtype=pl.String)


def _column(view: FixedTarget) -> str:
    """Of the reference that is drawn, in the table of that name."""
    return "best_2009" if reference_name(view) == BEST_2009 else "best_of_store"


def _expected(view: FixedTarget) -> pl.DataFrame:
    """The table of ERTs with that of the reference, and with the `most` that a run spent."""
    known = view.table("reference").select(*KEYS, "target", reference=_column(view)).unique(maintain_order=True)
    scored = view.runs
    most = scored.runs.cells.with_columns(most=pl.Series([scored.spent[part].max() for part in scored.of_cell]))
    return (
        view.ert.drop("reference")
        .join(known, on=[*KEYS, "target"], how="left", nulls_equal=True, maintain_order="left")
        .join(most, on=["optimizer", *KEYS], how="left", nulls_equal=True, maintain_order="left")
    )


def _figures(view: FixedTarget) -> dict[str, pl.Expr]:
    """The columns of an ERT that is drawn, per dimension where it counts evaluations. An infinite one is null; so are
    both ends of an interval without an upper end, which `interval` tells in words."""
    per = _per(view)
    ends = pl.col("ert_ub").is_finite()
    interval = pl.format("[{}, {}]", _written(pl.col("ert_lb") / per), _written(pl.col("ert_ub") / per))
    return {
        "ert": pl.when(pl.col("ert").is_finite()).then(pl.col("ert") / per),
        "lower": pl.when(ends).then(pl.col("ert_lb") / per),
        "upper": pl.when(ends).then(pl.col("ert_ub") / per),
        "interval": pl.when(pl.col("ert").is_finite()).then(interval),
        "reference": pl.when(pl.col("reference").is_finite()).then(pl.col("reference") / per),
        "successes": pl.format("{} of {}", "n_success", "n_runs"),
    }


def _written(value: pl.Expr | str) -> pl.Expr:
    """A number in three digits."""
    column = pl.col(value) if isinstance(value, str) else value
    return column.map_elements(lambda x: f"{x:.3g}".replace("inf", "∞"), return_dtype=pl.String)


# ---- comparisons -----------------------------------------------------------------------------------------------------


def profiles(view: FixedTarget) -> pl.DataFrame:
    """Performance and data profiles, one panel each."""
    tolerance = pl.col("tolerance").map_elements(power_of_ten, return_dtype=pl.String)
    data = pl.format("data profile to {} by evaluations / (D + 1)", tolerance)
    performance = pl.lit("performance profile by times the least ERT")
    return view.table("profiles").select(
        "optimizer",
        panel=pl.when(pl.col("kind") == "performance").then(performance).otherwise(data),
        place=pl.col("tolerance").fill_null(np.inf).rank("dense", descending=True),
        x="x",
        fraction="fraction",
    )


def loss_by_budget(view: FixedTarget) -> pl.DataFrame:
    """How many times the reference's ERT an optimizer has spent, by budget, over the functions of each dimension.

    For a budget B, the hardest target with an ERT of at most B is taken, and its ERT, or B where the reference reaches
    a harder one within B; divided by the reference's. Where no target is reached so early, B by the reference's ERT to
    the easiest. `mean`: the geometric one, `q1`, `median`, `q3`; `failed`: the part of the functions on which no run
    ever reaches what the reference reaches within B; `n`: the functions. See docs/scores.md 2.8.
    """
    scored = view.runs
    erts = scored.spread(view.ert["ert"])
    table = view.table("reference").group_by(*KEYS, maintain_order=True).agg(_column(view))
    behind = {tuple(row[:3]): np.array(row[3], dtype=float) for row in table.iter_rows()}
    unit = scored.runs.per_dimension
    spent = scored.spent / unit
    x = grid(scored)
    x = x[x <= spent.max(initial=1.0)]
    found: dict[tuple[str, int | None], list[tuple[Floats, Floats]]] = {}
    for c, (optimizer, *key) in enumerate(scored.runs.cells.select("optimizer", *KEYS).iter_rows()):
        if scored.alike[c]:
            per = float(unit[scored.of_cell[c][0]])
            mine, best = erts[c][scored.given[c]], behind[tuple(key)]
            found.setdefault((optimizer, key[2]), []).append(losses_at(mine, best, x * per, view.mode))
    rows = []
    for (optimizer, dimension), parts in found.items():
        for i, effort in enumerate(x.tolist()):
            losses = np.array([part[0][i] for part in parts])
            failed = np.array([part[1][i] for part in parts])
            losses, failed = losses[np.isfinite(losses)], failed[np.isfinite(losses)]
            if len(losses):
                q1, median, q3 = np.quantile(losses, [0.25, 0.5, 0.75]).tolist()
                mean = float(np.exp(np.log(losses).mean()))
                rows.append((optimizer, dimension, effort, mean, q1, median, q3, float(failed.mean()), len(losses)))
    names = ("effort", "mean", "q1", "median", "q3", "failed")
    schema = {"optimizer": pl.String, "dimension": pl.Int64, **dict.fromkeys(names, pl.Float64), "n": pl.Int64}
    out = pl.DataFrame(rows, schema=schema, orient="row")
    panel = pl.format("{}-D", "dimension").fill_null(ALL)
    return out.with_columns(panel=panel, place=pl.col("dimension").fill_null(0)).sort("place", maintain_order=True)


def losses_at(erts: Floats, best: Floats, budgets: Floats, mode: str = "exact") -> tuple[Floats, Floats]:
    """(budgets,): the loss, and whether a target that the reference reaches is never reached; NaN before any is.

    erts, best: of one function, by target. A reference that took no time at all (on an axis such as seconds) gives no
    ratio. In mode `coco` the reference must be faster than the budget; as fast will do else. See docs/scores.md 2.8.
    """
    reached = np.searchsorted(erts, budgets, side="right")
    ahead = np.searchsorted(best, budgets, side="left" if mode == "coco" else "right")
    at = np.maximum(reached - 1, 0)
    spent = np.where((reached == 0) | (ahead > reached), budgets, erts[at])
    some = (np.maximum(reached, ahead) > 0) & np.isfinite(best[at]) & (best[at] > 0)
    loss = np.where(some, spent, np.nan) / np.where(some, best[at], 1.0)
    failed = (ahead > 0) & np.isinf(erts[np.maximum(ahead - 1, 0)])
    return loss, failed.astype(float)


def scatter(view: FixedTarget, first: str, second: str) -> pl.DataFrame:
    """The ERTs of two optimizers, per dimension, for every function, dimension and target that one of them reached.

    `who`: which of them reached it, `both` or a name; an ERT that is infinite is set beyond the edge of the others.
    """
    per = _per(view)
    on = [*KEYS, "target", *(["k"] if "k" in view.ert.columns else [])]
    a, b = (
        view.ert.filter(pl.col("optimizer") == name).select(*on, ert=pl.col("ert") / per) for name in (first, second)
    )
    both = a.join(b, on=on, nulls_equal=True, maintain_order="left").rename({"ert": "x", "ert_right": "y"})
    x, y = pl.col("x"), pl.col("y")
    both = both.filter(x.is_finite() | y.is_finite())
    finite = [value for name in ("x", "y") for value in both[name].to_list() if np.isfinite(value)]
    edge = 3 * max(finite, default=1.0)
    who = (
        pl.when(x.is_infinite())
        .then(pl.lit(second))
        .when(y.is_infinite())
        .then(pl.lit(first))
        .otherwise(pl.lit("both"))
    )
    title = _titles(both)
    named = both.with_columns(name=_name(), title=title, who=who)
    order = pl.Enum(natural(named["name"].unique().to_list()))
    return named.select(
        panel="title",
        place=pl.col("name").cast(order).to_physical(),
        dimension=pl.col("dimension").cast(pl.String).fill_null("all"),
        target=pl.col("target").round_sig_figs(6),
        x=pl.when(x.is_finite()).then(x).otherwise(edge),
        y=pl.when(y.is_finite()).then(y).otherwise(edge),
        who="who",
    ).sort("place", maintain_order=True)


def contributions(view: FixedTarget) -> pl.DataFrame:
    """What each optimizer gives the virtual best solver of the store: a panel per dimension (docs/scores.md 2.16)."""
    scored = view.runs
    table = virtual_best.contributions(scored, scored.spread(view.ert["ert"]))
    panel = pl.format("{}-D", "dimension").fill_null(ALL)
    label = pl.format("{} %, × {}", (100 * pl.col("best")).round().cast(pl.Int64, strict=False), _written("slower"))
    return table.with_columns(panel=panel, place=pl.col("dimension").fill_null(0), label=label).sort(
        "place", "best", "optimizer", descending=[False, True, False], nulls_last=True
    )


def loss(view: FixedTarget, dimensions: list[int]) -> pl.DataFrame:
    """How many times the reference's ERT, over the targets that an optimizer reached, and how many it did reach.

    Targets that the reference never reached are not counted.
    """
    table = _alike(view, view.ert).filter(pl.col("loss").is_not_null())
    parts = [table.with_columns(scope=pl.lit(ALL))]
    if len(dimensions) > 1:
        parts.append(table.with_columns(scope=pl.col("dimension").cast(pl.String)).drop_nulls("scope"))
    ratio = pl.col("loss").filter(pl.col("loss").is_finite())
    quantiles = {"low": 0.1, "q1": 0.25, "median": 0.5, "q3": 0.75, "high": 0.9}
    return (
        pl.concat(parts)
        .group_by("scope", "optimizer")
        .agg(
            **{name: ratio.quantile(q, "nearest") for name, q in quantiles.items()},
            reached=pl.col("loss").is_finite().mean(),
            n=pl.len(),
        )
        .sort("scope", "reached", "optimizer", descending=[False, True, False])
        .with_columns(label=pl.format("{} %", (100 * pl.col("reached")).round().cast(int)))
    )


def _alike(view: FixedTarget, table: pl.DataFrame) -> pl.DataFrame:
    """The rows of functions in dimensions that all optimizers ran: what is averaged (docs/scores.md 0.4)."""
    if view.scored is None:
        return table
    kept = view.scored.runs.cells.filter(view.scored.alike).select(KEYS).unique()
    return table.join(kept, on=KEYS, how="semi", nulls_equal=True, maintain_order="left")


def board(view: FixedTarget, dimensions: list[int]) -> pl.DataFrame:
    """One row per optimizer, over all problems and for each dimension: what it reached, how fast, at what budget."""
    ends = view.ecdf.filter(pl.col("group") == ALL).group_by("optimizer", "dimension").agg(
        pl.col("budget").first(), reached=pl.col("fraction_no_restarts").last()
    )  # fmt: skip
    areas = _alike(view, view.table("aocc"))
    area = pl.concat(
        [
            areas.group_by("optimizer").agg(pl.col("aocc").mean(), dimension=pl.lit(None, dtype=pl.Int64)),
            areas.group_by("optimizer", "dimension").agg(pl.col("aocc").mean()).drop_nulls("dimension"),
        ],
        how="diagonal",
    )
    ends = ends.join(area, on=["optimizer", "dimension"], how="left", nulls_equal=True)
    ends = ends.with_columns(scope=pl.col("dimension").cast(pl.String).fill_null(ALL))
    if len(dimensions) < 2:
        ends = ends.filter(pl.col("scope") == ALL)
    ends = ends.join(
        loss(view, dimensions).select("scope", "optimizer", "median"), on=["scope", "optimizer"], how="left"
    )
    return ends.sort("dimension", "reached", "optimizer", descending=[False, True, False])
