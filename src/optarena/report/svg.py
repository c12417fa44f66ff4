"""A chart as an SVG, and as one that fills a width of paper."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import msgspec

from optarena.report.library import vl_convert

PAPERS = {"column": 241, "page": 506}
"""The widths of a column and of a page of a paper, in points."""
SPARE = 0.065
"""Of the width that may stay empty."""
AXIS, GAP = 45, 10
"""What labels at the left and spaces between panels may take: the first try."""
LEAST = 25
"""Of a panel's width."""
WORD = re.compile(r"\w+")
WIDTH = re.compile(r'<svg[^>]* width="([0-9.]+)"')


def svg_of(chart: Any) -> str:
    return vl_convert().vegalite_to_svg(msgspec.json.encode(_seen(chart.to_dict()), order="sorted").decode())


def fitted(draw: Callable[[int], Any], width: int, panel: int | None = None) -> tuple[Any, str, int]:
    """The chart whose axes, labels and legends fill a width, its drawing, and the width of its panels.

    All but the panels keeps its size: what it takes is measured, and again where labels change with the panels.
    draw: makes it for a width of panels. panel: a first guess, that of a chart like it.
    """
    panel = max(LEAST, panel or (width - AXIS) // across(draw(width).to_dict()) - GAP)
    for last in (False, False, False, False, True):
        chart = draw(panel)
        svg = svg_of(chart)
        over = float(WIDTH.search(svg)[1]) - width  # type: ignore[index]
        if last or -SPARE * width <= over <= 0 or (over > 0 and panel == LEAST):
            break
        panel = max(LEAST, panel - math.ceil(over / across(chart.to_dict())) - (over > 0))
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


def _seen(spec: dict[str, Any]) -> dict[str, Any]:
    """What paper shows: no marks or notes for a mouse, no fields that nothing names, no empty ones."""
    out = _visible({key: part for key, part in spec.items() if key != "datasets"})
    named = set(WORD.findall(msgspec.json.encode(out).decode()))
    kept = {
        name: [{field: value for field, value in row.items() if value is not None and field in named} for row in rows]
        for name, rows in spec.get("datasets", {}).items()
    }
    return {**out, "datasets": kept}


def _visible(part: Any) -> Any:
    if isinstance(part, list):
        return [_visible(one) for one in part]
    if not isinstance(part, dict):
        return part
    out = {key: _visible(one) for key, one in part.items() if key != "tooltip"}
    if "layer" in out:
        out["layer"] = [one for one in out["layer"] if _opacity(one) != 0]
    return out


def _opacity(part: dict[str, Any]) -> Any:
    mark = part.get("mark")
    return mark.get("opacity") if isinstance(mark, dict) else None
