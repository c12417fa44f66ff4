"""Figures of the fixed-cost view: the normalised score over iterations, at the end, and problem by problem."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from optarena.report.drawing._style import (
    BAND,
    NUMBER,
    Look,
    cells,
    colour,
    dash,
    effort_axis,
    matrix,
    rows,
    shaded,
    shape,
    source,
)
from optarena.views.selection import COUNTED

NORMED = "normalised score (0 best known, 1 random search)"


def normalised(table: pl.DataFrame | str, look: Look, *, effort: str, log: bool = False) -> Any:
    """The normalised score over iterations, one line per optimizer, with 95 % bands."""
    base = alt.Chart(source(table)).encode(
        x=alt.X(
            "effort:Q",
            title=effort,
            scale=alt.Scale(type="log" if log else "linear", nice=False),
            axis=effort_axis(counted=effort.startswith(COUNTED), log=log),
        ),
        color=colour(look),
    )
    band = base.mark_area(opacity=BAND, clip=True, aria=False).encode(
        y=alt.Y("lower:Q", title=NORMED), y2=alt.Y2("upper:Q")
    )
    line = base.mark_line(strokeWidth=2, clip=True, aria=False).encode(y=alt.Y("score:Q", title=NORMED), **dash(look))
    point = base.mark_point(opacity=0, size=160, aria=False).encode(
        y=alt.Y("score:Q", title=NORMED),
        tooltip=[
            alt.Tooltip("optimizer:N"),
            alt.Tooltip("effort:Q", title=effort, format=NUMBER),
            alt.Tooltip("score:Q", title="normalised score", format=".3f"),
            alt.Tooltip("lower:Q", title="95 % from", format=".3f"),
            alt.Tooltip("upper:Q", title="to", format=".3f"),
        ],
    )
    return look.sized(alt.layer(band, line, point), 520, 320)


def final(table: pl.DataFrame | str, look: Look) -> Any:
    """The normalised score at the end, a dot an optimizer with its 95 % interval, best first."""
    base = alt.Chart(source(table)).encode(y=rows())
    tips = [
        alt.Tooltip("optimizer:N"),
        alt.Tooltip("score:Q", title="normalised score", format=".3f"),
        alt.Tooltip("lower:Q", title="95 % from", format=".3f"),
        alt.Tooltip("upper:Q", title="to", format=".3f"),
    ]
    bar = base.mark_rule(strokeWidth=2.5, clip=True, aria=False).encode(
        x=alt.X("lower:Q", title=NORMED, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=7)),
        x2=alt.X2("upper:Q"),
        color=colour(look, legend=False),
        tooltip=tips,
    )
    dots = base.mark_point(filled=True, opacity=1, size=110, aria=False).encode(
        x=alt.X("score:Q", title=NORMED), color=colour(look, legend=False), shape=shape(look), tooltip=tips
    )
    one = alt.Chart(alt.InlineData(values=[{"at": 1.0}])).mark_rule(strokeDash=[3, 3], color="#888888", aria=False)
    return look.sized(alt.layer(one.encode(x=alt.X("at:Q", title=NORMED)), bar, dots), 520, alt.Step(26))


def heat_map(table: pl.DataFrame | str, look: Look) -> Any:
    """The normalised score at the end on every problem: one row per problem, one column per optimizer."""
    base = matrix(table)
    tips = [
        alt.Tooltip("problem:N"),
        alt.Tooltip("optimizer:N"),
        alt.Tooltip("score:Q", title="mean normed", format=".3f"),
        alt.Tooltip("lower:Q", title="95 % from", format=".3f"),
        alt.Tooltip("upper:Q", title="to", format=".3f"),
        alt.Tooltip("n:Q", title="trials"),
    ]
    legend = "0: best known, 1: the median of random search's evaluations"
    chart = shaded(base, tips, by="score", text="score", form=".2f", legend=legend)
    return look.sized(chart, cells(look), alt.Step(22))
