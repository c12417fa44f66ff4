"""Figures of the fixed-target view: distributions of runtimes and precisions, expected running times, profiles."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from optarena.report.drawing._style import BAND, NUMBER, Look, colour, dash, rows, source

REFERENCE = "#cdb184"
"""The background, as COCO draws it: light brown, behind everything."""
PER_CENT = alt.Axis(format="%", tickCount=5)
WHOLE = alt.Scale(domain=[0, 1])


def ecdf(table: pl.DataFrame | str, look: Look, *, effort: str) -> Any:
    """The ECDF of runtimes with restarts: a dot where the budget ends, paler beyond; behind it the reference."""
    return look.sized(_runtimes(alt.Chart(source(table)), look, effort), 380, 300)


def ecdf_groups(table: pl.DataFrame | str, look: Look, *, effort: str) -> Any:
    """The same, one panel per group of functions and dimension."""
    return _small(_runtimes(alt.Chart(), look, effort), table, look)


def _runtimes(chart: Any, look: Look, effort: str) -> Any:
    x = alt.X(
        "effort:Q", title=effort, scale=alt.Scale(type="log", nice=False), axis=alt.Axis(format="~g", tickCount=5)
    )
    title = "fraction of targets reached"
    base = chart.encode(x=x, color=colour(look))

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", title=title, scale=WHOLE, axis=PER_CENT)

    tips = [
        alt.Tooltip("optimizer:N"),
        alt.Tooltip("effort:Q", title=effort, format=NUMBER),
        alt.Tooltip("within:Q", title="reached within the budget", format=".1%"),
        alt.Tooltip("beyond:Q", title="with restarts", format=".1%"),
        alt.Tooltip("reference:Q", title="reference", format=".1%"),
    ]
    # every optimizer's rows hold the same background: one line
    behind = chart.mark_line(strokeWidth=5, color=REFERENCE, opacity=0.6, aria=False).encode(x=x, y=y("reference"))
    later = base.mark_line(strokeWidth=1.5, opacity=0.45, aria=False).encode(y=y("beyond"), **dash(look))
    now = base.mark_line(strokeWidth=2.2, aria=False).encode(y=y("within"), **dash(look))
    ends = base.mark_point(filled=True, opacity=1, size=60, aria=False).encode(y=y("at_budget"), tooltip=tips)
    over = [
        base.mark_point(opacity=0, size=120, aria=False).encode(y=y(field), tooltip=tips)
        for field in ("within", "beyond")
    ]
    return alt.layer(behind, later, now, ends, *over)


def precision(table: pl.DataFrame | str, look: Look, *, word: str) -> Any:
    """The ECDF of precision: thick at the end of runs, thin after D, 10 D, 100 D, … evaluations."""
    base = alt.Chart(source(table)).encode(
        # it goes on where the ECDF of runtimes ends: the better to the right
        x=alt.X(
            "precision:Q",
            title=word,
            scale=alt.Scale(type="log", reverse=True, nice=False),
            axis=alt.Axis(format="~e", tickCount=6),
        ),
        y=alt.Y("fraction:Q", title="fraction of runs as precise", scale=WHOLE, axis=PER_CENT),
        color=colour(look),
        detail="after:N",
    )
    strong = alt.Scale(domain=[False, True], range=[0.4, 1])
    wide = alt.Scale(domain=[False, True], range=[1, 2.4])
    line = base.mark_line(aria=False).encode(
        opacity=alt.Opacity("final:O", scale=strong, legend=None),
        strokeWidth=alt.StrokeWidth("final:O", scale=wide, legend=None),
        **dash(look),
    )
    point = base.mark_point(opacity=0, size=90, aria=False).encode(
        tooltip=[
            alt.Tooltip("optimizer:N"),
            alt.Tooltip("after:N"),
            alt.Tooltip("precision:Q", title=word, format=NUMBER),
            alt.Tooltip("fraction:Q", title="runs", format=".1%"),
        ]
    )
    return look.sized(alt.layer(line, point), 380, 300)


def ert(table: pl.DataFrame | str, look: Look, *, effort: str, word: str) -> Any:
    """The expected running time against the target: one panel per function and dimension."""
    x = alt.X(
        "target:Q",
        title=word,
        scale=alt.Scale(type="log", reverse=True, nice=False),
        axis=alt.Axis(format="~e", tickCount=5),
    )
    layers = _expected(x, alt.Tooltip("target:Q", format=NUMBER), look, effort, band=True)
    return _small(layers, table, look, by="function")


def ert_dimension(table: pl.DataFrame | str, look: Look, *, effort: str, dimensions: list[int]) -> Any:
    """The expected running time against the dimension: one panel per function, to one target."""
    axis = alt.Axis(values=dimensions, format="d", labelOverlap=False)
    x = alt.X("D:Q", title="dimension", scale=alt.Scale(type="log", nice=False, padding=10), axis=axis)
    return _small(_expected(x, alt.Tooltip("D:Q", title="dimension"), look, effort, band=False), table, look)


def _expected(x: alt.X, place: alt.Tooltip, look: Look, effort: str, *, band: bool) -> Any:
    title = f"ERT ({effort})"

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", title=title, scale=alt.Scale(type="log"), axis=alt.Axis(format="~g", tickCount=4))

    base = alt.Chart().encode(x=x, color=colour(look))
    behind = alt.Chart().mark_line(strokeWidth=5, color=REFERENCE, opacity=0.6, aria=False)
    ends = base.mark_area(opacity=BAND, aria=False) if band else base.mark_rule(strokeWidth=1.5, aria=False)
    line = base.mark_line(strokeWidth=2, aria=False).encode(y=y("ert"), **dash(look))
    dots = base.mark_point(filled=True, opacity=1, size=18, aria=False).encode(
        y=y("ert"),
        tooltip=[
            alt.Tooltip("optimizer:N"),
            place,
            alt.Tooltip("ert:Q", title=title, format=NUMBER),
            alt.Tooltip("interval:N", title="95 %"),
            alt.Tooltip("successes:N"),
            alt.Tooltip("reference:Q", title="reference", format=NUMBER),
        ],
    )
    interval = ends.encode(y=y("lower"), y2=alt.Y2("upper:Q"))
    return alt.layer(behind.encode(x=x, y=y("reference")), interval, line, dots)


def profiles(table: pl.DataFrame | str, look: Look) -> Any:
    """Performance and data profiles: a panel each, with its own axis."""
    x = alt.X(
        "x:Q",
        title=None,
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(format="~g", tickCount=5),
    )
    base = alt.Chart().encode(
        x=x, y=alt.Y("fraction:Q", title="fraction solved", scale=WHOLE, axis=PER_CENT), color=colour(look)
    )
    line = base.mark_line(strokeWidth=2, aria=False).encode(**dash(look))
    point = base.mark_point(opacity=0, size=90, aria=False).encode(
        tooltip=[
            alt.Tooltip("optimizer:N"),
            alt.Tooltip("x:Q", format=NUMBER),
            alt.Tooltip("fraction:Q", title="solved", format=".1%"),
        ]
    )
    return _small(alt.layer(line, point), table, look, columns=2, size=(300, 180), free=True)


def loss(table: pl.DataFrame | str, look: Look, *, reference: str) -> Any:
    """ERT loss ratios: the median and half of the targets, thin 80 %; beside it how many were reached at all."""
    title = f"ERT, times that of {reference}, over the targets that were reached"
    scale = alt.Scale(type="log", nice=True)
    x: dict[str, Any] = {"title": title, "scale": scale, "axis": alt.Axis(format="~g", tickCount=6)}
    base = alt.Chart(source(table)).encode(y=rows(), color=colour(look, legend=False))
    tips = [
        alt.Tooltip("optimizer:N"),
        alt.Tooltip("median:Q", format=NUMBER),
        *(alt.Tooltip(f"{name}:Q", title=text, format=NUMBER) for name, text in QUANTILES.items()),
        alt.Tooltip("reached:Q", title="targets reached", format=".1%"),
        alt.Tooltip("n:Q", title="of"),
    ]
    thin = base.mark_rule(strokeWidth=1.5, aria=False).encode(x=alt.X("low:Q", **x), x2=alt.X2("high:Q"), tooltip=tips)
    thick = base.mark_rule(strokeWidth=7, opacity=0.5, aria=False).encode(
        x=alt.X("q1:Q", **x), x2=alt.X2("q3:Q"), tooltip=tips
    )
    dots = base.mark_point(filled=True, opacity=1, size=90, aria=False).encode(x=alt.X("median:Q", **x), tooltip=tips)
    text = base.mark_text(align="left", dx=8, fontSize=11, aria=False).encode(x=alt.X("high:Q", **x), text="label:N")
    one = alt.Chart(alt.InlineData(values=[{"at": 1.0}])).mark_rule(strokeDash=[3, 3], color="#888888", aria=False)
    return look.sized(alt.layer(one.encode(x=alt.X("at:Q", **x)), thin, thick, dots, text), 520, alt.Step(30))


QUANTILES = {"low": "10 %", "q1": "25 %", "q3": "75 %", "high": "90 %"}


def _small(
    layers: Any,
    table: pl.DataFrame | str,
    look: Look,
    *,
    by: str = "panel",
    columns: int = 3,
    size: tuple[int, int] = (200, 150),
    free: bool = False,
) -> Any:
    """Small multiples: the same chart for each panel, in the order of their places; `free`: each has its own axis."""
    chart = look.sized(layers, *size)
    chart.data = source(table)
    head = alt.Header(title=None, labelFontSize=11, labelFontWeight=600, labelAnchor="start", labelLimit=300)
    order = alt.EncodingSortField(field="place", op="min", order="ascending")
    small = chart.facet(facet=alt.Facet(f"{by}:N", sort=order, header=head), columns=columns, spacing=18)
    own = {"x": "independent"}
    small.resolve = alt.Resolve(axis=own, scale=own) if free else alt.Resolve(axis=own)
    return small
