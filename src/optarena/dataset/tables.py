"""Tidy tables of a dataset's studies: its problems and functions, what was found, times, failures, progress."""

from __future__ import annotations

import polars as pl

from optarena._order import natural
from optarena._text import mailable
from optarena.dataset import Dataset
from optarena.sense import sign_of
from optarena.status import SUCCEEDED, UNSUCCESSFUL

PHASES = ("suggest", "evaluate", "observe")


def problems(results: Dataset) -> pl.DataFrame:
    """One row per problem, by name: its suite, function, dimension, sense, optimum, and the number of its studies."""
    frame = results.studies
    return (
        frame.group_by("problem")
        .agg(
            *(pl.col(name).drop_nulls().first() for name in ("suite", "function", "dimension", "sense", "optimum")),
            studies=pl.len(),
        )
        .sort(by_name(frame))
    )


def by_name(frame: pl.DataFrame) -> pl.Expr:
    """To sort by problem as a person would: f2 before f10."""
    return pl.col("problem").cast(pl.Enum(natural(frame["problem"].drop_nulls().unique())))


def functions(results: Dataset) -> pl.DataFrame:
    """What instances and trials repeat: suite, function, dimension; its name, different for each; its problems."""
    table = (
        results.studies.select(
            "suite", "dimension", "problem",
            function=pl.when(pl.col("function").fill_null("") == "").then("problem").otherwise("function"),
        )
        .group_by(*FUNCTION, maintain_order=True)
        .agg(problems=pl.col("problem").unique())
    )  # fmt: skip
    seen: dict[str, int] = {}
    names = []
    for row in table.iter_rows(named=True):
        own = row["problems"][0] if len(row["problems"]) == 1 else None
        parts = (row["suite"], row["function"], None if row["dimension"] is None else f"d{row['dimension']}")
        name = own or "/".join(part for part in parts if part)
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return table.with_columns(name=pl.Series(names, dtype=pl.String)).sort(pl.col("name").cast(pl.Enum(natural(names))))


FUNCTION = ("suite", "function", "dimension")
"""What instances and trials repeat."""


def ends(results: Dataset) -> pl.DataFrame:
    """What every optimizer found on every problem: median, quartiles and best over trials, in the problem's sense."""
    sign = sign_of("sense")
    studies = results.studies.filter(pl.col("sense").is_not_null() & (pl.col("evaluations") > 0))
    # a trial that found nothing is the worst of all, and counts
    found = studies.with_columns(found=(pl.col("best") * sign).fill_null(float("inf")), sign=sign)

    def found_at(q: float) -> pl.Expr:
        return order_statistic("found", q) * pl.col("sign").first()

    down = pl.col("sign").first() < 0
    return (
        found.group_by("problem", "optimizer")
        .agg(
            n=pl.len(),
            best=pl.col("found").min() * pl.col("sign").first(),
            median=found_at(0.5),
            q1=pl.when(down).then(found_at(0.75)).otherwise(found_at(0.25)),
            q3=pl.when(down).then(found_at(0.25)).otherwise(found_at(0.75)),
            evaluations=order_statistic("evaluations", 0.5),
            failures=pl.col("failures").sum(),
            key=found_at(0.5) * pl.col("sign").first(),
        )
        .sort(by_name(results.studies), "key", "optimizer")
    )


# ---- time, failures, progress ----------------------------------------------------------------------------------------


def times(results: Dataset, *, by_dimension: bool = False) -> pl.DataFrame:
    """Seconds that an evaluation costs in each phase: median and quartiles over studies, of the studies' means."""
    keys = ["optimizer", "dimension"] if by_dimension else ["optimizer"]
    frame = results.studies.filter(pl.col("evaluations") > 0)
    each = frame.select(*keys, *((pl.col(f"{phase}_seconds") / pl.col("evaluations")).alias(phase) for phase in PHASES))
    long = each.unpivot(PHASES, index=keys, variable_name="phase", value_name="seconds").filter(pl.col("seconds") > 0)
    order = pl.Enum(PHASES)
    return (
        long.group_by(*keys, "phase")
        .agg(
            median=order_statistic("seconds", 0.5),
            q1=order_statistic("seconds", 0.25),
            q3=order_statistic("seconds", 0.75),
            n=pl.len(),
        )
        .sort(*keys, pl.col("phase").cast(order))
    )


def times_by_scope(results: Dataset) -> pl.DataFrame:
    """The same of all studies (scope `all`), and of those of each dimension where there are several."""
    parts = [times(results).with_columns(scope=pl.lit("all"))]
    if results.studies["dimension"].drop_nulls().n_unique() > 1:
        each = times(results, by_dimension=True)
        parts.append(each.with_columns(scope=pl.col("dimension").cast(pl.String)).select(parts[0].columns))
    return pl.concat(parts)


def order_statistic(column: str, q: float) -> pl.Expr:
    """The quantile of a group as the curves and the views have it: the ceil(nq)-th of the sorted values.

    See docs/scores.md 1.2.
    """
    at = (pl.len() * q).ceil().cast(pl.Int64) - 1
    return pl.col(column).sort().get(at)


def failures(results: Dataset) -> pl.DataFrame:
    """How many evaluations failed, by optimizer, problem and kind, with one of the messages."""
    table = (
        results.failures()
        .group_by("optimizer", "problem", pl.col("status").alias("kind"))
        .agg(count=pl.len(), message=pl.col("message").first())
        .sort("optimizer", pl.col("problem").cast(pl.Enum(natural(results.studies["problem"]))), "kind")
    )
    told = [mailable(text, results.hosts) for text in table["message"]]
    return table.with_columns(message=pl.Series(told, dtype=pl.String))


def progress(results: Dataset) -> pl.DataFrame:
    """How far each optimizer came on each problem: `state` in a word, `label` in numbers."""
    status = pl.col("status")
    table = (
        results.studies.group_by("optimizer", "problem")
        .agg(
            studies=pl.len(),
            ended=status.is_in(SUCCEEDED).sum(),
            failed=status.is_in(UNSUCCESSFUL).sum(),
            running=(status == "running").sum(),
            evaluations=pl.col("evaluations").sum(),
        )
        .sort(by_name(results.studies), "optimizer")
    )
    state = (
        pl.when(pl.col("failed") > 0)
        .then(pl.lit("some failed"))
        .when(pl.col("running") > 0)
        .then(pl.lit("running"))
        .when(pl.col("ended") < pl.col("studies"))
        .then(pl.lit("incomplete"))
        .otherwise(pl.lit("done"))
    )
    label = (
        pl.when(pl.col("ended") == pl.col("studies"))
        .then(pl.col("studies").cast(pl.String))
        .otherwise(pl.format("{}/{}", "ended", "studies"))
    )
    return table.with_columns(state=state, label=label)
