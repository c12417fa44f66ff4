"""Figures of the fixed-cost view: the normalised score over iterations, at the end, and problem by problem."""

from __future__ import annotations

import polars as pl

from optarena.report.drawing import _vega as vl
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
BANDS = 5
"""Optimizers that have a band, the best at the end: more would hide the lines."""
OVER = 1.1
"""Bands are cut so far above the highest line, in parts of its height: else the widest band sets the scale."""


def normalised(
    table: pl.DataFrame | str, look: Look, *, effort: str, log: bool = False, title: str = NORMED
) -> vl.Chart:
    """A score over iterations, one line per optimizer, with 95 % bands."""
    base = vl.Chart(source(table)).encode(
        x=vl.Field(
            "effort:Q",
            title=effort,
            scale=vl.Scale(type="log" if log else "linear", nice=False),
            axis=effort_axis(counted=effort.startswith(COUNTED), log=log),
        ),
        color=colour(look),
    )
    band = (
        base.transform(joinaggregate=[{"op": "max", "field": "score", "as": "top"}])
        .transform(joinaggregate=[{"op": "argmax", "field": "effort", "as": "last"}], groupby=["optimizer"])
        .transform(calculate="datum.last.score", **{"as": "end"})
        .transform(window=[{"op": "dense_rank", "as": "place"}], sort=[{"field": "end"}])
        .transform(filter={"field": "place", "lte": BANDS})
        .transform(filter="isValid(datum.lower) && isValid(datum.upper)")
        .transform(calculate=f"min(datum.upper, {OVER} * datum.top)", **{"as": "cut"})
        .mark("area", opacity=BAND, clip=True, aria=False)
        .encode(y=vl.Field("lower:Q", title=title), y2=vl.Field("cut:Q"))
    )
    line = base.mark("line", strokeWidth=2, clip=True, aria=False).encode(
        y=vl.Field("score:Q", title=title), **dash(look)
    )
    point = base.mark("point", opacity=0, size=160, aria=False).encode(
        y=vl.Field("score:Q", title=title),
        tooltip=[
            vl.Field("optimizer:N"),
            vl.Field("effort:Q", title=effort, format=NUMBER),
            vl.Field("score:Q", title="score", format=".3f"),
            vl.Field("lower:Q", title="95 % from", format=".3f"),
            vl.Field("upper:Q", title="to", format=".3f"),
        ],
    )
    return look.sized(vl.layer(band, line, point), 520, 320)


def final(table: pl.DataFrame | str, look: Look) -> vl.Chart:
    """The normalised score at the end, a dot an optimizer with its 95 % interval, best first."""
    base = vl.Chart(source(table)).encode(y=rows(look))
    tips = [
        vl.Field("optimizer:N"),
        vl.Field("score:Q", title="normalised score", format=".3f"),
        vl.Field("lower:Q", title="95 % from", format=".3f"),
        vl.Field("upper:Q", title="to", format=".3f"),
    ]
    bar = base.mark("rule", strokeWidth=2.5, clip=True, aria=False).encode(
        x=vl.Field("lower:Q", title=NORMED, scale=vl.Scale(zero=False), axis=vl.Axis(tickCount=7)),
        x2=vl.Field("upper:Q"),
        color=colour(look, legend=False),
        tooltip=tips,
    )
    dots = base.mark("point", filled=True, opacity=1, size=110, aria=False).encode(
        x=vl.Field("score:Q", title=NORMED), color=colour(look, legend=False), shape=shape(look), tooltip=tips
    )
    one = vl.Chart([{"at": 1.0}]).mark("rule", strokeDash=[3, 3], color="#888888", aria=False)
    return look.sized(vl.layer(one.encode(x=vl.Field("at:Q", title=NORMED)), bar, dots), 520, vl.step(26))


def heat_map(table: pl.DataFrame | str, look: Look) -> vl.Chart:
    """The normalised score at the end on every problem: one row per problem, one column per optimizer."""
    base = matrix(table, look)
    tips = [
        vl.Field("problem:N"),
        vl.Field("optimizer:N"),
        vl.Field("score:Q", title="score", format=".3f"),
        vl.Field("lower:Q", title="95 % from", format=".3f"),
        vl.Field("upper:Q", title="to", format=".3f"),
        vl.Field("n:Q", title="trials"),
    ]
    legend = "0: best known, 1: random search's mean over all problems"
    chart = shaded(base, tips, by="score", text="score", form=".2f", legend=legend)
    return look.sized(chart, cells(look), vl.step(22))
