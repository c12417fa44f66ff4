"""A chart to a file: PDF, SVG, PNG, HTML or JSON, by the name's ending; nothing is fetched from anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from optarena._files import write_whole
from optarena.errors import OptarenaError

ENDINGS = ("pdf", "svg", "png", "html", "json")


def save(chart: Any, path: str | Path, scale: float = 2.0) -> Path:
    """Write it; `scale`: pixels of a PNG to a point."""
    path = Path(path)
    ending = path.suffix[1:].lower()
    if ending not in ENDINGS:
        known = ", ".join(f".{one}" for one in ENDINGS)
        raise OptarenaError(f"{path}: what format? Its name must end with one of {known}")
    if path.is_dir():
        raise OptarenaError(f"{path} is a directory: name a file")
    write_whole(path, _bytes(chart, ending, scale))
    return path


def _bytes(chart: Any, ending: str, scale: float) -> bytes:
    if ending == "json":
        return chart.to_json(indent=2).encode()
    if ending == "html":
        from optarena.report.page import figure_page

        return figure_page(chart).encode()
    import vl_convert

    spec = chart.to_json()
    if ending == "pdf":
        return vl_convert.vegalite_to_pdf(spec)
    if ending == "png":
        return vl_convert.vegalite_to_png(spec, scale=scale)
    return vl_convert.vegalite_to_svg(spec).encode()
