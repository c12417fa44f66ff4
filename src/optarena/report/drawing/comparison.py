"""Figures of the verdict: critical-difference diagram, pairwise matrix, effect sizes, Scott-Knott groups."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from optarena.comparison.figure_tables import ARM
from optarena.report.drawing._style import INK, NUMBER, SOFT, Look, colour, rows, source

HALF = alt.InlineData(values=[{"at": 0.5}])


def critical_difference(table: pl.DataFrame | str, look: Look, *, optimizers: int, bars: int) -> Any:
    """Average ranks, the best at the top left; a bar joins those that no test tells apart."""
    tall = int(26 * (2.5 + 0.7 * bars + (optimizers + 1) // 2))
    y: dict[str, Any] = {"scale": alt.Scale(reverse=True, zero=False, nice=False), "axis": None}
    over = ARM * max(1, optimizers - 1)
    x: dict[str, Any] = {"scale": alt.Scale(domain=[1 - over, optimizers + over], nice=False), "axis": None}
    base = alt.Chart(source(table)).encode(x=alt.X("x:Q", **x), y=alt.Y("y:Q", **y))
    names = alt.Color("who:N", scale=alt.Scale(domain=look.names, range=list(look.colours.colours)), legend=None)

    def part(*kinds: str) -> Any:
        return base.transform_filter(alt.FieldOneOfPredicate(field="kind", oneOf=list(kinds)))

    ends: dict[str, Any] = {"x2": alt.X2("x2:Q"), "y2": alt.Y2("y2:Q")}
    lines = part("stem", "arm").mark_rule(strokeWidth=1.6, aria=False).encode(color=names, **ends)
    axis = part("axis", "tick").mark_rule(color=SOFT, strokeWidth=1, aria=False).encode(**ends)
    numbers = part("tick").mark_text(dy=-12, fontSize=11, color=SOFT, aria=False).encode(text="text:N")
    scale = part("scale").mark_rule(color=INK, strokeWidth=2, aria=False).encode(x2=alt.X2("x2:Q"))
    word = part("scale").mark_text(dy=-8, align="left", fontSize=11, color=INK, aria=False).encode(text="text:N")
    joined = part("bar").mark_rule(strokeWidth=5, strokeCap="round", color=INK, aria=False).encode(x2=alt.X2("x2:Q"))
    text: dict[str, Any] = {"fontSize": 12, "color": INK, "aria": False, "limit": 260}
    left = part("left").mark_text(align="right", dx=-5, **text).encode(text="text:N")
    right = part("right").mark_text(align="left", dx=5, **text).encode(text="text:N")
    layers = alt.layer(axis, numbers, scale, word, lines, joined, left, right).resolve_scale(color="independent")
    return look.sized(layers, 380, tall)


def pairwise(table: pl.DataFrame | str, look: Look, *, optimizers: int) -> Any:
    """The probability that the row's optimizer does better than the column's; a sign for the verdict."""
    axis = alt.Axis(labelLimit=200, domain=False, ticks=False, labelOverlap=False)
    top = alt.Axis(orient="top", labelAngle=-90, labelLimit=200, domain=False, ticks=False, labelOverlap=False)
    base = alt.Chart(source(table)).encode(
        x=alt.X("other:N", sort=alt.EncodingSortField("column", op="min"), title=None, axis=top),
        y=alt.Y("optimizer:N", sort=alt.EncodingSortField("row", op="min"), title=None, axis=axis),
    )
    tips = [
        alt.Tooltip("optimizer:N"),
        alt.Tooltip("other:N", title="against"),
        alt.Tooltip("improvement:Q", title="probability of improvement", format=".3f"),
        alt.Tooltip("interval:N", title="95 %"),
        alt.Tooltip("record:N", title="won-tied-lost"),
        alt.Tooltip("verdict:N"),
        alt.Tooltip("p:N", title="p, all pairs"),
    ]
    scale = alt.Scale(domain=[0, 0.5, 1], range=["#d9822b", "#f7f7f7", "#2b7bba"], type="linear")
    keys = alt.Legend(title="probability that the row is better", orient="bottom", gradientLength=220, titleLimit=400)
    cells = base.mark_rect(stroke="white", strokeWidth=1, aria=False).encode(
        color=alt.Color("improvement:Q", scale=scale, legend=keys), tooltip=tips
    )
    text = base.mark_text(fontSize=11, aria=False).encode(
        text="label:N",
        color=alt.condition("abs(datum.improvement - 0.5) > 0.38", alt.value("white"), alt.value(INK)),
        tooltip=tips,
    )
    return look.sized(alt.layer(cells, text), 54 * max(3, optimizers), alt.Step(28))


def effects(table: pl.DataFrame | str, look: Look) -> Any:
    """The probability of improvement of pairs with its 95 % interval; pale where undecided."""
    x: dict[str, Any] = {"title": "probability of improvement", "scale": alt.Scale(domain=[0, 1])}
    y = alt.Y("pair:N", sort=None, title=None, axis=alt.Axis(labelLimit=320, domain=False, ticks=False))
    tips = [
        alt.Tooltip("pair:N", title="pair"),
        alt.Tooltip("improvement:Q", format=".3f"),
        alt.Tooltip("lower:Q", title="95 % from", format=".3f"),
        alt.Tooltip("upper:Q", title="to", format=".3f"),
        alt.Tooltip("difference:N", title="difference of mean scores"),
        alt.Tooltip("record:N", title="won-tied-lost"),
        alt.Tooltip("verdict:N"),
        alt.Tooltip("p:N", title="p, all pairs"),
    ]
    faint = alt.Opacity("decided:O", scale=alt.Scale(domain=[False, True], range=[0.45, 1]), legend=None)
    base = alt.Chart(source(table)).encode(y=y, color=colour(look, legend=False), opacity=faint)
    bar = base.mark_rule(strokeWidth=2.5, aria=False).encode(
        x=alt.X("lower:Q", **x), x2=alt.X2("upper:Q"), tooltip=tips
    )
    dots = base.mark_point(filled=True, size=90, aria=False).encode(x=alt.X("improvement:Q", **x), tooltip=tips)
    even = alt.Chart(HALF).mark_rule(strokeDash=[3, 3], color="#888888", aria=False).encode(x=alt.X("at:Q", **x))
    return look.sized(alt.layer(even, bar, dots), 420, alt.Step(24))


def groups(table: pl.DataFrame | str, look: Look, *, score: str) -> Any:
    """Scott-Knott groups: the median and the quartiles of each optimizer's scores, with its group beside it."""
    x: dict[str, Any] = {"title": score, "scale": alt.Scale(zero=False), "axis": alt.Axis(tickCount=6)}
    tips = [
        alt.Tooltip("optimizer:N"),
        alt.Tooltip("group:Q"),
        alt.Tooltip("median:Q", format=NUMBER),
        alt.Tooltip("q1:Q", title="25 %", format=NUMBER),
        alt.Tooltip("q3:Q", title="75 %", format=NUMBER),
    ]
    base = alt.Chart(source(table)).encode(y=rows(), color=colour(look, legend=False))
    bar = base.mark_rule(strokeWidth=7, opacity=0.4, aria=False).encode(
        x=alt.X("q1:Q", **x), x2=alt.X2("q3:Q"), tooltip=tips
    )
    dots = base.mark_point(filled=True, opacity=1, size=90, aria=False).encode(x=alt.X("median:Q", **x), tooltip=tips)
    text = base.mark_text(align="left", dx=8, fontSize=11, aria=False).encode(x=alt.X("q3:Q", **x), text="label:N")
    return look.sized(alt.layer(bar, dots, text), 420, alt.Step(26))
