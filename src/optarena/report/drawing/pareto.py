"""Figures of the pareto view: fronts, hypervolume over effort, attainment surfaces and differences, indicators."""

from __future__ import annotations

from typing import Any

import polars as pl

from optarena.report.drawing import _vega as vl
from optarena.report.drawing._style import FEW_LINES, NUMBER, SOFT, Look, colour, dash, shaded, source

REFERENCE = "#b9a77c"
"""Of the reference set: light brown, behind everything, as the reference of runtimes is."""
PLAIN = "abs(datum.value) >= 1e4 && abs(datum.value) < 1e7 ? format(datum.value, ',') : datum.label"
"""Labels of an axis: 20,000 instead of 2e+4."""
FARTHEST = 2
"""Values of many objectives beyond so many nadirs are drawn there: one awful point would flatten all others."""
LEVELS = {"best": [1, 0], "median": [1, 0], "worst": [4, 3]}


def _axis(field: str, title: str, **scale: Any) -> vl.Field:
    """An objective, in plain numbers."""
    axis = vl.Axis(format=NUMBER, labelExpr=PLAIN, tickCount=4)
    return vl.Field(f"{field}:Q", title=title, scale=vl.Scale(zero=False, **scale), axis=axis)


def fronts(table: pl.DataFrame | str, look: Look, *, titles: tuple[str, str]) -> vl.Chart:
    """Fronts of typical trials before the reference set: one panel per problem and pair of objectives."""
    x, y = _axis("x", titles[0]), _axis("y", titles[1])
    reference = "datum.kind === 'reference'"
    dots = (
        vl.Chart()
        .mark("point", filled=True, aria=False)
        .encode(
            x=x,
            y=y,
            color=vl.condition(reference, REFERENCE, colour(look, symbol="circle")),
            size=vl.condition(reference, 70, 16),
            opacity=vl.condition(reference, 0.35, 0.8),
            tooltip=[
                vl.Field("optimizer:N"),
                vl.Field("kind:N", title="set"),
                vl.Field("x:Q", title="first", format=NUMBER),
                vl.Field("y:Q", title="second", format=NUMBER),
            ],
        )
    )
    return _panels(dots, table, look)


def parallel(table: pl.DataFrame | str, look: Look) -> vl.Chart:
    """Many objectives: one line per point, one axis per objective, 0 the ideal and 1 the nadir."""
    line = (
        vl.Chart()
        .transform(calculate=f"min(datum.value, {FARTHEST})", **{"as": "shown"})
        .mark("line", strokeWidth=1, opacity=max(0.15, 0.4 * min(1.0, FEW_LINES / max(1, len(look.drawn)))), aria=False)
        .encode(
            x=vl.Field("objective:N", title=None, sort=None, axis=vl.Axis(labelAngle=0, grid=True)),
            y=vl.Field("shown:Q", title="0 ideal, 1 nadir", scale=vl.Scale(zero=False)),
            color=colour(look),
            detail="point:N",
            tooltip=[vl.Field("optimizer:N"), vl.Field("objective:N"), vl.Field("value:Q", format=NUMBER)],
            **dash(look),
        )
    )
    return _panels(line, table, look, size=(300, 190), columns=2)


def hypervolume(table: pl.DataFrame | str, look: Look, *, effort: str, log: bool) -> vl.Chart:
    """The hypervolume over effort with 95 % bands: over all problems, and one panel per problem."""
    x = vl.Field(
        "effort:Q",
        title=effort,
        scale=vl.Scale(type="log" if log else "linear", nice=False),
        axis=vl.Axis(format=NUMBER, tickCount=4),
    )
    title = "hypervolume (1: the reference set's)"

    def y(field: str) -> vl.Field:
        return vl.Field(f"{field}:Q", title=title, scale=vl.Scale(zero=False), axis=vl.Axis(format=NUMBER, tickCount=5))

    base = vl.Chart().encode(x=x, color=colour(look))
    band = base.mark("area", opacity=look.band, clip=True, aria=False).encode(y=y("lower"), y2=vl.Field("upper:Q"))
    line = base.mark("line", strokeWidth=2, aria=False).encode(y=y("value"), **dash(look))
    over = base.mark("point", opacity=0, size=110, aria=False).encode(
        y=y("value"),
        tooltip=[
            vl.Field("optimizer:N"),
            vl.Field("effort:Q", title=effort, format=NUMBER),
            vl.Field("value:Q", title="mean", format=".4f"),
            vl.Field("lower:Q", title="95 % from", format=".4f"),
            vl.Field("upper:Q", title="to", format=".4f"),
            vl.Field("n:Q"),
        ],
    )
    return _panels(vl.layer(band, line, over), table, look, free=("y",))


def attainment(table: pl.DataFrame | str, look: Look, *, titles: tuple[str, str]) -> vl.Chart:
    """Attainment surfaces: strong, what half of the runs attain; thin, the best run; dashed, all runs."""
    strong = vl.Scale(domain=list(LEVELS), range=[1.0, 2.6, 1.2])
    pale = vl.Scale(domain=list(LEVELS), range=[0.7, 1, 0.7])
    dashes = vl.Scale(domain=list(LEVELS), range=list(LEVELS.values()))
    line = (
        vl.Chart()
        .mark("line", aria=False)
        .encode(
            x=_axis("x", titles[0], nice=False),
            y=_axis("y", titles[1], nice=False),
            order="step:Q",
            color=colour(look),
            strokeWidth=vl.Field("level:O", scale=strong, legend=None),
            opacity=vl.Field("level:O", scale=pale, legend=None),
            strokeDash=vl.Field("level:O", scale=dashes, legend=None),
            tooltip=[vl.Field("optimizer:N"), vl.Field("level:N", title="runs that attain it")],
        )
    )
    return _panels(line, table, look)


def attainment_difference(table: pl.DataFrame | str, look: Look, *, titles: tuple[str, str]) -> vl.Chart:
    """By how much more often one optimizer attains a place than another: blue the first, red the second."""
    scale = vl.Scale(domain=[-1, 0, 1], range=["#b2182b", "#f7f7f7", "#2166ac"])
    keys = vl.Legend(
        title="part of the runs that attain it: first − second", orient="bottom", gradientLength=220, titleLimit=400,
        values=[-1, 0, 1], labelExpr="datum.value ? format(datum.value, '+.0%') : '0'",
    )  # fmt: skip
    boxes = (
        vl.Chart()
        .mark("rect", aria=False, strokeWidth=0)
        .encode(
            x=_axis("x", titles[0], nice=False),
            x2="x2:Q",
            y=_axis("y", titles[1], nice=False),
            y2="y2:Q",
            color=vl.Field("difference:Q", scale=scale, legend=keys),
            tooltip=[
                vl.Field("optimizer:N", title="first"),
                vl.Field("other:N", title="second"),
                vl.Field("difference:Q", format="+.0%"),
            ],
        )
    )
    return _panels(boxes, table, look)


def indicators(table: pl.DataFrame | str, look: Look) -> vl.Chart:
    """One heat map per indicator: one row per problem, one column per optimizer; bright is the best on the problem."""
    top = vl.Axis(orient="top", labelAngle=-90, labelLimit=160, domain=False, ticks=False, labelOverlap=False)
    side = vl.Axis(labelLimit=200, domain=False, ticks=False, labelOverlap=False)
    base = vl.Chart().encode(
        x=vl.Field("optimizer:N", title=None, sort=look.drawn, axis=top),
        y=vl.Field("name:N", title=None, sort=None, axis=side),
    )
    tips = [
        vl.Field("panel:N", title="indicator"),
        vl.Field("name:N", title="problem"),
        vl.Field("optimizer:N"),
        vl.Field("value:Q", title="mean", format=".4~g"),
        vl.Field("lower:Q", title="95 % from", format=".4~g"),
        vl.Field("upper:Q", title="to", format=".4~g"),
        vl.Field("n:Q", title="trials"),
    ]
    chart = shaded(
        base, tips, by="part", text="value", form=".3~g", legend="0: the best of the problem, 1: the worst", size=10
    )
    wide = 46 * max(2, len(look.colours.names))
    return _panels(chart, table, look, size=(wide, vl.step(20)), columns=3, free=())


def _panels(
    layers: vl.Chart,
    table: pl.DataFrame | str,
    look: Look,
    *,
    size: tuple[int, int | dict[str, Any]] = (220, 180),
    columns: int = 3,
    free: tuple[str, ...] = ("x", "y"),
) -> vl.Chart:
    """The same chart for each panel, each with axes of its own; scales of its own along `free`."""
    chart = look.sized(layers, *size).having(data=source(table))
    head = vl.Header(
        title=None, labelFontSize=11, labelFontWeight=600, labelAnchor="start", labelLimit=300, labelColor=SOFT
    )
    order = vl.Sort(field="place", op="min", order="ascending")
    small = chart.facet(vl.Field("panel:N", sort=order, header=head), columns=columns, spacing=18)
    resolve = {"axis": dict.fromkeys(("x", "y"), "independent"), "scale": dict.fromkeys(free, "independent")}
    return small.having(resolve={what: way for what, way in resolve.items() if way})
