"""Figures of the anytime view: curves in their box, area scores, gaps over effort, how many are solved by when."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from optarena.report.drawing._style import BAND, NUMBER, SOFT, Look, cells, colour, dash, matrix, shaded, source

WHOLE_ONLY = "datum.value % 1 ? '' : datum.label"  # layers lose tickMinStep where counts are few


def curve(table: pl.DataFrame | str, look: Look, *, effort: str, title: Any = None) -> Any:
    """One instance: the best value so far of each optimizer, the area that is scored, and the box around it."""
    x = alt.X("effort:Q", title=effort, scale=alt.Scale(nice=False), axis=alt.Axis(format=NUMBER, tickCount=5))
    ends: dict[str, Any] = {"title": "best value so far", "scale": alt.Scale(zero=False)}
    base = alt.Chart(source(table)).encode(x=x, color=colour(look))
    tips = [
        alt.Tooltip("optimizer:N"),
        alt.Tooltip("effort:Q", title=effort, format=NUMBER),
        alt.Tooltip("found:Q", title="value", format=NUMBER),
    ]
    box = (
        alt.Chart(source(table))
        .mark_rect(fillOpacity=0, stroke=SOFT, strokeWidth=1, strokeDash=[4, 3], aria=False)
        .encode(
            x=alt.X("min(box_start):Q", title=effort),
            x2="max(box_end):Q",
            y=alt.Y("min(box_best):Q", **ends),
            y2="max(box_worst):Q",
        )
    )
    area = base.mark_area(interpolate="step-after", opacity=BAND, aria=False).encode(
        y=alt.Y("value:Q", **ends), y2="box_best:Q"
    )
    line = base.mark_line(interpolate="step-after", strokeWidth=2, aria=False).encode(
        y=alt.Y("value:Q", **ends), **dash(look)
    )
    dots = base.mark_point(filled=True, size=36, opacity=1, aria=False).encode(y=alt.Y("found:Q", **ends), tooltip=tips)
    chart = alt.layer(box, area, line, dots)
    if title is not None:
        chart = chart.properties(title=title)
    return look.sized(chart, 320, 210)


def area_map(table: pl.DataFrame | str, look: Look) -> Any:
    """The area score on every instance: one row per instance, one column per optimizer."""
    base = matrix(table)
    tips = [
        alt.Tooltip("problem:N", title="instance"),
        alt.Tooltip("optimizer:N", title="optimizer"),
        alt.Tooltip("score:Q", title="area score", format=".3f"),
        alt.Tooltip("objective:Q", title="objective score", format=".3f"),
        alt.Tooltip("status:N"),
        alt.Tooltip("trials:Q"),
    ]
    chart = shaded(base, tips, by="score", text="score", form=".2f", legend="0: best at once, 1: never")
    return look.sized(chart, cells(look), alt.Step(22))


def gap(table: pl.DataFrame | str, look: Look, *, effort: str) -> Any:
    """The mean primal gap over instances by effort, with its 95 % band."""
    x = alt.X(
        "effort:Q",
        title=effort,
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(format=NUMBER, tickCount=5),
    )
    y: dict[str, Any] = {"title": "mean primal gap", "scale": alt.Scale(domain=[0, 1])}
    base = alt.Chart(source(table)).encode(x=x, color=colour(look))
    band = base.mark_area(opacity=BAND, interpolate="step-after", aria=False).encode(
        y=alt.Y("lower:Q", **y), y2="upper:Q"
    )
    line = base.mark_line(strokeWidth=2, interpolate="step-after", aria=False).encode(
        y=alt.Y("gap:Q", **y), **dash(look)
    )
    tips = [
        alt.Tooltip("optimizer:N", title="optimizer"),
        alt.Tooltip("effort:Q", title=effort, format=NUMBER),
        alt.Tooltip("gap:Q", title="mean gap", format=".3f"),
        alt.Tooltip("lower:Q", title="95 % from", format=".3f"),
        alt.Tooltip("upper:Q", title="to", format=".3f"),
        alt.Tooltip("n:Q", title="instances"),
    ]
    point = base.mark_point(opacity=0, size=100, aria=False).encode(y=alt.Y("gap:Q", **y), tooltip=tips)
    return look.sized(alt.layer(band, line, point), 480, 280)


def cactus(table: pl.DataFrame | str, look: Look, *, effort: str) -> Any:
    """How many instances each optimizer has solved by when."""
    base = alt.Chart(source(table)).encode(
        x=alt.X(
            "effort:Q",
            title=effort,
            scale=alt.Scale(type="symlog", constant=0.1, nice=False),
            axis=alt.Axis(format=NUMBER, tickCount=5),
        ),
        y=alt.Y("count:Q", title="instances solved", axis=alt.Axis(tickMinStep=1, format=NUMBER, labelExpr=WHOLE_ONLY)),
        color=colour(look),
    )
    line = base.mark_line(strokeWidth=2, interpolate="step-after", aria=False).encode(**dash(look))
    tips = [
        alt.Tooltip("optimizer:N", title="optimizer"),
        alt.Tooltip("effort:Q", title=effort, format=NUMBER),
        alt.Tooltip("count:Q", title="solved", format=NUMBER),
    ]
    dots = base.mark_point(filled=True, size=30, opacity=1, aria=False).encode(tooltip=tips)
    return look.sized(alt.layer(line, dots), 480, 280)
