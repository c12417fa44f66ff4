"""A chart to a file: PDF, SVG, PNG, HTML or JSON, by the name's ending; nothing is fetched from anywhere."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from optarena._files import remove_abandoned_beside, write_whole
from optarena.errors import OptarenaError, WorkError

ENDINGS = ("pdf", "svg", "png", "html", "json")


def save(chart: Any, path: str | Path, scale: float = 2.0) -> Path:
    """Write a chart, ours or Altair's, and its directory where there is none; `scale`: pixels of a PNG to a point."""
    path = Path(path)
    ending = path.suffix[1:].lower()
    if ending not in ENDINGS:
        known = ", ".join(f".{one}" for one in ENDINGS)
        raise OptarenaError(f"{path}: what format? Its name must end with one of {known}")
    if path.is_dir():
        raise OptarenaError(f"{path} is a directory: name a file")
    remove_abandoned_beside(path)
    write_whole(path, _bytes(chart, ending, scale))
    return path


def _bytes(chart: Any, ending: str, scale: float) -> bytes:
    import vl_convert

    spec = chart.to_dict()
    svg = vl_convert.vegalite_to_svg(json.dumps(_seen(spec), sort_keys=True))
    if not drawn(svg):  # Vega says nothing of what it could not draw
        raise WorkError("the figure came out empty: nothing of its data could be drawn")
    if ending == "svg":
        return svg.encode()
    if ending == "pdf":
        return vl_convert.svg_to_pdf(svg)
    if ending == "png":
        return vl_convert.svg_to_png(svg, scale=scale)
    if ending == "json":
        return json.dumps(spec, indent=2, sort_keys=True, ensure_ascii=False).encode()
    from optarena.report.page import figure_page

    return figure_page(spec).encode()


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
