"""Figures of the verdict: critical-difference diagram, pairwise matrix, effect sizes, Scott-Knott groups."""

from __future__ import annotations

from typing import Any

import polars as pl

from optarena.comparison.figure_tables import ARM
from optarena.report.drawing import _vega as vl
from optarena.report.drawing._style import INK, NUMBER, SOFT, Look, colour, rows, source

HALF = [{"at": 0.5}]


def critical_difference(table: pl.DataFrame | str, look: Look, *, optimizers: int, bars: int) -> vl.Chart:
    """Average ranks, the best at the top left; a bar joins those that no test tells apart."""
    tall = int(26 * (2.5 + 0.7 * bars + (optimizers + 1) // 2))
    y: dict[str, Any] = {"scale": vl.Scale(reverse=True, zero=False, nice=False), "axis": None}
    over = ARM * max(1, optimizers - 1)
    x: dict[str, Any] = {"scale": vl.Scale(domain=[1 - over, optimizers + over], nice=False), "axis": None}
    base = vl.Chart(source(table)).encode(x=vl.Field("x:Q", **x), y=vl.Field("y:Q", **y))
    names = vl.Field("who:N", scale=vl.Scale(domain=look.names, range=list(look.colours.colours)), legend=None)

    def part(*kinds: str) -> vl.Chart:
        return base.transform(filter={"field": "kind", "oneOf": list(kinds)})

    ends: dict[str, Any] = {"x2": vl.Field("x2:Q"), "y2": vl.Field("y2:Q")}
    lines = part("stem", "arm").mark("rule", strokeWidth=1.6, aria=False).encode(color=names, **ends)
    axis = part("axis", "tick").mark("rule", color=SOFT, strokeWidth=1, aria=False).encode(**ends)
    numbers = part("tick").mark("text", dy=-12, fontSize=11, color=SOFT, aria=False).encode(text="text:N")
    scale = part("scale").mark("rule", color=INK, strokeWidth=2, aria=False).encode(x2=vl.Field("x2:Q"))
    word = part("scale").mark("text", dy=-8, align="left", fontSize=11, color=INK, aria=False).encode(text="text:N")
    joined = (
        part("bar").mark("rule", strokeWidth=5, strokeCap="round", color=INK, aria=False).encode(x2=vl.Field("x2:Q"))
    )
    text: dict[str, Any] = {"fontSize": 12, "color": INK, "aria": False, "limit": 260}
    left = part("left").mark("text", align="right", dx=-5, **text).encode(text="text:N")
    right = part("right").mark("text", align="left", dx=5, **text).encode(text="text:N")
    layers = vl.layer(axis, numbers, scale, word, lines, joined, left, right).having(
        resolve={"scale": {"color": "independent"}}
    )
    return look.sized(layers, 380, tall)


def pairwise(table: pl.DataFrame | str, look: Look, *, optimizers: int) -> vl.Chart:
    """The probability that the row's optimizer does better than the column's; a sign for the verdict."""
    axis = vl.Axis(labelLimit=200, domain=False, ticks=False, labelOverlap=False)
    top = vl.Axis(orient="top", labelAngle=-90, labelLimit=200, domain=False, ticks=False, labelOverlap=False)
    base = vl.Chart(source(table)).encode(
        x=vl.Field("other:N", sort=vl.Sort(field="column", op="min"), title=None, axis=top),
        y=vl.Field("optimizer:N", sort=vl.Sort(field="row", op="min"), title=None, axis=axis),
    )
    tips = [
        vl.Field("optimizer:N"),
        vl.Field("other:N", title="against"),
        vl.Field("improvement:Q", title="probability of improvement", format=".3f"),
        vl.Field("interval:N", title="95 %"),
        vl.Field("record:N", title="won-tied-lost"),
        vl.Field("verdict:N"),
        vl.Field("p:N", title="p, all pairs"),
    ]
    scale = vl.Scale(domain=[0, 0.5, 1], range=["#d9822b", "#f7f7f7", "#2b7bba"], type="linear")
    keys = vl.Legend(title="probability that the row is better", orient="bottom", gradientLength=220, titleLimit=400)
    cells = base.mark("rect", stroke="white", strokeWidth=1, aria=False).encode(
        color=vl.Field("improvement:Q", scale=scale, legend=keys), tooltip=tips
    )
    text = base.mark("text", fontSize=11, aria=False).encode(
        text="label:N",
        color=vl.condition("abs(datum.improvement - 0.5) > 0.38", "white", INK),
        tooltip=tips,
    )
    return look.sized(vl.layer(cells, text), 54 * max(3, optimizers), vl.step(28))


def effects(table: pl.DataFrame | str, look: Look) -> vl.Chart:
    """The probability of improvement of pairs with its 95 % interval; pale where undecided."""
    x: dict[str, Any] = {"title": "probability of improvement", "scale": vl.Scale(domain=[0, 1])}
    y = vl.Field("pair:N", sort=None, title=None, axis=vl.Axis(labelLimit=320, domain=False, ticks=False))
    tips = [
        vl.Field("pair:N", title="pair"),
        vl.Field("improvement:Q", format=".3f"),
        vl.Field("lower:Q", title="95 % from", format=".3f"),
        vl.Field("upper:Q", title="to", format=".3f"),
        vl.Field("difference:N", title="difference of mean scores"),
        vl.Field("record:N", title="won-tied-lost"),
        vl.Field("verdict:N"),
        vl.Field("p:N", title="p, all pairs"),
    ]
    faint = vl.Field("decided:O", scale=vl.Scale(domain=[False, True], range=[0.45, 1]), legend=None)
    base = vl.Chart(source(table)).encode(y=y, color=colour(look, legend=False), opacity=faint)
    bar = base.mark("rule", strokeWidth=2.5, aria=False).encode(
        x=vl.Field("lower:Q", **x), x2=vl.Field("upper:Q"), tooltip=tips
    )
    dots = base.mark("point", filled=True, size=90, aria=False).encode(x=vl.Field("improvement:Q", **x), tooltip=tips)
    even = vl.Chart(HALF).mark("rule", strokeDash=[3, 3], color="#888888", aria=False).encode(x=vl.Field("at:Q", **x))
    return look.sized(vl.layer(even, bar, dots), 420, vl.step(24))


def groups(table: pl.DataFrame | str, look: Look, *, score: str) -> vl.Chart:
    """Scott-Knott groups: the median and the quartiles of each optimizer's scores, with its group beside it."""
    x: dict[str, Any] = {"title": score, "scale": vl.Scale(zero=False), "axis": vl.Axis(tickCount=6)}
    tips = [
        vl.Field("optimizer:N"),
        vl.Field("group:Q"),
        vl.Field("median:Q", format=NUMBER),
        vl.Field("q1:Q", title="25 %", format=NUMBER),
        vl.Field("q3:Q", title="75 %", format=NUMBER),
    ]
    base = vl.Chart(source(table)).encode(y=rows(look), color=colour(look, legend=False))
    bar = base.mark("rule", strokeWidth=7, opacity=0.4, aria=False).encode(
        x=vl.Field("q1:Q", **x), x2=vl.Field("q3:Q"), tooltip=tips
    )
    dots = base.mark("point", filled=True, opacity=1, size=90, aria=False).encode(
        x=vl.Field("median:Q", **x), tooltip=tips
    )
    text = base.mark("text", align="left", dx=8, fontSize=11, aria=False).encode(
        x=vl.Field("q3:Q", **x), text="label:N"
    )
    return look.sized(vl.layer(bar, dots, text), 420, vl.step(26))
