"""Figures of the fixed-target view: distributions of runtimes and precisions."""

from __future__ import annotations

from typing import Any

import polars as pl

from optarena.report.drawing import _vega as vl
from optarena.report.drawing._style import (
    BAND,
    NUMBER,
    Look,
    colour,
    dash,
    log_axis,
    panel_matrix,
    shape,
    small,
    source,
)

REFERENCE, ERTS = "#cdb184", "#8f6f35"
"""The background, as COCO draws it: light brown, behind everything; darker where it is a thin line."""
PER_CENT = vl.Axis(format="%", tickCount=5)
WHOLE = vl.Scale(domain=[0, 1])
TARGETS_REACHED = "fraction of targets reached"
STEPS = {"interpolate": "step-after"}
"""A distribution jumps; it is never between two of its values."""


def ecdf(
    table: pl.DataFrame | str,
    look: Look,
    *,
    effort: str,
    many: bool,
    dashed: bool,
    bands: bool = False,
    ends: pl.DataFrame | None = None,
) -> vl.Chart:
    """The ECDF of runtimes with restarts: a mark where the budget ends, paler beyond; behind it the reference.

    many: a panel per dimension. ends: where curves end, for labels beside them.
    """
    legend = ends is None
    chart = vl.Chart() if many else vl.Chart(source(table))
    layers = _runtimes(chart, look, effort, dashed=dashed, legend=legend, bands=bands)
    if ends is not None:
        layers = vl.layer(*layers.spec["layer"], *_labels(ends, look)).having(data=source(table))
    if many:
        return small(layers, table, look, size=(200, 160))
    return look.sized(layers, 380, 300)


def ecdf_functions(table: pl.DataFrame | str, look: Look, *, effort: str, dashed: bool) -> vl.Chart:
    """The same, one panel per function."""
    layers = _runtimes(vl.Chart(), look, effort, "targets reached", dashed=dashed)
    return small(layers, table, look, columns=4, size=(150, 110))


def ecdf_groups(table: pl.DataFrame | str, look: Look, *, effort: str, dashed: bool) -> vl.Chart:
    """The same, one panel per group of functions and dimension: a matrix, where there are several of both."""
    layers = _runtimes(vl.Chart(), look, effort, "targets reached", dashed=dashed)
    if isinstance(table, str) or min(table["group"].n_unique(), table["dimension"].n_unique()) < 2:
        return small(layers, table, look)
    return panel_matrix(layers, table, look, "group", "wide", order="dimension", size=(130, 110))


def _runtimes(
    chart: vl.Chart,
    look: Look,
    effort: str,
    title: str = TARGETS_REACHED,
    *,
    dashed: bool,
    legend: bool = True,
    bands: bool = False,
) -> vl.Chart:
    x = vl.Field("effort:Q", title=effort, scale=vl.Scale(type="log", nice=False), axis=log_axis(5))
    base = chart.encode(x=x, color=colour(look, legend=legend, symbol=None))

    def y(field: str) -> vl.Field:
        return vl.Field(f"{field}:Q", title=title, scale=WHOLE, axis=PER_CENT)

    tips = [
        vl.Field("optimizer:N"),
        vl.Field("effort:Q", title=effort, format=NUMBER),
        vl.Field("within:Q", title="reached within the budget", format=".1%"),
        vl.Field("beyond:Q", title="with restarts", format=".1%"),
        vl.Field("reference:Q", title="reference", format=".1%"),
    ]
    thin = {"strokeWidth": 1.4, "color": ERTS, "strokeDash": [5, 3]}
    pale = {"strokeWidth": 3 if look.paper else 5, "color": REFERENCE, "opacity": 0.6}
    # one line behind, whether the rows of every optimizer hold it or those of the first; a null would break it
    known = chart.transform(filter="isValid(datum.reference)")
    behind = known.mark("line", aria=False, **STEPS, **(thin if dashed else pale)).encode(x=x, y=y("reference"))
    later = base.mark("line", strokeWidth=1.5, opacity=0.45, aria=False, **STEPS).encode(
        y=y("beyond"), **dash(look, None)
    )
    now = base.mark("line", strokeWidth=1.6 if look.paper else 2.2, aria=False, **STEPS)
    now = now.encode(y=y("within"), **dash(look, None))
    dots = base.mark("point", filled=True, opacity=1, size=30 if look.paper else 70, aria=False)
    ends = dots.encode(y=y("at_budget"), shape=shape(look, legend=legend), tooltip=tips)
    over = [
        base.mark("point", opacity=0, size=120, aria=False).encode(y=y(field), tooltip=tips)
        for field in ("within", "beyond")
    ]
    area = base.mark("area", opacity=BAND, aria=False, **STEPS).encode(y=y("lower"), y2=vl.Field("upper:Q"))
    return vl.layer(behind, *([area] if bands else []), later, now, ends, *over)


def _labels(ends: pl.DataFrame, look: Look) -> list[vl.Chart]:
    """Names at the right edge, each joined to the end of its curve."""
    size = 7 if look.paper else 11
    base = vl.Chart(source(ends))
    y = {"scale": WHOLE, "axis": PER_CENT, "title": TARGETS_REACHED}
    hue = vl.condition("datum.behind", ERTS, vl.Field("optimizer:N", scale=colour(look)["scale"], legend=None))
    right = {"value": {"expr": "width + 12"}}
    join = base.mark("rule", strokeWidth=0.8, clip=False, aria=False).encode(
        x={"value": "width"}, y=vl.Field("at:Q", **y), x2=right, y2=vl.Field("beside:Q"), color=hue
    )
    name = base.mark("text", align="left", baseline="middle", dx=3, fontSize=size, clip=False, aria=False).encode(
        x=right, y=vl.Field("beside:Q", **y), text="optimizer:N", color=hue
    )
    return [join, name]


def precision(table: pl.DataFrame | str, look: Look, *, word: str, many: bool) -> vl.Chart:
    """The ECDF of precision: thick at the end of runs, thin after D, 10 D, 100 D, … evaluations."""
    base = (vl.Chart() if many else vl.Chart(source(table))).encode(
        # it goes on where the ECDF of runtimes ends: the better to the right
        x=vl.Field(
            "precision:Q",
            title=word,
            scale=vl.Scale(type="log", reverse=True, nice=False),
            axis=log_axis(5),
        ),
        y=vl.Field("fraction:Q", title="fraction of runs as precise", scale=WHOLE, axis=PER_CENT),
        color=colour(look),
        detail="after:N",
    )
    strong = vl.Scale(domain=[False, True], range=[0.4, 1])
    wide = vl.Scale(domain=[False, True], range=[1, 2.4])
    line = base.mark("line", aria=False, **STEPS).encode(
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
    layers = vl.layer(line, point)
    return small(layers, table, look, size=(200, 160)) if many else look.sized(layers, 380, 300)


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


POWERS = [f"k = {k}" for k in (1, -1, -4, -8)]
TARGETS = ["#8ecae6", "#3c9dc7", "#1d6a96", "#0b2f4a"]
"""The targets of one optimizer, from the easiest to the hardest: the darker, the harder."""


def transition(
    table: pl.DataFrame | str, look: Look, *, title: str, side: bool, single: bool, dashed: bool
) -> vl.Chart:
    """One of two columns of panels, one per dimension: runs that reach targets 10^k by an effort, or that end within
    so many times of them. single: one optimizer, with a background; else all of them."""
    dashes = vl.Scale(domain=POWERS, range=[[1, 0], [6, 2], [3, 2], [1, 2]])
    keys = vl.Legend(title="target 10ᵏ", orient="bottom", symbolStrokeWidth=2, symbolOpacity=1)
    head = None if side else "fraction of runs"
    chart = vl.Chart().encode(
        x=vl.Field("x:Q", title=title, scale=vl.Scale(type="log", nice=False), axis=log_axis(5)),
        y=vl.Field("fraction:Q", title=head, scale=WHOLE, axis=vl.Axis(format="%", tickCount=5, labels=not side)),
        detail="k:N",
    )
    front = chart.transform(filter="isValid(datum.optimizer)")
    powers = vl.Field("k:N", scale=vl.Scale(domain=POWERS, range=TARGETS), legend=keys, sort=None)
    base = front.encode(color=powers if single else colour(look))
    line = base.mark("line", strokeWidth=1.5 if look.paper else 1.8, aria=False, **STEPS)
    if not single:
        line = line.encode(strokeDash=vl.Field("k:N", scale=dashes, legend=keys))
    tips = [
        vl.Field("optimizer:N"),
        vl.Field("k:N", title="target 10ᵏ"),
        vl.Field("x:Q", title=title, format=NUMBER),
        vl.Field("fraction:Q", title="runs", format=".1%"),
    ]
    thin: dict[str, Any] = {"strokeWidth": 1.2, "strokeDash": [4, 2]}
    pale: dict[str, Any] = {"strokeWidth": 4, "opacity": 0.3}
    behind = chart.transform(filter="!isValid(datum.optimizer)").encode(color=powers)
    back = behind.mark("line", aria=False, **STEPS, **(thin if dashed else pale))
    over = base.mark("point", opacity=0, size=90, aria=False).encode(tooltip=tips)
    layers = vl.layer(*([back] if single else []), line, over)
    return small(layers, table, look, columns=1, size=(300, 200), flush=True)
