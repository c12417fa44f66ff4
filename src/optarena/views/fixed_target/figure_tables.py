"""Tidy tables that the figures of the fixed-target view draw: its own tables, thinned, named and put in panels.

Runtimes live in the view; nothing is drawn here.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from optarena._order import natural
from optarena.traces import Floats
from optarena.views.fixed_target import distributions
from optarena.views.fixed_target.reference import BEST_2009
from optarena.views.fixed_target.view import FixedTarget

ALL = "all"
MOST_STEPS = 1000
"""Of a curve that is drawn: more are not seen."""
MOST_PANELS = 24
SHOWN = (1e1, 1e0, 1e-1, 1e-2, 1e-3, 1e-5, 1e-7)
"""The targets of a table on a page or on paper: those of COCO's tables."""
CURVE = ("effort", "within", "beyond", "at_budget", "reference")
KEYS = ("suite", "function", "dimension")
LOWEST, HIGHEST = 1e-8, 1e2
"""The precisions that the ECDF of precision shows: COCO's hardest target and its easiest."""


def unit(view: FixedTarget) -> str:
    """What an effort is counted in."""
    return "evaluations / D" if view.frame["axis"] == "evaluations" else str(view.frame["axis"])


def loss_reference(view: FixedTarget) -> str:
    """What losses are measured by: best 2009 where it is known, else the best of the store."""
    return " or ".join(sorted(view.ert["reference"].unique()))


def word(view: FixedTarget) -> str:
    """What a target is: a precision, or a part of the way where no optimum is known."""
    if "parts" not in view.frame["precision"]:
        return "precision f − f_opt" if "hypervolume" not in view.frame["precision"] else "distance to the reference"
    return "precision (parts of the way, where no optimum is known)"


def reference_name(view: FixedTarget) -> str:
    """Best 2009 where it is known for every target, else the best of the store."""
    return BEST_2009 if view.table("reference")["best_2009"].is_not_null().all() else "best of store"


# ---- distributions ---------------------------------------------------------------------------------------------------


def ecdf(view: FixedTarget, dimensions: list[int], points: int | None = None) -> pl.DataFrame:
    """The ECDF of runtimes over all problems and over those of each dimension, where there are several."""
    whole = view.ecdf.filter(pl.col("group") == ALL)
    if len(dimensions) < 2:
        whole = whole.filter(pl.col("dimension").is_null())
    scopes = whole.with_columns(scope=pl.col("dimension").cast(pl.String).fill_null(ALL))
    return _curves(view, scopes, ["scope"], points)


def ecdf_groups(view: FixedTarget, points: int | None = None) -> pl.DataFrame:
    """The same by group of functions and dimension, a panel each; by function where the suite has no groups."""
    table, single = view.ecdf, set(view.ert["function"])
    named = [name for name in table["group"].unique(maintain_order=True) if name not in single and name != ALL]
    dimensions = table["dimension"].drop_nulls().unique().sort().to_list()
    if not named and len(single) * max(1, len(dimensions)) < MOST_PANELS:
        named = natural(single)
    order = pl.Enum([*named, *({ALL} - set(named))])
    several = pl.col("dimension").is_not_null() if dimensions else pl.lit(True)
    kept = table.filter(pl.col("group").is_in(order.categories.to_list()), several).sort(
        pl.col("group").cast(order), "dimension", maintain_order=True
    )
    panel = pl.when(pl.col("dimension").is_null()).then("group").otherwise(pl.format("{}, {}-D", "group", "dimension"))
    wide = pl.format("{}-D", "dimension")
    kept = kept.with_columns(panel=panel, wide=wide, place=pl.struct("group", "dimension").rle_id())
    return _curves(view, kept, ["panel", "place", "group", "wide", "dimension"], points)


def _curves(view: FixedTarget, table: pl.DataFrame, keys: list[str], points: int | None = None) -> pl.DataFrame:
    """Curves with a point where the budget ends: `within` it, `beyond` it, and `at_budget`, the point itself.

    Beyond, restarts are simulated: nobody ran so far. `reference` is the background.
    """
    columns, names = ["effort", "fraction", "reference"], ["optimizer", *keys]
    assert view.scored is not None
    table = distributions.steps(view.scored, table, view.table("reference"), _background(view), points or MOST_STEPS)
    curves = table.group_by(names, maintain_order=True).agg(*dict.fromkeys(columns), pl.first("budget"), size=pl.len())
    if not curves.height:
        return pl.DataFrame(schema={**table.select(names).schema, **dict.fromkeys(CURVE, pl.Float64)})
    cuts = curves["size"].cum_sum()[:-1].to_numpy()
    parts = [np.split(curves[name].explode().to_numpy(), cuts) for name in columns]
    out: dict[str, list[Floats]] = {name: [] for name in CURVE}
    for x, y, back, budget in zip(*parts, curves["budget"], strict=True):
        at = float(np.clip(budget, x[0], x[-1]))
        before = int(np.searchsorted(x, at, side="right")) - 1
        on, behind = float(y[before]), float(back[before])
        place = int(np.searchsorted(x, at, side="left"))
        if place == len(x) or x[place] != at:
            x, y, back = np.insert(x, place, at), np.insert(y, place, on), np.insert(back, place, behind)
        ends = np.full(len(x), np.nan)
        ends[place] = on
        within, beyond = (np.where(side, y, np.nan) for side in (x <= at, x >= at))
        for name, values in zip(CURVE, (x, within, beyond, ends, back), strict=True):
            out[name].append(values)
    whose = np.repeat(np.arange(curves.height), [len(x) for x in out["effort"]])
    drawn = pl.DataFrame({name: np.concatenate(values) for name, values in out.items()})
    return pl.concat([curves.select(names)[whose], drawn.fill_nan(None)], how="horizontal")


def precision(view: FixedTarget) -> pl.DataFrame:
    """What fraction of runs is as precise, at the end and after D, 10 D, 100 D, … : optimizer, after, precision, …"""
    at = pl.col("of") * pl.col("ratio")
    last = view.table("precision").filter(pl.col("panel") == "end", pl.col("of") == LOWEST)
    budgets = view.table("precision").filter(pl.col("panel") == "budget")
    count = view.ecdf.filter(pl.col("group") == ALL, pl.col("dimension").is_null())["budget"].max()
    budgets = budgets.filter(pl.col("of") < (count or 1))  # later, most runs had ended
    per = "D" if view.frame["axis"] == "evaluations" else str(view.frame["axis"])
    parts = [
        budgets.select(
            "optimizer",
            after=pl.when(pl.col("of") == 1)
            .then(pl.lit(per))
            .otherwise(pl.format(f"{{}} {per}", pl.col("of").cast(int))),
            precision=LOWEST * pl.col("ratio"),
            fraction="fraction",
            final=pl.lit(False),
        ),
        last.select("optimizer", after=pl.lit("end"), precision=at, fraction="fraction", final=pl.lit(True)),
    ]
    return pl.concat(parts).with_columns(pl.col("precision").round_sig_figs(6))


def cuts(view: FixedTarget) -> tuple[str, pl.DataFrame]:
    """The name of a problem; its runs and, with a `kind`, where they are cut at one effort and at one target."""
    assert view.scored is not None
    name, runs, points = distributions.cuts(view.scored)
    return name, pl.concat([runs, points], how="diagonal")


def transition(view: FixedTarget) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Runs that reach 10^k by an effort, and how far the others are from it: two tables, the second goes on."""
    assert view.scored is not None
    power = pl.col("target").log10().round().cast(pl.Int64)
    reach, miss = distributions.transition(view.scored)
    k = pl.format("k = {}", power).alias("k")
    return reach.with_columns(k), miss.with_columns(k)


# ---- expected running times ------------------------------------------------------------------------------------------


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
        function="name",
        place=pl.col("name").cast(order).to_physical(),
        target=pl.col("target").round_sig_figs(6),
        **_figures(view),
    ).sort("place", "optimizer", "target", descending=[False, False, True])


def ert_by_dimension(view: FixedTarget) -> pl.DataFrame:
    """The ERT per dimension of each function by dimension, to the hardest target that is reached in most dimensions."""
    keys = ["suite", "function"]
    table = _expected(view).filter(pl.col("dimension").is_not_null())
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
    name = pl.concat_str("suite", "function", separator="/", ignore_nulls=True)
    joined = joined.with_columns(name=name)
    order = pl.Enum(natural(joined["name"]))
    return joined.select(
        "optimizer",
        panel=pl.format("{} to {}", "name", _written("target")),
        place=pl.col("name").cast(order).to_physical(),
        D="dimension",
        **_figures(view),
    ).sort("place", "optimizer", "D")


def _expected(view: FixedTarget) -> pl.DataFrame:
    """The table of ERTs with that of the reference."""
    known = view.table("reference").select(*KEYS, "target", reference=_background(view)).unique(maintain_order=True)
    return view.ert.drop("reference").join(
        known, on=[*KEYS, "target"], how="left", nulls_equal=True, maintain_order="left"
    )


def _background(view: FixedTarget) -> str:
    return "best_2009" if reference_name(view) == BEST_2009 else "best_of_store"


def _figures(view: FixedTarget) -> dict[str, pl.Expr]:
    """The columns of an ERT that is drawn, per dimension where it counts evaluations. An infinite one is null; so are
    both ends of an interval without an upper end, which `interval` tells in words."""
    per = pl.col("dimension").fill_null(1) if view.frame["axis"] == "evaluations" else pl.lit(1)
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
    """Performance and data profiles, a panel each."""
    data = pl.format("data profile to {}: by evaluations / (D + 1)", _written("tolerance"))
    performance = pl.lit("performance profile: by times the least ERT")
    return view.table("profiles").select(
        "optimizer",
        panel=pl.when(pl.col("kind") == "performance").then(performance).otherwise(data),
        place=pl.col("tolerance").fill_null(np.inf).rank("dense", descending=True),
        x="x",
        fraction="fraction",
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
