"""A chart to a file: PDF, SVG, PNG, HTML or JSON, by the name's ending; nothing is fetched from anywhere."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from optarena._files import remove_abandoned_beside, write_whole
from optarena.errors import OptarenaError, WorkError

ENDINGS = ("pdf", "svg", "png", "html", "json")
PAPERS = {"column": 241, "page": 506}
"""The widths of a column and of a page of a paper, in points."""


def save(chart: Any, path: str | Path, scale: float = 2.0, svg: str = "") -> Path:
    """Write a chart, ours or Altair's, and its directory where there is none.

    scale: pixels of a PNG to a point. svg: its drawing, where it was drawn before.
    """
    path = Path(path)
    ending = path.suffix[1:].lower()
    if ending not in ENDINGS:
        known = ", ".join(f".{one}" for one in ENDINGS)
        raise OptarenaError(f"{path}: what format? Its name must end with one of {known}")
    if path.is_dir():
        raise OptarenaError(f"{path} is a directory: name a file")
    remove_abandoned_beside(path)
    write_whole(path, _bytes(chart, ending, scale, svg))
    return path


def pdf(chart: Any, svg: str = "") -> bytes:
    """A chart as the bytes of a PDF."""
    return _bytes(chart, "pdf", 1.0, svg)


def _svg(chart: Any) -> str:
    import vl_convert

    return vl_convert.vegalite_to_svg(json.dumps(_seen(chart.to_dict()), sort_keys=True))


def _bytes(chart: Any, ending: str, scale: float, svg: str) -> bytes:
    import vl_convert

    svg = svg or _svg(chart)
    if not drawn(svg):  # Vega says nothing of what it could not draw
        raise WorkError("the figure came out empty: nothing of its data could be drawn")
    if ending == "svg":
        return svg.encode()
    if ending == "pdf":
        return vl_convert.svg_to_pdf(_flat(svg))
    if ending == "png":
        return vl_convert.svg_to_png(svg, scale=scale)
    spec = chart.to_dict()
    if ending == "json":
        return json.dumps(spec, indent=2, sort_keys=True, ensure_ascii=False).encode()
    from optarena.report.page import figure_page

    return figure_page(spec).encode()


def fitted(draw: Callable[[int], Any], width: int, panel: int | None = None) -> tuple[Any, str, int]:
    """The chart whose axes, labels and legends fill a width, its drawing, and the width of its panels.

    All but the panels keeps its size: what it takes is measured, and again where labels change with the panels.
    draw: makes it for a width of panels. panel: a first guess, that of a chart like it.
    """
    panels = across(draw(width).to_dict())
    panel = panel or (width - AXIS) // panels - GAP
    while True:
        panel = max(LEAST, panel)
        chart = draw(panel)
        svg = _svg(chart)
        over = float(WIDTH.search(svg)[1]) - width  # type: ignore[index]
        if -SPARE * width <= over <= 0 or (over > 0 and panel == LEAST):
            return chart, svg, panel
        panel -= math.ceil(over / panels) + (over > 0)


SPARE = 0.05
"""Of the width that may stay empty."""


AXIS, GAP = 45, 12
"""What labels at the left and spaces between panels may take: the first try."""
LEAST = 25
"""Of a panel's width."""
WIDTH = re.compile(r'<svg[^>]* width="([0-9.]+)"')


def across(spec: dict[str, Any]) -> int:
    """How many panels of a chart stand side by side."""
    above: dict[str, Any] = {key: spec[key] for key in ("data", "datasets") if key in spec}
    if "hconcat" in spec:
        return sum(across({**above, **one}) for one in spec["hconcat"])
    if "vconcat" in spec:
        return max(across({**above, **one}) for one in spec["vconcat"])
    if "concat" in spec:
        return min(len(spec["concat"]), spec.get("columns", len(spec["concat"])))
    if "facet" not in spec:
        return 1
    field = spec["facet"].get("column", spec["facet"])["field"]
    panels = len({row[field] for row in spec["datasets"][spec["data"]["name"]]})
    return min(panels, spec.get("columns", panels))


def _flat(svg: str) -> str:
    """The same with pale fills and strokes in place of pale elements: a PDF makes a group of each of these."""
    return PALE.sub(r'<\1 fill-opacity="\2" stroke-opacity="\2"', svg)


PALE = re.compile(r'<((?:path|line|rect)\b(?:(?!opacity)[^>])*) opacity="([0-9.]+)"(?![^>]*opacity)')


def _seen(spec: Any) -> Any:
    """Without the marks that nobody sees: they carry what a mouse shows, which paper has not."""
    if isinstance(spec, list):
        return [_seen(part) for part in spec]
    if not isinstance(spec, dict):
        return spec
    out = {key: part if key == "datasets" else _seen(part) for key, part in spec.items()}
    if "layer" in out:
        out["layer"] = [part for part in out["layer"] if _opacity(part) != 0]
    return out


def _opacity(part: dict[str, Any]) -> Any:
    mark = part.get("mark")
    return mark.get("opacity") if isinstance(mark, dict) else None


MARK = re.compile(r'<g class="mark-\w+ role-mark[^>]*>\s*<(?:path|rect|line|text|circle)[^>]*(?:\sd="M|<|>)')


def drawn(svg: str) -> bool:
    """Whether any mark was drawn, beyond axes and legends."""
    return MARK.search(svg) is not None
