"""A chart to a file: PDF, SVG, PNG, HTML or JSON, by the name's ending; nothing is fetched from anywhere."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from optarena._files import remove_abandoned_beside, write_atomically
from optarena.errors import OptarenaError, WorkError
from optarena.report.library import vl_convert
from optarena.report.svg import svg_of

ENDINGS = ("pdf", "svg", "png", "html", "json")


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
    write_atomically(path, _bytes(chart, ending, scale, svg))
    return path


def pdf(chart: Any, svg: str = "") -> bytes:
    """A chart as the bytes of a PDF."""
    return _bytes(chart, "pdf", 1.0, svg)


def _bytes(chart: Any, ending: str, scale: float, svg: str) -> bytes:
    svg = svg or svg_of(chart)
    if not drawn(svg):  # Vega says nothing of what it could not draw
        raise WorkError("the figure came out empty: nothing of its data could be drawn")
    if ending == "svg":
        return svg.encode()
    if ending == "pdf":
        return vl_convert().svg_to_pdf(_flat(svg))
    if ending == "png":
        return vl_convert().svg_to_png(svg, scale=scale)
    spec = chart.to_dict()
    if ending == "json":
        return json.dumps(spec, indent=2, sort_keys=True, ensure_ascii=False).encode()
    from optarena.report.page import figure_page

    return figure_page(spec).encode()


def _flat(svg: str) -> str:
    """The same with pale fills and strokes in place of pale elements: a PDF makes a group of each of these."""
    return PALE.sub(r'<\1 fill-opacity="\2" stroke-opacity="\2"', svg)


PALE = re.compile(r'<((?:path|line|rect)\b(?:(?!opacity)[^>])*) opacity="([0-9.]+)"(?![^>]*opacity)')


MARK = re.compile(r'<g class="mark-\w+ role-mark[^>]*>\s*<(?:path|rect|line|text|circle)[^>]*(?:\sd="M|<|>)')


def drawn(svg: str) -> bool:
    """Whether any mark was drawn, beyond axes and legends."""
    return MARK.search(svg) is not None
