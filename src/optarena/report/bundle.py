"""Vega, Vega-Lite and Vega-Embed as one piece of JavaScript, from vl-convert; nothing is downloaded."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata

from optarena._files import user_cache, write_atomically
from optarena.errors import WorkError
from optarena.report.library import vl_convert

PARTS = (
    "basics.js", "statistics.js", "filters.js", "embed.js", "charts.js", "tables.js", "answer.js", "problems.js",
    "page.js",
)  # fmt: skip
"""The page's script, in this order: one program."""


def vega_bundle() -> str:
    """The piece. To make it takes seconds, so it is kept in the user's cache under the name of its version."""
    library = vl_convert()
    version = importlib.metadata.version("vl-convert-python")
    place = user_cache() / f"vega-{version}-{hashlib.sha256(NAMES.encode()).hexdigest()[:8]}.js"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        kept = place.read_text(encoding="utf-8")
        if kept.endswith(END):
            return kept
    text = library.javascript_bundle(NAMES).replace("</script", "<\\/script") + END
    with contextlib.suppress(WorkError):
        write_atomically(place, text.encode())
    return text


NAMES = "window.vegaEmbed=vegaEmbed;"
"""What the page's script calls."""
END = "\n/* whole */\n"
