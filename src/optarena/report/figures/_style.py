"""What all figures share: where data come from, the scale of optimizers, sizes and the quiet look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from optarena.report.colours import Colours

FONT = "system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', 'DejaVu Sans', sans-serif"
INK, SOFT, LINE = "#1c1c1c", "#595959", "#e4e4e4"
BAND = 0.13


@dataclass(frozen=True)
class Look:
    """How a figure is drawn: the colours of optimizers, and its size (None: what suits the figure)."""

    colours: Colours
    width: int | None = None
    height: int | None = None

    def sized(self, chart: Any, width: int, height: int | alt.Step | None) -> Any:
        """The chart with this size, or the figure's own."""
        tall = self.height or height
        return chart.properties(width=self.width or width, **({} if tall is None else {"height": tall}))


def source(table: pl.DataFrame | str) -> Any:
    """The rows themselves, or the name under which a page holds them."""
    if isinstance(table, str):
        return alt.NamedData(name=table)
    floats = pl.selectors.float()
    plain = table.with_columns(pl.when(floats.is_finite()).then(floats))  # JSON has no other numbers
    return alt.InlineData(values=plain.to_dicts())


def colour(look: Look, *, legend: bool = True) -> alt.Color:
    """The scale of optimizers: fixed by the store, whatever part of it is drawn."""
    keys = alt.Legend(
        title=None, orient="bottom", symbolType="stroke", symbolStrokeWidth=3, symbolOpacity=1, labelLimit=280
    )
    scale = alt.Scale(domain=list(look.colours.names), range=list(look.colours.colours))
    return alt.Color("optimizer:N", scale=scale, legend=keys if legend else None)


def dash(look: Look) -> dict[str, Any]:
    """Dashes tell optimizers apart once colours repeat."""
    if not look.colours.repeat:
        return {}
    scale = alt.Scale(domain=list(look.colours.names), range=[list(dashes) for dashes in look.colours.dashes])
    return {"strokeDash": alt.StrokeDash("optimizer:N", scale=scale)}


def shape(look: Look) -> alt.Shape:
    scale = alt.Scale(domain=list(look.colours.names), range=list(look.colours.shapes))
    return alt.Shape("optimizer:N", scale=scale, legend=None)


def rows(sort: Any = None) -> alt.Y:
    """Optimizers one below the other, in the order of the data unless sorted."""
    return alt.Y("optimizer:N", sort=sort, title=None, axis=alt.Axis(labelLimit=220, domain=False, ticks=False))


def finished(chart: Any, columns: int = 4) -> Any:
    """The chart with the look that all share; `columns`: of its legend."""
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
    )
    chart = chart.configure_legend(
        labelColor=INK, labelFontSize=12, symbolSize=110, titleColor=SOFT, titleFontWeight="normal", columns=columns
    )
    return chart.configure_title(color=INK, fontSize=13, anchor="start", fontWeight=600, limit=900, offset=8)


def legend_columns(look: Look, width: int) -> int:
    """How many names fit side by side."""
    longest = min(40, max(map(len, look.colours.names), default=1))
    return max(1, width // (7 * longest + 40))


NUMBER = ".4~g"
