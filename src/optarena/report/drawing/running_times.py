"""Figures of the fixed-target view: expected running times, and what is made of them."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from optarena._text import visible
from optarena.report.drawing import _vega as vl
from optarena.report.drawing._style import (
    BAND,
    NUMBER,
    POWERS_FONT,
    SOFT,
    Look,
    colour,
    dash,
    log_axis,
    rows,
    shape,
    small,
    source,
)
from optarena.report.drawing.fixed_target import PER_CENT, REFERENCE, WHOLE

HARDER = ("#a6cee3", "#6baed6", "#4292c6", "#2171b5", "#08519c", "#08306b", "#041733")
"""Targets from the easiest to the hardest: the darker, the harder."""
FAILED, CROSS = "#b03030", "M-1,-1L1,1M1,-1L-1,1"


def ert(table: pl.DataFrame | str, look: Look, *, effort: str, word: str, by: str) -> vl.Chart:
    """The expected running time against the target: one panel per function and dimension."""
    x = vl.Field(
        "target:Q",
        title=word,
        scale=vl.Scale(type="log", reverse=True, nice=False),
        axis=log_axis(5),
    )
    layers = _expected(x, vl.Field("target:Q", format=NUMBER), look, _Times(table, effort), band=True)
    return small(vl.layer(*layers), table, look, by=by, columns=4 if look.paper else 3)


def ert_dimension(table: pl.DataFrame | str, look: Look, *, effort: str, dimensions: list[int]) -> vl.Chart:
    """The expected running time against the dimension: one panel per function, to one target."""
    x, times = _dimension(dimensions), _Times(table, effort)
    layers = _expected(x, vl.Field("D:Q", title="dimension"), look, times, band=False)
    crosses = _cross(look).encode(x={**x, "field": "beside"}, y=times("missed"), color=colour(look, symbol=None))
    whole = vl.layer(*times.guides(x, dimensions), *layers, crosses)
    return small(whole, table, look, columns=4 if look.paper else 3, lines=" to ")


def scaling(
    table: pl.DataFrame | str, look: Look, *, effort: str, dimensions: list[int], powers: list[str]
) -> vl.Chart:
    """One optimizer: the expected running time against the dimension, a line per target, from easy to hard."""
    x, times = _dimension(dimensions), _Times(table, effort)
    columns = 4 if look.paper else 7
    stroke = {"symbolType": "stroke", "symbolStrokeWidth": 3}
    keys = vl.Legend(title="target", orient="bottom", columns=columns, labelFont=POWERS_FONT, **stroke)
    hues = vl.Field("k:N", scale=vl.Scale(domain=powers, range=list(HARDER[-len(powers) :])), legend=keys, sort=None)
    base = vl.Chart().encode(x=x, color=hues)
    line = base.mark("line", strokeWidth=1.5, aria=False).encode(y=times("ert"))
    dots = base.mark("point", filled=True, opacity=1, size=12 if look.paper else 22, aria=False).encode(
        y=times("ert"),
        tooltip=[
            vl.Field("k:N", title="target"),
            vl.Field("D:Q", title="dimension"),
            vl.Field("ert:Q", title=times.title, format=NUMBER),
            vl.Field("successes:N"),
        ],
    )
    hardest = vl.Chart().transform(filter="isValid(datum.count)")
    behind = hardest.mark(
        "line", clip=True, strokeWidth=3 if look.paper else 4, color=REFERENCE, opacity=0.6, aria=False
    )
    count = vl.Chart().mark("text", dy=-8, fontSize=6 if look.paper else 9, color=FAILED, aria=False)
    layers = [
        behind.encode(x=x, y=times("reference")),
        line,
        dots,
        _cross(look).encode(x=x, y=times("missed"), color={"value": FAILED}),
        count.encode(x=x, y=times("missed"), text="count:N"),
    ]
    return small(vl.layer(*times.guides(x, dimensions), *layers), table, look, columns=4 if look.paper else 3)


def _dimension(dimensions: list[int]) -> vl.Field:
    axis = vl.Axis(values=dimensions, format="d", labelOverlap=False)
    return vl.Field("D:Q", title="dimension", scale=vl.Scale(type="log", nice=False, padding=10), axis=axis)


class _Times:
    """The axis of running times: as far as optimizers took. A reference that takes much longer does not stretch it."""

    def __init__(self, table: pl.DataFrame | str, effort: str) -> None:
        self.title = f"ERT ({effort})"
        self.ends: list[float] = []
        if not isinstance(table, str):
            some = pl.concat([table[name].drop_nulls() for name in ("ert", "missed") if name in table.columns])
            values = some.filter(some > 0).to_list()
            self.ends = [0.8 * min(values), 1.5 * max(values)] if values else []

    def __call__(self, field: str) -> vl.Field:
        domain = {"domain": self.ends, "nice": False} if self.ends else {}
        return vl.Field(f"{field}:Q", title=self.title, scale=vl.Scale(type="log", **domain), axis=log_axis(4))

    def guides(self, x: vl.Field, dimensions: list[int]) -> list[vl.Chart]:
        """Slanted lines of quadratic growth with the dimension, a decade apart."""
        if not self.ends or len(dimensions) < 2:
            return []
        first, last = dimensions[0], dimensions[-1]
        low, high = math.floor(math.log10(self.ends[0] / last)), math.ceil(math.log10(self.ends[1] / first))
        lines = [{"guide": k, "at": at, "value": at * 10.0**k} for k in range(low, high) for at in (first, last)]
        mark = vl.Chart(lines).mark("line", clip=True, strokeWidth=0.7, color="#c4c4c4", strokeDash=[2, 2], aria=False)
        across = vl.Field("at:Q", **{name: value for name, value in x.items() if name not in ("field", "type")})
        return [mark.encode(x=across, y=self("value"), detail="guide:N")]


def _cross(look: Look) -> vl.Chart:
    """Where a target was not reached."""
    size = 14 if look.paper else 30
    return vl.Chart().mark("point", shape=CROSS, filled=False, strokeWidth=1.3, size=size, opacity=1, aria=False)


def _expected(x: vl.Field, place: vl.Field, look: Look, times: _Times, *, band: bool) -> list[vl.Chart]:
    base = vl.Chart().encode(x=x, color=colour(look, symbol=None))
    behind = vl.Chart().mark(
        "line", clip=True, strokeWidth=3 if look.paper else 5, color=REFERENCE, opacity=0.6, aria=False
    )
    ends = base.mark("area", clip=True, opacity=BAND, aria=False)
    if not band:
        ends = base.mark("rule", clip=True, strokeWidth=1.2, aria=False)
    line = base.mark("line", strokeWidth=1.5 if look.paper else 2, aria=False).encode(
        y=times("ert"), **dash(look, None)
    )
    size = (8 if look.paper else 18) if band else (16 if look.paper else 34)
    dots = base.mark("point", filled=True, opacity=1, size=size, aria=False).encode(
        y=times("ert"),
        shape=shape(look, legend=True),
        tooltip=[
            vl.Field("optimizer:N"),
            place,
            vl.Field("ert:Q", title=times.title, format=NUMBER),
            vl.Field("interval:N", title="95 %"),
            vl.Field("successes:N"),
            vl.Field("reference:Q", title="reference", format=NUMBER),
        ],
    )
    interval = ends.encode(y=times("lower"), y2=vl.Field("upper:Q"))
    return [behind.encode(x=x, y=times("reference")), interval, line, dots]


def scatter(table: pl.DataFrame | str, look: Look, *, first: str, second: str, effort: str, many: bool) -> vl.Chart:
    """Expected running times of two optimizers: a point for every function, dimension and target."""
    assert isinstance(table, pl.DataFrame)
    values = pl.concat([table["x"], table["y"]])
    ends = [float(values.min()), 1.15 * float(values.max())]  # type: ignore[arg-type]
    scale = vl.Scale(type="log", domain=ends, nice=False)
    first, second = visible(first), visible(second)
    x = vl.Field("x:Q", title=f"{first}: ERT ({effort})", scale=scale, axis=log_axis(4))
    y = vl.Field("y:Q", title=f"{second}: ERT ({effort})", scale=scale, axis=log_axis(4))
    names = sorted(table["dimension"].unique(), key=lambda name: int(name) if name.isdigit() else 0)
    keys = vl.Legend(title="dimension", orient="bottom", columns=8)
    hues = vl.Scale(domain=names, scheme="viridis", reverse=True)
    shapes = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left"]
    marks = vl.Scale(domain=names, range=[shapes[i % len(shapes)] for i in range(len(names))])
    lines = [{"at": ends[0], "value": ends[0]}, {"at": ends[1], "value": ends[1]}]
    diagonal = (
        vl.Chart(lines)
        .mark("line", color="#888888", strokeWidth=1, aria=False)
        .encode(
            x=vl.Field("at:Q", title=x["title"], scale=scale, axis=x["axis"]),
            y=vl.Field("value:Q", title=y["title"], scale=scale, axis=y["axis"]),
        )
    )
    chart = vl.Chart() if many else vl.Chart(source(table))
    points = chart.mark("point", filled=True, size=10 if look.paper or many else 26, opacity=0.65, aria=False).encode(
        x=x,
        y=y,
        color=vl.Field("dimension:N", scale=hues, legend=keys, sort=None),
        shape=vl.Field("dimension:N", scale=marks, legend=keys, sort=None),
        tooltip=[
            vl.Field("panel:N", title="function"),
            vl.Field("dimension:N"),
            vl.Field("target:Q", format=NUMBER),
            vl.Field("x:Q", title=first, format=NUMBER),
            vl.Field("y:Q", title=second, format=NUMBER),
            vl.Field("who:N", title="reached by"),
        ],
    )
    layers = vl.layer(diagonal, points)
    return (
        small(layers, table, look, columns=6 if look.wide else 4, size=(140, 140))
        if many
        else look.sized(layers, 380, 380)
    )


def loss_by_budget(table: pl.DataFrame | str, look: Look, *, effort: str, reference: str, many: bool) -> vl.Chart:
    """Losses of expected running time over budgets: the geometric mean and the middle half of the functions."""
    chart = vl.Chart() if many else vl.Chart(source(table))
    base = chart.encode(x=_effort(effort), color=colour(look))
    title = f"ERT / {reference}"

    def y(field: str) -> vl.Field:
        scale = vl.Scale(type="log", nice=False)
        return vl.Field(f"{field}:Q", title=title, scale=scale, axis=log_axis(4))

    one = vl.Chart([{"at": 1.0}]).mark("rule", strokeDash=[3, 3], color="#888888", aria=False)
    band = base.mark("area", opacity=BAND, aria=False).encode(y=y("q1"), y2=vl.Field("q3:Q"))
    tips = [
        vl.Field("optimizer:N"),
        vl.Field("effort:Q", title=effort, format=NUMBER),
        vl.Field("mean:Q", title="geometric mean", format=NUMBER),
        vl.Field("median:Q", format=NUMBER),
        vl.Field("n:Q", title="functions"),
        vl.Field("failed:Q", title="functions that failed", format=".0%"),
    ]
    line = base.mark("line", strokeWidth=2, aria=False).encode(y=y("mean"), **dash(look))
    over = base.mark("point", opacity=0, size=90, aria=False).encode(y=y("mean"), tooltip=tips)
    layers = vl.layer(one.encode(y=y("at")), band, line, over)
    return small(layers, table, look, size=(200, 150)) if many else look.sized(layers, 380, 220)


def failed_by_budget(table: pl.DataFrame | str, look: Look, *, effort: str, many: bool) -> vl.Chart:
    """The part of the functions on which what the reference reaches within a budget is never reached."""
    chart = vl.Chart() if many else vl.Chart(source(table))
    y = vl.Field("failed:Q", title="functions failed", scale=WHOLE, axis=vl.Axis(format="%", tickCount=2))
    line = chart.encode(x=_effort(effort), y=y, color=colour(look), **dash(look))
    line = line.mark("line", strokeWidth=1.5, interpolate="step-after", aria=False)
    return small(vl.layer(line), table, look, size=(200, 60)) if many else look.sized(vl.layer(line), 380, 80)


def _effort(effort: str) -> vl.Field:
    return vl.Field("effort:Q", title=effort, scale=vl.Scale(type="log", nice=False), axis=log_axis(5))


def contributions(table: pl.DataFrame | str, look: Look, *, ranked: list[str]) -> vl.Chart:
    """On which part of the targets each optimizer is the fastest, and how much slower the others are there."""
    base = vl.Chart().encode(y=rows(look, sort=look.drawn or ranked))
    x: dict[str, Any] = {"title": "part of the targets", "axis": vl.Axis(format="%", tickCount=3)}
    tips = [
        vl.Field("optimizer:N"),
        vl.Field("best:Q", title="fastest on", format=".1%"),
        vl.Field("alone:Q", title="reached by no other optimizer", format=".1%"),
        vl.Field("slower:Q", title="times as long without it", format=NUMBER),
        vl.Field("n:Q", title="targets"),
    ]
    hue = colour(look, legend=False)
    bar = base.mark("bar", opacity=0.45, aria=False).encode(x=vl.Field("best:Q", **x), color=hue, tooltip=tips)
    dark = base.mark("bar", aria=False).encode(x=vl.Field("alone:Q", **x), color=hue, tooltip=tips)
    text = base.mark("text", align="left", dx=4, fontSize=7 if look.paper else 10, color=SOFT, aria=False).encode(
        x=vl.Field("best:Q", **x), text="label:N"
    )
    size, lowest = (170, 24 * max(2, len(ranked))), 10 * max(2, len(ranked))
    return small(vl.layer(bar, dark, text), table, look, columns=2 if look.paper else 3, size=size, lowest=lowest)


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
    return small(vl.layer(line, point), table, look, columns=2, size=(300, 180), free=True, lines=" by ")


def loss(table: pl.DataFrame | str, look: Look, *, reference: str, many: bool) -> vl.Chart:
    """ERT loss ratios: the median and half of the targets, thin 80 %; beside it how many were reached at all."""
    title = f"ERT / {reference}, targets that were reached"
    scale = vl.Scale(type="log", nice=True)
    x: dict[str, Any] = {"title": title, "scale": scale, "axis": log_axis(3 if many else 6)}
    chart = vl.Chart() if many else vl.Chart(source(table))
    base = chart.encode(y=rows(look, look.drawn if many else None), color=colour(look, legend=False))
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
    thick = base.mark("rule", strokeWidth=4 if look.paper else 7, opacity=0.5, aria=False).encode(
        x=vl.Field("q1:Q", **x), x2=vl.Field("q3:Q"), tooltip=tips
    )
    dots = base.mark("point", filled=True, opacity=1, size=30 if look.paper else 90, aria=False).encode(
        x=vl.Field("median:Q", **x), tooltip=tips
    )
    text = base.mark(
        "text", align="left", dx=4 if look.paper else 8, fontSize=7 if look.paper else 11, aria=False
    ).encode(x=vl.Field("high:Q", **x), text="label:N")
    one = vl.Chart([{"at": 1.0}]).mark("rule", strokeDash=[3, 3], color="#888888", aria=False)
    layers = vl.layer(one.encode(x=vl.Field("at:Q", **x)), thin, thick, dots, text)
    if many:
        each = max(2, len(look.drawn))
        return small(layers, table, look, size=(200, 24 * each), lowest=10 * each)
    return look.sized(layers, 520, vl.step(30))


QUANTILES = {"low": "10 %", "q1": "25 %", "q3": "75 %", "high": "90 %"}
