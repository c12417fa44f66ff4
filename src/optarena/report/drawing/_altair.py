"""Our charts as Altair's, which show themselves in a notebook and can be changed there; nothing needs a network."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import altair as alt
from altair.utils.schemapi import debug_mode

from optarena._services import service
from optarena.report.drawing._vega import Chart
from optarena.report.library import vl_convert
from optarena.report.svg import svg_of

SIZE = re.compile(r'<svg[^>]* width="([0-9.]+)" height="([0-9.]+)"')
SHARP = 1.5
"""Pixels of the PNG to a point."""


class Offline:
    """What a notebook shows of a chart is drawn here: Altair's own would load its JavaScript from the web."""

    def _repr_mimebundle_(self, *_args: Any, **_given: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """An SVG, and a PNG where a notebook is not trusted: then JupyterLab shows no SVG."""
        svg = svg_of(self)
        size = SIZE.search(svg)
        png = vl_convert().svg_to_png(svg, scale=SHARP)
        data = {"image/svg+xml": svg, "image/png": base64.b64encode(png).decode(), "text/plain": repr(self)}
        shown = {} if size is None else {"width": round(float(size[1])), "height": round(float(size[2]))}
        return data, {"image/png": shown}

    def __repr__(self) -> str:
        return '<figure: it shows itself in a notebook; .save("figure.pdf") writes it, also as svg, png, html or json>'

    def save(self, fp: Any, format: str | None = None, scale_factor: float = 2.0, **options: Any) -> None:
        """Write it: the name's ending is the format. An HTML file has all it needs inside. As Altair's otherwise."""
        if isinstance(fp, (str, Path)) and format is None and not options:
            service("chart to a file")(self, fp, scale_factor)
        else:
            options.setdefault("inline", True)
            super().save(fp, format, scale_factor=scale_factor, **options)  # type: ignore[misc]


KINDS: dict[str, Any] = {
    "layer": alt.LayerChart,
    "facet": alt.FacetChart,
    "concat": alt.ConcatChart,
    "hconcat": alt.HConcatChart,
    "vconcat": alt.VConcatChart,
}
OURS: dict[Any, type] = {kind: type(kind.__name__, (Offline, kind), {}) for kind in (alt.Chart, *KINDS.values())}
"""The class of Altair's charts that show themselves offline."""


def altair_chart(chart: Chart) -> Any:
    """The same chart as Altair makes it of a specification."""
    spec = chart.to_dict()
    kind = next((KINDS[key] for key in spec if key in KINDS), alt.Chart)
    with debug_mode(False):  # it would check every piece
        made = kind.from_dict(spec, validate=False)
    object.__setattr__(made, "__class__", OURS[kind])
    return made
