"""What all figures share: where data come from, the scale of optimizers, sizes and the quiet look."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl
from altair.utils.schemapi import debug_mode

from optarena.report.colours import Colours
from optarena.report.text import charted

FONT = "system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', 'DejaVu Sans', sans-serif"
INK, SOFT, LINE = "#1c1c1c", "#595959", "#e4e4e4"
BAND = 0.13


@dataclass(frozen=True)
class Look:
    """How a figure is drawn: the colours of optimizers, its size (None: what suits the figure), and the optimizers
    that are drawn (None: the page says it when it draws)."""

    colours: Colours
    width: int | None = None
    height: int | None = None
    present: tuple[str, ...] | None = None

    @property
    def names(self) -> list[str]:
        """All optimizers as charts hold their names."""
        return [charted(name) for name in self.colours.names]

    @property
    def drawn(self) -> list[str]:
        """Those that are drawn."""
        return self.names if self.present is None else [charted(name) for name in self.present]

    def sized(self, chart: Any, width: int, height: int | alt.Step | None) -> Any:
        """The chart with this size, or the figure's own; set in place, as `properties` copies all that is inside."""
        chart.width = self.width or width
        tall = self.height or height
        if tall is not None:
            chart.height = tall
        return chart


def unchecked() -> AbstractContextManager[None]:
    """While charts are made: Altair would check every piece against its schema; our tests check the charts instead."""
    return debug_mode(False)


def source(table: pl.DataFrame | str) -> Any:
    """The rows themselves, or the name under which a page holds them."""
    if isinstance(table, str):
        return alt.NamedData(name=table)
    floats, texts = pl.selectors.float(), pl.selectors.string()
    plain = table.with_columns(
        pl.when(floats.is_finite()).then(floats),  # JSON has no other numbers
        texts.map_elements(charted, return_dtype=pl.String),
    )
    return alt.InlineData(values=plain.to_dicts())


def colour(look: Look, *, legend: bool = True, symbol: str = "stroke") -> alt.Color:
    """The scale of optimizers: fixed by the store, whatever part of it is drawn. `symbol`: what the legend shows; a
    stroke has no colour where marks are filled."""
    scale = alt.Scale(domain=look.names, range=list(look.colours.colours))
    return alt.Color("optimizer:N", scale=scale, legend=_keys(look, symbol) if legend else None)


def _keys(look: Look, symbol: str = "stroke") -> alt.Legend:
    """The legend: of those that are drawn, not of all that have a colour."""
    return alt.Legend(
        title=None,
        orient="bottom",
        symbolType=symbol,
        symbolStrokeWidth=3,
        symbolOpacity=1,
        labelLimit=280,
        values=look.drawn,
    )


def dash(look: Look) -> dict[str, Any]:
    """Dashes tell optimizers apart once colours repeat."""
    if not look.colours.repeat:
        return {}
    scale = alt.Scale(domain=look.names, range=[list(dashes) for dashes in look.colours.dashes])
    return {"strokeDash": alt.StrokeDash("optimizer:N", scale=scale, legend=_keys(look))}


def shape(look: Look) -> alt.Shape:
    scale = alt.Scale(domain=look.names, range=list(look.colours.shapes))
    return alt.Shape("optimizer:N", scale=scale, legend=None)


def rows(sort: Any = None) -> alt.Y:
    """Optimizers one below the other, in the order of the data unless sorted."""
    return alt.Y(
        "optimizer:N", sort=sort, title=None, axis=alt.Axis(labelLimit=220, labelPadding=8, domain=False, ticks=False)
    )


def effort_axis(*, counted: bool, log: bool) -> alt.Axis:
    """The axis of an effort: what is counted has no ticks between whole numbers."""
    if log:
        return alt.Axis(format="~g", tickCount=6)
    return alt.Axis(tickMinStep=1) if counted else alt.Axis()


def matrix(table: pl.DataFrame | str) -> Any:
    """The base of figures with one row per problem and one column per optimizer, in the order of the store."""
    top = alt.Axis(orient="top", labelAngle=-90, labelLimit=200, domain=False, ticks=False, labelOverlap=False)
    side = alt.Axis(labelLimit=260, domain=False, ticks=False, labelOverlap=False)
    return alt.Chart(source(table)).encode(
        x=alt.X("optimizer:N", title=None, axis=top), y=alt.Y("problem:N", title=None, sort=None, axis=side)
    )


def shaded(base: Any, tips: list[Any], *, by: str, text: str, form: str, legend: str, size: int = 11) -> Any:
    """A matrix whose cells go from 0, bright, to 1, dark, each with its number. by, text: the fields of both."""
    scale = alt.Scale(domain=[0, 1], scheme="viridis", reverse=True, clamp=True)
    keys = alt.Legend(title=legend, orient="bottom", gradientLength=220, titleLimit=400)
    squares = base.mark_rect(stroke="white", strokeWidth=1, aria=False).encode(
        color=alt.Color(f"{by}:Q", scale=scale, legend=keys), tooltip=tips
    )
    numbers = base.mark_text(fontSize=size, aria=False).encode(
        text=alt.Text(f"{text}:Q", format=form),
        color=alt.condition(f"datum.{by} > 0.45", alt.value("white"), alt.value("#1c1c1c")),
        tooltip=tips,
    )
    return alt.layer(squares, numbers)


def cells(look: Look) -> int:
    """How wide a matrix is."""
    return 70 * max(3, len(look.drawn))


def finished(chart: Any, columns: int = 4, note: str = "") -> Any:
    """The chart with the look that all share. `columns`: of its legend; `note`: a line below its title or its axes."""
    if note:
        small: dict[str, Any] = {"fontSize": 10, "fontWeight": "normal", "color": SOFT}
        given = None if chart.title is alt.Undefined else chart.title
        if given is None:
            title = alt.Title(note, orient="bottom", anchor="end", **small)
        else:
            kept = given if isinstance(given, alt.Title) else alt.Title(given)
            title = kept.copy(deep=False)
            title.subtitle, title.subtitleFontSize, title.subtitleColor = note, 10, SOFT
        chart = chart.properties(title=title)
    chart = chart.configure(font=FONT, background="white")
    chart = chart.configure_view(stroke=None)
    chart = chart.configure_axis(
        labelColor=INK,
        titleColor=SOFT,
        titleFontWeight="normal",
        labelFontSize=11,
        titleFontSize=12,
        gridColor=LINE,
        domainColor="#999999",
        tickColor="#999999",
        labelOverlap="greedy",
        labelSeparation=4,
    )
    chart = chart.configure_legend(
        labelColor=INK, labelFontSize=12, symbolSize=110, titleColor=SOFT, titleFontWeight="normal", columns=columns
    )
    return chart.configure_title(color=INK, fontSize=13, anchor="start", fontWeight=600, limit=900, offset=8)


def legend_columns(look: Look, width: int) -> int:
    """How many names fit side by side."""
    longest = min(40, max(map(len, look.drawn), default=1))
    return max(1, width // (7 * longest + 40))


NUMBER = ".4~g"
