"""Figures of what was run: convergence, time, failures, best points, progress."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from optarena.report.drawing._style import BAND, NUMBER, Look, cells, colour, dash, effort_axis, matrix, rows, source

STATISTICS = {
    "median": ("median", "q1", "q3", "median over trials; half of the trials are in the band"),
    "mean": ("mean", "mean_lb", "mean_ub", "mean over trials with its 95 % interval"),
}
MEASURES = {"gap": "distance to the optimum", "value": "best value"}
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
) -> Any:
    """The best value so far on one problem, one line per optimizer, with bands."""
    middle, lower, upper, _ = STATISTICS[statistic]
    # what is 0 or less has no place on a logarithmic axis: it is drawn at its foot
    scale = alt.Scale(type="log", domainMin=floor, clamp=True) if log else alt.Scale(zero=False)
    axis = alt.Axis(format="~g", tickCount=6)
    y: dict[str, Any] = {"title": measure, "scale": scale, "axis": axis}
    base = alt.Chart(source(table)).encode(
        x=alt.X(
            "effort:Q",
            title=effort,
            scale=alt.Scale(type="log" if log_effort else "linear", nice=False),
            axis=effort_axis(counted=counted, log=log_effort),
        ),
        color=colour(look),
    )
    # what was found stays the best until a better is found: steps
    steps: dict[str, Any] = {"interpolate": "step-after", "aria": False, "clip": True}
    band = base.mark_area(opacity=BAND, **steps).encode(y=alt.Y(f"{lower}:Q", **y), y2=alt.Y2(f"{upper}:Q"))
    line = base.mark_line(strokeWidth=2, **steps).encode(y=alt.Y(f"{middle}:Q", **y), **dash(look))
    point = base.mark_point(opacity=0, size=160, aria=False).encode(
        y=alt.Y(f"{middle}:Q", **y),
        tooltip=[
            alt.Tooltip("optimizer:N"),
            alt.Tooltip("effort:Q", title=effort, format=NUMBER),
            alt.Tooltip(f"{middle}:Q", title=statistic, format=NUMBER),
            alt.Tooltip(f"{lower}:Q", title="from", format=NUMBER),
            alt.Tooltip(f"{upper}:Q", title="to", format=NUMBER),
            alt.Tooltip("n:Q", title="trials"),
        ],
    )
    chart = alt.layer(band, line, point)
    if title is not None:
        chart = chart.properties(title=title)
    return look.sized(chart, 360, 240)


def time(table: pl.DataFrame | str, look: Look) -> Any:
    """Seconds per evaluation in each phase: median over studies, with quartiles."""
    axis = alt.Axis(labelExpr="format(datum.value, '~s') + 's'", tickCount=6)  # 10µs, 1ms, 2s
    x: dict[str, Any] = {"title": "time of an evaluation", "scale": alt.Scale(type="log"), "axis": axis}
    phases = ["suggest", "evaluate", "observe"]
    base = alt.Chart(source(table)).encode(
        y=rows(), yOffset=alt.YOffset("phase:N", sort=phases), color=colour(look, legend=False)
    )
    tips = [
        alt.Tooltip("optimizer:N"),
        alt.Tooltip("phase:N"),
        alt.Tooltip("median:Q", title="median seconds", format=".3~s"),
        alt.Tooltip("q1:Q", title="from", format=".3~s"),
        alt.Tooltip("q3:Q", title="to", format=".3~s"),
        alt.Tooltip("n:Q", title="studies"),
    ]
    bar = base.mark_rule(strokeWidth=2, aria=False).encode(x=alt.X("q1:Q", **x), x2=alt.X2("q3:Q"), tooltip=tips)
    keys = alt.Legend(title=None, orient="bottom", symbolFillColor="#777777", symbolStrokeColor="#777777")
    marks = alt.Scale(domain=phases, range=["triangle-right", "circle", "square"])
    dots = base.mark_point(filled=True, opacity=1, size=75, aria=False).encode(
        x=alt.X("median:Q", **x), shape=alt.Shape("phase:N", scale=marks, legend=keys), tooltip=tips
    )
    return look.sized(alt.layer(bar, dots), 520, alt.Step(17, **{"for": "offset"}))


def failures(table: pl.DataFrame | str, look: Look) -> Any:
    """How many evaluations failed, one bar per optimizer and kind."""
    # of the problems that are shown: the only sum that is left to a chart
    shown = alt.Chart(source(table)).transform_aggregate(count="sum(count)", groupby=["optimizer", "kind"])
    shown = shown.transform_calculate(room="datum.count * 1.35")
    base = shown.encode(
        y=rows(sort="ascending"),
        yOffset=alt.YOffset("kind:N", sort="ascending"),
        x=alt.X(
            "count:Q", title="failed evaluations", stack=None, axis=alt.Axis(format="~s", tickMinStep=1, tickCount=6)
        ),
    )
    bars = base.mark_bar(aria=False).encode(
        color=colour(look, legend=False),
        tooltip=[alt.Tooltip("optimizer:N"), alt.Tooltip("kind:N"), alt.Tooltip("count:Q", title="evaluations")],
    )
    text = base.mark_text(align="left", dx=5, fontSize=11, aria=False).encode(text="kind:N")
    room = base.mark_point(opacity=0, aria=False).encode(x="room:Q")  # for the word beside the longest bar
    return look.sized(alt.layer(bars, text, room), 520, alt.Step(20, **{"for": "offset"}))


def parallel(table: pl.DataFrame | str, look: Look, *, title: Any = None) -> Any:
    """The best point of every trial on one problem: one line per trial, one axis per parameter, in the unit cube."""
    x = alt.X(
        "parameter:N",
        sort=alt.EncodingSortField(field="order", op="min"),
        title=None,
        scale=alt.Scale(type="point", padding=0.5),
        axis=alt.Axis(labelAngle=-30, labelLimit=120, grid=True, domain=False, labelOverlap=False),
    )
    y = alt.Y(
        "unit:Q",
        title="place in its range, on its own scale",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="%", grid=False, tickCount=3),
    )
    base = alt.Chart(source(table)).encode(x=x, y=y, color=colour(look), detail="line:N")
    lines = base.mark_line(opacity=0.55, strokeWidth=1.4, aria=False).encode(order=alt.Order("order:Q"), **dash(look))
    points = base.mark_point(filled=True, size=22, opacity=0.8, aria=False).encode(
        tooltip=[
            alt.Tooltip("optimizer:N"),
            alt.Tooltip("trial:Q"),
            alt.Tooltip("parameter:N"),
            alt.Tooltip("setting:N", title="value"),
            alt.Tooltip("best:Q", title="best value", format=NUMBER),
        ]
    )
    chart = alt.layer(lines, points)
    if title is not None:
        chart = chart.properties(title=title)
    return look.sized(chart, 360, 240)


def progress(table: pl.DataFrame | str, look: Look) -> Any:
    """How far each optimizer came on each problem: ended studies of all, coloured by how they stand."""
    base = matrix(table)
    tips = [
        alt.Tooltip("problem:N"),
        alt.Tooltip("optimizer:N"),
        alt.Tooltip("state:N"),
        alt.Tooltip("ended:Q", title="ended"),
        alt.Tooltip("failed:Q", title="failed"),
        alt.Tooltip("studies:Q", title="studies"),
        alt.Tooltip("evaluations:Q", title="evaluations", format=","),
    ]
    scale = alt.Scale(domain=list(STATES), range=list(STATES.values()))
    squares = base.mark_rect(stroke="white", strokeWidth=1, aria=False).encode(
        color=alt.Color("state:N", scale=scale, legend=alt.Legend(title=None, orient="bottom")), tooltip=tips
    )
    text = base.mark_text(fontSize=11, color="#1c1c1c", aria=False).encode(text="label:N", tooltip=tips)
    return look.sized(alt.layer(squares, text), cells(look), alt.Step(22))
