"""What all figures share: where data come from, the scale of optimizers, sizes and the quiet look."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from optarena.report.colours import Colours
from optarena.report.drawing import _vega as vl
from optarena.report.text import charted

FONT = "system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', 'DejaVu Sans', sans-serif"
POWERS_FONT = f"'DejaVu Sans Condensed', 'DejaVu Sans', {FONT}"
"""Few fonts have a raised minus; where it is missing, the whole label would be set in another font."""
INK, SOFT, LINE = "#1c1c1c", "#595959", "#e4e4e4"
BAND = 0.13
FEW_LINES = 8
"""Optimizers whose single trials or points are drawn without becoming a tangle."""
KEY, SHORT_KEY = 110, 40
"""Squares of the lengths of a stroke in a legend: with 40 a dashed line looks like a whole one."""
TALL, LOWEST = 505, 60
"""Points that rows of panels may take on a page, beside the caption and a heading, and the least of one panel."""
FEW = 3
"""Ticks of a logarithmic axis in a small panel of a paper: lines between powers of ten would fill it."""


@dataclass(frozen=True)
class Look:
    """How a figure is drawn: the colours of optimizers, its size (None: what suits the figure), and the optimizers
    that are drawn (None: the page says it when it draws)."""

    colours: Colours
    width: int | None = None
    height: int | None = None
    present: tuple[str, ...] | None = None
    ranking: tuple[str, ...] = ()
    """All optimizers from the best to the worst, for a page."""
    paper: bool = False
    """Whether it is for a paper: small letters, and panels that keep their shape at any width."""
    wide: bool = False
    """Whether it fills the width of a page, not of a column."""

    @property
    def names(self) -> list[str]:
        """All optimizers as charts hold their names."""
        return [charted(name) for name in self.colours.names]

    @property
    def drawn(self) -> list[str]:
        """Those that are drawn, the best first."""
        return [
            charted(name) for name in (self.ranking or self.colours.names if self.present is None else self.present)
        ]

    @property
    def band(self) -> float:
        """How opaque bands are: many of them must not hide the lines."""
        return BAND * min(1.0, 5 / max(1, len(self.drawn)))

    def sized(self, chart: vl.Chart, width: int, height: int | dict[str, Any]) -> vl.Chart:
        """The chart with this size, or the figure's own."""
        if self.paper and self.width and not self.height and isinstance(height, int):
            height = max(LOWEST, round(height * self.width / width))
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


def colour(look: Look, *, legend: bool = True, symbol: str | None = "stroke") -> vl.Field:
    """The scale of optimizers: fixed by the store, whatever part of it is drawn. `symbol`: what the legend shows; a
    stroke has no colour where marks are filled."""
    scale = vl.Scale(domain=look.names, range=list(look.colours.colours))
    return vl.Field("optimizer:N", scale=scale, legend=_keys(look, symbol) if legend else None)


def _keys(look: Look, symbol: str | None = "stroke") -> vl.Legend:
    """The legend: of those that are drawn, not of all that have a colour."""
    kind: dict[str, Any] = {} if symbol is None else {"symbolType": symbol}
    if look.paper and look.colours.repeat and symbol == "stroke":
        kind["symbolSize"] = KEY
    return vl.Legend(
        title=None,
        orient="bottom",
        **kind,
        symbolStrokeWidth=3 if symbol == "stroke" else 1,
        symbolOpacity=1,
        labelLimit=180 if look.paper else 280,
        values=look.drawn,
    )


def dash(look: Look, symbol: str | None = "stroke") -> dict[str, Any]:
    """Dashes tell optimizers apart once colours repeat. `symbol`: as of `colour`."""
    if not look.colours.repeat:
        return {}
    scale = vl.Scale(domain=look.names, range=[list(dashes) for dashes in look.colours.dashes])
    return {"strokeDash": vl.Field("optimizer:N", scale=scale, legend=_keys(look, symbol))}


def shape(look: Look, *, legend: bool = False) -> vl.Field:
    """Optimizers by the shape of their points; with a legend, that of `colour(look, symbol=None)` shows it too."""
    scale = vl.Scale(domain=look.names, range=list(look.colours.shapes))
    return vl.Field("optimizer:N", scale=scale, legend=_keys(look, None) if legend else None)


def rows(look: Look, sort: Any = None) -> vl.Field:
    """Optimizers one below the other, in the order of the data unless sorted."""
    axis = vl.Axis(labelLimit=90 if look.paper else 220, labelPadding=8, domain=False, ticks=False, labelOverlap=False)
    return vl.Field("optimizer:N", sort=sort, title=None, axis=axis)


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
    return vl.Axis(
        format="~g",
        labelExpr=POWERS_OF_TEN,
        labelFont=POWERS_FONT,
        tickCount=ticks,
        gridOpacity=light,
        tickOpacity=light,
    )


def effort_axis(*, counted: bool, log: bool) -> vl.Axis:
    """The axis of an effort: what is counted has no ticks between whole numbers."""
    if log:
        return log_axis(6)
    return vl.Axis(tickMinStep=1) if counted else vl.Axis()


def matrix(table: pl.DataFrame | str, look: Look) -> vl.Chart:
    """The base of figures with one row per problem and one column per optimizer, the best first."""
    top = vl.Axis(orient="top", labelAngle=-90, labelLimit=200, domain=False, ticks=False, labelOverlap=False)
    side = vl.Axis(labelLimit=260, domain=False, ticks=False, labelOverlap=False)
    return vl.Chart(source(table)).encode(
        x=vl.Field("optimizer:N", title=None, sort=look.drawn, axis=top),
        y=vl.Field("problem:N", title=None, sort=None, axis=side),
    )


def shaded(
    base: vl.Chart, tips: list[vl.Field], *, by: str, text: str, form: str, legend: str, size: int = 11
) -> vl.Chart:
    """A matrix whose cells go from 0, bright, to 1, dark, each with its number. by, text: the fields of both."""
    scale = vl.Scale(domain=[0, 1], scheme="viridis", reverse=True, clamp=True)
    keys = vl.Legend(title=legend, orient="bottom", gradientLength=220, titleLimit=400)
    absent = f"!isValid(datum.{by}) || !isFinite(datum.{by})"
    squares = base.mark("rect", stroke="white", strokeWidth=1, aria=False).encode(
        color=vl.condition(absent, "#eeeeee", vl.Field(f"{by}:Q", scale=scale, legend=keys)), tooltip=tips
    )
    dashes = base.transform(filter=absent).mark("text", fontSize=size, color=SOFT, text="–", aria=False)
    there = base.transform(filter=f"!({absent})")
    numbers = there.mark("text", fontSize=size, aria=False).encode(
        text=vl.Field(f"{text}:Q", format=form),
        color=vl.condition(f"datum.{by} > 0.45", "white", "#1c1c1c"),
        tooltip=tips,
    )
    return vl.layer(squares, dashes, numbers)


def small(
    layers: vl.Chart,
    table: pl.DataFrame | str,
    look: Look,
    *,
    by: str = "panel",
    columns: int = 3,
    size: tuple[int, int] = (200, 150),
    free: bool = False,
    flush: bool = False,
    lines: str = "",
    lowest: int = LOWEST,
) -> vl.Chart:
    """Small multiples: the same chart for each panel, in the order of their places; `free`: each has its own axis;
    `flush`: panels stand at the height of those beside, whatever their labels take; `lines`: on paper, the last of
    these in a panel's name begins a second line; `lowest`: the least height of a panel there.

    On paper both axes have one title for all panels; the page sets panels to its width, and keeps one for each.
    """
    head = vl.Header(
        title=None,
        labelFontSize=7 if look.paper else 11,
        labelFontWeight="normal" if look.paper else 600,
        labelAnchor="start",
        labelLimit=(look.width or size[0]) + 14,
        labelFont=FONT if isinstance(table, str) else font_of("".join(table[by].unique())),
    )
    if lines and look.paper:
        cut = f"lastindexof(datum.label, '{lines}')"
        head["labelExpr"] = f"[slice(datum.label, 0, {cut}), slice(datum.label, {cut} + 1)]"
    given: dict[str, Any] = {"columns": columns, "spacing": 8 if look.paper else 18}
    if flush:
        given |= {"bounds": "flush", "spacing": 36 if look.paper else 50}
    if not isinstance(table, str):
        layers, titles = _untitled(_few_ticks(layers) if look.paper else layers, ("y",) if free else ("x", "y"))
        soft = {"fontWeight": "normal", "color": SOFT, "fontSize": 8 if look.paper else 12}
        if titles.get("x"):
            head |= {f"title{name[:1].upper()}{name[1:]}": value for name, value in soft.items()}
            head |= {"title": titles["x"], "titleOrient": "bottom", "titlePadding": 22 if flush else 4}
        if titles.get("y"):
            given["title"] = vl.title(titles["y"], orient="left", anchor="middle", offset=4, **soft)
    if look.paper and not look.height and not isinstance(table, str):
        rows = -(-table[by].n_unique() // columns)
        between = given["spacing"] + (9 if flush else 34 if lines else 26)
        natural = round(size[1] * (look.width or size[0]) / size[0])
        look = replace(look, height=max(lowest, min(natural, TALL // rows - between)))
    chart = look.sized(layers, *size).having(data=source(table))
    order = vl.Sort(field="place", op="min", order="ascending")
    panels = chart.facet(vl.Field(f"{by}:N", sort=order, header=head), **given)
    own = {"x": "independent"}
    return panels.having(resolve={"axis": own, "scale": own} if free else {"axis": own})


def panel_matrix(
    layers: vl.Chart, table: pl.DataFrame, look: Look, row: str, column: str, *, order: str, size: tuple[int, int]
) -> vl.Chart:
    """The same chart for each row and column; both axes have one title. order: the field that columns are sorted by."""
    layers, titles = _untitled(_few_ticks(layers) if look.paper else layers, ("x", "y"))
    head = {"labelFontSize": 8 if look.paper else 11, "labelFontWeight": 600, "title": None}
    soft: dict[str, Any] = {"fontWeight": "normal", "color": SOFT, "fontSize": 8 if look.paper else 12}
    below = {f"title{name[:1].upper()}{name[1:]}": value for name, value in soft.items()}
    below |= {"title": titles.get("x"), "titleOrient": "bottom", "titlePadding": 4}
    across = vl.Field(
        f"{column}:N", sort=vl.Sort(field=order, op="min", order="ascending"), header=vl.Header(**{**head, **below})
    )
    down = vl.Field(
        f"{row}:N",
        sort=vl.Sort(field="place", op="min", order="ascending"),
        header=vl.Header(labelAngle=-90, labelLimit=150, **head),
    )
    chart = look.sized(layers, *size).having(data=source(table))
    title = vl.title(titles.get("y", ""), orient="left", anchor="middle", offset=4, **soft)
    return chart.facet({"row": down, "column": across}, spacing=6 if look.paper else 10, title=title)


RAISED_SIGNS = frozenset("⁰¹²³⁴⁵⁶⁷⁸⁹⁻·✕")


def font_of(text: str) -> str:
    """A font that has all its signs."""
    return POWERS_FONT if RAISED_SIGNS & set(text) else FONT


def _untitled(chart: vl.Chart, channels: tuple[str, ...]) -> tuple[vl.Chart, dict[str, str]]:
    """Layers without the titles of axes, and these."""
    titles: dict[str, str] = {}

    def untitled(name: str, field: dict[str, Any]) -> dict[str, Any]:
        titles[name] = field.get("title") or titles.get(name, "")
        return {"title": None}

    return _with_axes(chart, channels, untitled), titles


def _few_ticks(chart: vl.Chart) -> vl.Chart:
    """Layers for small panels of a paper: on logarithmic axes only powers of ten have a tick, if there are enough."""

    def fewer(_: str, field: dict[str, Any]) -> dict[str, Any]:
        axis = field.get("axis") or {}
        log = (field.get("scale") or {}).get("type") == "log"
        return {"axis": {**axis, "tickCount": min(FEW, axis["tickCount"])}} if log and "tickCount" in axis else {}

    return _with_axes(chart, ("x", "y"), fewer)


def _with_axes(
    chart: vl.Chart, channels: tuple[str, ...], change: Callable[[str, dict[str, Any]], dict[str, Any]]
) -> vl.Chart:
    """Layers whose fields on these channels are changed."""
    out = []
    for one in chart.spec["layer"]:
        encoding = dict(one.spec.get("encoding", {}))
        for name in channels:
            if "field" in (encoding.get(name) or {}):
                encoding[name] = {**encoding[name], **change(name, encoding[name])}
        out.append(one.having(encoding=encoding))
    return chart.having(layer=out)


def cells(look: Look) -> int:
    """How wide a matrix is."""
    return 70 * max(3, len(look.drawn))


def finished(chart: vl.Chart, columns: int = 4, note: str = "", *, paper: bool = False) -> vl.Chart:
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
    return chart.having(config=_for_paper(config(columns)) if paper else config(columns))


BELOW = {"anchor": "start", "direction": "vertical", "margin": 2}
"""Legends below a figure: one below the other, so that they do not widen it."""


def _for_paper(look: dict[str, Any]) -> dict[str, Any]:
    """The same in the sizes of a paper's captions."""
    sizes: dict[str, dict[str, Any]] = {
        "axis": {"labelFontSize": 7, "titleFontSize": 8, "tickSize": 3, "labelPadding": 2, "titlePadding": 3},
        "legend": {"labelFontSize": 7, "titleFontSize": 7, "symbolSize": SHORT_KEY, "columnPadding": 6, "rowPadding": 1,
                   "offset": 6, "padding": 0, "layout": {"bottom": BELOW}},
        "title": {"fontSize": 8, "subtitleFontSize": 7, "offset": 4},
        "header": {"labelFontSize": 7, "titleFontSize": 8, "labelPadding": 2},
    }  # fmt: skip
    changed = {name: vl.Part(**{**look.get(name, {}), **given}) for name, given in sizes.items()}
    return {**look, **changed, "padding": 1}


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
            labelColor=INK, labelFontSize=12, symbolSize=KEY, titleColor=SOFT, titleFontWeight="normal", columns=columns
        ),
        "title": vl.Part(color=INK, fontSize=13, anchor="start", fontWeight=600, limit=900, offset=8),
    }


def legend_columns(look: Look, width: int) -> int:
    """How many names fit side by side."""
    longest = min(40, max(map(len, look.drawn), default=1))
    return max(1, width // (7 * longest + 40))


NUMBER = ".4~g"
