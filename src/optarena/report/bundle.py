"""Vega, Vega-Lite and Vega-Embed as one piece of JavaScript, from vl-convert; nothing is downloaded."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
from pathlib import Path

from optarena._files import write_whole
from optarena.errors import WorkError


def vega_bundle() -> str:
    """The piece. To make it takes seconds, so it is kept in the user's cache under the name of its version."""
    import vl_convert

    place = _cache() / f"vega-{importlib.metadata.version('vl-convert-python')}.js"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        kept = place.read_text(encoding="utf-8")
        if kept.endswith(END):
            return kept
    text = vl_convert.javascript_bundle("window.vegaEmbed=vegaEmbed;").replace("</script", "<\\/script") + END
    with contextlib.suppress(WorkError):
        write_whole(place, text.encode())
    return text


END = "\n/* whole */\n"


def _cache() -> Path:
    given = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(given) if given.startswith("/") else Path.home() / ".cache") / "optarena"
