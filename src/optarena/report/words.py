"""The verdict and the figures in words: sentences made of numbers that are already computed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from optarena._numbers import counted, fixed, typeset
from optarena.report.material import ALL, Material

if TYPE_CHECKING:
    from optarena.views.fixed_cost import FixedCost


def verdicts(material: Material) -> dict[str, list[str]]:
    """The verdict on all problems and on those of each dimension, where there are several."""
    out = {ALL: verdict(material)}
    if material.fixed_cost is not None and len(material.dimensions) > 1:
        out |= {str(dimension): verdict(material, str(dimension)) for dimension in material.dimensions}
    return out


def verdict(material: Material, scope: str = ALL) -> list[str]:
    """Three sentences at most: who comes first, by how much, and how sure that is."""
    if not material.results.studies.height:
        return ["Nothing has been run here yet."]
    if material.fixed_cost is None:
        return [
            f"There is no overall score: {material.why_not}.",
            "What each problem's section shows needs no baseline.",
        ]
    view = material.scopes.get(scope)
    if view is None:
        return [f"No problem of dimension {scope} can be scored: the section of failures says why."]
    board = view.leaderboard()
    first = board.row(0, named=True)
    when = view.ending(view.metrics[0])
    on = counted(int(first["n"]), "problem") + ("" if scope == ALL else f" of dimension {scope}")
    if board.height == 1:
        return [f"{first['optimizer']} alone was run on {on}: {when} its normalised score is {score(first)}."]
    if not first["n"]:
        return ["No winner is named: no problem that can be scored was run by all optimizers."]
    if some := _uneven(view):
        out = [
            f"No winner is named: the optimizers have values on different numbers of problems {when} ({some}).",
            "What each problem's section shows can be compared.",
        ]
        return [*out, "A run goes on: these numbers are provisional."] if view.frame["provisional"] else out
    second = board.row(1, named=True)
    tied = first["mean"] == second["mean"]
    lead = "shares the first place of" if tied else "comes first of"
    head = f"{first['optimizer']} {lead} {counted(board.height, 'optimizer')} on {on}, {when}"
    out = [
        f"{head}: normalised score {score(first)}, where 0 is the best known and 1 is random search.",
        f"{'With it is' if tied else 'Next is'} {second['optimizer']} with {score(second)}; {overlap(first, second)}.",
        f"{first['optimizer']} is the best on {first['best_on']} of {on}.",
    ]
    if view.frame["provisional"]:
        out.append("A run goes on: these numbers are provisional.")
    return out


def beside_verdict(material: Material) -> list[str]:
    """What the first screen's leaderboard needs said where the verdict on all pairs stands above it."""
    view = material.scopes.get(ALL) if material.fixed_cost is not None else None
    some = "" if view is None else _uneven(view)
    if not some:
        return []
    return [
        f"The leaderboard's means are over different numbers of problems ({some}): no winner can be read from them."
    ]


def _uneven(view: FixedCost) -> str:
    """'Good 2, Slow 3': on how many problems each has values, where the numbers differ; such means do not compare."""
    board = view.leaderboard()
    absent = sorted(set(view.optimizers) - set(board["optimizer"]))
    if not absent and board["n"].n_unique() <= 1:
        return ""
    parts = [f"{row['optimizer']} {row['n']}" for row in board.iter_rows(named=True)] + [f"{n} 0" for n in absent]
    return ", ".join(parts[:12]) + (", …" if len(parts) > 12 else "")


def score(row: dict[str, Any]) -> str:
    """'0.21, 95 % interval [0.12, 0.31]'; a single problem or trial has no interval."""
    if row["mean_normed"] is None:
        return "undefined, since random search itself is next to the best value "
    ends = row["mean_normed_lb"], row["mean_normed_ub"]
    told = f"95 % interval {interval(*ends)}" if known(*ends) else "without an interval"
    return f"{_two_digits(row['mean_normed'])}, {told}"


def interval(lower: float | None, upper: float | None) -> str:
    return f"[{_two_digits(lower)}, {_two_digits(upper)}]"


def known(lower: float | None, upper: float | None) -> bool:
    """Whether an interval says anything: both ends are there and finite."""
    return lower is not None and upper is not None and math.isfinite(lower) and math.isfinite(upper)


def overlap(first: dict[str, Any], second: dict[str, Any]) -> str:
    """Whether the intervals of two rows meet, said plainly."""
    if first["mean_normed"] is None or second["mean_normed"] is None:
        return "without a normalised score there is no interval, so the order of the two is not settled"
    rows = [(row["mean_normed_lb"], row["mean_normed_ub"]) for row in (first, second)]
    if not any(known(*ends) for ends in rows):
        return "one problem or one trial gives no interval, so the order of the two is not settled"
    if not all(known(*ends) for ends in rows):
        return "one of the two has no interval, so their order is not settled"
    if first["mean_normed_ub"] < second["mean_normed_lb"]:
        return "their intervals do not meet"
    return "their intervals overlap: these means alone do not settle the order of the two"


def describe_board(final: pl.DataFrame) -> str:
    """The leaderboard as one sentence, for those who cannot see a figure. final: as `Material.final` has it."""
    rows = final.filter(pl.col("scope") == ALL).rows(named=True)
    if not rows:
        return "At the end it is undefined: random search itself is next to the best value."
    parts = [
        f"{row['optimizer']} {_two_digits(row['score'])}"
        + (f" {interval(row['lower'], row['upper'])}" if known(row["lower"], row["upper"]) else "")
        for row in rows
    ]
    return "At the end, best first: " + "; ".join(parts[:12]) + ("; and others." if len(parts) > 12 else ".")


def describe_times(table: pl.DataFrame) -> str:
    rows = table.filter(pl.col("scope") == ALL)
    parts = [f"{row['optimizer']} {row['phase']} {row['median']:.2g} s" for row in rows.iter_rows(named=True)]
    return "Medians: " + "; ".join(parts[:18]) + ("; and others." if len(parts) > 18 else ".")


def describe_counts(material: Material) -> str:
    """'150 studies · 149 done · 1 failed'."""
    studies = material.results.studies
    parts = [counted(studies.height, "study")]
    for (status,), part in sorted(studies.group_by("status"), key=lambda item: -item[1].height):
        if status != "done" or part.height < studies.height:
            parts.append(f"{part.height:,} {status}")
    return " · ".join(parts)


def _two_digits(value: float | None) -> str:
    return typeset(fixed(value, 2))
