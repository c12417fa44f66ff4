"""Figures of the fixed-target view: distributions of runtimes and precisions, expected running times, profiles."""

from __future__ import annotations

from typing import Any

import polars as pl

from optarena.report.drawing import _vega as vl
from optarena.report.drawing._style import BAND, NUMBER, Look, colour, dash, log_axis, rows, source

REFERENCE = "#cdb184"
"""The background, as COCO draws it: light brown, behind everything."""
PER_CENT = vl.Axis(format="%", tickCount=5)
WHOLE = vl.Scale(domain=[0, 1])
STEPS = {"interpolate": "step-after"}
"""A distribution jumps; it is never between two of its values."""


def ecdf(table: pl.DataFrame | str, look: Look, *, effort: str) -> vl.Chart:
    """The ECDF of runtimes with restarts: a dot where the budget ends, paler beyond; behind it the reference."""
    return look.sized(_runtimes(vl.Chart(source(table)), look, effort), 380, 300)


def ecdf_groups(table: pl.DataFrame | str, look: Look, *, effort: str) -> vl.Chart:
    """The same, one panel per group of functions and dimension: a matrix, where there are several of both."""
    layers = _runtimes(vl.Chart(), look, effort, "targets reached")
    if isinstance(table, str) or min(table["group"].n_unique(), table["dimension"].n_unique()) < 2:
        return _small(layers, table, look)
    head = {"labelFontSize": 11, "labelFontWeight": 600, "title": None}
    order = vl.Sort(field="place", op="min", order="ascending")
    lesser = vl.Sort(field="dimension", op="min", order="ascending")
    across = vl.Field("wide:N", sort=lesser, header=vl.Header(**head))
    down = vl.Field("group:N", sort=order, header=vl.Header(labelAngle=-90, labelLimit=150, **head))
    chart = look.sized(layers, 130, 110).having(data=source(table))
    return chart.facet({"row": down, "column": across}, spacing=10)


def _runtimes(chart: vl.Chart, look: Look, effort: str, title: str = "fraction of targets reached") -> vl.Chart:
    x = vl.Field("effort:Q", title=effort, scale=vl.Scale(type="log", nice=False), axis=log_axis(5))
    base = chart.encode(x=x, color=colour(look))

    def y(field: str) -> vl.Field:
        return vl.Field(f"{field}:Q", title=title, scale=WHOLE, axis=PER_CENT)

    tips = [
        vl.Field("optimizer:N"),
        vl.Field("effort:Q", title=effort, format=NUMBER),
        vl.Field("within:Q", title="reached within the budget", format=".1%"),
        vl.Field("beyond:Q", title="with restarts", format=".1%"),
        vl.Field("reference:Q", title="reference", format=".1%"),
    ]
    # every optimizer's rows hold the same background: one line
    behind = chart.mark("line", strokeWidth=5, color=REFERENCE, opacity=0.6, aria=False, **STEPS).encode(
        x=x, y=y("reference")
    )
    later = base.mark("line", strokeWidth=1.5, opacity=0.45, aria=False, **STEPS).encode(y=y("beyond"), **dash(look))
    now = base.mark("line", strokeWidth=2.2, aria=False, **STEPS).encode(y=y("within"), **dash(look))
    ends = base.mark("point", filled=True, opacity=1, size=60, aria=False).encode(y=y("at_budget"), tooltip=tips)
    over = [
        base.mark("point", opacity=0, size=120, aria=False).encode(y=y(field), tooltip=tips)
        for field in ("within", "beyond")
    ]
    return vl.layer(behind, later, now, ends, *over)


def precision(table: pl.DataFrame | str, look: Look, *, word: str) -> vl.Chart:
    """The ECDF of precision: thick at the end of runs, thin after D, 10 D, 100 D, … evaluations."""
    base = vl.Chart(source(table)).encode(
        # it goes on where the ECDF of runtimes ends: the better to the right
        x=vl.Field(
            "precision:Q",
            title=word,
            scale=vl.Scale(type="log", reverse=True, nice=False),
            axis=log_axis(6),
        ),
        y=vl.Field("fraction:Q", title="fraction of runs as precise", scale=WHOLE, axis=PER_CENT),
        color=colour(look),
        detail="after:N",
    )
    strong = vl.Scale(domain=[False, True], range=[0.4, 1])
    wide = vl.Scale(domain=[False, True], range=[1, 2.4])
    line = base.mark("line", aria=False).encode(
        opacity=vl.Field("final:O", scale=strong, legend=None),
        strokeWidth=vl.Field("final:O", scale=wide, legend=None),
        **dash(look),
    )
    point = base.mark("point", opacity=0, size=90, aria=False).encode(
        tooltip=[
            vl.Field("optimizer:N"),
            vl.Field("after:N"),
            vl.Field("precision:Q", title=word, format=NUMBER),
            vl.Field("fraction:Q", title="runs", format=".1%"),
        ]
    )
    return look.sized(vl.layer(line, point), 380, 300)


def cuts(table: pl.DataFrame | str, look: Look, *, effort: str, word: str) -> vl.Chart:
    """Runs of one problem, cut at an effort (fixed cost) and at a target (fixed target)."""
    x = vl.Field("effort:Q", title=effort, scale=vl.Scale(type="log", nice=False), axis=log_axis(6))
    y = vl.Field("precision:Q", title=word, scale=vl.Scale(type="log"), axis=log_axis(6))
    base = vl.Chart(source(table)).encode(x=x, y=y)
    runs = base.transform(filter="isValid(datum.run)").mark("line", strokeWidth=1, opacity=0.7, aria=False, **STEPS)
    points = base.transform(filter="isValid(datum.kind)")
    shapes = vl.Scale(domain=["fixed cost", "fixed target"], range=["circle", "diamond"])
    marks = points.mark("point", filled=True, size=55, opacity=1, aria=False).encode(
        color=colour(look), shape=vl.Field("kind:N", scale=shapes, legend=vl.Legend(title=None, orient="bottom"))
    )
    down = points.transform(filter="datum.kind == 'fixed cost'")
    across = points.transform(filter="datum.kind == 'fixed target'")
    rule = {"strokeWidth": 1.2, "color": "#777777", "strokeDash": [4, 3], "aria": False}
    lines = [
        down.mark("rule", **rule).encode(x=vl.Field("min(effort):Q", title=effort), y=None),
        across.mark("rule", **rule).encode(y=vl.Field("min(precision):Q", title=word), x=None),
    ]
    return look.sized(vl.layer(*lines, runs.encode(color=colour(look), detail="run:N"), marks), 420, 320)


def transition(table: pl.DataFrame | str, look: Look, *, title: str, side: bool) -> vl.Chart:
    """One of two panels: runs that reach targets 10^k by an effort, or that end within so many times of them."""
    powers = [f"k = {k}" for k in (1, -1, -4, -8)]
    dashes = vl.Scale(domain=powers, range=[[1, 0], [6, 2], [3, 2], [1, 2]])
    keys = vl.Legend(title="target 10ᵏ", orient="bottom", symbolStrokeWidth=2)
    head = None if side else "fraction of runs"
    base = vl.Chart(source(table)).encode(
        x=vl.Field("x:Q", title=title, scale=vl.Scale(type="log", nice=False), axis=log_axis(5)),
        y=vl.Field("fraction:Q", title=head, scale=WHOLE, axis=vl.Axis(format="%", tickCount=5, labels=not side)),
        color=colour(look),
        detail="k:N",
    )
    line = base.mark("line", strokeWidth=1.8, aria=False, **STEPS).encode(
        strokeDash=vl.Field("k:N", scale=dashes, legend=keys)
    )
    tips = [
        vl.Field("optimizer:N"),
        vl.Field("k:N", title="target 10ᵏ"),
        vl.Field("x:Q", title=title, format=NUMBER),
        vl.Field("fraction:Q", title="runs", format=".1%"),
    ]
    return look.sized(vl.layer(line, base.mark("point", opacity=0, size=90, aria=False).encode(tooltip=tips)), 330, 300)


def ert(table: pl.DataFrame | str, look: Look, *, effort: str, word: str) -> vl.Chart:
    """The expected running time against the target: one panel per function and dimension."""
    x = vl.Field(
        "target:Q",
        title=word,
        scale=vl.Scale(type="log", reverse=True, nice=False),
        axis=log_axis(5),
    )
    layers = _expected(x, vl.Field("target:Q", format=NUMBER), look, effort, band=True)
    return _small(layers, table, look, by="function")


def ert_dimension(table: pl.DataFrame | str, look: Look, *, effort: str, dimensions: list[int]) -> vl.Chart:
    """The expected running time against the dimension: one panel per function, to one target."""
    axis = vl.Axis(values=dimensions, format="d", labelOverlap=False)
    x = vl.Field("D:Q", title="dimension", scale=vl.Scale(type="log", nice=False, padding=10), axis=axis)
    return _small(_expected(x, vl.Field("D:Q", title="dimension"), look, effort, band=False), table, look)


def _expected(x: vl.Field, place: vl.Field, look: Look, effort: str, *, band: bool) -> vl.Chart:
    title = f"ERT ({effort})"

    def y(field: str) -> vl.Field:
        return vl.Field(f"{field}:Q", title=title, scale=vl.Scale(type="log"), axis=log_axis(4))

    base = vl.Chart().encode(x=x, color=colour(look))
    behind = vl.Chart().mark("line", strokeWidth=5, color=REFERENCE, opacity=0.6, aria=False)
    ends = base.mark("area", opacity=BAND, aria=False) if band else base.mark("rule", strokeWidth=1.5, aria=False)
    line = base.mark("line", strokeWidth=2, aria=False).encode(y=y("ert"), **dash(look))
    dots = base.mark("point", filled=True, opacity=1, size=18, aria=False).encode(
        y=y("ert"),
        tooltip=[
            vl.Field("optimizer:N"),
            place,
            vl.Field("ert:Q", title=title, format=NUMBER),
            vl.Field("interval:N", title="95 %"),
            vl.Field("successes:N"),
            vl.Field("reference:Q", title="reference", format=NUMBER),
        ],
    )
    interval = ends.encode(y=y("lower"), y2=vl.Field("upper:Q"))
    return vl.layer(behind.encode(x=x, y=y("reference")), interval, line, dots)


def profiles(table: pl.DataFrame | str, look: Look) -> vl.Chart:
    """Performance and data profiles: a panel each, with its own axis."""
    x = vl.Field(
        "x:Q",
        title=None,
        scale=vl.Scale(type="log", nice=False),
        axis=log_axis(5),
    )
    base = vl.Chart().encode(
        x=x, y=vl.Field("fraction:Q", title="fraction solved", scale=WHOLE, axis=PER_CENT), color=colour(look)
    )
    line = base.mark("line", strokeWidth=2, aria=False).encode(**dash(look))
    point = base.mark("point", opacity=0, size=90, aria=False).encode(
        tooltip=[
            vl.Field("optimizer:N"),
            vl.Field("x:Q", format=NUMBER),
            vl.Field("fraction:Q", title="solved", format=".1%"),
        ]
    )
    return _small(vl.layer(line, point), table, look, columns=2, size=(300, 180), free=True)


def loss(table: pl.DataFrame | str, look: Look, *, reference: str) -> vl.Chart:
    """ERT loss ratios: the median and half of the targets, thin 80 %; beside it how many were reached at all."""
    title = f"ERT, times that of {reference}, over the targets that were reached"
    scale = vl.Scale(type="log", nice=True)
    x: dict[str, Any] = {"title": title, "scale": scale, "axis": log_axis(6)}
    base = vl.Chart(source(table)).encode(y=rows(), color=colour(look, legend=False))
    tips = [
        vl.Field("optimizer:N"),
        vl.Field("median:Q", format=NUMBER),
        *(vl.Field(f"{name}:Q", title=text, format=NUMBER) for name, text in QUANTILES.items()),
        vl.Field("reached:Q", title="targets reached", format=".1%"),
        vl.Field("n:Q", title="of"),
    ]
    thin = base.mark("rule", strokeWidth=1.5, aria=False).encode(
        x=vl.Field("low:Q", **x), x2=vl.Field("high:Q"), tooltip=tips
    )
    thick = base.mark("rule", strokeWidth=7, opacity=0.5, aria=False).encode(
        x=vl.Field("q1:Q", **x), x2=vl.Field("q3:Q"), tooltip=tips
    )
    dots = base.mark("point", filled=True, opacity=1, size=90, aria=False).encode(
        x=vl.Field("median:Q", **x), tooltip=tips
    )
    text = base.mark("text", align="left", dx=8, fontSize=11, aria=False).encode(
        x=vl.Field("high:Q", **x), text="label:N"
    )
    one = vl.Chart([{"at": 1.0}]).mark("rule", strokeDash=[3, 3], color="#888888", aria=False)
    return look.sized(vl.layer(one.encode(x=vl.Field("at:Q", **x)), thin, thick, dots, text), 520, vl.step(30))


QUANTILES = {"low": "10 %", "q1": "25 %", "q3": "75 %", "high": "90 %"}


def _small(
    layers: vl.Chart,
    table: pl.DataFrame | str,
    look: Look,
    *,
    by: str = "panel",
    columns: int = 3,
    size: tuple[int, int] = (200, 150),
    free: bool = False,
) -> vl.Chart:
    """Small multiples: the same chart for each panel, in the order of their places; `free`: each has its own axis."""
    chart = look.sized(layers, *size).having(data=source(table))
    head = vl.Header(title=None, labelFontSize=11, labelFontWeight=600, labelAnchor="start", labelLimit=300)
    order = vl.Sort(field="place", op="min", order="ascending")
    small = chart.facet(vl.Field(f"{by}:N", sort=order, header=head), columns=columns, spacing=18)
    own = {"x": "independent"}
    return small.having(resolve={"axis": own, "scale": own} if free else {"axis": own})
