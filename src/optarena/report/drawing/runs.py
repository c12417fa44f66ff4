"""Figures of what was run: convergence, time, failures, best points, progress."""

from __future__ import annotations

from typing import Any

import polars as pl

from optarena.report.drawing import _vega as vl
from optarena.report.drawing._style import (
    FEW_LINES,
    NUMBER,
    Look,
    cells,
    colour,
    dash,
    effort_axis,
    log_axis,
    matrix,
    rows,
    source,
)

STATISTICS = {
    "median": ("median", "q1", "q3", "median over trials; half of the trials are in the band"),
    "mean": ("mean", "mean_lb", "mean_ub", "mean over trials with its 95 % interval"),
}
MEASURES = {"gap": "distance to the optimum", "value": "best value"}
LABELS = 38
"""Points that the labels beside a panel take."""
STATES = {"done": "#c9dff0", "running": "#7fb2dd", "incomplete": "#e9e9e9", "some failed": "#f5b77c"}


def convergence(
    table: pl.DataFrame | str,
    look: Look,
    *,
    statistic: str,
    effort: Any,
    measure: Any,
    log: bool,
    floor: Any = None,
    log_effort: bool = False,
    counted: bool = True,
    title: Any = None,
) -> vl.Chart:
    """The best value so far on one problem, one line per optimizer, with bands."""
    middle, lower, upper, _ = STATISTICS[statistic]
    # what is 0 or less has no place on a logarithmic axis: it is drawn at its foot
    scale = vl.Scale(type="log", domainMin=floor, clamp=True) if log else vl.Scale(zero=False)
    axis = log_axis(6) if log else vl.Axis(format="~g", tickCount=6)
    if title is not None:  # one of several panels, which stand below each other: their labels take the same room
        axis = vl.Axis(**axis, minExtent=LABELS, maxExtent=LABELS)
    y: dict[str, Any] = {"title": measure, "scale": scale, "axis": axis}
    base = vl.Chart(source(table)).encode(
        x=vl.Field(
            "effort:Q",
            title=effort,
            scale=vl.Scale(type="log" if log_effort else "linear", nice=False),
            axis=effort_axis(counted=counted, log=log_effort),
        ),
        color=colour(look),
    )
    # what was found stays the best until a better is found: steps
    steps: dict[str, Any] = {"interpolate": "step-after", "aria": False, "clip": True}
    band = base.mark("area", opacity=look.band, **steps).encode(
        y=vl.Field(f"{lower}:Q", **y), y2=vl.Field(f"{upper}:Q")
    )
    line = base.mark("line", strokeWidth=2, **steps).encode(y=vl.Field(f"{middle}:Q", **y), **dash(look))
    point = base.mark("point", opacity=0, size=160, aria=False).encode(
        y=vl.Field(f"{middle}:Q", **y),
        tooltip=[
            vl.Field("optimizer:N"),
            vl.Field("effort:Q", title=effort, format=NUMBER),
            vl.Field(f"{middle}:Q", title=statistic, format=NUMBER),
            vl.Field(f"{lower}:Q", title="from", format=NUMBER),
            vl.Field(f"{upper}:Q", title="to", format=NUMBER),
            vl.Field("n:Q", title="trials"),
        ],
    )
    chart = vl.layer(band, line, point)
    if title is not None:
        chart = chart.having(title=title)
    return look.sized(chart, 360, 240)


def time(table: pl.DataFrame | str, look: Look) -> vl.Chart:
    """Seconds per evaluation in each phase: median over studies, with quartiles."""
    axis = vl.Axis(labelExpr="format(datum.value, '~s') + 's'", tickCount=6)  # 10µs, 1ms, 2s
    x: dict[str, Any] = {"title": "time of an evaluation", "scale": vl.Scale(type="log"), "axis": axis}
    phases = ["suggest", "evaluate", "observe"]
    base = vl.Chart(source(table)).encode(
        y=rows(look, sort=look.drawn), yOffset=vl.Field("phase:N", sort=phases), color=colour(look, legend=False)
    )
    tips = [
        vl.Field("optimizer:N"),
        vl.Field("phase:N"),
        vl.Field("median:Q", title="median seconds", format=".3~s"),
        vl.Field("q1:Q", title="from", format=".3~s"),
        vl.Field("q3:Q", title="to", format=".3~s"),
        vl.Field("n:Q", title="studies"),
    ]
    bar = base.mark("rule", strokeWidth=2, aria=False).encode(
        x=vl.Field("q1:Q", **x), x2=vl.Field("q3:Q"), tooltip=tips
    )
    keys = vl.Legend(title=None, orient="bottom", symbolFillColor="#777777", symbolStrokeColor="#777777")
    marks = vl.Scale(domain=phases, range=["triangle-right", "circle", "square"])
    dots = base.mark("point", filled=True, opacity=1, size=75, aria=False).encode(
        x=vl.Field("median:Q", **x), shape=vl.Field("phase:N", scale=marks, legend=keys), tooltip=tips
    )
    return look.sized(vl.layer(bar, dots), 520, vl.step(17, **{"for": "offset"}))


def failures(table: pl.DataFrame | str, look: Look) -> vl.Chart:
    """How many evaluations failed, one bar per optimizer and kind."""
    # of the problems that are shown: the only sum that is left to a chart
    total = {"op": "sum", "field": "count", "as": "count"}
    shown = vl.Chart(source(table)).transform(aggregate=[total], groupby=["optimizer", "kind"])
    shown = shown.transform(calculate="format(datum.count, ',') + ' ' + datum.kind", **{"as": "label"})
    shown = shown.transform(calculate="datum.count * 1.45", **{"as": "room"})
    base = shown.encode(
        y=rows(look, sort=look.drawn),
        yOffset=vl.Field("kind:N", sort="ascending"),
        x=vl.Field(
            "count:Q", title="failed evaluations", stack=None, axis=vl.Axis(format="~s", tickMinStep=1, tickCount=6)
        ),
    )
    bars = base.mark("bar", aria=False).encode(
        color=colour(look, legend=False),
        tooltip=[vl.Field("optimizer:N"), vl.Field("kind:N"), vl.Field("count:Q", title="evaluations")],
    )
    text = base.mark("text", align="left", dx=5, fontSize=11, aria=False).encode(text="label:N")
    room = base.mark("point", opacity=0, aria=False).encode(x="room:Q")  # for the word beside the longest bar
    return look.sized(vl.layer(bars, text, room), 520, vl.step(20, **{"for": "offset"}))


def parallel(table: pl.DataFrame | str, look: Look, *, title: Any = None) -> vl.Chart:
    """Best points on one problem: one line per trial, one axis per parameter, in the unit cube.

    Of many optimizers only the best trial of each is drawn: lines are numbered from the best.
    """
    x = vl.Field(
        "parameter:N",
        sort=vl.Sort(field="order", op="min"),
        title=None,
        scale=vl.Scale(type="point", padding=0.5),
        axis=vl.Axis(labelAngle=-30, labelLimit=120, grid=True, domain=False, labelOverlap=False),
    )
    y = vl.Field(
        "unit:Q",
        title="place in its range, on its own scale",
        scale=vl.Scale(domain=[0, 1]),
        axis=vl.Axis(format="%", grid=False, tickCount=3),
    )
    shown = (
        vl.Chart(source(table))
        .transform(joinaggregate=[{"op": "distinct", "field": "optimizer", "as": "optimizers"}])
        .transform(joinaggregate=[{"op": "min", "field": "line", "as": "best_line"}], groupby=["optimizer"])
        .transform(filter={"or": [{"field": "optimizers", "lte": FEW_LINES}, "datum.line === datum.best_line"]})
    )
    base = shown.encode(x=x, y=y, color=colour(look), detail="line:N")
    lines = base.mark("line", opacity=0.55, strokeWidth=1.4, aria=False).encode(order=vl.Field("order:Q"), **dash(look))
    points = base.mark("point", filled=True, size=22, opacity=0.8, aria=False).encode(
        tooltip=[
            vl.Field("optimizer:N"),
            vl.Field("trial:Q"),
            vl.Field("parameter:N"),
            vl.Field("setting:N", title="value"),
            vl.Field("best:Q", title="best value", format=NUMBER),
        ]
    )
    chart = vl.layer(lines, points)
    if title is not None:
        chart = chart.having(title=title)
    return look.sized(chart, 360, 240)


def progress(table: pl.DataFrame | str, look: Look) -> vl.Chart:
    """How far each optimizer came on each problem: ended studies of all, coloured by how they stand."""
    base = matrix(table, look)
    tips = [
        vl.Field("problem:N"),
        vl.Field("optimizer:N"),
        vl.Field("state:N"),
        vl.Field("ended:Q", title="ended"),
        vl.Field("failed:Q", title="failed"),
        vl.Field("studies:Q", title="studies"),
        vl.Field("evaluations:Q", title="evaluations", format=","),
    ]
    scale = vl.Scale(domain=list(STATES), range=list(STATES.values()))
    squares = base.mark("rect", stroke="white", strokeWidth=1, aria=False).encode(
        color=vl.Field("state:N", scale=scale, legend=vl.Legend(title=None, orient="bottom")), tooltip=tips
    )
    text = base.mark("text", fontSize=11, color="#1c1c1c", aria=False).encode(text="label:N", tooltip=tips)
    return look.sized(vl.layer(squares, text), cells(look), vl.step(22))
