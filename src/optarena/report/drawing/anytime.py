"""Figures of the anytime view: curves in their box, area scores, gaps over effort, how many are solved by when."""

from __future__ import annotations

from typing import Any

import polars as pl

from optarena.report.drawing import _vega as vl
from optarena.report.drawing._style import (
    NUMBER,
    SOFT,
    Look,
    cells,
    colour,
    dash,
    log_axis,
    matrix,
    shaded,
    shape,
    source,
)

WHOLE_ONLY = "datum.value % 1 ? '' : datum.label"  # layers lose tickMinStep where counts are few


def curve(table: pl.DataFrame | str, look: Look, *, effort: str, title: Any = None) -> vl.Chart:
    """One instance: the best value so far of each optimizer, proofs and bounds, and the box that scores lie in."""
    x = vl.Field("effort:Q", title=effort, scale=vl.Scale(type="log", nice=False), axis=log_axis(5))
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

    def those(name: str) -> vl.Chart:
        """The rows that have a value in a column."""
        return base.transform(filter=f"isValid(datum.{name})")

    line = (
        those("value")
        .mark("line", interpolate="step-after", strokeWidth=2, aria=False)
        .encode(y=vl.Field("value:Q", **ends), **dash(look))
    )
    dots = (
        those("found")
        .mark("point", filled=True, size=30, opacity=1, aria=False)
        .encode(y=vl.Field("found:Q", **ends), tooltip=tips)
    )
    bound = (
        those("bound")
        .mark("line", interpolate="step-after", strokeWidth=1, strokeDash=[2, 2], opacity=0.8, aria=False)
        .encode(y=vl.Field("bound:Q", **ends))
    )
    proof = (
        those("proof")
        .mark("point", shape="diamond", filled=True, size=130, opacity=1, aria=False)
        .encode(
            y=vl.Field("proof:Q", **ends),
            tooltip=[*tips[:2], vl.Field("proof:Q", title="proved optimal", format=NUMBER)],
        )
    )
    chart = vl.layer(box, bound, line, dots, proof)
    if title is not None:
        chart = chart.having(title=title)
    return look.sized(chart, 320, 210)


def area_map(table: pl.DataFrame | str, look: Look) -> vl.Chart:
    """The area score on every instance: one row per instance, one column per optimizer."""
    base = matrix(table, look)
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
    chart = shaded(matrix(table, look), tips, by="score", text="score", form=".2f", legend="0: best of all, 1: worst")
    return look.sized(chart, cells(look), vl.step(22))


def boxes(table: pl.DataFrame | str, look: Look, *, score: str) -> vl.Chart:
    """Median, quartiles and whiskers of each optimizer's runs, and every run beside its box."""
    y: dict[str, Any] = {"title": score, "scale": vl.Scale(domain=[0, 1], clamp=True)}
    x = vl.Field(
        "optimizer:N", title=None, axis=vl.Axis(labelAngle=-30, labelLimit=160, labelOverlap=False, ticks=False)
    )
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


def gap(table: pl.DataFrame | str, look: Look, *, effort: str, floor: float) -> vl.Chart:
    """The mean primal gap over instances by effort, both logarithmic; a gap of 0 is drawn at the foot."""
    x = vl.Field("effort:Q", title=effort, scale=vl.Scale(type="log", nice=False), axis=log_axis(5))
    scale = vl.Scale(type="log", domain=[floor, 1], clamp=True)
    y: dict[str, Any] = {
        "title": f"mean primal gap (at the foot: {floor:g} or less)",
        "scale": scale,
        "axis": log_axis(6),
    }
    base = vl.Chart(source(table)).encode(x=x, color=colour(look))
    line = base.mark("line", strokeWidth=2, interpolate="step-after", aria=False).encode(
        y=vl.Field("shown:Q", **y), **dash(look)
    )
    tips = [
        vl.Field("optimizer:N", title="optimizer"),
        vl.Field("effort:Q", title=effort, format=NUMBER),
        vl.Field("gap:Q", title="mean gap", format=".3f"),
        vl.Field("lower:Q", title="95 % from", format=".3f"),
        vl.Field("upper:Q", title="to", format=".3f"),
        vl.Field("n:Q", title="instances"),
    ]
    point = base.mark("point", opacity=0, size=100, aria=False).encode(y=vl.Field("shown:Q", **y), tooltip=tips)
    # where curves lie upon each other, a mark of its own shows who is there
    marks = base.transform(filter="datum.mark").mark("point", filled=True, size=50, opacity=1, aria=False)
    return look.sized(vl.layer(line, marks.encode(y=vl.Field("shown:Q", **y), shape=shape(look)), point), 480, 280)


def cactus(table: pl.DataFrame | str, look: Look, *, effort: str, what: str) -> vl.Chart:
    """How many instances each optimizer has solved, or proved, by when."""
    base = vl.Chart(source(table)).encode(
        x=vl.Field(
            "effort:Q",
            title=effort,
            scale=vl.Scale(type="log", nice=False),
            axis=log_axis(5),
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
