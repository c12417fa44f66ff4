"""Vega, Vega-Lite and Vega-Embed as one piece of JavaScript, from vl-convert; nothing is downloaded."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import os
from pathlib import Path

from optarena._files import write_whole
from optarena.errors import WorkError


def vega_bundle() -> str:
    """The piece. To make it takes seconds, so it is kept in the user's cache under the name of its version."""
    import vl_convert

    version = importlib.metadata.version("vl-convert-python")
    place = _cache() / f"vega-{version}-{hashlib.sha256(NAMES.encode()).hexdigest()[:8]}.js"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        kept = place.read_text(encoding="utf-8")
        if kept.endswith(END):
            return kept
    text = vl_convert.javascript_bundle(NAMES).replace("</script", "<\\/script") + END
    with contextlib.suppress(WorkError):
        write_whole(place, text.encode())
    return text


NAMES = "window.vegaEmbed=vegaEmbed;"
"""What the page's script calls."""
END = "\n/* whole */\n"


def _cache() -> Path:
    given = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(given) if given.startswith("/") else Path.home() / ".cache") / "optarena"
