"""A chart as an SVG, and as one that fills a width of paper."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

PAPERS = {"column": 241, "page": 506}
"""The widths of a column and of a page of a paper, in points."""
SPARE = 0.05
"""Of the width that may stay empty."""
AXIS, GAP = 45, 12
"""What labels at the left and spaces between panels may take: the first try."""
LEAST = 25
"""Of a panel's width."""
WIDTH = re.compile(r'<svg[^>]* width="([0-9.]+)"')


def svg_of(chart: Any) -> str:
    import vl_convert

    return vl_convert.vegalite_to_svg(json.dumps(_seen(chart.to_dict()), sort_keys=True))


def fitted(draw: Callable[[int], Any], width: int, panel: int | None = None) -> tuple[Any, str, int]:
    """The chart whose axes, labels and legends fill a width, its drawing, and the width of its panels.

    All but the panels keeps its size: what it takes is measured, and again where labels change with the panels.
    draw: makes it for a width of panels. panel: a first guess, that of a chart like it.
    """
    panels = across(draw(width).to_dict())
    panel = max(LEAST, panel or (width - AXIS) // panels - GAP)
    for last in (False, False, False, False, True):
        chart = draw(panel)
        svg = svg_of(chart)
        over = float(WIDTH.search(svg)[1]) - width  # type: ignore[index]
        if last or -SPARE * width <= over <= 0 or (over > 0 and panel == LEAST):
            break
        panel = max(LEAST, panel - math.ceil(over / panels) - (over > 0))
    return chart, svg, panel


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
