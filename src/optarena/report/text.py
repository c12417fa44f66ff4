"""Names as charts can hold them."""

from __future__ import annotations

from optarena._text import visible

PROPERTIES = frozenset(
    {"constructor", "toString", "toLocaleString", "valueOf", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable"}
    | {"__proto__", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__"}
)
"""What every object of JavaScript has: names that a table of Vega cannot hold as keys."""


def charted(text: str) -> str:
    """A text as a chart can hold it: what is the name of a property gets a space, which is not seen."""
    shown = visible(text)
    return f"{shown} " if shown.rstrip(" ") in PROPERTIES else shown
