"""What all figures share: where data come from, the scale of optimizers, sizes and the quiet look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from optarena.report.colours import Colours
from optarena.report.drawing import _vega as vl
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

    def sized(self, chart: vl.Chart, width: int, height: int | dict[str, Any]) -> vl.Chart:
        """The chart with this size, or the figure's own."""
        return chart.having(width=self.width or width, height=self.height or height)


def source(table: pl.DataFrame | str) -> vl.Data:
    """The rows themselves, or the name under which a page holds them."""
    if isinstance(table, str):
        return {"name": table}
    floats, texts = pl.selectors.float(), pl.selectors.string()
    plain = table.with_columns(
        pl.when(floats.is_finite()).then(floats),  # JSON has no other numbers
        texts.map_elements(charted, return_dtype=pl.String),
    )
    return plain.to_dicts()


def colour(look: Look, *, legend: bool = True, symbol: str = "stroke") -> vl.Field:
    """The scale of optimizers: fixed by the store, whatever part of it is drawn. `symbol`: what the legend shows; a
    stroke has no colour where marks are filled."""
    scale = vl.Scale(domain=look.names, range=list(look.colours.colours))
    return vl.Field("optimizer:N", scale=scale, legend=_keys(look, symbol) if legend else None)


def _keys(look: Look, symbol: str = "stroke") -> vl.Legend:
    """The legend: of those that are drawn, not of all that have a colour."""
    return vl.Legend(
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
    scale = vl.Scale(domain=look.names, range=[list(dashes) for dashes in look.colours.dashes])
    return {"strokeDash": vl.Field("optimizer:N", scale=scale, legend=_keys(look))}


def shape(look: Look) -> vl.Field:
    scale = vl.Scale(domain=look.names, range=list(look.colours.shapes))
    return vl.Field("optimizer:N", scale=scale, legend=None)


def rows(sort: Any = None) -> vl.Field:
    """Optimizers one below the other, in the order of the data unless sorted."""
    return vl.Field(
        "optimizer:N", sort=sort, title=None, axis=vl.Axis(labelLimit=220, labelPadding=8, domain=False, ticks=False)
    )


POWER = "round(log(datum.value) / LN10)"
SUPERSCRIPT = "['⁰','¹','²','³','⁴','⁵','⁶','⁷','⁸','⁹']"
POWERS_OF_TEN = (
    f"datum.label && datum.value > 0 && abs(log(datum.value) / LN10 - {POWER}) < 1e-6 && ({POWER} > 1 || {POWER} < 0)"
    f" ? '10' + ({POWER} < 0 ? '⁻' : '') + (abs({POWER}) > 9 ? {SUPERSCRIPT}[floor(abs({POWER}) / 10)] : '')"
    f" + {SUPERSCRIPT}[abs({POWER}) % 10] : datum.label"
)
"""Labels of a logarithmic axis: 1, 10, 10², 10⁻⁸; between powers, where these are few, plain numbers."""


def log_axis(ticks: int) -> vl.Axis:
    """A logarithmic axis with about so many ticks; what has no label is drawn lightly."""
    light = {"condition": {"test": "!datum.label", "value": 0.4}, "value": 1}
    return vl.Axis(format="~g", labelExpr=POWERS_OF_TEN, tickCount=ticks, gridOpacity=light, tickOpacity=light)


def effort_axis(*, counted: bool, log: bool) -> vl.Axis:
    """The axis of an effort: what is counted has no ticks between whole numbers."""
    if log:
        return log_axis(6)
    return vl.Axis(tickMinStep=1) if counted else vl.Axis()


def matrix(table: pl.DataFrame | str) -> vl.Chart:
    """The base of figures with one row per problem and one column per optimizer, in the order of the store."""
    top = vl.Axis(orient="top", labelAngle=-90, labelLimit=200, domain=False, ticks=False, labelOverlap=False)
    side = vl.Axis(labelLimit=260, domain=False, ticks=False, labelOverlap=False)
    return vl.Chart(source(table)).encode(
        x=vl.Field("optimizer:N", title=None, axis=top), y=vl.Field("problem:N", title=None, sort=None, axis=side)
    )


def shaded(
    base: vl.Chart, tips: list[vl.Field], *, by: str, text: str, form: str, legend: str, size: int = 11
) -> vl.Chart:
    """A matrix whose cells go from 0, bright, to 1, dark, each with its number. by, text: the fields of both."""
    scale = vl.Scale(domain=[0, 1], scheme="viridis", reverse=True, clamp=True)
    keys = vl.Legend(title=legend, orient="bottom", gradientLength=220, titleLimit=400)
    squares = base.mark("rect", stroke="white", strokeWidth=1, aria=False).encode(
        color=vl.Field(f"{by}:Q", scale=scale, legend=keys), tooltip=tips
    )
    numbers = base.mark("text", fontSize=size, aria=False).encode(
        text=vl.Field(f"{text}:Q", format=form),
        color=vl.condition(f"datum.{by} > 0.45", "white", "#1c1c1c"),
        tooltip=tips,
    )
    return vl.layer(squares, numbers)


def cells(look: Look) -> int:
    """How wide a matrix is."""
    return 70 * max(3, len(look.drawn))


def finished(chart: vl.Chart, columns: int = 4, note: str = "") -> vl.Chart:
    """The chart with the look that all share. `columns`: of its legend; `note`: a line below its title or its axes."""
    if note:
        small: dict[str, Any] = {"fontSize": 10, "fontWeight": "normal", "color": SOFT}
        given = chart.spec.get("title")
        if given is None:
            title = vl.title(note, orient="bottom", anchor="end", **small)
        else:
            kept = vl.title(given) if isinstance(given, str) else given
            title = vl.title(**kept, subtitle=note, subtitleFontSize=10, subtitleColor=SOFT)
        chart = chart.having(title=title)
    return chart.having(config=config(columns))


def config(columns: int = 4) -> dict[str, Any]:
    """The look that all charts share; `columns`: of a legend."""
    return {
        "view": {"continuousWidth": 300, "continuousHeight": 300, "stroke": None},
        "axis": vl.Part(
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
        ),
        "background": "white",
        "font": FONT,
        "legend": vl.Part(
            labelColor=INK, labelFontSize=12, symbolSize=110, titleColor=SOFT, titleFontWeight="normal", columns=columns
        ),
        "title": vl.Part(color=INK, fontSize=13, anchor="start", fontWeight=600, limit=900, offset=8),
    }


def legend_columns(look: Look, width: int) -> int:
    """How many names fit side by side."""
    longest = min(40, max(map(len, look.drawn), default=1))
    return max(1, width // (7 * longest + 40))


NUMBER = ".4~g"
