"""Figures in words: sentences made of numbers that are already computed."""

from __future__ import annotations

import math

import polars as pl

from optarena._numbers import counted, fixed, typeset
from optarena.report.material import ALL, Material


def interval(lower: float | None, upper: float | None) -> str:
    return f"[{_two_digits(lower)}, {_two_digits(upper)}]"


def known(lower: float | None, upper: float | None) -> bool:
    """Whether an interval says anything: both ends are there and finite."""
    return lower is not None and upper is not None and math.isfinite(lower) and math.isfinite(upper)


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
