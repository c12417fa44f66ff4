"""Tidy tables that the figures of the fixed-target view draw: distributions. Running times are in `ert_tables`.

Nothing is drawn here.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from optarena._numbers import power_of_ten
from optarena._order import natural
from optarena.errors import OptarenaError, nearest
from optarena.traces import Floats
from optarena.views.fixed_target import curves, distributions, virtual_best
from optarena.views.fixed_target.groups import title_of
from optarena.views.fixed_target.reference import BEST_2009, OF_STORE
from optarena.views.fixed_target.view import FixedTarget

ALL = "all"
MOST_ON_PAGE = 120
"""Points of a curve that the page draws."""
MOST_STEPS = 1000
"""Of a curve that is drawn: more are not seen."""
SHOWN = (1e1, 1e0, 1e-1, 1e-2, 1e-3, 1e-5, 1e-7)
"""The targets of a table on a page or on paper: those of COCO's tables."""
CURVE = ("effort", "within", "beyond", "at_budget", "reference")
KEYS = ("suite", "function", "dimension")
LOWEST, HIGHEST = 1e-8, 1e2
"""The precisions that the ECDF of precision shows: COCO's hardest target and its easiest."""
FEW = 5
"""From so many functions on, a caption names the first and the last."""


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
    return BEST_2009 if view.table("reference")["best_2009"].is_not_null().all() else OF_STORE


def background_name(view: FixedTarget, background: str | None) -> str:
    """What is drawn behind ECDFs: best 2009 where it is known, else the virtual best of the store, unless asked."""
    optimizers = view.optimizers
    if background is None:
        known = reference_name(view) == BEST_2009
        return curves.BEST_2009 if known else curves.BEST_OF_STORE if len(optimizers) > 1 else curves.NOTHING
    names = (*curves.BACKGROUNDS, *optimizers)
    if background not in names:
        raise OptarenaError(f"no background {background!r}.{nearest(background, names)} (there are {', '.join(names)})")
    if background == curves.BEST_2009 and reference_name(view) != BEST_2009:
        raise OptarenaError("best 2009 is not known for all problems and targets of the store: try best-of-store")
    return background


def is_optimizer(background: str) -> bool:
    """Whether a background is one of the optimizers; one that has the name of another background is none."""
    return background not in curves.BACKGROUNDS


def background_words(name: str) -> str:
    """The same in words. An ECDF of expected running times lies below that of the runtimes: it is named as such."""
    return {
        curves.BEST_2009: "ERTs of best 2009",
        curves.BEST_OF_STORE: "best of the store for each target",
        curves.NOTHING: "",
    }.get(name, name)


def _behind(view: FixedTarget, name: str) -> dict[distributions.Pool, distributions.Curve]:
    scored = view.runs
    if name == curves.NOTHING:
        return {}
    if name == curves.BEST_2009:
        return distributions.erts_of_reference(scored, view.table("reference"), "best_2009")
    if name == curves.BEST_OF_STORE:
        return curves.runtimes_of(scored, virtual_best.least_ert(scored.spread(view.ert["ert"]), scored.problem)[1])
    return curves.runtimes_of(scored, virtual_best.of_optimizer(scored, name))


def dimensions_of(view: FixedTarget) -> list[int]:
    return view.ert["dimension"].drop_nulls().unique().sort().to_list()


def described(view: FixedTarget, dimension: int | None = None) -> str:
    """What a figure is about, in a sentence: suite, functions, dimensions, targets, runs."""
    table = view.ert if dimension is None else view.ert.filter(pl.col("dimension") == dimension)
    suites = natural(table["suite"].drop_nulls().unique().to_list())
    functions = natural(table["function"].unique().to_list())
    several = f"{functions[0]} to {functions[-1]} ({len(functions)} functions)"
    parts = [*([" and ".join(suites)] if suites else []), ", ".join(functions) if len(functions) < FEW else several]
    found = table["dimension"].drop_nulls().unique().sort().to_list()
    if found:
        parts.append(f"dimension{'s' * (len(found) > 1)} {', '.join(map(str, found))}")
    levels = table["target"].unique().sort(descending=True)
    targets = view.frame["targets"]["kind"]
    if targets == "runlength":
        parts.append(
            f"targets that best 2009 reaches within {', '.join(f'{k:g}' for k in table['k'].unique().sort())} D"
        )
    elif table.group_by(*KEYS).agg(pl.col("target").n_unique())["target"].n_unique() > 1 or len(levels) > 60:
        parts.append("targets of each problem")
    elif len(levels) == 1:
        parts.append(f"target {power_of_ten(levels[0])}")
    else:
        parts.append(f"{len(levels)} targets from {power_of_ten(levels[0])} to {power_of_ten(levels[-1])}")
    runs = table["n_runs"].unique().sort().to_list()
    count = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    parts.append(f"{count} run{'' if runs[-1] == 1 else 's'} per function and dimension" if found else f"{count} runs")
    return "; ".join(parts)


# ---- distributions ---------------------------------------------------------------------------------------------------


def ecdf(
    view: FixedTarget, points: int | None = None, background: str | None = None, *, bands: bool = False
) -> pl.DataFrame:
    """The ECDF of runtimes over all functions, a panel per dimension: these are never pooled."""
    table = view.ecdf.filter(pl.col("group") == ALL)
    several = len(dimensions_of(view)) > 0
    table = table.filter(pl.col("dimension").is_not_null() if several else pl.col("dimension").is_null())
    table = table.with_columns(
        panel=pl.format("{}-D", "dimension").fill_null(ALL), place=pl.col("dimension").fill_null(0)
    ).sort("place", maintain_order=True)
    return _curves(view, table, ["panel", "place", "dimension"], points, background, bands=bands)


def ecdf_functions(view: FixedTarget, points: int | None = None, background: str | None = None) -> pl.DataFrame:
    """The same for every function, one panel each; `dimension` distinguishes them."""
    several = view.ert["suite"].n_unique() > 1
    known = view.ert.select(*KEYS).unique(maintain_order=True)
    group = pl.concat_str("suite", "function", separator="/") if several else pl.col("function")
    known = known.with_columns(group=group)
    order = natural(known["group"].unique().to_list())
    named = {row["group"]: title_of(row["suite"], row["function"], row["group"]) for row in known.iter_rows(named=True)}
    table = view.ecdf.join(
        known.select("group", "dimension"), on=["group", "dimension"], how="semi", nulls_equal=True,
        maintain_order="left",
    ).with_columns(
        panel=pl.col("group").replace(named), place=pl.col("group").cast(pl.Enum(order)).to_physical()
    ).sort("dimension", "place", maintain_order=True)  # fmt: skip
    return _curves(view, table, ["panel", "place", "dimension"], points, background)


def ecdf_groups(view: FixedTarget, points: int | None = None, background: str | None = None) -> pl.DataFrame:
    """The same by group of functions and dimension, one panel each; by function where the suite has no groups."""
    table, single = view.ecdf, set(view.ert["function"])
    named = [name for name in table["group"].unique(maintain_order=True) if name not in single and name != ALL]
    dimensions = table["dimension"].drop_nulls().unique().sort().to_list()
    if not named and len(single) * max(1, len(dimensions)) < MOST_GROUPS:
        named = natural(single)
    order = pl.Enum([*named, *({ALL} - set(named))])
    several = pl.col("dimension").is_not_null() if dimensions else pl.lit(True)
    kept = table.filter(pl.col("group").is_in(order.categories.to_list()), several).sort(
        pl.col("group").cast(order), "dimension", maintain_order=True
    )
    panel = pl.when(pl.col("dimension").is_null()).then("group").otherwise(pl.format("{}, {}-D", "group", "dimension"))
    wide = pl.format("{}-D", "dimension")
    kept = kept.with_columns(panel=panel, wide=wide, place=pl.struct("group", "dimension").rle_id())
    return _curves(view, kept, ["panel", "place", "group", "wide", "dimension"], points, background)


def _curves(
    view: FixedTarget,
    table: pl.DataFrame,
    keys: list[str],
    points: int | None = None,
    background: str | None = None,
    *,
    bands: bool = False,
) -> pl.DataFrame:
    """Curves with a point where the budget ends: `within` it, `beyond` it, and `at_budget`, the point itself.

    Beyond, restarts are simulated: nobody ran so far. `reference` is the background.
    """
    columns, names = ["effort", "fraction", "reference"], ["optimizer", *keys]
    scored, chosen = view.runs, background_name(view, background)
    table = curves.steps(scored, table, _behind(view, chosen), points or MOST_STEPS)
    if is_optimizer(chosen):
        table = table.filter(pl.col("optimizer") != chosen)
    if (
        points is None or points > MOST_ON_PAGE
    ):  # one line behind, not one for each optimizer; the page may leave out any of these
        first = pl.col("optimizer") == pl.col("optimizer").first().over(keys)
        table = table.with_columns(pl.when(first).then("reference"))
    lines = table.group_by(names, maintain_order=True).agg(*dict.fromkeys(columns), pl.first("budget"), size=pl.len())
    if not lines.height:
        return pl.DataFrame(schema={**table.select(names).schema, **dict.fromkeys(CURVE, pl.Float64)})
    cuts = lines["size"].cum_sum()[:-1].to_numpy()
    parts = [np.split(lines[name].explode().to_numpy(), cuts) for name in columns]
    out: dict[str, list[Floats]] = {name: [] for name in CURVE}
    for x, y, back, budget in zip(*parts, lines["budget"], strict=True):
        at = np.clip(budget, x[0], x[-1])
        ends = np.where(x == at, y, np.nan)
        within, beyond = (np.where(side, y, np.nan) for side in (x <= at, x >= at))
        for name, values in zip(CURVE, (x, within, beyond, ends, back), strict=True):
            out[name].append(values)
    whose = np.repeat(np.arange(lines.height), [len(x) for x in out["effort"]])
    drawn = pl.DataFrame({name: np.concatenate(values) for name, values in out.items()})
    out_table = pl.concat([lines.select(names)[whose], drawn.fill_nan(None)], how="horizontal")
    return _with_bands(view, out_table) if bands else out_table


def _with_bands(view: FixedTarget, table: pl.DataFrame) -> pl.DataFrame:
    """With the band of each curve, `lower` and `upper`."""
    found = curves.bands(view.runs).filter(pl.col("group") == ALL).drop("group").sort("effort")
    by = ["optimizer", "dimension"]
    known = pl.col("dimension").fill_null(-1)  # nulls never join
    # the band is known on a grid: between two efforts it is from the lower end at the first to the upper at the next
    joined, found = table.with_columns(known).sort("effort"), found.with_columns(known)
    for strategy, column in (("backward", "lower"), ("forward", "upper")):
        part = found.select("effort", *by, column)
        joined = joined.join_asof(part, on="effort", by=by, strategy=strategy, check_sortedness=False)  # type: ignore[arg-type]
    out = joined.with_columns(pl.when(pl.col("dimension") >= 0).then("dimension"))
    return out.sort("place", "optimizer", "effort")


def ends(table: pl.DataFrame, background: str = "") -> pl.DataFrame:
    """Where each curve ends at the right, and where its label stands so that labels do not touch: `at`, `beside`.

    background: the words for what is drawn `behind`, whose label is among them.
    """
    last = (
        table.filter(pl.col("beyond").is_not_null() | pl.col("within").is_not_null())
        .group_by("optimizer", maintain_order=True)
        .agg(at=pl.coalesce("beyond", "within").last(), behind=pl.lit(False))
    )
    reference = table["reference"].drop_nulls()
    if background and len(reference):
        row = {"optimizer": background, "at": float(reference[-1]), "behind": True}
        last = pl.concat([last, pl.DataFrame([row], schema=last.schema)])
    last = last.sort("at", "optimizer", descending=[True, False])
    gap = min(0.055, 1.0 / max(last.height, 1))
    places = last["at"].to_list()
    for i in range(1, len(places)):
        places[i] = min(places[i], places[i - 1] - gap)
    low = 0.0
    for i in reversed(range(len(places))):
        places[i] = max(places[i], low)
        low = places[i] + gap
    return last.with_columns(beside=pl.Series(places, dtype=pl.Float64))


def ranked(view: FixedTarget) -> list[str]:
    """The optimizers, the one that reached most targets at the end first."""
    last = view.ecdf.filter(pl.col("group") == ALL, pl.col("dimension").is_null())
    if not last.height:
        return list(view.optimizers)
    table = last.group_by("optimizer").agg(pl.col("fraction_no_restarts").last(), pl.col("fraction").mean())
    found = table.sort("fraction_no_restarts", "fraction", "optimizer", descending=[True, True, False])
    return found["optimizer"].to_list()


def precision(view: FixedTarget, points: int | None = None) -> pl.DataFrame:
    """What fraction of runs is as precise, at the end and after D, 10 D, 100 D, … : a panel per dimension."""
    table = curves.precision(view.runs, LOWEST, HIGHEST)
    per = "D" if view.frame["axis"] == "evaluations" else str(view.frame["axis"])
    budget = pl.col("budget")
    after = (
        pl.when(budget.is_infinite()).then(pl.lit("end"))
        .when(budget == 1).then(pl.lit(per))
        .otherwise(pl.format(f"{{}} {per}", budget.replace(np.inf, 0.0).cast(pl.Int64)))
    )  # fmt: skip
    if points is not None:
        place, size = pl.int_range(pl.len()), pl.len()
        kept = ((place * (points - 1)) // size).diff().fill_null(1) + (place == size - 1) > 0
        table = table.filter(
            kept.over("optimizer", "dimension", "budget") | (size <= points).over("optimizer", "dimension", "budget")
        )
    return table.select(
        "optimizer",
        "dimension",
        panel=pl.format("{}-D", "dimension").fill_null(ALL),
        place=pl.col("dimension").fill_null(0),
        after=after,
        precision=pl.col("precision").round_sig_figs(6),
        fraction="fraction",
        final=budget.is_infinite(),
    )


def cuts(view: FixedTarget) -> tuple[str, pl.DataFrame]:
    """The name of a problem; its runs and, with a `kind`, where they are cut at one effort and at one target."""
    name, runs, points = curves.cuts(view.runs)
    return name, pl.concat([runs, points], how="diagonal")


def transition(view: FixedTarget, background: str | None = None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Runs that reach 10^k by an effort, and how far the others are from it: two tables, the second goes on.

    A panel per dimension; rows without an optimizer are the background.
    """
    power = pl.col("target").log10().round().cast(pl.Int64)
    columns = {
        "k": pl.format("k = {}", power),
        "panel": pl.format("{}-D", "dimension").fill_null(ALL),
        "place": pl.col("dimension").fill_null(0),
    }
    parts = curves.transition(view.runs, background_name(view, background))
    reach, miss = (part.with_columns(**columns).sort("place", maintain_order=True) for part in parts)
    return reach, miss


MOST_GROUPS = 24
"""Panels of functions that have no groups."""
