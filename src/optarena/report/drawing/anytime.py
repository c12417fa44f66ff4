"""Figures of the anytime view: curves in their box, area scores, gaps over effort, how many are solved by when."""

from __future__ import annotations

from typing import Any

import polars as pl

from optarena.report.drawing import _vega as vl
from optarena.report.drawing._style import BAND, NUMBER, SOFT, Look, cells, colour, dash, matrix, shaded, source

WHOLE_ONLY = "datum.value % 1 ? '' : datum.label"  # layers lose tickMinStep where counts are few


def curve(table: pl.DataFrame | str, look: Look, *, effort: str, title: Any = None) -> vl.Chart:
    """One instance: the best value so far of each optimizer, the area that is scored, and the box around it."""
    x = vl.Field("effort:Q", title=effort, scale=vl.Scale(nice=False), axis=vl.Axis(format=NUMBER, tickCount=5))
    ends: dict[str, Any] = {"title": "best value so far", "scale": vl.Scale(zero=False)}
    base = vl.Chart(source(table)).encode(x=x, color=colour(look))
    tips = [
        vl.Field("optimizer:N"),
        vl.Field("effort:Q", title=effort, format=NUMBER),
        vl.Field("found:Q", title="value", format=NUMBER),
    ]
    box = (
        vl.Chart(source(table))
        .mark("rect", fillOpacity=0, stroke=SOFT, strokeWidth=1, strokeDash=[4, 3], aria=False)
        .encode(
            x=vl.Field("min(box_start):Q", title=effort),
            x2="max(box_end):Q",
            y=vl.Field("min(box_best):Q", **ends),
            y2="max(box_worst):Q",
        )
    )
    area = base.mark("area", interpolate="step-after", opacity=BAND, aria=False).encode(
        y=vl.Field("value:Q", **ends), y2="box_best:Q"
    )
    line = base.mark("line", interpolate="step-after", strokeWidth=2, aria=False).encode(
        y=vl.Field("value:Q", **ends), **dash(look)
    )
    dots = base.mark("point", filled=True, size=36, opacity=1, aria=False).encode(
        y=vl.Field("found:Q", **ends), tooltip=tips
    )
    chart = vl.layer(box, area, line, dots)
    if title is not None:
        chart = chart.having(title=title)
    return look.sized(chart, 320, 210)


def area_map(table: pl.DataFrame | str, look: Look) -> vl.Chart:
    """The area score on every instance: one row per instance, one column per optimizer."""
    base = matrix(table)
    tips = [
        vl.Field("problem:N", title="instance"),
        vl.Field("optimizer:N", title="optimizer"),
        vl.Field("score:Q", title="area score", format=".3f"),
        vl.Field("objective:Q", title="objective score", format=".3f"),
        vl.Field("status:N"),
        vl.Field("trials:Q"),
    ]
    chart = shaded(base, tips, by="score", text="score", form=".2f", legend="0: best at once, 1: never")
    return look.sized(chart, cells(look), vl.step(22))


def objective_map(table: pl.DataFrame | str, look: Look) -> vl.Chart:
    """The objective score on every instance: one row per instance, one column per optimizer."""
    tips = [
        vl.Field("problem:N", title="instance"),
        vl.Field("optimizer:N", title="optimizer"),
        vl.Field("score:Q", title="objective score", format=".3f"),
        vl.Field("trials:Q"),
    ]
    chart = shaded(matrix(table), tips, by="score", text="score", form=".2f", legend="0: best of all, 1: worst")
    return look.sized(chart, cells(look), vl.step(22))


def boxes(table: pl.DataFrame | str, look: Look, *, score: str) -> vl.Chart:
    """Median, quartiles and whiskers of each optimizer's runs, and every run beside its box."""
    y: dict[str, Any] = {"title": score, "scale": vl.Scale(domain=[0, 1], clamp=True)}
    x = vl.Field("optimizer:N", title=None, axis=vl.Axis(labelAngle=-30, labelLimit=160, ticks=False))
    base = vl.Chart(source(table)).encode(x=x, color=colour(look, legend=False))
    box = base.mark("boxplot", size=26, extent=1.5, outliers=False, median={"color": "white"}).encode(
        y=vl.Field("score:Q", **y)
    )
    tips = [
        vl.Field("optimizer:N", title="optimizer"),
        vl.Field("problem:N", title="instance"),
        vl.Field("trial:Q"),
        vl.Field("score:Q", title=score, format=".3f"),
    ]
    dots = base.mark("point", filled=True, size=22, opacity=0.7, xOffset=-22, aria=False).encode(
        y=vl.Field("score:Q", **y), tooltip=tips
    )
    return look.sized(vl.layer(box, dots), 70 * max(3, len(look.drawn)), 260)


def gap(table: pl.DataFrame | str, look: Look, *, effort: str) -> vl.Chart:
    """The mean primal gap over instances by effort, with its 95 % band."""
    x = vl.Field(
        "effort:Q",
        title=effort,
        scale=vl.Scale(type="log", nice=False),
        axis=vl.Axis(format=NUMBER, tickCount=5),
    )
    y: dict[str, Any] = {"title": "mean primal gap", "scale": vl.Scale(domain=[0, 1])}
    base = vl.Chart(source(table)).encode(x=x, color=colour(look))
    band = base.mark("area", opacity=BAND, interpolate="step-after", aria=False).encode(
        y=vl.Field("lower:Q", **y), y2="upper:Q"
    )
    line = base.mark("line", strokeWidth=2, interpolate="step-after", aria=False).encode(
        y=vl.Field("gap:Q", **y), **dash(look)
    )
    tips = [
        vl.Field("optimizer:N", title="optimizer"),
        vl.Field("effort:Q", title=effort, format=NUMBER),
        vl.Field("gap:Q", title="mean gap", format=".3f"),
        vl.Field("lower:Q", title="95 % from", format=".3f"),
        vl.Field("upper:Q", title="to", format=".3f"),
        vl.Field("n:Q", title="instances"),
    ]
    point = base.mark("point", opacity=0, size=100, aria=False).encode(y=vl.Field("gap:Q", **y), tooltip=tips)
    return look.sized(vl.layer(band, line, point), 480, 280)


def cactus(table: pl.DataFrame | str, look: Look, *, effort: str, what: str) -> vl.Chart:
    """How many instances each optimizer has solved, or proved, by when."""
    base = vl.Chart(source(table)).encode(
        x=vl.Field(
            "effort:Q",
            title=effort,
            scale=vl.Scale(type="symlog", constant=0.1, nice=False),
            axis=vl.Axis(format=NUMBER, tickCount=5),
        ),
        y=vl.Field("count:Q", title=what, axis=vl.Axis(tickMinStep=1, format=NUMBER, labelExpr=WHOLE_ONLY)),
        color=colour(look),
    )
    line = base.mark("line", strokeWidth=2, interpolate="step-after", aria=False).encode(**dash(look))
    tips = [
        vl.Field("optimizer:N", title="optimizer"),
        vl.Field("effort:Q", title=effort, format=NUMBER),
        vl.Field("count:Q", title=what, format=NUMBER),
    ]
    dots = base.mark("point", filled=True, size=30, opacity=1, aria=False).encode(tooltip=tips)
    return look.sized(vl.layer(line, dots), 400, 280)
