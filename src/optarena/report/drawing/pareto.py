"""Figures of the pareto view: fronts, hypervolume over effort, attainment surfaces and differences, indicators."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from optarena.report.drawing._style import BAND, NUMBER, SOFT, Look, colour, dash, shaded, source

REFERENCE = "#b9a77c"
"""Of the reference set: light brown, behind everything, as the reference of runtimes is."""
LEVELS = {"best": [1, 0], "median": [1, 0], "worst": [4, 3]}


def fronts(table: pl.DataFrame | str, look: Look) -> Any:
    """Fronts of typical trials before the reference set: one panel per problem and pair of objectives."""
    x = alt.X("x:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(format="~g", tickCount=4))
    y = alt.Y("y:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(format="~g", tickCount=4))
    reference = "datum.kind === 'reference'"
    dots = (
        alt.Chart()
        .mark_point(filled=True, aria=False)
        .encode(
            x=x,
            y=y,
            color=alt.condition(reference, alt.value(REFERENCE), colour(look, symbol="circle")),
            size=alt.condition(reference, alt.value(70), alt.value(16)),
            opacity=alt.condition(reference, alt.value(0.35), alt.value(0.8)),
            tooltip=[
                alt.Tooltip("optimizer:N"),
                alt.Tooltip("kind:N", title="set"),
                alt.Tooltip("x:Q", title="first", format=NUMBER),
                alt.Tooltip("y:Q", title="second", format=NUMBER),
            ],
        )
    )
    return _panels(dots, table, look)


def parallel(table: pl.DataFrame | str, look: Look) -> Any:
    """Many objectives: one line per point, one axis per objective, 0 the ideal and 1 the nadir."""
    line = (
        alt.Chart()
        .mark_line(strokeWidth=1, opacity=0.4, aria=False)
        .encode(
            x=alt.X("objective:N", title=None, sort=None, axis=alt.Axis(labelAngle=0, grid=True)),
            y=alt.Y("value:Q", title="0 ideal, 1 nadir", scale=alt.Scale(zero=False)),
            color=colour(look),
            detail="point:N",
            tooltip=[alt.Tooltip("optimizer:N"), alt.Tooltip("objective:N"), alt.Tooltip("value:Q", format=NUMBER)],
            **dash(look),
        )
    )
    return _panels(line, table, look, size=(300, 190), columns=2)


def hypervolume(table: pl.DataFrame | str, look: Look, *, effort: str, log: bool) -> Any:
    """The hypervolume over effort with 95 % bands: over all problems, and one panel per problem."""
    x = alt.X(
        "effort:Q",
        title=effort,
        scale=alt.Scale(type="log" if log else "linear", nice=False),
        axis=alt.Axis(format=NUMBER, tickCount=4),
    )
    title = "hypervolume (1: the reference set's)"

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", title=title, scale=alt.Scale(zero=False), axis=alt.Axis(format="~g", tickCount=5))

    base = alt.Chart().encode(x=x, color=colour(look))
    band = base.mark_area(opacity=BAND, clip=True, aria=False).encode(y=y("lower"), y2=alt.Y2("upper:Q"))
    line = base.mark_line(strokeWidth=2, aria=False).encode(y=y("value"), **dash(look))
    over = base.mark_point(opacity=0, size=110, aria=False).encode(
        y=y("value"),
        tooltip=[
            alt.Tooltip("optimizer:N"),
            alt.Tooltip("effort:Q", title=effort, format=NUMBER),
            alt.Tooltip("value:Q", title="mean", format=".4f"),
            alt.Tooltip("lower:Q", title="95 % from", format=".4f"),
            alt.Tooltip("upper:Q", title="to", format=".4f"),
            alt.Tooltip("n:Q"),
        ],
    )
    return _panels(alt.layer(band, line, over), table, look, free=("y",))


def attainment(table: pl.DataFrame | str, look: Look) -> Any:
    """Attainment surfaces: strong, what half of the runs attain; thin, the best run; dashed, all runs."""
    strong = alt.Scale(domain=list(LEVELS), range=[1.0, 2.6, 1.2])
    pale = alt.Scale(domain=list(LEVELS), range=[0.7, 1, 0.7])
    dashes = alt.Scale(domain=list(LEVELS), range=list(LEVELS.values()))
    line = (
        alt.Chart()
        .mark_line(aria=False)
        .encode(
            x=alt.X("x:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(format="~g", tickCount=4)),
            y=alt.Y("y:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(format="~g", tickCount=4)),
            order="step:Q",
            color=colour(look),
            strokeWidth=alt.StrokeWidth("level:O", scale=strong, legend=None),
            opacity=alt.Opacity("level:O", scale=pale, legend=None),
            strokeDash=alt.StrokeDash("level:O", scale=dashes, legend=None),
            tooltip=[alt.Tooltip("optimizer:N"), alt.Tooltip("level:N", title="runs that attain it")],
        )
    )
    return _panels(line, table, look)


def attainment_difference(table: pl.DataFrame | str, look: Look) -> Any:
    """By how much more often one optimizer attains a place than another: blue the first, red the second."""
    scale = alt.Scale(domain=[-1, 0, 1], range=["#b2182b", "#f7f7f7", "#2166ac"])
    keys = alt.Legend(
        title="part of the runs that attain it: first − second", orient="bottom", gradientLength=220, titleLimit=400,
        values=[-1, 0, 1], labelExpr="datum.value ? format(datum.value, '+.0%') : '0'",
    )  # fmt: skip
    boxes = (
        alt.Chart()
        .mark_rect(aria=False, strokeWidth=0)
        .encode(
            x=alt.X(
                "x:Q", title=None, scale=alt.Scale(zero=False, nice=False), axis=alt.Axis(format="~g", tickCount=4)
            ),
            x2="x2:Q",
            y=alt.Y(
                "y:Q", title=None, scale=alt.Scale(zero=False, nice=False), axis=alt.Axis(format="~g", tickCount=4)
            ),
            y2="y2:Q",
            color=alt.Color("difference:Q", scale=scale, legend=keys),
            tooltip=[
                alt.Tooltip("optimizer:N", title="first"),
                alt.Tooltip("other:N", title="second"),
                alt.Tooltip("difference:Q", format="+.0%"),
            ],
        )
    )
    return _panels(boxes, table, look)


def indicators(table: pl.DataFrame | str, look: Look) -> Any:
    """One heat map per indicator: one row per problem, one column per optimizer; bright is the best on the problem."""
    top = alt.Axis(orient="top", labelAngle=-90, labelLimit=160, domain=False, ticks=False, labelOverlap=False)
    side = alt.Axis(labelLimit=200, domain=False, ticks=False, labelOverlap=False)
    base = alt.Chart().encode(
        x=alt.X("optimizer:N", title=None, axis=top), y=alt.Y("name:N", title=None, sort=None, axis=side)
    )
    tips = [
        alt.Tooltip("panel:N", title="indicator"),
        alt.Tooltip("name:N", title="problem"),
        alt.Tooltip("optimizer:N"),
        alt.Tooltip("value:Q", title="mean", format=".4~g"),
        alt.Tooltip("lower:Q", title="95 % from", format=".4~g"),
        alt.Tooltip("upper:Q", title="to", format=".4~g"),
        alt.Tooltip("n:Q", title="trials"),
    ]
    chart = shaded(
        base, tips, by="part", text="value", form=".3~g", legend="0: the best of the problem, 1: the worst", size=10
    )
    wide = 46 * max(2, len(look.colours.names))
    return _panels(chart, table, look, size=(wide, alt.Step(20)), columns=3, free=())


def _panels(
    layers: Any,
    table: pl.DataFrame | str,
    look: Look,
    *,
    size: tuple[int, int | alt.Step] = (220, 180),
    columns: int = 3,
    free: tuple[str, ...] = ("x", "y"),
) -> Any:
    """The same chart for each panel, each with axes of its own; scales of its own along `free`."""
    chart = look.sized(layers, *size).properties(data=source(table))
    head = alt.Header(
        title=None, labelFontSize=11, labelFontWeight=600, labelAnchor="start", labelLimit=300, labelColor=SOFT
    )
    order = alt.EncodingSortField(field="place", op="min", order="ascending")
    small = chart.facet(facet=alt.Facet("panel:N", sort=order, header=head), columns=columns, spacing=18)
    small = small.resolve_axis(x="independent", y="independent")
    return small.resolve_scale(**dict.fromkeys(free, "independent")) if free else small
