"""The library that draws, vl-convert with Vega inside: 84 MB, so it is an extra, with Altair for notebooks."""

from __future__ import annotations

from types import ModuleType

from optarena.errors import NotInstalled


def vl_convert() -> ModuleType:
    """The package, or a sentence that says how to get it."""
    try:
        import vl_convert
    except ImportError:
        raise NotInstalled("reports and figures need", "report") from None
    return vl_convert


def altair() -> ModuleType:
    """The same of Altair."""
    try:
        import altair
    except ImportError:
        raise NotInstalled("figures in a notebook need", "report") from None
    return altair
